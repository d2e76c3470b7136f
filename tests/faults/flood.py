"""Calls whose messages never end, from a client that keeps every rule of HTTP/2.

It sends as much of each message as the server lets it, and never the last bytes.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from contextlib import suppress

from tests.integration.server.frames import (
    DATA,
    END_HEADERS,
    GOAWAY,
    HEADERS,
    HELLO,
    PING,
    RESET,
    SETTINGS,
    WINDOW,
    block,
    frame,
)

MESSAGE = 4 * 1024 * 1024  # the largest one a server takes
MISSING = 100  # bytes of it that never come
ACK = 1
INITIAL_WINDOW, LARGEST_FRAME, MOST_STREAMS = 4, 5, 3  # of the settings


class Stream:
    def __init__(self, window: int) -> None:
        self.window = window
        self.left = b"\x00" + MESSAGE.to_bytes(4, "big") + bytes(MESSAGE - MISSING)
        self.sent = 0
        self.is_over = False

    def take(self, most: int) -> bytes:
        data = self.left[self.sent : self.sent + min(most, self.window)]
        self.sent += len(data)
        self.window -= len(data)
        return data


class Connection:
    """One connection with as many such calls as the server allows, and `count` at most."""

    def __init__(self, path: str, metadata: Sequence[tuple[str, str]], count: int) -> None:
        self._path, self._metadata, self._count = path, metadata, count
        self.streams: dict[int, Stream] = {}
        self.is_over = False
        self._window, self._initial, self._frame, self._most = 65_535, 65_535, 16_384, 100
        self._reading: asyncio.Task[None] | None = None

    @property
    def sent(self) -> int:
        return sum(stream.sent for stream in self.streams.values())

    @property
    def open(self) -> int:
        return 0 if self.is_over else sum(not stream.is_over for stream in self.streams.values())

    async def begin(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port))
        self._writer.write(HELLO)
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def end(self) -> None:
        """Leave without a word."""
        self._writer.transport.abort()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _read(self) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await self._reader.readexactly(9)
                payload = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
                self._hear(head[3], head[4], int.from_bytes(head[5:], "big"), payload)
                self._send_what_fits()
                await self._writer.drain()
        self.is_over = True

    def _hear(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == SETTINGS and not flags & ACK:
            self._settle(payload)
            self._writer.write(frame(SETTINGS, flags=ACK))
            self._begin_streams()
        elif kind == PING and not flags & ACK:
            self._writer.write(frame(PING, flags=ACK, payload=payload))
        elif kind == WINDOW and number == 0:
            self._window += int.from_bytes(payload, "big")
        elif kind == WINDOW and number in self.streams:
            self.streams[number].window += int.from_bytes(payload, "big")
        elif kind == RESET and number in self.streams:
            self.streams[number].is_over = True
        elif kind == GOAWAY:
            self.is_over = True

    def _settle(self, payload: bytes) -> None:
        for name, value in struct.iter_unpack(">HI", payload):
            if name == INITIAL_WINDOW:
                for stream in self.streams.values():
                    stream.window += value - self._initial
                self._initial = value
            elif name == LARGEST_FRAME:
                self._frame = min(value, 65_536)
            elif name == MOST_STREAMS:
                self._most = value

    def _begin_streams(self) -> None:
        for number in range(len(self.streams), min(self._count, self._most)):
            stream = 2 * number + 1
            head = block(*self._metadata, path=self._path)
            self._writer.write(frame(HEADERS, flags=END_HEADERS, stream=stream, payload=head))
            self.streams[stream] = Stream(self._initial)

    def _send_what_fits(self) -> None:
        for number, stream in self.streams.items():
            while self._window > 0 and not stream.is_over:
                data = stream.take(min(self._window, self._frame))
                if not data:
                    break
                self._window -= len(data)
                self._writer.write(frame(DATA, stream=number, payload=data))


class Flood:
    """So many of these calls, over as many connections as it takes."""

    def __init__(self, address: str, path: str, *, metadata: Sequence[tuple[str, str]] = ()) -> None:
        self._address, self._path, self._metadata = address, path, metadata
        self.connections: list[Connection] = []

    @property
    def sent(self) -> int:
        return sum(connection.sent for connection in self.connections)

    @property
    def open(self) -> int:
        return sum(connection.open for connection in self.connections)

    async def begin(self, calls: int, *, each: int = 100) -> None:
        for first in range(0, calls, each):
            connection = Connection(self._path, self._metadata, min(each, calls - first))
            self.connections.append(connection)
            await connection.begin(self._address)

    async def until_quiet(self, *, seconds: float = 1.0) -> int:
        """How many bytes were sent, once the server takes no more of them for a while."""
        last = -1
        while last != self.sent:
            last = self.sent
            await asyncio.sleep(seconds)
        return last

    async def end(self) -> None:
        for connection in self.connections:
            await connection.end()


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))
