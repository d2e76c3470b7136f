"""What a run asks of the children it has started, under its own claim: a worker may reach no other run."""

from __future__ import annotations

from windlass.engine.again import until_answered
from windlass.engine.cancel import cancel_run
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.engine.send import Guard, send_event
from windlass.errors import ClaimLost
from windlass.model.commands import Cancelled, CancelRun, Claim, SendEvent, Sent
from windlass.model.run import RunId, RunStatus
from windlass.model.step import Step, StepRecord
from windlass.rules import steps as step_rules
from windlass.store.base import Tx


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


def _parent_of(child: RunId, claim: Claim) -> Guard:
    """The parent is not locked for this: its holder may lose the claim just now, as just behind the commit."""

    async def check(tx: Tx) -> None:
        await _check_claim(tx, claim)
        found = await tx.runs.load(claim.namespace, id=child)
        if found is None or found.parent != claim.run_id:
            raise no_run(child)

    return check


async def _check_claim(tx: Tx, claim: Claim) -> None:
    run = await tx.runs.load(claim.namespace, id=claim.run_id)
    if run is None or (run.status, run.token) != (RunStatus.RUNNING, claim.token):
        raise ClaimLost(claim.run_id, token=claim.token)
