"""What becomes of a step: a failed attempt, a wait, a history as a worker sees it."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.model.commands import FailStep, WaitStep
from windlass.model.step import Step, StepRecord, StepStatus
from windlass.model.time import Duration, Instant
from windlass.rules import retries


def fail(command: FailStep, *, now: Instant, jitter: float) -> Step:
    """Turn a failed attempt into one with another try at `due_at`, or into the end of the step (`due_at` is null)."""
    failures = command.failures + 1
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


def wait(command: WaitStep, *, now: Instant) -> Step:
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
        due_at=command.due_at if command.due_at is not None else Instant(now + (command.due_for or 0)),
        started_at=now,
        finished_at=None,
    )


def next_wait(waits: Sequence[Step]) -> Step | None:
    """What wakes a run next, of its open waits and the failed attempts that will be tried again."""
    return min(waits, key=lambda step: step.due_at or 0, default=None)


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
    )
