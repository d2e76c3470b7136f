"""Where connections of HTTP come in: one after the other, each counted before it is listened to, TLS or not."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable

from windlass.model.time import SECOND
from windlass.runtime import Clock
from windlass.server.connections import Connection, Connections

HANDSHAKE_SECONDS = 10.0
PAUSE = SECOND // 10  # when the system gives no connection

log = logging.getLogger("windlass.server")

Make = Callable[[Connection], asyncio.Protocol]


class Entrance:
    """`make` makes what hears a connection."""

    def __init__(
        self,
        listening: socket.socket,
        make: Make,
        *,
        connections: Connections,
        tls: ssl.SSLContext | None,
        clock: Clock,
    ) -> None:
        self._listening, self._make, self._connections, self._tls = listening, make, connections, tls
        self._clock = clock
        self._letting_in: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    async def close(self) -> None:
        """Let nobody in any more. Those who are in stay."""
        tasks = [*self._letting_in, *([] if self._accepting is None else [self._accepting])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._listening.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        has_failed = False
        while True:
            try:
                plug, _ = await loop.sock_accept(self._listening)
                has_failed = False
            except ConnectionError:  # gone before it was accepted
                continue
            except OSError as error:
                if not has_failed:
                    log.error("HTTP can take no more connections now: %s", error)
                has_failed = True
                await self._clock.sleep(PAUSE)
                continue
            task = loop.create_task(self._let_in(plug))
            self._letting_in.add(task)
            task.add_done_callback(self._letting_in.discard)
            await asyncio.sleep(0)  # so that those who are cut off for it are gone before the next one comes

    async def _let_in(self, plug: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        connection = self._connections.enter(task.cancel)
        within = None if self._tls is None else HANDSHAKE_SECONDS
        try:
            plug.setblocking(False)
            plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._make(connection), plug, ssl=self._tls, ssl_handshake_timeout=within
            )
            connection.cut = transport.abort
        except BaseException as error:
            connection.leave()
            plug.close()
            if not isinstance(error, (OSError, asyncio.CancelledError)):  # who does not speak TLS is no error of ours
                raise
