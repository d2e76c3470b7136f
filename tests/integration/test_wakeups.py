"""Does work begin the moment it can, without anyone watching the clock, and does it begin at all if no hint arrives?"""

from __future__ import annotations

import asyncio
from collections import Counter

import asyncpg
import pytest

from tests.integration.conftest import OpenHarness, eventually, path_of, row_of, until_path, waits_for_work
from tests.programs import returns
from windlass import Context, Retry
from windlass.notify.local import queue_topic
from windlass.settings import Settings
from windlass.testing.harness import Harness

SECOND, HOUR = 1_000_000, 3_600_000_000


async def double(number: int) -> int:
    return 2 * number


async def order(ctx: Context, number: int) -> int:
    return await ctx.step(double, number)


async def nap(ctx: Context, hours: int) -> int:
    await ctx.sleep(f"{hours}h")
    return hours


class Names:
    """Hooks that note every named transaction."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.committed: list[str] = []

    def before_begin(self, name: str) -> None:
        self.begun.append(name)

    def before_commit(self, name: str) -> None: ...

    def after_commit(self, name: str) -> None:
        self.committed.append(name)


@pytest.mark.spec("runs:P1.3", "runs:G8")
async def test_a_run_started_during_a_long_poll_begins_at_once(harness: Harness) -> None:
    harness.app.workflow(order)
    begun_at = harness.clock.now()
    assert await harness.run(order, 1) == 2
    await eventually(lambda: waits_for_work(harness), what="the worker waits for work")

    handles = [await harness.start(order, number) for number in range(5)]

    assert [await handle.result() for handle in handles] == [0, 2, 4, 6, 8]
    assert harness.clock.now() == begun_at  # not a microsecond of waiting


@pytest.mark.spec("runs:P1.3")
async def test_a_run_started_by_another_process_begins_at_once_and_its_result_comes_back(
    open_shared: OpenHarness,
) -> None:
    works, asks = await open_shared(), await open_shared(has_worker=False)
    for harness in (works, asks):
        harness.app.workflow(order)
    begun_at = works.clock.now()

    for number in range(3):  # one after the other: each finds the worker waiting again
        handle = await asks.start(order, number)
        assert await handle.result() == 2 * number

    assert works.clock.now() == begun_at


async def test_two_workers_share_what_a_third_process_starts(open_shared: OpenHarness) -> None:
    first, second, asks = await open_shared(slots=2), await open_shared(slots=2), await open_shared(has_worker=False)
    entered: Counter[int] = Counter()

    async def work(number: int) -> int:
        entered[number] += 1
        return number

    async def job(ctx: Context, number: int) -> int:
        return await ctx.step(work, number)

    for harness in (first, second, asks):
        harness.app.workflow(job)

    handles = await asyncio.gather(*(asks.start(job, number) for number in range(40)))

    assert await asyncio.gather(*(handle.result() for handle in handles)) == list(range(40))
    assert entered == {number: 1 for number in range(40)}


@pytest.mark.spec("runs:P2.3")
async def test_a_sleep_begun_elsewhere_ends_on_time_here(open_shared: OpenHarness) -> None:
    here, elsewhere = await open_shared(has_worker=False), await open_shared(has_worker=False)
    here.app.workflow(nap)
    elsewhere.app.workflow(nap)
    async with elsewhere.app.worker():
        handle = await elsewhere.start(nap, 1)
        await until_path(elsewhere, handle, "sleeping")
    async with here.app.worker():
        await eventually(lambda: waits_for_work(here), what="the worker waits")
        here.clock.advance(HOUR - 1)
        assert await handle.status() == "sleeping"
        here.clock.advance(1)

        assert await handle.result() == 1


async def test_a_waiting_worker_hears_of_a_sleep_that_ends_before_all_it_knew(harness: Harness) -> None:
    harness.app.workflow(nap)
    long = await harness.start(nap, 9)
    await harness.idle()
    short = await harness.start(nap, 1)
    await harness.idle()

    harness.clock.advance("1h")

    assert await short.result() == 1
    assert await long.status() == "sleeping"


async def test_a_resumed_or_released_run_begins_at_once(idle_harness: Harness) -> None:
    app = idle_harness.app
    app.workflow(order)
    handle = await app.start(order, 1)

    async with app.worker(), app.worker():  # two workers of one process
        assert await handle.result() == 2


@pytest.mark.spec("runs:G6")
async def test_without_any_hint_everything_is_still_done_by_polling(open_harness: OpenHarness) -> None:
    harness = await open_harness()
    harness.opened.engine.parts.hub.is_suppressed = True
    failures: list[int] = []

    async def flaky() -> str:
        failures.append(1)
        if len(failures) < 3:
            raise ConnectionError("busy")
        return "done"

    @harness.app.workflow
    async def everything(ctx: Context) -> str:
        await ctx.step(double, 1)
        await ctx.sleep("1m")
        return await ctx.step(flaky, retry=Retry(3))

    handle = await harness.start(everything, delay="1s")
    result = asyncio.ensure_future(handle.result())
    waited = 0
    while not result.done():
        harness.clock.advance("1s")
        await asyncio.wait([result], timeout=0.005)
        waited += 1
        assert waited < 1_000, await path_of(harness, handle)

    assert result.result() == "done"
    assert len(failures) == 3


@pytest.mark.spec("runs:G6")
async def test_without_any_hint_work_of_another_process_is_found_by_polling(open_shared: OpenHarness) -> None:
    works, asks = await open_shared(), await open_shared(has_worker=False)
    for harness in (works, asks):
        harness.app.workflow(order)
        harness.opened.engine.parts.hub.is_suppressed = True
    await eventually(lambda: waits_for_work(works), what="the worker waits")

    handle = await asks.start(order, 4)
    for _ in range(20):
        await asyncio.sleep(0)
    assert (await row_of(asks, handle)).attempts == 0  # nobody was told
    result = asyncio.ensure_future(handle.result())
    while not result.done():
        works.clock.advance("1s")
        await asyncio.wait([result], timeout=0.005)

    assert result.result() == 8


@pytest.mark.spec("runs:G8")
async def test_a_queue_is_woken_only_after_the_run_is_stored(open_harness: OpenHarness) -> None:
    seen: list[tuple[str, bool]] = []

    class Watch(Names):
        def before_commit(self, name: str) -> None:
            if name == "start_runs":
                seen.append((name, subscription._is_set))

    harness = await open_harness(has_worker=False, hooks=Watch())
    harness.app.workflow(order)
    subscription = harness.opened.engine.parts.hub.subscribe(queue_topic("default", "default"))

    with subscription:
        await harness.start(order, 1)
        assert seen == [("start_runs", False)]
        assert subscription._is_set


async def test_an_idle_worker_writes_nothing_but_its_heartbeat(open_harness: OpenHarness) -> None:
    names = Names()
    harness = await open_harness(hooks=names)
    harness.app.workflow(order)
    harness.app.workflow(nap)
    await harness.run(order, 1)
    await harness.start(nap, 9)
    await harness.idle()
    names.begun.clear()

    for _ in range(30):
        harness.clock.advance("1s")
        await eventually(lambda: waits_for_work(harness), what="the worker waits again")

    assert set(names.begun) <= {"heartbeat"}
    assert len(names.begun) <= 3


async def test_a_workflow_declared_after_the_worker_began_is_served_at_once(open_harness: OpenHarness) -> None:
    harness = await open_harness()
    harness.app.workflow(order)
    assert await harness.run(order, 1) == 2
    await eventually(lambda: waits_for_work(harness), what="the worker waits")
    begun_at = harness.clock.now()
    late = harness.app.workflow(returns("late"))
    handle = await harness.start(late)

    assert await handle.result() == "late"
    assert harness.clock.now() == begun_at


@pytest.mark.parametrize("shared_url", ["postgres"], indirect=True)
@pytest.mark.spec("runs:P1.2")
async def test_hints_go_out_on_the_channel_named_windlass(open_shared: OpenHarness, shared_url: str) -> None:
    harness = await open_shared(has_worker=False, settings=Settings())
    harness.app.workflow(order)
    heard: list[str] = []
    connection = await asyncpg.connect(shared_url, ssl=False)
    try:
        await connection.add_listener("windlass", lambda *arguments: heard.append(str(arguments[3])))

        await harness.start(order, 1)

        await eventually(lambda: bool(heard), what="a notification")
        assert "default" in heard[0]
        assert await connection.fetchval("select count(*) from pg_trigger where not tgisinternal") == 0
    finally:
        await connection.close()
