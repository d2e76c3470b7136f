"""Lock what the end of a job may concern, in one order for everybody: graphs, schedules, runs by their ids."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from windlass.engine.schedule.release import lock_schedules
from windlass.model.graph import Graph
from windlass.model.run import Run, RunId, RunKind
from windlass.model.schedule import Schedule
from windlass.store.base import Tx


class Locked(Struct, frozen=True, kw_only=True):
    """A run as it was seen, without a lock of its own; and its graph, if there is one, locked with all around it."""

    run: Run | None
    graph: Graph | None = None
    schedules: tuple[Schedule, ...] = ()
    ancestors: dict[RunId, Run] = {}


async def lock_graphs(tx: Tx, wanted: Iterable[tuple[str, RunId | None]]) -> dict[tuple[str, RunId], Graph]:
    """Graphs by namespace and id, in that order, before schedules and runs."""
    by_namespace: dict[str, set[RunId]] = {}
    for namespace, id in wanted:
        if id is not None:
            by_namespace.setdefault(namespace, set()).add(id)
    locked = {}
    for namespace in sorted(by_namespace):
        for id, graph in (await tx.graphs.lock(namespace, ids=by_namespace[namespace])).items():
            locked[namespace, id] = graph
    return locked


async def lock_graph_of(tx: Tx, namespace: str, run_id: RunId) -> Locked:
    """Look at a run, and lock the graph that it is, or that it belongs to."""
    run = await tx.runs.load(namespace, id=run_id)
    id = None if run is None else graph_of(run)
    if id is None:
        return Locked(run=run)
    graph = (await lock_graphs(tx, [(namespace, id)])).get((namespace, id))
    if graph is None:
        return Locked(run=run)
    schedules = await lock_schedules(tx, [(namespace, graph.schedule)])
    ancestors = await tx.runs.lock_all(namespace, ids=ancestors_of([graph]))
    seen = await tx.runs.load(namespace, id=run_id)  # as it stands behind the lock
    return Locked(run=seen, graph=graph, schedules=tuple(schedules), ancestors=ancestors)


async def lock_graph_behind(tx: Tx, locked: Locked, run: Run) -> Locked:
    """The same for a run that is locked by now, should it have become a graph since it was looked at.

    This once the graph is locked after its run: whoever waits for both the other way round is tried again.
    """
    if locked.graph is not None or graph_of(run) is None:
        return locked
    return await lock_graph_of(tx, run.namespace, run.id)


def graph_of(run: Run) -> RunId | None:
    return run.id if run.kind is RunKind.GRAPH else run.graph


def ancestors_of(graphs: Iterable[Graph]) -> list[RunId]:
    """The runs of graphs that somebody waits for, and those who wait: to be locked before any job."""
    return [id for graph in graphs if graph.parent is not None for id in (graph.id, graph.parent)]
