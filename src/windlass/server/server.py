"""A server: gRPC and HTTP over one open database, behind one gate, with the coordinator beside them.

start    certificate · ports · gRPC · HTTP · coordinator
stop     not ready any more → long polls answered → calls end within the grace → doors shut → coordinator
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Protocol

from msgspec import Struct

from windlass.api.service import Service
from windlass.model.time import SECOND, Duration
from windlass.runtime import Clock, Ids
from windlass.server.gate import Gate
from windlass.server.health import Health
from windlass.server.limits import limits_for, raise_open_files
from windlass.server.listening import TRUSTED, Listener, check_bind, is_loopback, refuse_taken
from windlass.server.tls import Certificate, load_certificate

NO_KEY = "key_" + "0" * 26

log = logging.getLogger("windlass.server")


class ServerOptions(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    grpc_port: int = 7420  # 0: any that is free
    http_port: int = 7421
    tls_certificate: str | None = None
    tls_key: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    grace_for: Duration = Duration(30 * SECOND)
    is_network_trusted: bool = False


def check_options(options: ServerOptions) -> Certificate | None:
    """See that a server may listen like this, before anything is opened. Raises InvalidInput."""
    certificate = load_certificate(options.tls_certificate, options.tls_key)
    check_bind(options.host, has_tls=certificate is not None, is_trusted=options.is_network_trusted)
    refuse_taken(options.host, options.grpc_port, setting="server.grpc_port")
    refuse_taken(options.host, options.http_port, setting="server.http_port")
    return certificate


class Served(Service, Protocol):
    """An open database."""

    @property
    def ids(self) -> Ids: ...

    def coordinated(self) -> AbstractAsyncContextManager[None]: ...


class Doors(Struct, frozen=True, kw_only=True):
    """What makes the two listeners; a test may bring its own."""

    grpc: Callable[[Server], Listener]
    http: Callable[[Server], Listener]


class Server:
    """`async with Server(opened, options, clock=clock): …` serves while the block lasts."""

    def __init__(
        self,
        service: Served,
        options: ServerOptions,
        *,
        clock: Clock,
        doors: Doors | None = None,
        read_metrics: Callable[[], bytes] | None = None,
        make_dashboard: Callable[[Server], Any] | None = None,
    ) -> None:
        self.service, self.options, self.clock, self.read_metrics = service, options, clock, read_metrics
        self.make_dashboard = make_dashboard  # an ASGI app; none: there are no pages
        self.certificate = check_options(options)
        self.gate = Gate(service.access, service.namespaces, clock=clock)
        self.health = Health(lambda: service.access.find_key(NO_KEY), clock=clock)  # one row by its key, if any
        self.limits = limits_for(raise_open_files())
        self._doors = doors or Doors(grpc=_grpc, http=_http)
        self._grpc: Listener | None = None
        self._http: Listener | None = None
        self._open = AsyncExitStack()

    @property
    def is_tls(self) -> bool:
        return self.certificate is not None

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """By which names it may be asked, beside those of this machine."""
        own = self.options.host
        return self.options.allowed_hosts if own in ("0.0.0.0", "::") else (own, *self.options.allowed_hosts)  # noqa: S104

    @property
    def grpc_url(self) -> str:
        return f"{'grpcs' if self.is_tls else 'grpc'}://{_written(self.options.host, _port(self._grpc))}"

    @property
    def http_url(self) -> str:
        return f"{'https' if self.is_tls else 'http'}://{_written(self.options.host, _port(self._http))}"

    async def __aenter__(self) -> Server:
        if self.options.is_network_trusted and not self.is_tls and not is_loopback(self.options.host):
            log.warning("Serving %s without TLS (%s): tokens cross it in plain text.", self.options.host, TRUSTED)
        try:
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def _start(self) -> None:
        self._grpc, self._http = self._doors.grpc(self), self._doors.http(self)
        await self._grpc.start()
        await self._http.start()
        await self._open.enter_async_context(self.service.coordinated())

    async def _stop(self) -> None:
        """Nobody is sent away in the middle of a call, unless it takes longer than the grace."""
        self.health.stop()
        listeners = [listener for listener in (self._grpc, self._http) if listener is not None]
        try:
            await asyncio.gather(*(listener.drain(self.options.grace_for) for listener in listeners))
        finally:
            for listener in listeners:
                await listener.stop()
            await self._open.aclose()
            await self.gate.close()


def _grpc(server: Server) -> Listener:
    from windlass.api.grpc.server import make_server

    certificate = server.certificate
    listener: Listener = make_server(
        server.service,
        server.gate,
        clock=server.clock,
        host=server.options.host,
        port=server.options.grpc_port,
        ready=server.health,
        connections=server.limits.grpc,
        tls=None if certificate is None else (certificate.key, certificate.chain),
    )
    return listener


def _http(server: Server) -> Listener:
    from windlass.server.http.app import make_app
    from windlass.server.web import WebListener

    app = make_app(
        server.service,
        server.gate,
        serving=server.health,
        clock=server.clock,
        ids=server.service.ids,
        allowed_hosts=server.allowed_hosts,
        allowed_origins=server.options.allowed_origins,
        read_metrics=server.read_metrics,
        dashboard=None if server.make_dashboard is None else server.make_dashboard(server),
    )
    return WebListener(
        app,
        host=server.options.host,
        port=server.options.http_port,
        tls=None if server.certificate is None else server.certificate.context,
        clock=server.clock,
        limits=server.limits,
    )


def _port(listener: Listener | None) -> int:
    return 0 if listener is None else listener.port


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
