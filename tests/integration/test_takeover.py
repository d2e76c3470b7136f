"""What becomes of a run whose worker stalls, dies, stops, or keeps dying?"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import (
    ByHand,
    Gate,
    OpenHarness,
    eventually,
    log_of,
    path_of,
    row_of,
    until_path,
    until_recorded,
)
from tests.programs import returns, steps
from windlass import Context, Retry, RunFailed, current_step
from windlass.model.commands import Claim
from windlass.model.step import StepStatus
from windlass.model.time import SECOND, Duration
from windlass.settings import Settings
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness


@pytest.mark.spec("runs:G11", "runs:V5", "invariants:I-01", "invariants:I-03", "invariants:I-18")
@pytest.mark.parametrize("is_thread", [False, True], ids=["task", "thread"])
async def test_another_process_takes_over_and_the_first_one_commits_nothing(
    open_shared: OpenHarness, is_thread: bool
) -> None:
    entered: list[str] = []
    stalled = asyncio.Event()
    door = threading.Event()

    def build(number: int) -> Any:
        async def pack() -> str:
            entered.append(f"pack {number}")
            return "packed"

        def ship_in_thread() -> str:
            entered.append(f"ship {number}")
            if number == 0:
                door.wait(20)
            return f"shipped by {number}"

        async def ship() -> str:
            entered.append(f"ship {number}")
            while number == 0 and not stalled.is_set():
                with contextlib.suppress(asyncio.CancelledError):  # a body that does not let itself be stopped
                    await stalled.wait()
            return f"shipped by {number}"

        async def order(ctx: Context) -> str:
            await ctx.step(pack)
            return await ctx.step(ship_in_thread if is_thread else ship, name="ship")

        return order

    first = await open_shared(slots=1)  # its only slot stays taken, so it cannot take the run back
    handle = await first.start(first.app.workflow(name="order")(build(0)))
    await eventually(lambda: "ship 0" in entered, what="the body is at work")
    second = await open_shared()
    second.app.workflow(name="order")(build(1))
    if is_thread:  # the process stands still: else it would renew the claim, because its thread is at work
        first.app._workers[0].claims.stop()

    first.clock.advance("300s")
    assert await handle.result() == "shipped by 1"
    before = (await row_of(second, handle), await second.steps(handle), await log_of(second, handle.id))
    assert len(first.app._workers[0].executions) == 1
    stalled.set()
    door.set()
    await eventually(lambda: not first.app._workers[0].executions, what="the slot is free again")

    assert (await row_of(second, handle), await second.steps(handle), await log_of(second, handle.id)) == before
    assert entered == ["pack 0", "ship 0", "ship 1"]
    assert (before[0].token, before[0].attempts, before[0].recoveries) == (2, 2, 1)
    assert [entry.cause for entry in before[2]][-2:] == ["recover", "finish"]


@pytest.mark.spec("runs:G11", "invariants:I-20")
async def test_a_body_is_stopped_when_its_claim_ran_out(
    harness: Harness, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> int:
        await ctx.step(gate.wait)
        return gate.entries

    handle = await harness.start(order)
    await gate.reached()
    harness.clock.advance("298s")  # in one go: the loop stood still, though not for the whole claim
    assert gate.cancelled == 0
    await at_rest(harness)
    harness.clock.advance("300s")
    await gate.left()
    await pass_seconds(harness, until=lambda: gate.entries == 2)
    gate.open()

    assert await handle.result() == 2
    assert f"The claim on run {handle.id} ran out: for 5 min no step was at work" in caplog.text


@pytest.mark.spec("runs:G4", "invariants:I-20")
async def test_heartbeats_of_a_worker_keep_no_claim_alive(harness: Harness) -> None:
    entered: list[asyncio.Future[None]] = []

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        entered.append(asyncio.get_running_loop().create_future())
        await entered[-1]  # which is not a step: nothing renews the claim

    handle = await harness.start(order)
    await eventually(lambda: bool(entered))
    await until_path(harness, handle, "running")
    row = await row_of(harness, handle)

    for _ in range(28):
        harness.clock.advance("10s")

        async def is_seen() -> bool:
            return (await harness.opened.runs.list_workers("default"))[0].seen_at == harness.clock.now()

        await eventually(is_seen, what="the heartbeat is written")
        assert await row_of(harness, handle) == row
    entered[0].set_result(None)
    await handle.result()


@pytest.mark.spec("invariants:I-20")
async def test_steps_that_end_in_time_renew_the_claim_for_as_long_as_it_takes(harness: Harness) -> None:
    entered: list[int] = []
    doors = [asyncio.Event() for _ in range(10)]

    async def work(number: int) -> None:
        entered.append(number)
        await doors[number].wait()

    @harness.app.workflow
    async def long(ctx: Context) -> str:
        for number in range(10):
            await ctx.step(work, number)
        return "done"

    handle = await harness.start(long)
    for number in range(10):
        await eventually(lambda number=number: len(entered) == number + 1)  # type: ignore[misc]
        harness.clock.advance("140s")
        doors[number].set()

    assert await handle.result() == "done"
    assert entered == list(range(10))
    assert (await row_of(harness, handle)).attempts == 1  # 1,400 s in one claim of 300 s


@pytest.mark.spec("invariants:I-20")
async def test_a_step_may_ask_for_a_longer_claim(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> int:
        await ctx.step(gate.wait, visibility="2h")
        return gate.entries

    begun_at = harness.clock.now()
    handle = await harness.start(order)
    await gate.reached()
    assert (await row_of(harness, handle)).available_at == begun_at + 7_200 * SECOND
    harness.clock.advance("7100s")
    assert gate.cancelled == 0
    gate.open()

    assert await handle.result() == 1


async def test_a_workflow_may_ask_for_another_claim(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow(visibility="10s")
    async def short(ctx: Context) -> int:
        await ctx.step(gate.wait)
        return gate.entries

    begun_at = harness.clock.now()
    handle = await harness.start(short)
    await gate.reached()
    assert (await row_of(harness, handle)).available_at == begun_at + 10 * SECOND
    harness.clock.advance("10s")
    await gate.reached(2)
    gate.open()

    assert await handle.result() == 2


@pytest.mark.spec("invariants:I-25")
async def test_a_worker_that_stops_lets_bodies_end_within_the_grace(open_harness: OpenHarness, gate: Gate) -> None:
    harness = await open_harness(has_worker=False)
    app = harness.app

    async def ship() -> None: ...

    @app.workflow
    async def order(ctx: Context) -> str:
        await ctx.step(gate.wait)
        await ctx.step(ship)
        return "done"

    worker = app.worker()
    await worker.__aenter__()
    handle = await app.start(order)
    await gate.reached()
    stopping = asyncio.ensure_future(worker.__aexit__(None, None, None))
    await asyncio.sleep(0)
    gate.open()
    await stopping

    run = await row_of(harness, handle)
    assert (run.status, run.available_at, run.recoveries) == ("pending", harness.clock.now(), 0)
    assert [step.key for step in await harness.steps(handle)] == ["wait"]  # it ended, and no new one was begun
    async with app.worker():
        assert await handle.result() == "done"
    assert gate.entries == 1


@pytest.mark.spec("invariants:I-25", "invariants:I-03")
async def test_a_worker_whose_grace_is_over_gives_its_runs_back_without_cost(idle_harness: Harness, gate: Gate) -> None:
    app = idle_harness.app
    order = app.workflow(steps(gate.wait, then="done", retry=Retry(1)))
    handle = await app.start(order)
    for times in range(1, 14):  # more often than any budget or cap
        async with app.worker():
            await gate.reached(times)
        run = await row_of(idle_harness, handle)
        assert (run.status, run.available_at, run.recoveries) == ("pending", idle_harness.clock.now(), 0)
    gate.open()
    async with app.worker():
        assert await handle.result() == "done"

    assert gate.cancelled == 13
    assert {step.failures for step in await idle_harness.steps(handle)} == {0}
    assert await idle_harness.opened.runs.list_workers("default") == ()


@pytest.mark.spec("invariants:I-15")
async def test_a_step_that_keeps_killing_its_worker_ends_as_a_crash_loop_naming_it(
    open_harness: OpenHarness, gate: Gate
) -> None:
    harness = await open_harness(settings=Settings(max_recoveries=3))
    attempts: list[int] = []

    async def poison() -> None:
        attempts.append(current_step().attempt)
        await gate.wait()

    async def pack() -> None: ...

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await ctx.step(pack)
        await ctx.step(poison)

    handle = await harness.start(order)
    for times in range(1, 5):
        await gate.reached(times)
        harness.clock.advance("20ms")
        await until_recorded(harness, handle, "poison")
        await kill_worker(harness)

    with pytest.raises(RunFailed) as failed:
        await handle.result()
    assert (failed.value.kind, failed.value.type) == ("crash_loop", "CrashLoop")
    assert "'poison'" in failed.value.message
    assert gate.entries == 4
    assert attempts == sorted(set(attempts))  # every attempt has its own number
    causes = [entry.cause for entry in await log_of(harness, handle.id)]
    assert (causes.count("death"), causes[-2:]) == (4, ["claim", "finish"])


@pytest.mark.spec("invariants:I-15")
async def test_a_workflow_that_keeps_killing_its_worker_outside_any_step_says_so(open_harness: OpenHarness) -> None:
    harness = await open_harness(settings=Settings(max_recoveries=1))
    entered: list[asyncio.Future[None]] = []

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        entered.append(asyncio.get_running_loop().create_future())
        await entered[-1]

    handle = await harness.start(order)
    for times in range(1, 3):
        await eventually(lambda times=times: len(entered) == times)  # type: ignore[misc]
        await kill_worker(harness)

    with pytest.raises(RunFailed, match="outside any step") as failed:
        await handle.result()
    assert failed.value.kind == "crash_loop"


@pytest.mark.spec("invariants:I-15")
async def test_an_orderly_park_ends_the_count_of_recoveries(open_harness: OpenHarness) -> None:
    harness = await open_harness(settings=Settings(max_recoveries=1))
    entered: list[int] = []
    door = asyncio.Event()

    async def work(number: int) -> None:
        entered.append(number)
        if entered.count(number) == 1:
            await asyncio.Event().wait()

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        for number in range(4):
            await ctx.step(work, number)
            await ctx.sleep("1m")
        return "done"

    handle = await harness.start(order)
    for number in range(4):
        await eventually(lambda number=number: entered.count(number) == 1)  # type: ignore[misc]
        harness.clock.advance("300s")  # one crash each
        await until_path(harness, handle, "sleeping", times=number + 1)
        assert (await row_of(harness, handle)).recoveries == 0
        harness.clock.advance("1m")

    assert await handle.result() == "done"
    assert entered == [0, 0, 1, 1, 2, 2, 3, 3]
    assert not door.is_set()


async def test_recovered_runs_have_their_starts_on_record_before_the_body_is_entered(
    harness: Harness, gate: Gate
) -> None:
    seen: list[str] = []

    async def work() -> None:
        if gate.entries:
            steps = await harness.steps(handle)
            seen.extend(f"{step.key} {step.status} {step.token}" for step in steps)
            return
        await gate.wait()

    order = harness.app.workflow(steps(work, then="done"))
    handle = await harness.start(order)
    await gate.reached()
    harness.clock.advance("301s")

    assert await handle.result() == "done"
    assert seen[-1] == "work running 2"


async def test_runs_of_names_nobody_here_serves_are_left_alone(open_shared: OpenHarness) -> None:
    first, second = await open_shared(), await open_shared(has_worker=False)

    async def known(ctx: Context) -> str:
        return "known"

    async def unknown(ctx: Context) -> str:
        return "unknown"

    first.app.workflow(known)
    second.app.workflow(known)
    strange = [await second.start(second.app.workflow(unknown), queue=queue) for queue in ("default", "other")]
    handle = await second.start(known)

    assert await handle.result() == "known"
    await first.idle()
    for left in strange:
        run = await row_of(second, left)
        assert (run.status, run.attempts) == ("pending", 0)
        assert await path_of(second, left) == ["pending"]


async def test_runs_of_another_version_are_left_to_it(open_shared: OpenHarness) -> None:
    first, second = await open_shared(), await open_shared(has_worker=False)

    def build(version: str) -> Any:
        async def order(ctx: Context) -> str:
            return version

        return order

    first.app.workflow(name="order", version="1")(build("1"))
    newer = second.app.workflow(name="order", version="2")(build("2"))
    handle = await second.start(newer)
    await first.advance("1h")
    assert (await row_of(second, handle)).attempts == 0

    async with second.app.worker():
        assert await handle.result() == "2"


async def test_a_run_in_another_queue_waits_for_a_worker_of_that_queue(open_harness: OpenHarness) -> None:
    harness = await open_harness(queues=("default", "fast"))
    order = harness.app.workflow(queue="fast")(returns("done"))

    assert await harness.run(order) == "done"
    slow = await harness.start(order, queue="slow")
    await harness.idle()
    assert (await row_of(harness, slow)).status == "pending"
    async with harness.app.worker(queues=["slow"]):
        assert await slow.result() == "done"


@pytest.mark.spec("invariants:I-18")
async def test_a_worker_that_lost_its_claim_writes_nothing_more(open_shared: OpenHarness) -> None:
    first, second = await open_shared(slots=1), await open_shared(has_worker=False, clock=FakeClock())
    gate = Gate()

    async def order(ctx: Context) -> str:
        await ctx.step(gate.wait)
        return "done"

    handle = await first.start(first.app.workflow(order))
    await gate.reached()
    # Somebody takes the run away while its holder believes in its claim: only the store knows. By another clock, so
    # that the holder, should it hear of it, cannot be the first to take it up again.
    other, run = ByHand(second, "B"), await row_of(second, handle)
    given_back = Claim(namespace="default", run_id=run.id, token=run.token, delay_for=Duration(SECOND))
    await second.opened.work.release_run(given_back)
    second.clock.advance(SECOND)
    claimed = await other.claim_one()
    taken = await row_of(second, handle)
    gate.open()
    await eventually(lambda: not first.app._workers[0].executions, what="the run is dropped")

    assert await second.steps(handle) == ()
    assert await row_of(second, handle) == taken
    await other.work.release_run(other.claim_of(claimed))
    first.clock.advance(SECOND)
    assert await handle.result() == "done"
    (step,) = await second.steps(handle)
    assert (step.status, step.token) == (StepStatus.COMPLETED, 3)


@pytest.mark.spec("runs:P3.5", "runs:P3.6")
async def test_a_claim_lasts_as_long_as_the_setting_says(open_harness: OpenHarness, gate: Gate) -> None:
    harness = await open_harness(settings=Settings(visibility_for=Duration(20 * SECOND)))
    order = harness.app.workflow(steps(gate.wait))
    begun_at = harness.clock.now()
    handle = await harness.start(order)
    await gate.reached()

    assert (await row_of(harness, handle)).available_at == begun_at + 20 * SECOND
    gate.open()
    await handle.result()
    assert Settings().visibility_for == 300 * SECOND


async def kill_worker(harness: Harness) -> None:
    """As by kill -9, and wait out the pause after deaths in a row."""
    harness.crash()
    await harness._settle_takeovers()
    harness.clock.advance("1m")


async def at_rest(harness: Harness) -> None:
    await eventually(lambda: not any(worker.claims.is_renewing for worker in harness.app._workers))


async def pass_seconds(harness: Harness, *, until: Callable[[], bool]) -> None:
    """A worker that was silent for so long may have to register anew, and pauses before it claims again."""
    while not until():
        harness.clock.advance("1s")
        await asyncio.sleep(0.01)
