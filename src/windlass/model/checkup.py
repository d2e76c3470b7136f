"""Whether a database is in order: the answer to `doctor`."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.pipeline import Pipeline
from windlass.model.time import Duration, Instant


class Grade(StrEnum):
    GOOD = "good"
    WARNING = "warning"  # worth a look, and no fault of the database
    FAILED = "failed"
    SKIPPED = "skipped"  # could not be judged, because of another check


class Check(Struct, frozen=True, kw_only=True):
    name: str  # stable
    grade: Grade
    text: str  # not escaped: names in it come from users
    details: tuple[str, ...] = ()


class Cursor(Struct, frozen=True, kw_only=True):
    """How far a reader of the log has come that must not miss anything."""

    namespace: str
    name: str
    seq: int
    moved_at: Instant


class Kept(Struct, frozen=True, kw_only=True):
    """What is kept of runs that are over."""

    ended: int  # in all
    late: int  # that should be gone by now
    unread: int  # of these: they wait for a cursor
    limit: Duration | None  # how long they are kept; none: for ever
    own_limits: int  # workflows that say otherwise
    cursors: tuple[Cursor, ...] = ()  # the slowest of each namespace in which something waits for it


class PipelineState(Struct, frozen=True, kw_only=True):
    """A pipeline, and what keeps it going or does not."""

    pipeline: Pipeline
    is_served: bool  # a worker is alive that has its code as it was declared last
    is_closed: bool = False  # its queue or namespace is paused
    stale: int = 0  # inputs that have waited for longer than they should


class Holder(Struct, frozen=True, kw_only=True):
    """An open transaction that has written something: what others write after it is told of once it is over."""

    pid: int  # 0: nobody's, prepared and left
    application: str
    person: str
    database: str
    state: str
    open_for: Duration


class FeedState(Struct, frozen=True, kw_only=True):
    """Whether those who follow the log hear of everything."""

    held_since: Instant | None  # something happened then that is not told of yet
    ahead: int  # entries from the future of this server
    holders: tuple[Holder, ...] = ()  # the oldest first


class Checkup(Struct, frozen=True, kw_only=True):
    checks: tuple[Check, ...]

    @property
    def is_sound(self) -> bool:
        """Nothing failed. Warnings do not count."""
        return all(check.grade is not Grade.FAILED for check in self.checks)
