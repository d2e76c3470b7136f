"""Time that passes faster than it does: the patience of the engine and the life of a claim fit into a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windlass.runtime import SystemClock, Timer


class HastyClock(SystemClock):
    """The machine's clock, `times` as fast."""

    def __init__(self, times: int) -> None:
        self._times = times
        self._began_at, self._began = super().now(), super().monotonic()

    def now(self) -> int:
        return self._began_at + (self.monotonic() - self._began)

    def monotonic(self) -> int:
        return self._began + (super().monotonic() - self._began) * self._times

    def call_later(self, delay: int, callback: Callable[..., Any], *args: Any) -> Timer:
        return super().call_later(delay // self._times, callback, *args)

    async def sleep(self, delay: int) -> None:
        await super().sleep(delay // self._times)
