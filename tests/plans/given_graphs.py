"""A graph so large that nobody may walk through it, and the calls about a few of its jobs.

run_g…   the graph. Each job needs the one before, and every tenth accepts that one skipped
run_j…   its jobs, waiting; "job-17" is the seventeenth
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from tests.conformance.given import NAMESPACE
from tests.plans.given_signals import WATCHING
from windlass.model.graph import Edge, ListGraphs, ListJobs
from windlass.model.run import RunId, RunKind, RunStatus, WorkerId
from windlass.model.time import HOUR
from windlass.store.base import Tx
from windlass.store.queries.graphs import Counted
from windlass.store.queries.jobs import DispatchedJob, MetNeeds, NewJobRow, ReleasedJob, SkippedJob

Call = Callable[[Tx], Awaitable[Any]]

NUMBER = 1_000_000
GRAPH = RunId(f"run_g{NUMBER}")
NAMES = ["job-33", "job-31", "job-32"]
IDS = [RunId(f"run_j{NUMBER + number}") for number in (33, 31, 32)]

GRAPHS, JOBS, POSITION, HELD_JOBS = "graphs_pkey", "jobs_pkey", "jobs_position", "jobs_held"
EDGES, UPSTREAM, NEEDS, OPEN_GRAPHS = "edges_pkey", "edges_upstream", "runs_needs", "graphs_open"
RUN, PAYLOAD, PARENT, GATES = "runs_pkey", "payloads_pkey", "runs_parent", "gates_pkey"

# By fewer columns, it would be a walk through the graph.
ENTERED_BY = {
    GRAPHS: ("namespace", "id"),
    JOBS: ("namespace", "graph", "name"),
    POSITION: ("namespace", "graph", "position"),
    HELD_JOBS: ("namespace", "graph", "matrix"),
    EDGES: ("namespace", "graph", "job"),
    UPSTREAM: ("graph", "upstream"),
}


def fill(series: str, empty_blob: str, count: int) -> Iterator[str]:
    source = f"(select i, 'run_j' || ({NUMBER} + i) as id from {series.format(count=count)}) as g"
    yield (
        "insert into graphs (namespace, id, name, jobs, open, created_at)"
        f" values ('{NAMESPACE}', '{GRAPH}', 'release', {count}, {count}, 1)"
    )
    yield (
        "insert into runs (namespace, id, name, version, queue, priority, status, token, created_at, parent,"
        f" parent_step, unmet, kind) select '{NAMESPACE}', id, 'release.job', '', 'billing', 0, 'waiting', 0, 1,"
        f" '{GRAPH}', 'job-' || i, 1, 'job' from {source}"
    )
    yield f"insert into payloads (namespace, run_id, input) select '{NAMESPACE}', id, {empty_blob} from {source}"
    yield (
        "insert into jobs (namespace, graph, name, run_id, position, is_group, is_cleanup, matrix, fail_fast, is_held)"
        f" select '{NAMESPACE}', '{GRAPH}', 'job-' || i, id, i, 0, 0, 'matrix-' || (i / 10), 0, 1 from {source}"
    )
    for accepts, condition in (("completed", "i % 10 > 0"), ("completed,skipped", "i % 10 = 0")):
        yield (
            "insert into edges (namespace, graph, job, upstream, accepts)"
            f" select '{NAMESPACE}', '{GRAPH}', 'job-' || i, 'job-' || (i - 1), '{accepts}' from {source}"
            f" where {condition}"
        )


# The calls


def creating(*numbers: int) -> Call:
    return lambda tx: tx.jobs.create([new_job(number) for number in numbers])


def new_job(number: int) -> NewJobRow:
    return NewJobRow(
        namespace=NAMESPACE,
        graph=GRAPH,
        id=RunId(f"run_n{number}"),
        name=f"new-{number}",
        workflow="release.job",
        version="",
        queue="billing",
        priority=0,
        status=RunStatus.WAITING,
        unmet=1,
        kind=RunKind.JOB,
        input=b"",
        position=NUMBER + number,
        is_group=0,
        is_cleanup=0,
        group_name=None,
        matrix=None,
        max_parallel=None,
        fail_fast=0,
        is_held=0,
        timeout_for=None,
        cause="start",
    )


def joining(*jobs: str) -> Call:
    return lambda tx: tx.edges.create(NAMESPACE, GRAPH, [Edge(job=job, upstream="job-3") for job in jobs])


def skipping(*ids: RunId) -> Call:
    return lambda tx: tx.needs.skip(
        [
            SkippedJob(
                namespace=NAMESPACE,
                graph=GRAPH,
                id=id,
                name=f"job-{id[-2:]}",
                was=RunStatus.WAITING,
                because="job-3",
                data=None,
            )
            for id in ids
        ]
    )


def releasing(*ids: RunId) -> Call:
    status = {"was": RunStatus.WAITING, "status": RunStatus.PENDING}
    return lambda tx: tx.needs.release(
        [ReleasedJob(namespace=NAMESPACE, id=id, timeout_for=HOUR, cause="needs", **status) for id in ids]
    )


def dispatching(*ids: RunId) -> Call:
    return lambda tx: tx.needs.dispatch(
        [
            DispatchedJob(
                namespace=NAMESPACE,
                id=id,
                queue="billing",
                workflow="release.job",
                was=RunStatus.WAITING,
                worker=WorkerId("wrk_3"),
                poll=1,
                claim_for=HOUR,
                timeout_for=None,
            )
            for id in ids
        ]
    )


def needing(*, met: int = 0, more: int = 0) -> list[MetNeeds]:
    return [MetNeeds(namespace=NAMESPACE, id=id, met=met, more=more) for id in IDS]


HOT: dict[str, tuple[Call, tuple[str, ...]]] = {
    "lock_graphs": (lambda tx: tx.graphs.lock(NAMESPACE, ids=[GRAPH, IDS[0]]), (GRAPHS,)),
    "lock_counted_graph": (
        lambda tx: tx.graphs.lock_counted(NAMESPACE, GRAPH, Counted(open=-1, completed=1)),
        (GRAPHS,),
    ),
    "count_graph": (lambda tx: tx.graphs.count(NAMESPACE, GRAPH, Counted(open=-1, completed=1)), (GRAPHS,)),
    "create_jobs": (creating(1, 2, 3), (RUN, PAYLOAD, JOBS, *WATCHING)),
    "create_jobs: one": (creating(1), (RUN, PAYLOAD, JOBS, *WATCHING)),
    "create_edges": (joining("job-7", "job-4", "job-9"), (EDGES,)),
    "create_edges: one": (joining("job-7"), (EDGES,)),
    "jobs_below": (lambda tx: tx.jobs.below(NAMESPACE, GRAPH, names=NAMES), (UPSTREAM, JOBS, RUN, PAYLOAD)),
    "edges_below_skipped": (lambda tx: tx.edges.below_skipped(NAMESPACE, GRAPH, names=NAMES), (UPSTREAM,)),
    "edges_of_jobs": (lambda tx: tx.edges.of_jobs(NAMESPACE, GRAPH, names=NAMES), (EDGES,)),
    "lock_jobs": (lambda tx: tx.jobs.lock(NAMESPACE, GRAPH, names=NAMES), (JOBS, RUN)),
    "held_jobs": (lambda tx: tx.jobs.held(NAMESPACE, GRAPH, matrices=["matrix-3", "matrix-4"]), (HELD_JOBS,)),
    "skip_jobs": (skipping(*IDS), (RUN, JOBS, *WATCHING)),
    "skip_jobs: one": (skipping(IDS[0]), (RUN, JOBS, *WATCHING)),
    "meet_needs": (lambda tx: tx.needs.meet(needing(met=1)), (RUN,)),
    "release_jobs": (releasing(*IDS), (RUN, *WATCHING)),
    "release_jobs: one": (releasing(IDS[0]), (RUN, *WATCHING)),
    "dispatch_jobs": (dispatching(*IDS), (RUN, GATES, *WATCHING)),
    "dispatch_jobs: one": (dispatching(IDS[0]), (RUN, GATES, *WATCHING)),
    "grant_turns": (lambda tx: tx.needs.grant_turns(NAMESPACE, GRAPH, NAMES), (JOBS,)),
    "needs_of_claims": (
        lambda tx: tx.jobs.needs(NAMESPACE, [(id, 1) for id in IDS]),
        (RUN, EDGES, JOBS, PAYLOAD),
    ),
    "page_of_jobs": (
        lambda tx: tx.jobs.page(ListJobs(namespace=NAMESPACE, graph=GRAPH, after=100, limit=10)),
        (POSITION, RUN, PAYLOAD, EDGES),
    ),
    "some_jobs": (lambda tx: tx.jobs.views(NAMESPACE, GRAPH, names=NAMES), (JOBS, RUN, PAYLOAD, EDGES)),
    "page_of_graphs": (
        lambda tx: tx.graphs.page(ListGraphs(namespace=NAMESPACE, limit=10)),
        (GRAPHS, RUN, PAYLOAD),
    ),
}

COLD = {
    "load_graph": "reads one row by its primary key",
    "move_graph": "writes one row by its primary key, for a person who tries a run again",
    "create_graph": "writes one row by its primary key, when a graph begins",
    "mark_graph": "the same",
    "steer_graph": "writes one row by its primary key, for a person",
    "end_graph": "writes one row by its primary key, when a graph ends",
    "store_end_of_graph": "the same",
    "failed_jobs": "reads the jobs of one graph, when it ends as failed",
    "resolve_edges": "reads the edges of one graph, when a generator ends",
    "edges_of_graph": "the same",
    "jobs_of_graph": "reads the jobs of one graph, when a generator ends",
    "ends_of_jobs": "the same",
    "add_needs": "writes rows by their primary key, as meet_needs does, when a generator ends",
    "lock_open_jobs": "reads the jobs of one graph, for a person who cancels, pauses or resumes it",
    "steer_jobs": "writes rows by their primary key, for a person",
    "bound_jobs": "reads the jobs of one graph, when it is cancelled or out of time",
    "contents_of_runs": "reads rows by their primary key, for a person who tries a graph again",
    "waiting_jobs": "reads a page of an index that holds nothing else, now and then",
    "stranded_jobs": "the same",
    "open_graphs": "the same",
    "unclaimed_jobs": "reads the jobs of one graph that is not over, now and then",
    "remove_edges": "removes what it reads, once",
    "remove_jobs": "the same",
    "remove_graph": "the same",
}
