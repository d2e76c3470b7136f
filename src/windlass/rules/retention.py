"""What is old enough to be removed, and what somebody may still ask for."""

from __future__ import annotations

from collections.abc import Mapping

from windlass.model.run import RunStatus
from windlass.model.time import DAY, MINUTE, Duration, Instant

# Whoever got no answer asks again for a while, and must find what the first try has made. No limit is shorter.
KEPT_AT_LEAST = MINUTE
ASTRAY = DAY  # a row from further ahead than this was written by a clock that was wrong


def kept_for(name: str, *, limits: Mapping[str, Duration], default: Duration | None) -> Duration | None:
    """How long ended runs of a workflow are kept; none: for ever."""
    limit = limits.get(name, default)
    return None if limit is None else Duration(max(limit, KEPT_AT_LEAST))


def is_over_due(finished_at: Instant | None, *, keep_for: Duration | None, now: Instant) -> bool:
    """Did it end longer ago than it is kept?"""
    return finished_at is not None and keep_for is not None and finished_at + keep_for <= now


def is_too_young(at: Instant, *, keep_for: Duration, now: Instant) -> bool:
    """May something that happened then not be removed yet, and neither may what came after it?"""
    return now - keep_for < at <= now + ASTRAY


def is_asked_for(*, parent_status: RunStatus | None, has_retry: bool, is_job: bool = False) -> bool:
    """May another run that is still there ask for an ended one?

    Whoever tries a run again, or its parent, goes by what stands in both of them. A parent that is completed is never
    executed again; but a job is a part of its graph, and is shown as long as that is.
    """
    if is_job and parent_status is not None:
        return True
    return has_retry or parent_status not in (None, RunStatus.COMPLETED)


def is_read(last_seq: int, *, seen_to: int | None) -> bool:
    """Have all who read the log heard of everything about it?"""
    return seen_to is None or last_seq <= seen_to
