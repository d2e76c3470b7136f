"""Record what a run waits for and, when nothing of it is at work any more, give its claim back until then.

Failed attempts and new waits put their due time on their step; a wait for a child creates that child. Parking locks the
run, reads its open waits anew, hands over what has come, and only then takes the earliest due time: so nothing that
arrives meanwhile is slept through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from windlass.engine.offspring import check_children
from windlass.engine.parts import Parts
from windlass.engine.release import given_back, lock_claimed, save_run, tell_of_return
from windlass.engine.settle import settle_waits
from windlass.model.commands import Claim, Settled, StartChild, Suspend, Suspended, Verdict
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import Instant
from windlass.notify.local import queue_topic
from windlass.rules import runs as run_rules
from windlass.rules import steps as step_rules
from windlass.store.base import Tx
from windlass.store.queries.runs import NewRun


async def suspend_run(parts: Parts, command: Suspend) -> Suspended:
    claim = Claim(namespace=command.namespace, run_id=command.run_id, token=command.token)
    # Outside: the transaction may be run again, and must then do the same.
    jitters = [parts.rng.random() for _ in command.failures]
    ids = {item.key: RunId(parts.ids.run()) for item in command.waits if item.child is not None}
    tries = int(command.is_again)  # what was asked before may have been done

    async def suspend(tx: Tx) -> tuple[Suspended, Run]:
        nonlocal tries
        tries += 1
        run = await lock_claimed(tx, claim, is_repeat=command.park and tries > 1)
        if run.status is not RunStatus.RUNNING:
            return Suspended(is_parked=True, verdicts=()), run
        await check_children(tx, run, command.waits)
        now = await tx.now()
        failed = [
            step_rules.fail(item, now=now, jitter=jitter)
            for item, jitter in zip(command.failures, jitters, strict=True)
        ]
        children = await _create_children(tx, run, command, ids) if ids else {}
        waits = [step_rules.wait(item, now=now, child=children.get(item.key)) for item in command.waits]
        await tx.steps.settle([*failed, *waits])
        await tx.steps.drop(run.namespace, run_id=run.id, keys=command.dropped)
        if command.unretrieved is not None:
            await tx.runs.set_unretrieved(run.namespace, id=run.id, unretrieved=command.unretrieved)
        # What failed for good is heard of first, and the code may then wait for something else.
        is_stopped = step_rules.leaves_nothing_to_do(failed)
        settled, still_open = await _decide(tx, run, command if is_stopped else replace(command, open=()), now=now)
        park = command.park and not settled and is_stopped
        if park:
            run = await _park(tx, run, command, still_open, now=now)
        # Parked, the run's available_at is the only due time there is; else the holder goes on with each by itself.
        recorded = still_open if tries == 1 else await _history(tx, run)
        verdicts = () if park else _verdicts([*failed, *waits], recorded, now=now)
        return Suspended(is_parked=park, verdicts=verdicts, settled=tuple(settled)), run

    suspended, run = await parts.run_tx("park_run" if command.park else "suspend_steps", suspend)
    if suspended.is_parked:
        tell_of_return(parts, run)
    for queue in {item.child.command.queue for item in command.waits if item.child is not None}:
        parts.hub.publish(queue_topic(run.namespace, queue))
    return suspended


async def _park(tx: Tx, run: Run, command: Suspend, waits: Sequence[Step], *, now: Instant) -> Run:
    unmet = sum(step.kind is StepKind.CHILD for step in waits) if command.together else 0
    parked = run_rules.park(run, waits, now=now, unmet=unmet)
    cause = given_back(parked, step_rules.cause_of_parking(waits))
    return await save_run(tx, parked, was=run, cause=cause)


async def _decide(tx: Tx, run: Run, command: Suspend, *, now: Instant) -> tuple[list[Settled], list[Step]]:
    """Waits that are over, and what is open still, without what the code has given up."""
    orders = {item.key: item.order for item in command.open}
    found = await tx.steps.open_waits(run.namespace, run_id=run.id)
    waits = [step for step in found if step.key in orders or not (step.is_dropped or step.key in command.dropped)]
    # A branch that was given up, and is asked for again after all, counts again.
    await tx.steps.settle([replace(step, is_dropped=False) for step in waits if step.is_dropped])
    missing = orders.keys() - {step.key for step in waits}
    decided = [step for step in await _history(tx, run) if step.key in missing] if missing else []
    if any(step.order is not None for step in decided):
        # By a try whose answer was lost. Nothing more is decided now: the code has to hear of these first.
        return [_settled(step) for step in decided if step.order is not None], waits
    over = await settle_waits(tx, run, waits, orders=orders, now=now) if orders else []
    done = {step.key for step in over}
    return [_settled(step) for step in over], [step for step in waits if step.key not in done]


async def _history(tx: Tx, run: Run) -> list[Step]:
    return (await tx.steps.histories(run.namespace, run_ids=[run.id])).get(run.id, [])


def _settled(step: Step) -> Settled:
    return Settled(
        key=step.key,
        order=step.order or 0,
        awaits=step.awaits,
        output=step.output,
        failure=step.failure,
        at=step.finished_at or Instant(0),
    )


async def _create_children(tx: Tx, run: Run, command: Suspend, ids: Mapping[str, RunId]) -> dict[str, RunId]:
    """The children of these steps, created now or by a try whose answer was lost."""
    asked = [(item.key, item.child) for item in command.waits if item.child is not None]
    created = await tx.runs.create([_new_child(run, key, child, ids[key]) for key, child in asked])
    if len(created) == len(asked):
        return dict(ids)
    existing = await tx.runs.children(run.namespace, parent=run.id)
    return {key: existing[key] for key, _ in asked}


def _new_child(parent: Run, key: str, child: StartChild, id: RunId) -> NewRun:
    command = child.command
    return NewRun(
        namespace=command.namespace,
        id=id,
        name=command.name,
        version=command.version,
        queue=command.queue,
        priority=command.priority,
        input=command.input,
        delay_for=command.delay_for,
        at=command.at,
        timeout_for=command.timeout_for,
        parent=parent.id,
        parent_step=key,
        follows_parent=int(child.follows_parent),
    )


def _verdicts(steps: Sequence[Step], recorded: Sequence[Step], *, now: Instant) -> tuple[Verdict, ...]:
    """What became of each by its record: asked again after a lost answer, that is what the first try has made of it."""
    known = {(step.key, step.attempt): step for step in recorded}
    verdicts = []
    for step in steps:
        record = known.get((step.key, step.attempt), step)
        at = record.finished_at if record.status is StepStatus.FAILED and record.due_at is None else None
        verdicts.append(Verdict(due_in=step_rules.remaining(record.due_at, now=now), at=now if at is None else at))
    return tuple(verdicts)
