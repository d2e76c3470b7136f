"""Ids of somebody else's namespace, asked for in one's own: the same answer as for ids that nobody has."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import pytest

from tests.integration.server.piping import (
    PIPELINES,
    PipelineWorker,
    pipeline_commands,
    pipeline_creations,
    pipeline_reads,
)
from tests.integration.server.signalling import SIGNALS, signal_commands, signal_creations, signal_reads
from tests.integration.server.test_grpc_walk import OF_ALL, ROLES
from tests.integration.server.wire import (
    HASH,
    METHODS,
    NOBODY,
    SECOND,
    Caller,
    Code,
    Wire,
    WireWorker,
    begin,
    complete,
    finish,
    outcome,
    refusal_of,
)
from windlass.api.grpc.patience import MOST_STREAMS
from windlass.model.access import Role
from windlass.model.graph import ListJobs
from windlass.model.item import ItemId
from windlass.model.namespace import CreateNamespace
from windlass.model.pipeline_commands import ListEvents
from windlass.model.run import RunId
from windlass.model.signal import ListSignals
from windlass.v1 import (
    admin_pb2,
    graph_pb2,
    model_pb2,
    namespace_pb2,
    pipeline_pb2,
    schedule_pb2,
    worker_pb2,
    workflow_pb2,
)

RUNS, WORK = "/windlass.v1.WorkflowService/", "/windlass.v1.WorkerService/"
SCHEDULES, ADMIN = "/windlass.v1.ScheduleService/", "/windlass.v1.AdminService/"
GRAPHS = "/windlass.v1.GraphService/"
FAILURE = model_pb2.Failure(kind=model_pb2.FAILURE_KIND_LOGIC, type="E", message="no")
RETRY = model_pb2.RetryPolicy(max_attempts=2, initial_for=SECOND, factor=1, max_for=SECOND)
SERVED = [model_pb2.Served(queue="default", name="order")]

IN_VAIN = {ADMIN + "DropCursor", WORK + "Heartbeat", WORK + "Deregister"}  # answered, and that is all


class Things(NamedTuple):
    """What one namespace has, or what none has: by their ids, of equal length."""

    run: str
    waiting: str
    worker: str
    schedule: str
    key: str
    cursor: str
    api_key: str
    token: int
    graph: str
    job: str
    job_token: int
    pipeline: str
    attempt: str
    pipeline_token: int
    input: str
    item: str
    task: str
    signal: str


NOTHING = Things(
    run="run_" + "7" * 26, waiting="run_" + "8" * 26, worker="wrk_" + "7" * 26, schedule="nowhere", key="no-key-1",
    cursor="no-cursr", api_key="key_" + "7" * 26, token=1, graph="run_" + "6" * 26, job="run_" + "5" * 26, job_token=1,
    pipeline="noplaces", attempt="hrn_" + "7" * 26, pipeline_token=1, input="inp_" + "7" * 26,
    item="itm_" + "7" * 26, task="tsk_" + "7" * 26, signal="sig_" + "7" * 26,
)  # fmt: skip


def of_run(found: Things) -> dict[str, Any]:
    return {"run_id": found.run, "token": found.token}


def of_job(found: Things) -> dict[str, Any]:
    return {"run_id": found.job, "token": found.job_token}


def of_pipeline(found: Things) -> dict[str, Any]:
    return {"attempt": found.attempt, "token": found.pipeline_token, "input": found.input}


def step(**more: Any) -> dict[str, Any]:
    return {"key": "pack", "kind": model_pb2.STEP_KIND_STEP, "attempt": 1, "input_hash": HASH, **more}


def reads(it: Things) -> dict[str, Any]:
    return {
        **{RUNS + name: workflow_pb2.RunRequest(run_id=it.run) for name in ("GetRun", "ExplainRun")},
        RUNS + "FindRun": workflow_pb2.FindRunRequest(key=it.key),
        RUNS + "ListRuns": workflow_pb2.ListRunsRequest(parent=it.run, before=it.waiting),
        RUNS + "ListSteps": workflow_pb2.ListStepsRequest(run_id=it.run),
        RUNS + "ListMessages": workflow_pb2.ListMessagesRequest(run_id=it.waiting),
        RUNS + "ReadLog": workflow_pb2.ReadLogRequest(run_id=it.run),
        RUNS + "WaitForResult": workflow_pb2.WaitForResultRequest(run_id=it.run),
        SCHEDULES + "GetSchedule": schedule_pb2.ScheduleRequest(name=it.schedule),
        SCHEDULES + "ListSchedules": schedule_pb2.ListSchedulesRequest(),
        SCHEDULES + "ReadScheduleLog": schedule_pb2.ReadScheduleLogRequest(name=it.schedule),
        GRAPHS + "ListGraphs": graph_pb2.ListGraphsRequest(before=it.graph),
        GRAPHS + "GetGraph": graph_pb2.GraphRequest(graph=it.graph),
        GRAPHS + "ListJobs": graph_pb2.ListJobsRequest(graph=it.graph),
        ADMIN + "ListWorkers": admin_pb2.ListWorkersRequest(),
        ADMIN + "ListQueues": admin_pb2.ListQueuesRequest(),
        ADMIN + "ListGates": admin_pb2.ListGatesRequest(),
        ADMIN + "ReadFeed": admin_pb2.ReadFeedRequest(subject_kind="run", subject_id=it.run),
        ADMIN + "FollowFeed": admin_pb2.ReadFeedRequest(subject_kind="run", subject_id=it.run),
        ADMIN + "GetServerInfo": None,
        "/windlass.v1.NamespaceService/GetNamespace": None,
        "/windlass.v1.NamespaceService/ListAudit": namespace_pb2.ListAuditRequest(limit=1, before=1),
        WORK + "ReadHistory": worker_pb2.ReadHistoryRequest(**of_run(it)),
        WORK + "LookAtClaims": worker_pb2.LookAtClaimsRequest(claims=[worker_pb2.HeldClaim(**of_run(it))]),
        WORK + "Listen": worker_pb2.ListenRequest(worker=it.worker),
        WORK + "ReadNeeds": worker_pb2.ReadNeedsRequest(claims=[worker_pb2.HeldClaim(**of_job(it))]),
        **pipeline_reads(it.pipeline, **of_pipeline(it)),
        **signal_reads(it.item, signal=it.signal),
    }


def commands(it: Things) -> dict[str, Any]:
    failed = worker_pb2.FailStep(**step(order=1, failure=FAILURE, retry=RETRY))
    wait = worker_pb2.WaitStep(key="w", kind=model_pb2.STEP_KIND_EVENT, input_hash=HASH, awaits="e")
    begun = worker_pb2.BeginStep(**of_run(it), **step())
    completed = worker_pb2.CompleteStep(**of_run(it), **step(order=1, output=b"1"))
    ended = worker_pb2.FinishRun(**of_run(it), status=model_pb2.RUN_STATUS_COMPLETED, output=b"1")
    claim = worker_pb2.ClaimRequest(**of_run(it), visibility_for=60 * SECOND)
    renewal = worker_pb2.Renewal(id=it.run, token=it.token, visibility_for=60 * SECOND)
    child = {**of_run(it), "child": it.waiting}
    polled = worker_pb2.PollRequest(worker=it.worker, poll_id=9, served=SERVED, limit=1, visibility_for=60 * SECOND)
    steered = {"name": it.schedule}
    return {
        RUNS + "CancelRun": workflow_pb2.CancelRunRequest(run_id=it.run),
        RUNS + "RetryRun": workflow_pb2.RetryRunRequest(run_id=it.run),
        RUNS + "PauseRun": workflow_pb2.PauseRunRequest(run_id=it.run),
        RUNS + "ResumeRun": workflow_pb2.ResumeRunRequest(run_id=it.run),
        RUNS + "SendEvent": workflow_pb2.SendEventRequest(run_id=it.waiting, event="e", id="1", payload=b"1"),
        RUNS + "Decide": workflow_pb2.DecideRequest(run_id=it.waiting, is_approved=True),
        SCHEDULES + "PauseSchedule": schedule_pb2.PauseScheduleRequest(**steered),
        SCHEDULES + "ResumeSchedule": schedule_pb2.ResumeScheduleRequest(**steered),
        SCHEDULES + "TriggerSchedule": schedule_pb2.TriggerScheduleRequest(**steered),
        SCHEDULES + "DeleteSchedule": schedule_pb2.DeleteScheduleRequest(**steered),
        ADMIN + "DrainWorker": admin_pb2.DrainWorkerRequest(id=it.worker),
        ADMIN + "DropCursor": admin_pb2.DropCursorRequest(name=it.cursor),
        WORK + "Heartbeat": worker_pb2.HeartbeatRequest(id=it.worker),
        WORK + "Drain": worker_pb2.WorkerRequest(id=it.worker),
        WORK + "Deregister": worker_pb2.DeregisterRequest(id=it.worker),
        WORK + "Poll": polled,
        WORK + "BeginSteps": worker_pb2.BeginStepsRequest(steps=[begun]),
        WORK + "CompleteSteps": worker_pb2.CompleteStepsRequest(steps=[completed]),
        WORK + "Suspend": worker_pb2.SuspendRequest(**of_run(it), waits=[wait], park=True),
        WORK + "FailStep": worker_pb2.FailStepRequest(**of_run(it), step=failed),
        WORK + "Sleep": worker_pb2.SleepRequest(**of_run(it), key="s", input_hash=HASH, sleep_for=SECOND),
        WORK + "Wait": worker_pb2.WaitRequest(**of_run(it), step=wait, order=1),
        WORK + "FinishRuns": worker_pb2.FinishRunsRequest(runs=[ended]),
        WORK + "CompleteRun": worker_pb2.CompleteRunRequest(**of_run(it), output=b"1"),
        WORK + "FailRun": worker_pb2.FailRunRequest(**of_run(it), failure=FAILURE),
        WORK + "HoldRun": worker_pb2.HoldRunRequest(**of_run(it), reason=FAILURE),
        WORK + "ReleaseRun": claim,
        WORK + "RenewClaim": claim,
        WORK + "RenewClaims": worker_pb2.RenewClaimsRequest(runs=[renewal]),
        WORK + "SendToChild": worker_pb2.SendToChildRequest(
            **child, event="e", id="1", payload=b"1", payload_hash=HASH
        ),
        WORK + "CancelChild": worker_pb2.CancelChildRequest(**child),
        WORK + "AddJobs": worker_pb2.AddJobsRequest(**of_job(it), jobs=[graph_pb2.NewJob(name="a", workflow="order")]),
        **pipeline_commands(it.pipeline, worker=it.worker, **of_pipeline(it)),
        **signal_commands(it.item, task=it.task, signal=it.signal),
    }


def creations(it: Things) -> dict[str, Any]:
    """These work in one's own namespace, whatever somebody else calls theirs."""
    run = workflow_pb2.StartRun(name="order", queue="default", input=b"[2]", key=it.key, run_id=it.run)
    timing = schedule_pb2.Timing(every=60 * SECOND, tz="UTC")
    put = schedule_pb2.PutScheduleRequest(
        name=it.schedule,
        workflow="order",
        queue="default",
        input=b"[]",
        timing=timing,
        catch_up=schedule_pb2.CATCH_UP_NONE,
        max_catch_up=1,
        overlap=schedule_pb2.OVERLAP_ALLOW,
    )
    return {
        RUNS + "StartRun": workflow_pb2.StartRunRequest(run=run, allow_unknown=True),
        RUNS + "StartRuns": workflow_pb2.StartRunsRequest(runs=[run], allow_unknown=True),
        SCHEDULES + "PutSchedule": put,
        SCHEDULES + "Declare": schedule_pb2.DeclareRequest(program="p"),
        ADMIN + "MoveCursor": admin_pb2.MoveCursorRequest(name=it.cursor, seq=1),
        ADMIN + "SetGate": admin_pb2.SetGateRequest(kind=admin_pb2.GATE_KIND_QUEUE, name="default", is_paused=True),
        WORK + "Register": worker_pb2.RegisterRequest(id=it.worker, host="x", pid=1, served=SERVED, slots=1),
        **pipeline_creations(it.pipeline),
        **signal_creations(it.item, key=it.key),
    }


async def furnish(wire: Wire) -> Things:
    """The namespace "default", with one of everything."""
    caller = await wire.caller(*Role)
    worker = WireWorker(caller, wire.opened.ids.worker())
    await worker.register()
    run = await caller.begin_run(key="key-of-a")
    (claimed,) = (await worker.poll()).runs
    await caller.work("BeginSteps", begin(claimed))
    graph = await caller.begin_run()
    opened = await worker.claim()
    jobs = [graph_pb2.NewJob(name="shards", workflow="order", is_group=True)]
    await caller.work("AddJobs", worker_pb2.AddJobsRequest(run_id=graph, token=opened.token, jobs=jobs))
    job = await worker.claim()
    waiting = await caller.begin_run()
    await caller.ask(
        RUNS + "SendEvent", workflow_pb2.SendEventRequest(run_id=waiting, event="e", id="0", payload=b'"secret"')
    )
    for path, request in pipeline_creations("payments").items():
        await caller.ask(path, request)
    attempt = await PipelineWorker(caller, worker.id).claim()
    (input,) = (await caller.ask(PIPELINES + "ListInputs", pipeline_pb2.ListInputsRequest(pipeline="payments"))).inputs
    made = signal_commands(item := wire.opened.ids.item(), task="", signal="")
    for path, request in signal_creations(item, key="key-of-a").items():
        await caller.ask(path, request)
    task = (await caller.ask(SIGNALS + "AddTask", made[SIGNALS + "AddTask"])).id
    signal = (await caller.ask(SIGNALS + "CreateSignal", made[SIGNALS + "CreateSignal"])).signal.id
    key, _ = await wire.key(Role.VIEWER)
    things = Things(
        run=run, waiting=waiting, worker=worker.id, schedule="nightly", key="key-of-a", cursor="mycursor", api_key=key,
        token=claimed.token, graph=graph, job=job.run_id, job_token=job.token,
        pipeline="payments", attempt=attempt.task.run_id, pipeline_token=attempt.token, input=input.id,
        item=item, task=task, signal=signal,
    )  # fmt: skip
    for path in (SCHEDULES + "PutSchedule", ADMIN + "MoveCursor"):
        await caller.ask(path, creations(things)[path])
    return things


async def everything(wire: Wire, it: Things) -> list[Any]:
    """All that is on record of it."""
    runs, schedules, pipelines = wire.opened.runs, wire.opened.schedules, wire.opened.pipelines
    found: list[Any] = [await runs.list_workers("default"), await schedules.list_schedules("default")]
    found.append(await wire.opened.graphs.list_jobs(ListJobs(namespace="default", graph=RunId(it.graph))))
    found += [(item.view.pipeline, item.view.handlers) for item in await pipelines.list_pipelines("default")]
    found.append(await pipelines.list_events(ListEvents(namespace="default", pipeline=it.pipeline)))
    found.append(await wire.opened.items.get_item("default", ItemId(it.item)))
    found.append(await wire.opened.signals.list_signals(ListSignals(namespace="default")))
    for id in map(RunId, (it.run, it.waiting, it.graph, it.job)):
        found += [await runs.get_run("default", id), await runs.list_steps("default", id)]
        found += [await runs.list_messages("default", id), await runs.read_log("default", id)]
    return found


async def heard(caller: Caller, path: str, request: Any, it: Things) -> str:
    """All that a caller learns, in words that say the same of other ids."""
    said: list[str] = []

    async def ask() -> None:
        said.append(str(await caller.ask(path, request)))

    refused = await refusal_of(ask())
    text = said[0] if refused is None else f"{refused.status} {refused.told}"
    for what, id in zip(Things._fields, it, strict=True):
        if isinstance(id, str):
            text = text.replace(id, f"<{what}>")
    return " ".join(word for word in text.split() if not word.strip('"').startswith("req_"))


def test_every_method_is_tried() -> None:
    tried = reads(NOTHING) | commands(NOTHING) | creations(NOTHING)

    assert set(tried) == set(ROLES) - OF_ALL
    assert set(tried) <= set(METHODS)


@pytest.mark.spec("invariants:I-58", "security:S-09", "security:10", "security:81")
async def test_an_id_of_another_namespace_is_answered_like_one_that_nobody_has(wire: Wire) -> None:
    theirs = await furnish(wire)
    await wire.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    stranger = await wire.caller(*Role, namespace="other")
    before = await everything(wire, theirs)

    for make in (reads, commands):
        for path, request in make(theirs).items():
            there = await heard(stranger, path, request, theirs)
            nowhere = await heard(stranger, path, make(NOTHING)[path], NOTHING)
            assert there == nowhere, path
            if make is commands:
                is_lost = "claim_lost" in there or "lost_runs" in there
                assert "NOT_FOUND" in there or is_lost or (path in IN_VAIN and not there), path

    assert await everything(wire, theirs) == before


@pytest.mark.spec("invariants:I-58", "security:S-41")
async def test_what_is_called_like_something_of_another_namespace_is_one_s_own(wire: Wire) -> None:
    theirs = await furnish(wire)
    await wire.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    stranger = await wire.caller(*Role, namespace="other")
    before = await everything(wire, theirs)

    for path, request in creations(theirs).items():
        await stranger.ask(path, request)

    assert await everything(wire, theirs) == before
    (own,) = (await stranger.ask(RUNS + "ListRuns")).runs
    assert (own.id, own.namespace) == (theirs.run, "other")


@pytest.mark.spec("invariants:I-58")
async def test_a_schedule_is_declared_in_one_s_own_namespace_only(wire: Wire) -> None:
    theirs = await furnish(wire)
    await wire.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    stranger = await wire.caller(Role.OPERATOR, namespace="other")
    put = creations(theirs)[SCHEDULES + "PutSchedule"]
    put.namespace = "default"

    refused = await stranger.refusal(
        SCHEDULES + "Declare", schedule_pb2.DeclareRequest(namespace="other", program="p", schedules=[put])
    )

    assert refused.status is Code.INVALID_ARGUMENT


@pytest.mark.spec("security:S-08")
async def test_a_worker_s_key_serves_its_own_queues_only(wire: Wire) -> None:
    caller = await wire.caller(Role.CLIENT)
    await caller.begin_run()
    worker = WireWorker(await wire.caller(Role.WORKER, queues=("mail",)), wire.opened.ids.worker())

    refused = await refusal_of(worker.register())
    assert refused is not None
    assert (refused.status, refused.code) == (Code.PERMISSION_DENIED, "forbidden")
    worker.served = [model_pb2.Served(queue="mail", name="order")]
    await worker.register()
    assert not (await worker.poll()).runs
    refused = await refusal_of(worker.poll(served=SERVED))
    assert refused is not None
    assert refused.status is Code.PERMISSION_DENIED


@pytest.mark.spec("invariants:I-58")
@pytest.mark.parametrize("leaves", [False, True])
async def test_whoever_knows_the_id_of_a_worker_elsewhere_does_not_listen_in_its_place(
    live_wire: Wire, leaves: bool
) -> None:
    await live_wire.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    stranger = await live_wire.caller(*Role, namespace="other")
    worker = WireWorker(await live_wire.caller(*Role), live_wire.opened.ids.worker())
    await worker.register()
    request = worker_pb2.ListenRequest(worker=worker.id, wait_for=25 * SECOND)

    await stranger.ask(WORK + "Listen", worker_pb2.ListenRequest(worker=worker.id))
    listening = asyncio.ensure_future(worker.caller.ask(WORK + "Listen", request, timeout=60))
    await live_wire.clock.sleep(SECOND // 5)  # until it waits
    if leaves:
        await stranger.ask(WORK + "Deregister", worker_pb2.DeregisterRequest(id=worker.id))
    await worker.caller.ask(ADMIN + "DrainWorker", admin_pb2.DrainWorkerRequest(id=worker.id))

    assert (await asyncio.wait_for(listening, 20)).should_drain


@pytest.mark.spec("security:S-08", "security:83")
async def test_a_key_of_one_queue_reaches_no_run_of_another_even_with_its_id_and_token(wire: Wire) -> None:
    caller = await wire.caller(Role.CLIENT)
    run_id = await caller.begin_run()
    honest = WireWorker(await wire.caller(Role.WORKER), wire.opened.ids.worker())
    await honest.register()
    run = await honest.claim()
    thief = await wire.caller(Role.WORKER, queues=("mail",))
    mail = [model_pb2.Served(queue="mail", name="order")]

    repeated = await thief.work("Poll", honest.poll_request(poll_id=1, served=mail))
    assert not repeated.runs, "the poll of another worker, said again, tells nothing of lanes that were not asked for"
    for method, request in (
        ("ReadHistory", worker_pb2.ReadHistoryRequest(run_id=run_id, token=run.token)),
        ("LookAtClaims", worker_pb2.LookAtClaimsRequest(claims=[worker_pb2.HeldClaim(run_id=run_id, token=1)])),
        ("ReadNeeds", worker_pb2.ReadNeedsRequest(claims=[worker_pb2.HeldClaim(run_id=run_id, token=run.token)])),
        ("AddJobs", worker_pb2.AddJobsRequest(run_id=run_id, token=run.token)),
        ("CompleteSteps", complete(run)),
        ("FinishRuns", finish(run)),
        ("CompleteRun", worker_pb2.CompleteRunRequest(run_id=run_id, token=run.token, output=b'"forged"')),
        ("ReleaseRun", worker_pb2.ClaimRequest(run_id=run_id, token=run.token)),
    ):
        refused = await refusal_of(thief.work(method, request))
        assert refused is not None and refused.code == "claim_lost", method
    assert outcome(await honest.caller.work("FinishRuns", finish(run))) == "written"


@pytest.mark.spec("security:S-08", "security:83", "invariants:I-58")
async def test_a_key_of_one_queue_reads_no_output_of_another_by_waiting_for_its_run(wire: Wire) -> None:
    client, honest = (
        await wire.caller(Role.CLIENT),
        WireWorker(await wire.caller(Role.WORKER), wire.opened.ids.worker()),
    )
    secret = await client.begin_run()
    await honest.register()
    await honest.caller.work("FinishRuns", finish(await honest.claim(), output=b'"secret"'))
    thief = WireWorker(await wire.caller(Role.WORKER, queues=("mail",)), wire.opened.ids.worker())
    thief.served = [model_pb2.Served(queue="mail", name="order")]
    await thief.register()
    await client.begin_run(queue="mail")
    run = await thief.claim()
    claim, told = {"run_id": run.run_id, "token": run.token}, []

    for id in (secret, NOBODY):
        wait = worker_pb2.WaitStep(key="w", kind=model_pb2.STEP_KIND_CHILD, input_hash=HASH, awaits=id)
        opened = worker_pb2.OpenWait(key="w", order=1)
        child = {**claim, "child": id}
        for method, request in (
            ("Wait", worker_pb2.WaitRequest(**claim, step=wait, order=1)),
            ("Suspend", worker_pb2.SuspendRequest(**claim, waits=[wait], open=[opened], together=True, park=True)),
            ("Suspend", worker_pb2.SuspendRequest(**claim, waits=[wait], open=[opened], is_again=True)),
            ("SendToChild", worker_pb2.SendToChildRequest(**child, event="e", id="1", payload=b"1", payload_hash=HASH)),
            ("CancelChild", worker_pb2.CancelChildRequest(**child)),
        ):
            refused = await refusal_of(thief.caller.work(method, request))
            assert refused is not None and (refused.status, refused.code) == (Code.NOT_FOUND, "not_found"), method
            told.append(refused.message.replace(id, "RUN"))

    assert len(set(told)) == 1, "the same whether there is such a run or not"
    assert not (await thief.caller.work("ReadHistory", worker_pb2.ReadHistoryRequest(**claim))).history
    assert outcome(await thief.caller.work("FinishRuns", finish(run))) == "written"


async def test_a_worker_from_afar_holds_no_lock_of_the_server(wire: Wire) -> None:
    """Else the end of a server would look like the death of every worker that has registered there."""
    worker = WireWorker(await wire.caller(Role.WORKER), wire.opened.ids.worker())
    await worker.register()

    (found,) = await wire.opened.runs.list_workers("default")

    assert (found.id, found.lock) == (worker.id, None)


@pytest.mark.spec("security:S-15")
async def test_a_key_has_so_many_streams_and_no_more(wire: Wire) -> None:
    viewer = await wire.caller(Role.VIEWER)
    streams = [viewer.start(ADMIN + "FollowFeed", admin_pb2.ReadFeedRequest()) for _ in range(MOST_STREAMS)]
    for stream in streams:
        await stream.read()

    one_more = viewer.start(ADMIN + "FollowFeed", admin_pb2.ReadFeedRequest())
    refused = await refusal_of(one_more.read())

    assert refused is not None and (refused.status, refused.code) == (Code.RESOURCE_EXHAUSTED, "busy")
    streams.pop().cancel()
    other = await wire.caller(Role.VIEWER)
    assert await other.start(ADMIN + "FollowFeed", admin_pb2.ReadFeedRequest()).read()
    for stream in streams:
        stream.cancel()
