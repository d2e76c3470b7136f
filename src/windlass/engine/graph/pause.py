"""Hold a graph until it is resumed: what is at work comes to its end, what is due or released waits."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from windlass.engine.graph.lock import Locked
from windlass.engine.graph.steer import note
from windlass.engine.settle import is_anything_here
from windlass.errors import WrongState
from windlass.model.graph import JobState
from windlass.model.run import PAUSED_BY, RESUMED_BY, Deed, Run, RunStatus
from windlass.rules import runs as rules
from windlass.store.base import Tx
from windlass.store.queries.jobs import SteeredJob
from windlass.store.rows import deed_to_bytes


class Steered(Struct, frozen=True, kw_only=True):
    """The graph's run, and the jobs whose holders or queues have to be told."""

    run: Run
    jobs: tuple[Run, ...] = ()


async def pause_graph(tx: Tx, locked: Locked, run: Run, deed: Deed) -> Steered:
    """`run` is the graph's, locked after the graph."""
    graph = locked.graph
    assert graph is not None
    if graph.ending is not None:
        raise WrongState("Graph", run.id, "ending: its cleanup jobs are at work", wanted="one that is not over")
    paused = rules.pause(run)
    if graph.is_paused:
        return Steered(run=run)
    await tx.graphs.steer(replace(graph, is_paused=True))
    await note(tx, run, paused.status, PAUSED_BY, deed)
    jobs = [job for job in await tx.jobs.lock_open(run.namespace, run.id) if not rules.is_queued(job.run)]
    changed = [(job, rules.pause(job.run)) for job in jobs]
    return Steered(run=paused, jobs=await _save(tx, changed, PAUSED_BY, Deed(by=deed.by, run=run.id)))


async def resume_graph(tx: Tx, locked: Locked, run: Run, deed: Deed) -> Steered:
    graph = locked.graph
    assert graph is not None
    if not graph.is_paused:
        raise WrongState("Graph", run.id, run.status, wanted=RunStatus.PAUSED)
    await tx.graphs.steer(replace(graph, is_paused=False))
    resumed = replace(run, status=RunStatus.WAITING)
    await note(tx, run, resumed.status, RESUMED_BY, deed)
    changed = []
    for job in await tx.jobs.lock_open(run.namespace, run.id):
        if job.run.status is RunStatus.PAUSED or job.run.is_held:
            changed.append((job, await _resumed(tx, job.run)))
            await tx.runs.set_failure(run.namespace, id=job.run.id, failure=None)
    return Steered(run=resumed, jobs=await _save(tx, changed, RESUMED_BY, Deed(by=deed.by, run=run.id)))


async def _resumed(tx: Tx, run: Run) -> Run:
    """One that had not begun is due now, or waits for what it needs; any other goes by what it waits for."""
    now = await tx.now()
    if run.attempts == 0:
        return rules.resume(run, [], now=now, is_due=True)
    waits = [step for step in await tx.steps.open_waits(run.namespace, run_id=run.id) if not step.is_dropped]
    # That costs a replay at most: what was executed when it was paused may have more to do than to wait.
    is_due = not waits or await is_anything_here(tx, run, waits)
    return rules.resume(run, waits, now=now, is_due=is_due)


async def _save(tx: Tx, changed: list[tuple[JobState, Run]], cause: str, deed: Deed) -> tuple[Run, ...]:
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
