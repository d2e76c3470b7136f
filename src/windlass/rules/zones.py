"""Which time zones there are, and what their clocks read.

The zones are those of the `tzdata` package, never the files of the machine: two machines with the same packages agree
on every slot, whatever their systems carry.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from windlass.errors import InvalidInput
from windlass.model.duration import shown

MAX_KEY = 100
MOST_CLOSE = 3
NOT_ZONES = {"Factory"}  # stands for "nobody has set the zone yet"


def check_zone(text: object, *, what: str = "tz") -> str:
    """An IANA key, exactly as it is written there."""
    if isinstance(text, str) and text in zone_keys():
        return text
    close = _close(text) if isinstance(text, str) and len(text) <= MAX_KEY else []
    hint = " Did you mean " + " or ".join(map(repr, close)) + "?" if close else ""
    message = f"Unknown {what} {shown(text)}: an IANA time zone such as 'America/New_York' was expected.{hint}"
    raise InvalidInput(message, reason="unknown_time_zone", path=what)


@cache
def zone_keys() -> frozenset[str]:
    """Every key that is accepted."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="ascii").split()) - NOT_ZONES


def load_zone(text: str) -> ZoneInfo:
    """The zone itself. Raises InvalidInput if the key is none of ours."""
    return _load(check_zone(text))


@cache
def _load(key: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *key.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=key)


def _close(text: str) -> list[str]:
    """Keys that look alike: other capitals first, then the city alone, then a slip of the pen."""
    wanted = text.lower().replace(" ", "_")
    lowered = {key.lower(): key for key in sorted(zone_keys())}
    if wanted in lowered:
        return [lowered[wanted]]
    cities = [key for low, key in lowered.items() if low.endswith(f"/{wanted}")]
    return cities[:MOST_CLOSE] or [lowered[low] for low in difflib.get_close_matches(wanted, lowered, n=MOST_CLOSE)]
