"""Pipelines as the engine would show them, made by hand: noon is second 0."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.integration.cli.samples import at
from windlass.model.effect import Effect, EffectStatus, SubjectKind
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline import (
    PIPELINE_RETRY,
    Handler,
    HandlerKind,
    HandlerRun,
    HandlerRunId,
    HandlerSpec,
    HandlerStatus,
    Issue,
    Phase,
    Pipeline,
    PipelineStatus,
    Reservation,
)
from windlass.model.pipeline_commands import HandlerView, PipelineView
from windlass.model.run import WorkerId
from windlass.model.schedule import Timing
from windlass.model.time import MINUTE, Duration

RUN = HandlerRunId("hrn_01KDVDBVT8KQH3MRRN39RRBDJA")
WORKER = WorkerId("wrk_01KDVDBVT8KQH3MRRN39RRBDJB")
TIMED_OUT = Failure(kind=FailureKind.TRANSIENT, type="builtins.TimeoutError", message="gateway\ntimed out")


def a_pipeline(status: PipelineStatus = PipelineStatus.IDLE, **changes: Any) -> Pipeline:
    pipeline = Pipeline(
        namespace="default",
        name="payments",
        queue="default",
        revision="r1",
        status=status,
        issue=None,
        run_id=None,
        available_at=at(300),
        token=7,
        worker=None,
        poll=0,
        recoveries=0,
        seq=12,
        failures=0,
        fixes=0,
        streak=0,
        retry=PIPELINE_RETRY,
        visibility_for=None,
        has_fixer=False,
        is_paused=False,
        paused_by=None,
        note=None,
        paused_at=None,
        declared_in="shop:app",
        is_declared=True,
        created_at=at(-3600),
        changed_at=at(-60),
    )
    return replace(pipeline, **changes)


POLL = HandlerSpec(
    name="poll", kind=HandlerKind.PRODUCER, publishes=("orders",), timing=Timing(every=Duration(5 * MINUTE))
)
CHARGE = HandlerSpec(name="charge", kind=HandlerKind.CONSUMER, topics=("orders",), prepares=True, mutates=True)


def a_handler(spec: HandlerSpec, *, pending: int = 0, **changes: Any) -> HandlerView:
    handler = Handler(
        namespace="default",
        pipeline="payments",
        name=spec.name,
        position=0,
        spec=spec,
        next_at=at(300) if spec.kind is HandlerKind.PRODUCER else None,
        is_queued=False,
        wake_at=None,
        news=0,
        seen=0,
        is_declared=True,
    )
    oldest = at(-120) if pending else None
    return HandlerView(handler=replace(handler, **changes), pending=pending, oldest_at=oldest, last_run=None)


def an_attempt(
    handler: str = "charge",
    *,
    phase: Phase = Phase.PREPARING,
    status: HandlerStatus = HandlerStatus.ACTIVE,
    failure: Failure | None = None,
    **changes: Any,
) -> HandlerRun:
    run = HandlerRun(
        namespace="default",
        id=RUN,
        pipeline="payments",
        handler=handler,
        kind=HandlerKind.PRODUCER if handler == "poll" else HandlerKind.CONSUMER,
        retry_of=None,
        attempt=1,
        phase=phase,
        status=status,
        outcome=None,
        token=7,
        worker=WORKER,
        news=12,
        reserved=(),
        title="",
        warning=None,
        failure=failure,
        decided_by=None,
        note=None,
        created_at=at(-30),
        updated_at=at(-30),
        ended_at=None,
    )
    return replace(run, **changes)


def an_effect(status: EffectStatus = EffectStatus.IN_FLIGHT, **changes: Any) -> Effect:
    effect = Effect(
        namespace="default",
        subject_kind=SubjectKind.PIPELINE,
        subject="payments",
        owner=RUN,
        step_key="",
        attempt=1,
        name="charge_card",
        params=b'{"order":7}',
        idempotency_key="payments:7",
        status=status,
        result=None,
        failure=None,
        token=7,
        asked=0,
        has_reconcile=True,
        reconcile_after=at(-10),
        next_at=at(20),
        title="",
        resolved_by=None,
        resolution=None,
        note=None,
        created_at=at(-25),
        updated_at=at(-25),
    )
    return replace(effect, **changes)


def a_view(pipeline: Pipeline | None = None, **changes: Any) -> PipelineView:
    view = PipelineView(
        pipeline=pipeline or a_pipeline(),
        handlers=(a_handler(POLL), a_handler(CHARGE)),
        run=None,
        effect=None,
        inputs_pending=0,
        activity=(),
        workers=1,
        now=at(0),
    )
    return replace(view, **changes)


def committed(title: str, *, ago: int, **changes: Any) -> HandlerRun:
    """An attempt that went well, so many seconds ago."""
    return an_attempt(
        phase=Phase.COMMITTED,
        status=HandlerStatus.COMMITTED,
        title=title,
        updated_at=at(-ago),
        ended_at=at(-ago),
        **changes,
    )


def needing(issue: Issue, *, failure: Failure | None = None, **changes: Any) -> PipelineView:
    """One that needs a person."""
    statuses = {
        Issue.APPROVAL: (HandlerStatus.PAUSED_APPROVAL, Phase.PREPARED),
        Issue.AUTH: (HandlerStatus.PAUSED_APPROVAL, Phase.PREPARING),
        Issue.PERMISSION: (HandlerStatus.PAUSED_APPROVAL, Phase.PREPARING),
        Issue.INDETERMINATE: (HandlerStatus.PAUSED_RECONCILIATION, Phase.MUTATING),
    }
    status, phase = statuses.get(issue, (HandlerStatus.FAILED_LOGIC, Phase.PREPARING))
    reserved = (Reservation(topic="orders", id="7"),) if phase is not Phase.PREPARING else ()
    run = an_attempt(status=status, phase=phase, failure=failure, reserved=reserved)
    pipeline = a_pipeline(PipelineStatus.ATTENTION, issue=issue, run_id=RUN, available_at=None)
    return a_view(pipeline, run=run, **changes)
