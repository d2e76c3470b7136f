"""Does a run whose time is over end, once, although nobody comes for it; and does nobody else's run?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    SERVED,
    VISIBLE_FOR,
    claim_one,
    create,
    engine_on,
    finished,
    new_run,
    poll,
    start,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import event_wait, found, parking, path, pausing, wait_for
from tests.conformance.test_families import child_wait, children_of
from windlass.engine.coordinator import expire_runs
from windlass.engine.coordinator.expire_runs import LATE_FOR
from windlass.engine.engine import Engine
from windlass.errors import ClaimLost, Unavailable
from windlass.model.commands import WaitStep
from windlass.model.failure import FailureKind
from windlass.model.run import TERMINAL, Run, RunId, RunStatus
from windlass.model.schedule import CatchUp, Overlap, Timing
from windlass.model.schedule_commands import PutSchedule, TriggerSchedule
from windlass.model.step import StepKind
from windlass.model.time import DAY, HOUR, SECOND, Duration
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

OPEN = sorted({*RunStatus} - TERMINAL)
LASTS = Duration(HOUR)
EXPIRED = (RunStatus.FAILED, FailureKind.TIMEOUT)


async def expire(engine: Engine, *, batch: int = 100) -> int:
    return await expire_runs.tick(engine.parts, batch=batch)


async def timed_run_in(engine: Engine, status: RunStatus) -> Run:
    """A run that has an hour, on its ordinary way into a status that is not its end."""
    started = await engine.runs.start_run(start(timeout_for=LASTS))
    if status is RunStatus.PAUSED:
        await engine.control.pause_run(pausing(started.run_id))
    elif status is not RunStatus.PENDING:
        run = await claim_one(engine)
        waits = {
            RunStatus.SLEEPING: lambda: wait_for(run, StepKind.SLEEP, due_for=DAY),
            RunStatus.WAITING: lambda: event_wait(run),
        }
        if status in waits:
            await engine.work.suspend_run(parking(run, waits[status]()))
    run = await found(engine, started.run_id)
    assert run.status is status
    return run


async def outcome(engine: Engine, id: RunId) -> tuple[RunStatus, str]:
    """How a run ended, and why."""
    view = await engine.runs.get_run(NAMESPACE, id)
    return view.run.status, "" if view.failure is None else view.failure.kind


class TestExpiry(EngineConformance):
    @pytest.mark.parametrize("status", OPEN)
    async def test_a_run_that_nobody_comes_for_ends_when_its_time_is_over_and_not_before(
        self, engine: Engine, clock: FakeClock, status: RunStatus
    ) -> None:
        run = await timed_run_in(engine, status)
        before = await path(engine, run.id)
        clock.advance(LASTS + LATE_FOR - 1)
        assert await expire(engine) == 0
        assert await found(engine, run.id) == run

        clock.advance(1)
        assert await expire(engine) == 1
        assert await expire(engine) == 0

        assert await outcome(engine, run.id) == EXPIRED
        assert await path(engine, run.id) == [*before, (status, "failed", "expire")]
        now = await found(engine, run.id)
        assert (now.token, now.worker, now.finished_at, now.available_at) == (run.token, None, clock.now(), None)

    async def test_a_run_without_a_time_out_waits_for_ever(self, engine: Engine, clock: FakeClock) -> None:
        started = await engine.runs.start_run(start())
        clock.advance(1000 * DAY)

        assert await expire(engine) == 0
        assert (await found(engine, started.run_id)).status is RunStatus.PENDING

    async def test_one_pass_ends_a_batch_of_every_namespace_the_latest_first(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        await create(store, *[new_run(number, timeout_for=LASTS + number * SECOND) for number in range(1, 5)])
        await create(store, new_run(7, namespace="other", timeout_for=LASTS))
        clock.advance(2 * LASTS)

        assert [await expire(engine, batch=2) for _ in range(4)] == [2, 2, 1, 0]

    async def test_whoever_waits_for_the_run_hears_of_it(self, engine: Engine, clock: FakeClock) -> None:
        run = await timed_run_in(engine, RunStatus.WAITING)
        result = asyncio.create_task(engine.runs.wait_for_result(NAMESPACE, run.id, None))
        await asyncio.sleep(0)  # it has subscribed
        clock.advance(LASTS + LATE_FOR)

        await expire(engine)

        ended = await asyncio.wait_for(result, timeout=10)
        assert ended.failure is not None
        assert ended.failure.message == "The run did not end within its time-out."

    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_an_end_whose_answer_was_lost_is_told_all_the_same(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        run = await timed_run_in(engine, RunStatus.SLEEPING)
        clock.advance(LASTS + LATE_FOR)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        assert await while_time_passes(clock, expire(engine)) == 1
        assert [cause for *_, cause in await path(engine, run.id)].count("expire") == 1

    async def test_a_run_whose_workers_all_died_is_in_order_when_it_ends(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        """As many recoveries as claims: nobody ever gave it back."""
        started = await engine.runs.start_run(start(timeout_for=LASTS))
        for number in range(1, 4):
            await claim_one(engine, number)
            clock.advance(VISIBLE_FOR)
        clock.advance(LASTS)

        assert await expire(engine) == 1
        assert await outcome(engine, started.run_id) == EXPIRED

    # Families and schedules

    async def test_a_parent_goes_on_when_its_child_ends_so(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        started = await engine.runs.start_run(start())
        run = await claim_one(engine)
        await engine.work.suspend_run(parking(run, _timed(child_wait(run))))
        (child,) = (await children_of(store, run.id)).values()
        clock.advance(LASTS + LATE_FOR)

        assert await expire(engine) == 1

        assert await outcome(engine, child) == EXPIRED
        assert (await found(engine, started.run_id)).status is RunStatus.PENDING
        assert (await path(engine, started.run_id))[-1] == ("waiting", "pending", "child")

    async def test_a_parent_and_its_child_may_end_together_and_other_children_go_on(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        run = await timed_run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, _timed(child_wait(run, "a")), child_wait(run, "b")))
        children = await children_of(store, run.id)
        clock.advance(LASTS + LATE_FOR)

        assert await expire(engine) == 2

        assert [await outcome(engine, id) for id in (run.id, children["a"])] == [EXPIRED, EXPIRED]
        assert (await found(engine, children["b"])).status is RunStatus.PENDING

    async def test_the_next_run_of_a_schedule_gets_its_turn(self, engine: Engine, clock: FakeClock) -> None:
        await engine.schedules.put_schedule(_nightly())
        first, second = [await engine.schedules.trigger_schedule(_triggering()) for _ in range(2)]
        assert (await found(engine, second.run_id)).status is RunStatus.WAITING
        clock.advance(LASTS + LATE_FOR)

        assert await expire(engine) == 1  # the second has not begun, and is not late

        assert await outcome(engine, first.run_id) == EXPIRED
        assert (await found(engine, second.run_id)).status is RunStatus.PENDING

    # At the same time

    @pytest.mark.spec("invariants:I-18")
    async def test_a_claim_that_comes_first_does_not_save_the_run_and_its_holder_writes_nothing(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        run = await timed_run_in(engine, RunStatus.PENDING)
        clock.advance(LASTS + LATE_FOR)

        count = await meanwhile(second_store, _claiming, lambda: expire(engine), until_blocked)

        assert count == 1
        assert await outcome(engine, run.id) == EXPIRED
        late = await found(engine, run.id)
        assert late.token == 1
        with pytest.raises(ClaimLost):
            await engine.work.finish_run(finished(late))

    async def test_an_end_that_comes_first_stays(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        run = await timed_run_in(engine, RunStatus.RUNNING)
        clock.advance(LASTS + LATE_FOR)

        async def end(tx: Tx) -> None:
            assert await tx.runs.finish([finished(run)])

        count = await meanwhile(second_store, end, lambda: expire(engine), until_blocked)

        assert count == 0
        assert await outcome(engine, run.id) == (RunStatus.COMPLETED, "")

    async def test_what_is_being_ended_is_claimed_by_nobody(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        run = await timed_run_in(engine_on(store, clock), RunStatus.PENDING)
        clock.advance(LASTS + LATE_FOR)
        other = engine_on(store, clock)

        def hold(tx: Tx) -> Any:
            return expire_runs._end(tx, [run], now=clock.now())  # type: ignore[arg-type]

        claimed = await meanwhile(second_store, hold, lambda: other.work.claim_runs(poll(2)), None)

        assert claimed == []
        assert await outcome(other, run.id) == EXPIRED


def _timed(wait: WaitStep) -> WaitStep:
    """A wait for a child that has an hour."""
    assert wait.child is not None
    return replace(wait, child=replace(wait.child, command=replace(wait.child.command, timeout_for=LASTS)))


async def _claiming(tx: Tx) -> None:
    (row,) = await tx.runs.claim(
        namespace=NAMESPACE, served=SERVED, limit=1, worker=OTHER_WORKER, poll=2, claim_for=lambda name: VISIBLE_FOR
    )
    assert row.run.token == 1


def _nightly() -> PutSchedule:
    """A schedule whose runs have an hour, and wait for each other."""
    return PutSchedule(
        namespace=NAMESPACE,
        name="nightly",
        workflow="invoice",
        version="",
        queue="billing",
        input=b"[]",
        input_hash=b"hash",
        timeout_for=LASTS,
        timing=Timing(every=Duration(DAY)),
        catch_up=CatchUp.NONE,
        max_catch_up=1,
        overlap=Overlap.QUEUE,
        jitter=Duration(0),
    )


def _triggering() -> TriggerSchedule:
    return TriggerSchedule(namespace=NAMESPACE, name="nightly")
