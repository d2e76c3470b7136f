"""Routes for those who look at graphs. They are started, awaited and steered as the runs that they are."""

from __future__ import annotations

from windlass.api.checks import check
from windlass.model.duration import from_instant
from windlass.model.graph import Edge, GraphView, JobView, ListGraphs, ListJobs
from windlass.server.http import asked
from windlass.server.http import told_of_graphs as told
from windlass.server.http.calls import NAMESPACE, Call, Row
from windlass.server.http.telling import failure, moment, seconds

GRAPHS = f"{NAMESPACE}/graphs"
GRAPH = f"{GRAPHS}/{{run_id}}"


async def list_graphs(call: Call) -> told.GraphsAnswer:
    query: asked.GraphsQuery = call.query
    command = ListGraphs(
        namespace=call.namespace, name=query.name, is_open=query.is_open, before=query.before, limit=query.limit
    )
    page = await call.service.graphs.list_graphs(check(command))
    return told.GraphsAnswer(graphs=[graph(view) for view in page.graphs], next=page.next)


async def get_graph(call: Call) -> told.GraphDetail:
    return graph(await call.service.graphs.get_graph(call.namespace, call.run_id))


async def list_jobs(call: Call) -> told.JobsAnswer:
    query: asked.JobsQuery = call.query
    after = {} if query.after is None else {"after": query.after}
    command = ListJobs(namespace=call.namespace, graph=call.run_id, limit=query.limit, **after)
    page = await call.service.graphs.list_jobs(check(command))
    return told.JobsAnswer(jobs=[job(view) for view in page.jobs], next=page.next)


# From what the door answers to what is told


def graph(value: GraphView) -> told.GraphDetail:
    found, run = value.graph, value.run
    return told.GraphDetail(
        id=found.id,
        namespace=found.namespace,
        name=found.name,
        version=run.version or None,
        queue=run.queue,
        priority=run.priority,
        status=run.status,
        ending=found.ending,
        is_paused=found.is_paused,
        jobs=told.JobCounts(
            all=found.jobs,
            open=found.open,
            held=found.held,
            completed=found.completed,
            failed=found.failed,
            cancelled=found.cancelled,
            skipped=found.skipped,
        ),
        created_at=from_instant(run.created_at),
        started_at=moment(run.started_at),
        finished_at=moment(run.finished_at),
        expires_at=moment(run.expires_at),
        parent=run.parent,
        retry_of=run.retry_of,
        schedule=run.schedule,
        failure=failure(value.failure),
    )


def job(value: JobView) -> told.JobDetail:
    state, run = value.state, value.run
    return told.JobDetail(
        name=state.name,
        run_id=run.id,
        workflow=run.name,
        version=run.version or None,
        queue=run.queue,
        priority=run.priority,
        status=run.status,
        needs=[_need(edge) for edge in value.needs],
        needs_satisfied=value.needs_satisfied,
        unmet=run.unmet,
        decided_by=state.decided_by,
        is_group=state.is_group,
        is_cleanup=state.is_cleanup,
        group=state.group,
        matrix=state.matrix,
        max_parallel=state.max_parallel,
        fail_fast=state.fail_fast,
        is_held=state.is_held,
        position=state.position,
        attempts=run.attempts,
        worker=run.worker,
        timeout_secs=seconds(state.timeout_for),
        created_at=from_instant(run.created_at),
        ready_at=moment(run.ready_at),
        started_at=moment(run.started_at),
        finished_at=moment(run.finished_at),
        failure=failure(value.failure),
    )


def _need(edge: Edge) -> told.NeedDetail:
    return told.NeedDetail(
        job=edge.upstream, accepts=list(edge.accepts), is_group=edge.is_group, is_resolved=edge.is_resolved
    )


ROWS = (
    Row(
        method="GET",
        path=GRAPHS,
        operation="list_graphs",
        op="graphs.list",
        summary="List graphs with how many of their jobs stand where, the newest first, page by page.",
        handler=list_graphs,
        query=asked.GraphsQuery,
        answer=told.GraphsAnswer,
    ),
    Row(
        method="GET",
        path=GRAPH,
        operation="get_graph",
        op="graphs.get",
        summary="A graph with how many of its jobs stand where. A run that no worker has made a graph yet is none.",
        handler=get_graph,
        answer=told.GraphDetail,
    ),
    Row(
        method="GET",
        path=f"{GRAPH}/jobs",
        operation="list_jobs",
        op="graphs.jobs",
        summary="The jobs of a graph, each with what it needs, in the order they were written, page by page.",
        handler=list_jobs,
        query=asked.JobsQuery,
        answer=told.JobsAnswer,
    ),
)
