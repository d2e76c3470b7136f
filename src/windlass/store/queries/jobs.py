"""The jobs of graphs: how they come, what they wait for, and how they go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.graph import Edge, JobState, JobView, ListJobs, Met, NeedsOf
from windlass.model.run import RunId, RunKind, RunStatus, WorkerId
from windlass.model.time import Duration, Instant
from windlass.store.graph_rows import EDGE_COLUMNS, JOB_COLUMNS, edge_from_row, job_from_row, met_from_row
from windlass.store.queries.graphs import EdgeQueries
from windlass.store.rows import RUN_COLUMNS, RUN_STATUS, failure_from_bytes

if TYPE_CHECKING:
    from windlass.store.base import Connection


class NewJobRow(Struct, frozen=True, kw_only=True, gc=False):
    """A job to insert: pending, waiting, or over already because it is copied from a graph that is tried again."""

    namespace: str
    graph: RunId
    id: RunId
    name: str
    workflow: str
    version: str
    queue: str
    priority: int
    status: RunStatus
    unmet: int
    kind: RunKind
    input: bytes
    position: int
    is_group: int
    is_cleanup: int
    group_name: str | None
    matrix: str | None
    max_parallel: int | None
    fail_fast: int
    is_held: int
    timeout_for: Duration | None
    cause: str
    output: bytes | None = None
    retry_of: RunId | None = None
    origin: RunId | None = None
    begun_at: Instant | None = None


class KnownJob(Struct, frozen=True, kw_only=True):
    """What a graph knows of a job beside its run."""

    name: str
    run_id: RunId
    position: int
    is_group: bool
    is_cleanup: bool
    group: str | None
    matrix: str | None
    max_parallel: int | None
    fail_fast: bool
    timeout_for: Duration | None


class JobContent(Struct, frozen=True, gc=False):
    """What a job was started with, and what it came to."""

    input: bytes
    output: bytes | None


class Below(Struct):
    """Who waits for some jobs: the edges, the jobs by their names, and what those were started with."""

    edges: list[Edge] = []
    jobs: dict[str, JobState] = {}
    inputs: dict[str, bytes] = {}


class JobQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, rows: Sequence[NewJobRow]) -> None:
        """Insert jobs with payload and log row."""
        await self._connection.batch("create_jobs", rows)

    async def lock(self, namespace: str, graph: RunId, *, names: Iterable[str]) -> dict[str, JobState]:
        """Load jobs, and keep every other writer away. Their graph is locked before."""
        wanted = sorted(set(names))
        if not wanted:
            return {}
        rows = await self._connection.all("lock_jobs", namespace=namespace, graph=graph, names=wanted)
        return {row[0]: job_from_row(row) for row in rows}

    async def lock_open(self, namespace: str, graph: RunId) -> list[JobState]:
        """Those that are not over, in the order of the ids of their runs."""
        rows = await self._connection.all("lock_open_jobs", namespace=namespace, graph=graph)
        return [job_from_row(row) for row in rows]

    async def all(self, namespace: str, graph: RunId) -> list[KnownJob]:
        """Every job of a graph, in the order they were written."""
        rows = await self._connection.all("jobs_of_graph", namespace=namespace, graph=graph)
        return [
            KnownJob(
                name=row[0],
                run_id=row[1],
                position=row[2],
                is_group=bool(row[3]),
                is_cleanup=bool(row[4]),
                group=row[5],
                matrix=row[6],
                max_parallel=row[7],
                fail_fast=bool(row[8]),
                timeout_for=row[9],
            )
            for row in rows
        ]

    async def ends(self, namespace: str, graph: RunId) -> dict[str, RunStatus]:
        """Where every job of a graph stands."""
        rows = await self._connection.all("ends_of_jobs", namespace=namespace, graph=graph)
        return {row[0]: RUN_STATUS[row[1]] for row in rows}

    async def held(self, namespace: str, graph: RunId, *, matrices: Iterable[str]) -> dict[str, list[str]]:
        """By matrix: jobs that wait for a sibling to end, in their order."""
        found: dict[str, list[str]] = {}
        wanted = sorted(set(matrices))
        rows = await self._connection.all("held_jobs", namespace=namespace, graph=graph, names=wanted) if wanted else ()
        for matrix, name in rows:
            found.setdefault(matrix, []).append(name)
        return found

    async def page(self, query: ListJobs) -> list[JobView]:
        """Jobs with what they need, in the order they were written."""
        rows = await self._connection.all(
            "page_of_jobs", namespace=query.namespace, graph=query.graph, after=query.after, limit=query.limit
        )
        return await self._views(query.namespace, query.graph, rows)

    async def views(self, namespace: str, graph: RunId, *, names: Sequence[str]) -> list[JobView]:
        """The same of jobs by their names."""
        if not names:
            return []
        rows = await self._connection.all("some_jobs", namespace=namespace, graph=graph, names=list(names))
        return await self._views(namespace, graph, rows)

    async def _views(self, namespace: str, graph: RunId, rows: Sequence[Sequence[object]]) -> list[JobView]:
        edges: dict[str, list[Edge]] = {}
        names = [str(row[0]) for row in rows]
        for edge in await EdgeQueries(self._connection).of_jobs(namespace, graph, names=names):
            edges.setdefault(edge.job, []).append(edge)
        failure = JOB_COLUMNS + RUN_COLUMNS
        views = []
        for row in rows:
            state, stored = job_from_row(row), row[failure]
            needs = tuple(edges.get(state.name, ()))
            found = failure_from_bytes(stored) if isinstance(stored, bytes) else None
            views.append(JobView(state=state, needs=needs, failure=found))
        return views

    async def below(self, namespace: str, graph: RunId, *, names: Sequence[str]) -> Below:
        """Who waits for these jobs, locked: every other writer is kept away from them."""
        if not names:
            return Below()
        below = Below()
        for row in await self._connection.all("jobs_below", namespace=namespace, graph=graph, names=list(names)):
            below.edges.append(edge_from_row(row))
            if row[0] not in below.jobs:
                below.jobs[row[0]] = job_from_row(row[EDGE_COLUMNS + 1 :])
                below.inputs[row[0]] = row[EDGE_COLUMNS]
        return below

    async def needs(self, namespace: str, claims: Sequence[tuple[RunId, int]]) -> list[NeedsOf]:
        """Of jobs whose claims hold: what their graphs were started with, and how their upstreams ended."""
        tokens = dict(claims)
        inputs: dict[RunId, bytes] = {}
        held: dict[RunId, tuple[RunId, str, str, str]] = {}
        met: dict[RunId, list[Met]] = {}
        for row in await self._connection.all("needs_of_claims", namespace=namespace, ids=list(tokens)):
            id, token, graph, job, input, upstream = row[:6]
            if input is not None:
                inputs[graph] = input
            if upstream is None:
                if tokens[id] == token:
                    held[id] = (graph, job, row[6], row[7])
            else:
                met.setdefault(id, []).append(met_from_row(row[5:]))
        return [
            NeedsOf(
                run_id=id,
                graph=graph,
                job=job,
                input=inputs[graph],
                name=name,
                version=version,
                needs=tuple(met.get(id, ())),
            )
            for id, (graph, job, name, version) in held.items()
        ]

    async def contents(self, namespace: str, ids: Iterable[RunId]) -> dict[RunId, JobContent]:
        """What jobs were started with, and what they returned."""
        rows = await self._connection.all("contents_of_runs", namespace=namespace, ids=sorted(set(ids)))
        return {row[0]: JobContent(row[1], row[2]) for row in rows}


class SkippedJob(Struct, frozen=True, kw_only=True, gc=False):
    namespace: str
    graph: RunId
    id: RunId
    name: str
    was: RunStatus
    because: str
    data: bytes | None


class MetNeeds(Struct, frozen=True, kw_only=True, gc=False):
    namespace: str
    id: RunId
    met: int = 0
    more: int = 0


class ReleasedJob(Struct, frozen=True, kw_only=True, gc=False):
    namespace: str
    id: RunId
    was: RunStatus
    status: RunStatus
    timeout_for: Duration | None
    cause: str


class DispatchedJob(Struct, frozen=True, kw_only=True, gc=False):
    namespace: str
    id: RunId
    queue: str
    workflow: str
    was: RunStatus
    worker: WorkerId
    poll: int
    claim_for: Duration
    timeout_for: Duration | None


class SteeredJob(Struct, frozen=True, kw_only=True, gc=False):
    """A job whose graph is paused, or goes on."""

    namespace: str
    id: RunId
    token: int
    was: RunStatus
    status: RunStatus
    available_at: Instant | None
    held: int
    worker: WorkerId | None
    recoveries: int
    unmet: int
    cause: str
    data: bytes | None


class _Turn(Struct, frozen=True, kw_only=True):
    namespace: str
    graph: RunId
    name: str


class NeedQueries:
    """What is written about jobs that this transaction has locked, and whose graph it has."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def skip(self, rows: Sequence[SkippedJob]) -> Mapping[int, Instant]:
        return await self._connection.batch("skip_jobs", rows)

    async def meet(self, rows: Sequence[MetNeeds]) -> None:
        """Some of what these jobs need is over, and there is more."""
        await self._connection.batch("meet_needs", rows)

    async def add(self, rows: Sequence[MetNeeds]) -> None:
        """These jobs need more than they did."""
        await self._connection.batch("add_needs", rows)

    async def release(self, rows: Sequence[ReleasedJob]) -> Mapping[int, Instant]:
        return await self._connection.batch("release_jobs", rows)

    async def dispatch(self, rows: Sequence[DispatchedJob]) -> Mapping[int, Instant]:
        return await self._connection.batch("dispatch_jobs", rows)

    async def steer(self, rows: Sequence[SteeredJob]) -> None:
        """Pause jobs, or let them go on, with their log rows."""
        await self._connection.batch("steer_jobs", rows)

    async def bound(self, namespace: str, graph: RunId, *, most_for: Duration) -> None:
        """What is open of a graph that ends, and waits for no other job, gets no more time than this."""
        await self._connection.run("bound_jobs", namespace=namespace, graph=graph, most_for=most_for)

    async def grant_turns(self, namespace: str, graph: RunId, names: Iterable[str]) -> None:
        """These wait for no sibling of their matrix any more."""
        turns = [_Turn(namespace=namespace, graph=graph, name=name) for name in names]
        await self._connection.batch("grant_turns", turns)
