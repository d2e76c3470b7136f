"""Are the odd instants, at which `make odd-clocks` starts the clock, what they are called?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.odd_clocks import INSTANTS, ROOT, WALL_CLOCK


def at(name: str) -> datetime:
    return datetime.fromisoformat(INSTANTS[name].at)


def test_there_are_ten_and_their_tests_are_there() -> None:
    assert len(INSTANTS) == 10
    assert [path for path in WALL_CLOCK if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(("name", "seconds"), [("ten-digits", 10**9), ("2038", 2**31), ("2106", 2**32)])
def test_a_number_of_seconds_is_reached(name: str, seconds: int) -> None:
    assert INSTANTS[name].seconds == seconds


@pytest.mark.parametrize(("name", "change"), [("summer", 1), ("winter", -1)])
def test_the_clock_on_the_wall_is_changed(name: str, change: int) -> None:
    zone = ZoneInfo(INSTANTS[name].zone)
    before, after = at(name) - timedelta(seconds=1), at(name)

    assert after.astimezone(zone).utcoffset() == (before.astimezone(zone).utcoffset() or timedelta()) + timedelta(
        hours=change
    )


def test_minute_hour_day_and_year_end_and_a_leap_day_begins() -> None:
    assert (at("minute").second, at("hour").minute, at("day").hour) == (0, 0, 0)
    assert at("year") == datetime(2027, 1, 1, tzinfo=UTC)
    assert at("leap-day") == datetime(2028, 2, 29, tzinfo=UTC)
