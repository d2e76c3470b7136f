"""Which slots has a schedule, found the long way?

Nothing here is shared with the rules that are checked against it but the data of the zones: the fields are read
naively, the offsets of a zone are found by looking at every quarter of an hour, and every date is tried with every
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from windlass.model.duration import from_instant
from windlass.model.schedule import Timing
from windlass.model.time import DAY, MINUTE, SECOND, Instant
from windlass.rules.zones import load_zone

QUARTER = 15 * MINUTE
MARGIN = 3 * DAY  # clocks are never further apart
UNIX_DAY = date(1970, 1, 1)
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class Span(NamedTuple):
    """A time from `start` until before `end` in which the clocks of a zone are `offset` ahead of UTC."""

    start: int
    end: int
    offset: int


def walk(timing: Timing, anchor: Instant, *, after: Instant, until: Instant) -> list[Instant]:
    """Every slot later than `after` and not later than `until`. `L`, `W` and `#` are not known here."""
    if timing.every is not None:
        return [Instant(slot) for slot in range(anchor + timing.every, until + 1, timing.every) if slot > after]
    assert timing.cron is not None
    spans = spans_of(timing.tz, after - MARGIN, until + MARGIN)
    is_rhythm = any(field.startswith("*") for field in timing.cron.split()[:2])
    found = _shown(timing.cron, spans) if is_rhythm else _passed(timing.cron, spans)
    return [Instant(slot) for slot in sorted(set(found)) if after < slot <= until]


def _shown(cron: str, spans: list[Span]) -> Iterator[int]:
    """Every instant at which the clocks show a matching time."""
    for span in spans:
        for reading in _readings(cron, span.start + span.offset, span.end + span.offset):
            if span.start <= reading - span.offset < span.end:
                yield reading - span.offset


def _passed(cron: str, spans: list[Span]) -> Iterator[int]:
    """For every matching time, the first instant at which the clocks show it or a later one."""
    first, last = spans[0], spans[-1]
    for reading in _readings(cron, first.start + first.offset, last.end + last.offset):
        for span in spans:
            if reading < span.end + span.offset:
                yield max(span.start, reading - span.offset)
                break


def _readings(cron: str, first: int, last: int) -> Iterator[int]:
    """The matching times on all dates from that of `first` to that of `last`, as if clocks were in UTC."""
    minutes, hours, days, months, weekdays = (
        _values(field, *limits) for field, limits in zip(cron.split(), RANGES, strict=True)
    )
    _, _, day_field, _, weekday_field = cron.split()
    either = not day_field.startswith("*") and not weekday_field.startswith("*")
    for number in range(first // DAY, last // DAY + 1):
        today = UNIX_DAY + timedelta(days=number)
        day_matches = today.day in days
        weekday_matches = today.isoweekday() in weekdays or today.isoweekday() % 7 in weekdays
        matches = day_matches or weekday_matches if either else day_matches and weekday_matches
        if matches and today.month in months:
            for hour in sorted(hours):
                for minute in sorted(minutes):
                    yield number * DAY + (hour * 60 + minute) * MINUTE


def _values(field: str, low: int, high: int) -> set[int]:
    for names, first_number in ((WEEKDAYS, 0), (MONTHS, 1)):
        for number, name in enumerate(names, first_number):
            field = field.upper().replace(name, str(number))
    values: set[int] = set()
    for term in field.split(","):
        bounds, _, step = term.partition("/")
        if bounds == "*":
            first, last = low, high
        elif "-" in bounds:
            first, last = map(int, bounds.split("-"))
        else:
            first, last = int(bounds), high if step else int(bounds)
        values.update(range(first, last + 1, int(step or 1)))
    return values


def spans_of(tz: str, first: int, last: int) -> list[Span]:
    """The time from `first` to `last`, cut where the clocks of the zone are changed."""
    spans: list[Span] = []
    for day in range(first // DAY, last // DAY + 1):
        for span in _spans_of_day(tz, day):
            if spans and spans[-1].offset == span.offset:
                spans[-1] = spans[-1]._replace(end=span.end)
            else:
                spans.append(span)
    return spans


@lru_cache(maxsize=100_000)
def _spans_of_day(tz: str, day: int) -> tuple[Span, ...]:
    spans: list[Span] = []
    zone = load_zone(tz)
    start, end = day * DAY, (day + 1) * DAY
    offset = _offset(zone, start)
    for quarter in range(start, end, QUARTER):
        if _offset(zone, quarter + QUARTER) == offset:
            continue
        seconds = range(quarter + SECOND, quarter + QUARTER + SECOND, SECOND)
        change = next(second for second in seconds if _offset(zone, second) != offset)
        if change < end:
            spans.append(Span(start, change, offset))
            start, offset = change, _offset(zone, change)
    return (*spans, Span(start, end, offset))


def _offset(zone: ZoneInfo, instant: int) -> int:
    offset = from_instant(Instant(instant)).astimezone(zone).utcoffset()
    assert offset is not None
    return int(offset.total_seconds()) * SECOND
