"""From what the doors answer to what is told over HTTP."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import msgspec

from windlass.model.access import AuditEntry, Key
from windlass.model.checkup import Checkup
from windlass.model.duration import from_instant
from windlass.model.explanation import Explanation
from windlass.model.failure import Failure
from windlass.model.feed import FeedEntry, FeedPage
from windlass.model.gate import Gate
from windlass.model.message import Decision, Message
from windlass.model.namespace import Namespace
from windlass.model.queue import QueueView
from windlass.model.run import Deed, LogEntry, Run, RunView
from windlass.model.schedule import ScheduleView
from windlass.model.step import Step
from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Worker
from windlass.rules.schedule_words import times, why_not
from windlass.rules.workers import LIVE_FOR, said_goodbye, standing
from windlass.server.http import told, told_of_server


def moment(value: Instant | None) -> datetime | None:
    return None if value is None else from_instant(value)


def payload(data: bytes | None) -> Any:
    """The stored JSON itself, tags included; what a codec of the user has sealed, as base64."""
    if not data:
        return None
    try:
        msgspec.json.decode(data)
        return msgspec.Raw(data)  # to the letter: what was decoded may be a number that cannot be written again
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {"$sealed": base64.b64encode(data).decode()}


def seconds(duration: Duration | None) -> float | None:
    return None if duration is None else duration / SECOND


def failure(value: Failure | None) -> told.FailureDetail | None:
    if value is None:
        return None
    return told.FailureDetail(
        kind=value.kind,
        type=value.type,
        message=value.message,
        step=value.step or None,
        traceback=value.traceback or None,
        data=payload(value.data),
        reason=value.reason,
    )


def _run_fields(value: Run) -> dict[str, Any]:
    return {
        "id": value.id,
        "kind": value.kind,
        "namespace": value.namespace,
        "workflow": value.name,
        "version": value.version or None,
        "queue": value.queue,
        "priority": value.priority,
        "status": value.status,
        "available_at": moment(value.available_at),
        "worker": value.worker,
        "attempts": value.attempts,
        "recoveries": value.recoveries,
        "created_at": from_instant(value.created_at),
        "ready_at": moment(value.ready_at),
        "started_at": moment(value.started_at),
        "finished_at": moment(value.finished_at),
        "expires_at": moment(value.expires_at),
        "is_held": value.is_held,
        "parent": value.parent,
        "parent_step": value.parent_step,
        "retry_of": value.retry_of,
        "schedule": value.schedule,
        "slot": moment(value.slot),
        "scheduled_at": moment(value.scheduled_at),
    }


def run(value: Run) -> told.RunSummary:
    return told.RunSummary(**_run_fields(value))


def view(value: RunView) -> told.RunDetail:
    return told.RunDetail(
        **_run_fields(value.run),
        key=value.key,
        input=payload(value.input),
        output=payload(value.output),
        failure=failure(value.failure),
    )


def step(value: Step) -> told.StepDetail:
    return told.StepDetail(
        key=value.key,
        kind=value.kind,
        attempt=value.attempt,
        status=value.status,
        awaits=value.awaits,
        detail=payload(value.detail),
        is_given_up=value.is_dropped,
        output=payload(value.output),
        failure=failure(value.failure),
        due_at=moment(value.due_at),
        started_at=moment(value.started_at),
        finished_at=moment(value.finished_at),
    )


def entry(value: LogEntry) -> told.LogLine:
    deed = Deed.from_log(value.data)
    return told.LogLine(
        seq=value.seq,
        at=from_instant(value.at),
        subject_kind=value.subject_kind,
        subject_id=value.subject_id,
        from_status=value.from_status,
        to_status=value.to_status,
        cause=value.cause,
        by=deed.by,
        note=deed.note,
        step=deed.step,
        run=deed.run,
    )


def message(value: Message) -> told.MessageDetail:
    return told.MessageDetail(
        seq=value.seq,
        kind=value.kind,
        name=value.name,
        id=value.id,
        payload=payload(value.payload),
        sent_at=from_instant(value.sent_at),
        received_by=value.taken_by,
    )


def explanation(value: Explanation) -> told.ExplanationAnswer:
    return told.ExplanationAnswer(
        id=value.run_id,
        workflow=value.name,
        status=value.status,
        code=value.code,
        text=value.text,
        at=from_instant(value.at),
        since=moment(value.since),
        until=moment(value.until),
        worker=value.worker,
        step=value.step,
    )


def worker(value: Worker, *, now: Instant) -> told.WorkerDetail:
    return told.WorkerDetail(
        id=value.id,
        namespace=value.namespace,
        host=value.host,
        pid=value.pid,
        status=standing(value, now=now, silent_for=LIVE_FOR),
        is_draining=value.is_draining,
        said_goodbye=said_goodbye(value),
        serves=[
            told.LaneDetail(queue=item.queue, workflow=item.name, version=item.version or None) for item in value.served
        ],
        active=value.active,
        slots=value.slots,
        completed=value.completed,
        failed=value.failed,
        started_at=from_instant(value.started_at),
        seen_at=from_instant(value.seen_at),
        stopped_at=moment(value.stopped_at),
    )


def queue(value: QueueView) -> told.QueueDetail:
    return told.QueueDetail(
        namespace=value.namespace,
        name=value.name,
        at=from_instant(value.at),
        due=value.due,
        oldest_due_at=moment(value.oldest_due_at),
        running=value.running,
        later=value.later,
        waiting=value.waiting,
        paused=value.paused,
        ended_per_minute=round(value.ended_per_minute, 1),
        ended_is_estimate=value.ended_is_estimate,
        workers=value.workers,
        slots=value.slots,
        is_paused=value.gate is not None,
        unserved=[
            told.UnservedLane(workflow=lane.name, version=lane.version or None, runs=runs)
            for lane, runs in value.unserved
        ],
    )


def gate(value: Gate) -> told.GateDetail:
    return told.GateDetail(
        namespace=value.namespace,
        kind=value.kind,
        name=value.name,
        is_paused=value.is_paused,
        paused_by=value.paused_by,
        note=value.note,
        paused_at=moment(value.paused_at),
    )


def decision(value: Decision) -> told.DecisionAnswer:
    return told.DecisionAnswer(outcome=value.outcome, by=value.by, note=value.note, at=value.at)


def schedule(value: ScheduleView) -> told.ScheduleDetail:
    row, timing = value.schedule, value.schedule.timing
    return told.ScheduleDetail(
        namespace=row.namespace,
        name=row.name,
        workflow=row.workflow,
        version=row.version or None,
        queue=row.queue,
        input=payload(row.input),
        timeout_secs=seconds(row.timeout_for),
        times=times(timing),
        cron=timing.cron,
        every_secs=seconds(timing.every),
        tz=timing.tz,
        catch_up=row.catch_up,
        max_catch_up=row.max_catch_up,
        overlap=row.overlap,
        jitter_secs=row.jitter / SECOND,
        status=row.status,
        why=why_not(value),
        next=[from_instant(slot) for slot in value.next],
        last_slot=from_instant(row.last_slot),
        last_run=value.last_run,
        active=list(value.active),
        queued=list(value.queued),
        fired=row.fired,
        skipped=row.skipped,
        dropped=row.dropped,
        declared_in=row.declared_in,
        is_declared=row.is_declared,
        revision=row.revision,
        paused_by=row.paused_by,
        note=row.note,
        paused_at=moment(row.paused_at),
        created_at=from_instant(row.created_at),
        changed_at=from_instant(row.changed_at),
    )


def feed_line(value: FeedEntry) -> told.FeedLine:
    return told.FeedLine(cursor=value.cursor, entry=entry(value.entry))


def feed(value: FeedPage) -> told.FeedAnswer:
    return told.FeedAnswer(
        entries=[feed_line(item) for item in value.entries], cursor=value.cursor, has_more=value.has_more
    )


def audit(value: AuditEntry) -> told.AuditLine:
    return told.AuditLine(
        seq=value.seq,
        at=from_instant(value.at),
        namespace=value.namespace,
        actor=value.actor,
        action=value.action,
        subject=value.subject,
        request_id=value.request_id,
        before=value.before,
        after=value.after,
    )


def namespace(value: Namespace) -> told_of_server.NamespaceDetail:
    return told_of_server.NamespaceDetail(
        name=value.name,
        is_enabled=value.is_enabled,
        note=value.note,
        created_at=from_instant(value.created_at),
        disabled_at=moment(value.disabled_at),
    )


def key(value: Key) -> told_of_server.KeyDetail:
    return told_of_server.KeyDetail(
        id=value.id,
        namespace=value.namespace,
        roles=list(value.roles),
        queues=list(value.queues),
        note=value.note,
        created_at=from_instant(value.created_at),
        created_by=value.created_by,
        expires_at=moment(value.expires_at),
        revoked_at=moment(value.revoked_at),
    )


def checkup(value: Checkup) -> told_of_server.CheckupAnswer:
    checks = [
        told_of_server.CheckDetail(name=item.name, grade=item.grade, text=item.text, details=list(item.details))
        for item in value.checks
    ]
    return told_of_server.CheckupAnswer(is_sound=value.is_sound, checks=checks)
