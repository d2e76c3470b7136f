"""What `--json` answers: plain data with stable names, times as ISO 8601 in UTC, payloads as they are stored."""

from __future__ import annotations

import base64
import json
from typing import Any

from windlass.model.access import EVERY_NAMESPACE, AuditEntry, Key
from windlass.model.duration import from_instant
from windlass.model.explanation import Explanation
from windlass.model.failure import Failure
from windlass.model.gate import Gate
from windlass.model.graph import GraphView, JobView
from windlass.model.message import Message
from windlass.model.namespace import Namespace
from windlass.model.queue import QueueView
from windlass.model.run import Deed, LogEntry, Run, RunView
from windlass.model.step import Step
from windlass.model.time import Duration, Instant
from windlass.model.worker import Worker
from windlass.rules.api_keys import standing as standing_of_key
from windlass.rules.workers import said_goodbye, standing


def instant(value: Instant | None) -> str | None:
    if value is None:
        return None
    return from_instant(value).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def payload(data: bytes | None) -> Any:
    """The stored JSON itself, tags included; what a codec of the user has sealed, as base64."""
    if not data:  # what a graph returns is nothing at all
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return {"$sealed": base64.b64encode(data).decode()}


def failure(value: Failure | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "kind": value.kind.value,
        "type": value.type,
        "message": value.message,
        "step": value.step or None,
        "traceback": value.traceback or None,
        "data": payload(value.data),
        "reason": None if value.reason is None else value.reason.value,
    }


def run(value: Run, *, key: str | None, failed: Failure | None, waits_for: str) -> dict[str, Any]:
    return {
        "id": value.id,
        "namespace": value.namespace,
        "workflow": value.name,
        "version": value.version or None,
        "key": key,
        "queue": value.queue,
        "priority": value.priority,
        "status": value.status.value,
        "waits_for": waits_for or None,
        "available_at": instant(value.available_at),
        "worker": value.worker,
        "attempts": value.attempts,
        "recoveries": value.recoveries,
        "created_at": instant(value.created_at),
        "started_at": instant(value.started_at),
        "finished_at": instant(value.finished_at),
        "expires_at": instant(value.expires_at),
        "is_held": value.is_held,
        "parent": value.parent,
        "parent_step": value.parent_step,
        "kind": value.kind.value,
        "graph": value.graph,
        "job": value.job,
        "ready_at": instant(value.ready_at),
        "retry_of": value.retry_of,
        "schedule": value.schedule,
        "slot": instant(value.slot),
        "scheduled_at": instant(value.scheduled_at),
        "failure": failure(failed),
    }


def graph(value: GraphView, *, running: int | None) -> dict[str, Any]:
    """`running` is how many jobs are at work; null if there are too many to count."""
    found, run_of = value.graph, value.run
    return {
        "id": found.id,
        "namespace": found.namespace,
        "name": found.name,
        "status": run_of.status.value,
        "is_paused": found.is_paused,
        "ending": None if found.ending is None else found.ending.value,
        "jobs": found.jobs,
        "open": found.open,
        "running": running,
        "completed": found.completed,
        "failed": found.failed,
        "cancelled": found.cancelled,
        "skipped": found.skipped,
        "created_at": instant(run_of.created_at),
        "started_at": instant(run_of.started_at),
        "finished_at": instant(run_of.finished_at),
        "failure": failure(value.failure),
    }


def job(value: JobView, *, waits_for: str) -> dict[str, Any]:
    state = value.state
    return {
        "name": state.name,
        "id": value.run.id,
        "workflow": value.run.name,
        "status": value.status.value,
        "waits_for": waits_for or None,
        "is_group": state.is_group,
        "is_cleanup": state.is_cleanup,
        "group": state.group,
        "matrix": state.matrix,
        "decided_by": state.decided_by,
        "needs_satisfied": value.needs_satisfied,
        "needs": [
            {
                "job": edge.upstream,
                "accepts": [status.value for status in edge.accepts],
                "is_group": edge.is_group,
                "is_resolved": edge.is_resolved,
            }
            for edge in value.needs
        ],
        "ready_at": instant(value.run.ready_at),
        "started_at": instant(value.run.started_at),
        "finished_at": instant(value.run.finished_at),
        "failure": failure(value.failure),
    }


def gate(value: Gate) -> dict[str, Any]:
    return {
        "namespace": value.namespace,
        "kind": value.kind.value,
        "name": value.name,
        "is_paused": value.is_paused,
        "paused_by": value.paused_by,
        "note": value.note,
        "paused_at": instant(value.paused_at),
    }


def queue(value: QueueView) -> dict[str, Any]:
    return {
        "namespace": value.namespace,
        "name": value.name,
        "at": instant(value.at),
        "due": value.due,
        "oldest_due_at": instant(value.oldest_due_at),
        "running": value.running,
        "later": value.later,
        "waiting": value.waiting,
        "paused": value.paused,
        "ended_per_minute": round(value.ended_per_minute, 1),
        "ended_is_estimate": value.ended_is_estimate,
        "workers": value.workers,
        "slots": value.slots,
        "is_paused": value.gate is not None,
        "unserved": [
            {"workflow": lane.name, "version": lane.version or None, "runs": runs} for lane, runs in value.unserved
        ],
    }


def worker(value: Worker, *, now: Instant, silent_for: Duration) -> dict[str, Any]:
    return {
        "id": value.id,
        "namespace": value.namespace,
        "host": value.host,
        "pid": value.pid,
        "status": standing(value, now=now, silent_for=silent_for).value,
        "is_draining": value.is_draining,
        "said_goodbye": said_goodbye(value),
        "serves": [
            {"queue": item.queue, "workflow": item.name, "version": item.version or None} for item in value.served
        ],
        "pipelines": [{"queue": item.queue, "name": item.name} for item in value.pipelines],
        "active": value.active,
        "slots": value.slots,
        "completed": value.completed,
        "failed": value.failed,
        "started_at": instant(value.started_at),
        "seen_at": instant(value.seen_at),
        "stopped_at": instant(value.stopped_at),
    }


def namespace(value: Namespace) -> dict[str, Any]:
    return {
        "name": value.name,
        "is_enabled": value.is_enabled,
        "note": value.note,
        "created_at": instant(value.created_at or None),
        "disabled_at": instant(value.disabled_at),
    }


def key(value: Key, *, now: Instant) -> dict[str, Any]:
    return {
        "id": value.id,
        "namespace": value.namespace,
        "is_for_all": value.namespace == EVERY_NAMESPACE,
        "status": standing_of_key(value, now=now).value,
        "roles": [role.value for role in value.roles],
        "queues": list(value.queues),
        "note": value.note,
        "created_by": value.created_by,
        "created_at": instant(value.created_at),
        "expires_at": instant(value.expires_at),
        "revoked_at": instant(value.revoked_at),
    }


def audit_entry(value: AuditEntry) -> dict[str, Any]:
    return {
        "seq": value.seq,
        "at": instant(value.at),
        "namespace": value.namespace,
        "actor": value.actor,
        "action": value.action,
        "subject": value.subject,
        "request_id": value.request_id,
        "before": value.before,
        "after": value.after,
    }


def view(value: RunView, *, waits_for: str) -> dict[str, Any]:
    record = run(value.run, key=value.key, failed=value.failure, waits_for=waits_for)
    return {**record, "input": payload(value.input), "output": payload(value.output)}


def step(value: Step, *, is_interrupted: bool) -> dict[str, Any]:
    return {
        "key": value.key,
        "kind": value.kind.value,
        "attempt": value.attempt,
        "status": "interrupted" if is_interrupted else value.status.value,
        "awaits": value.awaits,
        "detail": payload(value.detail),
        "is_given_up": value.is_dropped,
        "output": payload(value.output),
        "failure": failure(value.failure),
        "due_at": instant(value.due_at),
        "started_at": instant(value.started_at),
        "finished_at": instant(value.finished_at),
    }


def explanation(value: Explanation) -> dict[str, Any]:
    return {
        "id": value.run_id,
        "workflow": value.name,
        "status": value.status.value,
        "code": value.code.value,
        "text": value.text,
        "at": instant(value.at),
        "since": instant(value.since),
        "until": instant(value.until),
        "worker": value.worker,
        "step": value.step,
    }


def entry(value: LogEntry) -> dict[str, Any]:
    deed = Deed.from_log(value.data)
    return {
        "seq": value.seq,
        "at": instant(value.at),
        "from": value.from_status,
        "to": value.to_status,
        "cause": value.cause,
        "by": deed.by,
        "note": deed.note,
        "step": deed.step,
        "run": deed.run,
    }


def message(value: Message) -> dict[str, Any]:
    return {
        "seq": value.seq,
        "kind": value.kind.value,
        "name": value.name,
        "id": value.id,
        "payload": payload(value.payload),
        "sent_at": instant(value.sent_at),
        "received_by": value.taken_by,
    }
