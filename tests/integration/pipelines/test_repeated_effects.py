"""Is a worker that repeats itself acknowledged, and refused where it says something else the second time?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.conftest import ByHand
from tests.lives.pipeline_hands import DONE, PIPELINE, Hands
from tests.programs import nothing
from windlass.errors import AlreadyExists
from windlass.model.commands import RegisterWorker
from windlass.model.effect import Effect, EffectStatus
from windlass.model.pipeline_work import ApplyEffect, BeginEffect, BegunKind, CommitHandler, Task
from windlass.model.time import MINUTE
from windlass.testing.harness import Harness

CALL: dict[str, Any] = {"name": "charge", "params": b"[7]", "idempotency_key": "order-7"}
OTHERS = {"name": "refund", "params": b"[8]", "idempotency_key": "order-8"}


@pytest.fixture
async def hands(idle_harness: Harness) -> Hands:
    """A worker of a pipeline, with one event to handle."""
    beside: Any = idle_harness.opened  # the same doors, in process or behind a wire
    hands = Hands(beside, "wrk_" + "A".rjust(26, "0"))
    await hands.engine.work.register_worker(
        RegisterWorker(
            namespace="default", id=hands.worker, host="here", pid=1, served=(), slots=1, pipelines=hands.served
        )
    )
    await hands.declare()
    await hands.publish("a")
    return hands


async def prepared(hands: Hands) -> Task:
    task = await hands.claim()
    assert task is not None
    await hands.reserve(task, *await hands.pending())
    return task


def beginning(hands: Hands, task: Task, **changes: Any) -> BeginEffect:
    assert hands.held is not None
    command = BeginEffect(
        namespace="default",
        subject=PIPELINE,
        token=hands.held.token,
        run_id=task.run_id,
        has_reconcile=True,
        timeout_for=MINUTE,
        **CALL,
    )
    return replace(command, **changes)


def applying(hands: Hands, task: Task, result: bytes) -> ApplyEffect:
    assert hands.held is not None
    return ApplyEffect(
        namespace="default", pipeline=PIPELINE, token=hands.held.token, run_id=task.run_id, result=result
    )


async def ledger(harness: Harness, owner: str) -> Effect:
    (effect,) = (
        await harness.opened.engine.parts.store.read("ledger", lambda tx: tx.effects.of("default", owners=[owner]))
    ).values()
    return effect


@pytest.mark.parametrize("other", OTHERS)
async def test_an_attempt_that_begins_another_call_than_it_has_begun_is_refused(
    idle_harness: Harness, hands: Hands, other: str
) -> None:
    task = await prepared(hands)
    command = beginning(hands, task)
    begun = await hands.engine.work.begin_effect(command)

    with pytest.raises(AlreadyExists, match="this is another call") as refused:
        await hands.engine.work.begin_effect(replace(command, **{other: OTHERS[other]}))

    assert (refused.value.reason, refused.value.owner) == ("effect_conflict", task.run_id)
    assert await hands.engine.work.begin_effect(replace(command, title="said anew")) == begun
    effect = await ledger(idle_harness, task.run_id)
    assert (effect.name, effect.params, effect.idempotency_key) == tuple(CALL.values())
    await hands.engine.work.apply_effect(applying(hands, task, b"1"))
    assert await hands.commit(task, "a", continues=False, topic=DONE) is None


async def test_an_effect_that_returned_is_refused_another_result_and_acknowledged_the_same(
    idle_harness: Harness, hands: Hands
) -> None:
    task = await prepared(hands)
    await hands.engine.work.begin_effect(beginning(hands, task))
    first = applying(hands, task, b'"first"')
    await hands.engine.work.apply_effect(first)
    carried = CommitHandler(
        namespace="default", pipeline=PIPELINE, token=first.token, run_id=task.run_id, result=b'"second"'
    )

    with pytest.raises(AlreadyExists, match="another result on record") as refused:
        await hands.engine.work.apply_effect(applying(hands, task, b'"second"'))
    with pytest.raises(AlreadyExists, match="another result on record"):
        await hands.engine.work.commit_handler(carried)

    assert (refused.value.reason, refused.value.owner) == ("effect_conflict", task.run_id)
    assert await hands.engine.work.apply_effect(first)
    effect = await ledger(idle_harness, task.run_id)
    assert (effect.status, effect.result) == (EffectStatus.APPLIED, b'"first"')
    assert (await hands.engine.work.commit_handler(replace(carried, result=b'"first"'))).at


@pytest.mark.parametrize("other", OTHERS)
async def test_a_step_that_begins_another_call_than_it_has_begun_is_refused(idle_harness: Harness, other: str) -> None:
    order = idle_harness.app.workflow(name="order")(nothing)
    await idle_harness.start(order)
    hand = ByHand(idle_harness)
    run = await hand.claim_one()
    command = BeginEffect(
        namespace="default", subject=run.run_id, token=run.token, run_id=run.run_id, step_key="charge",
        has_reconcile=True, timeout_for=MINUTE, **CALL,
    )  # fmt: skip
    begun = await hand.work.begin_effect(command)

    with pytest.raises(AlreadyExists, match="this is another call") as refused:
        await hand.work.begin_effect(replace(command, **{other: OTHERS[other]}))

    assert (refused.value.reason, refused.value.owner) == ("effect_conflict", run.run_id)
    assert begun.kind is BegunKind.ENTER
    assert await hand.work.begin_effect(command) == begun
    effect = await ledger(idle_harness, run.run_id)
    assert (effect.name, effect.params, effect.idempotency_key) == tuple(CALL.values())
