"""A run with all that ends together with it: the children that follow it, and the jobs of graphs, at every depth.

The whole of it is locked before the first write, in the order of everybody: graphs, schedules, runs by their ids.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from windlass.engine.graph.lock import ancestors_of, graph_of, lock_graphs
from windlass.engine.missing import no_run
from windlass.engine.schedule.release import lock_schedules
from windlass.model.graph import Graph
from windlass.model.run import Run, RunId, RunKind
from windlass.model.schedule import Schedule
from windlass.store.base import Tx


class Tree(Struct, frozen=True, kw_only=True):
    """A run with the children that follow it, at every depth; all of them locked."""

    root: Run
    children: tuple[Run, ...] = ()  # that are not over, in the order of ids
    parent: Run | None = None  # of the root
    schedules: tuple[Schedule, ...] = ()  # the one that started the root, or its graph, if there is one
    graphs: tuple[Graph, ...] = ()  # those among them, and the one that the root is a job of
    around: dict[RunId, Run] = {}  # every run that is locked

    @property
    def graph(self) -> Graph | None:
        """The graph that the root is."""
        return next((graph for graph in self.graphs if graph.id == self.root.id), None)


async def lock_tree(tx: Tx, namespace: str, run_id: RunId) -> Tree:
    """Lock a run and whatever is cancelled with it. Raises NotFound.

    A child may be created until its parent is locked, so the tree is looked at again behind the locks, until nothing in
    it is new. A child that is over, or that was started to outlive its parent, is where the tree ends; so is a cleanup
    job, unless its graph is asked to end for the second time.
    """
    seen = await tx.runs.load(namespace, id=run_id)
    if seen is None:
        raise no_run(run_id)
    if seen.status.is_terminal:
        return Tree(root=seen)  # for ever, and nothing is done about it
    graphs = await _lock_graphs(tx, seen, await _following(tx, seen, {}), {})
    schedules = await lock_schedules(  # before any run
        tx, [(namespace, seen.schedule), *((namespace, graph.schedule) for graph in graphs.values())]
    )
    root, locked = seen, dict[RunId, Run]()
    members = await _following(tx, seen, graphs)
    while missing := _wanted(root, members, graphs) - locked.keys():
        found = await tx.runs.lock_all(namespace, ids=missing)
        if not found:
            break
        locked.update(found)
        root = locked.get(run_id, root)  # its parent may have been tried again since it was seen
        members = await _following(tx, root, graphs)
        graphs = await _lock_graphs(tx, root, members, graphs)
    if run_id not in locked:
        raise no_run(run_id)  # it ended, and was removed, while this waited
    children = tuple(locked[id] for id in sorted(members) if id in locked)
    parent = None if root.parent is None or root.kind.is_job else locked.get(root.parent)
    return Tree(
        root=root,
        children=children,
        parent=parent,
        schedules=tuple(schedules),
        graphs=tuple(graphs[id] for id in sorted(graphs)),
        around=locked,
    )


def _wanted(root: Run, members: Mapping[RunId, RunKind], graphs: Mapping[RunId, Graph]) -> set[RunId]:
    around = set() if root.parent is None or root.kind.is_job else {root.parent}
    return {root.id, *members, *around, *ancestors_of(graphs.values())}


async def _lock_graphs(
    tx: Tx, root: Run, members: Mapping[RunId, RunKind], locked: Mapping[RunId, Graph]
) -> dict[RunId, Graph]:
    wanted = {id for id, kind in members.items() if kind is RunKind.GRAPH} | {graph_of(root)}
    missing = [(root.namespace, id) for id in wanted if id is not None and id not in locked]
    found = await lock_graphs(tx, missing)
    return {**locked, **{id: graph for (_, id), graph in found.items()}}


async def _following(tx: Tx, root: Run, graphs: Mapping[RunId, Graph]) -> dict[RunId, RunKind]:
    members: dict[RunId, RunKind] = {}
    if root.id in graphs and graphs[root.id].ending is not None:
        members |= {job.run.id: job.run.kind for job in await tx.jobs.lock_open(root.namespace, root.id)}
    level = {root.id, *members}
    while level:
        found = await tx.children.following(root.namespace, parents=sorted(level))
        level = found.keys() - members.keys()
        members |= {id: found[id] for id in level}
    return members
