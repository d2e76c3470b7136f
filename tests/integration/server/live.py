"""A site on a port of its own, and those who follow its log: browsers, sockets, and readers that do not read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.integration.server.site import Site
from windlass.model.time import Duration
from windlass.runtime import SystemClock
from windlass.server.limits import Limits
from windlass.server.web import WebListener

PATIENCE = 20.0


@asynccontextmanager
async def listening(
    site: Site, *, limits: Limits | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Real HTTP on loopback; the port."""
    listener = WebListener(site.app, host="127.0.0.1", port=0, tls=tls, clock=SystemClock(), limits=limits)
    await listener.start()
    try:
        yield listener.port
    finally:
        site.health.stop()
        await listener.drain(Duration(0))
        await listener.stop()


class Follower:
    """A reader of server-sent events."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def event(self) -> dict[str, str]:
        """The next one, comments as such; {} when the stream is over."""
        found: dict[str, str] = {}
        async with asyncio.timeout(PATIENCE):
            async for line in self._lines:
                if not line and found:
                    return found
                if line:
                    name, _, value = line.partition(":")
                    found[name or "comment"] = value.strip()
        return found

    async def entries(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(found) < count:
            event = await self.event()
            assert event, found
            if event.get("event") == "log":
                line = json.loads(event["data"])
                assert line["cursor"] == event["id"]
                found.append(line)
        return found


@asynccontextmanager
async def following(port: int, token: str, *, namespace: str = "default", **more: Any) -> AsyncIterator[Follower]:
    headers = {"authorization": f"Bearer {token}"} | more.pop("headers", {})
    url = f"http://127.0.0.1:{port}/v1/namespaces/{namespace}/{more.pop('path', 'feed/stream')}"
    async with (
        httpx.AsyncClient(timeout=PATIENCE) as client,
        client.stream("GET", url, headers=headers, params=more.pop("params", {})) as response,
    ):
        yield Follower(response)


class Talker:
    """One side of a WebSocket. Every frame that goes and comes is kept, to be held against the schema."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.frames: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self._number = 0

    async def send(self, op: str, id: str | None = None, **params: Any) -> str:
        self._number += 1
        id = id or str(self._number)
        self.sent.append({"id": id, "op": op, "params": params})
        await self.connection.send(json.dumps(self.sent[-1]))
        return id

    async def frame(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            frame: dict[str, Any] = json.loads(await self.connection.recv())
        self.frames.append(frame)
        return frame

    async def ask(self, op: str, **params: Any) -> dict[str, Any]:
        """The answer to a request; events in between are kept."""
        id = await self.send(op, **params)
        while True:
            frame = await self.frame()
            if frame.get("id") == id:
                return frame

    async def events(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(found) < count:
            frame = await self.frame()
            if "event" in frame:
                found.append(frame)
        return found

    async def closed(self) -> int:
        """The code it was closed with, whatever comes before."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.frame()
        assert self.connection.close_code is not None
        return self.connection.close_code


@asynccontextmanager
async def talking(port: int, token: str | None, *, namespace: str = "default", **more: Any) -> AsyncIterator[Talker]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    url = f"ws://127.0.0.1:{port}/v1/namespaces/{namespace}/socket"
    async with connect(url, additional_headers=headers, max_size=None, **more) as connection:
        yield Talker(connection)


async def connect_narrowly(port: int, *, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection of which the system takes little that nobody reads; by itself it may take tens of megabytes."""
    plug = socket.socket()
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**14)
    plug.setblocking(False)
    await asyncio.get_running_loop().sock_connect(plug, ("127.0.0.1", port))
    return await asyncio.open_connection(sock=plug, limit=limit)
