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
from http.cookies import CookieError, SimpleCookie

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


def token_of(headers: Headers) -> str | None:
    """What the session cookie holds; nothing if there is none, or more than one."""
    given = [value for name, value in headers if name == b"cookie"]
    if len(given) != 1 or not given[0].isascii():
        return None
    try:
        found = SimpleCookie(given[0].decode()).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value or None


def cookie(token: str, *, is_tls: bool) -> tuple[bytes, bytes]:
    """The header that signs a browser in, or with an empty token out."""
    age = SESSION_FOR // SECOND if token else 0
    secure = "; Secure" if is_tls else ""
    text = f"{COOKIE}={token}; Path=/ui; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"
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
