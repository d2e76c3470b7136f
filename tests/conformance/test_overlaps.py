"""Do runs of a schedule overlap only where it says so, and does none of them wait for ever?

overlap="queue"    slot 1 ──► admitted     slot 2 ──► queued     slot 3 ──► neither: the schedule itself waits
                   the first ends ──► the second is admitted, and the schedule looks at slot 3
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    VISIBLE_FOR,
    claim_one,
    engine_on,
    finished,
    holding,
    poll,
    resuming,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import (
    cancelling,
    deed,
    event_wait,
    found,
    parking,
    path,
    pausing,
    wait_for,
)
from tests.conformance.test_schedules import coordinate, counts, go_on, put, runs_of, seen, slots_of
from windlass.engine.coordinator import expire_runs
from windlass.engine.engine import Engine
from windlass.errors import Unavailable, WrongState
from windlass.model.run import TERMINAL, Run, RunStatus
from windlass.model.schedule import CatchUp, Overlap
from windlass.model.schedule_commands import TriggerSchedule
from windlass.model.step import StepKind
from windlass.model.time import DAY, HOUR, MINUTE, Duration
from windlass.rules.schedules import is_blocked
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

OPEN = sorted({*RunStatus} - TERMINAL)
LASTS = Duration(10 * DAY)

End = Callable[[Engine, FakeClock, Run], Awaitable[object]]


def triggering(**fields: Any) -> TriggerSchedule:
    return TriggerSchedule(namespace=NAMESPACE, name="nightly", **fields)


async def statuses(engine: Engine) -> list[str]:
    return [run.status.value for run in await runs_of(engine)]


async def finish(engine: Engine, number: int = 1, **fields: Any) -> Run:
    """Claim the one run that is due, and end it."""
    run = await claim_one(engine, number)
    await engine.work.finish_run(finished(run, schedule=run.schedule, **fields))
    return run


async def bring(engine: Engine, status: RunStatus) -> Run:
    """The first run of the schedule, on its ordinary way into a status that is not its end."""
    if status is not RunStatus.PENDING:
        run = await claim_one(engine)
        match status:
            case RunStatus.SLEEPING:
                await engine.work.suspend_run(parking(run, wait_for(run, StepKind.SLEEP, due_for=DAY)))
            case RunStatus.WAITING:
                await engine.work.suspend_run(parking(run, event_wait(run)))
            case RunStatus.PAUSED:
                await engine.work.hold_run(holding(run))
    (run,) = await runs_of(engine)
    assert run.status is status
    return run


async def fail(engine: Engine, clock: FakeClock, run: Run) -> None:
    await finish(engine, status=RunStatus.FAILED, output=None, failure=FAILURE)


async def miss_its_time(engine: Engine, clock: FakeClock, run: Run) -> None:
    clock.advance(LASTS)
    assert await engine.work.claim_runs(poll()) == []


async def be_left_alone(engine: Engine, clock: FakeClock, run: Run) -> None:
    clock.advance(LASTS + DAY)
    assert await expire_runs.tick(engine.parts, batch=10) == 1


async def kill_its_workers(engine: Engine, clock: FakeClock, run: Run) -> None:
    for number in range(1, engine.parts.settings.max_recoveries + 2):
        await claim_one(engine, number)
        clock.advance(VISIBLE_FOR)
    assert await engine.work.claim_runs(poll(99)) == []


ENDS: dict[str, End] = {
    "completed": lambda engine, clock, run: finish(engine),
    "failed": fail,
    "cancelled": lambda engine, clock, run: engine.control.cancel_run(cancelling(run.id)),
    "too late when it is claimed": miss_its_time,
    "too late and never claimed": be_left_alone,
    "a crash loop": kill_its_workers,
}


async def queue_of_two(engine: Engine, clock: FakeClock, **fields: Any) -> tuple[Run, Run]:
    """One run admitted, one queued behind it, and the schedule blocked by a third slot."""
    await put(engine, every=HOUR, **({"overlap": Overlap.QUEUE} | fields))
    for _ in range(3):
        await go_on(engine, clock, HOUR)
    first, second = await runs_of(engine)
    assert (first.status, second.status, second.unmet, second.available_at) == ("pending", "waiting", 1, None)
    assert is_blocked(await seen(engine))
    return first, second


class TestOverlaps(EngineConformance):
    @pytest.fixture
    def engine(self, store: Store, clock: FakeClock) -> Engine:
        return engine_on(store, clock, max_recoveries=3)

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("status", OPEN)
    @pytest.mark.parametrize("overlap", list(Overlap))
    async def test_a_slot_meets_a_run_that_is_not_over(
        self, engine: Engine, clock: FakeClock, status: RunStatus, overlap: Overlap
    ) -> None:
        await put(engine, every=MINUTE, overlap=overlap)
        await go_on(engine, clock, MINUTE)
        first = await bring(engine, status)

        await go_on(engine, clock, MINUTE)

        second = {Overlap.ALLOW: ["pending"], Overlap.SKIP: [], Overlap.QUEUE: ["waiting"]}[overlap]
        assert await statuses(engine) == [status, *second]
        assert await counts(engine) == (1 + len(second), int(not second), 0)
        assert await found(engine, first.id) == first
        view = await engine.schedules.get_schedule(NAMESPACE, "nightly")
        assert (len(view.active), len(view.queued)) == (1 + (overlap is Overlap.ALLOW), overlap is Overlap.QUEUE)

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("end", ENDS)
    async def test_after_the_end_of_a_run_the_next_slot_is_fired(
        self, engine: Engine, clock: FakeClock, end: str
    ) -> None:
        await put(engine, every=HOUR, overlap=Overlap.SKIP, timeout_for=LASTS)
        await go_on(engine, clock, HOUR)
        (run,) = await runs_of(engine)
        await go_on(engine, clock, HOUR)
        assert await counts(engine) == (1, 1, 0)

        await ENDS[end](engine, clock, run)
        clock.advance(HOUR - (clock.now() - (run.slot or 0)) % HOUR)
        await coordinate(engine)

        assert (await found(engine, run.id)).status.is_terminal
        assert (await slots_of(engine))[1:] == [clock.now()]

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("end", ENDS)
    async def test_after_the_end_of_a_run_the_queued_one_is_due_and_the_schedule_goes_on(
        self, engine: Engine, clock: FakeClock, end: str
    ) -> None:
        first, second = await queue_of_two(engine, clock, timeout_for=LASTS)

        await ENDS[end](engine, clock, first)

        ended_at = clock.now()
        assert (await found(engine, first.id)).status.is_terminal
        released = await found(engine, second.id)
        assert (released.status, released.available_at, released.unmet) == (RunStatus.PENDING, ended_at, 0)
        assert released.expires_at == ended_at + LASTS  # it could not begin before
        assert await path(engine, second.id) == [(None, "waiting", "schedule"), ("waiting", "pending", "turn")]
        assert (await seen(engine)).available_at == ended_at
        await coordinate(engine)
        third = (await runs_of(engine))[2]
        assert (third.status, third.unmet) == (RunStatus.WAITING, 1)
        assert third.slot == ended_at - (ended_at - (first.slot or 0)) % HOUR  # the last that was missed
        assert (await claim_one(engine, 200)).id == second.id

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_an_end_whose_answer_was_lost_lets_the_queued_one_go_on(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        _, second = await queue_of_two(engine, clock)
        run = await claim_one(engine)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        await while_time_passes(clock, engine.work.finish_run(finished(run, schedule=run.schedule)))

        assert (await found(engine, second.id)).status is RunStatus.PENDING
        assert not is_blocked(await seen(engine))

    @pytest.mark.spec("invariants:I-54")
    async def test_a_queued_run_that_is_cancelled_makes_room_for_the_next_slot(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        first, second = await queue_of_two(engine, clock)

        await engine.control.cancel_run(cancelling(second.id))
        await coordinate(engine)

        assert await statuses(engine) == ["pending", "cancelled", "waiting"]
        assert (await slots_of(engine))[2] == clock.now()
        assert not is_blocked(await seen(engine))
        await engine.control.cancel_run(cancelling(first.id))
        assert await statuses(engine) == ["cancelled", "cancelled", "pending"]

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("is_resumed_first", [True, False])
    async def test_a_queued_run_that_is_paused_keeps_its_place(
        self, engine: Engine, clock: FakeClock, is_resumed_first: bool
    ) -> None:
        first, second = await queue_of_two(engine, clock, timeout_for=LASTS)
        assert await engine.control.pause_run(pausing(second.id)) is RunStatus.PAUSED
        clock.advance(LASTS + DAY)
        assert await expire_runs.tick(engine.parts, batch=10) == 1  # the first; who waits is not late
        waiting = await found(engine, second.id)
        assert (waiting.status, waiting.unmet, waiting.expires_at) == ("paused", 0, clock.now() + LASTS)

        if is_resumed_first:
            await engine.control.resume_run(resuming(second.id))
        await coordinate(engine)

        assert [run.status for run in await runs_of(engine)][1:] == (
            ["pending", "waiting"] if is_resumed_first else ["paused", "waiting"]
        )
        if not is_resumed_first:
            assert await engine.work.claim_runs(poll()) == []  # the third waits for the one that is paused
            await engine.control.resume_run(resuming(second.id))
        assert (await found(engine, first.id)).status is RunStatus.FAILED
        assert (await claim_one(engine, 2)).id == second.id

    @pytest.mark.spec("invariants:I-54")
    async def test_a_queued_run_that_is_paused_and_resumed_waits_on(self, engine: Engine, clock: FakeClock) -> None:
        _, second = await queue_of_two(engine, clock)

        await engine.control.pause_run(pausing(second.id))
        await engine.control.resume_run(resuming(second.id))

        assert await found(engine, second.id) == second
        assert [cause for _, _, cause in await path(engine, second.id)] == ["schedule", "pause", "resume"]
        await finish(engine)
        assert (await claim_one(engine, 2)).id == second.id

    @pytest.mark.spec("invariants:I-54")
    async def test_once_runs_may_overlap_nothing_waits_any_more(self, engine: Engine, clock: FakeClock) -> None:
        await queue_of_two(engine, clock, catch_up=CatchUp.ALL)

        await put(engine, every=HOUR, overlap=Overlap.ALLOW, catch_up=CatchUp.ALL, may_replace=True)
        await coordinate(engine)

        assert await statuses(engine) == ["pending"] * 3
        assert (await slots_of(engine))[2] == clock.now()

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE])
    async def test_missed_slots_that_must_all_be_fired_are_fired_one_after_the_other(
        self, engine: Engine, clock: FakeClock, overlap: Overlap
    ) -> None:
        created_at = clock.now()
        await put(engine, every=HOUR, overlap=overlap, catch_up=CatchUp.ALL, max_catch_up=4)

        await go_on(engine, clock, 6 * HOUR + MINUTE)
        for number in range(1, 5):
            assert sum(status == "pending" for status in await statuses(engine)) == 1
            await finish(engine, number)
            await coordinate(engine)

        assert await slots_of(engine) == [created_at + place * HOUR for place in (3, 4, 5, 6)]
        assert set(await statuses(engine)) == {"completed"}
        assert await counts(engine) == (4, 0, 2)
        assert (await seen(engine)).available_at == created_at + 7 * HOUR

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("overlap", list(Overlap))
    async def test_whoever_triggers_a_schedule_keeps_to_its_overlap(
        self, engine: Engine, clock: FakeClock, overlap: Overlap
    ) -> None:
        await put(engine, every=HOUR, overlap=overlap)
        first = await engine.schedules.trigger_schedule(triggering(by="ann"))

        for _ in range(2):
            try:
                await engine.schedules.trigger_schedule(triggering())
            except WrongState as error:
                assert first.run_id in str(error) or "room in its queue" in str(error)

        expected = {Overlap.ALLOW: ["pending"] * 3, Overlap.SKIP: ["pending"], Overlap.QUEUE: ["pending", "waiting"]}
        runs = await runs_of(engine)
        assert [run.status for run in runs] == expected[overlap]
        assert {(run.slot, run.scheduled_at) for run in runs} == {(None, clock.now())}
        (noted, *_) = await engine.runs.read_log(NAMESPACE, first.run_id)
        assert (noted.cause, deed(noted).by) == ("trigger", "ann")
        assert await counts(engine) == (0, 0, 0)
        await go_on(engine, clock, HOUR)
        assert len(await runs_of(engine)) == len(runs) + (overlap is Overlap.ALLOW)

    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_trigger_whose_answer_was_lost_starts_one_run(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        await put(engine, overlap=Overlap.SKIP)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        started = await while_time_passes(clock, engine.schedules.trigger_schedule(triggering()))

        assert [run.id for run in await runs_of(engine)] == [started.run_id]
