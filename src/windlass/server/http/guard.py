"""What is refused before anybody is asked who they are: a wrong host, a page of somebody else, a path in disguise."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from windlass.server.http.errors import Refused, not_found

LONGEST_PATH = 2_048
LONGEST_QUERY = 8_192
MAX_HEADERS = 16_384
PATH = re.compile(rb"(?:/(?:[A-Za-z0-9._~!$'()*+,=:@-]|%[0-9A-Fa-f]{2})+)+")
# A slash, a backslash, a dot, a percent sign or a control character that does not show as one.
DISGUISED = re.compile(rb"%(?:2[eEfF5]|5[cC]|7[fF]|[01][0-9A-Fa-f])")
HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
# No page of anybody may show, guess or keep what stands in an answer.
SAFE = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
SCHEMES = {"https": "https", "wss": "https", "http": "http", "ws": "http"}

Headers = Iterable[tuple[bytes, bytes]]


class Guard:
    """The names this server goes by, and the pages that may speak to it."""

    def __init__(self, *, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.rstrip("/") for origin in origins)

    def check_host(self, headers: Headers) -> str:
        """Whoever resolved another name to this address is not meant, or not to be trusted."""
        given = [value for name, value in headers if name == b"host"]
        host = given[0].decode("latin-1") if len(given) == 1 else ""
        found = HOST.fullmatch(host)
        if found is None or not self._is_ours(found[1].lower()):
            raise Refused(421, "misdirected", "This server does not go by that name. Set server.allowed_hosts.")
        return host.lower()

    def _is_ours(self, host: str) -> bool:
        if host == "localhost" or host in self._hosts:
            return True
        try:
            return ipaddress.ip_address(host.strip("[]")).is_loopback
        except ValueError:
            return False

    def check_origin(self, headers: Headers, *, host: str, scheme: str) -> None:
        """A page of somebody else may not act through a browser that can reach this server."""
        sites = [value for name, value in headers if name == b"sec-fetch-site"]
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        own = f"{SCHEMES.get(scheme, 'http')}://{host}"
        is_foreign = any(origin.lower() != own and origin not in self._origins for origin in origins)
        # A page of an allowed origin is on another site, and says so.
        if is_foreign or len(origins) > 1 or (not origins and any(site == b"cross-site" for site in sites)):
            raise Refused(403, "forbidden", "This origin may not speak to this server. Set server.allowed_origins.")


def check_target(raw_path: bytes, query: bytes) -> None:
    """One spelling per path: nothing encoded that would read as another one, no empty part, no dots."""
    if len(raw_path) > LONGEST_PATH or len(query) > LONGEST_QUERY:
        raise Refused(414, "url_too_long", f"A path has at most {LONGEST_PATH:,} bytes, a query {LONGEST_QUERY:,}.")
    if PATH.fullmatch(raw_path) is None or DISGUISED.search(raw_path):
        raise not_found()
    if any(part in (b".", b"..") for part in raw_path.split(b"/")):
        raise not_found()


def check_headers(headers: Headers) -> None:
    if sum(len(name) + len(value) for name, value in headers) > MAX_HEADERS:
        raise Refused(431, "headers_too_large", f"Headers have at most {MAX_HEADERS:,} bytes together.")
    if len({name for name, _ in headers} & {b"content-length", b"transfer-encoding"}) > 1:
        raise Refused(400, "invalid_input", "Content-Length and Transfer-Encoding contradict each other: send one.")


def token_of(headers: Headers) -> str | None:
    """What stands behind "Bearer ", if there is one header and it says that."""
    given = [value for name, value in headers if name == b"authorization"]
    if len(given) != 1 or not given[0].isascii():
        return None
    scheme, _, token = given[0].decode().partition(" ")
    return token.strip(" ") if scheme.lower() == "bearer" else None


def check_content(headers: Headers) -> None:
    """JSON in UTF-8, not compressed. A form of another page can send neither."""
    types = [value.decode("latin-1").lower() for name, value in headers if name == b"content-type"]
    kind, _, parameters = (types[0] if len(types) == 1 else "").partition(";")
    if kind.strip() != "application/json" or parameters.strip().replace('"', "") not in ("", "charset=utf-8"):
        raise Refused(415, "unsupported_media_type", "A body is sent as Content-Type: application/json, in UTF-8.")
    for name, value in headers:
        if name == b"content-encoding" and value.lower() != b"identity":
            raise Refused(415, "unsupported_media_type", "A body is sent as it is: Content-Encoding is not accepted.")
