"""How people write durations and times, and how they read them.

Inside, both are integers of microseconds; this is where they come in and go out.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from windlass.errors import InvalidInput
from windlass.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, Duration, Instant

MAX_DURATION = Duration(3_653 * DAY)  # ten years, whichever leap days they have
ACCEPTED = 'a timedelta, seconds as a number, or text such as "500ms", "10s", "2m30s", "1.5h", "1d", "2w"; max 10 years'

UNITS = {"w": 7 * DAY, "d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": MILLISECOND, "us": Duration(1)}
ORDER = list(UNITS)
PART = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,18}))?(us|ms|s|m|h|d|w)")
MAX_TEXT = 100

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
LAST_INSTANT = Instant((datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND)


def to_duration(value: str | int | float | timedelta, *, what: str = "duration", allow_zero: bool = True) -> Duration:
    """Microseconds of a duration as users write it. Units go from large to small, each at most once."""
    duration: int | None = None
    if isinstance(value, str):
        duration = _from_text(value)
    elif isinstance(value, timedelta):
        duration = value // MICROSECOND
    elif isinstance(value, int) and not isinstance(value, bool):
        duration = value * SECOND
    elif isinstance(value, float) and math.isfinite(value):
        duration = round(value * SECOND) if abs(value) < MAX_DURATION else None
    if duration is None or not 0 <= duration <= MAX_DURATION:
        raise _refuse(value, what)
    if duration == 0 and not allow_zero:
        raise _refuse(value, what, hint="must be longer than 0; ")
    return Duration(duration)


def _from_text(text: str) -> int | None:
    total, position, last_unit = 0, 0, -1
    if not 0 < len(text) <= MAX_TEXT:
        return None
    while position < len(text):
        part = PART.match(text, position)
        if part is None or ORDER.index(part[3]) <= last_unit:
            return None
        unit, fraction = UNITS[part[3]], part[2] or ""
        # In integers, to the nearest microsecond: floats would make 0.1 s a little more than it is.
        scale = 10 ** len(fraction)
        total += (int(part[1] + fraction) * unit * 2 + scale) // (2 * scale)
        last_unit, position = ORDER.index(part[3]), part.end()
    return total


def _refuse(value: object, what: str, *, hint: str = "") -> InvalidInput:
    message = f"Invalid {what} {shown(value)}: {hint}accepted are {ACCEPTED}."
    return InvalidInput(message, reason="invalid_duration", path=what)


def shown(value: object) -> str:
    """A refused value as it may stand in a message: escaped and short, whatever it is."""
    if isinstance(value, str):
        text = ascii(str.__getitem__(value, slice(0, 60)))
        return text if len(value) <= 60 else f"{text}... ({len(value)} characters)"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    if value is None or isinstance(value, (int, float, timedelta, datetime)):
        try:
            return ascii(value)[:80]
        except Exception:  # a tzinfo is the user's code
            return f"of type {type(value).__name__}"
    return f"of type {ascii(type(value).__name__)[1:-1][:60]}"


def to_instant(value: datetime, *, what: str = "time") -> Instant:
    """Microseconds of an aware datetime between 1970 and 9999."""
    instant: int | None = None
    if isinstance(value, datetime):
        try:
            if value.utcoffset() is None:
                message = f"Invalid {what} {shown(value)}: timezone required, such as datetime.now(UTC)."
                raise InvalidInput(message, reason="invalid_time", path=what)
            instant = (value - EPOCH) // MICROSECOND
        except InvalidInput:
            raise
        except Exception:  # a tzinfo is the user's code
            instant = None
    if instant is None or not 0 <= instant <= LAST_INSTANT:
        message = f"Invalid {what} {shown(value)}: accepted is a datetime with a timezone, from 1970 to 9999."
        raise InvalidInput(message, reason="invalid_time", path=what)
    return Instant(instant)


def from_instant(instant: Instant) -> datetime:
    """The instant as a datetime in UTC."""
    return EPOCH + timedelta(microseconds=instant)


def describe(duration: Duration) -> str:
    """A duration for people, in at most two units: "4.2 s", "1 h 5 min", "3 d"."""
    if duration < 0:
        return "-" + describe(Duration(-duration))
    if 0 < duration < MILLISECOND:
        return f"{duration} µs"
    if duration < SECOND and (milliseconds := _round(duration, MILLISECOND)) and milliseconds < 1_000:
        return f"{milliseconds} ms"
    tenths = _round(duration, SECOND // 10)
    if tenths < 600:
        return f"{tenths // 10} s" if tenths % 10 == 0 else f"{tenths / 10:.1f} s"
    if (seconds := _round(duration, SECOND)) < 3_600:
        return _two(seconds, 60, "min", "s")
    if (minutes := _round(duration, MINUTE)) < 24 * 60:
        return _two(minutes, 60, "h", "min")
    return _two(_round(duration, HOUR), 24, "d", "h")


def _round(duration: int, unit: int) -> int:
    return (2 * duration + unit) // (2 * unit)


def _two(count: int, per: int, large: str, small: str) -> str:
    whole, rest = divmod(count, per)
    return f"{whole} {large} {rest} {small}" if rest else f"{whole} {large}"


def between(earlier: int, later: int) -> str:
    """A span for people, to whole seconds from ten seconds on: nobody reads the rest of a countdown."""
    span = max(0, later - earlier)
    return describe(Duration(span if span < 10 * SECOND else span // SECOND * SECOND))


def moment(instant: Instant, *, now: Instant) -> str:
    """A time in UTC for people, without its date if that is close enough to be clear."""
    form = "%H:%M:%S" if abs(instant - now) < DAY // 2 else "%Y-%m-%d %H:%M:%S"
    return from_instant(instant).strftime(form) + " UTC"
