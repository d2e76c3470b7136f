"""How a process hears of commits that another process made to the same SQLite file.

SQLite has no NOTIFY. `PRAGMA data_version` changes when, and only when, another connection commits, and reading it
costs nothing measurable; so while somebody here waits, it is read every 25 ms.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable

from windlass.errors import NotAllowed, WindlassError
from windlass.model.time import MILLISECOND
from windlass.notify.local import EVERYTHING, Topic
from windlass.runtime import Clock

LOOK_EVERY = 25 * MILLISECOND


class FileWatch:
    """Watches one file while anyone waits. There is nothing to send: the commit itself is the message."""

    def __init__(self, data_version: Callable[[], Awaitable[int]], *, clock: Clock) -> None:
        self._data_version, self._clock = data_version, clock
        self._hear: Callable[[Topic], None] = lambda topic: None
        self._task: asyncio.Task[None] | None = None
        self._is_wanted = False
        self._seen = 0

    async def open(self, hear: Callable[[Topic], None]) -> None:
        self._hear = hear
        self._seen = await self._data_version()

    def send(self, topic: Topic) -> None:
        return None

    def waiting(self, *, anyone: bool) -> None:
        self._is_wanted = anyone
        if anyone and (self._task is None or self._task.done()):
            # An empty context: the first waiter may be inside a run, and the watch is no part of it.
            self._task = asyncio.get_running_loop().create_task(self._watch(), context=contextvars.Context())

    async def close(self) -> None:
        self._is_wanted = False
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _watch(self) -> None:
        # Compared with what was seen last, be it long ago: who waits has looked before this task gets its first turn.
        while self._is_wanted:
            try:
                version = await self._data_version()
            except NotAllowed:  # the store was closed under us
                return
            except WindlassError:  # the file cannot be read just now; whoever waits looks again by itself
                version = self._seen
            if version != self._seen:
                self._seen = version
                self._hear(EVERYTHING)
            await self._clock.sleep(LOOK_EVERY)
