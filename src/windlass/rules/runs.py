"""Where a run may go from where it stands.

(start) ─► pending ──claim──► running ──finish──► completed | failed
   │          ▲  ▲              │ │ │
   │          │  └─release, death─┘ └──hold──► paused ──resume──► pending | sleeping | waiting
   │          ├────park (retry)───┤
   │          │                   ├──park (sleep)──► sleeping ──claim──► running
   │          └──wake── waiting ◄─┴──park (event, approval, child)
   └─dispatch─► running

From every state that is not the end: cancel ─► cancelled. From every one that nobody executes: pause ─► paused, and
expire ─► failed; a run that is executed is marked as held, and paused when it is given back. In graphs: a run that is
claimed and brings jobs waits for them, until the last of them ends it; a job waits for those it needs, then it is
pending, or skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from msgspec.structs import replace

from windlass.errors import WrongState
from windlass.model.duration import describe
from windlass.model.failure import Failure, FailureKind, FailureReason
from windlass.model.run import Run, RunKind, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import MINUTE, SECOND, Duration, Instant
from windlass.rules.steps import next_wait

LONGEST_PAUSE = MINUTE  # for a run whose workers keep dying

PARKED = frozenset({RunStatus.PENDING, RunStatus.SLEEPING, RunStatus.WAITING})
OPEN = frozenset({*PARKED, RunStatus.RUNNING, RunStatus.PAUSED})

TRANSITIONS: frozenset[tuple[RunStatus | None, RunStatus]] = frozenset(
    {
        (None, RunStatus.PENDING),
        (None, RunStatus.RUNNING),
        (None, RunStatus.WAITING),  # queued behind another run
        *((parked, RunStatus.RUNNING) for parked in PARKED),
        *((parked, RunStatus.PAUSED) for parked in PARKED),
        (RunStatus.WAITING, RunStatus.PENDING),  # what it waited for has come
        (RunStatus.PAUSED, RunStatus.PAUSED),  # a person did something about it
        (RunStatus.PENDING, RunStatus.PENDING),
        (RunStatus.PENDING, RunStatus.WAITING),  # a graph that is tried again has its jobs from the beginning
        (RunStatus.WAITING, RunStatus.WAITING),
        (RunStatus.RUNNING, RunStatus.RUNNING),  # a claim nobody released, claimed again; or a person did something
        *((RunStatus.RUNNING, parked) for parked in PARKED),
        (RunStatus.RUNNING, RunStatus.PAUSED),
        (RunStatus.RUNNING, RunStatus.COMPLETED),
        (RunStatus.RUNNING, RunStatus.FAILED),
        *((parked, RunStatus.FAILED) for parked in PARKED),  # its time was over, and nobody came for it
        (RunStatus.WAITING, RunStatus.COMPLETED),  # a graph, by its last job
        (RunStatus.PAUSED, RunStatus.COMPLETED),
        (RunStatus.WAITING, RunStatus.SKIPPED),  # a job, by one that it needed
        (RunStatus.PAUSED, RunStatus.SKIPPED),
        (None, RunStatus.PAUSED),  # a job that joins a paused graph
        (None, RunStatus.COMPLETED),  # copied from a graph that is tried again
        (RunStatus.PAUSED, RunStatus.FAILED),
        *((RunStatus.PAUSED, parked) for parked in PARKED),
        *((status, RunStatus.CANCELLED) for status in OPEN),
    }
)


def check_transition(was: RunStatus | None, status: RunStatus) -> None:
    """Raise WrongState for a way that is not on the map above."""
    if (was, status) not in TRANSITIONS:
        raise WrongState("run", "", str(was), wanted=f"a way to {status}")


def park(run: Run, waits: Sequence[Step], *, now: Instant, unmet: int = 0) -> Run:
    """Give the claim back until the earliest open wait is due; with none open the run is claimable at once.

    `unmet` children of one map must end before the run is woken; with none, whatever ends first wakes it.
    """
    _expect(run, RunStatus.RUNNING)
    if run.is_held:
        return _paused(run)
    return replace(_until_next_wait(run, waits, now=now), unmet=unmet)


def release(run: Run, *, now: Instant, delay_for: Duration) -> Run:
    """Give the claim back, claimable after a moment. A claim that ended in order ends the count of recoveries."""
    _expect(run, RunStatus.RUNNING)
    return _paused(run) if run.is_held else _unclaimed(run, RunStatus.PENDING, Instant(now + delay_for))


def take_from_dead(run: Run, *, now: Instant) -> Run:
    """Take the claim from a worker that is gone. Nobody gave it back, so this counts as a recovery.

    Due at once, unless its workers keep dying: then it may be what kills them, and waits longer each time.
    """
    _expect(run, RunStatus.RUNNING)
    if run.is_held:
        return _paused(run)
    pause = 0 if run.recoveries == 0 else min(SECOND << min(run.recoveries - 1, 6), LONGEST_PAUSE)
    due_at = Instant(now + int(pause * (0.5 + _spread(run))))
    return replace(_unclaimed(run, RunStatus.PENDING, due_at), recoveries=run.recoveries + 1)


def _spread(run: Run) -> float:
    """From 0 to 1, another one at each death: runs that died together are apart next time, and the innocent get by."""
    return crc32(f"{run.id} {run.recoveries}".encode()) / 2**32


def hold(run: Run) -> Run:
    """Give the run to a person."""
    _expect(run, RunStatus.RUNNING)
    return _paused(run)


def pause(run: Run) -> Run:
    """Hold a run until it is resumed. Its holder, if it has one, enters no new body and gives it back."""
    if run.status is RunStatus.RUNNING:
        return replace(run, is_held=True)
    if run.status is RunStatus.PAUSED:
        return run
    if run.status not in PARKED:
        raise WrongState("Run", run.id, run.status, wanted="one that is not over")
    return _paused(run)


def resume(run: Run, waits: Sequence[Step], *, now: Instant, is_due: bool = False) -> Run:
    """Let a paused run go on: due times live on the waits, so they are computed anew.

    `is_due`: something it waits for has come meanwhile. A run that has not begun waits for its own time.
    """
    if run.status is RunStatus.RUNNING and run.is_held:
        return replace(run, is_held=False)
    _expect(run, RunStatus.PAUSED)
    if is_queued(run):
        return replace(run, status=RunStatus.WAITING)
    if is_due:
        return _unclaimed(run, RunStatus.PENDING, now)
    if run.attempts == 0 and run.starts_at is not None:
        return _unclaimed(run, RunStatus.PENDING, Instant(max(now, run.starts_at)))
    return _until_next_wait(run, waits, now=now)


def may_have_work(run: Run, *, paused_from: str | None) -> bool:
    """May there be more to do for a paused run than to wait? Only one that had parked by itself has come to a stop.

    One that was executed, or given back, or about to go on, when it was paused is looked at: that costs a replay.
    """
    return run.attempts > 0 and paused_from not in (RunStatus.SLEEPING, RunStatus.WAITING)


def wake(run: Run, *, now: Instant) -> Run:
    """Something has come that the run waits for: it is due at once."""
    _expect(run, RunStatus.WAITING)
    return _unclaimed(run, RunStatus.PENDING, now)


def after_children(run: Run, *, ended: int, has_failed: bool, now: Instant) -> Run:
    """Children it waits for have ended: one that waits for all of a map counts them, any other goes on."""
    _expect(run, RunStatus.WAITING)
    if run.unmet > ended and not has_failed:
        return replace(run, unmet=run.unmet - ended)
    return wake(run, now=now)


def cancel(run: Run, *, now: Instant) -> Run:
    """End a run. Its token stays: whoever holds it learns at its next write that the run is over."""
    if run.status not in OPEN:
        raise WrongState("Run", run.id, run.status, wanted="one that is not over")
    return replace(_unclaimed(run, RunStatus.CANCELLED, None), finished_at=now)


def is_expired(run: Run, *, now: Instant) -> bool:
    """Has its time-out passed? Then whoever claims it ends it without entering it."""
    return run.expires_at is not None and run.expires_at <= now


def is_abandoned(run: Run, *, now: Instant) -> bool:
    """Has its time-out passed, and does nobody hold it who would end it? One that is queued has not begun."""
    is_free = run.status is not RunStatus.RUNNING or (run.available_at is not None and run.available_at <= now)
    return run.status in OPEN and is_free and is_expired(run, now=now) and not is_queued(run)


def expire(run: Run, *, now: Instant) -> Run:
    """End a run that nobody comes for. Its token stays, as when it is cancelled."""
    if not is_abandoned(run, now=now):
        raise WrongState("Run", run.id, run.status, wanted="one whose time is over and that nobody holds")
    return replace(_unclaimed(run, RunStatus.FAILED, None), finished_at=now)


def drift(run: Run, *, now: Instant) -> Run:
    """End a job that nobody can execute any more."""
    _expect(run, RunStatus.PENDING)
    return replace(_unclaimed(run, RunStatus.FAILED, None), finished_at=now)


def expired() -> Failure:
    """How a run ends that did not end in time."""
    return Failure(
        kind=FailureKind.TIMEOUT,
        type="TimeoutError",
        message="The run did not end within its time-out.",
        reason=FailureReason.TOO_LONG,
    )


def is_crash_loop(run: Run, *, max_recoveries: int) -> bool:
    """Has this run been claimed too often in a row without anyone giving it back?"""
    return run.recoveries > max_recoveries


def crash_loop(run: Run, history: Sequence[Step], *, silent_for: Duration | None = None) -> Failure:
    """How such a run ends: blamed is the step that was seen to start under the last claim that saw one.

    `silent_for`: the length of its claim, where the worker lived and only its claim ran out. Then nothing crashed.
    """
    entered = [step for step in history if step.status is StepStatus.RUNNING]
    culprit = max(entered, key=lambda step: (step.token, step.attempt)).key if entered else ""
    where = f"last seen {f'in step {culprit!r}' if culprit else 'outside any step'}"
    if silent_for is None:
        message = f"Its worker died or was cut off {run.recoveries} times in a row; {where}."
        kind, type, reason = FailureKind.CRASH_LOOP, "CrashLoop", FailureReason.WORKER_LOST
    else:
        silence = f"its worker lived, but gave no sign of life for {describe(silent_for)}"
        message = f"Its claim ran out {run.recoveries} times in a row: {silence}; {where}."
        kind, type, reason = FailureKind.TIMEOUT, "ClaimRanOut", FailureReason.CLAIM_RAN_OUT
    return Failure(kind=kind, type=type, message=message, step=culprit, reason=reason)


def _until_next_wait(run: Run, waits: Sequence[Step], *, now: Instant) -> Run:
    first = next_wait(waits)
    due_at = None if first is None or first.due_at is None else Instant(max(now, first.due_at))
    if any(step.kind.is_wait for step in waits):
        return _unclaimed(run, RunStatus.WAITING, due_at)
    if due_at is None:
        return _unclaimed(run, RunStatus.PENDING, now)
    is_sleep = first is not None and first.kind is StepKind.SLEEP
    return _unclaimed(run, RunStatus.SLEEPING if is_sleep else RunStatus.PENDING, due_at)


def open_graph(run: Run) -> Run:
    """It is a graph from now on, and waits for its jobs. What a person wants paused is paused, and so are they."""
    _expect(run, RunStatus.RUNNING)
    status = RunStatus.PAUSED if run.is_held else RunStatus.WAITING
    return replace(_unclaimed(run, status, None), available_at=None, kind=RunKind.GRAPH)


def is_queued(run: Run) -> bool:
    """Has it not begun because a run before it is not over? Of its schedule, or one that it needs in its graph."""
    return run.unmet > 0 and run.attempts == 0


def _paused(run: Run) -> Run:
    return replace(_unclaimed(run, RunStatus.PAUSED, None), unmet=run.unmet if is_queued(run) else 0)


def _unclaimed(run: Run, status: RunStatus, available_at: Instant | None) -> Run:
    """Nobody's, and due no later than its time-out: somebody must then end it."""
    if run.expires_at is not None and status in PARKED:
        available_at = run.expires_at if available_at is None else min(available_at, run.expires_at)
    return replace(run, status=status, available_at=available_at, worker=None, recoveries=0, is_held=False, unmet=0)


def _expect(run: Run, status: RunStatus) -> None:
    if run.status is not status:
        raise WrongState("run", run.id, run.status, wanted=status)
