"""What may be asked of the engine, and what it answers.

Workers send durations, never instants: the store's clock is the only one that decides.
Every command of a worker about a run carries the token of its claim.

`gc=False`, where there are thousands of them at a time: they refer to nothing that could refer to them, so the garbage
collector need not look at them.
"""

from __future__ import annotations

from msgspec import Struct

from windlass.model.failure import Failure, Unretrieved
from windlass.model.gate import GateKind
from windlass.model.retry import RetryPolicy
from windlass.model.run import RunId, RunKind, RunStatus, WorkerId
from windlass.model.step import StepKind, StepRecord
from windlass.model.time import Duration, Instant
from windlass.model.worker import LockKind, Served, ServedPipeline


class StartRun(Struct, frozen=True, kw_only=True, gc=False):
    namespace: str
    name: str
    version: str
    queue: str
    priority: int
    input: bytes
    input_hash: bytes
    key: str | None = None
    delay_for: Duration | None = None
    at: Instant | None = None
    timeout_for: Duration | None = None  # of the whole run, counted from when it is due for the first time
    run_id: RunId | None = None  # chosen by whoever asks from afar: asked again after a lost answer, it is the same run


class Started(Struct, frozen=True, kw_only=True, gc=False):
    run_id: RunId
    is_repeat: bool  # the key was known: nothing was created


class RegisterWorker(Struct, frozen=True, kw_only=True):
    namespace: str
    id: WorkerId
    host: str
    pid: int
    served: tuple[Served, ...]
    slots: int
    lock: LockKind | None = None  # set by the engine, which takes it
    is_return: bool = False  # not a new start: what it was asked for before, such as to drain, stays asked for
    is_remote: bool = False  # in another process than the engine, whose locks tell nothing about its death
    pipelines: tuple[ServedPipeline, ...] = ()
    leaves_out: bool = False  # queues that its key does not allow are left out, and not refused


class Registration(Struct, frozen=True, kw_only=True):
    """A worker is on record."""

    lock: LockKind | None = None  # that tells its death; none: nothing but its silence does
    left_out: tuple[str, ...] = ()  # queues it asked for, and its key does not allow


class ProbeWorkers(Struct, frozen=True, kw_only=True):
    """Look whether workers that hold claims in these lanes are dead; with `everyone`, whether any worker is."""

    namespace: str
    worker: WorkerId
    served: tuple[Served, ...]
    everyone: bool = False
    pipelines: tuple[ServedPipeline, ...] = ()


class Probed(Struct, frozen=True, kw_only=True):
    is_registered: bool  # false: the worker that asks was itself taken for dead
    lock: LockKind | None  # which one it holds now
    dead: tuple[WorkerId, ...]


class Heartbeat(Struct, frozen=True, kw_only=True):
    namespace: str
    id: WorkerId
    active: int
    completed: int
    failed: int
    is_draining: bool = False  # it is about to leave, whoever asked it to


class Heartbeaten(Struct, frozen=True, kw_only=True):
    """The heartbeat was accepted; one that is not raises NotFound."""

    should_drain: bool


class ClaimRuns(Struct, frozen=True, kw_only=True):
    namespace: str
    worker: WorkerId
    poll: int  # grows with every poll of this worker: how the engine, asking again, knows what it has claimed before
    served: tuple[Served, ...]
    limit: int
    visibility_for: Duration
    visibilities: dict[str, Duration] = {}  # by workflow, where one has its own
    wait_for: Duration  # how long to wait for work before answering with none
    expects_more: bool = False  # the last poll came back with all it had asked for: claim, without a look before
    is_remote: bool = False  # may be asked again, of another server too: the row of the worker tells which poll counts
    is_called_off: bool = False  # its caller has gone: answer with what it has claimed, and claim nothing from now on

    def claim_for(self, name: str) -> Duration:
        """How long a claim on a run of this workflow lasts."""
        return self.visibilities.get(name, self.visibility_for)


class ClaimedRun(Struct, frozen=True, kw_only=True, gc=False):
    run_id: RunId
    name: str
    version: str
    queue: str
    token: int
    attempts: int
    recoveries: int
    key: str | None
    input: bytes
    started_at: Instant
    visibility_for: Duration
    asked_at: int  # when the claim was asked for, by the monotonic clock of the process that asked
    waited_for: Duration = Duration(0)  # since it was due
    history: tuple[StepRecord, ...] = ()
    expires_in: Duration | None = None  # until the time-out of the whole run
    parent: RunId | None = None
    origin: RunId | None = None  # the first run of the chain of retries that this one ends
    begun_at: Instant | None = None  # when that one began
    schedule: str | None = None  # the schedule that started it
    scheduled_at: Instant | None = None  # for which time
    kind: RunKind = RunKind.WORKFLOW
    job: str | None = None  # its name in the graph, which is its parent

    @property
    def seed(self) -> RunId:
        """From which random numbers and keys for the outside world are made: the same along a chain of retries."""
        return self.run_id if self.origin is None else self.origin


class BeginStep(Struct, frozen=True, kw_only=True, gc=False):
    """A body was entered: an observation."""

    namespace: str
    run_id: RunId
    token: int
    key: str
    kind: StepKind
    attempt: int
    failures: int
    input_hash: bytes


class StartChild(Struct, frozen=True, kw_only=True):
    """A run to create together with the step that asks for it."""

    command: StartRun
    follows_parent: bool = True  # is cancelled with it


class WaitStep(Struct, frozen=True, kw_only=True):
    """A wait begins: due after `due_for`, or at `due_at` where the code named an instant; with neither, without end."""

    namespace: str
    run_id: RunId
    token: int
    key: str
    kind: StepKind
    input_hash: bytes
    due_for: Duration | None = None
    due_at: Instant | None = None
    awaits: str | None = None  # an event by its name, a child of this run by its id, an approval by its title
    detail: bytes | None = None
    child: StartChild | None = None  # to create; `awaits` is then filled in


class OpenWait(Struct, frozen=True, kw_only=True):
    """A wait on record that the code stands at: to be decided, and numbered `order` if it is over."""

    key: str
    order: int


class CompleteStep(Struct, frozen=True, kw_only=True, gc=False):
    namespace: str
    run_id: RunId
    token: int
    key: str
    kind: StepKind
    attempt: int
    order: int
    failures: int
    input_hash: bytes
    output: bytes
    ran_for: Duration
    renew_for: Duration | None = None  # set when the holder sees less than half of its claim left
    effect: bool = False  # it was an effect that returned: the ledger says so in the same transaction


class FailStep(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    token: int
    key: str
    kind: StepKind
    attempt: int
    order: int  # used only if the failure is final
    failures: int  # before this one
    input_hash: bytes
    failure: Failure
    retry: RetryPolicy
    ran_for: Duration


class Suspend(Struct, frozen=True, kw_only=True):
    """Record failed attempts and new waits; with `park` also give the claim back until the earliest due time."""

    namespace: str
    run_id: RunId
    token: int
    failures: tuple[FailStep, ...] = ()
    waits: tuple[WaitStep, ...] = ()
    open: tuple[OpenWait, ...] = ()  # waits to decide now, new ones included
    dropped: tuple[str, ...] = ()  # keys whose branch the code has given up: what they wait for wakes nobody
    park: bool = False
    together: bool = False  # all open waits are children of one map: the last one, or the first failure, wakes the run
    unretrieved: Unretrieved | None = None  # what has changed about errors that no task has retrieved
    is_again: bool = False  # the answer to the same call was lost on its way


class Verdict(Struct, frozen=True, kw_only=True):
    """What became of one failed attempt or wait, in the order they were sent: due in `due_in`, or over for good."""

    due_in: Duration | None
    at: Instant


class Settled(Struct, frozen=True, kw_only=True):
    """A wait that is over, as it was recorded."""

    key: str
    order: int
    awaits: str | None = None  # what it was for, such as the id of a child that was created meanwhile
    output: bytes | None = None
    failure: Failure | None = None
    at: Instant


class Suspended(Struct, frozen=True, kw_only=True):
    is_parked: bool
    verdicts: tuple[Verdict, ...]  # of failures and of waits, in the order they were sent
    settled: tuple[Settled, ...] = ()


class FinishRun(Struct, frozen=True, kw_only=True, gc=False):
    namespace: str
    run_id: RunId
    token: int
    status: RunStatus
    output: bytes | None = None
    failure: Failure | None = None
    result_hash: bytes = b""
    parent: RunId | None = None  # who may be waiting for it
    schedule: str | None = None  # where a run of the same schedule may be waiting for it
    job: str | None = None  # its name in the graph that is its parent
    knows_family: bool = True  # false, from afar: parent, schedule and job are what the store says


class HoldRun(Struct, frozen=True, kw_only=True):
    """The holder gives its run to a person: paused, with the reason."""

    namespace: str
    run_id: RunId
    token: int
    reason: Failure
    is_again: bool = False  # the answer to the same call was lost on its way


class Claim(Struct, frozen=True, kw_only=True):
    """The holder's own claim: to renew it for `visibility_for`, or to release it, claimable after `delay_for`."""

    namespace: str
    run_id: RunId
    token: int
    visibility_for: Duration = Duration(0)
    delay_for: Duration = Duration(0)
    is_again: bool = False  # the answer to the same call was lost on its way


class Outcome(Struct, frozen=True, kw_only=True):
    """What a waiter for a result gets: where the run stands now, terminal or held."""

    status: RunStatus
    output: bytes | None = None
    failure: Failure | None = None


class LookAtClaims(Struct, frozen=True, kw_only=True):
    """A worker asks about runs that it holds, by their tokens."""

    namespace: str
    claims: tuple[tuple[RunId, int], ...]


class ClaimState(Struct, frozen=True, kw_only=True):
    run_id: RunId
    is_lost: bool  # cancelled, over, or somebody else's
    is_held: bool = False  # a person wants it paused
    has_news: bool = False  # something has come that it waits for


class SendEvent(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    event: str
    id: str  # the same id again is the same event
    payload: bytes
    payload_hash: bytes


class Sent(Struct, frozen=True, kw_only=True):
    is_repeat: bool


class Decide(Struct, frozen=True, kw_only=True):
    """Approve or reject what a run waits for. `step` is its key, needed only where a run waits for several."""

    namespace: str
    run_id: RunId
    is_approved: bool
    by: str | None = None
    note: str | None = None
    step: str | None = None


class CancelRun(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    by: str | None = None
    note: str | None = None
    is_again: bool = False  # the answer to the same call was lost on its way


class Cancelled(Struct, frozen=True, kw_only=True):
    status: RunStatus  # of the run now
    is_done: bool  # by this call; else it was over before
    children: tuple[RunId, ...] = ()  # cancelled with it


class PauseRun(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    by: str | None = None
    note: str | None = None


class ResumeRun(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    by: str | None = None
    is_again: bool = False  # the answer to the same call was lost on its way


class RetryRun(Struct, frozen=True, kw_only=True):
    """Try a run that failed, was cancelled or is paused once more, as a new run with its completed steps."""

    namespace: str
    run_id: RunId
    from_step: str | None = None  # this step and everything after it is done again
    by: str | None = None


class SetGate(Struct, frozen=True, kw_only=True):
    namespace: str
    kind: GateKind
    name: str
    is_paused: bool
    by: str | None = None
    note: str | None = None
