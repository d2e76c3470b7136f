"""Can a worker that knows the contract alone execute a pipeline to its end, and not get away with a wrong word?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.server.piping import (
    FAILURE,
    INPUT,
    PIPELINES,
    WORK,
    PipelineWorker,
    Shop,
    declaration,
    event,
    open_shop,
    pipeline_commands,
    pipeline_reads,
    spec,
)
from tests.integration.server.test_grpc_messages import FINE
from tests.integration.server.test_grpc_nearly import nearly
from tests.integration.server.wire import SECOND, Code, Wire, WireWorker, refusal_of
from windlass.model.access import Role
from windlass.rules.inputs import input_id
from windlass.v1 import pipeline_pb2, pipeline_work_pb2

MEBIBYTE = 1024 * 1024


@pytest.fixture
async def shop(wire: Wire) -> Shop:
    return await open_shop(wire)


@pytest.fixture
async def memory_shop(memory_wire: Wire) -> Shop:
    return await open_shop(memory_wire)


# From the first event to the last effect


async def test_a_pipeline_is_declared_executed_and_looked_at(shop: Shop) -> None:
    worker = shop.worker
    claimed, producer = await shop.producing()
    assert (claimed.name, claimed.revision, producer.kind) == ("payments", "r1", pipeline_work_pb2.TASK_KIND_HANDLE)
    paid = pipeline_work_pb2.NewEvent(topic="order.paid", id="o-1", payload=b'{"sum":7}', causes=[known(INPUT)])
    committed = await worker.commit(claimed, producer, has_state=True, state=b'"cursor"', events=[paid], inputs=[INPUT])
    task = committed.task
    assert (task.handler, task.phase) == ("charge", pipeline_pb2.PHASE_PREPARING)
    (found,) = (await worker.read(claimed)).events
    assert (found.id, found.payload, found.causes) == ("o-1", b'{"sum":7}', [known(INPUT)])

    reserved = await worker.reserve(claimed, found, task=task, data=b"7", title="Charge order 1")
    assert reserved.outcome == pipeline_work_pb2.RESERVE_OUTCOME_RESERVED
    assert (await worker.begin(claimed, task)).kind == pipeline_work_pb2.BEGUN_KIND_ENTER
    assert (await worker.apply(claimed, task)).at > 0
    ended = await worker.commit(
        claimed, task, events=[pipeline_work_pb2.NewEvent(topic="receipt", id="r", payload=b"1")]
    )
    assert not ended.HasField("task")

    detail = await shop.get()
    assert detail.view.pipeline.status == pipeline_pb2.PIPELINE_STATUS_IDLE
    assert [view.handler.name for view in detail.view.handlers] == ["poll", "charge"]
    (event_row,) = await shop.events()
    assert event_row.status == pipeline_pb2.EVENT_STATUS_CONSUMED
    page = await shop.ask("ListHandlerRuns", pipeline_pb2.ListHandlerRunsRequest(pipeline="payments"))
    assert [run.handler for run in page.runs] == ["charge", "poll", "charge"]
    seen = (await shop.ask("GetHandlerRun", pipeline_pb2.GetHandlerRunRequest(run_id=task.run_id))).view
    assert (seen.run.status, seen.data, seen.result) == (pipeline_pb2.HANDLER_STATUS_COMMITTED, b"7", b'"paid"')
    assert (seen.effect.status, [item.id for item in seen.events]) == (pipeline_pb2.EFFECT_STATUS_APPLIED, ["o-1"])
    traced = await shop.ask("TraceInput", pipeline_pb2.TraceInputRequest(pipeline="payments", input=known(INPUT)))
    assert traced.trace.input.status == pipeline_pb2.INPUT_STATUS_DONE
    assert [effect.name for effect in traced.trace.effects] == ["charge_card"]
    assert not (await shop.ask("ListOpenEffects")).effects


def known(item: Any) -> str:
    return input_id(item.source, item.type, item.external_id)


async def test_published_from_outside_it_wakes_a_consumer_and_names_its_input(shop: Shop) -> None:
    first, second = await shop.publish(event(input=INPUT), event("o-2", topic="nobody.listens"))
    again = (await shop.publish(event(payload=b"2", input=INPUT)))[0]

    assert (first.published.pipelines, first.published.is_repeat) == (1, False)
    assert second.published.pipelines == 0
    assert again.published.is_repeat
    (found,) = await shop.events()
    assert (found.payload, found.status, found.causes) == (b"2", pipeline_pb2.EVENT_STATUS_PENDING, [known(INPUT)])
    (listed,) = (await shop.ask("ListInputs", pipeline_pb2.ListInputsRequest(pipeline="payments"))).inputs
    assert (listed.external_id, listed.title, listed.pending) == ("o-1", "Order 1", 1)
    topics = {view.name: dict(view.pending) for view in (await shop.ask("ListTopics")).topics}
    assert topics["order.paid"] == {"payments": 1}


async def test_one_event_that_is_refused_does_not_keep_its_neighbours_from_being_published(shop: Shop) -> None:
    outcomes = await shop.publish(event(), event("", payload=b"2"), event("o-3"))

    assert [item.error.path for item in outcomes] == ["", "event id", ""]
    assert [item.id for item in await shop.events()] == ["o-1", "o-3"]


async def test_an_effect_of_which_nobody_knows_is_resolved_by_a_person(shop: Shop) -> None:
    claimed, task = await shop.effecting()
    stopped = await shop.worker.stop(
        claimed, task, phase=pipeline_pb2.PHASE_MUTATING, verdict=pipeline_work_pb2.EFFECT_VERDICT_UNKNOWN
    )
    assert stopped.run.status == pipeline_pb2.HANDLER_STATUS_PAUSED_RECONCILIATION
    shop.wire.clock.advance("5m")  # type: ignore[attr-defined]  # until nobody can be inside any more
    (open_effect,) = (await shop.ask("ListOpenEffects")).effects
    assert (open_effect.subject, open_effect.name, open_effect.params) == ("payments", "charge_card", b"[1]")

    request = pipeline_pb2.ResolveEffectRequest(
        subject="payments", resolution=pipeline_pb2.RESOLUTION_HAPPENED, result=b'"seen"', by="ann"
    )
    resolved = await shop.ask("ResolveEffect", request)

    assert (resolved.status, resolved.resolved_by) == (pipeline_pb2.EFFECT_STATUS_APPLIED, "ann")
    goes_on = (await shop.worker.claim()).task
    assert (goes_on.handler, goes_on.phase, goes_on.result) == ("charge", pipeline_pb2.PHASE_EMITTING, b'"seen"')


async def test_what_needs_approval_waits_for_it(wire: Wire) -> None:
    shop = await open_shop(wire, spec(needs_approval=True))
    claimed, task = await shop.consuming()
    (found,) = (await shop.worker.read(claimed)).events

    parked = await shop.worker.reserve(claimed, found, task=task)
    assert parked.outcome == pipeline_work_pb2.RESERVE_OUTCOME_PARKED
    assert (await shop.get()).view.pipeline.issue == pipeline_pb2.ISSUE_APPROVAL
    decide = pipeline_pb2.DecideHandlerRequest(name="payments", is_approved=True, run_id=task.run_id, by="ann")
    await shop.ask("DecideHandler", decide)
    await shop.ask("DecideHandler", decide)  # the same once more

    goes_on = await shop.worker.claim()
    assert (goes_on.task.run_id, goes_on.task.phase) == (task.run_id, pipeline_pb2.PHASE_PREPARED)


async def test_a_pipeline_is_paused_resumed_and_run_now(shop: Shop) -> None:
    steer = pipeline_pb2.SteerPipelineRequest(name="payments", by="ann", note="maintenance")

    paused = await shop.ask("PausePipeline", steer)
    assert (paused.view.pipeline.is_paused, paused.view.pipeline.paused_by) == (True, "ann")
    assert await shop.worker.poll() == []
    assert "paused" in (await shop.ask("ExplainPipeline", pipeline_pb2.PipelineRequest(name="payments"))).text
    refused = await shop.caller.refusal(PIPELINES + "RunNow", steer)
    assert (refused.status, refused.code) == (Code.FAILED_PRECONDITION, "wrong_state")
    assert not (await shop.ask("ResumePipeline", steer)).view.pipeline.is_paused
    claimed, producer = await shop.producing()
    await shop.worker.commit(claimed, producer)
    queued = await shop.ask("RunNow", steer)
    assert [view.handler.is_queued for view in queued.view.handlers] == [True, False]


async def test_an_input_is_skipped_with_all_it_has_caused(shop: Shop) -> None:
    await shop.publish(event(input=INPUT), event("o-2"))

    skipped = await shop.ask("SkipInput", pipeline_pb2.SkipInputRequest(pipeline="payments", input=known(INPUT)))
    one = await shop.ask(
        "SkipInput", pipeline_pb2.SkipInputRequest(pipeline="payments", topic="order.paid", event="o-2")
    )

    assert (skipped.skipped, one.skipped) == (1, 1)
    assert {item.status for item in await shop.events()} == {pipeline_pb2.EVENT_STATUS_SKIPPED}


# A run's effect, on the same ledger


async def test_an_effect_of_a_step_is_entered_and_applied_with_the_step(wire: Wire) -> None:
    client = await wire.caller(Role.CLIENT, Role.OPERATOR)
    worker = WireWorker(await wire.caller(Role.WORKER), wire.opened.ids.worker())
    await worker.register()
    await client.begin_run()
    run = await worker.claim()
    request = pipeline_work_pb2.BeginEffectRequest(
        subject=run.run_id, token=run.token, run_id=run.run_id, step_key="pay", name="charge_card", params=b"[1]",
        idempotency_key="k", timeout_for=SECOND,
    )  # fmt: skip

    begun = await worker.caller.work("BeginEffect", request)
    assert begun.kind == pipeline_work_pb2.BEGUN_KIND_ENTER
    failed = pipeline_work_pb2.FailEffectRequest(
        run_id=run.run_id, token=run.token, step_key="pay", attempt=begun.attempt, failure=FAILURE,
        verdict=pipeline_work_pb2.EFFECT_VERDICT_UNKNOWN,
    )  # fmt: skip
    told = await worker.caller.work("FailEffect", failed)

    assert told.kind == pipeline_work_pb2.BEGUN_KIND_PERSON  # there is nobody else to ask
    (open_effect,) = (await client.ask(PIPELINES + "ListOpenEffects")).effects
    assert (open_effect.subject_kind, open_effect.subject, open_effect.step_key) == (
        pipeline_pb2.SUBJECT_KIND_RUN, run.run_id, "pay",
    )  # fmt: skip
    stale = pipeline_work_pb2.BeginEffectRequest()
    stale.CopyFrom(request)
    stale.token += 1
    refused = await worker.caller.refusal(WORK + "BeginEffect", stale)
    assert (refused.status, refused.code) == (Code.FAILED_PRECONDITION, "claim_lost")


# Who may not


@pytest.mark.spec("security:83", "security:84", "security:85")
async def test_no_write_is_taken_with_another_token_or_for_another_attempt(shop: Shop) -> None:
    claimed, task = await shop.effecting()
    other = "hrn_" + "7" * 26
    before = await shop.events()

    wrong = ((task.run_id, claimed.token + 1), (task.run_id, claimed.token - 1), (other, claimed.token))
    for attempt, token in wrong:
        requests = pipeline_commands(
            "payments", attempt=attempt, token=token, input=known(INPUT), worker=shop.worker.id
        )
        for path, request in requests.items():
            if not path.startswith(WORK) or path.endswith("ClaimPipelines"):
                continue
            if attempt == other and "run_id" not in request.DESCRIPTOR.fields_by_name:
                continue
            if token < 1:
                continue
            refused = await shop.worker.caller.refusal(path, request)
            assert (refused.status, refused.code) == (Code.FAILED_PRECONDITION, "claim_lost"), path

    assert await shop.events() == before
    assert (await shop.worker.apply(claimed, task)).at > 0
    assert (await shop.worker.apply(claimed, task)).at > 0  # the same once more


@pytest.mark.spec("security:S-08", "security:83")
async def test_a_key_of_one_queue_claims_and_reaches_no_pipeline_of_another(shop: Shop) -> None:
    claimed, task = await shop.consuming(event(input=INPUT))
    mail = await shop.wire.caller(Role.WORKER, queues=("mail",))
    thief = PipelineWorker(mail, shop.wire.opened.ids.worker())

    refused = await refusal_of(thief.poll())
    assert refused is not None
    assert (refused.status, refused.code) == (Code.PERMISSION_DENIED, "forbidden")
    requests = pipeline_commands(
        "payments", attempt=task.run_id, token=claimed.token, input=known(INPUT), worker=thief.id
    )
    reads = pipeline_reads("payments", attempt=task.run_id, token=claimed.token, input=known(INPUT))
    for path, request in (requests | reads).items():
        if path.startswith(WORK) and not path.endswith(("ClaimPipelines", "FailEffect")):
            refused = await mail.refusal(path, request)
            assert (refused.status, refused.code) == (Code.FAILED_PRECONDITION, "claim_lost"), path
    assert len((await shop.worker.read(claimed)).events) == 1


async def test_a_poll_that_is_asked_again_hears_what_it_has_claimed(shop: Shop) -> None:
    request = shop.worker.poll_request()
    (first,) = (await shop.worker.caller.work("ClaimPipelines", request)).pipelines
    (again,) = (await shop.worker.caller.work("ClaimPipelines", request)).pipelines

    assert (again.token, again.task.run_id) == (first.token, first.task.run_id)
    assert await shop.worker.poll() == []


# What cannot be


BAD_SPECS: list[tuple[Any, str]] = [
    (spec("a b"), "pipeline name"),
    (spec(queue=""), "queue"),
    (spec(revision="x" * 201), "revision"),
    (pipeline_pb2.PipelineSpec(name="p", queue="q", revision="r"), "number of handlers"),
    (spec(topics=[]), "handler"),
    (spec(topics=["a/b"]), "topic"),
    (spec(batch=-1), "batch"),
    (spec(batch=1_001), "batch"),
    (spec(timeout_for=0), "timeout"),
    (spec(kind=99), "kind"),
]


@pytest.mark.spec("security:78", "security:88")
@pytest.mark.parametrize(("bad", "path"), BAD_SPECS, ids=lambda value: value if isinstance(value, str) else "")
async def test_a_pipeline_that_cannot_be_is_refused_by_name(memory_shop: Shop, bad: Any, path: str) -> None:
    refused = await memory_shop.caller.refusal(PIPELINES + "DeclarePipelines", declaration(bad))

    assert (refused.status, refused.detail.path) == (Code.INVALID_ARGUMENT, path)
    assert len((await memory_shop.ask("ListPipelines")).pipelines) == 1


@pytest.mark.spec("security:73")
async def test_what_cannot_be_reserved_is_refused_and_nothing_is(shop: Shop) -> None:
    claimed, task = await shop.consuming(event("o-1"), event("o-2"))
    first, second = (await shop.worker.read(claimed)).events
    foreign = pipeline_pb2.PipelineEvent(topic="receipt", id="r", version=1)
    unknown = pipeline_pb2.PipelineEvent(topic="order.paid", id="never", version=1)
    many = [pipeline_pb2.PipelineEvent(topic="order.paid", id=f"o-{n}", version=1) for n in range(1_001)]

    for events in ((first, foreign), (first, unknown), (first, first), many):
        refused = await refusal_of(shop.worker.reserve(claimed, *events, task=task))
        assert refused is not None
        assert refused.status is Code.INVALID_ARGUMENT, events
    assert {item.status for item in await shop.events()} == {pipeline_pb2.EVENT_STATUS_PENDING}
    stale = pipeline_pb2.PipelineEvent(topic="order.paid", id="o-1", version=first.version + 7)
    changed = await shop.worker.reserve(claimed, stale, second, task=task)
    assert changed.outcome == pipeline_work_pb2.RESERVE_OUTCOME_CHANGED


@pytest.mark.spec("security:75")
async def test_nothing_is_published_to_a_topic_that_was_not_declared(shop: Shop) -> None:
    claimed, producer = await shop.producing()
    wrong = pipeline_work_pb2.NewEvent(topic="receipt", id="r", payload=b"1")
    right = pipeline_work_pb2.NewEvent(topic="order.paid", id="o-1", payload=b"1")

    refused = await refusal_of(shop.worker.commit(claimed, producer, events=[right, wrong]))

    assert refused is not None
    assert refused.status is Code.INVALID_ARGUMENT
    assert await shop.events() == []
    assert (await shop.worker.commit(claimed, producer, events=[right])).at > 0


@pytest.mark.parametrize(
    ("method", "request_", "path"),
    [
        ("GetHandlerRun", pipeline_pb2.GetHandlerRunRequest(run_id="run_" + "0" * 26), "handler run id"),
        ("GetHandlerRun", pipeline_pb2.GetHandlerRunRequest(run_id="hrn_" + "0" * 26, skip_events=-1), "skip"),
        ("TraceInput", pipeline_pb2.TraceInputRequest(pipeline="payments", input="inp_1"), "input id"),
        ("ListEvents", pipeline_pb2.ListEventsRequest(pipeline="payments", limit=501), "limit"),
        ("ListEvents", pipeline_pb2.ListEventsRequest(pipeline="payments", after=-1), "after"),
        (
            "ListEvents",
            pipeline_pb2.ListEventsRequest(pipeline="payments", status="EVENT_STATUS_UNSPECIFIED"),
            "status",
        ),
        ("ListInputs", pipeline_pb2.ListInputsRequest(pipeline="payments", limit=-1), "limit"),
        ("ListHandlerRuns", pipeline_pb2.ListHandlerRunsRequest(pipeline="payments", before="x"), "before"),
        ("GetPipeline", pipeline_pb2.PipelineRequest(name="a\x00b"), "pipeline"),
        ("ResolveEffect", pipeline_pb2.ResolveEffectRequest(subject="payments"), "resolution"),
        (
            "ResolveEffect",
            pipeline_pb2.ResolveEffectRequest(subject="payments", resolution=pipeline_pb2.RESOLUTION_SKIP, result=b"1"),
            "resolution",
        ),
        ("SkipInput", pipeline_pb2.SkipInputRequest(pipeline="payments"), "input"),
        ("SkipInput", pipeline_pb2.SkipInputRequest(pipeline="payments", topic="order.paid"), "input"),
        (
            "DecideHandler",
            pipeline_pb2.DecideHandlerRequest(name="payments", is_approved=True, releases=True),
            "releases",
        ),
        ("PublishEvents", pipeline_pb2.PublishEventsRequest(), "number of events"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.spec("security:88", "security:92")
async def test_what_cannot_be_asked_is_refused_by_name(
    memory_shop: Shop, method: str, request_: Any, path: str
) -> None:
    refused = await memory_shop.caller.refusal(PIPELINES + method, request_)

    assert (refused.status, refused.detail.path) == (Code.INVALID_ARGUMENT, path)


@pytest.mark.parametrize(
    ("method", "changes", "path"),
    [
        ("ClaimPipelines", {"limit": 0}, "slots"),
        ("ClaimPipelines", {"limit": 10**9}, "slots"),
        ("ClaimPipelines", {"worker": ""}, "worker id"),
        ("ClaimPipelines", {"visibility_for": 1}, "visibility"),
        ("ReadEvents", {"limit": 1_001}, "limit"),
        ("ReserveEvents", {"token": 0}, "token"),
        ("ReserveEvents", {"wake_at": 5, "wake_in": 5}, "wake_at"),
        ("BeginEffect", {"name": ""}, "effect name"),
        ("BeginEffect", {"step_key": "pay"}, "step"),
        ("BeginEffect", {"run_id": "run_" + "0" * 26}, "subject"),
        ("BeginEffect", {"params": b"x" * (3 * MEBIBYTE + 1)}, "params"),
        ("CommitHandler", {"has_state": False}, "has_state"),
        ("CommitHandler", {"run_id": "x"}, "handler run id"),
        ("StopHandler", {"phase": 99}, "phase"),
        ("ReconcileEffect", {"did_not_happen": True}, "did_not_happen"),
        ("FailEffect", {"step_key": ""}, "step"),
        ("FailEffect", {"verdict": 0}, "verdict"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.spec("security:83", "security:86", "security:87", "security:88")
async def test_what_a_worker_cannot_say_is_refused_by_name(
    memory_shop: Shop, method: str, changes: dict[str, Any], path: str
) -> None:
    attempt, input = "hrn_" + "0" * 26, known(INPUT)
    worker = memory_shop.worker
    requests = pipeline_commands("payments", attempt=attempt, token=1, input=input, worker=worker.id)
    request = (requests | pipeline_reads("payments", attempt=attempt, token=1, input=input))[WORK + method]
    for name, value in changes.items():
        setattr(request, name, value)

    refused = await worker.caller.refusal(WORK + method, request)

    assert (refused.status, refused.detail.path) == (Code.INVALID_ARGUMENT, path)


async def test_an_input_has_the_id_that_follows_from_what_it_names(memory_shop: Shop) -> None:
    stranger = pipeline_pb2.NewInput(id="inp_" + "0" * 26, source="shop", type="order", external_id="o-1")

    (outcome,) = await memory_shop.publish(event(input=stranger))

    assert (outcome.error.code, outcome.error.path) == ("invalid_input", "input id")


@pytest.mark.spec("security:88", "security:S-30", "security:S-22")
async def test_one_strange_field_about_an_attempt_that_is_held_makes_no_call_fail(wire: Wire) -> None:
    """Each time with an attempt that is really held: so all of it is reached, down to the tables."""
    tried = set[str]()
    shop = await open_shop(wire)
    for method in ("ReserveEvents", "CommitHandler", "StopHandler", "BeginEffect"):
        claimed = await shop.worker.claim()
        request = pipeline_commands(
            "payments", attempt=claimed.task.run_id, token=claimed.token, input=known(INPUT), worker=shop.worker.id
        )[WORK + method]
        for path, changed in nearly(request):
            found = await shop.worker.caller.tried(WORK + method, changed)
            assert found is None or found.status in FINE, (method, path, found)
            tried.add(f"{method} {path}".rpartition(" is ")[0])
        await refusal_of(shop.worker.caller.work("ReleasePipeline", _claim(claimed)))
        wire.clock.advance("1h")  # type: ignore[attr-defined]

    assert tried >= {"ReserveEvents reserved.topic", "CommitHandler events.causes", "StopHandler failure.kind"}
    assert await wire.is_serving()


def _claim(claimed: Any) -> Any:
    return pipeline_work_pb2.PipelineClaimRequest(pipeline="payments", token=claimed.token)
