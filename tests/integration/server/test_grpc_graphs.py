"""Can a worker that knows the contract alone bring a graph, work on it, and not get away with a wrong one?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.server.test_grpc_nearly import nearly
from tests.integration.server.wire import SECOND, Caller, Code, Wire, WireWorker, finish, outcome
from windlass.api.grpc.channel import Target
from windlass.api.grpc.remote import Remote
from windlass.errors import InvalidInput
from windlass.model.access import Role
from windlass.model.graph import AddJobs, ListJobs, Need, NewJob, ReadNeeds
from windlass.model.run import RunId, RunKind, RunStatus
from windlass.runtime import SystemClock
from windlass.v1 import graph_pb2, model_pb2, worker_pb2, workflow_pb2

GRAPHS = "/windlass.v1.GraphService/"
ADD, READ = "AddJobs", "ReadNeeds"
JOBS = ("release", "release.lint", "release.shards", "release.shard", "release.report")
ALWAYS = [
    model_pb2.RUN_STATUS_COMPLETED, model_pb2.RUN_STATUS_FAILED, model_pb2.RUN_STATUS_CANCELLED,
    model_pb2.RUN_STATUS_SKIPPED,
]  # fmt: skip


def new(name: str, *needs: Any, workflow: str | None = None, **more: Any) -> Any:
    found = [graph_pb2.Need(upstream=need) if isinstance(need, str) else need for need in needs]
    return graph_pb2.NewJob(name=name, workflow=workflow or f"release.{name}", needs=found, **more)


class Ci:
    """A worker that serves the graph and all its jobs, and a client."""

    def __init__(self, wire: Wire, client: Caller, worker: WireWorker) -> None:
        self.wire, self.client, self.worker = wire, client, worker

    async def opened(self, *jobs: Any) -> str:
        """The id of a graph of these jobs."""
        run = await self.claimed_graph()
        added = await self.add(run, *jobs)
        assert (added.status, added.failure.message) == (model_pb2.RUN_STATUS_WAITING, "")
        return str(run.run_id)

    async def claimed_graph(self) -> Any:
        await self.start()
        return await self.claim("release")

    async def start(self) -> RunId:
        run = workflow_pb2.StartRun(name="release", queue="default", input=b'["v1"]')
        found = await self.client.ask(
            "/windlass.v1.WorkflowService/StartRun", workflow_pb2.StartRunRequest(run=run, allow_unknown=True)
        )
        return RunId(found.run_id)

    async def claim(self, *names: str) -> Any:
        return await self.worker.claim(served=[model_pb2.Served(queue="default", name=name) for name in names])

    async def add(self, run: Any, *jobs: Any, **more: Any) -> Any:
        request = worker_pb2.AddJobsRequest(run_id=run.run_id, token=run.token, jobs=jobs, **more)
        return await self.worker.caller.work(ADD, request)

    async def needs_of(self, *runs: Any) -> list[Any]:
        claims = [worker_pb2.HeldClaim(run_id=run.run_id, token=run.token) for run in runs]
        answer = await self.worker.caller.work(READ, worker_pb2.ReadNeedsRequest(claims=claims))
        assert not answer.has_more
        return list(answer.needs)

    async def finish(self, run: Any, **changes: Any) -> None:
        assert outcome(await self.worker.caller.work("FinishRuns", finish(run, **changes))) == "written"

    async def counts(self, graph: str) -> dict[str, int]:
        found = (await self.client.ask(GRAPHS + "GetGraph", graph_pb2.GraphRequest(graph=graph))).graph
        return {name: getattr(found, name) for name in ("jobs", "open", "completed", "failed", "skipped")}

    async def jobs(self, graph: str, **more: Any) -> dict[str, Any]:
        answer = await self.client.ask(GRAPHS + "ListJobs", graph_pb2.ListJobsRequest(graph=graph, **more))
        return {view.state.name: view for view in answer.jobs}


@pytest.fixture
async def ci(wire: Wire) -> Ci:
    return await _ci(wire)


@pytest.fixture
async def memory_ci(memory_wire: Wire) -> Ci:
    return await _ci(memory_wire)


async def _ci(wire: Wire) -> Ci:
    worker = WireWorker(await wire.caller(Role.WORKER), wire.opened.ids.worker())
    worker.served = [model_pb2.Served(queue="default", name=name) for name in JOBS]
    await worker.register()
    return Ci(wire, await wire.caller(Role.CLIENT), worker)


@pytest.mark.spec("graphs:8", "graphs:31", "graphs:56")
async def test_a_graph_is_brought_worked_on_and_over(ci: Ci) -> None:
    shards = graph_pb2.Need(upstream="shards", is_group=True, accepts=ALWAYS)
    graph = await ci.opened(new("lint"), new("shards", "lint", is_group=True), new("report", shards, "lint"))

    lint = await ci.claim("release.lint", "release.report")
    assert (lint.kind, lint.job, lint.parent) == (model_pb2.RUN_KIND_JOB, "lint", graph)
    await ci.finish(lint, output=b'"clean"')
    generator = await ci.claim("release.shards")
    assert (generator.kind, generator.job) == (model_pb2.RUN_KIND_GROUP, "shards")
    (given,) = await ci.needs_of(generator)
    assert (given.graph, given.job, given.input) == (graph, "shards", b'["v1"]')
    assert [(met.job, met.status, met.output) for met in given.needs] == [
        ("lint", model_pb2.RUN_STATUS_COMPLETED, b'"clean"')
    ]
    members = [new(f"s-{number}", workflow="release.shard", input=b"[%d]" % number) for number in (1, 2)]
    added = await ci.add(generator, *members, output=b'["s-1","s-2"]')
    assert added.status == model_pb2.RUN_STATUS_COMPLETED

    first, second = (await ci.worker.poll(served=[model_pb2.Served(queue="default", name="release.shard")])).runs
    assert sorted([first.input, second.input]) == [b"[1]", b"[2]"]
    await ci.finish(first)
    assert await ci.counts(graph) == {"jobs": 5, "open": 2, "completed": 3, "failed": 0, "skipped": 0}
    failure = model_pb2.Failure(kind=model_pb2.FAILURE_KIND_LOGIC, type="E", message="no")
    await ci.worker.caller.work(
        "FailRun", worker_pb2.FailRunRequest(run_id=second.run_id, token=second.token, failure=failure)
    )
    report = await ci.claim("release.report")
    (given,) = await ci.needs_of(report)
    ends = {met.job: (met.status, met.output, met.failure.message) for met in given.needs}
    assert ends[first.job] == (model_pb2.RUN_STATUS_COMPLETED, b"1", "")
    assert ends[second.job] == (model_pb2.RUN_STATUS_FAILED, b"", "no")
    await ci.finish(report)

    assert await ci.client.status_of(graph) == model_pb2.RUN_STATUS_FAILED
    assert await ci.counts(graph) == {"jobs": 5, "open": 0, "completed": 4, "failed": 1, "skipped": 0}
    jobs = await ci.jobs(graph)
    assert list(jobs) == ["lint", "shards", "report", "s-1", "s-2"]
    assert jobs["s-1"].state.group == "shards"
    assert jobs["report"].state.run.ready_at > 0
    edges = {edge.upstream: (edge.is_group, edge.is_resolved) for edge in jobs["report"].needs}
    assert edges == {"lint": (False, False), "shards": (True, True), "s-1": (False, False), "s-2": (False, False)}


async def test_what_is_left_out_of_a_job_has_its_default(ci: Ci) -> None:
    graph = await ci.opened(new("lint"), new("report", "lint"))

    report = (await ci.jobs(graph))["report"]

    assert (report.state.run.queue, report.state.run.priority) == ("default", 0)
    assert list(report.needs[0].accepts) == [model_pb2.RUN_STATUS_COMPLETED]
    assert (await ci.claim("release.lint")).input == b"[]"


async def test_jobs_are_read_page_by_page_from_the_first_on(memory_ci: Ci) -> None:
    graph = await memory_ci.opened(*[new(f"job-{number}", workflow="release.lint") for number in range(5)])
    seen: list[str] = []
    after: dict[str, int] = {}
    while True:
        request = graph_pb2.ListJobsRequest(graph=graph, limit=2, **after)  # type: ignore[arg-type]
        page = await memory_ci.client.ask(GRAPHS + "ListJobs", request)
        seen += [view.state.name for view in page.jobs]
        if not page.HasField("next"):
            break
        after = {"after": page.next}

    assert seen == [f"job-{number}" for number in range(5)]


@pytest.mark.spec("security:63", "security:64", "security:65", "graphs:46")
@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([new("lint", "lint")], "lint → lint"),
        ([new("lint", "report"), new("report", "lint")], "lint → report → lint"),
        ([new("lint"), new("report", "lnt")], "Did you mean 'lint'?"),
        ([new("lint"), new("lint")], "'lint' is given twice"),
        ([], "has no jobs"),
    ],
    ids=["itself", "each other", "unknown", "twice", "nothing"],
)
async def test_a_graph_that_cannot_be_fails_its_run_and_leaves_nothing(memory_ci: Ci, jobs: Any, said: str) -> None:
    run = await memory_ci.claimed_graph()

    added = await memory_ci.add(run, *jobs)

    assert (added.status, added.failure.kind) == (model_pb2.RUN_STATUS_FAILED, model_pb2.FAILURE_KIND_LOGIC)
    assert said in added.failure.message
    assert await memory_ci.client.status_of(run.run_id) == model_pb2.RUN_STATUS_FAILED
    refused = await memory_ci.client.refusal(GRAPHS + "GetGraph", graph_pb2.GraphRequest(graph=run.run_id))
    assert refused.status is Code.NOT_FOUND


@pytest.mark.parametrize(
    ("job", "path"),
    [
        (new("a/b"), "job name"),
        (new("lint", workflow="a b"), "workflow name"),
        (new("lint", queue=""), "queue"),
        (new("lint", priority=11), "priority"),
        (new("lint", timeout_for=0), "timeout"),
        (new("lint", graph_pb2.Need(upstream="a", accepts=[model_pb2.RUN_STATUS_RUNNING])), "need"),
        (new("lint", graph_pb2.Need(upstream="a", accepts=["RUN_STATUS_UNSPECIFIED"])), "accepts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.spec("security:68", "security:83")
async def test_what_is_no_job_at_all_is_refused_and_the_claim_is_kept(memory_ci: Ci, job: Any, path: str) -> None:
    run = await memory_ci.claimed_graph()
    request = worker_pb2.AddJobsRequest(run_id=run.run_id, token=run.token, jobs=[job])

    refused = await memory_ci.worker.caller.refusal("/windlass.v1.WorkerService/AddJobs", request)

    assert (refused.status, refused.detail.path) == (Code.INVALID_ARGUMENT, path)
    assert (await memory_ci.add(run, new("lint"))).status == model_pb2.RUN_STATUS_WAITING


@pytest.mark.spec("security:88", "security:83")
async def test_a_job_with_one_strange_field_is_a_job_or_refused_and_never_an_accident(ci: Ci) -> None:
    """Each time with a run that is really held: so all of it is reached, down to the tables."""
    need = graph_pb2.Need(upstream="lint", is_group=False)
    job = new(
        "test[1]", need, workflow="release.test", version="2", queue="default", priority=1, input=b"[1]",
        timeout_for=SECOND, matrix="test", max_parallel=1, is_cleanup=True, fail_fast=True,
    )  # fmt: skip
    request = worker_pb2.AddJobsRequest(jobs=[job, new("lint")])
    paths, ends = set[str](), set[Any]()

    for path, changed in nearly(request):
        run = await ci.claimed_graph()
        changed.run_id, changed.token = run.run_id, run.token
        found = await ci.worker.caller.tried("/windlass.v1.WorkerService/AddJobs", changed)
        assert found is None or found.status is Code.INVALID_ARGUMENT, (path, found)
        changed.ClearField("run_id")
        changed.ClearField("token")
        paths.add(path.partition(" ")[0])
        ends.add(await ci.client.status_of(run.run_id))

    assert paths >= {f"jobs.{name}" for name in ("name", "workflow", "queue", "input", "matrix", "needs.upstream")}
    assert ends == {model_pb2.RUN_STATUS_RUNNING, model_pb2.RUN_STATUS_WAITING, model_pb2.RUN_STATUS_FAILED}


async def test_a_run_that_is_no_generator_brings_no_jobs(memory_ci: Ci) -> None:
    await memory_ci.opened(new("lint"))
    lint = await memory_ci.claim("release.lint")

    added = await memory_ci.add(lint, new("more"))

    assert added.status == model_pb2.RUN_STATUS_FAILED
    assert "no generator" in added.failure.message


@pytest.mark.spec("graphs:35")
async def test_jobs_that_are_brought_again_are_there_once(ci: Ci) -> None:
    run = await ci.claimed_graph()
    first = await ci.add(run, new("shards", is_group=True))
    again = await ci.add(run, new("shards", is_group=True), is_again=True)
    generator = await ci.claim("release.shards")
    brought = await ci.add(generator, new("s-1", workflow="release.shard"))
    repeated = await ci.add(generator, new("s-1", workflow="release.shard"), is_again=True)

    assert (first.status, again.status) == (model_pb2.RUN_STATUS_WAITING,) * 2
    assert (brought.status, repeated.status) == (model_pb2.RUN_STATUS_COMPLETED,) * 2
    assert list(await ci.jobs(run.run_id)) == ["shards", "s-1"]


@pytest.mark.spec("security:83")
async def test_needs_are_told_to_the_holder_of_a_job_alone(ci: Ci) -> None:
    await ci.opened(new("lint"), new("report", "lint"))
    lint = await ci.claim("release.lint")
    await ci.finish(lint, output=b'"secret"')
    report = await ci.claim("release.report")
    stolen = worker_pb2.ClaimedRun(run_id=report.run_id, token=report.token + 1)

    assert await ci.needs_of(stolen) == []
    assert await ci.needs_of(lint) == []  # which is over
    (given,) = await ci.needs_of(stolen, report)
    assert given.needs[0].output == b'"secret"'


async def test_a_key_of_one_queue_brings_jobs_for_others_and_does_not_get_them(wire: Wire) -> None:
    """As it starts children there."""
    mail = model_pb2.Served(queue="mail", name="order")
    worker = WireWorker(await wire.caller(Role.WORKER, queues=("mail",)), wire.opened.ids.worker())
    worker.served = [mail]
    await worker.register()
    client = await wire.caller(Role.CLIENT)
    run = workflow_pb2.StartRun(name="order", queue="mail", input=b"[]")
    await client.ask("/windlass.v1.WorkflowService/StartRun", workflow_pb2.StartRunRequest(run=run, allow_unknown=True))
    held = await worker.claim()
    jobs = [new("here", workflow="order", queue="mail"), new("there", workflow="order", queue="default")]

    request = worker_pb2.AddJobsRequest(run_id=held.run_id, token=held.token, jobs=jobs)
    assert (await worker.caller.work(ADD, request)).status == model_pb2.RUN_STATUS_WAITING

    assert (await worker.claim()).job == "here"
    assert not (await worker.poll()).runs


# What does not fit


@pytest.fixture
async def remote(memory_wire: Wire) -> AsyncIterator[Remote]:
    _, token = await memory_wire.key(Role.ADMIN)
    found = Remote([Target(memory_wire.address, None)], token=token, clock=SystemClock(), ids=memory_wire.opened.ids)
    yield found
    await found.close()


@pytest.mark.parametrize("size", [1_500, 9_000], ids=["for a server", "for a client"])
async def test_a_graph_that_is_too_large_for_a_call_says_what_to_do(memory_ci: Ci, remote: Remote, size: int) -> None:
    run = await memory_ci.claimed_graph()
    jobs = tuple(NewJob(name=f"job-{n}", workflow="release.lint", input=b"x" * size) for n in range(3_000))
    command = AddJobs(namespace="default", run_id=RunId(run.run_id), token=run.token, jobs=jobs)

    with pytest.raises(
        InvalidInput, match=r"3,000 jobs with 0 needs and .* Pass less to each job.*generators"
    ) as refused:
        await remote.work.add_jobs(command)

    assert refused.value.reason == "too_large"
    assert (await memory_ci.add(run, new("lint"))).status == model_pb2.RUN_STATUS_WAITING


async def test_ten_thousand_jobs_with_fifty_thousand_needs_fit(memory_ci: Ci, remote: Remote) -> None:
    run = await memory_ci.claimed_graph()
    jobs = tuple(
        NewJob(
            name=f"job-{n}",
            workflow="release.lint",
            needs=tuple(Need(upstream=f"job-{n - k}") for k in range(1, 6) if n >= k),
        )
        for n in range(10_000)
    )

    added = await remote.work.add_jobs(
        AddJobs(namespace="default", run_id=RunId(run.run_id), token=run.token, jobs=jobs)
    )

    assert (added.status, added.failure) == (RunStatus.WAITING, None)
    view = await remote.graphs.get_graph("default", RunId(run.run_id))
    assert (view.graph.jobs, view.run.kind) == (10_000, RunKind.GRAPH)
    page = await remote.graphs.list_jobs(ListJobs(namespace="default", graph=RunId(run.run_id)))
    assert [len(job.needs) for job in page.jobs[:7]] == [0, 1, 2, 3, 4, 5, 5]


async def test_large_outputs_arrive_whole(memory_ci: Ci, remote: Remote) -> None:
    """More of them than fit into one answer of a server."""
    names = [f"job-{n}" for n in range(9)]
    await memory_ci.opened(*[new(name, workflow="release.lint") for name in names], new("report", *names))
    served = [model_pb2.Served(queue="default", name="release.lint")]
    for run in (await memory_ci.worker.poll(served=served)).runs:
        await memory_ci.finish(run, output=b'"%s"' % (run.job[-1].encode() * 2_000_000))
    report = await memory_ci.claim("release.report")

    (given,) = await remote.work.read_needs(
        ReadNeeds(namespace="default", claims=((RunId(report.run_id), report.token),))
    )

    assert [met.job for met in given.needs] == names
    assert all(met.output == b'"%s"' % (met.job[-1].encode() * 2_000_000) for met in given.needs)
