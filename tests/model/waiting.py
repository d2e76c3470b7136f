"""How a holder waits, in a story."""

from __future__ import annotations

from dataclasses import dataclass

from tests.model.context import AWAITED, CHILDREN, LANES, NAMESPACE, RETRY, Call, Context, Held
from windlass.model.commands import FailStep, OpenWait, StartChild, StartRun, Suspend, WaitStep
from windlass.model.failure import Failure, FailureKind
from windlass.model.step import WAITS, StepKind
from windlass.model.time import Duration, Instant

FIRST_ORDER = 10_000  # of what the engine decides: behind every place that another operation may take


@dataclass(frozen=True, kw_only=True)
class Wait(Held):
    """Attempts that failed, waits that begin; with `park` the run is given back until something of it is due.

    The holder asks about every wait it stands at, unless it `only_notes` new ones and goes on.
    """

    failed: tuple[str, ...] = ()
    is_final: bool = False
    retry_after: int | None = None
    sleeps: tuple[tuple[str, int], ...] = ()
    has_instants: bool = False  # the code named when each sleep ends, not how long it lasts
    awaits: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    returns: bool = False  # to what it has given up
    only_notes: bool = False
    park: bool = False
    together: bool = False  # children that are waited for are those of one map
    jitter: float = 0.0

    def call(self, context: Context) -> Call:
        run = context.run(self.run)
        known = [] if run is None else context.model.open_waits(run)
        if run is not None and self.returns:
            known = [step for step in context.model.latest(run.id) if step.status == "waiting"]
        asked = [step.key for step in known if step.kind in WAITS and step.key not in (*self.awaits, *self.dropped)]
        open = () if self.only_notes and not self.park else (*asked, *self.awaits)
        others = {step.key for step in known} | set(self.failed) | {key for key, _ in self.sleeps}
        command = Suspend(
            **self.claim(context),
            failures=tuple(self._failure(context, key, number) for number, key in enumerate(self.failed)),
            waits=(
                *(self._sleep(context, key, due_for) for key, due_for in self.sleeps),
                *(self._await(context, key) for key in self.awaits),
            ),
            open=tuple(
                OpenWait(key=key, order=FIRST_ORDER + context.place * 100 + number) for number, key in enumerate(open)
            ),
            dropped=self.dropped,
            park=self.park,
            together=self.together and all(key in CHILDREN for key in (*open, *others)),
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

    def _sleep(self, context: Context, key: str, due_for: int) -> WaitStep:
        due = {"due_at": Instant(context.model.now + due_for)} if self.has_instants else {"due_for": Duration(due_for)}
        hash = b"hash of " + key.encode()
        return WaitStep(**self.claim(context), key=key, kind=StepKind.SLEEP, input_hash=hash, **due)

    def _await(self, context: Context, key: str) -> WaitStep:
        wait = AWAITED[key]
        is_child = wait.kind in (StepKind.CHILD, StepKind.START)
        return WaitStep(
            **self.claim(context),
            key=key,
            kind=wait.kind,
            input_hash=b"hash of " + key.encode(),
            due_for=None if wait.due_for is None else Duration(wait.due_for),
            awaits=wait.awaits,
            detail=b"[]" if wait.kind is StepKind.APPROVAL else None,
            child=self._child(key) if is_child else None,
        )

    def _child(self, key: str) -> StartChild:
        wait, lane = AWAITED[key], LANES[AWAITED[key].lane]
        command = StartRun(
            namespace=NAMESPACE,
            name=lane.name,
            version=lane.version,
            queue=lane.queue,
            priority=0,
            input=b"[]",
            input_hash=b"hash of " + key.encode(),
            delay_for=None if wait.delay_for is None else Duration(wait.delay_for),
            timeout_for=None if wait.timeout_for is None else Duration(wait.timeout_for),
        )
        return StartChild(command=command, follows_parent=wait.follows_parent)
