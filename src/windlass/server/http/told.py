"""What is answered over HTTP: plain data with stable names, times as ISO 8601 in UTC, durations in seconds."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from windlass.model.explanation import Situation
from windlass.model.failure import FailureKind, FailureReason
from windlass.model.gate import GateKind
from windlass.model.message import MessageKind
from windlass.model.run import RunKind, RunStatus
from windlass.model.schedule import CatchUp, Overlap, ScheduleStatus
from windlass.model.step import StepKind, StepStatus
from windlass.model.worker import Standing

Payload = Any  # stored JSON as it is, tags included; {"$sealed": base64} where only the program's own codec can read it


class Told(Struct, frozen=True, kw_only=True):
    """What every answer has in common."""


class ErrorDetail(Told, frozen=True, kw_only=True):
    code: str  # of the class of the error: stable
    reason: str  # a finer one, where a class has several: stable too
    message: str
    path: str  # of the value that was refused, or ""
    request_id: str


class ErrorAnswer(Told, frozen=True, kw_only=True):
    error: ErrorDetail


# Runs


class StartedAnswer(Told, frozen=True, kw_only=True):
    run_id: str
    is_repeat: bool  # the key or the id was known: nothing was created


class StartedItem(Told, frozen=True, kw_only=True):
    """Of one start of many: the run, or why there is none."""

    run_id: str | None = None
    is_repeat: bool = False
    error: ErrorDetail | None = None


class StartedManyAnswer(Told, frozen=True, kw_only=True):
    results: list[StartedItem]  # in the order of the starts


class FailureDetail(Told, frozen=True, kw_only=True):
    kind: FailureKind
    type: str
    message: str
    step: str | None
    traceback: str | None
    data: Payload
    reason: FailureReason | None


class RunSummary(Told, frozen=True, kw_only=True):
    id: str
    kind: RunKind  # the parent of a job is its graph, and parent_step its name there
    namespace: str
    workflow: str
    version: str | None
    queue: str
    priority: int
    status: RunStatus
    available_at: datetime | None
    worker: str | None
    attempts: int
    recoveries: int
    created_at: datetime
    ready_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    is_held: bool
    parent: str | None
    parent_step: str | None
    retry_of: str | None
    schedule: str | None
    slot: datetime | None
    scheduled_at: datetime | None


class RunDetail(RunSummary, frozen=True, kw_only=True):
    key: str | None
    input: Payload
    output: Payload
    failure: FailureDetail | None


class RunsAnswer(Told, frozen=True, kw_only=True):
    runs: list[RunSummary]  # the newest first
    next: str | None  # pass as `before`; null on the last page


class ResultAnswer(Told, frozen=True, kw_only=True):
    status: RunStatus
    is_final: bool
    output: Payload
    failure: FailureDetail | None


class StepDetail(Told, frozen=True, kw_only=True):
    key: str
    kind: StepKind
    attempt: int
    status: StepStatus
    awaits: str | None
    detail: Payload
    is_given_up: bool
    output: Payload
    failure: FailureDetail | None
    due_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None


class StepsAnswer(Told, frozen=True, kw_only=True):
    steps: list[StepDetail]  # every attempt, in the order they began


class LogLine(Told, frozen=True, kw_only=True):
    seq: int
    at: datetime
    subject_kind: str
    subject_id: str
    from_status: str | None = msgspec.field(name="from")
    to_status: str = msgspec.field(name="to")
    cause: str
    by: str | None
    note: str | None
    step: str | None
    run: str | None


class LogAnswer(Told, frozen=True, kw_only=True):
    entries: list[LogLine]  # the oldest first


class MessageDetail(Told, frozen=True, kw_only=True):
    seq: int
    kind: MessageKind
    name: str
    id: str
    payload: Payload
    sent_at: datetime
    received_by: str | None


class MessagesAnswer(Told, frozen=True, kw_only=True):
    messages: list[MessageDetail]


class ExplanationAnswer(Told, frozen=True, kw_only=True):
    id: str
    workflow: str
    status: RunStatus
    code: Situation
    text: str
    at: datetime
    since: datetime | None
    until: datetime | None
    worker: str | None
    step: str | None


class LaneDetail(Told, frozen=True, kw_only=True):
    queue: str
    workflow: str
    version: str | None


class WorkerDetail(Told, frozen=True, kw_only=True):
    id: str
    namespace: str
    host: str
    pid: int
    status: Standing
    is_draining: bool
    said_goodbye: bool
    serves: list[LaneDetail]
    active: int
    slots: int
    completed: int
    failed: int
    started_at: datetime
    seen_at: datetime
    stopped_at: datetime | None


class WorkersAnswer(Told, frozen=True, kw_only=True):
    workers: list[WorkerDetail]  # the most recently seen first


class UnservedLane(Told, frozen=True, kw_only=True):
    workflow: str
    version: str | None
    runs: int


class QueueDetail(Told, frozen=True, kw_only=True):
    namespace: str
    name: str
    at: datetime
    due: int
    oldest_due_at: datetime | None
    running: int
    later: int
    waiting: int
    paused: int
    ended_per_minute: float
    ended_is_estimate: bool
    workers: int
    slots: int
    is_paused: bool
    unserved: list[UnservedLane]


class QueuesAnswer(Told, frozen=True, kw_only=True):
    queues: list[QueueDetail]


# Control


class SentAnswer(Told, frozen=True, kw_only=True):
    id: str
    is_repeat: bool


class DecisionAnswer(Told, frozen=True, kw_only=True):
    outcome: Literal["approved", "rejected", "expired"]
    by: str | None
    note: str | None
    at: datetime


class CancelledAnswer(Told, frozen=True, kw_only=True):
    status: RunStatus
    is_done: bool  # by this call; else it was over before
    children: list[str]


class StatusAnswer(Told, frozen=True, kw_only=True):
    status: RunStatus


class GateDetail(Told, frozen=True, kw_only=True):
    namespace: str
    kind: GateKind
    name: str
    is_paused: bool
    paused_by: str | None
    note: str | None
    paused_at: datetime | None


class GatesAnswer(Told, frozen=True, kw_only=True):
    gates: list[GateDetail]


class CursorAnswer(Told, frozen=True, kw_only=True):
    name: str
    seq: int


class DroppedAnswer(Told, frozen=True, kw_only=True):
    is_dropped: bool  # false: it was not known


class DoneAnswer(Told, frozen=True, kw_only=True):
    is_done: bool


# Schedules


class ScheduleDetail(Told, frozen=True, kw_only=True):
    namespace: str
    name: str
    workflow: str
    version: str | None
    queue: str
    input: Payload
    timeout_secs: float | None
    times: str
    cron: str | None
    every_secs: float | None
    tz: str
    catch_up: CatchUp
    max_catch_up: int
    overlap: Overlap
    jitter_secs: float
    status: ScheduleStatus
    why: str | None
    next: list[datetime]
    last_slot: datetime
    last_run: str | None
    active: list[str]
    queued: list[str]
    fired: int
    skipped: int
    dropped: int
    declared_in: str | None
    is_declared: bool
    revision: int
    paused_by: str | None
    note: str | None
    paused_at: datetime | None
    created_at: datetime
    changed_at: datetime


class SchedulesAnswer(Told, frozen=True, kw_only=True):
    schedules: list[ScheduleDetail]


# What happens


class FeedLine(Told, frozen=True, kw_only=True):
    cursor: str  # go on behind this entry
    entry: LogLine


class FeedAnswer(Told, frozen=True, kw_only=True):
    entries: list[FeedLine]
    cursor: str  # go on from here, also where nothing was found
    has_more: bool


class AuditLine(Told, frozen=True, kw_only=True):
    seq: int
    at: datetime
    namespace: str
    actor: str
    action: str
    subject: str
    request_id: str
    before: str | None
    after: str | None


class AuditAnswer(Told, frozen=True, kw_only=True):
    entries: list[AuditLine]  # the newest first
    next: int | None  # pass as `before`; null on the last page
