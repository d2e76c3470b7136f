"""Decide what a run waits for: has it come, can it still come, or is it too late?

Always under the run's lock, which whoever brings something takes too: so nothing comes unseen between a look and what
is made of it. What is here wins over a deadline that has passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from windlass.model.commands import Outcome
from windlass.model.duration import from_instant
from windlass.model.failure import Failure, FailureKind
from windlass.model.message import Decision, Message, MessageKind
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.step import Step, StepKind
from windlass.model.time import Instant
from windlass.rules import steps as rules
from windlass.store.base import Tx


async def settle_waits(
    tx: Tx, run: Run, waits: Sequence[Step], *, orders: Mapping[str, int], now: Instant
) -> list[Step]:
    """Those of the waits that are over now, as they are recorded."""
    asked = sorted((step for step in waits if step.key in orders), key=lambda step: orders[step.key])
    here, late = await _events(tx, run, [step for step in asked if step.kind is StepKind.EVENT], now=now)
    over = [
        *(_missed(run, step, rules.late(step), orders, now=now) for step in late),
        *await _approvals(tx, run, [step for step in asked if step.kind is StepKind.APPROVAL], orders=orders, now=now),
        *await _children(tx, run, [step for step in asked if step.kind is StepKind.CHILD], orders=orders, now=now),
        *(
            _arrived(run, step, msgspec.json.encode(step.awaits), orders, now=now)
            for step in asked
            if step.kind is StepKind.START
        ),
    ]
    first = min(here, key=lambda item: orders[item[0].key], default=None)
    if first is not None and rules.is_heard_first(orders[first[0].key], over):
        step, message = first
        await tx.inbox.take(message, by=step.key)
        over.append(_arrived(run, step, message.payload, orders, now=now))
    await tx.steps.settle(over)
    return over


async def is_anything_here(tx: Tx, run: Run, waits: Sequence[Step]) -> bool:
    """Has something come that one of the waits is for?"""
    for step in waits:
        if step.kind in (StepKind.EVENT, StepKind.APPROVAL) and await _unread(tx, run, step, limit=1):
            return True
    children = [RunId(step.awaits) for step in waits if step.kind is StepKind.CHILD and step.awaits is not None]
    outcomes = await tx.children.outcomes(run, ids=children) if children else {}
    return any(outcome.status.is_terminal for outcome in outcomes.values())


async def _events(
    tx: Tx, run: Run, waits: Sequence[Step], *, now: Instant
) -> tuple[list[tuple[Step, Message]], list[Step]]:
    """Which waits could have which event, the first to wait the first that came; and which wait in vain."""
    here: list[tuple[Step, Message]] = []
    late: list[Step] = []
    by_event: dict[str, list[Step]] = {}
    for step in waits:
        by_event.setdefault(step.awaits or "", []).append(step)
    for steps in by_event.values():
        messages = await _unread(tx, run, steps[0], limit=len(steps))
        here.extend(zip(steps, messages, strict=False))
        late.extend(step for step in steps[len(messages) :] if rules.is_late(step, now=now))
    return here, late


async def _approvals(tx: Tx, run: Run, waits: Sequence[Step], *, orders: Mapping[str, int], now: Instant) -> list[Step]:
    over = []
    for step in waits:
        messages = await _unread(tx, run, step, limit=1)
        if messages:
            await tx.inbox.take(messages[0], by=step.key)
            output = messages[0].payload
        elif rules.is_late(step, now=now):
            output = msgspec.json.encode(Decision(outcome="expired", at=from_instant(step.due_at or now)))
        else:
            continue
        over.append(_arrived(run, step, output, orders, now=now))
    return over


async def _children(tx: Tx, run: Run, waits: Sequence[Step], *, orders: Mapping[str, int], now: Instant) -> list[Step]:
    if not waits:
        return []
    outcomes = await tx.children.outcomes(run, ids=[RunId(step.awaits or "") for step in waits])
    over = []
    for step in waits:
        outcome = outcomes.get(RunId(step.awaits or ""))
        if outcome is not None and outcome.status is RunStatus.COMPLETED:
            over.append(_arrived(run, step, outcome.output or b"null", orders, now=now))
        elif outcome is None or outcome.status.is_terminal:
            over.append(_missed(run, step, _of_child(step, outcome), orders, now=now))
    return over


def _arrived(run: Run, step: Step, output: bytes, orders: Mapping[str, int], *, now: Instant) -> Step:
    return rules.arrive(step, order=orders[step.key], output=output, token=run.token, now=now)


def _missed(run: Run, step: Step, failure: Failure, orders: Mapping[str, int], *, now: Instant) -> Step:
    return rules.miss(step, order=orders[step.key], failure=failure, token=run.token, now=now)


def _of_child(step: Step, outcome: Outcome | None) -> Failure:
    """How its end reaches the parent."""
    if outcome is None:
        text = f"Run {step.awaits} is not there any more."
        return Failure(kind=FailureKind.INTERNAL, type="NotFound", message=text, is_final=True, step=step.key)
    if outcome.failure is not None and outcome.status is RunStatus.FAILED:
        return replace(outcome.failure, is_final=True, step=step.key)
    # Of a kind that no code of a user ends with: a run that failed because a child of its own was cancelled has failed.
    text = f"Run {step.awaits} was {outcome.status.value}."
    return Failure(kind=FailureKind.INTERNAL, type="RunCancelled", message=text, is_final=True, step=step.key)


async def _unread(tx: Tx, run: Run, step: Step, *, limit: int) -> list[Message]:
    is_event = step.kind is StepKind.EVENT
    return await tx.inbox.unread(
        run.namespace,
        run_id=run.id,
        kind=MessageKind.EVENT if is_event else MessageKind.APPROVAL,
        name=(step.awaits or "") if is_event else step.key,
        limit=limit,
    )
