"""How a browser stays signed in: a cookie that holds a token, and the link that `windlass dev` prints.

    token ── typed into the sign-in page ────────────┐
    link  ── used once, within 10 minutes ── a key ──┴─► cookie: HttpOnly, SameSite=Strict, for these pages only

A session is a key and nothing else, so revoking the key ends it, on every server. What a form sends along is made from
the token: a page of somebody else can read neither.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable

from windlass.api.service import Access
from windlass.model.access import EVERY_NAMESPACE, CreateKey, Role
from windlass.model.time import HOUR, MINUTE, SECOND, Duration
from windlass.rules.access import SECRET_BYTES, hash_secret, make_token
from windlass.runtime import Clock, Ids, secret_bytes

COOKIE = "windlass_session"
LINK_FOR = Duration(10 * MINUTE)
SESSION_FOR = Duration(12 * HOUR)
MOST_LINKS = 20
NOTE = "signed in by a link"

Headers = Iterable[tuple[bytes, bytes]]


def cookie_name(host: str) -> str:
    """Cookies know no ports: with its port in the name, what is signed in at one server stays so beside another."""
    port = host.rpartition("]")[2].rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdecimal() and port.isascii() else COOKIE


def token_of(headers: Headers, *, host: str) -> str | None:
    """What the session cookie holds; nothing if there is none, or more than one. That of others is not looked at."""
    name = cookie_name(host).encode()
    pairs = [pair.strip() for key, value in headers if key == b"cookie" for pair in value.split(b";")]
    found = [value for key, _, value in (pair.partition(b"=") for pair in pairs) if key == name]
    return found[0].decode("ascii", errors="replace") or None if len(found) == 1 else None


def cookie(token: str, *, host: str, is_tls: bool) -> tuple[bytes, bytes]:
    """The header that signs a browser in, or with an empty token out."""
    age = SESSION_FOR // SECOND if token else 0
    secure = "; Secure" if is_tls else ""
    text = f"{cookie_name(host)}={token}; Path=/ui; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"
    return b"set-cookie", text.encode()


def form_token(token: str) -> str:
    """What every form of a session has to bring along."""
    return hmac.new(token.encode(), b"windlass form", hashlib.sha256).hexdigest()


def is_of_session(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), form_token(token).encode())


class LoginLinks:
    """Codes that sign somebody in once. They are kept in this process only, and for a short time."""

    def __init__(self, access: Access, *, clock: Clock, ids: Ids) -> None:
        self._access, self._clock, self._ids = access, clock, ids
        self._codes: dict[bytes, int] = {}

    def make(self) -> str:
        """A code for the link that whoever started this server is shown."""
        code = base64.urlsafe_b64encode(secret_bytes(SECRET_BYTES)).decode().rstrip("=")
        if len(self._codes) >= MOST_LINKS:
            del self._codes[next(iter(self._codes))]
        self._codes[hash_secret(code.encode())] = self._clock.monotonic() + LINK_FOR
        return code

    async def redeem(self, code: str) -> str | None:
        """A token for everything, of a key that ends by itself; nothing if the code is unknown, used or too old."""
        until = self._codes.pop(hash_secret(code.encode(errors="replace")), None)
        if until is None or self._clock.monotonic() >= until:
            return None
        secret = secret_bytes(SECRET_BYTES)
        made = await self._access.create_key(
            CreateKey(
                id=self._ids.key(),
                namespace=EVERY_NAMESPACE,
                roles=(Role.ADMIN,),
                secret_hash=hash_secret(secret),
                note=NOTE,
                expires_for=SESSION_FOR,
            )
        )
        return make_token(made.id, secret)

    async def end(self, key_id: str) -> None:
        """Whoever signs out of a session that a link began leaves no key behind."""
        key = await self._access.find_key(key_id)
        if key is not None and key.note == NOTE and key.revoked_at is None:
            await self._access.revoke_key(key_id)
