"""Which cron expressions are accepted, and how they are written once they are.

Five fields: minute, hour, day of month, month, day of week. Each is a list of numbers, names, ranges and steps.

    *   5   1-5   */15   8-18/2   10/5 (from 10 on)   MON-FRI   JAN,JUL   0 and 7 are both Sunday
    L and LW as day of month: the last day, the last one from Monday to Friday
    FRI#2 and 5L as day of week: the second Friday, the last Friday of the month

If both days are restricted, a date matches if either of them does: `0 0 13 * FRI` fires on every 13th and on every
Friday. A day field that begins with `*` restricts nothing by itself, and then both have to match: `0 0 1-7 * */7`
fires on the first Sunday of a month. So it has always been with cron.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

from cronsim import CronSim, CronSimError

from windlass.errors import InvalidInput
from windlass.model.duration import shown

MAX_CRON = 200
FORM = 'five fields such as "0 9 * * MON-FRI": minute, hour, day of month, month, day of week'


class Field(NamedTuple):
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()  # the first stands for `low`
    special: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # what else is accepted, in words

    @property
    def accepted(self) -> str:
        named = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        *forms, last = ("*", "ranges (1-5)", "lists (1,2)", "steps (*/2)", *self.others)
        return f"{self.low} to {self.high}{named}, {', '.join(forms)} and {last}"


MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of month", 1, 31, special=("L", "LW"), others=("L (the last day)", "LW (the last workday)")),
    Field("month", 1, 12, names=MONTHS),
    Field("day of week", 0, 7, names=WEEKDAYS, others=("#1 to #5 (FRI#2, the second Friday)", "5L (the last Friday)")),
)
MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
VALUE = "[0-9]{1,9}|[A-Z]+"
TERM = re.compile(f"(?:\\*|(?P<first>{VALUE})(?:-(?P<last>{VALUE}))?)(?:/(?P<step>[0-9]{{1,9}}))?")
WEEKDAY_OF_MONTH = re.compile("(?P<day>[0-9]|[A-Z]{3})(?P<which>#[1-5]|(?<=[0-9])L)")


class Refused(Exception):
    """What is wrong with one part of an expression."""


def check_cron(text: object, *, what: str = "cron") -> str:
    """The expression in its one form: five fields, single spaces, capitals, no leading zeros, no macro."""
    try:
        return _read(text)
    except Refused as refused:
        message = f"Invalid {what} {shown(text)}: {refused}."
        raise InvalidInput(message, reason="invalid_cron", path=what) from None


def _read(text: object) -> str:
    if not isinstance(text, str):
        raise Refused(f"text was expected, {FORM}")
    if len(text) > MAX_CRON:  # before any work that grows with its length
        raise Refused(f"it is too long, max {MAX_CRON} characters")
    if not (text.isascii() and text.isprintable()):
        raise Refused("only plain letters, digits, * , - / # and spaces are accepted, no tabs or line breaks")
    if text.startswith("@"):
        if text.lower() not in MACROS:
            raise Refused(f"this macro is not known; accepted are {', '.join(MACROS)}")
        return MACROS[text.lower()]
    parts = text.upper().split()
    if len(parts) != len(FIELDS):
        raise Refused(f"it has {len(parts)} fields; expected are {FORM}")
    cron = " ".join(_read_field(part, field) for part, field in zip(parts, FIELDS, strict=True))
    if not _ever_fires(cron):
        raise Refused("it never fires: no date has such a day, month and weekday")
    return cron


def _read_field(part: str, field: Field) -> str:
    return ",".join(_read_term(term, field) for term in part.split(","))


def _read_term(term: str, field: Field) -> str:
    if term in field.special:
        return term
    if field.name == "day of week" and (nth := WEEKDAY_OF_MONTH.fullmatch(term)):
        _number(nth["day"], term, field)
        return term
    found = TERM.fullmatch(term)
    if found is None:
        raise Refused(f"{field.name} {shown(term)} is not understood; accepted are {field.accepted}")
    first, last, step = found["first"], found["last"], found["step"]
    most = field.high - field.low + 1
    if step and not 1 <= int(step) <= most:
        raise Refused(f"{field.name} {shown(term)} has a step out of range; accepted are 1 to {most}")
    ends = [_number(value, term, field) for value in (first, last) if value]
    if ends != sorted(ends):
        hint = "; at the end of a range Sunday is 7" if last == "SUN" else ""
        raise Refused(f"{field.name} {shown(term)} goes backwards; a range begins with its lower end{hint}")
    if last and ends[0] == ends[1]:  # the library would take 5-5/2 for 5/2, which goes on
        return _written(first)
    written = "-".join(_written(value) for value in (first, last) if value) or "*"
    return f"{written}/{int(step)}" if step else written


def _written(value: str) -> str:
    return value if value.isalpha() else str(int(value))


def _number(value: str, term: str, field: Field) -> int:
    if value in field.names:
        return field.names.index(value) + field.low
    if value.isalpha():
        raise Refused(f"{field.name} {shown(term)} is not understood; accepted are {field.accepted}")
    if not field.low <= int(value) <= field.high:
        raise Refused(f"{field.name} {shown(term)} is out of range; accepted are {field.accepted}")
    return int(value)


def _ever_fires(cron: str) -> bool:
    # The library gives up after fifty years. Every date there is, with every weekday, comes within forty.
    try:
        return next(CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC)), None) is not None
    except CronSimError:
        return False
