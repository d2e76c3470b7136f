"""What is read about a graph, and about a job as a part of one, to say why it is not running."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from msgspec.structs import replace

from windlass.model.graph import Edge, Graph, JobView
from windlass.model.run import RunId, RunKind, RunStatus
from windlass.rules.explain.facts import Facts, Jobs, Needed
from windlass.rules.needs import may_wait
from windlass.store.base import Tx

Look = Callable[[RunId], Awaitable[Facts | None]]  # what is known about a run by itself

NAMED = 3  # upstreams, and jobs that failed
LOOKED_AT = 100  # jobs of a graph, to find one that waits for no other
LONGEST_LINE = 100  # of jobs that wait for each other


async def with_graph(tx: Tx, facts: Facts, *, look: Look) -> Facts:
    """The graph this run is, or belongs to."""
    run = facts.run
    if run.kind is RunKind.GRAPH:
        graph = await tx.graphs.load(run.namespace, run.id)
        return facts if graph is None else replace(facts, jobs=await _jobs(tx, graph, look))
    if run.graph is None or run.job is None:
        return facts
    graph = await tx.graphs.load(run.namespace, run.graph)
    views = await tx.jobs.views(run.namespace, run.graph, names=[run.job])
    return facts if graph is None or not views else replace(facts, needed=await _needed(tx, graph, views[0], look))


async def _jobs(tx: Tx, graph: Graph, look: Look) -> Jobs:
    if not graph.open:
        failed = await tx.graphs.failed_jobs(graph.namespace, graph.id, limit=NAMED + 1) if graph.failed else []
        return Jobs(graph=graph, failed=tuple(name for name, _ in failed))
    statuses = await tx.jobs.ends(graph.namespace, graph.id)
    open = {name: status for name, status in statuses.items() if not status.is_terminal}
    rest = sorted((status is RunStatus.WAITING, name) for name, status in open.items() if status != RunStatus.RUNNING)
    views = await tx.jobs.views(graph.namespace, graph.id, names=[name for _, name in rest[:LOOKED_AT]])
    views.sort(key=lambda view: view.state.position)
    first = next((view for view in views if not may_wait(view.state)), None)
    return Jobs(
        graph=graph,
        open=open,
        first=None if first is None else await look(first.run.id),
        waiting=next((view for view in views if may_wait(view.state)), None),
    )


async def _needed(tx: Tx, graph: Graph, job: JobView, look: Look) -> Needed:
    if job.state.decided_by is not None:
        decided = await tx.jobs.views(graph.namespace, graph.id, names=[job.state.decided_by])
        return Needed(graph=graph, job=job, upstreams=tuple(decided))
    if not may_wait(job.state):
        return Needed(graph=graph, job=job)
    statuses = await tx.jobs.ends(graph.namespace, graph.id)
    names = [edge.upstream for edge in job.needs if _is_open(edge, statuses)]
    upstreams = await tx.jobs.views(graph.namespace, graph.id, names=names[:NAMED])
    upstreams.sort(key=lambda view: names.index(view.name))
    head = await _head(tx, graph, upstreams[0], statuses) if upstreams else None
    return Needed(
        graph=graph,
        job=job,
        upstreams=tuple(upstreams),
        first=await look(upstreams[0].run.id) if upstreams else None,
        head=None if head is None else await look(head.run.id),
        siblings=await _siblings(tx, graph, job, statuses),
    )


async def _head(tx: Tx, graph: Graph, job: JobView, statuses: Mapping[str, RunStatus]) -> JobView:
    """Up the line of jobs that wait for each other, to one that waits for something else."""
    for _ in range(LONGEST_LINE):
        open = next((edge.upstream for edge in job.needs if _is_open(edge, statuses)), None)
        if open is None or not may_wait(job.state):
            break
        found = await tx.jobs.views(graph.namespace, graph.id, names=[open])
        if not found:
            break
        job = found[0]
    return job


async def _siblings(tx: Tx, graph: Graph, job: JobView, statuses: Mapping[str, RunStatus]) -> tuple[str, ...]:
    """Of its matrix, that have had their turn and are not over."""
    if not job.state.is_held or job.state.matrix is None:
        return ()
    others = await tx.jobs.all(graph.namespace, graph.id)
    held = set((await tx.jobs.held(graph.namespace, graph.id, matrices=[job.state.matrix])).get(job.state.matrix, ()))
    return tuple(
        other.name
        for other in others
        if other.matrix == job.state.matrix and other.name not in held and not statuses[other.name].is_terminal
    )


def _is_open(edge: Edge, statuses: Mapping[str, RunStatus]) -> bool:
    status = statuses.get(edge.upstream)
    return status is not None and not status.is_terminal and not edge.is_resolved
