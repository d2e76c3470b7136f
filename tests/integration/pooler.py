"""A pooler in transaction mode, small enough to read: clients share few sessions, each lent for one transaction.

client ──► startup, answered here ──► each message up to the end of a transaction ──► a session, another one every time

It behaves like PgBouncer: settings at the start are refused, the process id a client is told is made up, statements
that one transaction prepares are unknown to the next, and what LISTEN would bring never arrives.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

SSL_REQUEST = 80877103
KNOWN_SETTINGS = {"user", "database", "client_encoding", "application_name", "DateStyle", "TimeZone"}
PROTOCOL = 196608
READY, NOTIFICATION, PARAMETER = b"Z", b"A", b"S"
IDLE = b"I"
TERMINATE = b"X"
ANSWERED = {b"Q", b"S"}  # each of these is followed by one READY


class Session:
    """One with the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.parameters = b""


class Pooler:
    def __init__(self, url: str, *, size: int = 4, refuses_settings: bool = True) -> None:
        self._parts, self._size, self._refuses_settings = urlsplit(url), size, refuses_settings
        self._free: asyncio.Queue[Session] = asyncio.Queue()  # the one that rested longest comes next
        self._sessions: list[Session] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._pids = itertools.count(1_000_000)
        self.dropped = 0  # notifications
        self.url = ""

    async def __aenter__(self) -> Self:
        for _ in range(self._size):
            session = await self._open()
            self._sessions.append(session)
            self._free.put_nowait(session)
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"postgresql://{self._parts.username}@127.0.0.1:{port}{self._parts.path}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for session in self._sessions:
            session.writer.transport.abort()
        await asyncio.sleep(0)

    async def _open(self) -> Session:
        session = Session(*await asyncio.open_connection(self._parts.hostname, self._parts.port, limit=2**24))
        names = f"user\0{self._parts.username}\0database\0{self._parts.path.lstrip('/')}\0\0".encode()
        session.writer.write(struct.pack("!ii", 8 + len(names), PROTOCOL) + names)
        while True:
            kind, message = await _next(session.reader)
            if kind == PARAMETER:
                session.parameters += message
            if kind == READY:
                return session

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            if await self._is_let_in(reader, writer):
                await self._serve(reader, writer)
        self._tasks.discard(task)
        writer.transport.abort()

    async def _is_let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        length, code = struct.unpack("!ii", await reader.readexactly(8))
        while code == SSL_REQUEST:
            writer.write(b"N")
            length, code = struct.unpack("!ii", await reader.readexactly(8))
        names = (await reader.readexactly(length - 8)).decode().split("\0")[::2]
        unknown = [name for name in names if name and name not in KNOWN_SETTINGS]
        if unknown and self._refuses_settings:
            writer.write(_error("08P01", f"unsupported startup parameter: {unknown[0]}"))
            await writer.drain()
            return False
        key = b"K" + struct.pack("!iii", 12, next(self._pids), 0)
        writer.write(b"R" + struct.pack("!ii", 8, 0) + self._sessions[0].parameters + key + b"Z\0\0\0\5I")
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asking = asyncio.ensure_future(_next(reader))
        try:
            while (await asking)[0] != TERMINATE:
                session = await self._free.get()
                asked: list[bytes] = []  # and not answered
                answering = asyncio.ensure_future(self._answer(session, writer, asked))
                try:
                    while not answering.done():
                        if asking.done():
                            kind, message = asking.result()
                            asked.extend([kind] if kind in ANSWERED else [])
                            session.writer.write(message)
                            asking = asyncio.ensure_future(_next(reader))
                        await asyncio.wait([asking, answering], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    await self._give_back(session, answering)
        finally:
            asking.cancel()

    async def _give_back(self, session: Session, answering: asyncio.Future[None]) -> None:
        if answering.done() and answering.exception() is None:
            self._free.put_nowait(session)
            return
        answering.cancel()  # the client has left in the middle: what it has begun is undone
        session.writer.transport.abort()
        fresh = await self._open()
        self._sessions.append(fresh)
        self._free.put_nowait(fresh)

    async def _answer(self, session: Session, writer: asyncio.StreamWriter, asked: list[bytes]) -> None:
        """Pass on what the server says, until the transaction is over and it waits for another."""
        while True:
            kind, message = await _next(session.reader)
            if kind == NOTIFICATION:
                self.dropped += 1
                continue
            writer.write(message)
            if kind == READY:
                asked.pop()
                if message[-1:] == IDLE and not asked:
                    return


async def _next(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    (length,) = struct.unpack("!i", head[1:])
    return head[:1], head + await reader.readexactly(length - 4)


def _error(code: str, text: str) -> bytes:
    fields = f"SFATAL\0C{code}\0M{text}\0\0".encode()
    return b"E" + struct.pack("!i", 4 + len(fields)) + fields
