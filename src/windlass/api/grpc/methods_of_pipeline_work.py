"""What workers ask of WorkerService about pipelines and effects: how each of these calls is answered."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from windlass.api.checks import check
from windlass.api.checks_of_pipelines import LAST_SEQ
from windlass.api.grpc import envelopes as of
from windlass.api.grpc import envelopes_of_pipelines as of_pipelines
from windlass.api.grpc.methods_of_work import SERVICE, capped_wait, check_queues
from windlass.api.grpc.mirror import mirror
from windlass.api.grpc.table import LARGEST_ANSWER, PAGE_BYTES, Call, Row, page
from windlass.api.sizes_of_pipelines import size_of_event, size_of_task
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline_work import (
    ApplyEffect,
    BeginEffect,
    Begun,
    ClaimedPipeline,
    ClaimPipelines,
    CommitHandler,
    Committed,
    FailEffect,
    FixHandler,
    PipelineClaim,
    ReadEvents,
    Reconciled,
    ReconcileEffect,
    Reserved,
    ReserveEvents,
    StopHandler,
    Stopped,
    Task,
    TaskKind,
)
from windlass.rules.limits import check_limit
from windlass.v1 import pipeline_work_pb2

DEFAULT_EVENTS = 100
LARGEST_TASK = LARGEST_ANSWER - 1024 * 1024  # and what stands around it

_CLAIMED = mirror(ClaimedPipeline, pipeline_work_pb2.ClaimedPipeline.DESCRIPTOR)


async def _claim(call: Call, asked: ClaimPipelines) -> Any:
    arrived_at = call.clock.monotonic()
    asked = check(replace(asked, wait_for=capped_wait(asked.wait_for)))
    check_queues(call, asked.served)
    claimed = await call.service.work.claim_pipelines(asked)
    answer = pipeline_work_pb2.ClaimPipelinesResponse()
    if claimed:
        answer.claimed_after = max(0, min(found.asked_at for found in claimed) - arrived_at)
    room = PAGE_BYTES
    for place, found in enumerate(claimed):
        claim = PipelineClaim(namespace=asked.namespace, pipeline=found.name, token=found.token)
        if room <= 0 and place:  # the others get their turn when this worker, or another one, asks again
            await call.service.work.release_pipeline(claim)
        elif await _sent(call, claim, found.task) is not None:
            answer.pipelines.append(_CLAIMED.to_message(found))
            room -= size_of_task(found.task)
    return answer


async def _sent(call: Call, claim: PipelineClaim, task: Task | None) -> Task | None:
    """The task, if it fits into an answer. Else it is stopped and a person hears why: it would be claimed for ever."""
    if task is None or size_of_task(task) <= LARGEST_TASK:
        return task
    text = (
        f"What {task.handler!r} is to be given has {size_of_task(task):,} bytes, and an answer of a server has room "
        f"for {LARGEST_TASK:,}. Keep less in its state and in what it prepares, or execute it beside the database."
    )
    failure = Failure(kind=FailureKind.INTERNAL, type="windlass.TaskTooLarge", message=text)
    held: dict[str, Any] = {"namespace": claim.namespace, "token": claim.token, "run_id": task.run_id}
    if task.kind is TaskKind.RECONCILE:
        await call.service.work.reconcile_effect(ReconcileEffect(**held, subject=claim.pipeline, failure=failure))
    elif task.kind is TaskKind.FIX:
        await call.service.work.fix_handler(FixHandler(**held, pipeline=claim.pipeline, is_fixed=False, note=text))
    else:
        stop = StopHandler(**held, pipeline=claim.pipeline, phase=task.phase, failure=failure)
        await call.service.work.stop_handler(stop)
    return None


async def _read_events(call: Call, asked: of_pipelines.ReadEventsFrom) -> of_pipelines.EventRows:
    check_limit(asked.after, what="after", low=0, high=LAST_SEQ)
    command = ReadEvents(
        namespace=asked.namespace,
        pipeline=asked.pipeline,
        token=asked.token,
        topic=asked.topic,
        ids=asked.ids or None,
        limit=asked.limit or DEFAULT_EVENTS,
    )
    found = await call.service.work.read_events(check(command))
    left = sorted([event for event in found if event.seq > asked.after], key=lambda event: event.seq)
    events, has_more = page(left, size_of_event)
    return of_pipelines.EventRows(events=events, has_more=has_more)


async def _reserve(call: Call, asked: ReserveEvents) -> Reserved:
    return await call.service.work.reserve_events(check(asked))


async def _begin(call: Call, asked: BeginEffect) -> Begun:
    return await call.service.work.begin_effect(check(asked))


async def _apply(call: Call, asked: ApplyEffect) -> of.Written:
    return of.Written(at=await call.service.work.apply_effect(check(asked)))


async def _commit(call: Call, asked: CommitHandler) -> Committed:
    committed = await call.service.work.commit_handler(check(asked))
    claim = PipelineClaim(namespace=asked.namespace, pipeline=asked.pipeline, token=asked.token)
    return replace(committed, task=await _sent(call, claim, committed.task))


async def _stop(call: Call, asked: StopHandler) -> Stopped:
    return await call.service.work.stop_handler(check(asked))


async def _reconcile(call: Call, asked: ReconcileEffect) -> Reconciled:
    reconciled = await call.service.work.reconcile_effect(check(asked))
    claim = PipelineClaim(namespace=asked.namespace, pipeline=asked.subject, token=asked.token)
    return replace(reconciled, task=await _sent(call, claim, reconciled.task))


async def _fail(call: Call, asked: FailEffect) -> Begun:
    return await call.service.work.fail_effect(check(asked))


async def _fix(call: Call, asked: FixHandler) -> of.Written:
    return of.Written(at=await call.service.work.fix_handler(check(asked)))


async def _renew(call: Call, asked: PipelineClaim) -> of.Nothing:
    await call.service.work.renew_pipeline(check(asked))
    return of.Nothing()


async def _release(call: Call, asked: PipelineClaim) -> of.Nothing:
    await call.service.work.release_pipeline(check(asked))
    return of.Nothing()


ROWS = [
    Row(SERVICE, "ClaimPipelines", "claim_pipelines", ClaimPipelines, None, _claim, is_long=True),
    Row(SERVICE, "ReadEvents", "read_events", of_pipelines.ReadEventsFrom, of_pipelines.EventRows, _read_events),
    Row(SERVICE, "ReserveEvents", "reserve_events", ReserveEvents, Reserved, _reserve),
    Row(SERVICE, "BeginEffect", "begin_effect", BeginEffect, Begun, _begin),
    Row(SERVICE, "ApplyEffect", "apply_effect", ApplyEffect, of.Written, _apply),
    Row(SERVICE, "CommitHandler", "commit_handler", CommitHandler, Committed, _commit),
    Row(SERVICE, "StopHandler", "stop_handler", StopHandler, Stopped, _stop),
    Row(SERVICE, "ReconcileEffect", "reconcile_effect", ReconcileEffect, Reconciled, _reconcile),
    Row(SERVICE, "FailEffect", "fail_effect", FailEffect, Begun, _fail),
    Row(SERVICE, "FixHandler", "fix_handler", FixHandler, of.Written, _fix),
    Row(SERVICE, "RenewPipeline", "renew_pipeline", PipelineClaim, of.Nothing, _renew),
    Row(SERVICE, "ReleasePipeline", "release_pipeline", PipelineClaim, of.Nothing, _release),
]
