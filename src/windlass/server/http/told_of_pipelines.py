"""What is answered over HTTP about pipelines."""

from __future__ import annotations

from datetime import datetime

from windlass.model.effect import EffectStatus, Resolution, SubjectKind
from windlass.model.explanation import Situation
from windlass.model.pipeline import (
    EffectOutcome,
    EventStatus,
    HandlerKind,
    HandlerStatus,
    InputStatus,
    Issue,
    Phase,
    PipelineStatus,
)
from windlass.server.http.told import ErrorDetail, FailureDetail, Payload, Told


class ReservedEvent(Told, frozen=True, kw_only=True):
    topic: str
    id: str


class HandlerRunSummary(Told, frozen=True, kw_only=True):
    """One attempt of a handler: its phase says how far it came, its status how it stands."""

    id: str
    pipeline: str
    handler: str
    kind: HandlerKind
    retry_of: str | None
    attempt: int
    phase: Phase
    status: HandlerStatus
    outcome: EffectOutcome | None
    worker: str | None
    reserved: list[ReservedEvent]
    title: str
    warning: str | None
    failure: FailureDetail | None
    decided_by: str | None
    note: str | None
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None


class HandlerRunsAnswer(Told, frozen=True, kw_only=True):
    runs: list[HandlerRunSummary]  # the newest first
    next: str | None  # pass as `before`; null on the last page


class PipelineEvent(Told, frozen=True, kw_only=True):
    topic: str
    id: str
    seq: int  # in the order they were first published to this pipeline
    version: int
    status: EventStatus
    attempt: int
    payload: Payload
    reserved_by: str | None
    created_by: str | None  # null: published from outside
    causes: list[str]  # inputs
    created_at: datetime
    updated_at: datetime


class EventsAnswer(Told, frozen=True, kw_only=True):
    events: list[PipelineEvent]  # the oldest first
    next: int | None  # pass as `after`; null on the last page


class EffectDetail(Told, frozen=True, kw_only=True):
    """One call to the outside world, as the ledger has it."""

    subject_kind: SubjectKind
    subject: str  # the id of a run, or the name of a pipeline
    owner: str  # the run, or the attempt of a handler
    step: str | None
    attempt: int
    name: str
    title: str
    params: Payload
    idempotency_key: str
    status: EffectStatus
    result: Payload
    failure: FailureDetail | None
    asked: int  # how often it was asked in vain whether it happened
    has_reconcile: bool
    next_at: datetime | None
    resolved_by: str | None
    resolution: Resolution | None
    note: str | None
    created_at: datetime
    updated_at: datetime


class EffectsAnswer(Told, frozen=True, kw_only=True):
    effects: list[EffectDetail]


class HandlerRunDetail(HandlerRunSummary, frozen=True, kw_only=True):
    data: Payload  # what it prepared
    result: Payload  # of its effect
    effect: EffectDetail | None
    events: list[PipelineEvent]  # that it reserved, with the payloads as they were then
    published: list[PipelineEvent]
    chain: list[str]  # of attempts, the oldest first


class HandlerDetail(Told, frozen=True, kw_only=True):
    name: str
    kind: HandlerKind
    topics: list[str]
    publishes: list[str]
    times: str | None  # a producer's, in words
    cron: str | None
    every_secs: float | None
    tz: str | None
    batch: int
    prepares: bool
    mutates: bool
    emits: bool
    needs_approval: bool
    timeout_secs: float | None
    next_at: datetime | None
    wake_at: datetime | None
    is_queued: bool  # somebody asked for it now
    is_dirty: bool  # there is something in its topics that it has not looked at
    is_declared: bool
    has_state: bool
    pending: int  # events in its topics, counted up to a limit
    oldest_at: datetime | None
    last_run: HandlerRunSummary | None


class SummaryDetail(Told, frozen=True, kw_only=True):
    """A pipeline in the words of a person."""

    status: str
    issue: str
    schedule: str
    next_check: datetime | None
    activity: list[str]
    pending: str


class PipelineDetail(Told, frozen=True, kw_only=True):
    namespace: str
    name: str
    queue: str
    revision: str
    status: PipelineStatus
    issue: Issue | None  # what a person is needed for
    summary: SummaryDetail
    available_at: datetime | None
    worker: str | None
    run: HandlerRunSummary | None  # active, or the one that holds the pipeline
    effect: EffectDetail | None  # of that
    handlers: list[HandlerDetail]
    activity: list[HandlerRunSummary]  # committed lately, that did something
    inputs_pending: int
    inputs_stale: int
    workers: int  # live, that serve this revision
    is_paused: bool
    paused_by: str | None
    note: str | None
    paused_at: datetime | None
    declared_in: str
    is_declared: bool
    created_at: datetime
    changed_at: datetime


class PipelinesAnswer(Told, frozen=True, kw_only=True):
    pipelines: list[PipelineDetail]  # by name


class PipelineExplanation(Told, frozen=True, kw_only=True):
    pipeline: str
    code: Situation
    text: str
    at: datetime
    since: datetime | None
    until: datetime | None
    worker: str | None
    handler: str | None


class InputDetail(Told, frozen=True, kw_only=True):
    """Something outside that has caused events."""

    id: str
    pipeline: str
    source: str
    type: str
    external_id: str
    title: str
    status: InputStatus
    pending: int  # events that are not over
    events: int  # in all
    is_stale: bool
    skipped_by: str | None
    created_at: datetime


class InputsAnswer(Told, frozen=True, kw_only=True):
    inputs: list[InputDetail]  # the newest first
    next: str | None  # pass as `before`; null on the last page


class TraceAnswer(Told, frozen=True, kw_only=True):
    """What became of an input."""

    input: InputDetail
    events: list[PipelineEvent]
    runs: list[HandlerRunSummary]
    effects: list[EffectDetail]


class TopicUse(Told, frozen=True, kw_only=True):
    pipeline: str
    handler: str
    is_subscribed: bool  # else it publishes


class TopicDetail(Told, frozen=True, kw_only=True):
    name: str
    uses: list[TopicUse]
    pending: dict[str, int]  # by pipeline
    reserved: dict[str, int]


class TopicsAnswer(Told, frozen=True, kw_only=True):
    topics: list[TopicDetail]  # by name


class PublishedAnswer(Told, frozen=True, kw_only=True):
    id: str
    pipelines: int  # that subscribe to the topic, and have it now
    is_repeat: bool  # every one of them knew the id


class PublishedItem(Told, frozen=True, kw_only=True):
    """Of one event of many: what became of it, or why it was refused."""

    id: str
    pipelines: int = 0
    is_repeat: bool = False
    error: ErrorDetail | None = None


class PublishedManyAnswer(Told, frozen=True, kw_only=True):
    results: list[PublishedItem]  # in the order of the events


class SkippedAnswer(Told, frozen=True, kw_only=True):
    skipped: int  # events
    aborted: str | None  # an attempt that was at one of them, and had done nothing yet
    finishing: int  # events whose effect has happened: their attempt goes on to its end
