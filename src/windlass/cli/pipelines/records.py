"""What `--json` answers about pipelines."""

from __future__ import annotations

from typing import Any

from windlass.cli.records import failure, instant, payload
from windlass.model.effect import Effect
from windlass.model.pipeline import EventRow, HandlerRun, Input
from windlass.model.pipeline_commands import HandlerRunView, HandlerView, PipelineDetail, TopicView, Trace
from windlass.rules.schedule_words import times


def detail(value: PipelineDetail) -> dict[str, Any]:
    """First what people are told, then what programs compare."""
    told, view, row = value.summary, value.view, value.view.pipeline
    return {
        "namespace": row.namespace,
        "name": row.name,
        "status": told.status,
        "issue": told.issue or None,
        "schedule": told.schedule,
        "next_check": instant(told.next_check),
        "activity": list(told.activity),
        "pending": told.pending or None,
        "state": row.status.value,
        "needs": None if row.issue is None else row.issue.value,
        "queue": row.queue,
        "revision": row.revision,
        "available_at": instant(row.available_at),
        "worker": row.worker,
        "workers": view.workers,
        "failures": row.failures,
        "recoveries": row.recoveries,
        "inputs_pending": view.inputs_pending,
        "inputs_stale": view.inputs_stale,
        "is_paused": row.is_paused,
        "paused_by": row.paused_by,
        "paused_at": instant(row.paused_at),
        "note": row.note,
        "declared_in": row.declared_in,
        "is_declared": row.is_declared,
        "created_at": instant(row.created_at),
        "changed_at": instant(row.changed_at),
        "handlers": [handler(item) for item in view.handlers],
        "run": None if view.run is None else attempt(view.run),
        "effect": None if view.effect is None else effect(view.effect),
    }


def handler(value: HandlerView) -> dict[str, Any]:
    row, spec = value.handler, value.handler.spec
    return {
        "name": row.name,
        "kind": spec.kind.value,
        "is_declared": row.is_declared,
        "topics": list(spec.topics),
        "publishes": list(spec.publishes),
        "times": None if spec.timing is None else times(spec.timing),
        "next_at": instant(row.next_at),
        "wake_at": instant(row.wake_at),
        "is_queued": row.is_queued,
        "is_dirty": row.is_dirty,
        "needs_approval": spec.needs_approval,
        "pending": value.pending,
        "oldest_at": instant(value.oldest_at),
        "last_run": None if value.last_run is None else attempt(value.last_run),
    }


def attempt(value: HandlerRun) -> dict[str, Any]:
    return {
        "id": value.id,
        "pipeline": value.pipeline,
        "handler": value.handler,
        "kind": value.kind.value,
        "attempt": value.attempt,
        "retry_of": value.retry_of,
        "phase": value.phase.value,
        "status": value.status.value,
        "outcome": None if value.outcome is None else value.outcome.value,
        "title": value.title or None,
        "warning": value.warning,
        "worker": value.worker,
        "reserved": [{"topic": item.topic, "id": item.id, "version": item.version} for item in value.reserved],
        "failure": failure(value.failure),
        "decided_by": value.decided_by,
        "note": value.note,
        "created_at": instant(value.created_at),
        "updated_at": instant(value.updated_at),
        "ended_at": instant(value.ended_at),
    }


def attempt_view(value: HandlerRunView) -> dict[str, Any]:
    return {
        **attempt(value.run),
        "data": payload(value.data),
        "result": payload(value.result),
        "effect": None if value.effect is None else effect(value.effect),
        "events": [event(item) for item in value.events],
        "published": [event(item) for item in value.published],
        "chain": list(value.chain),
    }


def effect(value: Effect) -> dict[str, Any]:
    return {
        "name": value.name,
        "subject_kind": value.subject_kind.value,
        "subject": value.subject,
        "owner": value.owner,
        "step": value.step_key or None,
        "attempt": value.attempt,
        "status": value.status.value,
        "title": value.title or None,
        "params": payload(value.params),
        "idempotency_key": value.idempotency_key,
        "result": payload(value.result),
        "failure": failure(value.failure),
        "asked": value.asked,
        "has_reconcile": value.has_reconcile,
        "next_at": instant(value.next_at),
        "resolved_by": value.resolved_by,
        "resolution": None if value.resolution is None else value.resolution.value,
        "note": value.note,
        "created_at": instant(value.created_at),
        "updated_at": instant(value.updated_at),
    }


def event(value: EventRow) -> dict[str, Any]:
    return {
        "topic": value.topic,
        "id": value.id,
        "seq": value.seq,
        "version": value.version,
        "payload": payload(value.payload),
        "status": value.status.value,
        "attempt": value.attempt,
        "reserved_by": value.reserved_by,
        "created_by": value.created_by,
        "causes": list(value.causes),
        "created_at": instant(value.created_at),
        "updated_at": instant(value.updated_at),
    }


def input(value: Input) -> dict[str, Any]:
    return {
        "id": value.id,
        "pipeline": value.pipeline,
        "source": value.source,
        "type": value.type,
        "external_id": value.external_id,
        "title": value.title or None,
        "status": value.status.value,
        "pending": value.pending,
        "events": value.events,
        "is_stale": value.is_stale,
        "skipped_by": value.skipped_by,
        "created_at": instant(value.created_at),
    }


def trace(value: Trace) -> dict[str, Any]:
    return {
        "input": input(value.input),
        "events": [event(item) for item in value.events],
        "runs": [attempt(item) for item in value.runs],
        "effects": [effect(item) for item in value.effects],
    }


def topic(value: TopicView) -> dict[str, Any]:
    return {
        "name": value.name,
        "published_by": [
            {"pipeline": use.pipeline, "handler": use.handler} for use in value.uses if not use.is_subscribed
        ],
        "taken_by": [{"pipeline": use.pipeline, "handler": use.handler} for use in value.uses if use.is_subscribed],
        "pending": dict(value.pending),
        "reserved": dict(value.reserved),
    }
