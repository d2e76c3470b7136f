"""What a run asks of the children it has started, under its own claim: a worker may reach no other run."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.engine.again import until_answered
from windlass.engine.cancel import cancel_run
from windlass.engine.missing import no_child
from windlass.engine.parts import Parts
from windlass.engine.send import Guard, send_event
from windlass.errors import ClaimLost
from windlass.model.commands import Cancelled, CancelRun, Claim, SendEvent, Sent, WaitStep
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.step import Step, StepKind, StepRecord
from windlass.rules import steps as step_rules
from windlass.store.base import Tx

FOR_CHILDREN = (StepKind.CHILD, StepKind.START)


async def send_to_child(parts: Parts, claim: Claim, command: SendEvent) -> Sent:
    return await send_event(parts, command, guard=_parent_of(command.run_id, claim))


async def cancel_child(parts: Parts, claim: Claim, command: CancelRun) -> Cancelled:
    return await cancel_run(parts, command, guard=_parent_of(command.run_id, claim))


async def read_history(parts: Parts, claim: Claim) -> tuple[StepRecord, ...]:
    """What is on record of a run that is held under this claim."""

    async def read(tx: Tx) -> tuple[StepRecord, ...]:
        await _check_claim(tx, claim)
        found: list[Step] = (await tx.steps.histories(claim.namespace, run_ids=[claim.run_id])).get(claim.run_id, [])
        now = await tx.now()
        return tuple([step_rules.record(step, now=now) for step in found])

    return await until_answered(parts.clock, lambda: parts.store.read("read_history", read))


async def check_children(tx: Tx, run: Run, waits: Sequence[WaitStep]) -> None:
    """Raise NotFound if a wait names a run that this one has not started, whether there is such a run or not.

    One that it has started and that was removed since is let through: the wait is over at once, and says so.
    """
    named = {RunId(wait.awaits or "") for wait in waits if wait.kind in FOR_CHILDREN and wait.child is None}
    strange = named - await tx.children.own(run, ids=named) if named else named
    if strange:
        history = (await tx.steps.histories(run.namespace, run_ids=[run.id])).get(run.id, [])
        strange -= {RunId(step.awaits) for step in history if step.kind is StepKind.START and step.awaits is not None}
    if strange:
        raise no_child(min(strange))


def _parent_of(child: RunId, claim: Claim) -> Guard:
    """The parent is not locked for this: its holder may lose the claim just now, as just behind the commit."""

    async def check(tx: Tx) -> None:
        run = await _check_claim(tx, claim)
        if not await tx.children.own(run, ids=[child]):
            raise no_child(child)

    return check


async def _check_claim(tx: Tx, claim: Claim) -> Run:
    run = await tx.runs.load(claim.namespace, id=claim.run_id)
    if run is None or (run.status, run.token) != (RunStatus.RUNNING, claim.token):
        raise ClaimLost(claim.run_id, token=claim.token)
    return run
