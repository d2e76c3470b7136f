"""Does a schedule fire when its definition says so, whichever moment one asks from?"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.invariants.walker import walk
from windlass.errors import InvalidInput
from windlass.model.duration import LAST_INSTANT, MAX_DURATION, from_instant, to_instant
from windlass.model.schedule import Timing
from windlass.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, Duration, Instant
from windlass.rules.slots import check_every, count_slots, describe, latest_slots, next_slot, upcoming
from windlass.rules.zones import load_zone

START = Instant(0)


def at(text: str) -> Instant:
    """An instant from "2026-03-29 01:00", in UTC."""
    return to_instant(datetime.fromisoformat(text).replace(tzinfo=UTC))


def fires(cron: str, tz: str, *, after: str, count: int) -> list[str]:
    """The next slots in UTC; found one by one, and in one go."""
    timing, one_by_one, last = Timing(cron=cron, tz=tz), [], at(after)
    for _ in range(count):
        following = next_slot(timing, START, after=last)
        assert following is not None
        one_by_one.append(following)
        last = following
    assert one_by_one == upcoming(timing, START, after=at(after), count=count)
    return [from_instant(slot).strftime("%m-%d %H:%M") for slot in one_by_one]


# -- clocks that are put forward -------------------------------------------------------------


@pytest.mark.spec("invariants:I-52", "security:59")
def test_a_time_in_a_gap_fires_once_right_after_it() -> None:
    # Rome, 29 March 2026: at 01:00 UTC the clocks go from 02:00 to 03:00.
    assert fires("30 2 * * *", "Europe/Rome", after="2026-03-28 00:00", count=3) == [
        "03-28 01:30",
        "03-29 01:00",
        "03-30 00:30",
    ]


@pytest.mark.spec("invariants:I-52", "security:59")
@pytest.mark.parametrize("cron", ["0,15,45 2 * * *", "0,30 2-3 * * *", "0-59 2 29 3 *", "59 2 * * *", "0 2,3 * * *"])
def test_several_times_in_one_gap_are_one_slot(cron: str) -> None:
    found = fires(cron, "Europe/Rome", after="2026-03-29 00:59:59.999999", count=2)

    assert found[0] == "03-29 01:00"
    assert found[1] != "03-29 01:00"


@pytest.mark.spec("invariants:I-52")
@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("*/30 * * * *", ["03-29 00:30", "03-29 01:00", "03-29 01:30"]),
        ("30 * * * *", ["03-29 00:30", "03-29 01:30", "03-29 02:30"]),
        ("*/20 2 * * *", ["03-30 00:00", "03-30 00:20", "03-30 00:40"]),  # nothing in the gap
        ("0 */2 * * *", ["03-29 02:00", "03-29 04:00", "03-29 06:00"]),
    ],
)
def test_a_rhythm_follows_elapsed_time_across_a_gap(cron: str, expected: list[str]) -> None:
    assert fires(cron, "Europe/Rome", after="2026-03-29 00:00", count=3) == expected


@pytest.mark.spec("security:59")
@pytest.mark.parametrize(
    ("tz", "after", "expected"),
    [
        ("America/Sao_Paulo", "2018-11-03 04:00", ["11-04 03:00", "11-05 02:00"]),
        ("Asia/Beirut", "2022-03-26 00:00", ["03-26 22:00", "03-27 21:00"]),
        ("Africa/Cairo", "2026-04-23 00:00", ["04-23 22:00", "04-24 21:00"]),
        ("America/Havana", "2026-03-07 06:00", ["03-08 05:00", "03-09 04:00"]),
    ],
)
def test_a_day_without_midnight_begins_with_its_first_moment(tz: str, after: str, expected: list[str]) -> None:
    assert fires("0 0 * * *", tz, after=after, count=2) == expected


@pytest.mark.spec("security:59")
def test_a_day_that_never_was_fires_once_when_it_was_skipped() -> None:
    # Apia went from 29 December 2011 to the 31st, at 10:00 UTC on the 30th.
    assert fires("0 9 * * *", "Pacific/Apia", after="2011-12-28 20:00", count=3) == [
        "12-29 19:00",
        "12-30 10:00",
        "12-30 19:00",
    ]
    assert fires("0,30 8-20 30 12 *", "Pacific/Apia", after="2011-12-01 00:00", count=2)[0] == "12-30 10:00"
    assert fires("0 */6 * * *", "Pacific/Apia", after="2011-12-30 03:00", count=3) == [
        "12-30 04:00",
        "12-30 10:00",
        "12-30 16:00",
    ]


@pytest.mark.spec("security:59")
def test_gaps_of_other_lengths_are_gaps_too() -> None:
    # Half an hour on Lord Howe, two hours at Troll, three at Casey from one minute past midnight.
    assert fires("15 2 * * *", "Australia/Lord_Howe", after="2026-10-03 12:00", count=2) == [
        "10-03 15:30",
        "10-04 15:15",
    ]
    assert fires("15 1,2,3 * * *", "Antarctica/Troll", after="2026-03-29 00:30", count=2) == [
        "03-29 01:00",
        "03-29 01:15",
    ]
    assert fires("0 0,1 * * *", "Antarctica/Casey", after="2020-10-03 12:00", count=2) == ["10-03 16:00", "10-03 16:01"]


# -- clocks that are put back ----------------------------------------------------------------


@pytest.mark.spec("invariants:I-52", "security:59")
@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("2026-10-24 23:00", "10-25 00:30"),  # before the first 02:30
        ("2026-10-25 00:30", "10-26 01:30"),  # at it
        ("2026-10-25 00:45", "10-26 01:30"),  # after it, in the first of the two hours
        ("2026-10-25 01:00", "10-26 01:30"),  # at the change
        ("2026-10-25 01:15", "10-26 01:30"),  # before the second 02:30
        ("2026-10-25 01:30", "10-26 01:30"),  # at it
        ("2026-10-25 01:45", "10-26 01:30"),
    ],
)
def test_a_time_in_a_repeated_hour_fires_at_its_first_occurrence_only(after: str, expected: str) -> None:
    # Rome, 25 October 2026: at 01:00 UTC the clocks go from 03:00 back to 02:00.
    assert fires("30 2 * * *", "Europe/Rome", after=after, count=1) == [expected]


@pytest.mark.spec("invariants:I-52")
@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 * * * *", ["10-25 00:30", "10-25 01:30", "10-25 02:30"]),
        ("*/30 2 * * *", ["10-25 00:30", "10-25 01:00", "10-25 01:30"]),
        ("0 */2 * * *", ["10-25 01:00", "10-25 03:00", "10-25 05:00"]),
    ],
)
def test_a_rhythm_follows_elapsed_time_through_a_repeated_hour(cron: str, expected: list[str]) -> None:
    assert fires(cron, "Europe/Rome", after="2026-10-25 00:00", count=3) == expected


@pytest.mark.spec("security:59")
def test_the_times_of_a_fast_that_moves_the_clocks_four_times_a_year() -> None:
    # Casablanca puts its clocks back for Ramadan, and forward after it, while others change theirs for summer.
    zone = "Africa/Casablanca"
    expected = ["02-15 01:30", "02-16 02:30", "02-17 02:30"]
    assert fires("30 2 * * *", zone, after="2026-02-14 12:00", count=3) == expected
    assert fires("30 2 * * *", zone, after="2026-03-21 12:00", count=2) == ["03-22 02:00", "03-23 01:30"]


@pytest.mark.spec("security:59")
def test_after_an_update_of_zone_data_no_slot_comes_again_and_none_lies_in_the_past() -> None:
    # An update is other changes of the clocks under the same name: here one zone takes the place of the other.
    last = at("2026-03-20 00:00")
    for turn in range(300):
        tz = ("Europe/Rome", "Europe/London", "Africa/Casablanca")[turn % 3]
        following = next_slot(Timing(cron="0,30 1-3 * * *", tz=tz), START, after=last)

        assert following is not None and following > last
        shown = from_instant(following).astimezone(load_zone(tz))
        assert shown.minute in (0, 30) and 1 <= shown.hour <= 3
        last = following


# -- intervals -------------------------------------------------------------------------------


@pytest.mark.spec("invariants:I-52")
def test_an_interval_counts_elapsed_time_from_its_anchor() -> None:
    timing, anchor = Timing(every=Duration(7 * HOUR), tz="Europe/Rome"), at("2026-03-28 12:34:56.789")

    assert upcoming(timing, anchor, after=anchor, count=3) == [anchor + step * 7 * HOUR for step in (1, 2, 3)]
    assert next_slot(timing, anchor, after=Instant(anchor + 7 * HOUR - 1)) == anchor + 7 * HOUR
    assert next_slot(timing, anchor, after=Instant(anchor + 7 * HOUR)) == anchor + 14 * HOUR


def test_an_interval_has_no_slot_at_its_anchor_or_before() -> None:
    timing, anchor = Timing(every=HOUR), Instant(10 * DAY)

    assert next_slot(timing, anchor, after=START) == anchor + HOUR
    assert latest_slots(timing, anchor, after=START, until=anchor, limit=5) == []
    assert count_slots(timing, anchor, after=START, until=anchor, most=5) == 0


def test_intervals_lose_nothing_over_thousands_of_years() -> None:
    timing, anchor = Timing(every=Duration(SECOND + 1)), Instant(3)
    after = Instant(LAST_INSTANT - 5 * SECOND)

    found = next_slot(timing, anchor, after=after)

    assert found is not None and 0 < found - after <= SECOND + 1 and (found - anchor) % (SECOND + 1) == 0
    assert next_slot(timing, anchor, after=LAST_INSTANT) is None


@pytest.mark.spec("security:60")
@pytest.mark.parametrize(
    ("value", "found"),
    [
        (0, "0 s"),
        (MILLISECOND, "0.001 s"),
        (SECOND - 1, "0.999999 s"),
        (-SECOND, "-1 s"),
        (-HOUR, "-3600 s"),
        (MAX_DURATION + 1, "315619200.000001 s"),
        (100 * 365 * DAY, "3153600000 s"),
        (10**30, str(10**30)),
        (10**5_000, "an integer of 16610 bits"),
        (1.5, "1.5"),
        (True, "True"),
        (None, "None"),
        ("10m", "'10m'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_intervals_are_refused(value: Any, found: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_every(value)

    assert str(caught.value) == f"Invalid every {found}: an interval from 1 s to 10 years was expected."
    assert (caught.value.reason, caught.value.path) == ("invalid_schedule", "every")


def test_the_shortest_and_the_longest_interval_are_accepted() -> None:
    assert check_every(SECOND) == SECOND
    assert check_every(MAX_DURATION) == MAX_DURATION
    assert check_every(Duration(SECOND + 1)) == SECOND + 1


# -- many slots ------------------------------------------------------------------------------

CRONS = ["* * * * *", "*/7 9-10 * * *", "0 9 * * *", "* * 1 * *", "0 0 1 1 *", "30 2 * * SUN", "0,30 1-3 * * *"]
TIMINGS = some.sampled_from(
    [Timing(cron=cron, tz=tz) for cron in CRONS for tz in ("UTC", "Europe/Rome")]
    + [Timing(every=Duration(every * MINUTE)) for every in (1, 7, 1_441)]
)


@given(TIMINGS, some.integers(0, 40 * DAY), some.integers(0, 5 * DAY), some.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_the_latest_slots_are_the_last_of_all(timing: Timing, shift: int, span: int, limit: int) -> None:
    anchor = at("2026-02-28 23:59:30")
    after = Instant(anchor + shift)
    until = Instant(after + span)
    everything = walk(timing, anchor, after=after, until=until)

    found = latest_slots(timing, anchor, after=after, until=until, limit=limit)

    assert found == everything[max(0, len(everything) - limit) :]
    assert count_slots(timing, anchor, after=after, until=until, most=10_000) == len(everything)
    assert count_slots(timing, anchor, after=after, until=until, most=3) == min(3, len(everything))


@pytest.mark.parametrize("cron", [*CRONS, "* * 1 1 *", "*/5 0 29 2 *"])
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_the_latest_slots_of_thirty_years_are_found_without_walking_them(cron: str, limit: int) -> None:
    timing, until = Timing(cron=cron, tz="Europe/Rome"), at("2026-10-25 01:15")

    begin = time.process_time()
    found = latest_slots(timing, START, after=at("1996-01-01 00:00"), until=until, limit=limit)
    count = count_slots(timing, START, after=at("1996-01-01 00:00"), until=until, most=limit)

    assert time.process_time() - begin < 1.0  # walking every minute of them takes a thousand times as long
    assert len(found) == count
    assert all(next_slot(timing, START, after=one) == following for one, following in pairwise(found))
    following = next_slot(timing, START, after=found[-1])
    assert found[-1] <= until and (following is None or following > until)


def test_a_span_that_is_empty_has_no_slots() -> None:
    for timing in (Timing(cron="* * * * *"), Timing(every=SECOND)):
        for until in (Instant(HOUR), Instant(HOUR - 1), START):
            assert latest_slots(timing, START, after=Instant(HOUR), until=until, limit=5) == []
            assert count_slots(timing, START, after=Instant(HOUR), until=until, most=5) == 0
        assert latest_slots(timing, START, after=START, until=Instant(HOUR), limit=0) == []
        assert count_slots(timing, START, after=START, until=Instant(HOUR), most=0) == 0
        assert upcoming(timing, START, after=START, count=0) == []


def test_a_billion_missed_seconds_are_counted_by_arithmetic() -> None:
    timing = Timing(every=SECOND)

    assert count_slots(timing, START, after=START, until=Instant(10**9 * SECOND), most=10**12) == 10**9
    assert latest_slots(timing, START, after=START, until=Instant(10**9 * SECOND), limit=2) == [
        (10**9 - 1) * SECOND,
        10**9 * SECOND,
    ]


# -- the ends of everything ------------------------------------------------------------------


@pytest.mark.parametrize("tz", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("cron", ["* * * * *", "0 9 * * *", "0 0 1 1 *", "0 0 29 2 *", "0 0 L * 5#1"])
def test_there_is_no_slot_after_the_last_day_of_the_calendar(cron: str, tz: str) -> None:
    timing = Timing(cron=cron, tz=tz)

    assert next_slot(timing, START, after=LAST_INSTANT) is None
    assert len(upcoming(timing, START, after=Instant(LAST_INSTANT - 2 * DAY), count=5_000)) < 5_000


def test_a_rhythm_that_only_ever_falls_into_a_gap_does_not_search_for_ever() -> None:
    # As far as the law goes, New York puts its clocks forward at two o'clock on each of these Sundays.
    timing, zone = Timing(cron="*/5 2 8-14 3 */7", tz="America/New_York"), load_zone("America/New_York")

    begin = time.process_time()
    found = next_slot(timing, START, after=at("2007-01-01 00:00"))

    assert time.process_time() - begin < 1.0
    assert found is None or from_instant(found).astimezone(zone).hour == 2  # should the law change


@pytest.mark.parametrize(
    ("timing", "reason"),
    [
        (Timing(cron="61 * * * *"), "invalid_cron"),
        (Timing(cron="0 0 30 2 *"), "invalid_cron"),
        (Timing(cron="0 9 * * *", tz="Mars/Phobos"), "unknown_time_zone"),
        (Timing(every=Duration(0)), "invalid_schedule"),
        (Timing(), "invalid_schedule"),
        (Timing(cron="0 9 * * *", every=HOUR), "invalid_schedule"),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused_wherever_it_is_used(timing: Timing, reason: str) -> None:
    span: dict[str, Any] = {"after": START, "until": Instant(DAY)}
    for use in (
        lambda: next_slot(timing, START, after=START),
        lambda: upcoming(timing, START, after=START, count=1),
        lambda: latest_slots(timing, START, **span, limit=1),
        lambda: count_slots(timing, START, **span, most=1),
    ):
        with pytest.raises(InvalidInput) as caught:
            use()
        assert caught.value.reason == reason


# -- words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timing", "text"),
    [
        (Timing(every=Duration(10 * MINUTE)), "every 10 minutes"),
        (Timing(every=MINUTE), "every minute"),
        (Timing(every=HOUR), "every hour"),
        (Timing(every=SECOND), "every second"),
        (Timing(every=Duration(90 * SECOND)), "every 1 minute 30 seconds"),
        (Timing(every=Duration(1_500 * MILLISECOND)), "every 1.5 seconds"),
        (Timing(every=Duration(7 * DAY)), "every 7 days"),
        (Timing(cron="*/10 * * * *", tz="Europe/Rome"), "every 10 minutes (Europe/Rome)"),
        (Timing(cron="*/7 * * * *"), "every seventh minute of every hour (UTC)"),
        (Timing(cron="0 9 * * *", tz="Europe/Rome"), "at 09:00 every day (Europe/Rome)"),
        (Timing(cron="0 9 * * MON-FRI"), "at 09:00 on Monday through Friday (UTC)"),
        (Timing(cron="0 0 21 * *"), "at 00:00 on the 21st day of every month (UTC)"),
        (
            Timing(cron="0 0 11,12,13,22,23 * *"),
            "at 00:00 on the 11th, the 12th, the 13th, the 22nd, and the 23rd day of month (UTC)",
        ),
        (Timing(cron="0 0 L * *"), "at 00:00 on the last day of every month (UTC)"),
        (Timing(cron="* * * * *"), "every minute (UTC)"),
        (Timing(cron="@hourly"), "at the start of every hour (UTC)"),
    ],
)
def test_times_are_described(timing: Timing, text: str) -> None:
    assert describe(timing) == text
