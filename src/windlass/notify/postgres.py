"""How processes that share a PostgreSQL database wake each other.

One connection per process listens on one channel and sends on it too. A wake-up is a hint: it goes out after the commit
it is about, it may be lost, and whoever hears "*" has missed some and must look at everything again.

A pooler that lends sessions by the transaction takes LISTEN, and delivers nothing. So whoever has connected sends
itself a word. Where that does not come, "*" is said every second; and each new connection is tried anew.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Sequence
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
HEARD_SECONDS = 2.0
POLL_EVERY = Duration(SECOND)  # where nothing is heard
MOST_TOPICS = 500  # in one statement
PROBE = "probe "

LOGGER = logging.getLogger("windlass.notify")
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
        self._is_direct = True  # connected to the one who answers
        self._probed: asyncio.Future[None] | None = None  # set once our own word has come back
        self._nonce = ""
        self._is_deaf = False
        self._ear: asyncio.Task[None] | None = None
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
            for running in (task, self._ear):
                if running is not None:
                    running.cancel()
                    await asyncio.wait([running])
            if self._session is not None:
                self._session.terminate()

    async def _stay(self, session: asyncpg.Connection[Any]) -> None:
        while True:
            self._ear = asyncio.get_running_loop().create_task(self._listen(session), name="windlass-ear")
            with suppress(*_LOST):
                await self._serve(session)
            self._ear.cancel()
            session.terminate()
            session = self._session = await self._reconnect()
            self._on_topic(EVERYTHING)

    async def _serve(self, session: asyncpg.Connection[Any]) -> None:
        """Send what gathers until the connection is lost."""
        while not session.is_closed():
            topics = list(self._pending)[:MOST_TOPICS]
            if topics:
                await session.execute(_notify(topics))
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
        session = await self._dial()
        try:
            session.add_termination_listener(self._on_lost)
            async with session.transaction():  # of a pooler, one session for all of it
                self._is_direct = await session.fetchval("select pg_backend_pid()") == session.get_server_pid()
                await session.add_listener(CHANNEL, self._on_notification)
        except BaseException:
            session.terminate()
            raise
        return session

    async def _dial(self) -> asyncpg.Connection[Any]:
        # No statement is kept: a pooler would send the next use of it to somebody who does not know it.
        return await asyncpg.connect(
            self._url,
            timeout=CONNECT_SECONDS,
            statement_cache_size=0,
            server_settings={"application_name": "windlass listener"},
        )

    async def _listen(self, session: asyncpg.Connection[Any]) -> None:
        """Find out whether anything is heard, and if not, say every second that something may have been missed."""
        if await self._hears(session):
            if self._is_deaf:
                LOGGER.info("Wake-ups of other processes are heard again.")
            self._is_deaf = False
            return
        if session.is_closed():  # the next one is asked
            return
        if not self._is_deaf:
            LOGGER.warning(
                "NOTIFY does not come through: PostgreSQL is reached through a pooler in transaction mode. Work is "
                "looked for every second instead, and a dead worker is noticed when its claims run out. Connect "
                "directly, or set the pooler to session mode."
            )
        self._is_deaf = True
        while True:
            self._on_topic(EVERYTHING)
            await self._clock.sleep(POLL_EVERY)

    async def _hears(self, session: asyncpg.Connection[Any]) -> bool:
        self._nonce = f"{PROBE}{session.get_server_pid()} {self._clock.monotonic()}"
        self._probed = asyncio.get_running_loop().create_future()
        try:
            await self._say(self._nonce)
            await asyncio.wait_for(self._probed, HEARD_SECONDS)
        except (*_LOST, TimeoutError):
            return False
        return True

    async def _say(self, word: str) -> None:
        if self._is_direct:
            self.send(word)  # one who sends while another does would be taken for a lost connection
            return
        # What a pooler's session tells itself it may hear, while it is lent to us; what others tell it is lost.
        other = await self._dial()
        try:
            await other.execute(_notify([word]))
        finally:
            other.terminate()

    def _on_notification(self, session: object, pid: int, channel: str, payload: object) -> None:
        text = str(payload)
        if not text.startswith(PROBE):
            self._on_topic(text)
        elif text == self._nonce and self._probed is not None and not self._probed.done():
            self._probed.set_result(None)

    def _on_lost(self, session: object) -> None:
        self._has_news.set()


def _notify(topics: Sequence[str]) -> str:
    """One message and one answer, without a prepared statement; in hexadecimal, so that no text can end the text."""
    calls = [
        f"pg_notify('{CHANNEL}', convert_from(decode('{topic.encode().hex()}', 'hex'), 'UTF8'))" for topic in topics
    ]
    return f"select {', '.join(calls)}"
