"""Is anyone told, and whom? What is not switched on is not even imported."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from windlass.errors import InvalidInput
from windlass.telemetry.guarded import GuardedObserver
from windlass.telemetry.observer import Observer

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    MetricsRegistry: TypeAlias = CollectorRegistry
else:
    MetricsRegistry = Any  # to be named by those who must not import what may not be installed

LOGGER = logging.getLogger("windlass.telemetry")


class Telemetry:
    """What an app was told to tell about itself.

    A program that shows its metrics itself gives the registry to count into, and need not name a port.
    """

    def __init__(
        self,
        *,
        metrics_port: int | None,
        metrics_host: str,
        traces: bool,
        registry: MetricsRegistry | None = None,
    ) -> None:
        self._port, self._host, self._has_traces, self._registry = metrics_port, metrics_host, traces, registry
        self._observer: Observer | None = None

    def observer(self) -> Observer | None:
        """Whom to tell, or None. Raises InvalidInput if what is switched on is not installed."""
        if self._observer is None:
            observers: list[Observer] = []
            if self._port is not None or self._registry is not None:
                observers.append(_make_metrics(self._registry))
            if self._has_traces:
                observers.append(_make_traces())
            self._observer = GuardedObserver(observers) if observers else None
        return self._observer

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Answer on the port, if there is one, while the block lasts. Raises InvalidInput if it cannot be had."""
        if self._port is None:
            yield
            return
        place = _Place(self._host, self._port, self._registry)
        _share(place)
        try:
            yield
        finally:
            await asyncio.to_thread(_leave, place)


class Served:
    """Metrics on a port. Other apps of the process that name the same port share it."""

    def __init__(self, server: Any, thread: threading.Thread) -> None:
        self._server, self._thread = server, thread
        self.users = 1

    @property
    def port(self) -> int:
        port: int = self._server.server_port
        return port

    def close(self) -> None:
        """Blocks for half a second at most, so not on a loop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def serve_metrics(host: str, port: int, *, registry: MetricsRegistry | None = None) -> Served:
    """Answer `GET /metrics` in a thread. Port 0 takes any that is free. Raises InvalidInput."""
    try:
        from prometheus_client import REGISTRY, start_http_server
    except ImportError:
        raise _not_installed("Metrics", "metrics.port", "prometheus-client", "metrics") from None
    try:
        server, thread = start_http_server(port, addr=host, registry=REGISTRY if registry is None else registry)
    except (OSError, UnicodeError) as error:
        raise _refused_port(host, port, error) from None
    if not _is_loopback(host):
        LOGGER.warning("Metrics are served on %s without a password: names of workflows and steps can be read.", host)
    return Served(server, thread)


def _refused_port(host: str, port: int, error: OSError | UnicodeError) -> InvalidInput:
    """A port that is taken, or that one may not have; or a host that is not this one."""
    number = error.errno if isinstance(error, OSError) else None
    setting = "metrics.port" if number in (errno.EADDRINUSE, errno.EACCES) else "metrics.host"
    why = (isinstance(error, OSError) and error.strerror) or str(error)
    problem = "is in use" if number == errno.EADDRINUSE else f"cannot be had: {why}"
    variable = f"WINDLASS_{setting.replace('.', '_').upper()}"
    return InvalidInput(
        f"Port {port} of {host} for metrics {problem}. Set {setting} ({variable}) to another one.",
        reason="invalid_config",
        path=setting,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Place(NamedTuple):
    host: str
    port: int
    registry: MetricsRegistry | None


_LOCK = threading.Lock()
_SERVED: dict[_Place, Served] = {}


def _share(place: _Place) -> None:
    with _LOCK:
        served = _SERVED.get(place)
        if served is None:
            _SERVED[place] = serve_metrics(place.host, place.port, registry=place.registry)
        else:
            served.users += 1


def _leave(place: _Place) -> None:
    with _LOCK:
        served = _SERVED[place]
        served.users -= 1
        if not served.users:
            del _SERVED[place]
            served.close()


def _make_metrics(registry: MetricsRegistry | None) -> Observer:
    try:
        from prometheus_client import REGISTRY, CollectorRegistry

        from windlass.telemetry.metrics import Metrics
    except ImportError:
        raise _not_installed("Metrics", "metrics.port", "prometheus-client", "metrics") from None
    if registry is not None and not isinstance(registry, CollectorRegistry):
        raise InvalidInput(
            f"metrics takes a prometheus_client.CollectorRegistry, not {type(registry).__name__}.",
            reason="invalid_option",
            path="metrics",
        )
    return Metrics(REGISTRY if registry is None else registry)


def _make_traces() -> Observer:
    try:
        from windlass.telemetry.traces import Traces
    except ImportError:
        raise _not_installed("Traces", "telemetry.traces", "opentelemetry-api", "telemetry") from None
    return Traces()


def _not_installed(what: str, setting: str, package: str, extra: str) -> InvalidInput:
    return InvalidInput(
        f"{what} are switched on ({setting}), and {package} is not installed: pip install 'windlass[{extra}]'.",
        reason="invalid_config",
        path=setting,
    )
