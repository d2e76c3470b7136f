"""Clock, randomness and ids: the adapters everything is given, so that tests may give others."""

from __future__ import annotations

import asyncio
import contextvars
import random
import secrets
import time
from collections.abc import Callable
from typing import Any, Protocol

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: no I, L, O, U
PAIRS = [a + b for a in ALPHABET for b in ALPHABET]


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """The only source of time. `now` is wall time in microseconds, `monotonic` never goes back."""

    def now(self) -> int: ...

    def monotonic(self) -> int: ...

    def call_later(self, delay: int, callback: Callable[..., Any], *args: Any) -> Timer:
        """Call back on the running loop after `delay` microseconds."""
        ...

    async def sleep(self, delay: int) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000

    def monotonic(self) -> int:
        return time.monotonic_ns() // 1_000

    def call_later(self, delay: int, callback: Callable[..., Any], *args: Any) -> Timer:
        # An empty context: a timer armed from inside a run must not make its callback look like part of that run.
        loop = asyncio.get_running_loop()
        return loop.call_later(max(0, delay) / 1_000_000, callback, *args, context=contextvars.Context())

    async def sleep(self, delay: int) -> None:
        await asyncio.sleep(max(0, delay) / 1_000_000)


class Rng(Protocol):
    def random(self) -> float: ...

    def getrandbits(self, k: int, /) -> int: ...


def system_rng() -> Rng:
    return random.Random()  # noqa: S311 - jitter and ids, not secrets


def seeded_rng(seed: str) -> random.Random:
    """Numbers that are the same for the same seed, in every process."""
    return random.Random(seed)  # noqa: S311 - repeatable on purpose


def secret_bytes(count: int = 32) -> bytes:
    """What nobody can guess."""
    return secrets.token_bytes(count)


class Ids:
    """Text ids that sort by creation: a prefix, 48 bits of milliseconds, 80 bits that grow within one millisecond."""

    def __init__(self, clock: Clock, rng: Rng) -> None:
        self._clock, self._rng = clock, rng
        self._last = 0
        self._moment, self._prefix = -1, ""  # the milliseconds that were written last, and how

    def run(self) -> str:
        return "run_" + self._next()

    def handler_run(self) -> str:
        return "hrn_" + self._next()

    def worker(self) -> str:
        return "wrk_" + self._next()

    def message(self) -> str:
        return "msg_" + self._next()

    def item(self) -> str:
        return "itm_" + self._next()

    def task(self) -> str:
        return "tsk_" + self._next()

    def signal(self) -> str:
        return "sig_" + self._next()

    def key(self) -> str:
        return "key_" + self._next()

    def request(self) -> str:
        return "req_" + self._next()

    def _next(self) -> str:
        value = ((self._clock.now() // 1_000) << 80) | self._rng.getrandbits(80)
        if value <= self._last:
            # The same millisecond, or a clock that went back: stay sortable and unique.
            value = self._last + 1 + self._rng.getrandbits(32)
        self._last = value
        moment = value >> 80
        if moment != self._moment:
            self._moment = moment
            self._prefix = "".join([PAIRS[(moment >> shift) & 1023] for shift in range(40, -1, -10)])
        return self._prefix + (
            PAIRS[(value >> 70) & 1023]
            + PAIRS[(value >> 60) & 1023]
            + PAIRS[(value >> 50) & 1023]
            + PAIRS[(value >> 40) & 1023]
            + PAIRS[(value >> 30) & 1023]
            + PAIRS[(value >> 20) & 1023]
            + PAIRS[(value >> 10) & 1023]
            + PAIRS[value & 1023]
        )
