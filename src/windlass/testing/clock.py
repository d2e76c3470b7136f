"""What time is it in a test: whatever the test says, and nothing waits for real.

Time stands still until someone moves it. Moving it never runs a callback on the spot: due timers are handed to the loop
they were armed on, in the order they are due, and run when that loop gets its turn. They see the time that was moved
to, like the timers of a process that was stopped for a while. To let periodic timers fire at each of their own
instants, go from timer to timer:

    while (delay := clock.next_timer()) is not None and delay <= left:
        clock.advance(delay)
        await idle()
        left -= delay
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from windlass.runtime import Timer

START_AT = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
UP_FOR = 3_600_000_000  # monotonic time is that of a machine which has been up for an hour, never 0


class FakeTimer:
    """A callback that waits for its instant. Cancelling works until the callback has run."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.is_cancelled = False
        self._loop, self._callback, self._args = loop, callback, args

    def cancel(self) -> None:
        self.is_cancelled = True

    def fire(self) -> None:
        """Hand the callback to its loop; a loop that is closed can run nothing any more."""
        if self._loop.is_closed():
            return
        # From outside the loop must be woken; inside, that wake-up would be one more turn for simulations to count.
        hand_over = self._loop.call_soon if _running_loop() is self._loop else self._loop.call_soon_threadsafe
        # An empty context, as in SystemClock: the callback is not part of whoever armed the timer or moved the time.
        hand_over(self._run, context=contextvars.Context())

    def _run(self) -> None:
        if not self.is_cancelled:
            self._callback(*self._args)


class FakeClock:
    """A `Clock` that the test moves. Reading it is safe from any thread, moving it too.

    Integers are microseconds, as everywhere in `Clock`; text is a duration as users write it ("2d", "1h30m").
    """

    def __init__(self, *, start_at: int = START_AT) -> None:
        self._wall, self._monotonic = start_at, UP_FOR
        self._lock = threading.Lock()
        self._order = itertools.count()  # two timers of one instant fire in the order they were armed
        self._timers: list[tuple[int, int, FakeTimer]] = []

    def now(self) -> int:
        return self._wall

    def monotonic(self) -> int:
        return self._monotonic

    def call_later(self, delay: int, callback: Callable[..., Any], *args: Any) -> Timer:
        """Call back on the running loop once time has moved by `delay`; with no delay, on its next turn."""
        timer = FakeTimer(asyncio.get_running_loop(), callback, args)
        if delay <= 0:
            timer.fire()
            return timer
        with self._lock:
            heapq.heappush(self._timers, (self._monotonic + delay, next(self._order), timer))
        return timer

    async def sleep(self, delay: int) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay, _wake, woken)
        try:
            await woken
        finally:
            timer.cancel()

    def advance(self, duration: str | int | timedelta) -> None:
        """Let time pass: wall and monotonic time move together, and due timers fire."""
        step = microseconds(duration)
        if step < 0:
            raise ValueError("Time that has passed stays passed; jump() sets the wall clock back.")
        with self._lock:
            self._wall += step
            self._monotonic += step
            due: list[FakeTimer] = []
            while self._timers and self._timers[0][0] <= self._monotonic:
                due.append(heapq.heappop(self._timers)[2])
        for timer in due:
            timer.fire()

    def jump(self, duration: str | int | timedelta) -> None:
        """Set the wall clock forward or, with a minus, back. No time passes: no timer fires."""
        with self._lock:
            self._wall += microseconds(duration)

    def next_timer(self) -> int | None:
        """Microseconds until the earliest timer that is still wanted, or None."""
        with self._lock:
            while self._timers and self._timers[0][2].is_cancelled:
                heapq.heappop(self._timers)
            return self._timers[0][0] - self._monotonic if self._timers else None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():  # cancelled in the same turn in which it became due
        sleeper.set_result(None)


def microseconds(duration: str | int | timedelta) -> int:
    if isinstance(duration, int):
        return duration
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    from windlass.model.duration import to_duration  # only text needs it

    sign = -1 if duration.startswith("-") else 1
    return sign * to_duration(duration.removeprefix("-"))
