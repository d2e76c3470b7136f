"""What a worker is, and what it serves."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.run import WorkerId
from windlass.model.time import Instant


class LockKind(StrEnum):
    """What ends with a worker, so that others can see that it has ended."""

    FILE = "file"  # an OS lock beside the SQLite file: a free one proves that the process is dead
    SESSION = "session"  # an advisory lock in PostgreSQL: a free one proves that a session was lost, no more


class Standing(StrEnum):
    """Where a worker stands, as far as others can tell."""

    ONLINE = "online"
    DRAINING = "draining"  # it claims nothing new, and leaves once what it holds is done or its grace is over
    SILENT = "silent"  # it said nothing for too long: dead, stuck or cut off
    OFFLINE = "offline"  # it said goodbye, was found dead, or was silent until it was marked so


class Served(Struct, frozen=True, order=True):
    """One thing a worker can execute: runs of this name and version in this queue."""

    queue: str
    name: str
    version: str = ""


class ServedPipeline(Struct, frozen=True, order=True):
    """One pipeline a worker can execute, as its code has it."""

    queue: str
    name: str
    revision: str


class EndedRuns(Struct, frozen=True, kw_only=True):
    """How many runs ended at a worker, since it began."""

    completed: int
    failed: int


class Worker(Struct, frozen=True, kw_only=True):
    """A row of `workers`. A heartbeat touches this row and no other."""

    namespace: str
    id: WorkerId
    host: str
    pid: int
    served: tuple[Served, ...]
    slots: int
    active: int  # slots in use: where workers are listed, counted then; in other reads what it said last
    completed: int
    failed: int
    started_at: Instant
    seen_at: Instant
    stopped_at: Instant | None = None
    lock: LockKind | None = None  # none: nothing but its silence tells that it is gone
    is_draining: bool = False  # asked to leave, or about to
    pipelines: tuple[ServedPipeline, ...] = ()
