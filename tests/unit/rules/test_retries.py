"""When is a failed attempt tried again, and after how long?"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.model.duration import MAX_DURATION
from windlass.model.failure import Failure, FailureKind
from windlass.model.retry import DEFAULT_RETRY, RetryPolicy
from windlass.model.time import MINUTE, SECOND, Duration
from windlass.rules.limits import MAX_ATTEMPTS
from windlass.rules.retries import JITTER, RETRIED, backoff, counts, next_try

NO_JITTER = 0.0

durations = st.integers(min_value=0, max_value=MAX_DURATION).map(Duration)
jitters = st.floats(min_value=0, max_value=1)
failure_counts = st.integers(min_value=1, max_value=MAX_ATTEMPTS)


@st.composite
def policies(draw: st.DrawFn) -> RetryPolicy:
    """Any policy that `check_retry` accepts."""
    shortest, longest = sorted((draw(durations), draw(durations)))
    return RetryPolicy(
        max_attempts=draw(failure_counts),
        initial_for=shortest,
        factor=draw(st.floats(min_value=1, allow_nan=False, allow_infinity=False)),
        max_for=longest,
    )


def failure(
    kind: FailureKind = FailureKind.TRANSIENT, *, after: Duration | None = None, is_final: bool = False
) -> Failure:
    return Failure(kind=kind, type="Error", message="", retry_after=after, is_final=is_final)


def test_delays_double_up_to_the_longest() -> None:
    policy = RetryPolicy(initial_for=SECOND, factor=2, max_for=Duration(10 * SECOND))

    delays = [backoff(policy, failures=count, jitter=NO_JITTER) for count in range(1, 7)]

    assert delays == [1 * SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND, 10 * SECOND, 10 * SECOND]


@pytest.mark.spec("security:50", "invariants:I-16")
@given(policy=policies(), failures=failure_counts, jitter=jitters)
def test_a_delay_is_never_below_the_first_nor_above_the_longest_and_its_jitter(
    policy: RetryPolicy, failures: int, jitter: float
) -> None:
    delay = backoff(policy, failures=failures, jitter=jitter)

    assert isinstance(delay, int)
    assert policy.initial_for <= delay <= math.ceil(policy.max_for * (1 + JITTER))


@given(policy=policies(), failures=st.integers(min_value=1, max_value=MAX_ATTEMPTS - 1))
def test_delays_never_get_shorter(policy: RetryPolicy, failures: int) -> None:
    assert backoff(policy, failures=failures, jitter=NO_JITTER) <= backoff(
        policy, failures=failures + 1, jitter=NO_JITTER
    )


@given(policy=policies(), failures=failure_counts, jitter=jitters)
def test_jitter_only_adds_and_at_most_its_share(policy: RetryPolicy, failures: int, jitter: float) -> None:
    plain = backoff(policy, failures=failures, jitter=NO_JITTER)

    moved = backoff(policy, failures=failures, jitter=jitter)

    assert plain <= moved <= plain * (1 + JITTER) + 1


@pytest.mark.spec("security:50")
@pytest.mark.parametrize("failures", [10_000, MAX_ATTEMPTS, 10**12])
@pytest.mark.parametrize("factor", [1.0, 1.000001, 2.0, 1e300])
def test_a_delay_that_would_overflow_is_the_longest(failures: int, factor: float) -> None:
    policy = RetryPolicy(max_attempts=MAX_ATTEMPTS, initial_for=SECOND, factor=factor, max_for=MINUTE)

    delay = backoff(policy, failures=failures, jitter=NO_JITTER)

    assert SECOND <= delay <= MINUTE


def test_no_first_delay_means_no_delay() -> None:
    policy = RetryPolicy(initial_for=Duration(0), factor=1e308, max_for=MINUTE)

    assert backoff(policy, failures=10_000, jitter=1.0) == 0


@pytest.mark.spec("invariants:I-16")
@pytest.mark.parametrize("kind", FailureKind)
def test_only_transient_failures_and_time_outs_are_tried_again(kind: FailureKind) -> None:
    delay = next_try(DEFAULT_RETRY, failure(kind), failures=1, jitter=NO_JITTER)

    assert (delay is not None) == (kind in RETRIED) == (kind in ("transient", "timeout"))


@pytest.mark.spec("invariants:I-16")
@given(policy=policies(), jitter=jitters)
def test_the_budget_counts_every_attempt(policy: RetryPolicy, jitter: float) -> None:
    assert next_try(policy, failure(), failures=policy.max_attempts, jitter=jitter) is None
    assert next_try(policy, failure(), failures=policy.max_attempts + 1, jitter=jitter) is None
    if policy.max_attempts > 1:
        assert next_try(policy, failure(), failures=policy.max_attempts - 1, jitter=jitter) is not None


@given(policy=policies(), after=durations, jitter=jitters, failures=failure_counts)
def test_a_time_named_by_the_failure_wins_but_buys_no_further_attempt(
    policy: RetryPolicy, after: Duration, jitter: float, failures: int
) -> None:
    delay = next_try(policy, failure(after=after), failures=failures, jitter=jitter)

    assert delay == (after if failures < policy.max_attempts else None)


@given(policy=policies(), jitter=jitters)
def test_a_final_failure_is_final_whatever_it_asks_for(policy: RetryPolicy, jitter: float) -> None:
    assert next_try(policy, failure(after=SECOND, is_final=True), failures=1, jitter=jitter) is None
    assert next_try(policy, failure(FailureKind.LOGIC, after=SECOND), failures=1, jitter=jitter) is None


def test_the_list_of_kinds_is_closed() -> None:
    assert [kind.value for kind in FailureKind] == [
        "transient",
        "logic",
        "auth",
        "permission",
        "indeterminate",
        "timeout",
        "drift",
        "crash_loop",
        "internal",
    ]


def test_the_default_policy_is_three_attempts_a_second_apart() -> None:
    assert RetryPolicy(max_attempts=3, initial_for=SECOND, factor=2.0, max_for=MINUTE) == DEFAULT_RETRY


@given(policy=policies(), failures=failure_counts, after=durations)
def test_an_effect_of_which_nobody_knows_yet_is_asked_about_as_often_as_the_ledger_says(
    policy: RetryPolicy, failures: int, after: Duration
) -> None:
    unknown = failure(FailureKind.INDETERMINATE, after=after)

    assert not counts(unknown)
    assert next_try(policy, unknown, failures=failures, jitter=NO_JITTER) == after
    assert next_try(policy, failure(FailureKind.INDETERMINATE), failures=1, jitter=NO_JITTER) is None
    assert all(counts(failure(kind, after=after)) for kind in FailureKind if kind is not FailureKind.INDETERMINATE)
