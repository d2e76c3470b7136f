"""A worker of pipelines whose every write a test makes by hand, against one engine of several on a database."""

from __future__ import annotations

from typing import Any

from tests.invariants.evidence import PipedRows, take_snapshot
from windlass.engine.engine import Engine
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline import HandlerKind, HandlerSpec, NewEvent, Phase, PipelineSpec, Reservation
from windlass.model.pipeline_commands import DeclarePipelines, Publish, SteerPipeline
from windlass.model.pipeline_work import (
    ApplyEffect,
    BeginEffect,
    ClaimedPipeline,
    ClaimPipelines,
    CommitHandler,
    FixHandler,
    PipelineClaim,
    ReadEvents,
    ReconcileEffect,
    ReserveEvents,
    StopHandler,
    Task,
    Verdict,
)
from windlass.model.run import WorkerId
from windlass.model.time import SECOND, Duration
from windlass.model.worker import ServedPipeline

NAMESPACE, QUEUE = "default", "default"
PIPELINE, ORDERS, DONE = "payments", "orders", "done"
FOR = Duration(30 * SECOND)  # a claim
TIMEOUT = Duration(10 * SECOND)  # of an effect
NO = Failure(kind=FailureKind.TRANSIENT, type="Error", message="no")
WRONG = Failure(kind=FailureKind.LOGIC, type="Error", message="wrong")
CHARGE = HandlerSpec(
    name="charge",
    kind=HandlerKind.CONSUMER,
    topics=(ORDERS,),
    publishes=(DONE,),
    prepares=True,
    mutates=True,
    emits=True,
)


def pipeline(name: str = PIPELINE, *handlers: HandlerSpec, revision: str = "1", **fields: Any) -> PipelineSpec:
    return PipelineSpec(name=name, queue=QUEUE, revision=revision, handlers=handlers or (CHARGE,), **fields)


class Shop:
    """The pipelines it is given, from outside."""

    def __init__(self, engine: Engine, *specs: PipelineSpec) -> None:
        self.engine, self.specs = engine, specs or (pipeline(),)

    async def declare(self) -> None:
        command = DeclarePipelines(namespace=NAMESPACE, program="shop", pipelines=self.specs)
        await self.engine.pipeline_control.declare_pipelines(command)

    async def publish(self, id: str, *, topic: str = ORDERS, payload: bytes = b"1") -> None:
        await self.engine.pipelines.publish(Publish(namespace=NAMESPACE, topic=topic, id=id, payload=payload))

    def steering(self, name: str = PIPELINE) -> SteerPipeline:
        return SteerPipeline(namespace=NAMESPACE, name=name, by="ann")

    async def piped(self) -> PipedRows:
        return (await take_snapshot(self.engine.parts.store, at=0, life=0, is_judged=False)).piped


class Hands(Shop):
    """Serves the pipelines it is given; holds at most one of them."""

    def __init__(self, engine: Engine, worker: str, *specs: PipelineSpec) -> None:
        super().__init__(engine, *specs)
        self.worker = WorkerId(worker)
        self.held: ClaimedPipeline | None = None
        self.served = tuple(ServedPipeline(spec.queue, spec.name, spec.revision) for spec in self.specs)
        self._polls = 0

    async def claim(self, *, limit: int = 1) -> Task | None:
        self._polls += 1
        command = ClaimPipelines(
            namespace=NAMESPACE,
            worker=self.worker,
            poll=self._polls,
            served=self.served,
            limit=limit,
            visibility_for=FOR,
            wait_for=Duration(0),
        )
        claimed = await self.engine.work.claim_pipelines(command)
        if not claimed:
            return None
        self.held = claimed[0]
        return self.held.task

    @property
    def _claim(self) -> dict[str, Any]:
        assert self.held is not None
        return {"namespace": NAMESPACE, "pipeline": self.held.name, "token": self.held.token}

    @property
    def _subject(self) -> dict[str, Any]:
        assert self.held is not None
        return {"namespace": NAMESPACE, "subject": self.held.name, "token": self.held.token}

    async def pending(self) -> tuple[Reservation, ...]:
        """What `prepare` would choose: all there is."""
        found = await self.engine.work.read_events(ReadEvents(**self._claim, topic=ORDERS))
        return tuple(Reservation(topic=item.topic, id=item.id, version=item.version) for item in found)

    async def reserve(self, task: Task, *events: Reservation) -> Any:
        return await self.engine.work.reserve_events(
            ReserveEvents(**self._claim, run_id=task.run_id, reserved=events, data=b"1")
        )

    async def begin(self, task: Task, *, has_reconcile: bool = True) -> Any:
        return await self.engine.work.begin_effect(
            BeginEffect(
                **self._subject,
                run_id=task.run_id,
                name="charge",
                params=b"[]",
                idempotency_key="key",
                has_reconcile=has_reconcile,
                timeout_for=TIMEOUT,
            )
        )

    async def apply(self, task: Task) -> Any:
        return await self.engine.work.apply_effect(ApplyEffect(**self._claim, run_id=task.run_id, result=b"2"))

    async def commit(self, task: Task, *published: str, continues: bool = True, topic: str = DONE) -> Task | None:
        events = tuple(NewEvent(topic=topic, id=id, payload=b"3") for id in published)
        command = CommitHandler(
            **self._claim, run_id=task.run_id, events=events, continues=continues, visibility_for=FOR
        )
        return (await self.engine.work.commit_handler(command)).task

    async def stop(self, task: Task, failure: Failure = NO, *, verdict: Verdict | None = None) -> Any:
        phase = Phase.MUTATING if verdict is not None else Phase.PREPARING
        return await self.engine.work.stop_handler(
            StopHandler(**self._claim, run_id=task.run_id, phase=phase, failure=failure, verdict=verdict)
        )

    async def reconcile(self, task: Task, *, did_not_happen: bool = False, is_unknown: bool = False) -> Any:
        result = None if did_not_happen or is_unknown else b"2"
        return await self.engine.work.reconcile_effect(
            ReconcileEffect(
                **self._subject, run_id=task.run_id, result=result, did_not_happen=did_not_happen, continues=True
            )
        )

    async def fix(self, task: Task) -> Any:
        return await self.engine.work.fix_handler(FixHandler(**self._claim, run_id=task.run_id, is_fixed=True))

    async def renew(self) -> None:
        await self.engine.work.renew_pipeline(PipelineClaim(**self._claim, visibility_for=FOR))

    async def release(self) -> None:
        await self.engine.work.release_pipeline(PipelineClaim(**self._claim))
