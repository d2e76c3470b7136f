"""What is answered about signals and their firings, and the events that announce them. Part of `told`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from windlass.model.explanation import Situation
from windlass.model.signal import FiringStatus, SignalStatus, TriggerKind
from windlass.server.http.told import LogLine, Payload, Told

Absent = UnsetType


class TriggerDetail(Told, frozen=True, kw_only=True):
    """As it was sent: what its kind does not have is left out."""

    kind: TriggerKind
    item_id: str | Absent = UNSET
    run_id: str | Absent = UNSET
    pipeline: str | Absent = UNSET
    workflow: str | Absent = UNSET
    to: list[str] | Absent = UNSET
    at: datetime | Absent = UNSET
    every_secs: float | Absent = UNSET


class StartDetail(Told, frozen=True, kw_only=True):
    workflow: str
    version: str | None
    queue: str
    timeout_secs: float | None
    args: Any | Absent = UNSET  # left out: the firing is its only argument


class SendDetail(Told, frozen=True, kw_only=True):
    run_id: str
    event: str


class TaskActionDetail(Told, frozen=True, kw_only=True):
    title: str


class ActionDetail(Told, frozen=True, kw_only=True):
    """One of these; an empty object only announces it."""

    start: StartDetail | Absent = UNSET
    send: SendDetail | Absent = UNSET
    task: TaskActionDetail | Absent = UNSET


class SignalSummary(Told, frozen=True, kw_only=True):
    namespace: str
    id: str
    key: str | None
    trigger: TriggerDetail
    action: ActionDetail
    text: str  # all of it in words
    payload: Payload
    repeats: bool
    status: SignalStatus
    reason: str | None  # why it is resolved or paused
    fired: int
    last_fired_at: datetime | None
    next_at: datetime | None  # of a time: when it fires next
    declared_in: str | None
    is_declared: bool
    changed_by: str | None
    created_at: datetime
    changed_at: datetime


class SignalDetail(SignalSummary, frozen=True, kw_only=True):
    state: str | None  # that the subject is in now; null: it has none, or is gone
    already: bool  # the subject was in one of the states when it was armed: that did not count
    has_changed: bool  # false: the call found what it asked for
    queued: int  # firings that wait
    failed: int


class SignalsAnswer(Told, frozen=True, kw_only=True):
    signals: list[SignalSummary]  # the newest first
    next: str | None  # pass as `before`; null on the last page


class SignalLine(LogLine, frozen=True, kw_only=True):
    """An entry of the log about a signal, with what a firing of it did."""

    firing_id: str | None
    run_id: str | None
    task_id: str | None


class SignalLogAnswer(Told, frozen=True, kw_only=True):
    entries: list[SignalLine]  # the oldest first


class SignalExplanation(Told, frozen=True, kw_only=True):
    signal_id: str
    code: Situation
    text: str
    at: datetime
    since: datetime | None
    until: datetime | None


class FiringDetail(Told, frozen=True, kw_only=True):
    id: str
    signal_id: str
    cause: str  # the number of the entry in the log, or the time of a time signal in microseconds
    subject_kind: str
    subject_id: str
    from_status: str | None
    to_status: str
    happened_at: datetime
    status: FiringStatus
    available_at: datetime | None
    worker: str | None
    attempt: int
    error: str | None
    depth: int
    run_id: str | None
    task_id: str | None
    created_at: datetime
    ended_at: datetime | None


class FiringsAnswer(Told, frozen=True, kw_only=True):
    firings: list[FiringDetail]  # the newest first
    next: str | None  # pass as `before`; null on the last page


# Events: made from the log, at least once, and the same each time


class FiredNews(Told, frozen=True, kw_only=True):
    namespace: str
    signal_id: str
    firing_id: str
    subject_kind: str | None
    subject_id: str | None
    from_status: str | None  # of the subject
    to_status: str | None
    run_id: str | Absent = UNSET  # that it started, or sent to
    task_id: str | Absent = UNSET  # that it added


class ChangeNews(Told, frozen=True, kw_only=True):
    namespace: str
    signal_id: str
    status: str
    from_status: str | None
    cause: str
    by: str | None
    note: str | None


class SignalEvent(Told, frozen=True, kw_only=True):
    event_id: str  # the same each time it comes: keep those you have dealt with
    cursor: str  # go on behind this event
    occurred_at: datetime


class FiredEvent(SignalEvent, frozen=True, kw_only=True):
    event: Literal["work.signal.fired"] = "work.signal.fired"
    payload: FiredNews


class CreatedEvent(SignalEvent, frozen=True, kw_only=True):
    event: Literal["work.signal.created"] = "work.signal.created"
    payload: ChangeNews


class UpdatedEvent(SignalEvent, frozen=True, kw_only=True):
    event: Literal["work.signal.updated"] = "work.signal.updated"
    payload: ChangeNews
