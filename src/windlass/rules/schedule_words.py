"""What a schedule does and why it does not fire, in sentences that a person can act on."""

from __future__ import annotations

from enum import StrEnum

from windlass.errors import InvalidInput
from windlass.model.duration import between, describe
from windlass.model.schedule import CatchUp, Overlap, Schedule, ScheduleStatus, ScheduleView, Timing
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules import slots
from windlass.rules.schedules import is_blocked

ON_TIME = Duration(10 * SECOND)  # how late is still on time, for who does not know how often coordinators look


class Standing(StrEnum):
    """Where a schedule stands, in a word."""

    ACTIVE = "active"
    LATE = "late"  # it is due, and nobody has looked for longer than somebody should
    BLOCKED = "blocked"  # until one of its runs has ended
    PAUSED = "paused"
    UNDECLARED = "undeclared"
    BROKEN = "broken"  # its times cannot be computed


def standing(schedule: Schedule, *, now: Instant, grace: Duration) -> Standing:
    """`grace` is how late is still on time."""
    if not schedule.is_declared:
        return Standing.UNDECLARED
    if schedule.status is ScheduleStatus.PAUSED:
        return Standing.PAUSED
    if schedule.error is not None:
        return Standing.BROKEN
    if is_blocked(schedule):
        return Standing.BLOCKED
    is_late = schedule.available_at is not None and schedule.available_at < now - grace
    return Standing.LATE if is_late else Standing.ACTIVE


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


def why_late(schedule: Schedule, *, now: Instant, has_workers: bool, is_disabled: bool = False) -> str:
    """Of one that nobody looks after; workers may be there all the same."""
    due_at = now if schedule.available_at is None else schedule.available_at
    advice = "A worker does: windlass worker MODULE:APP"
    if has_workers:
        advice = "Workers are there, but none of them fires schedules: see WINDLASS_COORDINATOR_ENABLED"
    if is_disabled:
        advice = f"Its namespace is disabled: windlass namespaces enable {schedule.namespace}"
    return f"due for {between(due_at, now)}, and nobody fires it. {advice}"


def times(timing: Timing) -> str:
    """In words; as they are written, if they cannot be read."""
    try:
        return slots.describe(timing)
    except InvalidInput:
        return f"{timing.cron} ({timing.tz})" if timing.every is None else f"every {describe(timing.every)}"


def in_words(schedule: Schedule) -> str:
    """What it starts and when, in a line."""
    return f"{schedule.workflow} {times(schedule.timing)}"


def catching_up(schedule: Schedule) -> str:
    """What becomes of times that pass while nobody looks."""
    if schedule.catch_up is CatchUp.NONE:
        return "Times that pass while nobody looks are dropped."
    if schedule.catch_up is CatchUp.LATEST:
        return "Of times that pass while nobody looks the last is fired, late; the others are dropped."
    most, one_by_one = f"{schedule.max_catch_up:,}", ""
    if schedule.overlap is not Overlap.ALLOW:
        one_by_one = ", one after another"
    return f"Times that pass while nobody looks are fired late{one_by_one}: the last {most}; older ones are dropped."


def overlapping(schedule: Schedule) -> str:
    """What becomes of a time that meets a run which is not over."""
    return {
        Overlap.ALLOW: "Its runs may overlap.",
        Overlap.SKIP: "A time that comes while a run of it is not over is skipped.",
        Overlap.QUEUE: "A time that comes while a run of it is not over waits for the end of that run, one at most; "
        "behind that the schedule itself waits.",
    }[schedule.overlap]


def spreading(schedule: Schedule) -> str:
    """How far runs begin behind their times; nothing if they do not."""
    return f"A run begins up to {describe(schedule.jitter)} after its time (jitter)." if schedule.jitter else ""
