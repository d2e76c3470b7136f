"""What a pipeline is: producers and consumers around topics, one of them at work at a time.

    pipeline "payments"        one row, claimed as a whole: that is what makes its handlers take turns
      ├─ handler "poll"        a producer: due by its times, publishes events, keeps a state
      ├─ handler "charge"      a consumer: begins when there is news in its topics, or its wake has come
      ├─ events                each subscribing pipeline has its own row of what was published
      └─ handler runs          one record for each attempt of a handler, linked by `retry_of`

    consumer   preparing ─► prepared ─► mutating ─► mutated ─► emitting ─► committed        phases only go forward
    producer   executing ─► committed

A phase says how far an attempt came, a status how it stands; neither changes the other.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

from msgspec import Struct

from windlass.model.failure import Failure
from windlass.model.retry import RetryPolicy
from windlass.model.run import WorkerId
from windlass.model.schedule import Timing
from windlass.model.time import MINUTE, SECOND, Duration, Instant

HandlerRunId = NewType("HandlerRunId", str)  # "hrn_" and 26 characters, sortable by creation
InputId = NewType("InputId", str)  # "inp_" and 26 characters, made from what it names

# Back-off of a pipeline whose handler failed for a while: 10 s, 20 s, … at most ten minutes, five times.
PIPELINE_RETRY = RetryPolicy(max_attempts=6, initial_for=Duration(10 * SECOND), max_for=Duration(10 * MINUTE))
MOST_FIXES = 2  # tried by `on_logic_error`; the failure after that is for a person


class HandlerKind(StrEnum):
    PRODUCER = "producer"
    CONSUMER = "consumer"


class Phase(StrEnum):
    """How far an attempt has come."""

    EXECUTING = "executing"  # a producer, until it is committed
    PREPARING = "preparing"
    PREPARED = "prepared"  # its events are reserved
    MUTATING = "mutating"  # the ledger says that the effect may have been called
    MUTATED = "mutated"  # what became of the effect is known
    EMITTING = "emitting"
    COMMITTED = "committed"


CONSUMER_PHASES = (
    Phase.PREPARING,
    Phase.PREPARED,
    Phase.MUTATING,
    Phase.MUTATED,
    Phase.EMITTING,
    Phase.COMMITTED,
)
PRODUCER_PHASES = (Phase.EXECUTING, Phase.COMMITTED)


class HandlerStatus(StrEnum):
    """How an attempt stands."""

    ACTIVE = "active"
    PAUSED_TRANSIENT = "paused:transient"  # tried again by itself, after a while
    PAUSED_APPROVAL = "paused:approval"  # until a person approves, or has renewed what was refused
    PAUSED_RECONCILIATION = "paused:reconciliation"  # until it is known whether the effect happened
    FAILED_LOGIC = "failed:logic"  # until the code is put right
    FAILED_INTERNAL = "failed:internal"  # a fault of the host; nothing happens by itself
    COMMITTED = "committed"
    CRASHED = "crashed"  # whoever executed it is gone; another attempt follows


ENDED = frozenset(
    {HandlerStatus.COMMITTED, HandlerStatus.CRASHED, HandlerStatus.FAILED_LOGIC, HandlerStatus.FAILED_INTERNAL}
)


class EffectOutcome(StrEnum):
    """What became of the effect of an attempt."""

    SUCCESS = "success"
    FAILURE = "failure"  # for certain: nothing happened
    NONE = "none"  # there was none to call
    SKIPPED = "skipped"  # a person decided to go on without


class EventStatus(StrEnum):
    PENDING = "pending"
    RESERVED = "reserved"
    CONSUMED = "consumed"
    SKIPPED = "skipped"


class PipelineStatus(StrEnum):
    IDLE = "idle"
    RUNNING = "running"  # claimed; available_at is the end of the claim
    BACKOFF = "backoff"  # a handler failed for a while: tried again at available_at
    RECONCILING = "reconciling"  # an effect may have happened: looked into at available_at
    FIXING = "fixing"  # `on_logic_error` is to be asked
    ATTENTION = "attention"  # a person is needed


class Issue(StrEnum):
    """What a person is needed for."""

    APPROVAL = "approval"
    AUTH = "auth"
    PERMISSION = "permission"
    LOGIC = "logic"
    EXHAUSTED = "exhausted"  # tried again as often as the policy says
    INDETERMINATE = "indeterminate"  # nobody knows whether the effect happened
    INTERNAL = "internal"
    CRASH_LOOP = "crash_loop"  # it takes its worker down


class HandlerSpec(Struct, frozen=True, kw_only=True):
    """What the code says about a handler."""

    name: str
    kind: HandlerKind
    topics: tuple[str, ...] = ()  # a consumer's
    publishes: tuple[str, ...] = ()
    timing: Timing | None = None  # a producer's
    batch: int = 1  # events at a time, where the engine reserves them
    prepares: bool = False  # has code that chooses its events; else the engine reserves the oldest
    mutates: bool = False
    emits: bool = False  # has code behind the effect
    needs_approval: bool = False
    timeout_for: Duration | None = None  # of each phase; none: what the claim leaves
    code: str = ""  # a fingerprint of its source and the version: another one is a changed handler


class PipelineSpec(Struct, frozen=True, kw_only=True):
    """What the code says about a pipeline."""

    name: str
    queue: str
    revision: str  # a fingerprint of all of this: workers serve the one they have
    handlers: tuple[HandlerSpec, ...]
    retry: RetryPolicy = PIPELINE_RETRY
    visibility_for: Duration | None = None
    has_fixer: bool = False  # `on_logic_error` is asked before a person is


class Pipeline(Struct, frozen=True, kw_only=True, gc=False):
    """A row of `pipelines`."""

    namespace: str
    name: str
    queue: str
    revision: str
    status: PipelineStatus
    issue: Issue | None
    run_id: HandlerRunId | None  # the attempt that is active, or the one that stopped and holds the pipeline
    available_at: Instant | None
    token: int  # grows with every claim
    worker: WorkerId | None
    poll: int
    recoveries: int  # claims in a row that followed a claim nobody released
    seq: int  # of its newest event
    failures: int  # in a row, that were to pass by themselves
    fixes: int  # tried in a row
    streak: int  # runs of consumers in a row, while a producer may be due
    retry: RetryPolicy
    visibility_for: Duration | None
    has_fixer: bool
    is_paused: bool
    paused_by: str | None
    note: str | None
    paused_at: Instant | None
    declared_in: str
    is_declared: bool
    created_at: Instant
    changed_at: Instant  # of its status


class Handler(Struct, frozen=True, kw_only=True, gc=False):
    """A row of `handlers`, without its state, which may be large."""

    namespace: str
    pipeline: str
    name: str
    position: int  # in the order they were declared
    spec: HandlerSpec
    next_at: Instant | None  # a producer's next time; moves only when a run of it is committed
    is_queued: bool  # somebody asked for it now
    wake_at: Instant | None  # a consumer's own
    news: int  # sequence number of the newest event, or change of a pending one, in its topics
    seen: int  # up to which it has looked; beyond that it is dirty
    is_declared: bool
    has_state: bool = False

    @property
    def is_dirty(self) -> bool:
        """Is there something in its topics that it has not looked at?"""
        return self.news > self.seen


class Reservation(Struct, frozen=True, kw_only=True, gc=False):
    """An event by its topic and id, as it was seen: `version` grows when its payload is replaced."""

    topic: str
    id: str
    version: int = 0


class HandlerRun(Struct, frozen=True, kw_only=True, gc=False):
    """A row of `handler_runs`: one attempt. What it was given and found, `data` and `result`, is read apart."""

    namespace: str
    id: HandlerRunId
    pipeline: str
    handler: str
    kind: HandlerKind
    retry_of: HandlerRunId | None
    attempt: int  # in its chain, from 1
    phase: Phase
    status: HandlerStatus
    outcome: EffectOutcome | None
    token: int  # of the claim under which it was written last
    worker: WorkerId | None
    news: int  # of its handler when it began
    reserved: tuple[Reservation, ...]
    title: str
    warning: str | None  # something odd that did not stop it, such as a wake nobody can read
    failure: Failure | None
    decided_by: str | None  # who approved, rejected or resolved it
    note: str | None
    created_at: Instant
    updated_at: Instant
    ended_at: Instant | None
    effect: str = ""  # the name of the one it called, or an attempt before it


class EventRow(Struct, frozen=True, kw_only=True, gc=False):
    """A row of `events`, as a pipeline has it. A run that reserved it is given the payload as it was then."""

    topic: str
    id: str
    seq: int  # in the order they were first published to this pipeline, or given back by a person
    version: int  # the sequence number of its last change
    payload: bytes
    status: EventStatus
    attempt: int  # grows when it is released
    reserved_by: HandlerRunId | None
    created_by: HandlerRunId | None  # none: published from outside
    causes: tuple[InputId, ...]
    created_at: Instant
    updated_at: Instant


class NewInput(Struct, frozen=True, kw_only=True):
    """Something outside that causes events: known by source, type and id there."""

    id: InputId
    source: str
    type: str
    external_id: str
    title: str = ""


class NewEvent(Struct, frozen=True, kw_only=True, gc=False):
    """An event to be published."""

    topic: str
    id: str
    payload: bytes
    causes: tuple[InputId, ...] = ()


class InputStatus(StrEnum):
    PENDING = "pending"
    DONE = "done"
    SKIPPED = "skipped"


class InputRow(Struct, frozen=True, kw_only=True):
    """A row of `inputs`, and how many events it has caused."""

    namespace: str
    pipeline: str
    id: InputId
    source: str
    type: str
    external_id: str
    title: str
    created_at: Instant
    skipped_by: str | None
    skipped_at: Instant | None
    pending: int  # events that are not over
    events: int  # in all


class Input(Struct, frozen=True, kw_only=True):
    """Something outside, as a pipeline has it, and what became of it so far."""

    namespace: str
    pipeline: str
    id: InputId
    source: str
    type: str
    external_id: str
    title: str
    status: InputStatus
    pending: int  # events that are not over
    events: int  # in all
    created_at: Instant
    skipped_by: str | None = None
    is_stale: bool = False  # pending for longer than somebody should wait
