"""What may happen in a story: plain data, so that a story can be made up, shrunk, printed and told again.

An operation names no id and no token. It says "the second run that is held, with a token one claim too old", and `call`
finds out from the reference which run and which token that is now. So an operation means something wherever it stands,
and a story stays a story when half of it is taken away.

To add an operation: a dataclass here with its `call`, a line in `author.py` that says how likely it is, and the door's
method in `reference.py`. Nothing else knows the list. What people do to runs stands in `controls.py`, how a holder
waits in `waiting.py`, what is planned in `scheduling.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.lives.faults import Moment
from tests.model.context import LANES, LONGER, MAX_RECOVERIES, NAMESPACE, VISIBLE_FOR, WORKERS, Call, Context, Held
from tests.model.controls import OPEN, Cancel, DecideOn, Drain, Pause, Resume, Retry, Send, TurnGate
from tests.model.scheduling import DropPlan, Fire, HaltPlan, Plan, ResumePlan, TriggerPlan
from tests.model.waiting import Wait
from windlass.model.commands import (
    BeginStep,
    Claim,
    ClaimRuns,
    CompleteStep,
    FinishRun,
    Heartbeat,
    HoldRun,
    LookAtClaims,
    ProbeWorkers,
    RegisterWorker,
    StartRun,
)
from windlass.model.failure import Failure, FailureKind
from windlass.model.page import ListRuns
from windlass.model.run import RunStatus, WorkerId
from windlass.model.step import StepKind
from windlass.model.time import MINUTE, SECOND, Duration, Instant

__all__ = [
    "LANES",
    "MAX_RECOVERIES",
    "NAMESPACE",
    "VISIBLE_FOR",
    "Advance",
    "Beat",
    "Begin",
    "Browse",
    "Call",
    "Cancel",
    "ClaimDue",
    "Complete",
    "Crash",
    "DecideOn",
    "Drain",
    "DropPlan",
    "Expire",
    "Finish",
    "Fire",
    "HaltPlan",
    "Hold",
    "Jump",
    "Leave",
    "Look",
    "Pause",
    "Plan",
    "Probe",
    "Register",
    "Release",
    "Renew",
    "Repeat",
    "Resume",
    "ResumePlan",
    "Retry",
    "Send",
    "Start",
    "TriggerPlan",
    "TurnGate",
    "Wait",
    "Wake",
]


@dataclass(frozen=True, kw_only=True)
class Start:
    lane: int = 0
    key: str | None = None
    value: int = 1
    priority: int = 0
    delay_for: int | None = None
    at_in: int | None = None  # an instant, so long from now
    timeout_for: int | None = None

    def call(self, context: Context) -> Call:
        lane = LANES[self.lane]
        command = StartRun(
            namespace=NAMESPACE,
            name=lane.name,
            version=lane.version,
            queue=lane.queue,
            priority=self.priority,
            input=b"[%d]" % self.value,
            input_hash=b"hash of %d" % self.value,
            key=self.key,
            delay_for=None if self.delay_for is None else Duration(self.delay_for),
            at=None if self.at_in is None else Instant(context.model.now + self.at_in),
            timeout_for=None if self.timeout_for is None else Duration(self.timeout_for),
        )
        return Call("start_run", (command,))


@dataclass(frozen=True, kw_only=True)
class ClaimDue:
    worker: int = 0
    lanes: tuple[int, ...] = (0, 1, 2, 3)
    limit: int = 1

    def call(self, context: Context) -> Call:
        command = ClaimRuns(
            namespace=NAMESPACE,
            worker=WorkerId(WORKERS[self.worker]),
            poll=context.place,
            served=tuple(LANES[lane] for lane in self.lanes),
            limit=self.limit,
            visibility_for=VISIBLE_FOR,
            visibilities={"refund": LONGER},
            wait_for=Duration(0),
        )
        return Call("claim_runs", (command,))


@dataclass(frozen=True, kw_only=True)
class Begin(Held):
    key: str = "pack"

    def call(self, context: Context) -> Call:
        return Call("begin_step", (BeginStep(**self.attempt(context, self.key)),))


@dataclass(frozen=True, kw_only=True)
class Complete(Held):
    key: str = "pack"
    ran_for: int = 0
    renew_for: int | None = None

    def call(self, context: Context) -> Call:
        command = CompleteStep(
            **self.attempt(context, self.key),
            order=context.place,
            output=b"result %d" % context.place,
            ran_for=Duration(self.ran_for),
            renew_for=None if self.renew_for is None else Duration(self.renew_for),
        )
        return Call("complete_step", (command,))


@dataclass(frozen=True, kw_only=True)
class Wake(Held):
    """Note that a sleep is over; one that has not begun begins."""

    key: str = "nap"

    def call(self, context: Context) -> Call:
        if context.step(context.run(self.run), self.key) is None:
            return Wait(run=self.run, behind=self.behind, sleeps=((self.key, 0),)).call(context)
        command = CompleteStep(
            **self.attempt(context, self.key, StepKind.SLEEP), order=context.place, output=b"", ran_for=Duration(0)
        )
        return Call("complete_step", (command,))


@dataclass(frozen=True, kw_only=True)
class Finish(Held):
    is_failure: bool = False

    def call(self, context: Context) -> Call:
        failure = Failure(kind=FailureKind.LOGIC, type="ValueError", message="no stock") if self.is_failure else None
        command = FinishRun(
            **self.claim(context),
            status=RunStatus.FAILED if self.is_failure else RunStatus.COMPLETED,
            output=None if self.is_failure else b"done %d" % context.place,
            failure=failure,
            result_hash=b"hash %d" % context.place,
            parent=self.parent(context),
            schedule=self.schedule(context),
        )
        return Call("finish_run", (command,))


@dataclass(frozen=True, kw_only=True)
class Hold(Held):
    def call(self, context: Context) -> Call:
        reason = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message="the code has changed")
        return Call("hold_run", (HoldRun(**self.claim(context), reason=reason),))


@dataclass(frozen=True, kw_only=True)
class Release(Held):
    delay_for: int = 0

    def call(self, context: Context) -> Call:
        return Call("release_run", (Claim(**self.claim(context), delay_for=Duration(self.delay_for)),))


@dataclass(frozen=True, kw_only=True)
class Renew(Held):
    visibility_for: int = VISIBLE_FOR

    def call(self, context: Context) -> Call:
        return Call("renew_claim", (Claim(**self.claim(context), visibility_for=Duration(self.visibility_for)),))


@dataclass(frozen=True, kw_only=True)
class Look(Held):
    def call(self, context: Context) -> Call:
        claim = self.claim(context)
        command = LookAtClaims(namespace=NAMESPACE, claims=((claim["run_id"], claim["token"]),))
        return Call("look_at_claims", (command,))


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """Send a write again as it was, whether it was answered or its answer was lost."""

    back: int = 0  # 0 is the last one

    def call(self, context: Context) -> Call | None:
        return context.asked[-1 - self.back % len(context.asked)] if context.asked else None


@dataclass(frozen=True, kw_only=True)
class Register:
    worker: int = 0
    is_return: bool = False

    def call(self, context: Context) -> Call:
        id = WorkerId(WORKERS[self.worker])
        command = RegisterWorker(
            namespace=NAMESPACE, id=id, host="h", pid=7, served=LANES[:2], slots=3, is_return=self.is_return
        )
        return Call("register_worker", (command,))


@dataclass(frozen=True, kw_only=True)
class Beat:
    worker: int = 0
    is_draining: bool = False

    def call(self, context: Context) -> Call:
        id = WorkerId(WORKERS[self.worker])
        command = Heartbeat(
            namespace=NAMESPACE, id=id, active=1, completed=context.place, failed=2, is_draining=self.is_draining
        )
        return Call("heartbeat", (command,))


@dataclass(frozen=True, kw_only=True)
class Leave:
    worker: int = 0

    def call(self, context: Context) -> Call:
        return Call("deregister_worker", (NAMESPACE, WorkerId(WORKERS[self.worker])))


@dataclass(frozen=True, kw_only=True)
class Expire:
    """A coordinator marks workers that have been silent for that long."""

    silent_for: int = SECOND
    batch: int = 2

    def call(self, context: Context) -> Call:
        return Call("expire_workers", (Duration(self.silent_for), self.batch))


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A worker looks for dead ones: those whose process died and that have not registered again."""

    worker: int = 0
    lanes: tuple[int, ...] = (0,)
    everyone: bool = False

    def call(self, context: Context) -> Call:
        served = tuple(LANES[lane] for lane in self.lanes)
        id = WorkerId(WORKERS[self.worker])
        return Call(
            "probe_workers", (ProbeWorkers(namespace=NAMESPACE, worker=id, served=served, everyone=self.everyone),)
        )


@dataclass(frozen=True, kw_only=True)
class Browse:
    """Walk through a list of runs page by page."""

    status: str | None = None
    name: str | None = None
    queue: str | None = None
    parent: int | None = None
    within: int | None = None  # created so long ago at most
    limit: int = 2

    def call(self, context: Context) -> Call:
        query = ListRuns(
            namespace=NAMESPACE,
            status=None if self.status is None else RunStatus(self.status),
            name=self.name,
            queue=self.queue,
            parent=None if self.parent is None else context.id_of(self.parent, *OPEN, weight=context.followers),
            created_after=None if self.within is None else Instant(context.model.now - self.within),
            limit=self.limit,
        )
        return Call("walk_runs", (query,))


@dataclass(frozen=True, kw_only=True)
class Advance:
    """Time passes."""

    span: int = SECOND

    def call(self, context: Context) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class Jump:
    """The wall clock is set, forward or back, and no time passes."""

    span: int = -MINUTE

    def call(self, context: Context) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class Crash:
    """The process dies at this moment of the operation, or after its answer if it never gets there; a new one opens."""

    moment: Moment
    during: Any

    def call(self, context: Context) -> Call | None:
        call: Call | None = self.during.call(context)
        return call
