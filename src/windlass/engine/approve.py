"""Approve or reject what a run waits for. Who decided, and what they said about it, stands in the log."""

from __future__ import annotations

import hashlib

import msgspec

from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.engine.release import save_run
from windlass.engine.send import lock_existing, tell_of_news
from windlass.model.commands import Decide
from windlass.model.duration import from_instant
from windlass.model.message import Decision, MessageKind
from windlass.model.run import APPROVED_BY, REJECTED_BY, Deed, Run, RunStatus
from windlass.model.step import StepKind
from windlass.rules import approvals
from windlass.rules import runs as rules
from windlass.store.base import Tx

_decisions = msgspec.json.Decoder(Decision)


async def decide(parts: Parts, command: Decide) -> Decision:
    audit = Audit.of_caller("decide")
    meant: str | None = command.step  # chosen once: asked again, the run may wait for another one by then

    async def approve(tx: Tx) -> tuple[Decision, Run]:
        nonlocal meant
        run = await lock_existing(tx, command.namespace, command.run_id)
        history = (await tx.steps.histories(run.namespace, run_ids=[run.id])).get(run.id, [])
        asked = [step for step in history if step.kind is StepKind.APPROVAL and not step.is_dropped]
        made = {
            message.name: _decisions.decode(message.payload)
            for message in await tx.inbox.of_run(run.namespace, run_id=run.id)
            if message.kind is MessageKind.APPROVAL
        }
        now = await tx.now()
        step = approvals.choose(meant, command, run, asked, made)
        meant = step.key
        if step.key in made:
            return approvals.check_same(command, run, step, made[step.key]), run
        approvals.check_open(run, step, now=now)
        decision = Decision(
            outcome=approvals.outcome(command),
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
        await audit.note(tx, run.namespace, subject=f"{run.id} {step.key}", after=decision.outcome)
        deed = Deed(by=command.by, note=command.note, step=step.key)
        cause = APPROVED_BY if command.is_approved else REJECTED_BY
        return decision, await save_run(tx, woken, was=run, cause=cause, deed=deed)

    decision, run = await parts.run_tx("decide_approval", approve)
    tell_of_news(parts, run)
    return decision
