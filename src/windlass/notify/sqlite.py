"""How processes that share an SQLite file hear of each other's commits.

SQLite has no NOTIFY, but `PRAGMA data_version` changes when, and only when, another connection has committed. Reading
it every 25 ms would tell everything and keep an idle process busy: to be woken forty times a second costs five times
as much as all the rest it does. So whoever has something to tell touches the journal after the commit, and it is read
then:

commit ──► touch ~~~► a process that waits ──► data_version: has changed? ──► whoever waits here looks again
           nothing was touched for a second ──► data_version all the same: its writer may have died in between

Where the system cannot tell of a touch, it is read every 25 ms while somebody waits.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Awaitable, Callable

from windlass.errors import FILE_GONE, NotAllowed, StoreRefused, WindlassError
from windlass.model.time import MILLISECOND, SECOND
from windlass.notify.inotify import Touches, touch, watch_touches
from windlass.notify.local import EVERYTHING, Topic
from windlass.runtime import Clock

LOOK_EVERY = 25 * MILLISECOND  # where touches cannot be heard of
LOOK_ANYWAY = SECOND
REST = 10  # times as long as a look took, until the next: where much is done, looks do not add to it
SHORTEST_REST, LONGEST_REST = MILLISECOND, LOOK_EVERY


class FileWatch:
    """Watches one file while anyone waits."""

    def __init__(self, data_version: Callable[[], Awaitable[int]], *, clock: Clock, path: str | None = None) -> None:
        """`path` is that of the database; without one nothing can be touched."""
        self._data_version, self._clock = data_version, clock
        # Never the database itself: to close it would free the locks that SQLite holds on it.
        self._journal = None if path is None else f"{os.path.realpath(path)}-wal"
        self._touches: Touches | None = None
        self._was_touched, self._rest = False, int(SHORTEST_REST)
        self._hear: Callable[[Topic], None] = lambda topic: None
        self._task: asyncio.Task[None] | None = None
        self._is_wanted = False
        self._seen = 0

    async def open(self, hear: Callable[[Topic], None]) -> None:
        self._hear = hear
        self._seen = await self._data_version()  # the journal is there from now on, if not from before
        if self._journal is not None:
            self._touches = watch_touches(self._journal)

    def send(self, topic: Topic) -> None:
        """Whoever hears of the touch does not hear the topic: it looks at everything it waits for."""
        if self._journal is not None:
            touch(self._journal)

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
        touches, self._touches = self._touches, None
        if touches is not None:
            touches.close()

    async def _watch(self) -> None:
        # Compared with what was seen last, be it long ago: who waits has looked before this task gets its first turn.
        while self._is_wanted:
            began_at = self._clock.monotonic()
            try:
                version = await self._data_version()
            except NotAllowed:  # the store was closed under us
                return
            except WindlassError as error:  # the file cannot be read just now; whoever waits looks again by itself
                version = self._seen
                if isinstance(error, StoreRefused) and error.reason == FILE_GONE:
                    self._hear(EVERYTHING)  # nothing will be told any more: whoever waits has to find out why
            self._rest = min(max(SHORTEST_REST, REST * (self._clock.monotonic() - began_at)), LONGEST_REST)
            if version != self._seen:
                self._seen = version
                self._hear(EVERYTHING)
            await self._until_it_may_have_changed()

    async def _until_it_may_have_changed(self) -> None:
        touches = self._touches
        if touches is None:
            await self._clock.sleep(LOOK_EVERY)
            return
        if self._was_touched:
            await self._clock.sleep(self._rest)
        await touches.wait(self._clock, LOOK_ANYWAY)
        self._was_touched = touches.take()  # before the look: what is touched behind it is news
