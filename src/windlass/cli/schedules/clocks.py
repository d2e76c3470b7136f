"""When, on the clocks of a schedule's own zone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from windlass.errors import InvalidInput
from windlass.model.duration import MICROSECOND, between, describe, from_instant
from windlass.model.schedule import Timing
from windlass.model.time import DAY, MINUTE, Duration, Instant
from windlass.rules.zones import load_zone

CLOSE = Duration(6 * DAY)  # from here on a weekday does not say which one
FAR = Duration(300 * DAY)  # nor a day and a month


def local(instant: Instant, zone: str) -> datetime:
    """What the clocks of a zone show; those of UTC, if the zone is none that we know, or shows the year 10000."""
    try:
        return from_instant(instant).astimezone(load_zone(zone))
    except (InvalidInput, OverflowError):
        return from_instant(instant)


def in_short(instant: Instant, timing: Timing, *, now: Instant) -> str:
    """ "Mon 09:00 Europe/Rome", with its date if that is further away."""
    shown, away = local(instant, timing.tz), abs(instant - now)
    day = f"{shown:%a}" if away < CLOSE else f"{shown.day} {shown:%b}" if away < FAR else f"{shown:%Y-%m-%d}"
    return f"{day} {shown.strftime(_clock(timing))} {timing.tz}"


def in_full(instant: Instant, timing: Timing) -> str:
    """ "Mon 2026-03-30 09:00 +02:00"."""
    shown = local(instant, timing.tz)
    offset = shown.isoformat(timespec="seconds")[len("2026-03-30T09:00:00") :]
    return f"{shown.strftime(f'%a %Y-%m-%d {_clock(timing)}')} {offset}"


def _clock(timing: Timing) -> str:
    """A cron expression knows no seconds."""
    return "%H:%M" if timing.cron is not None else "%H:%M:%S"


def changes(instants: Sequence[Instant], zone: str, *, since: Instant) -> Iterator[str]:
    """For each, what was done to the clocks since the one before it; mostly nothing."""
    for before, after in pairwise((since, *instants)):
        forward = _offset(after, zone) - _offset(before, zone)
        by = describe(Duration(abs(forward) // MICROSECOND))
        yield f"clocks were put {'forward' if forward > timedelta() else 'back'} {by}" if forward else ""


def _offset(instant: Instant, zone: str) -> timedelta:
    return local(instant, zone).utcoffset() or timedelta()


def relative(instant: Instant, *, now: Instant) -> str:
    """ "in 3 h 5 min", "2 h ago"."""
    if instant < now:
        return f"{between(instant, now)} ago"
    # To the minute, if it is further away: a countdown of seconds is stale when it is read.
    ahead = instant - now
    return f"in {between(0, ahead if ahead < 10 * MINUTE else ahead // MINUTE * MINUTE)}"
