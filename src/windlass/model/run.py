"""What a run is: one execution of a workflow, and where it stands."""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

from msgspec import Struct

from windlass.model.failure import Failure
from windlass.model.time import Instant

RunId = NewType("RunId", str)  # "run_" and 26 characters, sortable by creation
WorkerId = NewType("WorkerId", str)  # "wrk_" and 26 characters

LOWEST_PRIORITY, HIGHEST_PRIORITY = -10, 10  # the claim walks one range per priority in use, so there are few


class RunStatus(StrEnum):
    WAITING = "waiting"  # for its needs, or for an event without a deadline
    PENDING = "pending"  # may be claimed once available_at has passed
    RUNNING = "running"  # claimed; available_at is the end of the claim
    SLEEPING = "sleeping"  # until available_at
    PAUSED = "paused"  # held by or for a person
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL


TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.SKIPPED})


class Run(Struct, frozen=True, kw_only=True):
    """A row of `runs`: narrow, because it is rewritten at every claim."""

    namespace: str
    id: RunId
    name: str
    version: str  # "" unless the workflow pins one
    queue: str
    priority: int  # higher goes first
    status: RunStatus
    available_at: Instant | None
    token: int  # grows with every claim; stands in the WHERE of every write of the holder
    worker: WorkerId | None
    poll: int  # which poll of that worker claimed it
    attempts: int  # claims so far
    recoveries: int  # claims in a row that followed a claim nobody released
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None


class RunView(Struct, frozen=True, kw_only=True):
    """A run as people see it: the row, its start key and its payloads."""

    run: Run
    key: str | None = None
    input: bytes = b""
    output: bytes | None = None
    failure: Failure | None = None  # of a failed run, or why a paused one is paused


# Causes in the log by which a claim ended that nobody gave back.
RECOVERED = "recover"  # it ran out
DEATH = "death"  # its holder's process was found dead
SESSION_LOST = "session_lost"  # its holder's session was: dead, or cut off
GONE = frozenset({DEATH, SESSION_LOST})
TAKEN = GONE | {RECOVERED}


class LogEntry(Struct, frozen=True, kw_only=True):
    """One status change, written in the transaction that made it."""

    seq: int
    namespace: str
    subject_kind: str
    subject_id: str
    from_status: str | None
    to_status: str
    cause: str
    at: Instant
    data: bytes | None = None
