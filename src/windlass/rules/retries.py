"""When to try again: one rule for the whole product."""

from __future__ import annotations

from windlass.model.failure import Failure, FailureKind
from windlass.model.retry import RetryPolicy
from windlass.model.time import Duration

RETRIED = frozenset({FailureKind.TRANSIENT, FailureKind.TIMEOUT})
JITTER = 0.1  # at most this share above the delay, so that a thousand failures do not come back as one


def backoff(policy: RetryPolicy, *, failures: int, jitter: float) -> Duration:
    """How long to wait after the n-th failure. `jitter` is a random number from 0 to 1."""
    try:
        delay = min(policy.initial_for * policy.factor ** (failures - 1), policy.max_for)
    except OverflowError:
        delay = policy.max_for if policy.initial_for else 0  # nothing stays nothing, however often it is multiplied
    return Duration(int(delay * (1 + JITTER * jitter)))


def counts(failure: Failure) -> bool:
    """Does it count against the budget? Not that nobody knows yet: that has a budget of its own."""
    return failure.kind is not FailureKind.INDETERMINATE or failure.retry_after is None


def next_try(policy: RetryPolicy, failure: Failure, *, failures: int, jitter: float) -> Duration | None:
    """How long until the next attempt, or None if this one is for good. `failures` counts it, if it counts."""
    if not counts(failure) and not failure.is_final:
        return failure.retry_after
    if failure.is_final or failure.kind not in RETRIED or failures >= policy.max_attempts:
        return None
    if failure.retry_after is not None:
        return failure.retry_after
    return backoff(policy, failures=failures, jitter=jitter)
