"""What a schedule is: which runs it starts, at which times, and where it stands."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.run import RunId
from windlass.model.time import Duration, Instant


class CatchUp(StrEnum):
    """What becomes of slots that passed while nobody looked."""

    NONE = "none"
    LATEST = "latest"  # the last one is fired, late
    ALL = "all"  # the last `max_catch_up` are fired, the oldest first


class Overlap(StrEnum):
    """What becomes of a slot while a run of the same schedule is not over."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE = "queue"  # its run waits for the one before it; while one waits already, the schedule itself waits


class ScheduleStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"


class Timing(Struct, frozen=True, kw_only=True):
    """When: by a cron expression on the clocks of a zone, or every so often in elapsed time."""

    cron: str | None = None
    every: Duration | None = None
    tz: str = "UTC"


class Schedule(Struct, frozen=True, kw_only=True):
    """A row of `schedules`. A slot is a nominal time; `last_slot` only moves together with the runs of its slots."""

    namespace: str
    name: str
    workflow: str
    version: str  # of the workflow; "" unless it pins one
    queue: str
    input: bytes
    input_hash: bytes  # the same for equal arguments, also where the input is encrypted
    timeout_for: Duration | None
    timing: Timing
    anchor: Instant  # intervals are counted from here
    catch_up: CatchUp
    max_catch_up: int
    overlap: Overlap
    jitter: Duration
    status: ScheduleStatus
    declared_in: str | None  # the program whose code declares it; none: made by a person or a program
    is_declared: bool  # false: its program has started without declaring it
    revision: int  # grows with every change of the definition
    last_slot: Instant  # this slot and every one before it are done with
    available_at: Instant | None  # when to look next: the next slot, unless it is paused, blocked or cannot be read
    error: str | None = None  # why its times cannot be computed; the others go on
    fired: int = 0
    skipped: int = 0  # slots that met a run which was not over
    dropped: int = 0  # slots that were missed, and not caught up with
    paused_by: str | None = None
    note: str | None = None
    paused_at: Instant | None = None
    created_at: Instant = Instant(0)
    changed_at: Instant = Instant(0)


class ScheduleView(Struct, frozen=True, kw_only=True):
    """A schedule as people see it: the row, its next times, and the runs of it that are not over."""

    schedule: Schedule
    next: tuple[Instant, ...] = ()
    active: tuple[RunId, ...] = ()  # admitted, and not over
    queued: tuple[RunId, ...] = ()  # waiting for one before them
    last_run: RunId | None = None
