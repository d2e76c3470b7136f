"""Hold a graph until it is resumed: what is at work comes to its end, what is due or released waits."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from windlass.engine.graph.lock import Locked
from windlass.engine.graph.steer import note, resume_jobs, save_jobs
from windlass.errors import WrongState
from windlass.model.run import PAUSED_BY, RESUMED_BY, Deed, Run, RunStatus
from windlass.rules import runs as rules
from windlass.store.base import Tx


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
    return Steered(run=paused, jobs=await save_jobs(tx, changed, PAUSED_BY, Deed(by=deed.by, run=run.id)))


async def resume_graph(tx: Tx, locked: Locked, run: Run, deed: Deed) -> Steered:
    graph = locked.graph
    assert graph is not None
    if not graph.is_paused:
        raise WrongState("Graph", run.id, run.status, wanted=RunStatus.PAUSED)
    await tx.graphs.steer(replace(graph, is_paused=False))
    resumed = replace(run, status=RunStatus.WAITING)
    await note(tx, run, resumed.status, RESUMED_BY, deed)
    return Steered(run=resumed, jobs=await resume_jobs(tx, graph, RESUMED_BY, deed))
