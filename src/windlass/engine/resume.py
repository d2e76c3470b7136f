"""Let a paused run go on, at the earliest of what it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.engine.audit import Audit
from windlass.engine.graph.lock import lock_graph_behind, lock_graph_of
from windlass.engine.graph.pause import Steered, resume_graph
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.engine.release import save_run
from windlass.engine.settle import is_anything_here
from windlass.model.commands import ResumeRun
from windlass.model.run import RESUMED_BY, Deed, Run, RunKind, RunStatus
from windlass.notify.local import queue_topic, worker_topic
from windlass.rules import runs as rules
from windlass.store.base import Tx


async def resume_run(parts: Parts, command: ResumeRun) -> None:
    namespace, run_id = command.namespace, command.run_id
    audit = Audit.of_caller("resume_run")
    tries = int(command.is_again)  # what was asked before may have been done

    async def resume(tx: Tx) -> Steered:
        locked = await lock_graph_of(tx, namespace, run_id)
        run = await tx.runs.lock(namespace, id=run_id)
        if run is None:
            raise no_run(run_id)
        nonlocal tries
        tries += 1
        if tries > 1 and run.status is not RunStatus.PAUSED and not run.is_held:
            return Steered(run=run)  # the first try was committed, its answer lost
        deed = Deed(by=command.by)
        if run.kind is RunKind.GRAPH:
            steered = await resume_graph(tx, await lock_graph_behind(tx, locked, run), run, deed)
            await audit.note(tx, namespace, subject=run_id, before=RunStatus.PAUSED, after=RunStatus.WAITING)
            return steered
        resumed = await let_go_on(tx, run, deed=deed)
        await audit.note(tx, namespace, subject=run_id, before=RunStatus.PAUSED, after=resumed.status)
        return Steered(run=resumed)

    steered = await parts.run_tx("resume_run", resume)
    tell_of_resumed(parts, (steered.run, *steered.jobs))


async def let_go_on(tx: Tx, run: Run, *, deed: Deed) -> Run:
    """Resume a run, not a graph, that is locked."""
    waits = [step for step in await tx.steps.open_waits(run.namespace, run_id=run.id) if not step.is_dropped]
    is_due = await is_anything_here(tx, run, waits) or await _has_work(tx, run)
    resumed = rules.resume(run, waits, now=await tx.now(), is_due=is_due)
    await tx.runs.set_failure(run.namespace, id=run.id, failure=None)
    return await save_run(tx, resumed, was=run, cause=RESUMED_BY, deed=deed)


def tell_of_resumed(parts: Parts, runs: Sequence[Run]) -> None:
    for namespace, queue in sorted({(run.namespace, run.queue) for run in runs}):
        parts.hub.publish(queue_topic(namespace, queue))
    for namespace, worker in sorted({(run.namespace, run.worker) for run in runs if run.worker is not None}):
        parts.hub.publish(worker_topic(namespace, worker))  # it was asked to pause, and had not done so yet


async def _has_work(tx: Tx, run: Run) -> bool:
    log = await tx.log.of_subject(run.namespace, kind="run", id=run.id)
    paused_from = [entry.from_status for entry in log if entry.to_status == RunStatus.PAUSED != entry.from_status]
    return rules.may_have_work(run, paused_from=paused_from[-1] if paused_from else None)
