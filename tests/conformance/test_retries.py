"""Does a run that is tried again begin with what was done, once, and leave the old one as it was?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    claim_one,
    completed,
    engine_on,
    finished,
    poll,
    run_id,
    start,
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
    run_in,
    sending,
    wait_for,
)
from tests.conformance.test_families import claim_child, parent_of, statuses
from tests.conformance.test_waits import failing, suspended
from windlass.engine.engine import Engine
from windlass.errors import NotFound, Unavailable, WrongState
from windlass.model.commands import Decide, RetryRun
from windlass.model.effect import Resolution
from windlass.model.pipeline_commands import ResolveEffect
from windlass.model.pipeline_work import BeginEffect, BegunKind, FailEffect, Verdict
from windlass.model.retry import RetryPolicy
from windlass.model.run import Deed, Run, RunId, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import DAY, HOUR, MINUTE, Duration
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

RETRIED = [RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.PAUSED]
NOT_RETRIED = [RunStatus.PENDING, RunStatus.SLEEPING, RunStatus.WAITING, RunStatus.RUNNING, RunStatus.COMPLETED]


def retrying(id: RunId, **fields: Any) -> RetryRun:
    return RetryRun(namespace=NAMESPACE, run_id=id, **fields)


async def fail(engine: Engine, run: Run) -> None:
    await engine.work.finish_run(finished(run, status=RunStatus.FAILED, output=None, failure=FAILURE))


async def steps_of(engine: Engine, id: RunId) -> dict[str, Step]:
    return {step.key: step for step in await engine.runs.list_steps(NAMESPACE, id)}


async def worked(engine: Engine, *keys: str, **fields: Any) -> Run:
    """A run that has completed these steps, in this order."""
    await engine.runs.start_run(start(**fields))
    run = await claim_one(engine)
    for order, key in enumerate(keys):
        await engine.work.complete_step(completed(run, key=key, order=order, output=key.encode()))
    return run


async def retried(engine: Engine, run: Run, **fields: Any) -> Run:
    answer = await engine.control.retry_run(retrying(run.id, **fields))
    assert not answer.is_repeat
    return await found(engine, answer.run_id)


class TestRetries(EngineConformance):
    @pytest.mark.parametrize("status", RETRIED)
    async def test_what_stopped_is_tried_again_as_a_new_run(
        self, engine: Engine, clock: FakeClock, status: RunStatus
    ) -> None:
        old = await run_in(engine, status)
        clock.advance(HOUR)

        new = await retried(engine, old, by="ann")

        assert (new.retry_of, new.status, new.available_at) == (old.id, RunStatus.PENDING, clock.now())
        assert (new.name, new.version, new.queue, new.priority) == (old.name, old.version, old.queue, old.priority)
        assert (new.created_at, new.token, new.attempts, new.parent) == (clock.now(), 0, 0, None)
        view = await engine.runs.get_run(NAMESPACE, new.id)
        assert (view.input, view.output, view.failure) == (b"[1]", None, None)
        (first,) = await engine.runs.read_log(NAMESPACE, new.id)
        assert (first.from_status, first.to_status, first.cause) == (None, "pending", "retry")
        assert deed(first) == Deed(by="ann", run=old.id)
        assert (await claim_one(engine, 2)).id == new.id

    @pytest.mark.parametrize("status", [RunStatus.CANCELLED, RunStatus.FAILED])
    async def test_a_run_that_is_over_stays_as_it_ended(self, engine: Engine, status: RunStatus) -> None:
        old = await run_in(engine, status)
        before = await path(engine, old.id)

        await retried(engine, old)

        assert await found(engine, old.id) == old
        assert await path(engine, old.id) == before

    @pytest.mark.parametrize("status", NOT_RETRIED)
    async def test_what_goes_on_by_itself_or_is_done_is_not_tried_again(
        self, engine: Engine, status: RunStatus
    ) -> None:
        run = await run_in(engine, status)

        with pytest.raises(
            WrongState, match=f"{run.id} is {status.value}; one that failed, was cancelled or is paused"
        ):
            await engine.control.retry_run(retrying(run.id))

        assert await found(engine, run.id) == run
        with pytest.raises(NotFound):
            await engine.control.retry_run(retrying(run_id(9)))

    async def test_a_paused_run_is_cancelled_with_its_followers_and_its_parent_goes_on(
        self, store: Store, engine: Engine
    ) -> None:
        parent, children = await parent_of(engine, store, "letter")
        old = await claim_child(engine, children["letter"])
        await engine.control.pause_run(pausing(old.id))
        await engine.work.suspend_run(parking(old, event_wait(old)))

        new = await retried(engine, old, by="ann")

        assert await statuses(engine, old.id, parent.id) == [RunStatus.CANCELLED, RunStatus.PENDING]
        last = (await engine.runs.read_log(NAMESPACE, old.id))[-1]
        assert ((last.from_status, last.cause), deed(last)) == (("paused", "retry"), Deed(by="ann", run=new.id))
        assert new.parent is None

    async def test_a_second_retry_answers_with_the_first(
        self, store: Store, second_store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        old, other = await run_in(engine, RunStatus.FAILED), engine_on(second_store, clock)

        answers = await asyncio.gather(
            *(door.control.retry_run(retrying(old.id)) for door in (engine, other, engine, other))
        )

        assert len({answer.run_id for answer in answers}) == 1
        assert sorted(answer.is_repeat for answer in answers) == [False, True, True, True]
        again = await engine.control.retry_run(retrying(old.id, from_step="unheard of"))
        assert (again.run_id, again.is_repeat) == (answers[0].run_id, True)

    async def test_what_failed_again_is_retried_in_its_turn(self, engine: Engine) -> None:
        first = await worked(engine, "a", "b")
        await fail(engine, first)
        second = await retried(engine, first)
        await fail(engine, await claim_one(engine, 2))

        third = await retried(engine, second)

        assert third.retry_of == second.id
        assert sorted(await steps_of(engine, third.id)) == ["a", "b"]

    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_retry_whose_answer_was_lost_happens_once(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        old = await run_in(engine, RunStatus.PAUSED)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        answer = await while_time_passes(clock, engine.control.retry_run(retrying(old.id)))

        assert not answer.is_repeat
        assert [cause for _, _, cause in await path(engine, answer.run_id)] == ["retry"]
        assert [cause for _, _, cause in await path(engine, old.id)] == ["start", "claim", "mismatch", "retry"]

    # What is kept

    async def test_completed_steps_come_along_and_are_not_done_again(self, engine: Engine, clock: FakeClock) -> None:
        old = await worked(engine, "a")
        await engine.work.suspend_run(suspended(old, failures=(failing(old, "b"),)))
        clock.advance(HOUR)
        old = await claim_one(engine, 2)
        await engine.work.complete_step(completed(old, key="b", attempt=2, failures=1, order=1))
        await engine.work.suspend_run(parking(old, wait_for(old, StepKind.SLEEP, due_for=MINUTE), park=False))
        await engine.work.complete_step(completed(old, key="sleep", kind=StepKind.SLEEP, order=2, output=b"null"))
        final = failing(old, "c", order=3, retry=RetryPolicy(max_attempts=1))
        await engine.work.suspend_run(suspended(old, failures=(final,)))
        await fail(engine, old)
        before = {step.key: step for step in await engine.runs.list_steps(NAMESPACE, old.id) if step.attempt == 1}

        await retried(engine, old)

        (claimed,) = await engine.work.claim_runs(poll(3))
        assert [(step.key, step.order, step.kind, step.is_copied) for step in claimed.history] == [
            ("a", 0, StepKind.STEP, True),
            ("b", 1, StepKind.STEP, True),
            ("sleep", 2, StepKind.SLEEP, True),
        ]
        steps = await steps_of(engine, claimed.run_id)
        assert {(step.status, step.token, step.attempt, step.failures) for step in steps.values()} == {
            (StepStatus.COMPLETED, 0, 1, 0)
        }
        assert (steps["a"].output, steps["a"].input_hash) == (b"a", b"in")
        assert (steps["a"].started_at, steps["a"].finished_at) == (before["a"].started_at, before["a"].finished_at)

    async def test_from_a_step_on_everything_is_done_again(self, engine: Engine) -> None:
        old = await worked(engine, "a", "b", "b#2", "c")
        await fail(engine, old)

        new = await retried(engine, old, from_step="b#2")

        assert sorted(await steps_of(engine, new.id)) == ["a", "b"]

    async def test_from_a_step_that_never_ended_all_that_is_done_is_kept(self, engine: Engine) -> None:
        old = await worked(engine, "a", "b")
        await engine.work.suspend_run(parking(old, event_wait(old)))
        await engine.control.cancel_run(cancelling(old.id))

        new = await retried(engine, old, from_step="paid")

        assert sorted(await steps_of(engine, new.id)) == ["a", "b"]

    async def test_a_step_nobody_knows_is_refused_with_those_that_look_alike(self, engine: Engine) -> None:
        old = await worked(engine, "fetch", "store")
        await fail(engine, old)

        with pytest.raises(NotFound, match="Did you mean 'fetch'") as caught:
            await engine.control.retry_run(retrying(old.id, from_step="fetsch"))

        assert caught.value.close == ("fetch",)
        assert (await engine.control.retry_run(retrying(old.id))).is_repeat is False

    async def test_the_start_key_leads_to_the_newest(self, engine: Engine) -> None:
        old = await worked(engine, key="order 7")
        await fail(engine, old)

        new = await retried(engine, old)

        assert (await engine.runs.find_run(NAMESPACE, "order 7")).run.id == new.id
        assert (await engine.runs.get_run(NAMESPACE, new.id)).key == "order 7"
        repeated = await engine.runs.start_run(start(key="order 7"))
        assert (repeated.run_id, repeated.is_repeat) == (new.id, True)

    async def test_a_key_that_belongs_to_another_run_by_now_stays_there(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock, keys_expire_for=Duration(DAY))
        old = await worked(engine, key="order 7")
        await fail(engine, old)
        clock.advance(2 * DAY)
        later = await engine.runs.start_run(start(key="order 7"))

        await retried(engine, old)

        assert (await engine.runs.find_run(NAMESPACE, "order 7")).run.id == later.run_id

    @pytest.mark.parametrize("delay_for", [None, HOUR])
    async def test_it_has_as_much_time_as_the_first_had(
        self, engine: Engine, clock: FakeClock, delay_for: Duration | None
    ) -> None:
        started = await engine.runs.start_run(start(timeout_for=MINUTE, delay_for=delay_for))
        await engine.control.cancel_run(cancelling(started.run_id))
        clock.advance(DAY)

        new = await retried(engine, await found(engine, started.run_id))

        assert new.expires_at == clock.now() + MINUTE

    # What was sent

    async def test_what_nobody_received_is_there_and_so_is_what_must_be_received_again(self, engine: Engine) -> None:
        old = await worked(engine, "a")
        for number in range(1, 5):
            await engine.control.send_event(sending(old.id, message=f"msg_{number}", payload=b"%d" % number))
        for order, key in ((1, "one"), (2, "two"), (3, "three")):
            await engine.work.suspend_run(parking(old, event_wait(old, key=key), order=order, park=False))
        await fail(engine, old)

        new = await retried(engine, old, from_step="two")

        messages = await engine.runs.list_messages(NAMESPACE, new.id)
        assert [(item.seq, item.id, item.taken_by) for item in messages] == [
            (1, "msg_1", "one"),  # and not the second: from its step on another one is wanted
            (3, "msg_3", None),
            (4, "msg_4", None),
        ]
        run = await claim_one(engine, 2)
        answer = await engine.work.suspend_run(parking(run, event_wait(run, key="two"), park=False))
        assert [(item.key, item.output) for item in answer.settled] == [("two", b"3")]
        repeat = await engine.control.send_event(sending(new.id, message="msg_1", payload=b"1"))
        assert repeat.is_repeat

    @pytest.mark.parametrize(("from_step", "outcome"), [(None, b"rejected"), ("approval", None)])
    async def test_an_approval_that_is_done_again_is_asked_for_again(
        self, engine: Engine, from_step: str | None, outcome: bytes | None
    ) -> None:
        old = await worked(engine, "a")
        asked = wait_for(old, StepKind.APPROVAL, awaits="Ship it?")
        await engine.work.suspend_run(parking(old, asked, park=False))
        await engine.control.decide(Decide(namespace=NAMESPACE, run_id=old.id, is_approved=False))
        await engine.work.suspend_run(parking(old, also=("approval",), park=False))
        await fail(engine, old)

        new = await retried(engine, old, from_step=from_step)

        if outcome is not None:
            assert outcome in ((await steps_of(engine, new.id))["approval"].output or b"")
            return
        run = await claim_one(engine, 2)
        again = wait_for(run, StepKind.APPROVAL, awaits="Ship it?")
        assert (await engine.work.suspend_run(parking(run, again))).is_parked
        decision = await engine.control.decide(Decide(namespace=NAMESPACE, run_id=new.id, is_approved=True))
        assert decision.is_approved

    @pytest.mark.spec("invariants:I-38", "invariants:I-39")
    async def test_a_retry_does_not_call_an_effect_that_may_have_happened(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        """Each run counts its tokens from one: the same number is not the same claim."""
        old = await worked(engine)
        assert (await engine.work.begin_effect(calling(old))).kind is BegunKind.ENTER
        await engine.control.cancel_run(cancelling(old.id))
        await retried(engine, old)

        new = await claim_one(engine, 2)
        assert new.token == old.token
        assert (await engine.work.begin_effect(calling(new))).kind is BegunKind.LATER

        clock.advance(HOUR)
        (again,) = [await claim_one(engine, 3)]
        begun = await engine.work.begin_effect(calling(again))
        assert (begun.kind, begun.idempotency_key) == (BegunKind.RECONCILE, f"{old.id}/charge")

    @pytest.mark.spec("invariants:I-38")
    @pytest.mark.parametrize("from_step", [None, "pack"])
    @pytest.mark.parametrize("said", [Resolution.HAPPENED, Resolution.SKIP])
    async def test_a_retry_does_not_call_an_effect_about_which_a_person_has_spoken(
        self, engine: Engine, said: Resolution, from_step: str | None
    ) -> None:
        """Its step is not completed before a worker has heard of it."""
        old = await worked(engine, "pack")
        await engine.work.begin_effect(calling(old, has_reconcile=False))
        await engine.work.fail_effect(
            FailEffect(
                namespace=NAMESPACE,
                run_id=old.id,
                token=old.token,
                step_key="charge",
                attempt=1,
                verdict=Verdict.UNKNOWN,
                failure=FAILURE,
            )
        )
        await engine.pipeline_control.resolve_effect(
            ResolveEffect(namespace=NAMESPACE, subject=old.id, resolution=said, result=b"9", by="ann")
        )
        await fail(engine, old)
        await retried(engine, old, from_step=from_step)

        new = await claim_one(engine, 2)
        begun = await engine.work.begin_effect(calling(new))

        assert begun.kind is (BegunKind.APPLIED if said is Resolution.HAPPENED else BegunKind.SKIPPED)


def calling(run: Run, *, has_reconcile: bool = True) -> BeginEffect:
    return BeginEffect(
        namespace=NAMESPACE,
        subject=run.id,
        run_id=run.id,
        token=run.token,
        step_key="charge",
        name="charge",
        params=b"[]",
        idempotency_key=f"{run.id}/charge",
        has_reconcile=has_reconcile,
    )
