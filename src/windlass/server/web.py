"""HTTP on a port: uvicorn on our loop, without its signal handlers, and with limits on how slowly a caller may send.

connection ── header within 10 s, 16 KiB ── body within 30 s ── answer ── the next header within 30 s
                                                                  └ taken by the caller, a bit of it every 30 s
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from windlass.model.time import SECOND, Duration
from windlass.runtime import Clock, Timer
from windlass.server.connections import CURRENT, Connection, Connections
from windlass.server.entrance import Entrance
from windlass.server.limits import UNLIMITED, Limits, limits_for
from windlass.server.listening import bind

HEADER_BYTES = 16 * 1024
PIECE_BYTES = 512
FRAME_BYTES = 1024 * 1024
FRAMES_WAITING = 16
HEADER_WITHIN = 10 * SECOND
BODY_WITHIN = 30 * SECOND
TAKEN_WITHIN = 30 * SECOND
IDLE_SECONDS = 30


class WebListener:
    """An ASGI app on a port: a `Listener`."""

    def __init__(
        self,
        app: Any,
        *,
        host: str,
        port: int,
        tls: ssl.SSLContext | None,
        clock: Clock,
        limits: Limits | None = None,
    ) -> None:
        self._host, self._port, self._tls, self._clock = host, port, tls, clock
        self._connections = Connections(limits or limits_for(UNLIMITED))
        self._server = _Server(_config(app, clock))
        self._entrance: Entrance | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        return self._port

    async def start(self) -> None:
        listening = bind(self._host, self._port, setting="server.http_port")
        self._port = listening.getsockname()[1]
        # Else each of its refusals of something that is not HTTP would be a line in our log.
        logging.getLogger("uvicorn").setLevel(logging.ERROR)
        self._server.config.load()
        self._serving = asyncio.ensure_future(self._server.serve(sockets=[]))  # it listens nowhere itself
        self._serving.add_done_callback(lambda _: self._server.is_up.set())
        await self._server.is_up.wait()
        if self._serving.done():
            listening.close()
            await self._serving  # raises why it did not start
        self._entrance = Entrance(
            listening, self._server.hear, connections=self._connections, tls=self._tls, clock=self._clock
        )
        self._entrance.open()

    async def drain(self, grace_for: Duration) -> None:
        if self._serving is None or self._entrance is None:
            return
        await self._entrance.close()
        self._server.config.timeout_graceful_shutdown = max(0, -(-grace_for // SECOND))  # whole seconds, rounded up
        self._server.should_exit = True
        await asyncio.wait((self._serving,))

    async def stop(self) -> None:
        if self._serving is None or self._entrance is None:
            return
        await self._entrance.close()
        self._server.should_exit = self._server.force_exit = True
        await self._serving
        for connection in tuple(self._server.server_state.connections):
            connection.transport.abort()
        self._serving = None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    def hear(self, connection: Connection) -> asyncio.Protocol:
        """What hears a connection."""
        protocol: GuardedProtocol = self.config.http_protocol_class(  # type: ignore[assignment, call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        protocol.count_as(connection)
        return protocol

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # signals are heard by whoever runs the process


def _config(app: Any, clock: Clock) -> uvicorn.Config:
    class Protocol(GuardedProtocol):
        guard_clock = clock

    class Socket(TakenSocket):
        guard_clock = clock

    return uvicorn.Config(
        app,
        http=Protocol,
        ws=Socket,
        ws_max_size=FRAME_BYTES,
        ws_max_queue=FRAMES_WAITING,
        ws_per_message_deflate=False,
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        h11_max_incomplete_event_size=HEADER_BYTES,
        reset_contextvars=True,
    )


class Taken:
    """uvicorn's own waits for ever for a caller that takes nothing of its answer, and keeps that for as long."""

    guard_clock: Clock
    transport: asyncio.Transport
    _stalled: Timer | None = None

    def pause_writing(self) -> None:
        super().pause_writing()  # type: ignore[misc]
        if self._stalled is None:
            self._look_again()

    def resume_writing(self) -> None:
        super().resume_writing()  # type: ignore[misc]
        self._stop_looking()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)  # type: ignore[misc]
        self._stop_looking()

    def _look_again(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stalled = self.guard_clock.call_later(TAKEN_WITHIN, self._look_at, left)

    def _look_at(self, left: int) -> None:
        if self.transport.get_write_buffer_size() < left:  # slow, and not stuck
            self._look_again()
        else:
            self._stalled = None
            self.transport.abort()

    def _stop_looking(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


class Counted:
    """A connection that is counted, and says so to what is asked over it."""

    app: Any
    connection: Connection | None = None

    def count_as(self, connection: Connection) -> None:
        self.connection = connection
        app = self.app

        async def entered(scope: Any, receive: Any, send: Any) -> None:
            CURRENT.set(connection)
            await app(scope, receive, send)

        self.app = entered

    def connection_lost(self, exc: Exception | None) -> None:
        if self.connection is not None:
            self.connection.leave()
        super().connection_lost(exc)  # type: ignore[misc]


class TakenSocket(Counted, Taken, WebSocketsSansIOProtocol):
    """A WebSocket."""


class GuardedProtocol(Counted, Taken, H11Protocol):
    """uvicorn's own waits for a header and a body as long as it takes: those who send them slowly could hold it up."""

    guard_clock: Clock
    _timer: Timer | None = None
    _awaited: object = None  # for what the timer runs

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        super().handle_websocket_upgrade(event)
        upgraded, connection = self.transport.get_protocol(), self.connection
        if connection is not None and isinstance(upgraded, Counted):
            upgraded.count_as(connection)

    def data_received(self, data: bytes) -> None:
        # In pieces, as long as it is a header: the limit is looked at only where one has not ended yet.
        while data and self._is_ours() and self.conn.their_state is h11.IDLE:
            super().data_received(data[:PIECE_BYTES])
            data = data[PIECE_BYTES:]
        if data and self._is_ours():
            super().data_received(data)
        elif data and not self.transport.is_closing():
            self.transport.get_protocol().data_received(data)  # type: ignore[attr-defined]
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is told so in the form of every other error."""
        text = "This is not HTTP as it should be, or its header is too long."
        error = {"code": "invalid_input", "reason": "invalid_http", "message": text, "path": "", "request_id": ""}
        body = json.dumps({"error": error}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"connection", b"close"),
        ]
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _watch(self) -> None:
        """Arm the timer for what is awaited now; more of the same does not prolong it."""
        awaited = self._what_is_awaited()
        if awaited == self._awaited and self._timer is not None:
            return
        self._stop_timer()
        self._awaited = awaited
        if awaited is not None:
            self._timer = self.guard_clock.call_later(awaited[1], self._too_late)

    def _is_ours(self) -> bool:
        """Neither closed nor a WebSocket by now, which has its own limits."""
        return not self.transport.is_closing() and self.transport.get_protocol() is self

    def _what_is_awaited(self) -> tuple[object, int] | None:
        """What the caller has begun to send, and how long it may take."""
        if not self._is_ours():
            return None
        if self.conn.their_state is h11.SEND_BODY:
            return (self.cycle, BODY_WITHIN)
        if self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            return ("header", HEADER_WITHIN)
        return None

    def _too_late(self) -> None:
        self._timer = None
        if self._what_is_awaited() == self._awaited:
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
