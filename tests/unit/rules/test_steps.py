"""What becomes of a failed attempt and of a wait?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.model.commands import FailStep, WaitStep
from windlass.model.failure import Failure, FailureKind
from windlass.model.retry import RetryPolicy
from windlass.model.run import RunId
from windlass.model.step import StepKind, StepStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules import steps

NOON = Instant(1_767_268_800_000_000)


def failing(kind: FailureKind = FailureKind.TRANSIENT, *, failures: int = 0, attempt: int = 1) -> FailStep:
    return FailStep(
        namespace="default",
        run_id=RunId("run_1"),
        token=5,
        key="charge",
        kind=StepKind.STEP,
        attempt=attempt,
        order=7,
        failures=failures,
        input_hash=b"hash",
        failure=Failure(kind=kind, type="Error", message="no"),
        retry=RetryPolicy(max_attempts=3, initial_for=SECOND, factor=2),
        ran_for=Duration(250),
    )


def waiting(*, due_for: int | None = None, due_at: int | None = None) -> WaitStep:
    return WaitStep(
        namespace="default",
        run_id=RunId("run_1"),
        token=5,
        key="sleep",
        kind=StepKind.SLEEP,
        input_hash=b"hash",
        due_for=None if due_for is None else Duration(due_for),
        due_at=None if due_at is None else Instant(due_at),
    )


@pytest.mark.spec("runs:P4.3")
def test_a_failed_attempt_keeps_its_failure_and_its_times() -> None:
    step = steps.fail(failing(), now=NOON, jitter=0)

    assert (step.status, step.failure, step.attempt) == (StepStatus.FAILED, failing().failure, 1)
    assert (step.started_at, step.finished_at) == (NOON - 250, NOON)


def test_an_attempt_with_another_try_has_a_due_time_and_no_order() -> None:
    step = steps.fail(failing(failures=1, attempt=4), now=NOON, jitter=0)

    assert (step.due_at, step.order, step.failures) == (NOON + 2 * SECOND, None, 2)


@pytest.mark.parametrize(("kind", "failures"), [(FailureKind.TRANSIENT, 2), (FailureKind.LOGIC, 0)])
def test_the_last_attempt_has_an_order_and_no_due_time(kind: FailureKind, failures: int) -> None:
    step = steps.fail(failing(kind, failures=failures), now=NOON, jitter=0)

    assert (step.due_at, step.order, step.failures) == (None, 7, failures + 1)


@pytest.mark.spec("invariants:I-03")
@given(attempt=st.integers(min_value=1, max_value=10_000))
def test_the_budget_counts_failures_and_not_attempts(attempt: int) -> None:
    step = steps.fail(failing(failures=0, attempt=attempt), now=NOON, jitter=0)

    assert step.due_at is not None


@given(due_for=st.integers(min_value=0, max_value=10**15))
def test_a_wait_is_due_after_its_duration(due_for: int) -> None:
    step = steps.wait(waiting(due_for=due_for), now=NOON)

    assert (step.status, step.due_at, step.order) == (StepStatus.WAITING, NOON + due_for, None)


@given(due_at=st.integers(min_value=0, max_value=10**16))
def test_a_wait_for_an_instant_is_due_then(due_at: int) -> None:
    assert steps.wait(waiting(due_at=due_at), now=NOON).due_at == due_at


@given(due_for=st.integers(min_value=0, max_value=10**15), passed=st.integers(min_value=0, max_value=10**15))
def test_a_record_says_what_is_left_and_never_less_than_nothing(due_for: int, passed: int) -> None:
    step = steps.wait(waiting(due_for=due_for), now=NOON)

    record = steps.record(step, now=Instant(NOON + passed))

    assert record.due_in == max(0, due_for - passed)
    assert (record.key, record.kind, record.status) == (step.key, step.kind, step.status)


def test_what_is_over_is_due_no_more() -> None:
    assert steps.remaining(None, now=NOON) is None
