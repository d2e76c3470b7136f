"""From what the door answers about signals, and what the log says of them, to what is told over HTTP."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from windlass.model.duration import from_instant
from windlass.model.explanation import Explanation
from windlass.model.feed import FeedEntry
from windlass.model.run import LogEntry
from windlass.model.signal import (
    CREATED,
    FIRED,
    Action,
    ActionKind,
    FiringRow,
    Signal,
    SignalId,
    SignalNews,
    SignalView,
    Trigger,
    TriggerKind,
)
from windlass.model.time import SECOND
from windlass.rules.signal_words import in_words
from windlass.server.http import frames_of_signals as frames
from windlass.server.http import telling
from windlass.server.http import told_of_signals as told
from windlass.server.http.telling import moment, payload, seconds

# The name of what is watched, as it stands in the JSON of a trigger.
SUBJECTS = {
    TriggerKind.ITEM: "item_id",
    TriggerKind.RUN: "run_id",
    TriggerKind.JOB: "run_id",
    TriggerKind.GRAPH: "run_id",
    TriggerKind.PIPELINE: "pipeline",
    TriggerKind.WORKFLOW: "workflow",
}


def signal(value: Signal) -> told.SignalSummary:
    return told.SignalSummary(**_signal_fields(value))


def view(value: SignalView) -> told.SignalDetail:
    return told.SignalDetail(
        **_signal_fields(value.signal),
        state=value.state,
        already=value.already,
        has_changed=value.has_changed,
        queued=value.queued,
        failed=value.failed,
    )


def _signal_fields(value: Signal) -> dict[str, Any]:
    return {
        "namespace": value.namespace,
        "id": value.id,
        "key": value.key,
        "trigger": trigger(value.trigger),
        "action": action(value.action),
        "text": in_words(value),
        "payload": payload(value.payload),
        "repeats": value.repeats,
        "status": value.status,
        "reason": value.reason,
        "fired": value.fired,
        "last_fired_at": moment(value.last_fired_at),
        "next_at": moment(value.available_at),
        "declared_in": value.declared_in,
        "is_declared": value.is_declared,
        "changed_by": value.changed_by,
        "created_at": from_instant(value.created_at),
        "changed_at": from_instant(value.changed_at),
    }


def trigger(value: Trigger) -> told.TriggerDetail:
    if value.kind is not TriggerKind.TIME:
        subject: dict[str, Any] = {SUBJECTS[value.kind]: value.subject}
        return told.TriggerDetail(kind=value.kind, to=list(value.to), **subject)
    at = UNSET if value.at is None else from_instant(value.at)
    return told.TriggerDetail(kind=value.kind, at=at, every_secs=UNSET if value.every is None else value.every / SECOND)


def action(value: Action) -> told.ActionDetail:
    match value.kind:
        case ActionKind.START:
            return told.ActionDetail(start=_start(value))
        case ActionKind.SEND:
            return told.ActionDetail(send=told.SendDetail(run_id=value.run_id or "", event=value.event))
        case ActionKind.TASK:
            return told.ActionDetail(task=told.TaskActionDetail(title=value.title))
        case ActionKind.NONE:
            return told.ActionDetail()


def _start(value: Action) -> told.StartDetail:
    return told.StartDetail(
        workflow=value.workflow,
        version=value.version or None,
        queue=value.queue,
        timeout_secs=seconds(value.timeout_for),
        args=UNSET if value.input is None else payload(value.input),
    )


def firing(value: FiringRow) -> told.FiringDetail:
    return told.FiringDetail(
        id=value.id,
        signal_id=value.signal_id,
        cause=value.cause,
        subject_kind=value.subject_kind,
        subject_id=value.subject_id,
        from_status=value.from_status,
        to_status=value.to_status,
        happened_at=from_instant(value.happened_at),
        status=value.status,
        available_at=moment(value.available_at),
        worker=value.worker,
        attempt=value.attempt,
        error=value.error,
        depth=value.depth,
        run_id=value.run_id,
        task_id=value.task_id,
        created_at=from_instant(value.created_at),
        ended_at=moment(value.ended_at),
    )


def explanation(value: Explanation, signal_id: SignalId) -> told.SignalExplanation:
    return told.SignalExplanation(
        signal_id=signal_id,
        code=value.code,
        text=value.text,
        at=from_instant(value.at),
        since=moment(value.since),
        until=moment(value.until),
    )


# The log


def entry(value: LogEntry) -> told.SignalLine:
    news = SignalNews.from_log(value.data)
    return told.SignalLine(
        **asdict(telling.entry(value)), firing_id=news.firing_id, run_id=news.run_id, task_id=news.task_id
    )


def event(item: FeedEntry) -> tuple[str, told.SignalEvent]:
    """Its name, and the event."""
    name, fields = _event(item)
    return name, frames.EVENTS[name].line(**fields)


def event_frame(item: FeedEntry, subscription: str) -> told.SignalEvent:
    name, fields = _event(item)
    return frames.EVENTS[name].frame(**(fields | {"subscription": subscription}))


def _event(item: FeedEntry) -> tuple[str, dict[str, Any]]:
    entry, news = item.entry, SignalNews.from_log(item.entry.data)
    found: dict[str, Any] = {"cursor": item.cursor, "occurred_at": from_instant(entry.at)}
    # The id is made of what never changes: who gets it twice knows it again.
    if entry.cause == FIRED and news.firing_id is not None:
        name, own = frames.FIRED, str(news.firing_id)
        found["payload"] = _fired(entry, news)
    else:
        name, own = frames.CREATED if entry.cause == CREATED else frames.UPDATED, str(entry.seq)
        found["payload"] = _changed(entry, news)
    return name, {"event_id": f"{name}:{own}", **found}


def _fired(entry: LogEntry, news: SignalNews) -> told.FiredNews:
    return told.FiredNews(
        namespace=entry.namespace,
        signal_id=entry.subject_id,
        firing_id=news.firing_id or "",
        subject_kind=news.subject_kind,
        subject_id=news.subject_id,
        from_status=news.from_status,
        to_status=news.to_status,
        run_id=news.run_id or UNSET,
        task_id=news.task_id or UNSET,
    )


def _changed(entry: LogEntry, news: SignalNews) -> told.ChangeNews:
    return told.ChangeNews(
        namespace=entry.namespace,
        signal_id=entry.subject_id,
        status=entry.to_status,
        from_status=entry.from_status,
        cause=entry.cause,
        by=news.by,
        note=news.note,
    )
