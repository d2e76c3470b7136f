"""How processes that share a PostgreSQL database wake each other.

One connection per process listens on one channel and sends on it too. A wake-up is a hint: it goes out after the commit
it is about, it may be lost, and whoever hears "*" has missed some and must look at everything again.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import asyncpg

from windlass.errors import InvalidInput, NotAllowed, StoreRefused
from windlass.model.time import MILLISECOND, SECOND, Duration
from windlass.runtime import Clock, SystemClock

CHANNEL = "windlass"
EVERYTHING = "*"
LONGEST_TOPIC = 7_900  # bytes; PostgreSQL takes fewer than 8,000
FIRST_PAUSE, LONGEST_PAUSE = Duration(100 * MILLISECOND), Duration(5 * SECOND)
CONNECT_SECONDS = 10.0
FLUSH_SECONDS = 0.5

_LOST = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


class PostgresListener:
    """Hears and sends topics. Reconnects for ever; topics sent meanwhile wait for the connection."""

    def __init__(self, url: str, *, clock: Clock | None = None) -> None:
        self._url, self._clock = url, clock or SystemClock()
        self._on_topic: Callable[[str], None] = lambda topic: None
        self._pending: dict[str, None] = {}  # a set that keeps its order: one topic waits once
        self._has_news = asyncio.Event()  # something to send, or a connection that is gone
        self._is_quiet = asyncio.Event()  # nothing waits to be sent
        self._is_quiet.set()
        self._session: asyncpg.Connection[Any] | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self, on_topic: Callable[[str], None]) -> None:
        """Listen from now on. Raises StoreRefused if the first connection cannot be made."""
        if self._task is not None:
            raise NotAllowed("The listener is open already.")
        self._on_topic = on_topic
        try:
            self._session = await self._connect()
        except (*_LOST, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise StoreRefused(f"PostgreSQL cannot be listened to: {reason}") from None
        # In an empty context: opened by the code of a run, it is still no part of that run.
        loop, context = asyncio.get_running_loop(), contextvars.Context()
        self._task = loop.create_task(self._stay(self._session), name="windlass-listener", context=context)

    def send(self, topic: str) -> None:
        """Wake whoever listens for the topic, soon. Never blocks; what is still unsent is not sent twice."""
        if len(topic.encode()) > LONGEST_TOPIC:
            raise InvalidInput(f"A topic has at most {LONGEST_TOPIC} bytes.", reason="too_large", path="topic")
        self._pending[topic] = None
        self._is_quiet.clear()
        self._has_news.set()

    async def close(self) -> None:
        """Stop listening. What is still unsent has a moment to go out: a command says something, and ends at once."""
        task, self._task = self._task, None
        try:
            if task is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._is_quiet.wait(), FLUSH_SECONDS)
        finally:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
            if self._session is not None:
                self._session.terminate()

    async def _stay(self, session: asyncpg.Connection[Any]) -> None:
        while True:
            with suppress(*_LOST):
                await self._serve(session)
            session.terminate()
            session = self._session = await self._reconnect()
            self._on_topic(EVERYTHING)

    async def _serve(self, session: asyncpg.Connection[Any]) -> None:
        """Send what gathers until the connection is lost."""
        while not session.is_closed():
            topics = list(self._pending)
            if topics:
                await session.executemany("select pg_notify($1, $2)", [(CHANNEL, topic) for topic in topics])
                for topic in topics:
                    self._pending.pop(topic, None)
                continue
            self._is_quiet.set()
            self._has_news.clear()
            await self._has_news.wait()

    async def _reconnect(self) -> asyncpg.Connection[Any]:
        pause = FIRST_PAUSE
        while True:
            await self._clock.sleep(pause)
            with suppress(*_LOST):
                return await self._connect()
            pause = Duration(min(2 * pause, LONGEST_PAUSE))

    async def _connect(self) -> asyncpg.Connection[Any]:
        session = await asyncpg.connect(
            self._url, timeout=CONNECT_SECONDS, server_settings={"application_name": "windlass listener"}
        )
        try:
            session.add_termination_listener(self._on_lost)
            await session.add_listener(CHANNEL, self._on_notification)
        except BaseException:
            session.terminate()
            raise
        return session

    def _on_notification(self, session: object, pid: int, channel: str, payload: object) -> None:
        self._on_topic(str(payload))

    def _on_lost(self, session: object) -> None:
        self._has_news.set()
