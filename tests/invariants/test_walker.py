"""Does the walker itself find what somebody would who looks at the clocks every minute?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.invariants.walker import spans_of, walk
from windlass.model.duration import from_instant, to_instant
from windlass.model.schedule import Timing
from windlass.model.time import DAY, HOUR, MINUTE, Duration, Instant
from windlass.rules.zones import load_zone

CHANGES = [
    ("Europe/Rome", "2026-03-29"),
    ("Europe/Rome", "2026-10-25"),
    ("Australia/Lord_Howe", "2025-10-04"),
    ("Australia/Lord_Howe", "2025-04-05"),
    ("Pacific/Apia", "2011-12-30"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Sao_Paulo", "2018-02-18"),
    ("UTC", "2026-01-01"),
]


@pytest.mark.parametrize(("tz", "day"), CHANGES)
def test_a_rhythm_fires_in_every_minute_in_which_the_clocks_show_it(tz: str, day: str) -> None:
    begin, end = span(day)
    zone = load_zone(tz)

    minutes = [Instant(minute) for minute in range(begin + MINUTE, end + 1, MINUTE)]
    every_third = [minute for minute in minutes if clocks(zone, minute).minute % 20 == 0]
    in_the_second_hour = [minute for minute in minutes if clocks(zone, minute).hour == 2]

    assert walk(Timing(cron="*/20 * * * *", tz=tz), Instant(0), after=begin, until=end) == every_third
    assert walk(Timing(cron="* 2 * * *", tz=tz), Instant(0), after=begin, until=end) == in_the_second_hour


@pytest.mark.parametrize(("tz", "day"), CHANGES)
@pytest.mark.parametrize("cron", ["30 2 * * *", "0 0 * * *", "15 1 * * *", "0 3 * * *"])
def test_a_time_of_the_day_fires_in_the_minute_in_which_the_clocks_first_reach_it(tz: str, day: str, cron: str) -> None:
    begin, end = span(day)
    zone = load_zone(tz)
    minute_of_day, hour_of_day = map(int, cron.split()[:2])

    expected, latest = [], clocks(zone, begin)
    for minute in range(begin + MINUTE, end + 1, MINUTE):
        reading = clocks(zone, minute)
        aims = [
            datetime.combine(latest + timedelta(days=days), datetime.min.time())
            + timedelta(hours=hour_of_day, minutes=minute_of_day)
            for days in range(3)
        ]
        if any(latest < aim <= reading for aim in aims):
            expected.append(minute)
        latest = max(latest, reading)

    assert walk(Timing(cron=cron, tz=tz), Instant(0), after=begin, until=end) == expected


def test_the_time_is_cut_where_clocks_are_changed() -> None:
    first, second = spans_of("Europe/Rome", *span("2026-03-29"))

    assert first.end == second.start == to_instant(datetime(2026, 3, 29, 1, tzinfo=UTC))
    assert (first.offset, second.offset) == (HOUR, 2 * HOUR)


def test_fields_are_read() -> None:
    def days(cron: str) -> list[int]:
        begin = to_instant(datetime(2026, 5, 1, tzinfo=UTC))
        found = walk(Timing(cron=cron), Instant(0), after=Instant(begin - 1), until=Instant(begin + 31 * DAY - 1))
        return [from_instant(slot).day for slot in found]

    assert days("0 0 1,10-12,28/2 * *") == [1, 10, 11, 12, 28, 30]
    assert days("0 0 */10 may *") == [1, 11, 21, 31]
    assert days("0 0 * JUN-AUG *") == []
    assert days("0 0 * * SAT,7") == days("0 0 * * 6-7") == [2, 3, 9, 10, 16, 17, 23, 24, 30, 31]
    assert days("0 0 13 * FRI") == [1, 8, 13, 15, 22, 29]
    assert days("0 0 */2 * FRI") == [1, 15, 29]


def test_an_interval_counts_from_its_anchor() -> None:
    timing = Timing(every=Duration(2 * HOUR))

    assert walk(timing, Instant(5), after=Instant(2 * HOUR + 5), until=Instant(6 * HOUR + 5)) == [
        4 * HOUR + 5,
        6 * HOUR + 5,
    ]


def span(day: str) -> tuple[Instant, Instant]:
    """The five days about a day."""
    noon = to_instant(datetime.fromisoformat(day).replace(tzinfo=UTC))
    return Instant(noon - 2 * DAY), Instant(noon + 3 * DAY)


def clocks(zone: ZoneInfo, instant: int) -> datetime:
    return from_instant(Instant(instant)).astimezone(zone).replace(tzinfo=None)
