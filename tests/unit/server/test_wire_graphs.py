"""Does what is too large for one answer about graphs arrive in several, whole and without repetition?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from tests.unit.server.wire_values import rows
from windlass.api.admission import Caller
from windlass.api.grpc import methods_of_graphs, table
from windlass.api.grpc.remote_graphs import RemoteGraphs, add_jobs, read_needs
from windlass.api.grpc.table import LARGEST_ANSWER, Call
from windlass.errors import InvalidInput
from windlass.model.failure import Failure, FailureKind
from windlass.model.graph import (
    AddJobs,
    Edge,
    Graph,
    GraphPage,
    GraphView,
    JobPage,
    JobState,
    JobView,
    ListGraphs,
    ListJobs,
    Met,
    Need,
    NeedsOf,
    NewJob,
    ReadNeeds,
)
from windlass.model.run import Run, RunId, RunKind, RunStatus
from windlass.model.time import Instant

MIB = 1024 * 1024
HELD: dict[str, Any] = {"namespace": "default", "run_id": RunId("run_" + "0" * 26), "token": 1}


def run_id(number: int) -> RunId:
    return RunId(f"run_{number:026}")


class Wire:
    """Both ends of it, without a socket: what goes over is a message, and an answer is no larger than a client takes.

    It is the service that is asked, and the asker who asks it.
    """

    def __init__(self) -> None:
        self.rows = {row.name: row for row in rows()}
        self.held: dict[RunId, NeedsOf] = {}
        self.views: list[Any] = []
        self.asked: list[Any] = []
        self.before: Callable[[int], None] = lambda number: None
        self.graphs = self.work = self

    async def ask(self, method: str, command: Any, answer: type[Any]) -> Any:
        row = self.rows[method]
        there, back = row.request_mirror, row.answer_mirror
        assert back is not None
        self.before(len(self.asked))
        asked = there.to_struct(there.message.FromString(there.to_message(command).SerializeToString()))
        self.asked.append(asked)
        nothing: Any = None
        caller = Caller(key="k", roles=(), operation=row.operation, namespace="default")
        doors: Any = self
        found = await row.handle(Call(doors, caller, nothing, nothing), asked)
        data = back.to_message(found).SerializeToString()
        assert len(data) <= LARGEST_ANSWER
        return back.to_struct(back.message.FromString(data))

    async def read_needs(self, command: ReadNeeds) -> tuple[NeedsOf, ...]:
        """In another order than they were asked for, as a database may answer."""
        return tuple(self.held[id] for id in sorted({id for id, _ in command.claims}) if id in self.held)

    async def list_graphs(self, query: ListGraphs) -> GraphPage:
        left = [view for view in self.views if query.before is None or view.graph.id < query.before]
        found = left[: query.limit]
        return GraphPage(graphs=tuple(found), next=found[-1].graph.id if len(left) > len(found) else None)

    async def list_jobs(self, query: ListJobs) -> JobPage:
        left = [view for view in self.views if view.state.position > query.after]
        found = left[: query.limit]
        return JobPage(jobs=tuple(found), next=found[-1].state.position if len(left) > len(found) else None)


@pytest.fixture
def wire() -> Wire:
    return Wire()


def job(number: int, outputs: Sequence[int], *, input: int = 10) -> NeedsOf:
    """A job and the sizes of what it is given."""
    needs = tuple(
        Met(job=f"up-{place}", workflow="w", version="", status=RunStatus.COMPLETED, output=bytes([place % 256]) * size)
        for place, size in enumerate(outputs)
    )
    return NeedsOf(run_id=run_id(number), graph=run_id(99), job=f"job-{number}", input=b"i" * input, needs=needs)


async def needs_of(wire: Wire, jobs: Sequence[NeedsOf]) -> tuple[NeedsOf, ...]:
    wire.held |= {item.run_id: item for item in jobs}
    asker: Any = wire
    return await read_needs(asker, ReadNeeds(namespace="default", claims=tuple((item.run_id, 1) for item in jobs)))


async def test_what_fits_comes_in_one_answer(wire: Wire) -> None:
    jobs = [job(number, [100] * number) for number in (5, 0, 3)]

    assert await needs_of(wire, jobs) == tuple(jobs)
    assert len(wire.asked) == 1


async def test_outputs_that_are_larger_than_an_answer_arrive_whole(wire: Wire) -> None:
    jobs = [job(1, [3 * MIB] * 7, input=3 * MIB), job(2, [], input=3 * MIB), job(3, [1] * 2_500), job(4, [2 * MIB] * 5)]

    assert await needs_of(wire, jobs) == tuple(jobs)
    assert 5 <= len(wire.asked) <= 20


async def test_inputs_alone_may_be_too_many_for_one_answer(wire: Wire) -> None:
    jobs = [job(number, [], input=3 * MIB) for number in range(9)]

    assert await needs_of(wire, jobs) == tuple(jobs)
    assert 3 <= len(wire.asked) <= 9


async def test_a_job_whose_claim_is_lost_between_two_answers_has_no_part_in_it(wire: Wire) -> None:
    jobs = [job(1, [10]), job(2, [3 * MIB] * 5), job(3, [20])]

    def lose(number: int) -> None:
        if number == 1:
            del wire.held[run_id(2)]

    wire.before = lose

    assert await needs_of(wire, jobs) == (jobs[0], jobs[2])


async def test_a_job_that_is_not_held_at_all_is_left_out(wire: Wire) -> None:
    wire.held[run_id(2)] = job(2, [5])
    asker: Any = wire
    claims = tuple((run_id(number), 1) for number in (1, 2, 3))

    assert await read_needs(asker, ReadNeeds(namespace="default", claims=claims)) == (wire.held[run_id(2)],)
    assert await read_needs(asker, ReadNeeds(namespace="default", claims=())) == ()


@settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    sizes=some.lists(some.tuples(some.integers(0, 3_000), some.lists(some.integers(0, 4_000), max_size=6)), max_size=6),
    room=some.integers(1, 6_000),
    items=some.integers(1, 4),
)
def test_whatever_the_sizes_nothing_is_missing_and_nothing_comes_twice(
    sizes: list[tuple[int, list[int]]], room: int, items: int
) -> None:
    jobs = [job(number, outputs, input=input) for number, (input, outputs) in enumerate(sizes)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods_of_graphs, "PAGE_BYTES", room)
        patch.setattr(table, "PAGE_ITEMS", items)
        wire = Wire()

        assert asyncio.run(needs_of(wire, jobs)) == tuple(jobs)
        assert len(wire.asked) <= 1 + sum(1 + len(outputs) for _, outputs in sizes)


# Jobs


async def test_what_a_need_does_not_say_is_that_its_upstream_completes(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = (NewJob(name="a", workflow="g.a"), NewJob(name="b", workflow="g.b", needs=(Need(upstream="a", accepts=()),)))
    taken: list[AddJobs] = []

    async def take(command: AddJobs) -> Any:
        taken.append(command)
        raise InvalidInput("Enough.", reason="invalid_graph")

    monkeypatch.setattr(wire, "add_jobs", take, raising=False)
    asker: Any = wire

    with pytest.raises(InvalidInput, match="Enough") as refused:
        await add_jobs(asker, AddJobs(**HELD, jobs=jobs))

    assert refused.value.reason == "invalid_graph"
    assert taken[0].jobs == (jobs[0], replace(jobs[1], needs=(Need(upstream="a"),)))


# Pages


def run(number: int, kind: RunKind) -> Run:
    return Run(
        namespace="default", id=run_id(number), name="release", version="", queue="default", priority=0,
        status=RunStatus.FAILED, available_at=None, token=1, worker=None, poll=0, attempts=1, recoveries=0,
        created_at=Instant(5), started_at=None, finished_at=None, kind=kind,
    )  # fmt: skip


def failure(size: int) -> Failure:
    return Failure(kind=FailureKind.LOGIC, type="ValueError", message="no", data=b"d" * size)


async def walked(ask: Callable[[Any], Any], items: str) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = await ask(cursor)
        found += getattr(page, items)
        if (cursor := page.next) is None:
            return found


def positions(count: int) -> Iterator[int]:
    return iter(range(0, 3 * count, 3))  # some were never there


@pytest.mark.spec("invariants:I-59")
@pytest.mark.parametrize("limit", [0, 2, 500])
async def test_a_walk_over_jobs_with_large_failures_is_whole(wire: Wire, limit: int) -> None:
    edges = tuple(Edge(job="j", upstream=f"up-{number}") for number in range(3))
    wire.views = [
        JobView(
            state=JobState(run=run(place, RunKind.JOB), name=f"job-{place}", position=place),
            needs=edges,
            failure=failure(3 * MIB),
        )
        for place in positions(12)
    ]
    asker: Any = wire
    graphs = RemoteGraphs.__new__(RemoteGraphs)
    graphs._asker = asker

    async def ask(after: int | None) -> JobPage:
        query = ListJobs(namespace="default", graph=run_id(1), limit=limit)
        return await graphs.list_jobs(query if after is None else replace(query, after=after))

    assert await walked(ask, "jobs") == wire.views
    assert len(wire.asked) >= 6


@pytest.mark.spec("invariants:I-59")
async def test_a_walk_over_graphs_with_large_failures_is_whole(wire: Wire) -> None:
    wire.views = [
        GraphView(
            graph=Graph(namespace="default", id=run_id(place), name="release", jobs=3),
            run=run(place, RunKind.GRAPH),
            failure=failure(3 * MIB),
        )
        for place in reversed(range(12))
    ]
    asker: Any = wire
    graphs = RemoteGraphs.__new__(RemoteGraphs)
    graphs._asker = asker

    async def ask(before: str | None) -> GraphPage:
        return await graphs.list_graphs(ListGraphs(namespace="default", before=before, limit=0))

    assert await walked(ask, "graphs") == wire.views
    assert len(wire.asked) >= 6
