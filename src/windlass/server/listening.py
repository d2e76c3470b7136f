"""Where a server listens: which addresses it may have, and what is said if it cannot have one."""

from __future__ import annotations

import errno
import ipaddress
import socket
from typing import Protocol

from windlass.errors import InvalidInput
from windlass.model.time import Duration

TRUSTED = "--without-tls-on-a-network-i-trust"
BACKLOG = 512


class Listener(Protocol):
    """One door of the server: gRPC or HTTP."""

    @property
    def port(self) -> int:
        """Where it listens, once it has started."""
        ...

    async def start(self) -> None: ...

    async def drain(self, grace_for: Duration) -> None:
        """Take no new calls; those that run may end, for so long at most."""
        ...

    async def stop(self) -> None: ...


def check_bind(host: str, *, has_tls: bool, is_trusted: bool) -> None:
    """A token in plain text does not leave this machine. Raises InvalidInput."""
    if is_loopback(host) or has_tls or is_trusted:
        return
    raise InvalidInput(
        f"{host} is not only this machine, and without TLS tokens would cross the network in plain text. "
        "Set server.tls_certificate and server.tls_key (--tls-certificate, --tls-key), or listen on 127.0.0.1; "
        f"behind a proxy that ends TLS, say {TRUSTED}.",
        reason="invalid_config",
        path="server.host",
    )


def is_loopback(host: str) -> bool:
    """Whether this host can be nothing but this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int, *, setting: str) -> socket.socket:
    """A socket that listens there. Raises InvalidInput if it cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise _refused(host, port, error, setting=setting) from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port is free again as soon as its server is gone
        made.bind(address)
        made.listen(BACKLOG)
        made.setblocking(False)
    except OSError as error:
        made.close()
        raise _refused(host, port, error, setting=setting) from None
    return made


def refuse_taken(host: str, port: int, *, setting: str) -> None:
    """For whoever binds by other means: see first that the port is free. Raises InvalidInput."""
    if port:
        bind(host, port, setting=setting).close()


def _refused(host: str, port: int, error: OSError | UnicodeError, *, setting: str) -> InvalidInput:
    number = error.errno if isinstance(error, OSError) else None
    is_port = number in (errno.EADDRINUSE, errno.EACCES)
    why = (isinstance(error, OSError) and error.strerror) or "no such host"
    problem = "is in use: another server runs there" if number == errno.EADDRINUSE else f"cannot be had: {why}"
    path = setting if is_port else "server.host"
    hint = f"Set {path} (--{path.removeprefix('server.').replace('_', '-')}) to another one."
    return InvalidInput(f"Port {port} of {host} {problem}. {hint}", reason="invalid_config", path=path)
