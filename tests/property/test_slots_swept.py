"""Does every schedule fire when the clocks of its zone are changed, in every zone there is, as a naive walker says?

A change of clocks that several zones have made alike is swept once. Around each of them expressions are made that aim
at it: at the gap or the repeated hour, at both its ends, at several times in it, and by rhythms through it.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.invariants.walker import walk
from tests.scale import SCALE
from windlass.model.duration import MICROSECOND, from_instant, to_instant
from windlass.model.schedule import Timing
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Instant
from windlass.rules.slots import CLOSE, latest_slots, next_slot, upcoming
from windlass.rules.zones import load_zone, zone_keys

YEAR = 365 * DAY
FROM, UNTIL = 54 * YEAR + 13 * DAY, 61 * YEAR + 15 * DAY  # 2024 to 2030
AROUND = 30 * HOUR
START = Instant(0)
# Clocks that did something out of the ordinary.
FAMOUS = [
    ("Pacific/Apia", "2011-12-30"),  # skipped a day
    ("Pacific/Kwajalein", "1993-08-21"),
    ("Pacific/Kiritimati", "1994-12-31"),
    ("America/Sao_Paulo", "2018-11-04"),  # no midnight
    ("Asia/Beirut", "2022-03-27"),
    ("Africa/Cairo", "2014-07-31"),  # four changes in a year
    ("Asia/Hebron", "2011-08-30"),
    ("Antarctica/Casey", "2020-10-03"),  # three hours, from one minute past midnight
    ("Antarctica/Vostok", "1994-01-31"),  # seven hours back
    ("Antarctica/Vostok", "1994-11-01"),
    ("Antarctica/Troll", "2005-03-27"),
    ("Asia/Pyongyang", "2018-05-04"),  # half an hour
    ("America/Caracas", "2007-12-09"),
    ("Asia/Kathmandu", "1985-12-31"),  # a quarter
    ("Africa/Monrovia", "1972-01-07"),  # 44 minutes and 30 seconds
    ("America/St_Johns", "1988-04-03"),  # two hours, at one minute past midnight
    ("America/Boa_Vista", "2000-10-15"),  # a summer of a week
]


class Change(NamedTuple):
    """At `instant` the clocks go from `low` to `high`, or back; both as if they were in UTC."""

    tz: str
    instant: int
    low: int
    high: int

    @property
    def expressions(self) -> list[str]:
        """Expressions that aim at it: times of the day, then rhythms."""
        low, middle, high = (from_instant(Instant(time)) for time in (self.low, self.half, self.high))
        weekday = middle.isoweekday() % 7
        return [
            f"{middle.minute} {middle.hour} * * *",
            f"{low.minute} {low.hour} * * *",
            f"{high.minute} {high.hour} * * *",
            f"{middle.minute} {middle.hour} {middle.day} {middle.month} *",
            f"{high.minute},59 {high.hour},23 * * {weekday}",
            f"0,{middle.minute},59 {low.hour},{middle.hour},{high.hour} * * *",
            f"0-59/20 {min(low.hour, high.hour)}-{max(low.hour, high.hour)} {low.day},{high.day} * {weekday}",
            "0,30 0-23 * * *",
            "0 0 * * *",
            "*/20 * * * *",
            f"{middle.minute} * * * *",
            f"*/10 {middle.hour} * * *",
            f"* {low.hour} {low.day} {low.month} *",
            f"*/30 {low.hour},{high.hour} * * {weekday}",
            "0 */2 * * *",
            f"{high.minute} */{high.hour or 24} */{high.day} * *",
        ]

    @property
    def half(self) -> int:
        return (self.low + self.high) // 2

    def starts(self, slots: list[Instant]) -> list[int]:
        """Instants to search from: all about the change, inside what it skips or repeats, and on slots."""
        size = self.high - self.low
        offsets = (-size, -size // 2, -MINUTE, -1, 0, 1, MINUTE, size // 2, size - 1, size, size + 1)
        near = [slot for slot in slots if abs(slot - self.instant) <= size + HOUR]
        return [self.instant + offset for offset in offsets] + [slot - 1 for slot in near] + [slot for slot in near]


def changes_of(tz: str, first: int, last: int) -> Iterator[Change]:
    """The changes of a zone. A summer of less than five days would be missed; another test says there is none."""
    offsets = [(instant, offset_at(tz, instant)) for instant in range(first, last, 5 * DAY)]
    for (low, before), (high, after) in pairwise(offsets):
        if before != after:
            while high - low > SECOND:
                middle = (low + high) // 2 // SECOND * SECOND
                low, high = (middle, high) if offset_at(tz, middle) == before else (low, middle)
            yield Change(tz, high, high + min(before, after), high + max(before, after))


def offset_at(tz: str, instant: int) -> int:
    offset = from_instant(Instant(instant)).astimezone(load_zone(tz)).utcoffset()
    assert offset is not None
    return offset // MICROSECOND


def swept(first: int, last: int) -> list[Change]:
    """The changes of all zones in these years; one that several zones have made alike counts once."""
    by_file = {files("tzdata").joinpath("zoneinfo", *key.split("/")).read_bytes(): key for key in sorted(zone_keys())}
    changes = [change for tz in by_file.values() for change in changes_of(tz, first, last)]
    return list({change[1:]: change for change in changes}.values())


def complaints(change: Change, cron: str, *, most: int) -> Iterator[str]:
    """Where the rules and the walker disagree about one expression around one change."""
    timing = Timing(cron=cron, tz=change.tz)
    begin, end = Instant(change.instant - AROUND), Instant(change.instant + AROUND)
    slots = walk(timing, START, after=begin, until=end)
    if upcoming(timing, START, after=begin, count=len(slots)) != slots:
        yield f"{change.tz} {cron!r} around {change.instant}: walked through"
    starts = change.starts(slots)
    for start in starts[:: max(1, len(starts) // most)]:
        found = next_slot(timing, START, after=Instant(start))
        position = bisect_right(slots, start)
        if found != slots[position] if position < len(slots) else found is not None and found <= end:
            yield f"{change.tz} {cron!r} around {change.instant}: from {start} found {found}"


@pytest.mark.spec("invariants:I-52", "security:59")
def test_every_zone_fires_as_the_walker_says_around_every_change_of_its_clocks() -> None:
    changes, every = swept(FROM, UNTIL), max(1, 4 // SCALE)
    found = []
    for number, change in enumerate(changes):
        # Each change meets some of the expressions, the next one others; with a larger scale all meet all.
        for cron in change.expressions[number % every :: every]:
            found += complaints(change, cron, most=6 * SCALE)

    assert len(changes) > 300
    assert found == []


@pytest.mark.spec("invariants:I-52", "security:59")
@pytest.mark.parametrize(("tz", "day"), FAMOUS)
def test_out_of_the_ordinary_changes_are_no_exception(tz: str, day: str) -> None:
    about = to_instant(datetime.fromisoformat(day).replace(tzinfo=UTC))
    changes = list(changes_of(tz, about - 4 * DAY, about + 6 * DAY + 1))

    assert len(changes) == 1
    assert [text for cron in changes[0].expressions for text in complaints(changes[0], cron, most=50)] == []


@pytest.mark.spec("invariants:I-52")
def test_no_zone_changes_its_clocks_as_fast_as_the_search_believes_they_cannot() -> None:
    # Read from the files themselves. What follows the last change in them is a rule for two changes a year.
    for tz in sorted(zone_keys()):
        changes = written_changes(tz)
        offsets = [offset for _, offset in changes]

        assert max(offsets) - min(offsets) < CLOSE
        assert all(later - earlier > 5 * DAY > CLOSE for (earlier, _), (later, _) in pairwise(changes))


def written_changes(tz: str) -> list[tuple[int, int]]:
    """When the offset changes since 1970, and to which, as the file says; begins with the offset of that time."""
    data = files("tzdata").joinpath("zoneinfo", *tz.split("/")).read_bytes()
    start = 0
    for size in (4, 8):  # the second block has the times in 64 bits
        _, _, leaps, times, types, letters = counts = struct.unpack_from(">6l", data, start + 20)
        assert data[start : start + 4] == b"TZif" and not leaps
        start += 44
        if size == 4:
            start += times * 5 + types * 6 + letters + counts[0] + counts[1]
    instants = struct.unpack_from(f">{times}q", data, start)
    kinds = struct.unpack_from(f">{times}B", data, start + 8 * times)
    offsets = [struct.unpack_from(">l", data, start + 9 * times + 6 * kind)[0] for kind in range(types)]
    changes = [(0, offsets[0])]
    for instant, kind in zip(instants, kinds, strict=True):
        if instant <= 0:
            changes = [(0, offsets[kind])]
        elif offsets[kind] != changes[-1][1]:
            changes.append((instant, offsets[kind]))
    return [(instant * SECOND, offset * SECOND) for instant, offset in changes]


TIMES = ["30 2 * * *", "0 0 * * *", "15,45 1-3 * * *", "0 12 1 * MON", "59 23 31 12 *", "0 0 29 2 *"]
RHYTHMS = ["*/15 * * * *", "30 * * * *", "*/10 2 * * *", "0 */3 * * SUN", "*/20 1 1 4,10 *", "* 0 29 2 *"]


@pytest.mark.spec("invariants:I-52")
@given(
    some.sampled_from(sorted(zone_keys())),
    some.sampled_from(TIMES + RHYTHMS),
    some.integers(0, 70 * YEAR),
    some.integers(1, 3),
)
@settings(max_examples=100 * SCALE, deadline=None)
def test_from_any_moment_the_next_slots_are_the_first_the_walker_finds(tz: str, cron: str, at: int, count: int) -> None:
    timing, after = Timing(cron=cron, tz=tz), Instant(at)

    found = upcoming(timing, START, after=after, count=count)

    assert len(found) == count
    until = Instant(min(found[-1], after + 400 * DAY))  # further the walker does not get in time
    expected = walk(timing, START, after=after, until=until)
    assert expected == [slot for slot in found if slot <= until]
    assert latest_slots(timing, START, after=after, until=until, limit=2) == expected[-2:]
