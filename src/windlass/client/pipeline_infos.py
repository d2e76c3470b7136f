"""Pipelines, attempts, events, inputs and effects as users look at them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from windlass.model.duration import from_instant
from windlass.model.effect import Effect
from windlass.model.failure import in_one_line
from windlass.model.pipeline import EventRow, HandlerRun, Input
from windlass.model.pipeline_commands import PipelineDetail, TopicView, Trace
from windlass.model.time import Instant


class PipelineInfo(Struct, frozen=True, kw_only=True):
    """A pipeline as it stands, in the words of a person."""

    name: str
    queue: str
    status: str  # "Running", "Idle", "Needs attention", "Stopped"
    issue: str  # what is the matter; "" if nothing is
    schedule: str  # "Every 5 minutes"
    next_check: datetime | None  # in UTC
    activity: tuple[str, ...]  # what it did lately
    pending: str
    handlers: tuple[str, ...]
    run_id: str | None  # the attempt that is active, or that stopped and holds the pipeline
    is_paused: bool
    paused_by: str | None
    note: str | None
    is_declared: bool  # in the code of a program that was started last


class HandlerRunInfo(Struct, frozen=True, kw_only=True):
    """One attempt of a handler."""

    id: str
    pipeline: str
    handler: str
    kind: str  # "producer" or "consumer"
    attempt: int  # in its chain, from 1
    retry_of: str | None
    phase: str  # how far it came
    status: str
    outcome: str | None  # of its effect
    title: str
    warning: str | None
    error: str | None  # why it stopped, for people
    decided_by: str | None
    note: str | None
    created_at: datetime
    ended_at: datetime | None


class EventInfo(Struct, frozen=True, kw_only=True):
    """An event as it stands in one pipeline."""

    topic: str
    id: str
    status: str  # "pending", "reserved", "consumed", "skipped"
    attempt: int
    inputs: tuple[str, ...]  # what has caused it
    created_at: datetime


class InputInfo(Struct, frozen=True, kw_only=True):
    """Something outside that has caused events, and what became of it."""

    input_id: str
    source: str
    type: str
    id: str
    title: str
    status: str  # "pending", "done", "skipped"
    pending: int  # events that are not over
    events: int
    is_stale: bool
    created_at: datetime


class EffectInfo(Struct, frozen=True, kw_only=True):
    """A call to the outside world, as it stands on the ledger."""

    name: str
    subject: str  # a pipeline, or the id of a run
    step: str | None  # which one of a run: as `resolve(step=…)` takes it
    status: str  # "in_flight", "applied", "failed", "needs_reconcile", "indeterminate"
    attempt: int
    idempotency_key: str
    title: str
    resolved_by: str | None
    error: str | None
    created_at: datetime


class InputTrace(Struct, frozen=True, kw_only=True):
    """What became of an input: its events in every topic, the attempts that took them, and their effects."""

    input: InputInfo
    events: tuple[EventInfo, ...]
    runs: tuple[HandlerRunInfo, ...]
    effects: tuple[EffectInfo, ...]


class TopicInfo(Struct, frozen=True, kw_only=True):
    """A topic: who publishes to it, who takes from it, as "pipeline.handler", and how much waits, by pipeline."""

    name: str
    publishers: tuple[str, ...]
    subscribers: tuple[str, ...]
    pending: dict[str, int]
    reserved: dict[str, int]


def pipeline_info(detail: PipelineDetail) -> PipelineInfo:
    pipeline, summary = detail.view.pipeline, detail.summary
    return PipelineInfo(
        name=pipeline.name,
        queue=pipeline.queue,
        status=summary.status,
        issue=summary.issue,
        schedule=summary.schedule,
        next_check=_time(summary.next_check),
        activity=summary.activity,
        pending=summary.pending,
        handlers=tuple(item.handler.name for item in detail.view.handlers),
        run_id=pipeline.run_id,
        is_paused=pipeline.is_paused,
        paused_by=pipeline.paused_by,
        note=pipeline.note,
        is_declared=pipeline.is_declared,
    )


def run_info(run: HandlerRun) -> HandlerRunInfo:
    return HandlerRunInfo(
        id=run.id,
        pipeline=run.pipeline,
        handler=run.handler,
        kind=run.kind.value,
        attempt=run.attempt,
        retry_of=run.retry_of,
        phase=run.phase.value,
        status=run.status.value,
        outcome=None if run.outcome is None else run.outcome.value,
        title=run.title,
        warning=run.warning,
        error=None if run.failure is None else in_one_line(run.failure),
        decided_by=run.decided_by,
        note=run.note,
        created_at=from_instant(run.created_at),
        ended_at=_time(run.ended_at),
    )


def input_info(row: Input) -> InputInfo:
    return InputInfo(
        input_id=row.id,
        source=row.source,
        type=row.type,
        id=row.external_id,
        title=row.title,
        status=row.status.value,
        pending=row.pending,
        events=row.events,
        is_stale=row.is_stale,
        created_at=from_instant(row.created_at),
    )


def effect_info(row: Effect) -> EffectInfo:
    return EffectInfo(
        name=row.name,
        subject=row.subject,
        step=row.step_key or None,
        status=row.status.value,
        attempt=row.attempt,
        idempotency_key=row.idempotency_key,
        title=row.title,
        resolved_by=row.resolved_by,
        error=None if row.failure is None else in_one_line(row.failure),
        created_at=from_instant(row.created_at),
    )


def trace_info(trace: Trace) -> InputTrace:
    return InputTrace(
        input=input_info(trace.input),
        events=tuple(map(_event_info, trace.events)),
        runs=tuple(map(run_info, trace.runs)),
        effects=tuple(map(effect_info, trace.effects)),
    )


def topic_info(view: TopicView) -> TopicInfo:
    names = [(f"{use.pipeline}.{use.handler}", use.is_subscribed) for use in view.uses]
    return TopicInfo(
        name=view.name,
        publishers=tuple(name for name, is_subscribed in names if not is_subscribed),
        subscribers=tuple(name for name, is_subscribed in names if is_subscribed),
        pending=view.pending,
        reserved=view.reserved,
    )


def _event_info(row: EventRow) -> EventInfo:
    return EventInfo(
        topic=row.topic,
        id=row.id,
        status=row.status.value,
        attempt=row.attempt,
        inputs=row.causes,
        created_at=from_instant(row.created_at),
    )


def _time(instant: Instant | None) -> datetime | None:
    return None if instant is None else from_instant(instant)
