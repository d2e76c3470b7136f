"""Who goes next when runs of a schedule end, are tried again, or lose their schedule, at the moment a slot is fired?

    fire, trigger     lock the schedule ──► count its runs ──► create a run, admitted or queued
    finish, cancel    lock the schedule ──► end the run ────► admit the one that is queued

Both hold the same lock. So a slot sees the run open, and its end then sees what was queued behind it; or it sees the
end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conformance.given import FAILURE, NAMESPACE, claim_one, engine_on, finished, while_time_passes
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import cancelling, deed, found, path
from tests.conformance.test_overlaps import bring, finish, queue_of_two, statuses, triggering
from tests.conformance.test_schedules import coordinate, counts, go_on, put, runs_of, seen, slots_of
from windlass.engine.cancel import cancel_tree
from windlass.engine.engine import Engine
from windlass.engine.finish import FinishRuns
from windlass.engine.schedule.release import release_next
from windlass.engine.tree import lock_tree
from windlass.errors import NotFound, Unavailable, WrongState
from windlass.model.commands import RetryRun
from windlass.model.run import Deed, Run, RunId, RunStatus
from windlass.model.schedule import CatchUp, Overlap
from windlass.model.schedule_commands import DeleteSchedule, PauseSchedule, ResumeSchedule
from windlass.model.time import HOUR, MINUTE, SECOND, Duration
from windlass.rules.schedules import is_blocked
from windlass.store.base import Store, Tx
from windlass.store.queries.scheduled import SlotRun
from windlass.testing.clock import FakeClock

BESIDE = RunId(f"run_{9:026}")  # of the slot that is fired at the same time

Step = Callable[[Tx], Awaitable[object]]


def retrying(run: Run) -> RetryRun:
    return RetryRun(namespace=NAMESPACE, run_id=run.id)


def deleting(**fields: Any) -> DeleteSchedule:
    return DeleteSchedule(namespace=NAMESPACE, name="nightly", **fields)


async def failed_run(engine: Engine, clock: FakeClock, **fields: Any) -> Run:
    """The run of one slot, over and failed."""
    await put(engine, every=HOUR, **fields)
    await go_on(engine, clock, HOUR)
    return await finish(engine, status=RunStatus.FAILED, output=None, failure=FAILURE)


def ending(engine: Engine, run: Run) -> Step:
    async def end(tx: Tx) -> None:
        await FinishRuns(engine.parts).write(tx, [finished(run, schedule=run.schedule)])

    return end


def cancelled(engine: Engine, run: Run) -> Step:
    async def cancel(tx: Tx) -> None:
        tree = await lock_tree(tx, NAMESPACE, run.id)
        await cancel_tree(tx, tree, cause="cancel", deed=Deed())
        await release_next(tx, tree.schedules, now=await tx.now())

    return cancel


ENDING = {"finished": ending, "cancelled": cancelled}


def fire(*, is_queued: bool) -> Step:
    """What whoever fires a slot does, in steps that a test can hold."""

    async def create(tx: Tx) -> None:
        schedule = await tx.schedules.lock(NAMESPACE, "nightly")
        assert schedule is not None
        assert schedule.available_at is not None
        run = SlotRun(
            namespace=NAMESPACE,
            id=BESIDE,
            name="invoice",
            version="",
            queue="billing",
            input=b"[1]",
            at=await tx.now(),
            timeout_for=None,
            unmet=int(is_queued),
            schedule="nightly",
            slot=schedule.available_at,
            scheduled_at=schedule.available_at,
            cause="schedule",
        )
        assert await tx.scheduled.create_runs([run])

    return create


class TestTurns(EngineConformance):
    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("overlap", list(Overlap))
    async def test_a_run_that_is_tried_again_is_one_of_the_schedule_and_has_the_time_of_its_slot(
        self, engine: Engine, clock: FakeClock, overlap: Overlap
    ) -> None:
        failed = await failed_run(engine, clock, overlap=overlap)
        clock.advance(MINUTE)

        answer = await engine.control.retry_run(retrying(failed))

        again = await found(engine, answer.run_id)
        assert (again.schedule, again.slot, again.scheduled_at) == ("nightly", None, failed.scheduled_at)
        assert (again.status, again.scheduled_at) == (RunStatus.PENDING, failed.slot)
        await go_on(engine, clock, 59 * MINUTE)
        third = {Overlap.ALLOW: ["pending"], Overlap.SKIP: [], Overlap.QUEUE: ["waiting"]}[overlap]
        assert await statuses(engine) == ["failed", "pending", *third]

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE])
    async def test_no_run_is_tried_again_beside_another_one(
        self, engine: Engine, clock: FakeClock, overlap: Overlap
    ) -> None:
        failed = await failed_run(engine, clock, overlap=overlap)
        await go_on(engine, clock, HOUR)
        other = (await runs_of(engine))[1]

        with pytest.raises(WrongState, match=other.id):
            await engine.control.retry_run(retrying(failed))

        assert await statuses(engine) == ["failed", "pending"]
        await finish(engine, 2)
        await engine.control.retry_run(retrying(failed))
        assert await statuses(engine) == ["failed", "completed", "pending"]

    @pytest.mark.spec("invariants:I-54")
    async def test_a_paused_run_that_is_tried_again_keeps_its_turn(self, engine: Engine, clock: FakeClock) -> None:
        await put(engine, every=HOUR, overlap=Overlap.QUEUE)
        await go_on(engine, clock, HOUR)
        first = await bring(engine, RunStatus.PAUSED)
        await go_on(engine, clock, HOUR)
        await go_on(engine, clock, HOUR)

        again = await engine.control.retry_run(retrying(first))

        assert await statuses(engine) == ["cancelled", "waiting", "pending"]
        assert is_blocked(await seen(engine))
        assert (await finish(engine, 2)).id == again.run_id
        await coordinate(engine)
        assert await statuses(engine) == ["cancelled", "pending", "completed", "waiting"]

    @pytest.mark.spec("invariants:I-54")
    async def test_a_queued_run_is_not_tried_again(self, engine: Engine, clock: FakeClock) -> None:
        first, second = await queue_of_two(engine, clock)
        await engine.control.cancel_run(cancelling(second.id))

        with pytest.raises(WrongState, match=first.id):
            await engine.control.retry_run(retrying(second))

    @pytest.mark.spec("invariants:I-51", "invariants:I-54", "invariants:I-55")
    @pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE])
    @pytest.mark.parametrize("is_made_anew", [False, True])
    async def test_a_slot_behind_one_that_was_fired_before_the_clock_was_put_back_is_fired(
        self, engine: Engine, clock: FakeClock, overlap: Overlap, is_made_anew: bool
    ) -> None:
        every = Duration(5 * SECOND)  # two of them are on time at once
        await put(engine, every=every, overlap=overlap)
        await go_on(engine, clock, every)
        await finish(engine)
        clock.jump(-every)
        if is_made_anew:
            await engine.schedules.delete_schedule(deleting())
            await put(engine, every=every, overlap=overlap)
        else:
            await engine.schedules.pause_schedule(PauseSchedule(namespace=NAMESPACE, name="nightly"))
            await engine.schedules.resume_schedule(ResumeSchedule(namespace=NAMESPACE, name="nightly"))

        await go_on(engine, clock, 2 * every)

        assert await slots_of(engine) == [clock.now() - every, clock.now()]
        assert await statuses(engine) == ["completed", "pending"]
        assert await counts(engine) == (1 if is_made_anew else 2, 0, 0)

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("end", ENDING)
    async def test_a_slot_that_comes_while_a_run_ends_is_fired_or_queued_and_never_left(
        self, store: Store, second_store: Store, clock: FakeClock, end: str
    ) -> None:
        """The end holds the schedule: who fires it meanwhile waits, or leaves it to the next look."""
        engine = engine_on(store, clock)
        await put(engine, every=HOUR, overlap=Overlap.QUEUE)
        await go_on(engine, clock, HOUR)
        run = await claim_one(engine)
        clock.advance(HOUR)

        change = ENDING[end](engine_on(second_store, clock), run)
        await meanwhile(second_store, change, lambda: coordinate(engine), None)
        await coordinate(engine)

        assert [status for status in await statuses(engine) if status in ("pending", "waiting")] == ["pending"]
        assert (await slots_of(engine))[1:] == [clock.now()]

    @pytest.mark.spec("invariants:I-54")
    @pytest.mark.parametrize("end", ENDING)
    async def test_a_run_that_ends_while_another_one_is_queued_lets_it_go_on(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked, end: str
    ) -> None:
        """Who queues a run holds the schedule: the end of the one before it waits for that, and sees it."""
        engine = engine_on(store, clock)
        await put(engine, every=HOUR, overlap=Overlap.QUEUE)
        await go_on(engine, clock, HOUR)
        run = await claim_one(engine)
        ways: dict[str, Callable[[], Awaitable[object]]] = {
            "finished": lambda: engine.work.finish_run(finished(run, schedule=run.schedule)),
            "cancelled": lambda: engine.control.cancel_run(cancelling(run.id)),
        }

        outcome = await meanwhile(second_store, fire(is_queued=True), ways[end], until_blocked)

        assert not isinstance(outcome, BaseException)
        assert (await found(engine, run.id)).status.is_terminal
        assert (await found(engine, BESIDE)).status is RunStatus.PENDING

    @pytest.mark.spec("invariants:I-54")
    async def test_a_trigger_at_the_moment_of_a_slot_sees_its_run(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        await put(engine, every=HOUR, overlap=Overlap.SKIP)

        def trigger() -> Awaitable[object]:
            return engine.schedules.trigger_schedule(triggering())

        outcome = await meanwhile(second_store, fire(is_queued=False), trigger, until_blocked)

        assert isinstance(outcome, WrongState)
        assert [run.id for run in await runs_of(engine)] == [BESIDE]

    async def test_what_waits_for_a_schedule_that_is_deleted_is_cancelled(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        first, second = await queue_of_two(engine, clock)

        await engine.schedules.delete_schedule(deleting(by="ann"))

        assert await statuses(engine) == ["pending", "cancelled"]
        last = (await engine.runs.read_log(NAMESPACE, second.id))[-1]
        assert deed(last) == Deed(by="ann", note="schedule nightly was deleted")
        with pytest.raises(NotFound):
            await engine.schedules.get_schedule(NAMESPACE, "nightly")
        with pytest.raises(NotFound):
            await engine.schedules.delete_schedule(deleting())
        await go_on(engine, clock, HOUR)
        assert (await finish(engine)).id == first.id  # what it had started goes on
        assert await statuses(engine) == ["completed", "cancelled"]

    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_deletion_whose_answer_was_lost_is_done(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        _, second = await queue_of_two(engine, clock)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        await while_time_passes(clock, engine.schedules.delete_schedule(deleting()))

        assert await engine.schedules.list_schedules(NAMESPACE) == ()
        assert [cause for _, _, cause in await path(engine, second.id)] == ["schedule", "cancel"]

    @pytest.mark.spec("invariants:I-54")
    async def test_a_schedule_that_is_made_anew_minds_the_runs_of_the_old_one(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        await put(engine, every=HOUR, overlap=Overlap.SKIP)
        await go_on(engine, clock, HOUR)
        await engine.schedules.delete_schedule(deleting())

        await put(engine, every=HOUR, overlap=Overlap.SKIP, catch_up=CatchUp.NONE)
        await go_on(engine, clock, HOUR)
        assert (await statuses(engine), await counts(engine)) == (["pending"], (0, 1, 0))
        await finish(engine)
        await go_on(engine, clock, HOUR)

        assert await statuses(engine) == ["completed", "pending"]
