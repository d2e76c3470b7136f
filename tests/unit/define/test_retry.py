"""What users may write as a Retry."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from windlass.define.retry import Retry
from windlass.errors import InvalidInput
from windlass.model.retry import DEFAULT_RETRY, RetryPolicy
from windlass.model.time import HOUR, SECOND, Duration


def test_defaults_are_the_default_policy() -> None:
    assert Retry().policy == DEFAULT_RETRY


def test_durations_are_written_as_anywhere_else() -> None:
    retry = Retry(5, initial=timedelta(seconds=2), factor=1.5, max_delay="1h", never=[KeyError])

    assert retry.policy == RetryPolicy(max_attempts=5, initial_for=Duration(2 * SECOND), factor=1.5, max_for=HOUR)
    assert retry.never == (KeyError,)


@pytest.mark.spec("security:49")  # of the jitter there is nothing to say: it is bounded, and no option
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": -1}, "max_attempts"),
        ({"max_attempts": 10**9}, "max_attempts"),
        ({"max_attempts": True}, "max_attempts"),
        ({"factor": 0}, "factor"),
        ({"factor": 0.5}, "factor"),
        ({"factor": float("nan")}, "factor"),
        ({"initial": "2m", "max_delay": "1m"}, "max_delay"),
        ({"initial": "-1s"}, "initial"),
        ({"never": KeyError}, "never"),
        ({"never": ["KeyError"]}, "never"),
    ],
)
def test_policies_that_make_no_sense_are_refused_by_field(arguments: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Retry(**arguments)
    assert refused.value.path == path


def test_a_retry_does_not_change() -> None:
    retry = Retry()

    with pytest.raises(AttributeError):
        retry.max_attempts = 9
    with pytest.raises(AttributeError):
        del retry.policy
    assert retry == Retry(3)
    assert hash(retry) == hash(Retry(3))
    assert retry != Retry(3, never=(KeyError,))


def test_a_retry_shows_what_it_is() -> None:
    assert repr(Retry(5, never=(KeyError,))) == "Retry(5, initial=1, factor=2, max_delay=60, never=(KeyError,))"
