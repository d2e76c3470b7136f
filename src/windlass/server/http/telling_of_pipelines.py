"""From what the doors answer about pipelines to what is told over HTTP."""

from __future__ import annotations

from typing import Any

from windlass.model.duration import from_instant
from windlass.model.effect import Effect
from windlass.model.explanation import Explanation
from windlass.model.pipeline import EventRow, HandlerRun, Input
from windlass.model.pipeline_commands import (
    HandlerRunView,
    HandlerView,
    PipelineDetail,
    PipelineSummary,
    Skipped,
    TopicView,
    Trace,
)
from windlass.rules.schedule_words import times
from windlass.server.http import told_of_pipelines as told
from windlass.server.http.telling import failure, moment, payload, seconds


def pipeline(value: PipelineDetail) -> told.PipelineDetail:
    view, row = value.view, value.view.pipeline
    return told.PipelineDetail(
        namespace=row.namespace,
        name=row.name,
        queue=row.queue,
        revision=row.revision,
        status=row.status,
        issue=row.issue,
        summary=_summary(value.summary),
        available_at=moment(row.available_at),
        worker=row.worker,
        run=None if view.run is None else run(view.run),
        effect=None if view.effect is None else effect(view.effect),
        handlers=[_handler(item) for item in view.handlers],
        activity=[run(item) for item in view.activity],
        inputs_pending=view.inputs_pending,
        inputs_stale=view.inputs_stale,
        workers=view.workers,
        is_paused=row.is_paused,
        paused_by=row.paused_by,
        note=row.note,
        paused_at=moment(row.paused_at),
        declared_in=row.declared_in,
        is_declared=row.is_declared,
        created_at=from_instant(row.created_at),
        changed_at=from_instant(row.changed_at),
    )


def _summary(value: PipelineSummary) -> told.SummaryDetail:
    return told.SummaryDetail(
        status=value.status,
        issue=value.issue,
        schedule=value.schedule,
        next_check=moment(value.next_check),
        activity=list(value.activity),
        pending=value.pending,
    )


def _handler(value: HandlerView) -> told.HandlerDetail:
    row, spec = value.handler, value.handler.spec
    timing = spec.timing
    return told.HandlerDetail(
        name=row.name,
        kind=spec.kind,
        topics=list(spec.topics),
        publishes=list(spec.publishes),
        times=None if timing is None else times(timing),
        cron=None if timing is None else timing.cron,
        every_secs=None if timing is None else seconds(timing.every),
        tz=None if timing is None else timing.tz,
        batch=spec.batch,
        prepares=spec.prepares,
        mutates=spec.mutates,
        emits=spec.emits,
        needs_approval=spec.needs_approval,
        timeout_secs=seconds(spec.timeout_for),
        next_at=moment(row.next_at),
        wake_at=moment(row.wake_at),
        is_queued=row.is_queued,
        is_dirty=row.is_dirty,
        is_declared=row.is_declared,
        has_state=row.has_state,
        pending=value.pending,
        oldest_at=moment(value.oldest_at),
        last_run=None if value.last_run is None else run(value.last_run),
    )


def _run_fields(value: HandlerRun) -> dict[str, Any]:
    return {
        "id": value.id,
        "pipeline": value.pipeline,
        "handler": value.handler,
        "kind": value.kind,
        "retry_of": value.retry_of,
        "attempt": value.attempt,
        "phase": value.phase,
        "status": value.status,
        "outcome": value.outcome,
        "worker": value.worker,
        "reserved": [told.ReservedEvent(topic=item.topic, id=item.id) for item in value.reserved],
        "title": value.title,
        "warning": value.warning,
        "failure": failure(value.failure),
        "decided_by": value.decided_by,
        "note": value.note,
        "created_at": from_instant(value.created_at),
        "updated_at": from_instant(value.updated_at),
        "ended_at": moment(value.ended_at),
    }


def run(value: HandlerRun) -> told.HandlerRunSummary:
    return told.HandlerRunSummary(**_run_fields(value))


def view(value: HandlerRunView) -> told.HandlerRunDetail:
    return told.HandlerRunDetail(
        **_run_fields(value.run),
        data=payload(value.data),
        result=payload(value.result),
        effect=None if value.effect is None else effect(value.effect),
        events=[event(item) for item in value.events],
        published=[event(item) for item in value.published],
        chain=list(value.chain),
    )


def event(value: EventRow) -> told.PipelineEvent:
    return told.PipelineEvent(
        topic=value.topic,
        id=value.id,
        seq=value.seq,
        version=value.version,
        status=value.status,
        attempt=value.attempt,
        payload=payload(value.payload),
        reserved_by=value.reserved_by,
        created_by=value.created_by,
        causes=list(value.causes),
        created_at=from_instant(value.created_at),
        updated_at=from_instant(value.updated_at),
    )


def effect(value: Effect) -> told.EffectDetail:
    return told.EffectDetail(
        subject_kind=value.subject_kind,
        subject=value.subject,
        owner=value.owner,
        step=value.step_key or None,
        attempt=value.attempt,
        name=value.name,
        title=value.title,
        params=payload(value.params),
        idempotency_key=value.idempotency_key,
        status=value.status,
        result=payload(value.result),
        failure=failure(value.failure),
        asked=value.asked,
        has_reconcile=value.has_reconcile,
        next_at=moment(value.next_at),
        resolved_by=value.resolved_by,
        resolution=value.resolution,
        note=value.note,
        created_at=from_instant(value.created_at),
        updated_at=from_instant(value.updated_at),
    )


def explanation(value: Explanation) -> told.PipelineExplanation:
    return told.PipelineExplanation(
        pipeline=value.name,
        code=value.code,
        text=value.text,
        at=from_instant(value.at),
        since=moment(value.since),
        until=moment(value.until),
        worker=value.worker,
        handler=value.step,
    )


def input(value: Input) -> told.InputDetail:
    return told.InputDetail(
        id=value.id,
        pipeline=value.pipeline,
        source=value.source,
        type=value.type,
        external_id=value.external_id,
        title=value.title,
        status=value.status,
        pending=value.pending,
        events=value.events,
        is_stale=value.is_stale,
        skipped_by=value.skipped_by,
        created_at=from_instant(value.created_at),
    )


def trace(value: Trace) -> told.TraceAnswer:
    return told.TraceAnswer(
        input=input(value.input),
        events=[event(item) for item in value.events],
        runs=[run(item) for item in value.runs],
        effects=[effect(item) for item in value.effects],
    )


def topic(value: TopicView) -> told.TopicDetail:
    uses = [
        told.TopicUse(pipeline=use.pipeline, handler=use.handler, is_subscribed=use.is_subscribed) for use in value.uses
    ]
    return told.TopicDetail(name=value.name, uses=uses, pending=dict(value.pending), reserved=dict(value.reserved))


def skipped(value: Skipped) -> told.SkippedAnswer:
    return told.SkippedAnswer(skipped=value.skipped, aborted=value.aborted, finishing=value.finishing)
