"""What `--json` answers about signals and what they have fired."""

from __future__ import annotations

from typing import Any

import msgspec

from windlass.cli.records import instant, payload
from windlass.cli.schedules.records import seconds
from windlass.model.run import LogEntry
from windlass.model.signal import Action, FiringRow, Signal, SignalNews, SignalView, Trigger
from windlass.rules.signal_words import does, how_often, watched


def view(value: SignalView) -> dict[str, Any]:
    return {
        **signal(value.signal),
        "state": value.state,
        "queued": value.queued,
        "failed": value.failed,
    }


def signal(value: Signal) -> dict[str, Any]:
    return {
        "id": value.id,
        "namespace": value.namespace,
        "key": value.key,
        "status": value.status.value,
        "reason": value.reason,
        "watches": watched(value),
        "does": does(value),
        "how_often": how_often(value),
        "trigger": trigger(value.trigger),
        "action": action(value.action),
        "payload": payload(value.payload),
        "repeats": value.repeats,
        "fired": value.fired,
        "last_fired_at": instant(value.last_fired_at),
        "next_at": instant(value.available_at),
        "declared_in": value.declared_in,
        "is_declared": value.is_declared,
        "changed_by": value.changed_by,
        "created_at": instant(value.created_at),
        "changed_at": instant(value.changed_at),
    }


def trigger(value: Trigger) -> dict[str, Any]:
    return {
        "kind": value.kind.value,
        "subject": value.subject or None,
        "to": list(value.to),
        "at": instant(value.at),
        "every_secs": seconds(value.every),
    }


def action(value: Action) -> dict[str, Any]:
    return {
        "kind": value.kind.value,
        "workflow": value.workflow or None,
        "version": value.version or None,
        "queue": value.queue or None,
        "timeout_secs": seconds(value.timeout_for),
        "input": payload(value.input),
        "run": value.run_id,
        "event": value.event or None,
        "title": value.title or None,
    }


def firing(value: FiringRow) -> dict[str, Any]:
    return {
        "id": value.id,
        "namespace": value.namespace,
        "signal": value.signal_id,
        "cause": value.cause,
        "subject_kind": value.subject_kind,
        "subject": value.subject_id,
        "from": value.from_status,
        "to": value.to_status,
        "happened_at": instant(value.happened_at),
        "status": value.status.value,
        "attempt": value.attempt,
        "available_at": instant(value.available_at),
        "error": value.error,
        "run": value.run_id,
        "task": value.task_id,
        "depth": value.depth,
        "created_at": instant(value.created_at),
        "ended_at": instant(value.ended_at),
    }


def entry(value: LogEntry) -> dict[str, Any]:
    told = news(value)
    return {
        "seq": value.seq,
        "at": instant(value.at),
        "from": value.from_status,
        "to": value.to_status,
        "cause": value.cause,
        "by": told.by,
        "note": told.note,
        "firing": told.firing_id,
        "run": told.run_id,
        "task": told.task_id,
    }


def news(value: LogEntry) -> SignalNews:
    """What cannot be read says nothing: a page about a signal is shown all the same."""
    try:
        return SignalNews() if value.data is None else msgspec.json.decode(value.data, type=SignalNews)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return SignalNews()
