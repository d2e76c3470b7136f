"""GraphService, and what workers ask of WorkerService about graphs: how each of these calls is answered."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from windlass.api.checks import check
from windlass.api.grpc import envelopes as of
from windlass.api.grpc.table import PAGE_BYTES, Call, Row, page
from windlass.model.failure import Failure
from windlass.model.graph import (
    COMPLETED_ONLY,
    Added,
    AddJobs,
    GraphPage,
    GraphView,
    JobPage,
    JobView,
    ListGraphs,
    ListJobs,
    Met,
    NeedsOf,
    NewJob,
    ReadNeeds,
)
from windlass.rules.limits import check_run_id

GRAPHS, WORK = "GraphService", "WorkerService"
DEFAULT_GRAPHS, DEFAULT_JOBS = 50, 500
LEAST_SIZE = 500  # of a run, about, or of what stands around a payload
LEAST_EDGE = 100


# Looking


async def _list_graphs(call: Call, asked: ListGraphs) -> GraphPage:
    found = await call.service.graphs.list_graphs(check(replace(asked, limit=asked.limit or DEFAULT_GRAPHS)))
    graphs, has_more = page(found.graphs, lambda view: LEAST_SIZE + _size_of(view.failure))
    return GraphPage(graphs=graphs, next=graphs[-1].graph.id) if has_more else found


async def _get_graph(call: Call, asked: of.OfGraph) -> GraphView:
    check_run_id(asked.graph, what="graph")
    return await call.service.graphs.get_graph(asked.namespace, asked.graph)


async def _list_jobs(call: Call, asked: ListJobs) -> JobPage:
    found = await call.service.graphs.list_jobs(check(replace(asked, limit=asked.limit or DEFAULT_JOBS)))
    jobs, has_more = page(found.jobs, _size_of_job)
    return JobPage(jobs=jobs, next=jobs[-1].state.position) if has_more else found


def _size_of_job(job: JobView) -> int:
    names = sum(len(edge.upstream) for edge in job.needs)
    return LEAST_SIZE + names + len(job.needs) * (LEAST_EDGE + len(job.name)) + _size_of(job.failure)


def _size_of(failure: Failure | None) -> int:
    if failure is None:
        return 0
    return len(failure.message) + len(failure.traceback) + len(failure.data or b"")


# Work


async def _add_jobs(call: Call, asked: AddJobs) -> Added:
    """A key that serves some queues only may bring jobs for others, as it may start children there."""
    return await call.service.work.add_jobs(check(replace(asked, jobs=tuple(map(_with_accepts, asked.jobs)))))


def _with_accepts(job: NewJob) -> NewJob:
    """A list that is empty and one that was left out look the same on the wire: what is left out has its default."""
    if all(need.accepts for need in job.needs):
        return job
    return replace(
        job, needs=tuple(need if need.accepts else replace(need, accepts=COMPLETED_ONLY) for need in job.needs)
    )


async def _read_needs(call: Call, asked: of.ReadNeeds) -> of.Needs:
    found = await call.service.work.read_needs(check(ReadNeeds(namespace=asked.namespace, claims=asked.claims)))
    by_run = {needs.run_id: needs for needs in found}
    held = [by_run[run_id] for run_id in dict.fromkeys(run_id for run_id, _ in asked.claims) if run_id in by_run]
    if held and asked.skip > 0 and held[0].run_id == asked.claims[0][0]:
        held[0] = replace(held[0], input=b"", needs=held[0].needs[asked.skip :])
    return _fitting(held)


def _fitting(held: Sequence[NeedsOf]) -> of.Needs:
    """As many of them as fit into one answer; the last of these may lack some of its needs.

    The first was perhaps told of before, up to its last need: so there is always a need in it, or a second job.
    """
    told: list[NeedsOf] = []
    room = PAGE_BYTES
    for needs in held:
        room -= LEAST_SIZE + len(needs.input)
        if room <= 0 and (len(told) > 1 or any(first.needs for first in told)):
            return of.Needs(needs=tuple(told), has_more=True)
        part, has_more = page(needs.needs, _size_of_met, room=max(1, room))
        told.append(replace(needs, needs=part))
        if has_more:
            return of.Needs(needs=tuple(told), has_more=True)
        room -= sum(map(_size_of_met, part))
    return of.Needs(needs=tuple(told))


def _size_of_met(met: Met) -> int:
    return LEAST_SIZE + len(met.output or b"") + _size_of(met.failure)


ROWS = [
    Row(GRAPHS, "ListGraphs", "list_graphs", ListGraphs, GraphPage, _list_graphs),
    Row(GRAPHS, "GetGraph", "get_graph", of.OfGraph, GraphView, _get_graph),
    Row(GRAPHS, "ListJobs", "list_jobs", ListJobs, JobPage, _list_jobs),
    Row(WORK, "AddJobs", "add_jobs", AddJobs, Added, _add_jobs),
    Row(WORK, "ReadNeeds", "read_needs", of.ReadNeeds, of.Needs, _read_needs),
]
