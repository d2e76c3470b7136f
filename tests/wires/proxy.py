"""A wire that fails as told: a TCP proxy for tests of cut, slow and silent connections, whatever is spoken over it.

    async with Proxy("127.0.0.1", 5432) as proxy:
        app = App(proxy.through(url))       # the same URL, with the proxy's address
        proxy.cut_next_reply()              # what is asked arrives; nobody hears the answer
        proxy.cut()                         # every connection, now

client ──► requests ──► server
       ◄── replies  ◄──
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from contextlib import suppress
from enum import StrEnum
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from windlass.model.time import Duration
from windlass.runtime import Clock, SystemClock

CHUNK = 65_536
HOST = "127.0.0.1"
AT_ONCE = struct.pack("ii", 1, 0)  # close without waiting for anything that is on its way


class Way(StrEnum):
    REQUEST = "request"  # from the client to the server
    REPLY = "reply"


class Link:
    """One connection of a client, and the one to the server behind it."""

    def __init__(self, *writers: asyncio.StreamWriter) -> None:
        self._writers = writers

    def cut(self) -> None:
        """Without a goodbye, and without what is on its way: the other side sees a reset."""
        for writer in self._writers:
            if not writer.is_closing():
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            writer.transport.abort()

    def close(self) -> None:
        """Once both sides have said what they had to say."""
        for writer in self._writers:
            writer.close()


class Proxy:
    """Everything passes as it is, until a test says otherwise. What it says holds until it is taken back."""

    def __init__(self, host: str, port: int, *, clock: Clock | None = None) -> None:
        self._target, self._clock = (host, port), clock or SystemClock()
        self.delay_for = Duration(0)  # before each piece, either way
        self.is_trickling = False  # byte by byte
        self.port = 0
        self.accepted = 0  # connections so far
        self._cuts: Counter[Way] = Counter()  # how many pieces that way end their connection
        self._flows = asyncio.Event()
        self._flows.set()
        self._links: dict[Link, asyncio.Task[None]] = {}
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.refuse()
        tasks = [*self._links.values()]
        self.cut()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._clock.sleep(0)  # sockets are closed at the next turn

    def through(self, url: str) -> str:
        """The URL, by way of this proxy."""
        parts = urlsplit(url)
        person, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{person}{at}{HOST}:{self.port}"))

    async def refuse(self) -> None:
        """Nobody listens any more; what is connected stays."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    async def accept(self) -> None:
        """Listen, after a refusal on the same port as before."""
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, HOST, self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> int:
        """Every connection there is, now. How many that were."""
        links = [*self._links]
        for link in links:
            link.cut()
        return len(links)

    def cut_next_request(self, count: int = 1) -> None:
        """The next that a client says never arrives, and its connection is cut; so are as many others."""
        self._cuts[Way.REQUEST] = count

    def cut_next_reply(self, count: int = 1) -> None:
        """What is asked arrives; before anything of the next answer comes back, the connection is cut."""
        self._cuts[Way.REPLY] = count

    def hold(self) -> None:
        """A black hole: connections stay open and are made, and nothing passes until it is let go."""
        self._flows.clear()

    def let_go(self) -> None:
        self._flows.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            from_server, to_server = await asyncio.open_connection(*self._target)
        except OSError:
            Link(writer).cut()
            return
        for end in (writer, to_server):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link, task = Link(writer, to_server), asyncio.current_task()
        assert task is not None
        self._links[link] = task
        try:
            await asyncio.gather(
                self._pass(reader, to_server, way=Way.REQUEST, link=link),
                self._pass(from_server, writer, way=Way.REPLY, link=link),
            )
        except asyncio.CancelledError:
            pass  # the proxy is closed; to say so once more would only be logged
        finally:
            del self._links[link]
            link.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, way: Way, link: Link) -> None:
        with suppress(OSError):
            while piece := await reader.read(CHUNK):
                await self._flows.wait()
                await self._clock.sleep(self.delay_for)
                if self._cuts[way]:
                    self._cuts[way] -= 1
                    link.cut()
                    return
                await self._write(writer, piece)
            writer.write_eof()  # the other direction may go on

    async def _write(self, writer: asyncio.StreamWriter, piece: bytes) -> None:
        parts = [bytes([byte]) for byte in piece] if self.is_trickling else [piece]
        for part in parts:
            writer.write(part)
            await writer.drain()
            if self.is_trickling:
                await self._clock.sleep(0)
