"""What becomes of a step: a failed attempt, a wait, a history as a worker sees it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from windlass.model.commands import FailStep, WaitStep
from windlass.model.failure import Failure, FailureKind
from windlass.model.step import Step, StepKind, StepRecord, StepStatus
from windlass.model.time import Duration, Instant
from windlass.rules import retries

COPIED = 0  # the token of steps that come from the run this one tries again: no claim ever had it


def fail(command: FailStep, *, now: Instant, jitter: float) -> Step:
    """Turn a failed attempt into one with another try at `due_at`, or into the end of the step (`due_at` is null)."""
    failures = command.failures + retries.counts(command.failure)
    delay = retries.next_try(command.retry, command.failure, failures=failures, jitter=jitter)
    return Step(
        namespace=command.namespace,
        run_id=command.run_id,
        key=command.key,
        attempt=command.attempt,
        kind=command.kind,
        status=StepStatus.FAILED,
        order=command.order if delay is None else None,
        token=command.token,
        failures=failures,
        input_hash=command.input_hash,
        output=None,
        failure=command.failure,
        due_at=None if delay is None else Instant(now + delay),
        started_at=Instant(now - command.ran_for),
        finished_at=now,
    )


def wait(command: WaitStep, *, now: Instant, child: str | None = None) -> Step:
    """Begin a wait: its due time stands on the step, so neither a crash nor a replay starts it over."""
    return Step(
        namespace=command.namespace,
        run_id=command.run_id,
        key=command.key,
        attempt=1,
        kind=command.kind,
        status=StepStatus.WAITING,
        order=None,
        token=command.token,
        failures=0,
        input_hash=command.input_hash,
        output=None,
        failure=None,
        due_at=_due_at(command, now=now),
        started_at=now,
        finished_at=None,
        awaits=command.awaits if child is None else child,
        detail=command.detail,
    )


def _due_at(command: WaitStep, *, now: Instant) -> Instant | None:
    if command.kind in (StepKind.CHILD, StepKind.START):
        return None  # a run ends in its own time
    if command.due_at is not None:
        return command.due_at
    if command.due_for is None and command.kind.is_wait:
        return None  # until what it waits for comes
    return Instant(now + (command.due_for or 0))


def arrive(step: Step, *, order: int, output: bytes, token: int, now: Instant) -> Step:
    """What a step waits for has come."""
    return replace(
        step, status=StepStatus.COMPLETED, order=order, output=output, token=token, finished_at=now, is_dropped=False
    )


def miss(step: Step, *, order: int, failure: Failure, token: int, now: Instant) -> Step:
    """What a step waits for will not come any more: for good, and the same at every replay."""
    return replace(
        step,
        status=StepStatus.FAILED,
        order=order,
        failure=failure,
        failures=step.failures + 1,
        token=token,
        due_at=None,
        finished_at=now,
        is_dropped=False,
    )


def is_late(step: Step, *, now: Instant) -> bool:
    """Has the time-out of a wait passed?"""
    return step.due_at is not None and step.due_at <= now


def late(step: Step) -> Failure:
    """How a wait for an event ends that was in vain."""
    text = f"Event {step.awaits!r} did not come in time."
    return Failure(kind=FailureKind.TIMEOUT, type="WaitTimeout", message=text, is_final=True, step=step.key)


def next_wait(waits: Sequence[Step]) -> Step | None:
    """What wakes a run next, of its open waits and the failed attempts that will be tried again."""
    timed = [step for step in waits if step.due_at is not None]
    return min(timed, key=lambda step: step.due_at or 0, default=None)


def cause_of_parking(waits: Sequence[Step]) -> str:
    """What the log says about a run that is given back: what it waits for, or that it waits for nothing."""
    first = next((step for step in waits if step.kind.is_wait), None) or next_wait(waits)
    return "release" if first is None else first.kind


def leaves_nothing_to_do(failed: Sequence[Step]) -> bool:
    """May the run be parked behind these? A failure for good is an answer the code is waiting for."""
    return all(step.due_at is not None for step in failed)


def remaining(due_at: Instant | None, *, now: Instant) -> Duration | None:
    return None if due_at is None else Duration(max(0, due_at - now))


def record(step: Step, *, now: Instant) -> StepRecord:
    """A step as a claim hands it to a worker: what is left instead of when, because workers compare no clocks."""
    return StepRecord(
        key=step.key,
        kind=step.kind,
        attempt=step.attempt,
        status=step.status,
        order=step.order,
        failures=step.failures,
        input_hash=step.input_hash,
        output=step.output,
        failure=step.failure,
        due_in=remaining(step.due_at, now=now),
        finished_at=step.finished_at,
        awaits=step.awaits,
        is_copied=step.token == COPIED,
    )


def is_heard_first(order: int, over: Sequence[Step]) -> bool:
    """May an event be taken from the inbox for the wait with this number, while these are over too?

    Only if it is the first that the code will hear of: whatever comes before it may make the code give up the branch
    that waits for it, and then the event is there for the next.
    """
    return all(order < (step.order or 0) for step in over)
