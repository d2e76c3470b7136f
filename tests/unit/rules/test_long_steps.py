"""When does a body take long?"""

from __future__ import annotations

import pytest

from windlass.model.time import HOUR, MINUTE, SECOND, Duration
from windlass.rules.long_steps import MOST, earlier_keys, first_key, is_long, typical


@pytest.mark.parametrize(
    ("ran_for", "typical_for", "expected"),
    [
        (5 * MINUTE, Duration(30 * SECOND), True),
        (5 * MINUTE - 1, Duration(30 * SECOND), False),
        (5 * MINUTE, Duration(SECOND), True),
        (4 * MINUTE, Duration(SECOND), False),  # never below five minutes
        (10 * HOUR, Duration(HOUR), True),
        (10 * HOUR - 1, Duration(HOUR), False),
        (HOUR, None, True),
        (HOUR - 1, None, False),
    ],
)
def test_ten_times_the_median_and_at_least_five_minutes(
    ran_for: int, typical_for: Duration | None, expected: bool
) -> None:
    assert is_long(ran_for, typical_for) is expected


def test_what_is_typical_is_the_median() -> None:
    assert typical([]) is None
    assert typical([Duration(1), Duration(9), Duration(2)]) == 2


def test_earlier_keys_are_those_of_the_same_step() -> None:
    assert earlier_keys("fetch") == []
    assert earlier_keys("fetch#2") == ["fetch"]
    assert earlier_keys("fetch#4") == ["fetch#3", "fetch#2", "fetch"]
    assert len(earlier_keys("fetch#5000")) == MOST
    assert earlier_keys("fetch#5000")[0] == "fetch#4999"
    assert (first_key("fetch#12"), first_key("fetch"), first_key("a#b")) == ("fetch", "fetch", "a#b")
