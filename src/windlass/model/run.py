"""What a run is: one execution of a workflow, and where it stands."""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec
from msgspec import Struct

from windlass.model.failure import Failure
from windlass.model.time import Instant

RunId = NewType("RunId", str)  # "run_" and 26 characters, sortable by creation
WorkerId = NewType("WorkerId", str)  # "wrk_" and 26 characters

LOWEST_PRIORITY, HIGHEST_PRIORITY = -10, 10  # the claim walks one range per priority in use, so there are few


class RunStatus(StrEnum):
    WAITING = "waiting"  # for its needs, an event, a person or a child; due at the earliest deadline, if there is one
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


class RunKind(StrEnum):
    """What a run is: a function of its own, or part of a graph. See model/graph.py."""

    WORKFLOW = "workflow"
    GRAPH = "graph"  # its work is done by other runs: its jobs
    JOB = "job"
    GROUP = "group"  # a job whose result is further jobs

    @property
    def is_job(self) -> bool:
        return self is RunKind.JOB or self is RunKind.GROUP


TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.SKIPPED})


class Run(Struct, frozen=True, kw_only=True, gc=False):
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
    expires_at: Instant | None = None  # its time-out; never decides what may be claimed: available_at is capped by it
    is_held: bool = False  # a person wants it paused; its holder enters no new body, and it is paused when it parks
    parent: RunId | None = None  # the run that started it as a child
    parent_step: str | None = None  # under which key of the parent
    unmet: int = 0  # children of one map that have not ended; or what a job still needs before it may begin
    starts_at: Instant | None = None  # when it was to begin, if it was started with a delay
    retry_of: RunId | None = None  # the run this one tries again
    origin: RunId | None = None  # the first run of a chain of retries; none if it is this one
    begun_at: Instant | None = None  # when that one began
    schedule: str | None = None  # the schedule that started it
    slot: Instant | None = None  # for which of its times; none: somebody asked for it, or it tries another one again
    scheduled_at: Instant | None = None  # what the workflow sees of that
    kind: RunKind = RunKind.WORKFLOW
    ready_at: Instant | None = None  # of a job: when all it needs was over, and accepted

    @property
    def graph(self) -> RunId | None:
        """Of a job: the graph it belongs to, which is its parent."""
        return self.parent if self.kind.is_job else None

    @property
    def job(self) -> str | None:
        """Of a job: its name in the graph."""
        return self.parent_step if self.kind.is_job else None


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


# Causes in the log by which a person changed a run; their data says who and why.
CANCELLED_BY, PAUSED_BY, RESUMED_BY, RETRIED_BY = "cancel", "pause", "resume", "retry"
APPROVED_BY, REJECTED_BY = "approve", "reject"
MISMATCH = "mismatch"  # paused because the code changed under the run
IN_DOUBT = "indeterminate"  # paused because nobody knows whether an effect of it happened
EXPIRED = "expire"  # ended because its time was over, and nobody held it
DRIFTED = "drift"  # a job, ended because no worker has its code any more


class Deed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person did, as the log keeps it."""

    by: str | None = None
    note: str | None = None
    step: str | None = None  # which approval it was about
    run: str | None = None  # the parent that was cancelled, or the run that tries this one again
    id: str | None = None  # by which the same call is known when it comes again

    @staticmethod
    def from_log(data: bytes | None) -> Deed:
        """Read it from an entry. What cannot be read says nothing: a page about a run is shown all the same."""
        try:
            return Deed() if data is None else msgspec.json.decode(data, type=Deed)
        except msgspec.DecodeError:
            return Deed()


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
