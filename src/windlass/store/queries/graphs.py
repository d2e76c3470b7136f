"""Graphs as a whole, and their edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.failure import Failure
from windlass.model.graph import Edge, Graph, GraphView, ListGraphs
from windlass.model.run import Run, RunId, RunStatus
from windlass.store.graph_rows import GRAPH_COLUMNS, accepts_to_text, edge_from_row, graph_from_row
from windlass.store.rows import RUN_COLUMNS, Row, failure_from_bytes, failure_to_bytes, run_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

NEWEST = "run_~"  # behind every id


class Counted(Struct, frozen=True, kw_only=True):
    """By how much the counts of a graph change."""

    jobs: int = 0
    open: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    held: int = 0


class GraphQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def lock(self, namespace: str, *, ids: Iterable[RunId]) -> dict[RunId, Graph]:
        """Load graphs and keep every other writer away. Locked in the order of ids, before any of their jobs."""
        wanted = sorted(set(ids))
        rows = await self._connection.all("lock_graphs", namespace=namespace, ids=wanted) if wanted else ()
        return {row[1]: graph_from_row(row) for row in rows}

    async def lock_counted(self, namespace: str, id: RunId, counted: Counted) -> Graph | None:
        """Load a graph and keep every other writer away, by counting what is about to end in it."""
        row = await self._connection.first(
            "lock_counted_graph",
            namespace=namespace,
            id=id,
            open=counted.open,
            completed=counted.completed,
            failed=counted.failed,
            cancelled=counted.cancelled,
        )
        return None if row is None else graph_from_row(row)

    async def load(self, namespace: str, id: RunId) -> Graph | None:
        row = await self._connection.first("load_graph", namespace=namespace, id=id)
        return None if row is None else graph_from_row(row)

    async def create(self, run: Run) -> None:
        """Give a run a row of `graphs`, without jobs."""
        await self._connection.run("create_graph", namespace=run.namespace, id=run.id)

    async def mark(self, run: Run, *, was: Run) -> bool:
        """The run is a graph from now on. Compare-and-set on the token and status it was decided on."""
        changed = await self._connection.run(
            "mark_graph",
            namespace=run.namespace,
            id=run.id,
            status=run.status,
            token=was.token,
            was=was.status,
        )
        return changed == 1

    async def count(self, namespace: str, id: RunId, counted: Counted) -> None:
        await self._connection.run(
            "count_graph",
            namespace=namespace,
            id=id,
            jobs=counted.jobs,
            open=counted.open,
            completed=counted.completed,
            failed=counted.failed,
            cancelled=counted.cancelled,
            skipped=counted.skipped,
            held=counted.held,
        )

    async def steer(self, graph: Graph) -> None:
        """Save whether it is paused, and how it ends once its cleanup jobs are over."""
        await self._connection.run(
            "steer_graph",
            namespace=graph.namespace,
            id=graph.id,
            is_paused=int(graph.is_paused),
            ending=graph.ending,
        )

    async def end(self, run: Run, *, status: RunStatus, failure: Failure | None) -> bool:
        """End the run of a graph that this transaction has locked."""
        changed = await self._connection.run(
            "end_graph", namespace=run.namespace, id=run.id, status=status, was=run.status
        )
        output = b"" if status is RunStatus.COMPLETED else None
        await self._connection.run(
            "store_end_of_graph",
            namespace=run.namespace,
            id=run.id,
            output=output,
            failure=failure_to_bytes(failure),
        )
        return changed == 1

    async def failed_jobs(self, namespace: str, graph: RunId, *, limit: int) -> list[tuple[str, Failure | None]]:
        """The first jobs that failed, with their failures."""
        rows = await self._connection.all("failed_jobs", namespace=namespace, graph=graph, limit=limit)
        return [(row[0], failure_from_bytes(row[1])) for row in rows]

    async def page(self, query: ListGraphs) -> list[GraphView]:
        rows = await self._connection.all(
            "page_of_graphs",
            namespace=query.namespace,
            name=query.name,
            is_open=None if query.is_open is None else int(query.is_open),
            before=query.before or NEWEST,
            limit=query.limit,
        )
        end = GRAPH_COLUMNS + RUN_COLUMNS
        return [
            GraphView(
                graph=graph_from_row(row),
                run=run_from_row(row[GRAPH_COLUMNS:end]),
                failure=failure_from_bytes(row[end]),
            )
            for row in rows
        ]


class _NewEdge(Struct, frozen=True, kw_only=True, gc=False):
    namespace: str
    graph: RunId
    job: str
    upstream: str
    accepts: str
    is_group: int
    is_resolved: int


class EdgeQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, namespace: str, graph: RunId, edges: Iterable[Edge]) -> None:
        """Insert edges. One that is there stays as it is."""
        await self._connection.batch("create_edges", [_new_edge(namespace, graph, edge) for edge in edges])

    async def resolve(self, namespace: str, graph: RunId, *, group: str) -> None:
        """The members of a group have edges of their own now."""
        await self._connection.run("resolve_edges", namespace=namespace, graph=graph, upstream=group)

    async def below_skipped(self, namespace: str, graph: RunId, *, names: Sequence[str]) -> list[Edge]:
        """The edges of those who wait for these jobs, should they be skipped, and of whoever is skipped then."""
        asked = {"namespace": namespace, "graph": graph, "names": list(names)}
        return _edges(await self._connection.all("edges_below_skipped", **asked) if names else ())

    async def of_jobs(self, namespace: str, graph: RunId, *, names: Sequence[str]) -> list[Edge]:
        """What these jobs wait for."""
        asked = {"namespace": namespace, "graph": graph, "names": list(names)}
        return _edges(await self._connection.all("edges_of_jobs", **asked) if names else ())

    async def of_graph(self, namespace: str, graph: RunId) -> list[Edge]:
        return _edges(await self._connection.all("edges_of_graph", namespace=namespace, graph=graph))


def _edges(rows: Sequence[Row]) -> list[Edge]:
    return [edge_from_row(row) for row in rows]


def _new_edge(namespace: str, graph: RunId, edge: Edge) -> _NewEdge:
    return _NewEdge(
        namespace=namespace,
        graph=graph,
        job=edge.job,
        upstream=edge.upstream,
        accepts=accepts_to_text(edge.accepts),
        is_group=int(edge.is_group),
        is_resolved=int(edge.is_resolved),
    )
