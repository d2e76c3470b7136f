"""What `--json` answers about schedules."""

from __future__ import annotations

from typing import Any

from windlass.cli.records import instant, payload
from windlass.model.run import Run
from windlass.model.schedule import ScheduleView
from windlass.model.time import SECOND, Duration
from windlass.rules.schedule_words import Standing, times


def schedule(view: ScheduleView, *, standing: Standing, why: str | None, last: Run | None) -> dict[str, Any]:
    row, timing = view.schedule, view.schedule.timing
    return {
        "namespace": row.namespace,
        "name": row.name,
        "workflow": row.workflow,
        "version": row.version or None,
        "queue": row.queue,
        "input": payload(row.input),
        "timeout_secs": seconds(row.timeout_for),
        "times": times(timing),
        "cron": timing.cron,
        "every_secs": seconds(timing.every),
        "tz": timing.tz,
        "catch_up": row.catch_up.value,
        "max_catch_up": row.max_catch_up,
        "overlap": row.overlap.value,
        "jitter_secs": seconds(row.jitter),
        "status": row.status.value,
        "standing": standing.value,
        "why": why,
        "next": [instant(slot) for slot in view.next],
        "last_slot": instant(row.last_slot),
        "last_run": None if last is None else ended(last),
        "active": list(view.active),
        "queued": list(view.queued),
        "fired": row.fired,
        "skipped": row.skipped,
        "dropped": row.dropped,
        "declared_in": row.declared_in,
        "is_declared": row.is_declared,
        "revision": row.revision,
        "paused_by": row.paused_by,
        "note": row.note,
        "paused_at": instant(row.paused_at),
        "created_at": instant(row.created_at),
        "changed_at": instant(row.changed_at),
    }


def ended(run: Run) -> dict[str, Any]:
    """A run of a schedule, as far as it concerns the schedule."""
    return {
        "id": run.id,
        "status": run.status.value,
        "slot": instant(run.slot),
        "scheduled_at": instant(run.scheduled_at),
        "retry_of": run.retry_of,
        "created_at": instant(run.created_at),
        "started_at": instant(run.started_at),
        "finished_at": instant(run.finished_at),
    }


def seconds(duration: Duration | None) -> float | None:
    return None if duration is None else duration / SECOND
