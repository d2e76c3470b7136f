"""HTTP/2 by hand, byte by byte: what no library lets one send."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4
GET_RUN = "/windlass.v1.WorkflowService/GetRun"
STATUS = re.compile(rb"grpc-status.([0-9]{1,2})", re.DOTALL)


def frame(kind: int, *, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


HELLO = PREFACE + frame(SETTINGS)


def _text(text: str | bytes) -> bytes:
    data = text.encode("latin-1") if isinstance(text, str) else text
    if len(data) < 127:
        return bytes([len(data)]) + data
    rest, found = len(data) - 127, bytearray([127])
    while rest > 127:
        found.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*found, rest]) + data


def block(*extra: tuple[str, str | bytes], path: str = GET_RUN) -> bytes:
    """The headers of a call, as plain text."""
    headers: list[tuple[str, str | bytes]] = [
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"), ("te", "trailers"),
        ("content-type", "application/grpc"), *extra,
    ]  # fmt: skip
    return b"".join(b"\x00" + _text(name) + _text(value) for name, value in headers)


def call(*extra: tuple[str, str | bytes], stream: int = 1, message: bytes = b"", path: str = GET_RUN) -> bytes:
    """A whole call: its headers, one message, its end."""
    head = frame(HEADERS, flags=END_HEADERS, stream=stream, payload=block(*extra, path=path))
    body = b"\x00" + len(message).to_bytes(4, "big") + message
    return head + frame(DATA, flags=END_STREAM, stream=stream, payload=body)


def tls_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("nobody answered, and yet they shook hands")


class Line:
    """A connection on which one says what one likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, data: bytes) -> None:
        """As far as the other side still listens."""
        try:
            self.writer.write(data)
            await self.writer.drain()
        except ConnectionError:
            return

    async def heard(self, *, seconds: float = 0.3) -> bytes:
        """All that comes until it is silent for a while, or hangs up."""
        found = b""
        try:
            while data := await asyncio.wait_for(self.reader.read(65_536), seconds):
                found += data
        except (TimeoutError, ConnectionError):
            return found
        return found

    async def status(self, *, seconds: float = 20.0) -> int | None:
        """How the first call of this connection ended: the name of the header is written out only once."""
        found = b""
        try:
            while data := await asyncio.wait_for(self.reader.read(65_536), seconds):
                found += data
                if match := STATUS.search(found):
                    return int(match[1])
        except (TimeoutError, ConnectionError):
            return None
        return None


@asynccontextmanager
async def line(address: str) -> AsyncIterator[Line]:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Line(reader, writer)
    finally:
        writer.close()
