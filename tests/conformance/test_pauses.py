"""Does a paused run stand still, and go on where it would be by now once it is resumed?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    VISIBLE_FOR,
    WORKER,
    claim_one,
    completed,
    finished,
    held,
    holding,
    poll,
    resuming,
    run_id,
    start,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import (
    OVER,
    cancelling,
    deed,
    event_wait,
    found,
    parking,
    path,
    pausing,
    run_in,
    sending,
    wait_for,
)
from tests.conformance.test_workers import registering
from windlass.engine.engine import Engine
from windlass.errors import NotFound, Unavailable, WrongState
from windlass.model.commands import ClaimState, LookAtClaims
from windlass.model.run import Deed, Run, RunStatus
from windlass.model.step import StepKind
from windlass.model.time import HOUR, MINUTE, Instant
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

PARKED = [RunStatus.PENDING, RunStatus.SLEEPING, RunStatus.WAITING]

GIVEN_BACK: dict[str, Callable[[Engine, Run], Awaitable[object]]] = {
    "it parks": lambda engine, run: engine.work.suspend_run(parking(run, event_wait(run))),
    "it is released": lambda engine, run: engine.work.release_run(held(run)),
    "its worker leaves": lambda engine, run: engine.work.deregister_worker(NAMESPACE, WORKER),
}


class TestPauses(EngineConformance):
    @pytest.mark.parametrize("status", PARKED)
    async def test_a_run_that_nobody_executes_is_paused_at_once_and_resumed_as_it_was(
        self, engine: Engine, clock: FakeClock, status: RunStatus
    ) -> None:
        run = await run_in(engine, status)

        assert await engine.control.pause_run(pausing(run.id, by="ann", note="audit")) is RunStatus.PAUSED
        assert await engine.control.pause_run(pausing(run.id, by="bob")) is RunStatus.PAUSED

        assert await engine.work.claim_runs(poll(2)) == []
        last = (await engine.runs.read_log(NAMESPACE, run.id))[-1]
        assert ((last.from_status, last.cause), deed(last)) == ((status, "pause"), Deed(by="ann", note="audit"))
        resumed = await engine.control.resume_run(resuming(run.id))
        assert resumed.run == run
        assert (await path(engine, run.id))[-1] == ("paused", status, "resume")

    @pytest.mark.parametrize("status", OVER)
    async def test_a_run_that_is_over_can_not_be_paused(self, engine: Engine, status: RunStatus) -> None:
        run = await run_in(engine, status)

        with pytest.raises(WrongState, match=f"{run.id} is {status.value}"):
            await engine.control.pause_run(pausing(run.id))

        assert await found(engine, run.id) == run
        with pytest.raises(NotFound):
            await engine.control.pause_run(pausing(run_id(9)))

    async def test_a_sleep_that_ended_during_the_pause_is_over_at_resume(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        run = await run_in(engine, RunStatus.SLEEPING)
        await engine.control.pause_run(pausing(run.id))
        clock.advance(2 * HOUR)
        assert await engine.work.claim_runs(poll(2)) == []

        await engine.control.resume_run(resuming(run.id))

        assert (await claim_one(engine, 3)).id == run.id

    async def test_a_delayed_start_keeps_its_time(self, engine: Engine, clock: FakeClock) -> None:
        begins_at = Instant(clock.now() + HOUR)
        started = await engine.runs.start_run(start(delay_for=HOUR))
        await engine.control.pause_run(pausing(started.run_id))
        clock.advance(MINUTE)

        resumed = await engine.control.resume_run(resuming(started.run_id))

        assert (resumed.run.status, resumed.run.available_at) == (RunStatus.PENDING, begins_at)

    async def test_an_event_that_comes_during_the_pause_wakes_nobody_and_is_there_at_resume(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        run = await run_in(engine, RunStatus.WAITING)
        await engine.control.pause_run(pausing(run.id))

        await engine.control.send_event(sending(run.id))

        assert (await found(engine, run.id)).status is RunStatus.PAUSED
        resumed = (await engine.control.resume_run(resuming(run.id))).run
        assert (resumed.status, resumed.available_at) == (RunStatus.PENDING, clock.now())
        again = await claim_one(engine, 2)
        answer = await engine.work.suspend_run(parking(again, also=("paid",)))
        assert [(item.key, item.output) for item in answer.settled] == [("paid", b"7")]

    async def test_a_wait_that_was_given_up_keeps_no_resumed_run_back(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, event_wait(run), park=False))
        given_up = parking(run, wait_for(run, StepKind.SLEEP, due_for=HOUR), dropped=("paid",))
        await engine.work.suspend_run(given_up)

        await engine.control.pause_run(pausing(run.id))

        resumed = (await engine.control.resume_run(resuming(run.id))).run
        assert resumed.status is RunStatus.SLEEPING

    # A run that is executed

    async def test_a_running_run_is_held_and_may_write_what_it_has_done(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        news = asyncio.create_task(engine.work.listen(NAMESPACE, WORKER, HOUR))
        await asyncio.sleep(0)  # it has subscribed

        assert await engine.control.pause_run(pausing(run.id, by="ann")) is RunStatus.RUNNING
        assert await engine.control.pause_run(pausing(run.id, by="bob")) is RunStatus.RUNNING

        await asyncio.wait_for(news, timeout=10)
        looked = await engine.work.look_at_claims(LookAtClaims(namespace=NAMESPACE, claims=((run.id, run.token),)))
        assert looked == (ClaimState(run_id=run.id, is_lost=False, is_held=True),)
        assert (await path(engine, run.id))[-2:] == [("pending", "running", "claim"), ("running", "running", "pause")]
        await engine.work.complete_step(completed(run))
        await engine.work.finish_run(finished(run))
        ended = await found(engine, run.id)
        assert (ended.status, ended.is_held) == (RunStatus.COMPLETED, False)

    @pytest.mark.parametrize("how", GIVEN_BACK)
    async def test_a_held_run_is_paused_when_its_holder_is_done_with_it(self, engine: Engine, how: str) -> None:
        await engine.work.register_worker(registering())
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.control.pause_run(pausing(run.id))

        await GIVEN_BACK[how](engine, run)

        paused = await found(engine, run.id)
        assert (paused.status, paused.worker, paused.is_held) == (RunStatus.PAUSED, None, False)
        assert (await path(engine, run.id))[-1] == ("running", "paused", "pause")
        assert await engine.work.claim_runs(poll(2)) == []

    async def test_a_held_run_whose_holder_never_came_back_is_paused_by_the_next(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.control.pause_run(pausing(run.id))
        clock.advance(VISIBLE_FOR)

        assert await engine.work.claim_runs(poll(2, worker=OTHER_WORKER)) == []

        assert (await found(engine, run.id)).status is RunStatus.PAUSED

    @pytest.mark.parametrize("how", GIVEN_BACK)
    async def test_a_run_that_was_paused_at_work_looks_at_once_what_is_left_to_do(
        self, engine: Engine, clock: FakeClock, how: str
    ) -> None:
        # One branch waits for an event, another had a body that was not finished: the event must not keep it back.
        await engine.work.register_worker(registering())
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, event_wait(run), park=False))
        await engine.control.pause_run(pausing(run.id))
        await GIVEN_BACK[how](engine, run)

        resumed = (await engine.control.resume_run(resuming(run.id))).run

        assert (resumed.status, resumed.available_at) == (RunStatus.PENDING, clock.now())

    async def test_a_run_whose_code_changed_is_not_left_waiting_for_ever(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, event_wait(run), park=False))
        await engine.work.hold_run(holding(run))

        assert (await engine.control.resume_run(resuming(run.id))).run.status is RunStatus.PENDING

    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_held_run_that_is_resumed_goes_on_under_its_claim(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.control.pause_run(pausing(run.id))
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        resumed = (await while_time_passes(clock, engine.control.resume_run(resuming(run.id)))).run

        assert resumed == run
        assert (await path(engine, run.id))[-1] == ("running", "running", "resume")
        with pytest.raises(WrongState):
            await engine.control.resume_run(resuming(run.id))
        await engine.work.finish_run(finished(run))

    async def test_who_waits_for_a_result_hears_that_the_run_was_paused(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.PENDING)
        result = asyncio.create_task(engine.runs.wait_for_result(NAMESPACE, run.id, None))
        await asyncio.sleep(0)  # it has subscribed

        await engine.control.pause_run(pausing(run.id))

        assert (await asyncio.wait_for(result, timeout=10)).status is RunStatus.PAUSED

    async def test_what_was_held_and_cancelled_is_cancelled(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.control.pause_run(pausing(run.id))

        assert (await engine.control.cancel_run(cancelling(run.id))).is_done

        ended = await found(engine, run.id)
        assert (ended.status, ended.is_held) == (RunStatus.CANCELLED, False)
        with pytest.raises(WrongState):
            await engine.control.resume_run(resuming(run.id))
