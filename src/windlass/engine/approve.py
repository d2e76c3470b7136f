"""Approve or reject what a run waits for. Who decided, and what they said about it, stands in the log."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from windlass.engine.parts import Parts
from windlass.engine.release import save_run
from windlass.engine.send import lock_existing, tell_of_news
from windlass.errors import InvalidInput, NotFound, WrongState
from windlass.model.commands import Decide
from windlass.model.duration import from_instant
from windlass.model.message import Decision, DecisionOutcome, Message, MessageKind
from windlass.model.run import APPROVED_BY, REJECTED_BY, Deed, Run, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.rules import runs as rules
from windlass.rules.steps import is_late
from windlass.store.base import Tx

_decisions = msgspec.json.Decoder(Decision)


async def decide(parts: Parts, command: Decide) -> Decision:
    meant: str | None = command.step  # chosen once: asked again, the run may wait for another one by then

    async def approve(tx: Tx) -> tuple[Decision, Run]:
        nonlocal meant
        run = await lock_existing(tx, command.namespace, command.run_id)
        history = (await tx.steps.histories(run.namespace, run_ids=[run.id])).get(run.id, [])
        asked = [step for step in history if step.kind is StepKind.APPROVAL and not step.is_dropped]
        made = {
            message.name: message
            for message in await tx.inbox.of_run(run.namespace, run_id=run.id)
            if message.kind is MessageKind.APPROVAL
        }
        now = await tx.now()
        step = _choose(meant, command, run, asked, made)
        meant = step.key
        if step.key in made:
            return _same(command, run, step, made[step.key]), run
        if run.status.is_terminal or step.status is not StepStatus.WAITING or is_late(step, now=now):
            raise WrongState("Approval", f"{step.awaits!r} of {run.id}", _standing(run, step), wanted="waiting")
        decision = Decision(
            outcome=_outcome(command),
            by=command.by,
            note=command.note,
            at=from_instant(now),
        )
        payload = msgspec.json.encode(decision)
        await tx.inbox.add(
            run.namespace,
            run_id=run.id,
            kind=MessageKind.APPROVAL,
            name=step.key,
            id=step.key,
            payload=payload,
            payload_hash=hashlib.blake2b(payload, digest_size=16).digest(),
        )
        woken = rules.wake(run, now=now) if run.status is RunStatus.WAITING else run
        deed = Deed(by=command.by, note=command.note, step=step.key)
        cause = APPROVED_BY if command.is_approved else REJECTED_BY
        return decision, await save_run(tx, woken, was=run, cause=cause, deed=deed)

    decision, run = await parts.run_tx("decide_approval", approve)
    tell_of_news(parts, run)
    return decision


def _choose(meant: str | None, command: Decide, run: Run, asked: Sequence[Step], made: dict[str, Message]) -> Step:
    """The approval that is meant: the one named, else the only one that waits, else the last that was decided."""
    if meant is not None:
        named = next((step for step in asked if step.key == meant), None)
        if named is None:
            raise NotFound("Approval", meant, close=[step.key for step in asked])
        return named
    waiting = [step for step in asked if step.status is StepStatus.WAITING and step.key not in made]
    if len(waiting) > 1:
        keys = ", ".join(repr(step.key) for step in waiting)
        raise InvalidInput(
            f"Run {run.id} waits for {len(waiting)} approvals. Say which one with step=: {keys}.",
            reason="ambiguous_approval",
            path="step",
        )
    if waiting:
        _refuse_second_click(command, run, waiting[0], made)
        return waiting[0]
    if not asked:
        raise WrongState("Run", run.id, run.status, wanted="one that waits for an approval")
    return max(asked, key=lambda step: (step.started_at or 0, step.order or 0))


def _refuse_second_click(command: Decide, run: Run, step: Step, made: dict[str, Message]) -> None:
    """Somebody who has decided so before may be asking for that again, and not for the next approval."""
    outcome = _outcome(command)
    for message in made.values():
        decision = _decisions.decode(message.payload)
        if (decision.outcome, decision.by) == (outcome, command.by):
            raise InvalidInput(
                f"Approval {message.name!r} of {run.id} is {outcome} already, "
                f"and {step.key!r} ({step.awaits}) waits now. Say which one with step=: {step.key!r}.",
                reason="ambiguous_approval",
                path="step",
            )


def _outcome(command: Decide) -> DecisionOutcome:
    return "approved" if command.is_approved else "rejected"


def _same(command: Decide, run: Run, step: Step, message: Message) -> Decision:
    """The decision that was made, if it is the one asked for now."""
    decision = _decisions.decode(message.payload)
    if decision.outcome != _outcome(command) or (command.by is not None and decision.by != command.by):
        by = f" by {decision.by}" if decision.by else ""
        raise WrongState("Approval", f"{step.awaits!r} of {run.id}", f"{decision.outcome}{by}", wanted="waiting")
    return decision


def _standing(run: Run, step: Step) -> str:
    if step.status is StepStatus.WAITING:
        return f"over with its run, which is {run.status.value}" if run.status.is_terminal else "expired"
    return "over"
