"""End, pause and resume a graph as a whole: what is done to its jobs, under its lock."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.engine.release import save_run
from windlass.engine.settle import is_anything_here
from windlass.model.graph import Graph, JobState
from windlass.model.run import RESUMED_BY, Deed, Run, RunStatus
from windlass.rules import graph_ends
from windlass.rules import runs as rules
from windlass.store.base import Tx
from windlass.store.queries.jobs import SteeredJob
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes


async def begin_to_end(
    tx: Tx, graph: Graph, run: Run, deed: Deed, *, ending: RunStatus
) -> tuple[Graph, tuple[Run, ...]]:
    """The graph is to end once its cleanup jobs are over. It is paused no more, so that they can run: these go on."""
    changed = replace(graph, ending=graph.ending or ending, is_paused=False)
    if changed != graph:
        await tx.graphs.steer(changed)
    if run.status is RunStatus.PAUSED:  # why it was held is no reason for its end
        await tx.runs.set_failure(run.namespace, id=run.id, failure=None)
    going = await resume_jobs(tx, graph, RESUMED_BY, deed) if graph.is_paused else ()
    await tx.needs.bound(graph.namespace, graph.id, most_for=graph_ends.CLEANUP_FOR)
    return changed, going


async def note(tx: Tx, run: Run, status: RunStatus, cause: str, deed: Deed) -> None:
    """Something was done to a graph that changes its run, or leaves it as it is."""
    if status is not run.status:
        await save_run(tx, replace(run, status=status), was=run, cause=cause, deed=deed)
        return
    entry = NewLogEntry(
        namespace=run.namespace,
        subject_kind="run",
        subject_id=run.id,
        from_status=run.status,
        to_status=status,
        cause=cause,
        data=deed_to_bytes(deed),
    )
    await tx.log.append([entry])


async def resume_jobs(tx: Tx, graph: Graph, cause: str, deed: Deed) -> tuple[Run, ...]:
    """Let every job go on that is paused, or is to be. Answers with those whose holders or queues have to be told."""
    changed = []
    for job in await tx.jobs.lock_open(graph.namespace, graph.id):
        if job.run.status is RunStatus.PAUSED or job.run.is_held:
            changed.append((job, await _resumed(tx, job.run)))
            await tx.runs.set_failure(graph.namespace, id=job.run.id, failure=None)
    return await save_jobs(tx, changed, cause, Deed(by=deed.by, run=graph.id))


async def _resumed(tx: Tx, run: Run) -> Run:
    """One that had not begun is due now, or waits for what it needs; any other goes by what it waits for."""
    now = await tx.now()
    if run.attempts == 0:
        return rules.resume(run, [], now=now, is_due=True)
    waits = [step for step in await tx.steps.open_waits(run.namespace, run_id=run.id) if not step.is_dropped]
    # That costs a replay at most: what was executed when it was paused may have more to do than to wait.
    is_due = not waits or await is_anything_here(tx, run, waits)
    return rules.resume(run, waits, now=now, is_due=is_due)


async def save_jobs(tx: Tx, changed: list[tuple[JobState, Run]], cause: str, deed: Deed) -> tuple[Run, ...]:
    """Write what was decided about jobs, where it changes something."""
    rows = [
        SteeredJob(
            namespace=run.namespace,
            id=run.id,
            token=job.run.token,
            was=job.run.status,
            status=run.status,
            available_at=run.available_at,
            held=int(run.is_held),
            worker=run.worker,
            recoveries=run.recoveries,
            unmet=run.unmet,
            cause=cause,
            data=deed_to_bytes(deed),
        )
        for job, run in changed
        if run != job.run
    ]
    await tx.needs.steer(rows)
    return tuple(run for job, run in changed if run != job.run)
