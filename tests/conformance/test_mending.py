"""Does a schedule find its way again: after a while away, after a clock that was set back, after it was made anew?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import FAILURE, NAMESPACE, claim_one, finished, while_time_passes
from tests.conformance.hooks import raising, record
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import found
from tests.conformance.test_overlaps import finish, queue_of_two
from tests.conformance.test_schedules import INTERVAL, coordinate, counts, go_on, put, runs_of, seen, slots_of
from tests.conformance.test_workers import registering
from windlass.engine.again import TRIES
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.engine.coordinator.fire_schedules import tick
from windlass.engine.engine import Engine
from windlass.errors import Unavailable
from windlass.model.commands import RetryRun
from windlass.model.run import RunStatus
from windlass.model.schedule import CatchUp, Overlap
from windlass.model.schedule_commands import PauseSchedule, ResumeSchedule
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration
from windlass.rules.schedules import is_blocked
from windlass.store.base import Store, Tx
from windlass.store.queries.scheduled import MOST_OPEN
from windlass.testing.clock import FakeClock


class TestMending(EngineConformance):
    @pytest.mark.spec("invariants:I-51")
    async def test_many_that_only_move_on_do_not_keep_the_others_waiting(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        for place in range(5):
            await put(engine, f"idle-{place}", every=MINUTE, catch_up=CatchUp.NONE)
        clock.advance(HOUR)
        await put(engine, "busy", every=Duration(3 * SECOND))
        clock.advance(3 * SECOND)

        await coordinate(engine, batch=2)

        assert len(await runs_of(engine, "busy")) == 1

    @pytest.mark.spec("invariants:I-51", "invariants:I-54")
    async def test_what_is_on_time_stands_behind_what_is_owed_and_is_not_skipped(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        created_at = (await put(engine, every=HOUR, catch_up=CatchUp.ALL, overlap=Overlap.SKIP)).created_at
        clock.advance(3 * HOUR + SECOND)  # two were missed, and the third is on time

        await coordinate(engine)
        for number in range(3):
            await finish(engine, number + 1)
            await coordinate(engine)

        assert await slots_of(engine) == [created_at + place * HOUR for place in (1, 2, 3)]
        assert await counts(engine) == (3, 0, 0)

    @pytest.mark.spec("invariants:I-51")
    @pytest.mark.parametrize("overlap", list(Overlap))
    @pytest.mark.parametrize("policy", [CatchUp.NONE, CatchUp.LATEST])
    async def test_after_a_while_away_only_the_newest_of_many_is_fired(
        self, engine: Engine, clock: FakeClock, policy: CatchUp, overlap: Overlap
    ) -> None:
        created_at = (await put(engine, every=Duration(2 * SECOND), catch_up=policy, overlap=overlap)).created_at
        clock.advance(40 * SECOND)

        await coordinate(engine)

        assert await slots_of(engine) == [created_at + 40 * SECOND]
        assert await counts(engine) == (1, 0, 19)

    @pytest.mark.spec("invariants:I-50", "invariants:I-55")
    @pytest.mark.parametrize("overlap", [Overlap.QUEUE, Overlap.SKIP])
    async def test_slots_that_were_fired_before_the_clock_was_set_back_keep_nobody_waiting(
        self, engine: Engine, clock: FakeClock, overlap: Overlap
    ) -> None:
        await put(engine, every=HOUR, overlap=overlap, catch_up=CatchUp.ALL)
        for number in range(3):
            await go_on(engine, clock, HOUR)
            await finish(engine, number + 1)
        clock.jump(-3 * HOUR)
        await engine.schedules.pause_schedule(PauseSchedule(namespace=NAMESPACE, name="nightly"))
        await engine.schedules.resume_schedule(ResumeSchedule(namespace=NAMESPACE, name="nightly"))

        clock.jump(5 * HOUR)
        await coordinate(engine)
        await finish(engine, 4)
        await coordinate(engine)
        await finish(engine, 5)

        runs = await runs_of(engine)
        assert [run.status for run in runs] == ["completed"] * 5
        assert len({run.slot for run in runs}) == 5

    @pytest.mark.spec("invariants:I-54")
    async def test_a_run_whose_schedule_was_made_anew_at_the_wrong_moment_goes_on_at_the_next_slot(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        first, second = await queue_of_two(engine, clock)
        run = await claim_one(engine)
        # As of a holder that looked for the schedule while there was none.
        await engine.work.finish_run(finished(run, schedule=None))
        await self._unblock(engine, clock)

        await coordinate(engine)

        assert (await found(engine, second.id)).status == RunStatus.PENDING
        assert (await found(engine, first.id)).status == RunStatus.COMPLETED

    async def _unblock(self, engine: Engine, clock: FakeClock) -> None:
        """As if it were made anew: with a next time, and what it had before."""

        async def write(tx: Tx) -> None:
            was = await tx.schedules.lock(NAMESPACE, "nightly")
            assert was is not None
            await tx.schedules.save(replace(was, available_at=clock.now()), was=was)

        await engine.parts.store.run_tx("make_anew", write)

    async def test_a_retry_of_a_run_that_had_waited_has_no_more_time_than_the_run_had(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        await put(engine, every=HOUR, overlap=Overlap.QUEUE, timeout_for=Duration(3 * HOUR))
        await go_on(engine, clock, HOUR)
        await go_on(engine, clock, HOUR)
        await finish(engine)
        failed = await finish(engine, 2, status=RunStatus.FAILED, output=None, failure=FAILURE)
        clock.advance(MINUTE)

        answer = await engine.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=failed.id))

        again = await found(engine, answer.run_id)
        assert again.expires_at == clock.now() + 3 * HOUR

    @pytest.mark.spec("invariants:I-55")
    async def test_silent_workers_are_marked_also_after_the_clock_was_set_back(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        coordinator = Coordinator(engine.parts, CoordinatorSettings(interval_for=INTERVAL))
        await coordinator.tick()
        clock.jump(-DAY)
        await engine.work.register_worker(registering())

        for _ in range(20):
            await coordinator.tick()
            clock.advance(INTERVAL)

        assert await engine.runs.list_workers(NAMESPACE) == ()

    @pytest.mark.spec("invariants:I-54")
    async def test_a_pile_of_open_runs_hides_none_that_waits(self, engine: Engine, clock: FakeClock) -> None:
        timing: dict[str, Any] = {
            "every": Duration(SECOND),
            "catch_up": CatchUp.ALL,
            "max_catch_up": 500,
            "may_replace": True,
        }
        await put(engine, **timing)
        await go_on(engine, clock, (MOST_OPEN + 20) * SECOND)
        await put(engine, **timing, overlap=Overlap.QUEUE)

        for _ in range(5):
            await go_on(engine, clock, SECOND)

        queued = [run for run in await runs_of(engine) if run.status is RunStatus.WAITING]
        assert len(queued) == 1
        assert is_blocked(await seen(engine))

    async def test_one_that_the_store_cannot_take_does_not_keep_the_others_waiting(
        self, engine: Engine, store: Store, clock: FakeClock
    ) -> None:
        await put(engine, "first", every=MINUTE)
        clock.advance(SECOND)
        await put(engine, "second", every=MINUTE)
        clock.advance(MINUTE)
        record(store).at["before_begin"] = raising(Unavailable("This is too much."), times=TRIES)

        looked = await while_time_passes(clock, tick(engine.parts, grace=MINUTE, batch=10))

        assert (looked.fired, len(await runs_of(engine, "first")), len(await runs_of(engine, "second"))) == (1, 0, 1)
        await coordinate(engine)
        assert len(await runs_of(engine, "first")) == 1

    async def test_a_fire_whose_answer_was_lost_is_told_of_all_the_same(
        self, engine: Engine, store: Store, clock: FakeClock
    ) -> None:
        await put(engine, every=MINUTE)
        clock.advance(MINUTE)
        record(store).at["after_commit"] = raising(Unavailable("cut"), times=1)

        looked = await while_time_passes(clock, tick(engine.parts, grace=MINUTE, batch=10))

        assert (looked.fired, len(await runs_of(engine))) == (1, 1)
