"""What a step is: append-only attempts under one key of a run."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.failure import Failure
from windlass.model.time import Duration, Instant


class StepKind(StrEnum):
    STEP = "step"
    SLEEP = "sleep"
    EVENT = "event"  # waits for something sent to the run
    APPROVAL = "approval"  # waits for a person
    CHILD = "child"  # waits for the end of another run
    START = "start"  # started another run, and did not wait for it

    @property
    def is_wait(self) -> bool:
        """Does the engine decide when it is over, and not the worker?"""
        return self in WAITS


WAITS = frozenset({StepKind.EVENT, StepKind.APPROVAL, StepKind.CHILD, StepKind.START})


class StepStatus(StrEnum):
    RUNNING = "running"  # seen to have started; says nothing about how it ended
    WAITING = "waiting"  # for due_at, or until somebody brings what it awaits
    COMPLETED = "completed"
    FAILED = "failed"  # this attempt; due_at says when the next may begin, null means there is none


class Step(Struct, frozen=True, kw_only=True, gc=False):
    """A row of `steps`."""

    namespace: str
    run_id: str
    key: str  # the name, "name#2" for repeats, "name:key" with an explicit key
    attempt: int
    kind: StepKind
    status: StepStatus
    order: int | None  # in which order results reached the code; null until there is one
    token: int  # of the claim under which it was written
    failures: int  # failed attempts up to and with this one: the retry budget counts nothing else
    input_hash: bytes
    output: bytes | None
    failure: Failure | None
    due_at: Instant | None
    started_at: Instant | None
    finished_at: Instant | None
    awaits: str | None = None  # the name of an event, the id of a run, the title of an approval
    detail: bytes | None = None  # what an approval shows to whoever decides
    is_dropped: bool = False  # the branch that waited was given up: it wakes nobody


class StepRecord(Struct, frozen=True, kw_only=True, gc=False):
    """The latest attempt of one step, as a claim hands it to a worker. Durations, because workers compare no clocks."""

    key: str
    kind: StepKind
    attempt: int
    status: StepStatus
    order: int | None
    failures: int
    input_hash: bytes
    output: bytes | None = None
    failure: Failure | None = None
    due_in: Duration | None = None
    finished_at: Instant | None = None
    awaits: str | None = None
    is_copied: bool = False  # from the run this one tries again: it need not be asked for
