"""One look for many who wait for the same lanes: hundreds of idle workers behind a server ask the store as one does."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from collections.abc import Awaitable, Callable

from windlass.answers import seen
from windlass.model.time import Instant
from windlass.model.worker import Served
from windlass.runtime import Clock

MOST_LANES = 1_000  # sets of lanes that are remembered
Lanes = tuple[str, tuple[Served, ...]]
Found = tuple[Instant | None, Instant]  # the earliest due time, and the time of the look


class _Look:
    def __init__(self, number: int, began_at: int, task: asyncio.Task[Found]) -> None:
        self.number, self.began_at, self.task = number, began_at, task

    def is_good(self, *, since: int, now: int, young_for: int) -> bool:
        """Whether it tells enough: what it found may be due by now, or it may have found nothing at all."""
        if self.number < since or self.began_at + young_for <= now:
            return False
        if not self.task.done():
            return True
        if self.task.cancelled() or self.task.exception() is not None:
            return False
        due_at, looked_at = self.task.result()
        return due_at is None or self.began_at + (due_at - looked_at) > now


class Looks:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[Lanes, _Look] = {}
        self._numbers = itertools.count()  # the order of what happens here; of one instant a clock could not tell it

    def mark(self) -> int:
        """A place in the order of looks: those that begin from now on come behind it."""
        return next(self._numbers)

    async def look(
        self, lanes: Lanes, ask: Callable[[], Awaitable[Found]], *, since: int, young_for: int
    ) -> tuple[Found, int]:
        """What somebody's look found that began after `since`, and when it began; or what one of our own finds.

        `since` is a mark from when the caller subscribed: what came before that it has not been told of, so a look from
        before will not do. Nor will one that is older than `young_for`.
        """
        now = self._clock.monotonic()
        last = self._last.get(lanes)
        if last is None or not last.is_good(since=since, now=now, young_for=young_for):
            # A task of its own: whoever began it may go while others wait for what it finds.
            task = asyncio.get_running_loop().create_task(_asked(ask), context=contextvars.Context())
            task.add_done_callback(seen)
            self._last.pop(lanes, None)
            if len(self._last) >= MOST_LANES:
                del self._last[next(iter(self._last))]  # nobody has looked there for the longest time
            last = self._last[lanes] = _Look(self.mark(), now, task)
        return await asyncio.shield(last.task), last.began_at


async def _asked(ask: Callable[[], Awaitable[Found]]) -> Found:
    return await ask()
