"""Does a run that waits come back when it should: not early, not late, and not to a holder that lost it?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    OTHER_WORKER,
    VISIBLE_FOR,
    attempts,
    begin,
    begun,
    causes,
    claim,
    claim_one,
    complete,
    completed,
    engine_on,
    held,
    holding,
    load,
    next_due,
    open_waits,
    poll,
    resuming,
    run_id,
    running_run,
    settle,
    settled,
    view,
    waiting,
)
from windlass.engine.engine import Engine
from windlass.errors import ClaimLost, NotFound, WrongState
from windlass.model.commands import FailStep, Suspend, WaitStep
from windlass.model.retry import RetryPolicy
from windlass.model.run import Run, RunStatus
from windlass.model.step import StepKind, StepStatus
from windlass.model.time import HOUR, MINUTE, SECOND, Duration, Instant
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

RETRY = RetryPolicy(max_attempts=2, initial_for=MINUTE, factor=1.0)


def sleeping(run: Run, key: str = "sleep", **fields: Any) -> WaitStep:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "run_id": run.id,
        "token": run.token,
        "key": key,
        "kind": StepKind.SLEEP,
        "input_hash": b"in",
    }
    return WaitStep(**(values | fields))


def failing(run: Run, key: str = "fetch", **fields: Any) -> FailStep:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "run_id": run.id,
        "token": run.token,
        "key": key,
        "kind": StepKind.STEP,
        "attempt": 1,
        "order": 1,
        "failures": 0,
        "input_hash": b"in",
        "failure": FAILURE,
        "retry": RETRY,
        "ran_for": Duration(3),
    }
    return FailStep(**(values | fields))


def suspended(run: Run, *, waits: tuple[WaitStep, ...] = (), failures: tuple[FailStep, ...] = ()) -> Suspend:
    return Suspend(namespace=NAMESPACE, run_id=run.id, token=run.token, waits=waits, failures=failures, park=True)


class TestWaits:
    async def test_a_wait_keeps_its_first_due_time(self, store: Store) -> None:
        run = await running_run(store)
        await settle(store, waiting(run, 70))

        await settle(store, waiting(run, 90, started_at=Instant(25)))
        await settle(store, waiting(run, 50))

        (step,) = await open_waits(store)
        assert (step.status, step.due_at, step.started_at) == (StepStatus.WAITING, 70, 5)

    async def test_a_failed_attempt_settles_what_was_begun_and_nothing_that_is_over(
        self, store: Store, clock: FakeClock
    ) -> None:
        run = await running_run(store)
        await begin(store, begun(run))
        await complete(store, completed(run, key="done"))

        await settle(store, settled(run), settled(run, key="done"))
        await settle(store, settled(run, failure=None, due_at=None, status=StepStatus.WAITING))

        done, failed = sorted(await attempts(store), key=lambda step: step.key)
        assert (failed.status, failed.failure, failed.due_at) == (StepStatus.FAILED, FAILURE, 99)
        assert (failed.started_at, failed.finished_at, failed.failures) == (5, 9, 1)
        assert (done.status, done.failure) == (StepStatus.COMPLETED, None)

    async def test_open_waits_are_the_latest_attempts_that_will_go_on(self, store: Store) -> None:
        run = await running_run(store)
        await settle(
            store,
            settled(run, key="again", attempt=1),
            settled(run, key="again", attempt=2, due_at=Instant(200)),
            settled(run, key="over", due_at=None),
            settled(run, key="tried", attempt=1),
        )
        await settle(store, waiting(run, 70), waiting(run, 70, key="slept"))
        await begin(store, begun(run, key="tried", attempt=2))
        await complete(store, completed(run, key="slept"))

        assert sorted((step.key, step.attempt) for step in await open_waits(store)) == [("again", 2), ("sleep", 1)]
        assert await open_waits(store, 2) == []

    @pytest.mark.spec("runs:P2.3", "invariants:I-07")
    async def test_a_sleeping_run_is_back_when_its_sleep_ends_and_not_before(
        self, store: Store, clock: FakeClock
    ) -> None:
        engine, run = engine_on(store, clock), await running_run(store)

        answer = await engine.work.suspend_run(suspended(run, waits=(sleeping(run, due_for=HOUR),)))

        assert (answer.is_parked, answer.verdicts) == (True, ())  # available_at is the only due time there is
        parked = await load(store)
        assert (parked.status, parked.available_at) == (RunStatus.SLEEPING, clock.now() + HOUR)
        assert (parked.worker, parked.token, parked.recoveries) == (None, run.token, 0)
        assert (await causes(store))[-1] == ("running", "sleeping", "sleep")
        clock.advance(HOUR - 1)
        assert await engine.work.claim_runs(poll(2)) == []
        clock.advance(1)
        (back,) = await engine.work.claim_runs(poll(3))
        assert (back.token, back.attempts, back.recoveries) == (run.token + 1, 2, 0)
        assert [(step.key, step.status, step.due_in) for step in back.history] == [("sleep", StepStatus.WAITING, 0)]

    @pytest.mark.spec("invariants:I-07")
    async def test_a_crash_does_not_start_a_sleep_over(self, store: Store, clock: FakeClock) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        slept_from = clock.now()
        await settle(store, waiting(run, slept_from + HOUR))
        clock.advance(VISIBLE_FOR)
        second = await claim_one(engine, 2, worker=OTHER_WORKER)

        await engine.work.suspend_run(suspended(second, waits=(sleeping(second, due_for=HOUR),)))

        assert (await load(store)).available_at == slept_from + HOUR

    @pytest.mark.spec("runs:P2.4", "runs:P4.3", "runs:P4.7", "invariants:I-16")
    async def test_a_failed_attempt_brings_its_run_back_after_the_pause(self, store: Store, clock: FakeClock) -> None:
        engine, run = engine_on(store, clock), await running_run(store)

        answer = await engine.work.suspend_run(suspended(run, failures=(failing(run),)))

        parked = await load(store)
        assert (answer.is_parked, parked.status) == (True, RunStatus.PENDING)
        assert parked.available_at is not None
        assert MINUTE <= parked.available_at - clock.now() <= 2 * MINUTE  # the pause, and some jitter
        (step,) = await attempts(store)
        assert (step.status, step.failure, step.failures) == (StepStatus.FAILED, FAILURE, 1)
        assert (step.started_at, step.finished_at) == (clock.now() - 3, clock.now())
        assert step.due_at == parked.available_at
        clock.advance(parked.available_at - clock.now() - 1)
        assert await engine.work.claim_runs(poll(2)) == []
        clock.advance(1)
        assert (await claim_one(engine, 3)).recoveries == 0

    async def test_the_last_failure_keeps_the_claim_because_the_code_has_an_answer(
        self, store: Store, clock: FakeClock
    ) -> None:
        engine, run = engine_on(store, clock), await running_run(store)

        answer = await engine.work.suspend_run(
            suspended(run, failures=(failing(run, failures=1, attempt=2),), waits=(sleeping(run, due_for=HOUR),))
        )

        assert (answer.is_parked, [verdict.due_in for verdict in answer.verdicts]) == (False, [None, HOUR])
        assert await load(store) == run
        assert {step.key: (step.status, step.order) for step in await attempts(store)} == {
            "fetch": (StepStatus.FAILED, 1),
            "sleep": (StepStatus.WAITING, None),
        }

    async def test_a_run_parks_at_the_earliest_of_all_it_waits_for(self, store: Store, clock: FakeClock) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        await settle(store, waiting(run, clock.now() + HOUR, key="long"))
        waits = (sleeping(run, "short", due_for=MINUTE), sleeping(run, "at", due_at=Instant(clock.now() + 2 * MINUTE)))

        await engine.work.suspend_run(suspended(run, waits=waits))

        assert await next_due(store) == clock.now() + MINUTE
        clock.advance(MINUTE)
        second = await claim_one(engine, 2)
        await complete(store, completed(second, key="short", kind=StepKind.SLEEP))
        await engine.work.suspend_run(suspended(second))
        assert await next_due(store) == clock.now() + MINUTE

    async def test_a_run_without_anything_to_wait_for_parks_at_now(self, store: Store, clock: FakeClock) -> None:
        engine, run = engine_on(store, clock), await running_run(store)

        await engine.work.suspend_run(suspended(run))

        parked = await load(store)
        assert (parked.status, parked.available_at) == (RunStatus.PENDING, clock.now())

    @pytest.mark.spec("runs:P2.12", "runs:P2.13", "invariants:I-18")
    @pytest.mark.parametrize("how", ["sleep", "retry", "release", "hold", "renew"])
    async def test_a_holder_that_lost_its_claim_can_neither_park_nor_give_back(
        self, store: Store, clock: FakeClock, how: str
    ) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        clock.advance(VISIBLE_FOR)
        (row,) = await claim(store, poll=2, worker=OTHER_WORKER)
        known = await causes(store)

        with pytest.raises(ClaimLost):
            await give_up(engine, run, how)

        assert await load(store) == row.run
        assert await attempts(store) == []
        assert (await view(store)).failure is None
        assert await causes(store) == known

    @pytest.mark.spec("runs:P2.13", "invariants:I-25")
    async def test_a_released_run_is_due_at_once_and_costs_no_recovery(self, store: Store, clock: FakeClock) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        clock.advance(SECOND)

        await engine.work.release_run(held(run))

        parked = await load(store)
        assert (parked.status, parked.available_at, parked.worker) == (RunStatus.PENDING, clock.now(), None)
        again = await claim_one(engine, 2)
        assert (again.token, again.recoveries, again.started_at) == (run.token + 1, 0, run.started_at)

    async def test_a_held_run_says_why_and_is_looked_at_when_it_goes_on(self, store: Store, clock: FakeClock) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        await settle(store, waiting(run, clock.now() + HOUR))

        await engine.work.hold_run(holding(run))

        paused = await view(store)
        assert (paused.run.status, paused.run.available_at, paused.failure) == (RunStatus.PAUSED, None, FAILURE)
        outcome = await engine.runs.wait_for_result(NAMESPACE, run.id, Duration(0))
        assert (outcome.status, outcome.failure) == (RunStatus.PAUSED, FAILURE)
        clock.advance(MINUTE)
        resumed = await engine.control.resume_run(resuming(run.id))
        # At once, though it slept: what else it has to do only its code can tell.
        assert (resumed.run.status, resumed.run.available_at) == (RunStatus.PENDING, clock.now())
        assert resumed.failure is None
        with pytest.raises(WrongState):
            await engine.control.resume_run(resuming(run.id))
        with pytest.raises(NotFound):
            await engine.control.resume_run(resuming(run_id(9)))


async def give_up(engine: Engine, run: Run, how: str) -> None:
    match how:
        case "sleep":
            await engine.work.suspend_run(suspended(run, waits=(sleeping(run, due_for=HOUR),)))
        case "retry":
            await engine.work.suspend_run(suspended(run, failures=(failing(run),)))
        case "release":
            await engine.work.release_run(held(run))
        case "hold":
            await engine.work.hold_run(holding(run))
        case _:
            await engine.work.renew_claim(held(run, visibility_for=VISIBLE_FOR))
