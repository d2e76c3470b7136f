"""Wait until the log of a namespace grows: one look for all who wait, and none while nobody does."""

from __future__ import annotations

import asyncio
import contextvars

from windlass.engine.parts import Parts
from windlass.errors import WindlassError
from windlass.model.feed import Place
from windlass.model.time import MILLISECOND, Duration
from windlass.notify.local import news_topic
from windlass.runtime import SystemClock
from windlass.store.queries.feed import FeedQueries

LOOK_EVERY = 250 * MILLISECOND  # without a hint, which may be lost
# Behind a hint: what it is about may be committed, and not be told of yet because something older is not.
LOOK_AGAIN = 20 * MILLISECOND
REST = 5 * MILLISECOND  # between two looks, however many hints come

Waiter = asyncio.Future[None]


class News:
    """Of one namespace, in one process."""

    def __init__(self, parts: Parts, namespace: str) -> None:
        self._parts, self._namespace = parts, namespace
        self._pace = SystemClock()  # what others commit comes in real time, also in a test whose clock stands still
        self._waiters: dict[Waiter, Place | None] = {}  # and what they have read up to, as far as they say
        self._newest: Place | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def has_waiters(self) -> bool:
        return bool(self._waiters)

    async def wait(self, wait_for: Duration, *, after: Place | None) -> None:
        """Return when there is something behind `after`, or without one when something comes; in time anyway."""
        newest = self._newest if self._task is not None else None
        if wait_for <= 0 or (after is not None and newest is not None and newest > after):
            return
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = newest if after is None else after
        timer = self._parts.clock.call_later(wait_for, _let_go, waiter)
        if self._task is None:
            # In an empty context: the first waiter may be inside a run, and the look is no part of it.
            self._task = asyncio.get_running_loop().create_task(self._watch(), context=contextvars.Context())
            self._task.add_done_callback(self._ended)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiters.pop(waiter, None)
            if not self._waiters and self._task is not None:
                self._task.cancel()

    async def close(self) -> None:
        task = self._task
        for waiter in self._waiters:
            _let_go(waiter)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._task = None
        for waiter in self._waiters:  # the store is closed, or somebody came just now
            _let_go(waiter)

    async def _watch(self) -> None:
        with self._parts.hub.subscribe(news_topic(self._namespace)) as subscription:
            while True:
                was_told = subscription.is_named
                subscription.clear()
                has_grown = await self._look()
                await self._pace.sleep(REST)
                await subscription.wait(self._pace, LOOK_AGAIN if was_told and not has_grown else LOOK_EVERY)

    async def _look(self) -> bool:
        """Let those go for whom there is something; whether the log has grown since the last time."""
        before = self._newest
        try:
            newest = await self._parts.store.read(
                "newest_of_feed", lambda tx: FeedQueries(tx.connection).newest(self._namespace), single=True
            )
        except WindlassError:  # it cannot be asked just now; whoever waits looks in time by itself
            return False
        self._newest = newest
        for waiter, after in self._waiters.items():
            if after is None:
                self._waiters[waiter] = newest
            elif newest > after:
                _let_go(waiter)
        return before is None or newest > before


def _let_go(waiter: Waiter) -> None:
    if not waiter.done():
        waiter.set_result(None)
