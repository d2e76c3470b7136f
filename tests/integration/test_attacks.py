"""Is a run lost, ended or held by anything but its own code: an outage, a loop that ends, a second worker?"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import (
    Gate,
    OpenHarness,
    eventually,
    log_of,
    path_of,
    row_of,
    step_keys,
    until_recorded,
)
from tests.programs import nothing, returns, steps
from windlass import App, Context, Retry, RunFailed
from windlass.api.service import Work
from windlass.client.handle import Handle
from windlass.errors import Unavailable
from windlass.model.commands import RegisterWorker
from windlass.model.duration import to_duration
from windlass.model.time import MINUTE
from windlass.model.worker import LockKind
from windlass.settings import Settings
from windlass.store.base import NoHooks
from windlass.testing.harness import Harness


class Outage(NoHooks):
    """A store that does not answer: after the commits named, and then for some tries not at all."""

    def __init__(self, name: str, *, tries: int) -> None:
        self._name, self._tries = name, tries
        self.is_planned = False
        self._is_lost = False

    def before_begin(self, name: str) -> None:
        if name == self._name and self._is_lost and self._tries:
            self._tries -= 1
            raise Unavailable("The database is away.")

    def after_commit(self, name: str) -> None:
        if name == self._name and self.is_planned:
            self.is_planned, self._is_lost = False, True
            raise Unavailable("The answer is lost.")


async def while_time_passes(harness: Harness, work: Awaitable[Any]) -> Any:
    """The result of work that pauses between its tries."""
    task = asyncio.ensure_future(work)
    while not task.done():
        harness.clock.advance("50ms")
        await asyncio.wait([task], timeout=0.002)
    return await task


@pytest.mark.spec("invariants:I-12", "invariants:I-57")
async def test_a_claim_whose_answer_was_lost_in_an_outage_is_executed_when_it_is_over(
    open_harness: OpenHarness,
) -> None:
    outage = Outage("claim_runs", tries=3)
    harness = await open_harness(has_worker=False, hooks=outage)
    order = harness.app.workflow(returns("done"))
    handle = await harness.start(order)
    outage.is_planned = True
    async with harness.app.worker():
        result = await while_time_passes(harness, handle.result())

    assert result == "done"
    assert await path_of(harness, handle) == ["pending", "running", "completed"]


TRIES = 8  # in which the engine gives up, at least


class Away(NoHooks):
    """A store that cannot be written to while it is away; or in which some of the writes come too early, by a name."""

    def __init__(self) -> None:
        self.is_away, self.refused, self.only = False, 0, ""

    def before_begin(self, name: str) -> None:
        if self.is_away and self.only in name:
            self.refused += 1
            raise Unavailable("The disk is full.")


async def cut_off_in_a_body(open_harness: OpenHarness) -> tuple[Harness, Away, Gate, Handle[str]]:
    """A run whose body is at work when its store goes away."""
    store, gate = Away(), Gate()
    harness = await open_harness(hooks=store)
    order = harness.app.workflow(steps(gate.wait, then="done"))
    handle = await harness.start(order)
    await gate.reached()
    store.is_away = True
    return harness, store, gate, handle


@pytest.mark.spec("invariants:I-01", "invariants:I-03", "invariants:I-61")
async def test_a_result_is_kept_until_it_can_be_written_as_long_as_the_claim_lasts(open_harness: OpenHarness) -> None:
    harness, store, gate, handle = await cut_off_in_a_body(open_harness)
    gate.open()
    await until_tried(harness, store, "2m")  # eight times as long as the engine itself is patient
    store.is_away = False

    assert await while_time_passes(harness, handle.result()) == "done"
    assert gate.entries == 1


@pytest.mark.spec("invariants:I-03", "invariants:I-61")
async def test_a_body_goes_on_though_its_start_could_not_be_noted(open_harness: OpenHarness) -> None:
    harness, store, gate, handle = await cut_off_in_a_body(open_harness)
    await until_tried(harness, store, "40s")  # the note that it began is given up
    store.is_away = False
    gate.open()

    assert await while_time_passes(harness, handle.result()) == "done"
    assert (gate.entries, gate.cancelled) == (1, 0)


@pytest.mark.spec("invariants:I-08", "invariants:I-61")
async def test_a_run_that_is_dropped_while_the_store_is_away_is_given_back_when_it_answers(
    open_harness: OpenHarness,
) -> None:
    store, gate = Away(), Gate()
    harness = await open_harness(hooks=store)

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        await gate.wait()  # no step: what it waits for is not on record
        return "done"

    handle = await harness.start(order)
    await gate.reached()
    store.is_away = True
    gate.open()
    await until_tried(harness, store, "60s")  # its end is given up, and the run dropped
    store.is_away = False
    back_at = harness.clock.now()

    assert await while_time_passes(harness, handle.result()) == "done"
    assert harness.clock.now() - back_at < 2 * MINUTE  # its claim would have lasted for three minutes more
    assert "release" in [entry.cause for entry in await log_of(harness, handle.id)]


async def cut_off_beside_a_failure(open_harness: OpenHarness, store: Away, gate: Gate) -> tuple[Harness, Handle[Any]]:
    """A run whose store goes away before one branch has its result behind the gate, and another one fails."""
    harness, broken = await open_harness(hooks=store), Gate()

    async def fail() -> None:
        if broken.entries == 0:
            await broken.wait()
            raise OSError("reset")

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        await asyncio.gather(ctx.step(gate.wait, name="pay"), ctx.step(fail))
        return "done"

    handle = await harness.start(order)
    await gate.reached()
    await broken.reached()
    store.is_away = True
    gate.open()
    broken.open()
    return harness, handle


@pytest.mark.in_process("its clock runs 250 times faster than time, so that claims end within a few calls of the wire")
@pytest.mark.spec("invariants:I-03", "invariants:I-61")
async def test_a_result_that_waits_to_be_written_is_not_lost_with_the_branch_beside_it(
    open_harness: OpenHarness,
) -> None:
    """A failure that cannot be written drops the run; what another branch has worked for goes out before that."""
    store, gate = Away(), Gate()
    harness, handle = await cut_off_beside_a_failure(open_harness, store, gate)
    await until_tried(harness, store, "1m")
    store.is_away = False

    assert await while_time_passes(harness, handle.result()) == "done"
    assert gate.entries == 1


@pytest.mark.in_process("its clock runs 250 times faster than time, so that claims end within a few calls of the wire")
@pytest.mark.spec("invariants:I-03", "invariants:I-61")
async def test_a_run_is_not_given_back_before_the_results_that_the_store_could_not_take(
    open_harness: OpenHarness,
) -> None:
    """The store comes back between the last try to write a result and the first one to give the run back."""
    store, gate = Away(), Gate()
    harness, handle = await cut_off_beside_a_failure(open_harness, store, gate)
    await until_tried(harness, store, "1m")
    store.only = "complete_steps"
    await until_tried(harness, store, "1m")
    store.is_away = False

    assert await while_time_passes(harness, handle.result()) == "done"
    assert gate.entries == 1


async def until_tried(harness: Harness, store: Away, duration: str) -> None:
    """Let time pass, slowly enough for everyone who wants to write to try, until they have given up once or more."""
    begun_at, lasts_for, before = harness.clock.now(), to_duration(duration), store.refused
    while (passed := harness.clock.now() - begun_at) < 2 * lasts_for:  # on a machine that has much else to do
        if passed >= lasts_for and store.refused - before > TRIES:
            break
        harness.clock.advance("500ms")
        await asyncio.sleep(0.002)
    assert store.refused - before > TRIES


async def test_whoever_waits_for_a_result_outlasts_a_database_that_is_away(harness: Harness, gate: Gate) -> None:
    order = harness.app.workflow(steps(gate.wait, then="done"))
    handle = await harness.start(order)
    await gate.reached()
    store, asked = harness.opened.engine.parts.store, Counter[str]()
    read: Callable[..., Awaitable[Any]] = store.read

    async def away(name: str, *args: Any, **options: Any) -> Any:
        asked[name] += 1
        if name == "outcomes" and asked[name] <= 4:
            raise Unavailable("The database is away.")
        return await read(name, *args, **options)

    store.read = away  # type: ignore[method-assign]
    waiting = asyncio.ensure_future(handle.result())
    await eventually(lambda: asked["outcomes"] > 0, what="the result was asked for")
    gate.open()

    assert await while_time_passes(harness, waiting) == "done"


async def test_a_second_worker_in_the_process_does_not_change_the_names_of_sleeps(idle_harness: Harness) -> None:
    app = idle_harness.app

    @app.workflow
    async def order(ctx: Context) -> str:
        await ctx.sleep("1h")
        await asyncio.gather(nap(ctx), nap(ctx))
        return "done"

    async def nap(ctx: Context) -> None:
        await ctx.sleep("2h")

    async with app.worker(), app.worker(queues=["other"]), app.worker(queues=["third"]):
        handle = await app.start(order)
        await idle_harness.until(handle, "sleeping")
        idle_harness.clock.advance("1h")
        await until_recorded(idle_harness, handle, "sleep/2")
        await idle_harness.until(handle, "sleeping")
    assert await step_keys(idle_harness, handle) == ["sleep", "sleep/1", "sleep/2"]
    idle_harness.clock.advance("2h")
    async with app.worker():
        assert await handle.result() == "done"


async def test_workers_that_come_and_go_leave_the_loop_as_they_found_it(idle_harness: Harness) -> None:
    loop, app = asyncio.get_running_loop(), idle_harness.app
    before = loop.get_task_factory()

    first, second = app.worker(), app.worker()
    await first.__aenter__()
    await second.__aenter__()
    await first.__aexit__(None, None, None)  # not in the order of a stack
    during = loop.get_task_factory()
    await second.__aexit__(None, None, None)

    assert during is not before
    assert loop.get_task_factory() is before


class SlowRegistration(NoHooks):
    """Stands still while a worker says anew what it serves. For SQLite, whose hooks run on the writer thread."""

    def __init__(self) -> None:
        self.is_planned = False
        self.reached, self.go_on = threading.Event(), threading.Event()

    def before_begin(self, name: str) -> None:
        if name == "register_worker" and self.is_planned:
            self.is_planned = False
            self.reached.set()
            self.go_on.wait(20)


async def test_a_worker_stopped_while_it_registers_anew_gives_back_nothing_that_it_executes(gate: Gate) -> None:
    hooks = SlowRegistration()
    async with Harness(has_worker=False, hooks=hooks) as harness, AsyncExitStack() as stack:
        app, first = harness.app, Gate()
        quick = app.workflow(name="quick")(steps(first.wait, then="quick"))
        slow = app.workflow(name="slow")(steps(gate.wait, then="slow"))

        async def news(ctx: Context) -> None: ...

        handles = [await app.start(quick), await app.start(slow)]
        await stack.enter_async_context(app.worker(slots=2))  # both come with one claim, and fill it
        await first.reached()
        await gate.reached()
        app.workflow(news)
        hooks.is_planned = True
        first.open()
        await eventually(hooks.reached.is_set, what="the worker registers anew")
        stopping = asyncio.ensure_future(stack.aclose())
        await asyncio.sleep(0)
        hooks.go_on.set()
        await eventually(lambda: asyncio.ensure_future(is_over(handles[0])), what="the quick one is over")
        gate.open()
        await stopping

        assert await path_of(harness, handles[1]) == ["pending", "running", "completed"]
        assert gate.entries == 1


class SlowDoor:
    """The door of a worker, whose next registration waits; carried out it is, whatever becomes of who asked."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.is_planned = False
        self.reached, self.go_on, self.is_done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    async def register_worker(self, command: RegisterWorker) -> LockKind | None:
        if not self.is_planned:
            return await self._work.register_worker(command)
        self.is_planned = False
        return await asyncio.shield(asyncio.ensure_future(self._slowly(command)))

    async def _slowly(self, command: RegisterWorker) -> LockKind | None:
        self.reached.set()
        await self.go_on.wait()
        try:
            return await self._work.register_worker(command)
        finally:
            self.is_done.set()


async def test_a_registration_on_its_way_does_not_bring_back_a_worker_that_has_left() -> None:
    async with Harness(has_worker=False) as harness, AsyncExitStack() as stack:
        app = harness.app
        opened = await app._opening.get()
        door: Any = SlowDoor(opened.work)
        opened.work = door
        await stack.enter_async_context(app.worker())
        door.is_planned = True
        app.workflow(name="news")(nothing)
        await door.reached.wait()
        stopping = asyncio.ensure_future(stack.aclose())
        await asyncio.wait([stopping], timeout=0.2)  # long enough to overtake it, if it may
        door.go_on.set()
        await stopping
        await door.is_done.wait()

        assert await opened.runs.list_workers("default") == ()


async def is_over(handle: Handle[Any]) -> bool:
    return (await handle.status()).is_terminal


# --- a loop that ends -------------------------------------------------------------------------------------------------


def run_until_interrupted(url: str, function: Callable[..., Any], *, entered: list[str]) -> None:
    """Execute a run until `entered` says so, then end the loop as a second Ctrl-C does: every task is cancelled."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        app = App(url, settings=Settings())
        app.workflow(function)
        async with app, app.worker():
            await app.start(function, key="k")
            await eventually(lambda: bool(entered), what="the code was entered")
            asyncio.get_running_loop().call_soon(interrupt)
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(main())


async def state_of(url: str, function: Callable[..., Any]) -> tuple[str, int]:
    async with App(url, settings=Settings()) as app:
        app.workflow(function)
        handle = app.handle(function, key="k")
        status = await handle.status()
        steps = await app._opening.opened().runs.list_steps("default", handle.id)  # type: ignore[arg-type]
        return status, sum(step.failures for step in steps)


ENTERED: list[str] = []


async def forever() -> None:
    ENTERED.append("forever")
    await asyncio.Event().wait()


async def waits(ctx: Context) -> None:
    await ctx.step(forever, retry=Retry(1))


async def waits_in_branches(ctx: Context) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(ctx.step(forever, retry=Retry(1)))
        group.create_task(ctx.step(forever, retry=Retry(1), key="other"))


async def answers_when_cancelled(ctx: Context) -> str:
    try:
        await ctx.step(forever, retry=Retry(1))
    except BaseException:
        return "that was no result"
    return "done"


async def fails_when_cancelled(ctx: Context) -> None:
    try:
        await ctx.step(forever, retry=Retry(1))
    except BaseException:
        raise RuntimeError("that was no failure") from None


@pytest.mark.spec("invariants:I-08", "security:32")
@pytest.mark.parametrize("function", [waits, waits_in_branches, answers_when_cancelled, fails_when_cancelled])
async def test_a_loop_that_ends_gives_its_runs_back(tmp_path: Path, function: Callable[..., Any]) -> None:
    url = f"sqlite:///{tmp_path / 'windlass.db'}"
    ENTERED.clear()

    await asyncio.to_thread(run_until_interrupted, url, function, entered=ENTERED)

    assert await state_of(url, function) == ("pending", 0)


async def test_a_loop_that_ends_in_the_middle_of_a_replay_holds_nothing(tmp_path: Path) -> None:
    url, seen = f"sqlite:///{tmp_path / 'windlass.db'}", list[str]()

    def pack() -> None: ...

    async def order(ctx: Context) -> None:
        seen.append("entered")
        if len(seen) > 1:  # the second time it stands before what is on record
            ENTERED.append("again")
            await asyncio.get_running_loop().create_future()
        await ctx.step(pack)
        await ctx.step(forever, retry=Retry(1))

    for _ in range(2):
        ENTERED.clear()
        await asyncio.to_thread(run_until_interrupted, url, order, entered=ENTERED)

    assert len(seen) == 2
    assert await state_of(url, order) == ("pending", 0)


async def test_code_that_cancels_itself_has_failed(harness: Harness) -> None:
    async def give_up() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    by_step = harness.app.workflow(steps(give_up, retry=Retry(1)))

    @harness.app.workflow
    async def by_itself(ctx: Context) -> None:
        await give_up()

    for function in (by_step, by_itself):
        handle = await harness.start(function)
        with pytest.raises(RunFailed) as failed:
            await handle.result()
        assert failed.value.type == "CancelledError"
        assert (await row_of(harness, handle)).attempts == 1


if sys.version_info >= (3, 12):

    async def test_a_loop_with_eager_tasks_executes_runs_all_the_same(idle_harness: Harness) -> None:
        async def double(number: int) -> int:
            return 2 * number

        @idle_harness.app.workflow
        async def order(ctx: Context) -> list[int]:
            return await asyncio.gather(*[ctx.step(double, number, key=str(number)) for number in range(3)])

        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        async with idle_harness.app.worker():
            assert await (await idle_harness.start(order)).result() == [0, 2, 4]
