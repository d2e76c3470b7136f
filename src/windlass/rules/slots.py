"""When does a schedule fire?

A slot is an instant. Which instants are slots follows from the definition alone, never from where a search begins.

An interval counts elapsed time from its anchor. A cron expression is read on the clocks of its zone, in one of two
ways:

- It names times of the day (neither minute nor hour begins with `*`). Each of them fires once: when the clocks first
  show it or, if they are put forward past it, at that moment. Several times in one such gap are one slot.
- It names a rhythm (`*/5 * * * *`, `30 * * * *`). It follows elapsed time: every instant at which the clocks show a
  matching time is a slot. There is none in a gap, and a repeated hour counts twice.

The library knows the calendar and is only asked about clocks that nobody changes; what a change of clocks means is
decided here. `windlass.rules.cron` says what an expression may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim

from windlass.errors import InvalidInput
from windlass.model.duration import EPOCH, LAST_INSTANT, MAX_DURATION, MICROSECOND, from_instant, shown
from windlass.model.schedule import Timing
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration, Instant
from windlass.rules.cron import check_cron
from windlass.rules.zones import load_zone

# No zone changes its clocks twice within this time, and no two offsets from UTC are further apart.
CLOSE = Duration(2 * DAY)
LONGEST_SEARCH = Duration(50 * 366 * DAY)  # as in the library
CLOCK_EPOCH = EPOCH.replace(tzinfo=None)  # clocks show no zone
EVERY_FEW_MINUTES = re.compile(r"\*/([0-9]+) \* \* \* \*")
UNITS = {"day": DAY, "hour": HOUR, "minute": MINUTE}

_checked_cron = lru_cache(maxsize=1_024)(check_cron)


def check_every(value: Duration, *, what: str = "every") -> Duration:
    """An interval from one second to ten years."""
    found: object = value
    is_integer = isinstance(found, int) and not isinstance(found, bool)
    if not is_integer or not SECOND <= value <= MAX_DURATION:
        text = f"{_seconds(value)} s" if is_integer and abs(value) <= LAST_INSTANT else shown(found)
        message = f"Invalid {what} {text}: an interval from 1 s to 10 years was expected."
        raise InvalidInput(message, reason="invalid_schedule", path=what)
    return value


def next_slot(timing: Timing, anchor: Instant, *, after: Instant) -> Instant | None:
    """The first slot later than `after`; None if there is none within fifty years, or before the year 10000."""
    return next(_slots(timing, anchor, after=after), None)


def upcoming(timing: Timing, anchor: Instant, *, after: Instant, count: int) -> list[Instant]:
    """The first `count` slots later than `after`."""
    return list(islice(_slots(timing, anchor, after=after), max(0, count)))


def latest_slots(timing: Timing, anchor: Instant, *, after: Instant, until: Instant, limit: int) -> list[Instant]:
    """The newest `limit` slots later than `after` and not later than `until`, the oldest first.

    The cost grows with `limit`, not with the number of slots between the two.
    """
    if limit < 1 or until <= after:
        return []
    if (every := _interval(timing)) is not None:
        return [Instant(slot) for slot in _steps(every, anchor, after=after, until=until)[-limit:]]
    # One can only walk forwards. So look for a stretch before `until` that holds enough, and not many more.
    enough = 2 * limit
    found = _walk(timing, after=after, until=until, most=enough + 1)
    if len(found) <= enough:
        return found[-limit:]
    too_short, too_long = 0, until - after
    stretch = (found[-1] - after) * 3 // 4  # as dense as at the other end, most likely
    while True:
        found = _walk(timing, after=Instant(until - stretch), until=until, most=enough + 1)
        if limit <= len(found) <= enough:
            return found[-limit:]
        if len(found) < limit:
            too_short = stretch
        else:
            too_long = stretch
        stretch = min(2 * stretch, (too_short + too_long) // 2)


def count_slots(timing: Timing, anchor: Instant, *, after: Instant, until: Instant, most: int) -> int:
    """How many slots are later than `after` and not later than `until`; `most` if there are more."""
    if (every := _interval(timing)) is not None:
        return max(0, min(most, len(_steps(every, anchor, after=after, until=until))))
    return len(_walk(timing, after=after, until=until, most=most))


def describe(timing: Timing) -> str:
    """The times in words: "every 10 minutes", "at 09:00 every day (Europe/Rome)"."""
    if (every := _interval(timing)) is not None:
        return f"every {_in_words(every)}"
    cron = _cron(timing)
    if (minutes := EVERY_FEW_MINUTES.fullmatch(cron)) and 60 % int(minutes[1]) == 0:
        return f"every {_in_words(int(minutes[1]) * MINUTE)} ({timing.tz})"
    text = CronSim(cron, CLOCK_EPOCH).explain()
    text = re.sub(r"\b([0-9]*)([123])th\b", _ordinal, text)  # the library writes 21th
    return f"{text[0].lower()}{text[1:]} ({timing.tz})"


def _in_words(duration: int) -> str:
    words = []
    for unit, length in UNITS.items():
        count, duration = divmod(duration, length)
        if count:
            words.append(f"{count} {unit}{'s' if count > 1 else ''}")
    if duration:
        words.append("1 second" if duration == SECOND else f"{_seconds(duration)} seconds")
    return " ".join(words).removeprefix("1 ") if len(words) == 1 else " ".join(words)


def _seconds(duration: int) -> str:
    return f"{duration / SECOND:.6f}".rstrip("0").rstrip(".")


def _ordinal(found: re.Match[str]) -> str:
    tens, ones = found[1], found[2]
    return found[0] if tens.endswith("1") else tens + ones + {"1": "st", "2": "nd", "3": "rd"}[ones]


# -- which slots there are -------------------------------------------------------------------


def _interval(timing: Timing) -> Duration | None:
    """The interval of a timing that has one; None if it has a cron expression. It has one of the two."""
    if (timing.cron is None) == (timing.every is None):
        message = "Invalid schedule: a cron expression or an interval was expected, and one of them only."
        raise InvalidInput(message, reason="invalid_schedule", path="timing")
    return None if timing.every is None else check_every(timing.every)


def _cron(timing: Timing) -> str:
    assert timing.cron is not None
    return _checked_cron(timing.cron)


def _slots(timing: Timing, anchor: Instant, *, after: Instant) -> Iterator[Instant]:
    if (every := _interval(timing)) is not None:
        return map(Instant, _steps(every, anchor, after=after, until=LAST_INSTANT))
    return _cron_slots(_cron(timing), load_zone(timing.tz), after=after)


def _steps(every: Duration, anchor: Instant, *, after: Instant, until: Instant) -> range:
    first = max(1, (after - anchor) // every + 1)
    return range(anchor + first * every, until + 1, every)


def _walk(timing: Timing, *, after: Instant, until: Instant, most: int) -> list[Instant]:
    slots = _cron_slots(_cron(timing), load_zone(timing.tz), after=after)
    return list(islice(takewhile(lambda slot: slot <= until, slots), max(0, most)))


def _cron_slots(cron: str, zone: ZoneInfo, *, after: Instant) -> Iterator[Instant]:
    minute, hour, *_ = cron.split()
    is_rhythm = minute.startswith("*") or hour.startswith("*")
    try:
        yield from _rhythm(cron, zone, after=after) if is_rhythm else _times_of_day(cron, zone, after=after)
    except (OverflowError, ValueError):  # the calendar ends with the year 9999
        return


def _times_of_day(cron: str, zone: ZoneInfo, *, after: Instant) -> Iterator[Instant]:
    """The instants at which the clocks first show, or pass, a matching time.

    What they show now, and everything before it, they have shown or passed. What comes later on them may still have
    been shown, if they were put back since.
    """
    last = after
    for reading in CronSim(cron, _reading(zone, after)):
        slot = _first_passage(zone, reading)
        if slot > last:
            yield slot
            last = slot


def _rhythm(cron: str, zone: ZoneInfo, *, after: Instant) -> Iterator[Instant]:
    """The instants at which the clocks show a matching time, from one change of the clocks to the next.

    `start` is the first instant that may be a slot. Without a change of clocks the next slot is where the calendar
    says; a change before it makes a new start. A slot that is far away is approached: only near `start` can the clocks
    show again what they have shown, and only near the slot can a change bring it forward.
    """
    start, last = after + 1, after
    while start <= last + LONGEST_SEARCH:
        offset = _offset(zone, start)
        for reading in CronSim(cron, _reading(zone, start) - MICROSECOND):
            slot = _instant(reading, offset)
            near = min(slot, start + CLOSE)
            if _offset(zone, near) != offset:
                start = _change(zone, start, near)
                break
            if slot > near:
                start = max(near, slot - CLOSE)
                break
            yield slot
            start, last = slot + 1, slot
        else:
            return


# -- clocks ----------------------------------------------------------------------------------


def _reading(zone: ZoneInfo, instant: int) -> datetime:
    """What the clocks show, to the microsecond."""
    return from_instant(Instant(instant)).astimezone(zone).replace(tzinfo=None)


def _offset(zone: ZoneInfo, instant: int) -> timedelta:
    return _known(from_instant(Instant(instant)).astimezone(zone).utcoffset())


def _known(offset: timedelta | None) -> timedelta:
    assert offset is not None  # a zone has one at any time
    return offset


def _instant(reading: datetime, offset: timedelta) -> Instant:
    return Instant((reading - offset - CLOCK_EPOCH) // MICROSECOND)


def _first_passage(zone: ZoneInfo, reading: datetime) -> Instant:
    """When the clocks first show this time, or are put forward past it."""
    before = _known(reading.replace(tzinfo=zone, fold=0).utcoffset())
    instant = _instant(reading, before)
    if _offset(zone, instant) == before:
        return instant
    # In a gap: reckoned by the offset before it the time lies behind the change, by the other one ahead of it.
    behind = _known(reading.replace(tzinfo=zone, fold=1).utcoffset())
    return _change(zone, _instant(reading, behind), instant)


def _change(zone: ZoneInfo, earlier: int, later: int) -> Instant:
    """The instant between the two at which the offset changes, the later one included. It is a whole second."""
    low, high = earlier // SECOND, later // SECOND
    offset = _offset(zone, earlier)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle * SECOND) == offset:
            low = middle
        else:
            high = middle
    return Instant(high * SECOND)
