"""What may happen in a story: plain data, so that a story can be made up, shrunk, printed and told again.

An operation names no id and no token. It says "the second run that is held, with a token one claim too old", and `call`
finds out from the reference which run and which token that is now. So an operation means something wherever it stands,
and a story stays a story when half of it is taken away.

To add an operation: a dataclass here with its `call`, a line in `author.py` that says how likely it is, and the door's
method in `reference.py`. Nothing else knows the list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.model.reference import Reference
from tests.model.rows import Run, Step
from windlass.model.commands import (
    BeginStep,
    Claim,
    ClaimRuns,
    CompleteStep,
    FailStep,
    FinishRun,
    Heartbeat,
    HoldRun,
    ProbeWorkers,
    RegisterWorker,
    StartRun,
    Suspend,
    WaitStep,
)
from windlass.model.failure import Failure, FailureKind
from windlass.model.page import ListRuns
from windlass.model.retry import RetryPolicy
from windlass.model.run import RunId, RunStatus, WorkerId
from windlass.model.step import StepKind
from windlass.model.time import HOUR, MINUTE, SECOND, Duration, Instant
from windlass.model.worker import Served
from windlass.testing.faults import Moment

NAMESPACE = "default"
NOBODY = "run_00000000000000000000000000"  # while there is no run to choose from
LANES = (
    Served("default", "order"),
    Served("default", "refund"),
    Served("mail", "order"),
    Served("default", "order", "2"),
)
WORKERS = ("wrk_1", "wrk_2", "wrk_3")
STEPS, SLEEPS = ("pack", "ship"), ("nap", "rest")
VISIBLE_FOR, LONGER = Duration(30 * SECOND), Duration(2 * MINUTE)
RETRY = RetryPolicy(max_attempts=3, initial_for=SECOND, factor=2.0, max_for=Duration(2 * SECOND))
KEYS_EXPIRE_FOR, MAX_RECOVERIES = HOUR, 1


@dataclass(frozen=True)
class Call:
    """One question at the door, ready to be asked of anyone."""

    name: str
    arguments: tuple[Any, ...]
    jitter: float = 0.0


@dataclass
class Context:
    """What an operation may know when it is its turn."""

    model: Reference
    place: int  # of the operation in the story, from 1
    asked: list[Call] = field(default_factory=list)  # writes so far, also those whose answer was lost

    def run(self, number: int) -> Run | None:
        """Of the runs that are held, or of all if the number is negative or none is held."""
        return self._choose(number, "running")

    def paused(self, number: int) -> str:
        run = self._choose(number, "paused")
        return NOBODY if run is None else run.id

    def _choose(self, number: int, status: str) -> Run | None:
        runs = list(self.model.runs.values())
        wanted = [run for run in runs if run.status == status] if number >= 0 else []
        chosen = wanted or runs
        return chosen[number % len(chosen)] if chosen else None

    def step(self, run: Run | None, key: str) -> Step | None:
        latest = [] if run is None else self.model.latest(run.id)
        return next((step for step in latest if step.key == key), None)


class Operation(Protocol):
    def call(self, context: Context) -> Call | None:
        """What is asked, or None if nothing is: time passes, say."""
        ...


@dataclass(frozen=True, kw_only=True)
class Start:
    lane: int = 0
    key: str | None = None
    value: int = 1
    priority: int = 0
    delay_for: int | None = None
    at_in: int | None = None  # an instant, so long from now

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
class Held:
    """Something a holder does, or one who was the holder `behind` claims ago."""

    run: int = 0
    behind: int = 0

    def claim(self, context: Context) -> dict[str, Any]:
        run = context.run(self.run)
        return {
            "namespace": NAMESPACE,
            "run_id": RunId(NOBODY if run is None else run.id),
            "token": 1 if run is None else run.token - self.behind,
        }

    def attempt(self, context: Context, key: str, kind: StepKind = StepKind.STEP) -> dict[str, Any]:
        """The attempt that is due: the open one, the one after a failure, or the last again if all is over."""
        known = context.step(context.run(self.run), key)
        attempt = 1 if known is None else known.attempt + (known.status == "failed" and known.due_at is not None)
        return self.claim(context) | {
            "key": key,
            "kind": kind,
            "attempt": attempt,
            "failures": 0 if known is None else known.failures,
            "input_hash": b"hash of " + key.encode(),
        }


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
class Wait(Held):
    """Attempts that failed, sleeps that begin; with `park` the run is given back until the first of them is due."""

    failed: tuple[str, ...] = ()
    is_final: bool = False
    retry_after: int | None = None
    sleeps: tuple[tuple[str, int], ...] = ()
    has_instants: bool = False  # the code named when each sleep ends, not how long it lasts
    dropped: tuple[str, ...] = ()
    park: bool = False
    jitter: float = 0.0

    def call(self, context: Context) -> Call:
        command = Suspend(
            **self.claim(context),
            failures=tuple(self._failure(context, key, number) for number, key in enumerate(self.failed)),
            waits=tuple(self._wait(context, key, due_for) for key, due_for in self.sleeps),
            dropped=self.dropped,
            park=self.park,
        )
        return Call("suspend_run", (command,), jitter=self.jitter)

    def _failure(self, context: Context, key: str, number: int) -> FailStep:
        failure = Failure(
            kind=FailureKind.TRANSIENT,
            type="OSError",
            message="reset",
            is_final=self.is_final,
            retry_after=None if self.retry_after is None else Duration(self.retry_after),
        )
        return FailStep(
            **self.attempt(context, key),
            order=context.place * 10 + number,
            failure=failure,
            retry=RETRY,
            ran_for=Duration(7),
        )

    def _wait(self, context: Context, key: str, due_for: int) -> WaitStep:
        due = {"due_at": Instant(context.model.now + due_for)} if self.has_instants else {"due_for": Duration(due_for)}
        hash = b"hash of " + key.encode()
        return WaitStep(**self.claim(context), key=key, kind=StepKind.SLEEP, input_hash=hash, **due)


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
        )
        return Call("finish_run", (command,))


@dataclass(frozen=True, kw_only=True)
class Hold(Held):
    def call(self, context: Context) -> Call:
        reason = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message="the code has changed")
        return Call("hold_run", (HoldRun(**self.claim(context), reason=reason),))


@dataclass(frozen=True, kw_only=True)
class Resume:
    run: int = 0

    def call(self, context: Context) -> Call:
        return Call("resume_run", (NAMESPACE, RunId(context.paused(self.run))))


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
class Repeat:
    """Send a write again as it was, whether it was answered or its answer was lost."""

    back: int = 0  # 0 is the last one

    def call(self, context: Context) -> Call | None:
        return context.asked[-1 - self.back % len(context.asked)] if context.asked else None


@dataclass(frozen=True, kw_only=True)
class Register:
    worker: int = 0

    def call(self, context: Context) -> Call:
        id = WorkerId(WORKERS[self.worker])
        return Call(
            "register_worker", (RegisterWorker(namespace=NAMESPACE, id=id, host="h", pid=7, served=LANES[:2], slots=3),)
        )


@dataclass(frozen=True, kw_only=True)
class Beat:
    worker: int = 0

    def call(self, context: Context) -> Call:
        id = WorkerId(WORKERS[self.worker])
        return Call("heartbeat", (Heartbeat(namespace=NAMESPACE, id=id, active=1, completed=context.place, failed=2),))


@dataclass(frozen=True, kw_only=True)
class Leave:
    worker: int = 0

    def call(self, context: Context) -> Call:
        return Call("deregister_worker", (NAMESPACE, WorkerId(WORKERS[self.worker])))


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
    limit: int = 2

    def call(self, context: Context) -> Call:
        status = None if self.status is None else RunStatus(self.status)
        query = ListRuns(namespace=NAMESPACE, status=status, name=self.name, queue=self.queue, limit=self.limit)
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
