"""Which database or server a URL names, and how it may be shown: never with its password."""

from __future__ import annotations

import ipaddress
import re
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from windlass.errors import InvalidInput


class Location(Struct, frozen=True, kw_only=True):
    """A database, or a server that has one, as its URL names it."""

    kind: Literal["sqlite", "postgresql", "grpc"]
    target: str  # a path (or ":memory:"), the whole URL, or the host and port of a server
    shown: str  # the same without its password: the only form that may be logged
    # Of a server, or of several that serve one database:
    hosts: tuple[tuple[str, int], ...] = ()  # each with its port
    is_tls: bool = False


FORMS = (
    "Accepted: a file path, sqlite:///relative/path, sqlite:////absolute/path, "
    "postgresql://user@host/database, postgres://user@host/database, grpc://host:7420, grpcs://host:7420."
)
GRPC_PORT = 7420
HOST = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*", re.I | re.ASCII
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.ASCII | re.DOTALL)  # two letters at least: C:\ is a drive


def parse_url(url: str, *, source: str = "url") -> Location:
    """Read a database URL. Raises InvalidInput, whose text never holds a password."""
    if not isinstance(url, str):
        raise _bad_url(source, f"must be a text, not {type(url).__name__}")
    if not url.strip() or any(ord(character) < 32 or 0xD800 <= ord(character) <= 0xDFFF for character in url):
        raise _bad_url(source, "is empty or holds control characters")
    match = _SCHEME.fullmatch(url)
    if match is None:
        if "//" in url and "@" in url:  # a URL with a slip in its scheme, and perhaps a password behind it
            raise _bad_url(source, "is neither a path nor a known URL")
        return Location(kind="sqlite", target=url, shown=url)
    scheme, rest = match[1].lower(), match[2]
    if scheme == "sqlite":
        return _sqlite(rest, source)
    if scheme in ("postgresql", "postgres"):
        return _postgresql(url, rest, source)
    if scheme in ("grpc", "grpcs"):
        return _server(url, rest, source, is_tls=scheme == "grpcs")
    raise _bad_url(source, f"starts with {scheme}:, which is not known")


def has_password(url: str) -> bool:
    location = parse_url(url)
    return location.kind == "postgresql" and location.shown != url


def _sqlite(rest: str, source: str) -> Location:
    path = unquote(rest.removeprefix("///"))
    if not rest.startswith("///") or not path:
        raise _bad_url(source, "needs three slashes and a path behind sqlite:")
    if "?" in rest or "#" in rest:
        raise _bad_url(source, "has options behind the path, and there are none for sqlite")
    return Location(kind="sqlite", target=path, shown=path)


def _postgresql(url: str, rest: str, source: str) -> Location:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad_url(source, "has a port or a host that cannot be read") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if not rest.startswith("//") or not (parts.hostname or options.get("host")):
        raise _bad_url(source, "names no host")
    if port == 0:
        raise _bad_url(source, "has port 0; ports go from 1 to 65535")
    user, mark, server = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    shown = f"{parts.scheme}://{name}{':***' if colon else ''}{mark}{server}{parts.path}"
    if parts.query:
        query = "&".join(
            f"{option.partition('=')[0]}=***" if "password" in option.partition("=")[0].lower() else option
            for option in parts.query.split("&")
        )
        shown += f"?{query}"
    return Location(kind="postgresql", target=url, shown=shown)


def _server(url: str, rest: str, source: str, *, is_tls: bool) -> Location:
    """A token is sent in plain text to this machine only: every other host is asked over TLS, under both names."""
    if "@" in rest:
        raise _bad_url(source, "names a user, and a server knows keys: set WINDLASS_TOKEN")
    if not rest.startswith("//") or "?" in rest or "#" in rest or "/" in rest[2:].rstrip("/"):
        raise _bad_url(source, "has something else than the hosts and ports of servers behind its scheme")
    hosts = tuple(_host(text, source) for text in rest[2:].rstrip("/").split(","))
    if len(set(hosts)) < len(hosts):
        raise _bad_url(source, "names a server twice")
    target = ",".join(f"{f'[{host}]' if ':' in host else host}:{port}" for host, port in hosts)
    is_tls = is_tls or not all(is_loopback(host) for host, _ in hosts)
    shown = f"{'grpcs' if is_tls else 'grpc'}://{target}"
    return Location(kind="grpc", target=target, shown=shown, hosts=hosts, is_tls=is_tls)


def _host(text: str, source: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _bad_url(source, "has a port or a host that cannot be read") from None
    if not (is_address(host) or HOST.fullmatch(host)):
        raise _bad_url(source, "names no host")
    if port == 0:
        raise _bad_url(source, "has port 0; ports go from 1 to 65535")
    return host, port or GRPC_PORT


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether this host can be nothing but this machine."""
    return host.lower() == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def _bad_url(source: str, problem: str) -> InvalidInput:
    return InvalidInput(f"The database URL ({source}) {problem}. {FORMS}", reason="invalid_config", path=source)
