"""Whether graphs are in order, and everything that stands in them. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.graph import Edge, Graph, JobState
from windlass.model.run import RunId
from windlass.store.graph_rows import edge_from_row, graph_from_row, job_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection
    from windlass.store.rows import Row


class JobRow(Struct, frozen=True, kw_only=True):
    graph: RunId
    job: JobState


class EdgeRow(Struct, frozen=True, kw_only=True):
    graph: RunId
    edge: Edge


class GraphChecks:
    """Beside CheckQueries, which asks it what is broken. It reads whole tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def inconsistencies(self) -> Sequence[Row]:
        return await self._connection.all("inconsistencies_of_graphs")

    async def graphs(self) -> list[Graph]:
        return [graph_from_row(row) for row in await self._connection.all("every_graph")]

    async def jobs(self) -> list[JobRow]:
        rows = await self._connection.all("every_job")
        return [JobRow(graph=row[0], job=job_from_row(row[1:])) for row in rows]

    async def edges(self) -> list[EdgeRow]:
        rows = await self._connection.all("every_edge")
        return [EdgeRow(graph=row[0], edge=edge_from_row(row[1:])) for row in rows]
