"""Where a run may go from where it stands.

(start) ─► pending ──claim──► running ──finish──► completed | failed
   │          ▲  ▲              │ │ │
   │          │  └─release, death─┘ └──hold──► paused ──resume──► pending | sleeping
   │          └────park (retry)───┤
   └─dispatch─► running           └──park (sleep)──► sleeping ──claim──► running
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from msgspec.structs import replace

from windlass.errors import WrongState
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import Run, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import MINUTE, SECOND, Duration, Instant
from windlass.rules.steps import next_wait

LONGEST_PAUSE = MINUTE  # for a run whose workers keep dying

TRANSITIONS: frozenset[tuple[RunStatus | None, RunStatus]] = frozenset(
    {
        (None, RunStatus.PENDING),
        (None, RunStatus.RUNNING),
        (RunStatus.PENDING, RunStatus.RUNNING),
        (RunStatus.SLEEPING, RunStatus.RUNNING),
        (RunStatus.RUNNING, RunStatus.RUNNING),  # a claim nobody released, claimed again
        (RunStatus.RUNNING, RunStatus.PENDING),
        (RunStatus.RUNNING, RunStatus.SLEEPING),
        (RunStatus.RUNNING, RunStatus.PAUSED),
        (RunStatus.RUNNING, RunStatus.COMPLETED),
        (RunStatus.RUNNING, RunStatus.FAILED),
        (RunStatus.PAUSED, RunStatus.PENDING),
        (RunStatus.PAUSED, RunStatus.SLEEPING),
    }
)


def check_transition(was: RunStatus | None, status: RunStatus) -> None:
    """Raise WrongState for a way that is not on the map above."""
    if (was, status) not in TRANSITIONS:
        raise WrongState("run", "", str(was), wanted=f"a way to {status}")


def park(run: Run, waits: Sequence[Step], *, now: Instant) -> Run:
    """Give the claim back until the earliest open wait is due; with none open the run is claimable at once."""
    _expect(run, RunStatus.RUNNING)
    return _until_next_wait(run, waits, now=now)


def release(run: Run, *, now: Instant, delay_for: Duration) -> Run:
    """Give the claim back, claimable after a moment. A claim that ended in order ends the count of recoveries."""
    _expect(run, RunStatus.RUNNING)
    return _unclaimed(run, RunStatus.PENDING, Instant(now + delay_for))


def take_from_dead(run: Run, *, now: Instant) -> Run:
    """Take the claim from a worker that is gone. Nobody gave it back, so this counts as a recovery.

    Due at once, unless its workers keep dying: then it may be what kills them, and waits longer each time.
    """
    _expect(run, RunStatus.RUNNING)
    pause = 0 if run.recoveries == 0 else min(SECOND << min(run.recoveries - 1, 6), LONGEST_PAUSE)
    due_at = Instant(now + int(pause * (0.5 + _spread(run))))
    return replace(_unclaimed(run, RunStatus.PENDING, due_at), recoveries=run.recoveries + 1)


def _spread(run: Run) -> float:
    """From 0 to 1, another one at each death: runs that died together are apart next time, and the innocent get by."""
    return crc32(f"{run.id} {run.recoveries}".encode()) / 2**32


def hold(run: Run) -> Run:
    """Give the run to a person."""
    _expect(run, RunStatus.RUNNING)
    return _unclaimed(run, RunStatus.PAUSED, None)


def resume(run: Run, waits: Sequence[Step], *, now: Instant) -> Run:
    """Let a paused run go on: due times live on the waits, so they are computed anew."""
    _expect(run, RunStatus.PAUSED)
    return _until_next_wait(run, waits, now=now)


def is_crash_loop(run: Run, *, max_recoveries: int) -> bool:
    """Has this run been claimed too often in a row without anyone giving it back?"""
    return run.recoveries > max_recoveries


def crash_loop(run: Run, history: Sequence[Step]) -> Failure:
    """How such a run ends: blamed is the step that was seen to start under the last claim that saw one."""
    entered = [step for step in history if step.status is StepStatus.RUNNING]
    culprit = max(entered, key=lambda step: (step.token, step.attempt)).key if entered else ""
    where = f"in step {culprit!r}" if culprit else "outside any step"
    return Failure(
        kind=FailureKind.CRASH_LOOP,
        type="CrashLoop",
        message=f"Its worker died, or its claim ran out, {run.recoveries} times in a row; last seen {where}.",
        step=culprit,
    )


def _until_next_wait(run: Run, waits: Sequence[Step], *, now: Instant) -> Run:
    first = next_wait(waits)
    if first is None:
        return _unclaimed(run, RunStatus.PENDING, now)
    status = RunStatus.SLEEPING if first.kind is StepKind.SLEEP else RunStatus.PENDING
    return _unclaimed(run, status, Instant(max(now, first.due_at or now)))


def _unclaimed(run: Run, status: RunStatus, available_at: Instant | None) -> Run:
    return replace(run, status=status, available_at=available_at, worker=None, recoveries=0)


def _expect(run: Run, status: RunStatus) -> None:
    if run.status is not status:
        raise WrongState("run", run.id, run.status, wanted=status)
