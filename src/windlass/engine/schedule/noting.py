"""What the log says about a schedule: every change of its definition or its status, and who asked for it."""

from __future__ import annotations

from windlass.model.run import Deed
from windlass.model.schedule import Schedule
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes

SUBJECT = "schedule"
DELETED = "deleted"
BACKFILLED = "backfill"  # the note of a resume that asked for what had passed meanwhile


def noted(schedule: Schedule, *, was: Schedule | None, cause: str, deed: Deed | None = None) -> NewLogEntry:
    return _entry(schedule, None if was is None else was.status, schedule.status, cause, deed)


def noted_end(schedule: Schedule, *, deed: Deed) -> NewLogEntry:
    return _entry(schedule, schedule.status, DELETED, "delete", deed)


def _entry(schedule: Schedule, from_status: str | None, to_status: str, cause: str, deed: Deed | None) -> NewLogEntry:
    return NewLogEntry(
        namespace=schedule.namespace,
        subject_kind=SUBJECT,
        subject_id=schedule.name,
        from_status=from_status,
        to_status=to_status,
        cause=cause,
        data=None if deed is None else deed_to_bytes(deed),
    )
