"""api.service.Graphs, in process; and what a worker asks about the jobs that it holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.graph import add
from windlass.engine.parts import Parts
from windlass.errors import NotFound
from windlass.model.graph import (
    Added,
    AddJobs,
    GraphPage,
    GraphView,
    JobPage,
    ListGraphs,
    ListJobs,
    NeedsOf,
    ReadNeeds,
)
from windlass.model.run import RunId
from windlass.store.base import Tx

T = TypeVar("T")

HINT = "A run becomes a graph when a worker that knows it opens it: windlass explain says where it stands."


class EngineGraphs:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def list_graphs(self, query: ListGraphs) -> GraphPage:
        more = replace(query, limit=query.limit + 1)
        found = await _read(self._parts, "list_graphs", lambda tx: tx.graphs.page(more))
        graphs = tuple(found[: query.limit])
        return GraphPage(graphs=graphs, next=graphs[-1].graph.id if len(found) > query.limit else None)

    async def get_graph(self, namespace: str, graph: RunId) -> GraphView:
        async def get(tx: Tx) -> GraphView:
            found, view = await tx.graphs.load(namespace, graph), await tx.runs.view(namespace, id=graph)
            if found is None or view is None:
                raise NotFound("graph", graph, hint=HINT)
            return GraphView(graph=found, run=view.run, failure=view.failure)

        return await _read(self._parts, "get_graph", get)

    async def list_jobs(self, query: ListJobs) -> JobPage:
        async def page(tx: Tx) -> JobPage:
            found = await tx.jobs.page(replace(query, limit=query.limit + 1))
            if not found and await tx.graphs.load(query.namespace, query.graph) is None:
                raise NotFound("graph", query.graph, hint=HINT)
            jobs = tuple(found[: query.limit])
            return JobPage(jobs=jobs, next=jobs[-1].state.position if len(found) > query.limit else None)

        return await _read(self._parts, "list_jobs", page)


class EngineJobs:
    """api.service.JobWork, in process."""

    _parts: Parts

    async def add_jobs(self, command: AddJobs) -> Added:
        return await add.add_jobs(self._parts, command)

    async def read_needs(self, command: ReadNeeds) -> tuple[NeedsOf, ...]:
        return await read_needs(self._parts, command)


async def read_needs(parts: Parts, command: ReadNeeds) -> tuple[NeedsOf, ...]:
    """The upstreams of jobs whose claims hold. They are over, and terminal is for ever: any snapshot will do."""

    async def read(tx: Tx) -> tuple[NeedsOf, ...]:
        return tuple(await tx.jobs.needs(command.namespace, command.claims))

    return await _read(parts, "read_needs", read, single=True)


async def _read(parts: Parts, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
    return await until_answered(parts.clock, lambda: parts.store.read(name, fn, single=single))
