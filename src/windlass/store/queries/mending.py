"""What is looked at now and then: jobs that wait although nothing keeps them, and jobs whose code is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.run import RunId
from windlass.model.time import Duration

if TYPE_CHECKING:
    from windlass.store.base import Connection


class WaitingJob(Struct, frozen=True):
    """A job that waits, and what its edges come to."""

    namespace: str
    graph: RunId
    name: str
    unmet: int
    open: int  # upstreams that are not over
    refused: int  # upstreams that ended in a way that is not accepted
    held: int  # a sibling of its matrix has to end first


class OpenGraph(Struct, frozen=True):
    namespace: str
    id: RunId
    name: str
    version: str


class UnclaimedJob(Struct, frozen=True):
    id: RunId
    name: str
    workflow: str
    version: str


class MendingQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def waiting(self, after: tuple[str, str, str], *, limit: int) -> list[WaitingJob]:
        """Jobs that wait for what they need, behind a place, of every namespace."""
        namespace, graph, name = after
        rows = await self._connection.all("waiting_jobs", namespace=namespace, graph=graph, name=name, limit=limit)
        return [WaitingJob(row[0], row[1], row[2], row[3], row[4], row[5], row[6] or 0) for row in rows]

    async def stranded(self, *, limit: int) -> list[tuple[str, RunId, str]]:
        """Jobs that wait for nothing and are not due, by namespace, graph and name."""
        rows = await self._connection.all("stranded_jobs", limit=limit)
        return [(namespace, graph, name) for namespace, graph, name in rows]

    async def open_graphs(self, after: tuple[str, str], *, limit: int) -> list[OpenGraph]:
        """Graphs that are not over, behind a place, of every namespace."""
        rows = await self._connection.all("open_graphs", namespace=after[0], graph=after[1], limit=limit)
        return [OpenGraph(*row) for row in rows]

    async def unclaimed(self, graph: OpenGraph, *, due_for: Duration, limit: int) -> list[UnclaimedJob]:
        """Jobs of a graph that have been due for that long, and that nobody has claimed yet."""
        rows = await self._connection.all(
            "unclaimed_jobs", namespace=graph.namespace, graph=graph.id, due_for=due_for, limit=limit
        )
        return [UnclaimedJob(*row) for row in rows]
