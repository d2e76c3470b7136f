"""What holders of pipelines and effects ask, and what they are answered. Durations, never instants; always a token."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.effect import Effect
from windlass.model.failure import Failure
from windlass.model.pipeline import (
    EffectOutcome,
    EventRow,
    HandlerRun,
    HandlerRunId,
    NewEvent,
    NewInput,
    Phase,
    Pipeline,
    Reservation,
)
from windlass.model.run import RunId, WorkerId
from windlass.model.time import Duration, Instant
from windlass.model.worker import ServedPipeline


class ClaimPipelines(Struct, frozen=True, kw_only=True):
    namespace: str
    worker: WorkerId
    poll: int  # grows with every poll of this worker
    served: tuple[ServedPipeline, ...]
    limit: int
    visibility_for: Duration
    wait_for: Duration  # how long to wait for work before answering with none
    is_remote: bool = False  # may be asked again, of another server too
    is_called_off: bool = False  # its caller has gone: answer with what it has claimed, and claim nothing from now on


class TaskKind(StrEnum):
    HANDLE = "handle"  # execute a handler, from `phase` on
    RECONCILE = "reconcile"  # ask whether the effect happened
    FIX = "fix"  # ask `on_logic_error`
    TELL = "tell"  # tell people that worker after worker was lost: the pipeline waits for them, and nothing is held


class Task(Struct, frozen=True, kw_only=True):
    """What the holder of a pipeline is to do next."""

    kind: TaskKind
    run_id: HandlerRunId
    handler: str
    phase: Phase  # executing, preparing, prepared (to mutate) or emitting; mutating, to reconcile
    attempt: int = 1
    state: bytes | None = None  # of the handler
    events: tuple[EventRow, ...] = ()  # reserved, with the payloads that are pinned
    data: bytes | None = None  # of what it prepared
    title: str = ""
    outcome: EffectOutcome | None = None
    result: bytes | None = None
    effect_name: str = ""  # whose result that is
    effect: Effect | None = None  # to reconcile
    failure: Failure | None = None  # to fix, or to tell
    scheduled_at: Instant | None = None  # of a producer: the time it was due


class ClaimedPipeline(Struct, frozen=True, kw_only=True):
    name: str
    queue: str
    revision: str
    token: int
    recoveries: int
    visibility_for: Duration
    asked_at: int  # when the claim was asked for, by the monotonic clock of the process that asked
    task: Task
    waited_for: Duration = Duration(0)


class PipelineClaim(Struct, frozen=True, kw_only=True):
    """The holder's own claim: to renew it, or to give it back."""

    namespace: str
    pipeline: str
    token: int
    visibility_for: Duration = Duration(0)


class ReadEvents(Struct, frozen=True, kw_only=True):
    """Look at events of a topic: pending ones, the oldest first, or by their ids, however they stand."""

    namespace: str
    pipeline: str
    token: int
    topic: str
    ids: tuple[str, ...] | None = None
    limit: int = 100


class ReserveEvents(Struct, frozen=True, kw_only=True):
    """T1: `prepare` has chosen. All of its events are reserved, or none."""

    namespace: str
    pipeline: str
    token: int
    run_id: HandlerRunId
    reserved: tuple[Reservation, ...]
    data: bytes | None = None
    title: str = ""
    wake_at: Instant | None = None
    wake_in: Duration | None = None
    warning: str | None = None
    renew_for: Duration | None = None


class ReserveOutcome(StrEnum):
    RESERVED = "reserved"
    CHANGED = "changed"  # an event is not as it was seen any more: nothing was reserved, prepare again
    PARKED = "parked"  # a person has to approve: the claim is given back


class Reserved(Struct, frozen=True, kw_only=True):
    outcome: ReserveOutcome
    at: Instant


class BeginEffect(Struct, frozen=True, kw_only=True):
    """T2: the effect is about to be called, or, of a run, asked for again. Nothing is called before the answer."""

    namespace: str
    subject: str  # a pipeline, or the id of a run
    token: int
    run_id: str  # the attempt of a handler; of a run, the run itself
    step_key: str = ""  # of a run
    name: str
    params: bytes
    idempotency_key: str
    has_reconcile: bool
    title: str = ""
    timeout_for: Duration = Duration(0)
    renew_for: Duration | None = None
    reserves: ReserveEvents | None = None  # T1 of the same attempt, in the same transaction


class BegunKind(StrEnum):
    ENTER = "enter"  # call it
    CHANGED = "changed"  # an event is not as it was seen any more: nothing was written, prepare again
    APPLIED = "applied"  # it happened before: this is its result
    SKIPPED = "skipped"  # a person decided to go on without it
    RECONCILE = "reconcile"  # it may have happened: ask
    LATER = "later"  # the same, but not before `due_in`
    PERSON = "person"  # nobody is left to ask but a person


class Begun(Struct, frozen=True, kw_only=True):
    kind: BegunKind
    idempotency_key: str = ""
    attempt: int = 1
    result: bytes | None = None
    due_in: Duration | None = None
    asked: int = 0


class ApplyEffect(Struct, frozen=True, kw_only=True):
    """T3: the effect of a pipeline's run returned."""

    namespace: str
    pipeline: str
    token: int
    run_id: HandlerRunId
    result: bytes
    renew_for: Duration | None = None
    is_found: bool = False  # by `reconcile`, which was asked at once


class Verdict(StrEnum):
    """What is known about an effect that did not return."""

    FAILED = "failed"  # it did not happen, for certain
    UNKNOWN = "unknown"


class ReconcileEffect(Struct, frozen=True, kw_only=True):
    """T9: what `reconcile` answered. None of both: it does not know."""

    namespace: str
    subject: str
    token: int
    run_id: str
    step_key: str = ""
    attempt: int = 0  # of a step: which call it is about
    result: bytes | None = None  # it happened
    did_not_happen: bool = False
    failure: Failure | None = None  # why it does not know, if it raised
    continues: bool = False  # a pipeline: go on with what follows under this claim


class Reconciled(Struct, frozen=True, kw_only=True):
    """What follows. `task`: of a pipeline, under the same claim; else that was given back."""

    task: Task | None = None
    due_in: Duration | None = None  # of a run: asked again then
    needs_person: bool = False


class FailEffect(Struct, frozen=True, kw_only=True):
    """The effect of a run's step did not return. Its step is written apart, as any failed attempt."""

    namespace: str
    run_id: RunId
    token: int
    step_key: str
    attempt: int  # which call it is about
    verdict: Verdict
    failure: Failure
    is_inside: bool = False  # its body may still be at work, as in a thread
    is_cut: bool = False  # the worker cut it short: what it has begun may go on for a while


class CommitHandler(Struct, frozen=True, kw_only=True):
    """T4 and T5: the end of a handler that went well, with everything it published."""

    namespace: str
    pipeline: str
    token: int
    run_id: HandlerRunId
    has_state: bool = False
    state: bytes | None = None
    events: tuple[NewEvent, ...] = ()
    inputs: tuple[NewInput, ...] = ()
    title: str = ""  # of a producer: what it did
    continues: bool = True  # go on with what is next under this claim
    visibility_for: Duration = Duration(0)
    reserves: ReserveEvents | None = None  # T1 of the same attempt, in the same transaction
    result: bytes | None = None  # T3 of the same attempt: what its effect returned
    is_found: bool = False  # that, by `reconcile`, which was asked at once


class Committed(Struct, frozen=True, kw_only=True):
    at: Instant
    task: Task | None = None  # none: the claim was given back
    is_changed: bool = False  # an event is not as it was seen any more: nothing was written, prepare again


class StopHandler(Struct, frozen=True, kw_only=True):
    """T6: the end of a handler that did not go well. Gives the claim back."""

    namespace: str
    pipeline: str
    token: int
    run_id: HandlerRunId
    phase: Phase  # where it stopped
    failure: Failure
    verdict: Verdict | None = None  # about the effect, if it was called
    is_inside: bool = False  # of one that nobody knows about: its body may still be at work, as in a thread
    is_found: bool = False  # the verdict is that of `reconcile`, which was asked at once
    is_cut: bool = False  # the worker cut it short: what it has begun may go on for a while


class Stopped(Struct, frozen=True, kw_only=True):
    run: HandlerRun
    pipeline: Pipeline
    retry_in: Duration | None = None


class FixHandler(Struct, frozen=True, kw_only=True):
    """What `on_logic_error` answered. Gives the claim back."""

    namespace: str
    pipeline: str
    token: int
    run_id: HandlerRunId
    is_fixed: bool
    note: str | None = None
