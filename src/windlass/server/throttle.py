"""How often somebody may fail before the answer becomes "later".

A bucket per source holds so many attempts and is filled up again over time. Only failures are taken out of it, and only
a failure finds it empty: whoever has a good key is let in, whatever others of the same address do.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import unquote

from windlass.model.time import SECOND
from windlass.runtime import Clock

ATTEMPTS = 20
ONE_EVERY = SECOND
MOST_SOURCES = 10_000
_ADDRESS_AND_PORT = re.compile(r"\[([^\]]+)\](?::[0-9]+)?|([0-9.]+):[0-9]+")
_LONGEST = 100


class Throttle:
    def __init__(
        self, clock: Clock, *, attempts: int = ATTEMPTS, one_every: int = ONE_EVERY, most: int = MOST_SOURCES
    ) -> None:
        self._clock, self._one_every, self._most = clock, one_every, most
        self._capacity = attempts * one_every
        self._full_at: dict[str, int] = {}  # when each bucket is full again; in the order they were touched

    def is_exhausted(self, source: str) -> bool:
        return self._missing(source) + self._one_every > self._capacity

    def take(self, source: str) -> bool:
        """Count a failure. False: there were too many of them."""
        missing = self._missing(source)
        is_left = missing + self._one_every <= self._capacity
        self._full_at.pop(source, None)
        if len(self._full_at) >= self._most:
            self._make_room()
        self._full_at[source] = self._clock.monotonic() + missing + (self._one_every if is_left else 0)
        return is_left

    def _missing(self, source: str) -> int:
        now = self._clock.monotonic()
        return max(0, self._full_at.get(source, now) - now)

    def _make_room(self) -> None:
        """Forget those that are as good as new, and at least a tenth: looking through all of them is rare then."""
        now = self._clock.monotonic()
        still = [(source, full_at) for source, full_at in self._full_at.items() if full_at > now]
        self._full_at = dict(still[-(self._most * 9 // 10) :]) if self._most > 1 else {}


def source_of(peer: str) -> str:
    """Where a caller comes from, without its port. IPv6 counts by its network: everybody there has many addresses."""
    text = unquote(peer).removeprefix("ipv4:").removeprefix("ipv6:")
    match = _ADDRESS_AND_PORT.fullmatch(text)
    if match is not None:
        text = match[1] or match[2]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text[:_LONGEST]
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ipaddress.ip_network((int(address), 64), strict=False))
    return str(address)
