"""What a signal is: when something enters a state, or a time has come, do something about it, durably and once.

    signal    armed ─► fired         once; `repeats`: it stays armed, and counts
                │ ▲
                ▼ │  paused          firings are still created, and wait until it is resumed
              resolved · cancelled   for good: what it watched is gone, or somebody called it off

    firing    queued ─► running ─► done          one for each signal and cause, with an id made from both
                 ▲         │─────► failed        its attempts are used up, and its signal is paused
                 └─────────┘ ────► superseded    the signal had fired already, or was called off

A firing is created in the transaction of the transition that causes it. A coordinator claims and works it.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

import msgspec
from msgspec import Struct

from windlass.model.item import TaskId
from windlass.model.run import RunId
from windlass.model.time import MINUTE, SECOND, Duration, Instant

SignalId = NewType("SignalId", str)  # "sig_" and 26 characters, sortable by creation
FiringId = NewType("FiringId", str)  # the id of the signal, ".", and the cause

MOST_ATTEMPTS = 5  # at one firing
FIRST_DELAY, LONGEST_DELAY = Duration(1 * SECOND), Duration(60 * SECOND)  # between them: doubled, and jittered
CLAIM_FOR = Duration(1 * MINUTE)  # how long a coordinator has for what it claims
DEEPEST_CHAIN = 10  # firings that cause one another
ANY = "*"  # as the subject of a signal on work items: all of them


class TriggerKind(StrEnum):
    """What is watched. Stable: these go over the wire."""

    ITEM = "work_item.status.transition"
    RUN = "run.status.transition"
    JOB = "job.status.transition"  # a job of a graph, by the id of its run
    GRAPH = "graph.status.transition"  # by the id of its run
    PIPELINE = "pipeline.status.transition"  # by its name
    WORKFLOW = "workflow.status.transition"  # every run of a workflow, graph or job, by the name of that
    TIME = "time"

    @property
    def subject_kind(self) -> str:
        """Of the subject's entries in the log, or what stands in the signal instead: "workflow" and "time"."""
        return SUBJECT_KINDS[self]


SUBJECT_KINDS = {
    TriggerKind.ITEM: "item",
    TriggerKind.RUN: "run",
    TriggerKind.JOB: "run",
    TriggerKind.GRAPH: "run",
    TriggerKind.PIPELINE: "pipeline",
    TriggerKind.WORKFLOW: "workflow",
    TriggerKind.TIME: "time",
}


class Trigger(Struct, frozen=True, kw_only=True):
    """When to fire: a subject enters one of the states `to`, or a time has come."""

    kind: TriggerKind
    subject: str = ""  # the id or name of what is watched; "" where the kind is `time`
    to: tuple[str, ...] = ()  # states, sorted
    at: Instant | None = None  # `time`: then, once
    every: Duration | None = None  # `time`: so often, from when it is armed


class ActionKind(StrEnum):
    NONE = "none"  # only announce it
    START = "start"  # a workflow
    SEND = "send"  # an event to a run
    TASK = "task"  # recorded for the work item that is watched


class Action(Struct, frozen=True, kw_only=True):
    """What to do. Rows are written, no code of users runs: a worker executes the run that was started."""

    kind: ActionKind = ActionKind.NONE
    workflow: str = ""  # start: its name, version, queue and time-out
    version: str = ""
    queue: str = ""
    timeout_for: Duration | None = None
    input: bytes | None = None  # start: its arguments, encoded; none: the firing is its only argument
    run_id: RunId | None = None  # send: to whom
    event: str = ""  # send: under which name; its payload is that of the signal, else the firing
    payload_hash: bytes = b""  # send: of that payload, as the program's codec computes it
    title: str = ""  # task


class SignalStatus(StrEnum):
    ARMED = "armed"
    PAUSED = "paused"
    FIRED = "fired"
    RESOLVED = "resolved"
    CANCELLED = "cancelled"

    @property
    def is_live(self) -> bool:
        """Does a matching transition still create a firing?"""
        return self is SignalStatus.ARMED or self is SignalStatus.PAUSED


class Signal(Struct, frozen=True, kw_only=True):
    """A row of `signals`."""

    namespace: str
    id: SignalId
    key: str | None  # the same key again is the same signal
    trigger: Trigger
    action: Action
    payload: bytes | None  # handed to the action, encoded
    repeats: bool  # else once; a signal on a workflow: once for each of its runs
    status: SignalStatus
    reason: str | None  # why it is resolved or paused
    fired: int  # how often
    last_fired_at: Instant | None
    available_at: Instant | None  # of a `time` signal: when it fires next
    declared_in: str | None  # the program whose code declares it; none: made by a person or a program
    is_declared: bool  # false: its program has started without declaring it
    armed_xid: int  # the place in the log from which on transitions count
    armed_seq: int
    changed_by: str | None
    created_at: Instant
    changed_at: Instant


class FiringStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"  # claimed by a coordinator; available_at is the end of the claim
    DONE = "done"
    FAILED = "failed"
    SUPERSEDED = "superseded"

    @property
    def is_over(self) -> bool:
        return self not in (FiringStatus.QUEUED, FiringStatus.RUNNING)


class FiringRow(Struct, frozen=True, kw_only=True):
    """A row of `firings`."""

    namespace: str
    id: FiringId
    signal_id: SignalId
    cause: str  # the number of the entry in the log, or the time of a `time` signal in microseconds
    subject_kind: str
    subject_id: str
    from_status: str | None
    to_status: str
    happened_at: Instant
    status: FiringStatus
    available_at: Instant | None  # null while its signal is paused, and when it is over
    token: int  # grows with every claim; stands in the WHERE of every write of the holder
    worker: str | None  # the coordinator that holds it
    attempt: int  # claims so far
    error: str | None  # of the last attempt
    depth: int  # how many firings led to it, one after the other
    run_id: RunId | None  # that it started, or sent to
    task_id: TaskId | None  # that it added
    created_at: Instant
    ended_at: Instant | None


class Firing(Struct, frozen=True, kw_only=True, rename={"id": "firing_id"}):
    """What a workflow is given that a signal starts: `async def page(ctx, firing: windlass.Firing)`."""

    id: str
    """Stable: the same at every attempt. Hand it to the outside world as an idempotency key."""
    signal_id: str
    subject_kind: str
    """"run", "item", "pipeline" or "time"."""
    subject_id: str
    from_status: str | None
    to_status: str
    at: datetime
    """When it happened, in UTC."""
    payload: Any = None


class CreateSignal(Struct, frozen=True, kw_only=True):
    """Raises InvalidInput for a trigger nobody can watch, NotFound for a subject that is not there."""

    namespace: str
    trigger: Trigger
    action: Action = Action()
    payload: bytes | None = None
    repeats: bool = False
    since_beginning: bool = False  # what the log already holds of the subject counts, too
    key: str | None = None
    by: str | None = None
    allow_unknown: bool = False  # whoever asks vouches for the workflows it names
    signal_id: SignalId | None = None  # chosen by whoever asks from afar


class UpdateSignal(Struct, frozen=True, kw_only=True):
    """What is none stays as it is. Says whether anything changed."""

    namespace: str
    signal_id: SignalId
    to: tuple[str, ...] | None = None
    payload: bytes | None = None
    repeats: bool | None = None
    by: str | None = None


class SignalVerb(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"  # also arms one that has fired anew, and tries what failed again
    CANCEL = "cancel"


class SteerSignal(Struct, frozen=True, kw_only=True):
    namespace: str
    signal_id: SignalId
    verb: SignalVerb
    by: str | None = None
    note: str | None = None
    deed_id: str = ""  # chosen by whoever asks from afar: by it the same call is known after a lost answer
    is_again: bool = False  # the answer to the same call was lost


class DeleteSignal(Struct, frozen=True, kw_only=True):
    """With its firings; what they did stays."""

    namespace: str
    signal_id: SignalId
    by: str | None = None
    is_again: bool = False


class DeclaredSignal(Struct, frozen=True, kw_only=True):
    """What the code says: `@app.on(order, enters="failed")`."""

    name: str
    trigger: Trigger
    action: Action
    repeats: bool


class DeclareSignals(Struct, frozen=True, kw_only=True):
    """All that the code of a program says now; what it said before and says no more is paused, never deleted."""

    namespace: str
    program: str
    signals: tuple[DeclaredSignal, ...]


class ListSignals(Struct, frozen=True, kw_only=True):
    """Newest first."""

    namespace: str
    subject_kind: str | None = None  # "run", "item", "pipeline", "workflow" or "time"
    subject: str | None = None  # only with its kind
    status: SignalStatus | None = None
    before: str | None = None  # the id of the last signal of the page before
    limit: int = 50


class SignalPage(Struct, frozen=True, kw_only=True):
    signals: tuple[Signal, ...]
    next: str | None


class SignalView(Struct, frozen=True, kw_only=True):
    """A signal, what its subject is in now, and how many of its firings wait, or failed."""

    signal: Signal
    state: str | None = None  # of the subject; none: it has none, or is gone
    already: bool = False  # the subject was in one of the states when it was armed: that did not count
    has_changed: bool = True  # false: the call found what it asked for
    queued: int = 0
    failed: int = 0


class ListFirings(Struct, frozen=True, kw_only=True):
    """Newest first, of one signal or of all."""

    namespace: str
    signal_id: SignalId | None = None
    status: FiringStatus | None = None
    before: str | None = None  # the cursor of the page before: creation time and id
    limit: int = 50


class FiringPage(Struct, frozen=True, kw_only=True):
    firings: tuple[FiringRow, ...]
    next: str | None


class SignalNews(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an entry in the log about a signal says beside its states; that of a firing is its announcement."""

    firing_id: FiringId | None = None
    subject_kind: str | None = None
    subject_id: str | None = None
    from_status: str | None = None
    to_status: str | None = None
    run_id: RunId | None = None  # that it started, or sent to
    task_id: TaskId | None = None  # that it added
    by: str | None = None
    note: str | None = None
    deed: str | None = None  # by which the same call is known when it comes again

    @staticmethod
    def from_log(data: bytes | None) -> SignalNews:
        """Read it from an entry. What cannot be read says nothing: who follows is told of the rest all the same."""
        try:
            return SignalNews() if data is None else msgspec.json.decode(data, type=SignalNews)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return SignalNews()


# Causes in the log, of signals.
CREATED, UPDATED, FIRED, GAVE_UP, RESOLVED, DELETED = "create", "update", "fire", "give_up", "resolve", "delete"
