"""When a run leaves its worker, is anything lost, worked for twice, or held that nobody needs?"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import asyncpg
import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, log_of, path_of, row_of, step_keys
from tests.programs import nothing, passes_to, steps
from windlass import Context, Handle, Retry, RunFailed
from windlass.errors import Unavailable
from windlass.model.run import RunId
from windlass.notify.local import Hub, run_topic
from windlass.notify.sqlite import FileWatch
from windlass.settings import Settings
from windlass.store.migrate import SCHEMA
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness
from windlass.worker.execute import Execution

only_postgres = pytest.mark.parametrize("url", ["postgres"], indirect=True)
NO_GRACE = Settings(grace_for=0)  # type: ignore[arg-type]
LOCK = f"select 1 from {SCHEMA}.runs where id = any($1::text[]) for update"
WAITING = """
select count(*) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'
"""


@asynccontextmanager
async def locked(url: str, *handles: Handle[Any]) -> AsyncIterator[asyncpg.Connection[Any]]:
    """Keep every write to these runs waiting, as a slow database would."""
    connection = await asyncpg.connect(url, ssl=False)
    try:
        async with connection.transaction():
            await connection.execute(LOCK, [handle.id for handle in handles])
            yield connection
    finally:
        await connection.close()


async def until_waiting(connection: asyncpg.Connection[Any], count: int) -> None:
    async def is_so() -> bool:
        return bool(await connection.fetchval(WAITING) == count)

    await eventually(is_so, what=f"{count} transactions wait for the lock")


def executions(harness: Harness) -> list[Execution]:
    return [execution for worker in harness.app._workers for execution in worker.executions]


def held(harness: Harness) -> int:
    """Slots that are taken."""
    return len(executions(harness))


class KeyService:
    """A codec's hook that cannot answer while its service is away."""

    is_away = False

    def seal(self, data: bytes) -> bytes:
        return data

    def open(self, data: bytes) -> bytes:
        if self.is_away:
            raise Unavailable("The key service does not answer.")
        return data


async def nap(ctx: Context, number: int) -> int:
    await ctx.sleep("1m")
    return number


async def test_a_service_that_is_away_for_long_is_no_crash_loop(open_harness: OpenHarness) -> None:
    service = KeyService()
    harness = await open_harness(codec=service)
    harness.app.workflow(nap, visibility="2s")  # shorter than the time until it is tried again
    handle = await harness.start(nap, 1)
    await harness.until(handle, "sleeping")

    service.is_away = True
    await harness.advance("1m")
    for _ in range(30):
        await harness.advance("5s")
        assert ((await row_of(harness, handle)).recoveries, held(harness)) == (0, 0)
    service.is_away = False
    await harness.advance("5s")

    assert await handle.result() == 1


async def test_a_worker_that_stops_keeps_nothing_it_could_not_read(open_harness: OpenHarness) -> None:
    service = KeyService()
    harness = await open_harness(codec=service, has_worker=False, settings=NO_GRACE)
    harness.app.workflow(nap)
    async with harness.app.worker():
        handle = await harness.start(nap, 1)
        await harness.until(handle, "sleeping")
        service.is_away = True
        harness.clock.advance("1m")
        await harness.until(handle, "pending")

    run = await row_of(harness, handle)
    assert (run.status, run.worker, (run.available_at or 0) - harness.clock.now()) == ("pending", None, 5_000_000)


async def test_a_worker_that_stops_claims_nothing_of_what_it_has_given_back(idle_harness: Harness) -> None:
    app, gate = idle_harness.app, Gate()
    wait = app.workflow(steps(gate.wait))

    async with app.worker():
        handle = await app.start(wait)
        await gate.reached()
    await idle_harness.idle()

    causes = [entry.cause for entry in await log_of(idle_harness, handle.id)]
    assert [cause for cause in causes if cause not in ("claim", "dispatch")] == ["start", "release"]
    assert (await row_of(idle_harness, handle)).attempts == 1


async def test_a_run_whose_thread_ends_after_its_time_out_frees_its_slot(harness: Harness) -> None:
    entered, end = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        end.wait(20)

    order = harness.app.workflow(steps(hang, timeout="1s", retry=Retry(3, initial="1h", max_delay="2h")))
    handle = await harness.start(order)
    await eventually(entered.is_set)
    harness.clock.advance("1s")
    await eventually(lambda: _has_failed_step(harness, handle))
    assert (await handle.status(), held(harness)) == ("running", 1)
    end.set()

    await harness.until(handle, "pending")
    await eventually(lambda: held(harness) == 0)
    assert (await row_of(harness, handle)).attempts == 1


async def _has_failed_step(harness: Harness, handle: Handle[Any]) -> bool:
    return [step.status for step in await harness.steps(handle)] == ["failed"]


@only_postgres
async def test_the_end_of_the_grace_does_not_overtake_results_that_are_on_their_way(
    url: str, open_harness: OpenHarness
) -> None:
    harness = await open_harness(has_worker=False, settings=NO_GRACE)
    gates = [Gate() for _ in range(3)]
    entered: list[int] = []

    async def work(number: int) -> int:
        entered.append(number)
        await gates[number].wait()
        return number

    order = harness.app.workflow(passes_to(work))

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(harness.app.worker())
        handles = [await harness.start(order, number) for number in range(3)]
        for gate in gates:
            await gate.reached()
        async with locked(url, *handles[:2]) as connection:
            for waiting, gate in enumerate(gates[:2], start=1):  # their results take both connections for results
                gate.open()
                await until_waiting(connection, waiting)
            gates[2].open()  # so this one waits until one of them is free
            leaving = executions(harness)
            await eventually(lambda: not any(execution.bodies.working for execution in leaving))
            stopping = asyncio.ensure_future(stack.pop_all().aclose())
            await eventually(lambda: all(execution.is_over for execution in leaving))
            for _ in range(100):  # round trips, in which nothing is given back yet
                assert await connection.fetchval(WAITING) == 2
        await stopping

    async with harness.app.worker():
        assert [await handle.result() for handle in handles] == [0, 1, 2]
    assert sorted(entered) == [0, 1, 2]


@only_postgres
async def test_no_body_is_entered_once_the_worker_is_told_to_stop(url: str, open_harness: OpenHarness) -> None:
    harness = await open_harness(has_worker=False)
    go, entered = asyncio.get_running_loop().create_future(), []

    async def work() -> None:
        entered.append(1)

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await asyncio.shield(go)
        await ctx.step(work, visibility="1h")  # which must be asked for first

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(harness.app.worker())
        handle = await harness.start(order)
        await harness.until(handle, "running")
        await eventually(lambda: held(harness) == 1)
        (execution,) = executions(harness)
        async with locked(url, handle) as connection:
            go.set_result(None)
            await until_waiting(connection, 1)
            stopping = asyncio.ensure_future(stack.pop_all().aclose())
            await eventually(lambda: execution.host.is_draining)
        await stopping

    assert (entered, await handle.status()) == ([], "pending")


async def test_a_step_waits_while_the_system_gives_no_thread(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    start, refused, ran = threading.Thread.start, [], []

    def refuse_once(thread: threading.Thread) -> None:
        if thread.name == "windlass-step" and not refused:
            refused.append(1)
            raise RuntimeError("can't start new thread")
        start(thread)

    def work() -> str:
        ran.append(1)
        return "done"

    order = harness.app.workflow(steps(work))
    monkeypatch.setattr(threading.Thread, "start", refuse_once)
    handle = await harness.start(order)
    await eventually(lambda: bool(refused))
    assert (await handle.status(), ran) == ("running", [])
    harness.clock.advance("1s")

    assert (await handle.result(), ran) == ("done", [1])
    assert (await row_of(harness, handle)).attempts == 1
    await eventually(lambda: held(harness) == 0)


async def test_a_run_that_waited_for_a_lock_once_is_not_given_back_later(harness: Harness) -> None:
    lock, over, entered = asyncio.Lock(), asyncio.get_running_loop().create_future(), []

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        entered.append(1)
        async with lock:
            pass
        await asyncio.shield(over)
        return "done"

    await lock.acquire()
    handle = await harness.start(order)
    await eventually(lambda: bool(entered))
    await eventually(lambda: (harness.clock.next_timer() or 0) > 0)
    harness.clock.advance("1s")
    lock.release()
    await eventually(lambda: not lock.locked())
    for _ in range(20):
        harness.clock.advance("10s")
        await eventually(lambda: _is_running(handle))
    over.set_result(None)

    assert await handle.result() == "done"
    assert (entered, (await path_of(harness, handle)).count("running")) == ([1], 1)


async def _is_running(handle: Handle[Any]) -> bool:
    return await handle.status() == "running"


@pytest.mark.parametrize("reads", [0, 1, 3])
async def test_what_the_code_asks_the_store_does_not_number_its_branches(harness: Harness, reads: int) -> None:
    other = harness.app.workflow(nothing)
    asked = await harness.start(other)

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        async def branch() -> None:
            await ctx.sleep("1m")

        for _ in range(reads):
            await harness.opened.runs.get_run("default", RunId(asked.id))  # around the door that is closed here
        await asyncio.create_task(branch())

    handle = await harness.start(order)
    await harness.until(handle, "sleeping")

    assert await step_keys(harness, handle) == ["sleep/1"]


async def test_a_commit_between_the_look_and_the_first_turn_of_the_watch_is_heard() -> None:
    version, clock = 1, FakeClock()

    async def data_version() -> int:
        return version

    hub = Hub(FileWatch(data_version, clock=clock))
    await hub.open()
    with hub.subscribe(run_topic("default", "run")) as subscription:
        subscription.clear()
        version = 2  # another process commits, after our look
        async with asyncio.timeout(30):
            await subscription.wait(clock, 5_000_000)
    await hub.close()


@pytest.mark.parametrize("ring", [2, 3])
async def test_tasks_that_await_each_other_in_a_ring_fail_the_run_and_free_its_slot(
    harness: Harness, ring: int
) -> None:
    ended: list[int] = []

    @harness.app.workflow
    async def stuck(ctx: Context) -> None:
        tasks: list[asyncio.Task[None]] = []

        async def wait_for_next(number: int) -> None:
            try:
                await tasks[(number + 1) % ring]
            finally:
                ended.append(number)

        tasks.extend(asyncio.create_task(wait_for_next(number)) for number in range(ring))
        await asyncio.gather(*tasks)

    handle = await harness.start(stuck)

    with pytest.raises(RunFailed, match="Every task of the workflow waits for another one"):
        await handle.result()
    await harness.idle()
    assert (held(harness), sorted(ended)) == (0, list(range(ring)))


@pytest.mark.parametrize("in_branch", [False, True])
async def test_what_the_code_raises_because_its_run_has_left_is_nobodys_error(
    harness: Harness, caplog: pytest.LogCaptureFixture, in_branch: bool
) -> None:
    """It was woken by a result, and the run left before it could ask for more."""
    entries = 0

    async def rest(ctx: Context) -> None:
        if entries == 1:
            (execution,) = harness.app._workers[0].executions
            execution.ending.stop()
        await ctx.sleep("1h")

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        nonlocal entries
        entries += 1
        if in_branch:
            branch = asyncio.ensure_future(rest(ctx))
            await ctx.sleep("2h")
            await branch
        await rest(ctx)

    handle = await harness.start(order)
    await harness.idle()
    gc.collect()

    assert (await path_of(harness, handle))[-1] == "sleeping"
    assert entries == 2
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
