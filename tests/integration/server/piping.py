"""A pipeline for those who know the contract alone: how it is declared, a worker of it, and every call about it."""

from __future__ import annotations

from typing import Any

from tests.integration.server.wire import SECOND, Caller, Wire
from windlass.model.access import Role
from windlass.v1 import model_pb2, pipeline_pb2, pipeline_work_pb2, schedule_pb2, worker_pb2

PIPELINES, WORK = "/windlass.v1.PipelineService/", "/windlass.v1.WorkerService/"
FAILURE = model_pb2.Failure(kind=model_pb2.FAILURE_KIND_TRANSIENT, type="E", message="not now")
INPUT = pipeline_pb2.NewInput(source="shop", type="order", external_id="o-1", title="Order 1")


def spec(name: str = "payments", *, queue: str = "default", revision: str = "r1", **charge: Any) -> Any:
    """A producer that polls, and a consumer with an effect."""
    poll = pipeline_pb2.HandlerSpec(
        name="poll", kind=pipeline_pb2.HANDLER_KIND_PRODUCER, publishes=["order.paid"],
        timing=schedule_pb2.Timing(every=60 * SECOND, tz="UTC"), code="c1",
    )  # fmt: skip
    fields: dict[str, Any] = {
        "name": "charge", "kind": pipeline_pb2.HANDLER_KIND_CONSUMER, "topics": ["order.paid"],
        "publishes": ["receipt"], "prepares": True, "mutates": True, "emits": True, "code": "c1",
    }  # fmt: skip
    handlers = [poll, pipeline_pb2.HandlerSpec(**(fields | charge))]
    return pipeline_pb2.PipelineSpec(name=name, queue=queue, revision=revision, handlers=handlers)


def declaration(*specs: Any, program: str = "shop") -> Any:
    return pipeline_pb2.DeclarePipelinesRequest(program=program, pipelines=specs or [spec()])


def event(id: str = "o-1", *, topic: str = "order.paid", payload: bytes = b"1", **more: Any) -> Any:
    return pipeline_pb2.PublishEvent(topic=topic, id=id, payload=payload, **more)


class PipelineWorker:
    """A worker that serves one pipeline."""

    def __init__(self, caller: Caller, id: str, *, name: str = "payments", queue: str = "default") -> None:
        self.caller, self.id, self.polls, self.name = caller, id, 0, name
        self.served = [model_pb2.ServedPipeline(queue=queue, name=name, revision="r1")]

    async def register(self) -> None:
        request = worker_pb2.RegisterRequest(id=self.id, host="here", pid=1, pipelines=self.served, slots=10)
        await self.caller.work("Register", request)

    def poll_request(self, **changes: Any) -> Any:
        self.polls += 1
        fields: dict[str, Any] = {
            "worker": self.id, "poll": self.polls, "served": self.served, "limit": 10, "visibility_for": 60 * SECOND,
        }  # fmt: skip
        return pipeline_work_pb2.ClaimPipelinesRequest(**(fields | changes))

    async def poll(self, **changes: Any) -> list[Any]:
        answer = await self.caller.work("ClaimPipelines", self.poll_request(**changes))
        return list(answer.pipelines)

    async def claim(self, **changes: Any) -> Any:
        (found,) = await self.poll(**changes)
        return found

    # What it says of a claim

    def of(self, claimed: Any, task: Any = None) -> dict[str, Any]:
        """By what a write names the attempt it is about."""
        return {"pipeline": self.name, "token": claimed.token, "run_id": (task or claimed.task).run_id}

    async def commit(self, claimed: Any, task: Any = None, **more: Any) -> Any:
        request = pipeline_work_pb2.CommitHandlerRequest(**self.of(claimed, task), **more)
        return await self.caller.work("CommitHandler", request)

    async def read(self, claimed: Any, **more: Any) -> Any:
        fields: dict[str, Any] = {"pipeline": self.name, "token": claimed.token, "topic": "order.paid"} | more
        return await self.caller.work("ReadEvents", pipeline_work_pb2.ReadEventsRequest(**fields))

    async def reserve(self, claimed: Any, *events: Any, task: Any = None, **more: Any) -> Any:
        reserved = [pipeline_pb2.Reservation(topic=it.topic, id=it.id, version=it.version) for it in events]
        request = pipeline_work_pb2.ReserveEventsRequest(**self.of(claimed, task), reserved=reserved, **more)
        return await self.caller.work("ReserveEvents", request)

    def effect(self, claimed: Any, task: Any = None, **more: Any) -> Any:
        fields: dict[str, Any] = {
            "subject": self.name, "token": claimed.token, "run_id": (task or claimed.task).run_id,
            "name": "charge_card", "params": b"[1]", "idempotency_key": "k-1", "timeout_for": 10 * SECOND,
        }  # fmt: skip
        return pipeline_work_pb2.BeginEffectRequest(**(fields | more))

    async def begin(self, claimed: Any, task: Any = None, **more: Any) -> Any:
        return await self.caller.work("BeginEffect", self.effect(claimed, task, **more))

    async def apply(self, claimed: Any, task: Any = None, *, result: bytes = b'"paid"') -> Any:
        request = pipeline_work_pb2.ApplyEffectRequest(**self.of(claimed, task), result=result)
        return await self.caller.work("ApplyEffect", request)

    async def stop(self, claimed: Any, task: Any = None, *, phase: Any, **more: Any) -> Any:
        request = pipeline_work_pb2.StopHandlerRequest(
            **self.of(claimed, task), phase=phase, **({"failure": FAILURE} | more)
        )
        return await self.caller.work("StopHandler", request)


class Shop:
    """Who declares, publishes, looks and steers, and a worker of "payments"."""

    def __init__(self, wire: Wire, caller: Caller, worker: PipelineWorker) -> None:
        self.wire, self.caller, self.worker = wire, caller, worker

    async def ask(self, method: str, request: Any = None) -> Any:
        return await self.caller.ask(PIPELINES + method, request)

    async def publish(self, *events: Any) -> list[Any]:
        answer = await self.ask("PublishEvents", pipeline_pb2.PublishEventsRequest(events=events or [event()]))
        return list(answer.outcomes)

    async def get(self) -> Any:
        return await self.ask("GetPipeline", pipeline_pb2.PipelineRequest(name="payments"))

    async def events(self, **more: Any) -> list[Any]:
        answer = await self.ask("ListEvents", pipeline_pb2.ListEventsRequest(pipeline="payments", **more))
        return list(answer.events)

    async def producing(self) -> tuple[Any, Any]:
        """A claim, and the task of the producer: a consumer that is new has looked before, and found nothing."""
        claimed = await self.worker.claim()
        assert claimed.task.handler == "charge"
        await self.worker.reserve(claimed)
        task = (await self.worker.commit(claimed)).task
        assert (task.handler, task.phase) == ("poll", pipeline_pb2.PHASE_EXECUTING)
        return claimed, task

    async def consuming(self, *events: Any) -> tuple[Any, Any]:
        """A claim, and the task of the consumer, with these events before it."""
        await self.publish(*events)
        claimed = await self.worker.claim()
        task = claimed.task
        assert (task.handler, task.phase) == ("charge", pipeline_pb2.PHASE_PREPARING)
        return claimed, task

    async def effecting(self) -> tuple[Any, Any]:
        """The same, with an event reserved and its effect entered."""
        claimed, task = await self.consuming(event(input=INPUT))
        found = await self.worker.read(claimed)
        await self.worker.reserve(claimed, *found.events, task=task)
        begun = await self.worker.begin(claimed, task)
        assert begun.kind == pipeline_work_pb2.BEGUN_KIND_ENTER
        return claimed, task


async def open_shop(wire: Wire, *specs: Any) -> Shop:
    worker = PipelineWorker(await wire.caller(Role.WORKER), wire.opened.ids.worker())
    await worker.register()
    shop = Shop(wire, await wire.caller(Role.OPERATOR), worker)
    await shop.ask("DeclarePipelines", declaration(*specs))
    return shop


# Every call, about one pipeline


def pipeline_reads(name: str, *, attempt: str, token: int, input: str) -> dict[str, Any]:
    held: dict[str, Any] = {"pipeline": name, "token": token}
    return {
        PIPELINES + "ListPipelines": pipeline_pb2.ListPipelinesRequest(after="a"),
        PIPELINES + "GetPipeline": pipeline_pb2.PipelineRequest(name=name),
        PIPELINES + "ExplainPipeline": pipeline_pb2.PipelineRequest(name=name),
        PIPELINES + "ListHandlerRuns": pipeline_pb2.ListHandlerRunsRequest(pipeline=name, handler="poll", limit=5),
        PIPELINES + "GetHandlerRun": pipeline_pb2.GetHandlerRunRequest(run_id=attempt),
        PIPELINES + "ListTopics": pipeline_pb2.ListTopicsRequest(after="a"),
        PIPELINES + "ListEvents": pipeline_pb2.ListEventsRequest(
            pipeline=name, topic="order.paid", status=pipeline_pb2.EVENT_STATUS_PENDING, limit=5
        ),
        PIPELINES + "ListInputs": pipeline_pb2.ListInputsRequest(
            pipeline=name, status=pipeline_pb2.INPUT_STATUS_PENDING, limit=5
        ),
        PIPELINES + "TraceInput": pipeline_pb2.TraceInputRequest(pipeline=name, input=input),
        PIPELINES + "ListOpenEffects": pipeline_pb2.ListOpenEffectsRequest(),
        WORK + "ReadEvents": pipeline_work_pb2.ReadEventsRequest(**held, topic="order.paid", ids=["o-1"], limit=5),
    }


def pipeline_commands(name: str, *, attempt: str, token: int, input: str, worker: str) -> dict[str, Any]:
    steered = pipeline_pb2.SteerPipelineRequest(name=name, by="ann", note="why")
    held: dict[str, Any] = {"pipeline": name, "token": token, "run_id": attempt}
    subject: dict[str, Any] = {"subject": name, "token": token, "run_id": attempt}
    claim = pipeline_work_pb2.PipelineClaimRequest(pipeline=name, token=token, visibility_for=60 * SECOND)
    served = model_pb2.ServedPipeline(queue="default", name=name, revision="r1")
    published = pipeline_work_pb2.NewEvent(topic="order.paid", id="o-2", payload=b"2", causes=[input])
    run = "run_" + "9" * 26
    return {
        **{PIPELINES + method: steered for method in ("PausePipeline", "ResumePipeline", "RunNow", "RetryPipeline")},
        PIPELINES + "DecideHandler": pipeline_pb2.DecideHandlerRequest(name=name, is_approved=True, run_id=attempt),
        PIPELINES + "ResolveEffect": pipeline_pb2.ResolveEffectRequest(
            subject=name, resolution=pipeline_pb2.RESOLUTION_DID_NOT_HAPPEN, by="ann"
        ),
        PIPELINES + "SkipInput": pipeline_pb2.SkipInputRequest(pipeline=name, input=input, by="ann"),
        WORK + "ClaimPipelines": pipeline_work_pb2.ClaimPipelinesRequest(
            worker=worker, poll=9, served=[served], limit=1, visibility_for=60 * SECOND
        ),
        WORK + "ReserveEvents": pipeline_work_pb2.ReserveEventsRequest(
            **held, reserved=[pipeline_pb2.Reservation(topic="order.paid", id="o-1", version=1)], data=b"1", title="t",
        ),
        WORK + "BeginEffect": pipeline_work_pb2.BeginEffectRequest(
            **subject, name="charge_card", params=b"[1]", idempotency_key="k", title="t", timeout_for=SECOND
        ),
        WORK + "ApplyEffect": pipeline_work_pb2.ApplyEffectRequest(**held, result=b"1"),
        WORK + "CommitHandler": pipeline_work_pb2.CommitHandlerRequest(
            **held, has_state=True, state=b"1", events=[published], inputs=[INPUT], title="t"
        ),
        WORK + "StopHandler": pipeline_work_pb2.StopHandlerRequest(
            **held, phase=pipeline_pb2.PHASE_EXECUTING, failure=FAILURE
        ),
        WORK + "ReconcileEffect": pipeline_work_pb2.ReconcileEffectRequest(**subject, result=b"1", continues=True),
        WORK + "FailEffect": pipeline_work_pb2.FailEffectRequest(
            run_id=run, token=token, step_key="pay", attempt=1, verdict=pipeline_work_pb2.EFFECT_VERDICT_UNKNOWN,
            failure=FAILURE,
        ),
        WORK + "FixHandler": pipeline_work_pb2.FixHandlerRequest(**held, is_fixed=True, note="why"),
        WORK + "RenewPipeline": claim,
        WORK + "ReleasePipeline": claim,
    }  # fmt: skip


def pipeline_creations(name: str) -> dict[str, Any]:
    return {
        PIPELINES + "DeclarePipelines": declaration(spec(name)),
        PIPELINES + "PublishEvents": pipeline_pb2.PublishEventsRequest(events=[event(input=INPUT)]),
    }
