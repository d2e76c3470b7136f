"""When a body that is at work takes long: measured by what the same step took before, and never below five minutes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from windlass.model.time import HOUR, MINUTE, Duration

SHORTEST = Duration(5 * MINUTE)
WITHOUT_HISTORY = HOUR
FACTOR = 10
MOST = 100  # completed attempts that count, the latest ones

_ORDINAL = re.compile(r"(.+)#([1-9][0-9]{0,8})")


def typical(durations: Sequence[Duration]) -> Duration | None:
    """The median of what is known; none without a history."""
    return Duration(int(median(durations))) if durations else None


def is_long(ran_for: int, typical_for: Duration | None) -> bool:
    limit = WITHOUT_HISTORY if typical_for is None else FACTOR * typical_for
    return ran_for >= max(SHORTEST, limit)


def earlier_keys(key: str) -> list[str]:
    """The keys of the same step in the same run, the latest first: before "fetch#3" came "fetch#2" and "fetch"."""
    name, number = _split(key)
    keys = [f"{name}#{before}" for before in range(number - 1, max(1, number - MOST - 1), -1)]
    return [*keys, name][:MOST] if number > 1 else []


def first_key(key: str) -> str:
    """Under which other runs have the same step."""
    return _split(key)[0]


def _split(key: str) -> tuple[str, int]:
    found = _ORDINAL.fullmatch(key)
    return (key, 1) if found is None else (found[1], int(found[2]))
