"""Say why a run is not running: everything is read as of one moment, and a rule turns it into sentences."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.explain_graph import with_graph
from windlass.engine.long_steps import long_step
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.model.explanation import Explanation
from windlass.model.message import Message, MessageKind
from windlass.model.run import RunId, RunStatus
from windlass.model.step import Step
from windlass.model.worker import Worker
from windlass.rules.explain import Facts, explain
from windlass.rules.explain.facts import Turn, awaited_children, awaits_event
from windlass.rules.runs import is_queued
from windlass.store.base import Tx


async def explain_run(parts: Parts, namespace: str, run_id: RunId) -> Explanation:
    async def look(tx: Tx) -> Facts:
        facts = await _facts(tx, namespace, run_id)
        if facts is None:
            raise no_run(run_id)
        if facts.run.status.is_terminal:
            facts = replace(facts, retry=await tx.retries.of(namespace, run_id=run_id))
            return await with_graph(tx, facts, look=lambda id: _facts(tx, namespace, id))
        facts = replace(
            facts,
            workers=await _workers(tx, facts),
            gates=tuple(await tx.gates.closed(namespace)),
            unread=await _unread(tx, namespace, run_id, facts.steps),
            unretrieved=await tx.runs.unretrieved(namespace, id=run_id),
        )
        facts = await _with_long_step(tx, await _with_turn(tx, await _with_children(tx, facts)))
        return await _with_graph(tx, facts)

    # One snapshot: a run that is claimed between two reads would seem to wait for the worker that has it.
    return explain(await until_answered(parts.clock, lambda: parts.store.read("explain_run", look)))


async def _facts(tx: Tx, namespace: str, run_id: RunId) -> Facts | None:
    """What is known about a run by itself."""
    view = await tx.runs.view(namespace, id=run_id)
    if view is None:
        return None
    histories = await tx.steps.histories(namespace, run_ids=[run_id])
    return Facts(
        view=view,
        steps=tuple(histories.get(run_id, ())),
        log=tuple(await tx.log.of_subject(namespace, kind="run", id=run_id)),
        workers=(),
        now=await tx.now(),
    )


async def _workers(tx: Tx, facts: Facts) -> tuple[Worker, ...]:
    """Those that are there, and the holder also if it counts as offline: it may only have been silent."""
    live = tuple(await tx.workers.live(facts.run.namespace))
    id = facts.run.worker
    if id is None or any(worker.id == id for worker in live):
        return live
    holder = await tx.workers.find(facts.run.namespace, id=id)
    return live if holder is None else (*live, holder)


async def _unread(tx: Tx, namespace: str, run_id: RunId, steps: Sequence[Step]) -> tuple[Message, ...]:
    if not awaits_event(steps):
        return ()
    messages = await tx.inbox.of_run(namespace, run_id=run_id)
    return tuple(item for item in messages if item.kind is MessageKind.EVENT and item.taken_by is None)


async def _with_children(tx: Tx, facts: Facts) -> Facts:
    """Where the runs it waits for stand, and more about the first that has not ended; no deeper than that."""
    ids = awaited_children(facts.steps)
    if not ids:
        return facts
    namespace = facts.run.namespace
    statuses = {id: ending.status for id, ending in (await tx.runs.endings(namespace, ids=ids)).items()}
    first = next((id for id in ids if id in statuses and not statuses[id].is_terminal), None)
    child = None if first is None else await _facts(tx, namespace, first)
    if child is not None:
        child = replace(child, workers=facts.workers, gates=facts.gates)
    return replace(facts, children=statuses, child=child)


async def _with_long_step(tx: Tx, facts: Facts) -> Facts:
    """Of the bodies at work the one that has been so for the longest, if it takes long."""
    if facts.run.status is not RunStatus.RUNNING or not facts.at_work:
        return facts
    step = facts.at_work[0]
    started_at = step.started_at or facts.now
    return replace(facts, long_step=await long_step(tx, facts.run, step=step.key, started_at=started_at, now=facts.now))


async def _with_graph(tx: Tx, facts: Facts) -> Facts:
    """The graph it is or belongs to, and more about the job that keeps the others."""

    async def look(run_id: RunId) -> Facts | None:
        found = await _facts(tx, facts.run.namespace, run_id)
        return None if found is None else replace(found, workers=facts.workers, gates=facts.gates)

    return await with_graph(tx, facts, look=look)


async def _with_turn(tx: Tx, facts: Facts) -> Facts:
    """The runs of its schedule that have to end before it begins, and more about the first of them."""
    run = facts.run
    if run.schedule is None or not is_queued(run):
        return facts
    open = await tx.scheduled.open_runs(run.namespace, run.schedule)
    ahead = tuple(other.id for other in open if not other.is_queued)
    first = await _facts(tx, run.namespace, ahead[0]) if ahead else None
    if first is not None:
        first = replace(first, workers=facts.workers, gates=facts.gates)
    schedule = await tx.schedules.load(run.namespace, run.schedule)
    return replace(facts, turn=Turn(ahead=ahead, first=first, overlap=None if schedule is None else schedule.overlap))
