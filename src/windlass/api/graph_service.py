"""The door to graphs: what people and workers may ask about them. Part of api/service.py."""

from __future__ import annotations

from typing import Protocol

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


class Graphs(Protocol):
    """For those who look at graphs. They are started, cancelled, paused and tried again as the runs that they are."""

    async def list_graphs(self, query: ListGraphs) -> GraphPage: ...

    async def get_graph(self, namespace: str, graph: RunId) -> GraphView:
        """Raises NotFound, also for a run that is no graph, or that no worker has made one yet."""
        ...

    async def list_jobs(self, query: ListJobs) -> JobPage:
        """The jobs of a graph, each with what it needs, in the order they were written."""
        ...


class JobWork(Protocol):
    """For those who execute jobs, or make a run a graph. Raises ClaimLost when a token is old."""

    async def add_jobs(self, command: AddJobs) -> Added:
        """Make the run of a graph that graph, or end a generator together with the jobs it returned. All or nothing."""
        ...

    async def read_needs(self, command: ReadNeeds) -> tuple[NeedsOf, ...]:
        """What jobs held under these claims are given. One whose claim is lost has no part in the answer."""
        ...
