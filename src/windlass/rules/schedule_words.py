"""Why a schedule does not fire, in a sentence that a person can act on."""

from __future__ import annotations

from windlass.model.schedule import ScheduleStatus, ScheduleView
from windlass.rules.schedules import is_blocked


def why_not(view: ScheduleView) -> str | None:
    """None: it fires at its next time."""
    schedule = view.schedule
    if not schedule.is_declared:
        return f"no longer declared in {schedule.declared_in}: declare it there again, or delete it"
    if schedule.status is ScheduleStatus.PAUSED:
        by = "" if schedule.paused_by is None else f" by {schedule.paused_by}"
        note = "" if schedule.note is None else f": {schedule.note}"
        return f"paused{by}{note}"
    if schedule.error is not None:
        return f"put aside, because its times cannot be computed: {schedule.error}"
    if is_blocked(schedule):
        first = ", ".join(view.active[:1]) or "a run of it"
        return f"blocked: {first} is not over, and one more waits for it already"
    return None
