"""Record what a run waits for and, when nothing of it is at work any more, give its claim back until then.

Failed attempts and new waits put their due time on their step. Parking locks the run, reads its open waits anew and
takes the earliest, so nothing that arrived meanwhile is slept through.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.engine.parts import Parts
from windlass.engine.release import lock_claimed, save_run
from windlass.model.commands import Claim, Suspend, Suspended, Verdict
from windlass.model.run import Run, RunStatus
from windlass.model.step import Step
from windlass.model.time import Instant
from windlass.notify.local import queue_topic
from windlass.rules import runs as run_rules
from windlass.rules import steps as step_rules
from windlass.store.base import Tx


async def suspend_run(parts: Parts, command: Suspend) -> Suspended:
    claim = Claim(namespace=command.namespace, run_id=command.run_id, token=command.token)
    jitters = [parts.rng.random() for _ in command.failures]  # outside: the transaction may be run again

    tries = 0

    async def suspend(tx: Tx) -> tuple[Suspended, Run]:
        nonlocal tries
        tries += 1
        run = await lock_claimed(tx, claim, is_repeat=command.park and tries > 1)
        if run.status is not RunStatus.RUNNING:
            return Suspended(is_parked=True, verdicts=()), run
        now = await tx.now()
        failed = [
            step_rules.fail(item, now=now, jitter=jitter)
            for item, jitter in zip(command.failures, jitters, strict=True)
        ]
        steps = [*failed, *(step_rules.wait(item, now=now) for item in command.waits)]
        await tx.steps.settle(steps)
        park = command.park and step_rules.leaves_nothing_to_do(failed)
        if park:
            open_waits = await tx.steps.open_waits(run.namespace, run_id=run.id)
            waits = [step for step in open_waits if step.key not in command.dropped]
            run = await save_run(tx, run_rules.park(run, waits, now=now), was=run, cause=_cause(waits))
        # Parked, the run's available_at is the only due time there is; else the holder goes on with each by itself.
        verdicts = () if park else await _verdicts(tx, run, steps, now=now)
        return Suspended(is_parked=park, verdicts=verdicts), run

    suspended, run = await parts.run_tx("park_run" if command.park else "suspend_steps", suspend)
    if suspended.is_parked:
        # Whoever waits for this queue computes anew until when it may sleep.
        parts.hub.publish(queue_topic(run.namespace, run.queue))
    return suspended


def _cause(waits: Sequence[Step]) -> str:
    first = step_rules.next_wait(waits)
    return "release" if first is None else first.kind


async def _verdicts(tx: Tx, run: Run, steps: Sequence[Step], *, now: Instant) -> tuple[Verdict, ...]:
    """When each of them is due by its record: asked again after a lost answer, that is the time of the first try."""
    waits = await tx.steps.open_waits(run.namespace, run_id=run.id)
    recorded = {(step.key, step.attempt): step.due_at for step in waits}
    return tuple(
        Verdict(due_in=step_rules.remaining(recorded.get((step.key, step.attempt), step.due_at), now=now), at=now)
        for step in steps
    )
