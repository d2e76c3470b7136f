"""What a token looks like, and what a key allows.

    wl_01JCXS2M8Q4T6V8W0Y2A4C6E8G_q3Zl…      shown once, when the key is made; kept nowhere
       └ the key's id without "key_" ┘ └ 32 random bytes in base64url: 43 characters

The secret has 256 bits, so its plain SHA-256 is enough to keep: nobody finds a secret that fits it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Collection

from windlass.model.access import EVERY_NAMESPACE, Key, Role
from windlass.model.time import Instant

SECRET_BYTES = 32
_ID = "[0-9A-HJKMNP-TV-Z]{26}"
KEY_ID = re.compile(f"key_{_ID}")
TOKEN = re.compile(f"wl_({_ID})_([A-Za-z0-9_-]{{43}})")


def make_token(key_id: str, secret: bytes) -> str:
    """The text that opens the door: what a caller sends as `Authorization: Bearer …`."""
    return f"wl_{key_id.removeprefix('key_')}_{base64.urlsafe_b64encode(secret).decode().rstrip('=')}"


def parse_token(text: str) -> tuple[str, bytes] | None:
    """The key's id and the secret; nothing if this is no token. There is one way to write each."""
    match = TOKEN.fullmatch(text)
    if match is None:
        return None
    key_id, secret = f"key_{match[1]}", base64.urlsafe_b64decode(f"{match[2]}=")
    return (key_id, secret) if make_token(key_id, secret) == text else None


def hash_secret(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def matches(key: Key, secret: bytes) -> bool:
    """Whether this is the secret of the key. Takes as long for a wrong one as for the right one."""
    return hmac.compare_digest(key.secret_hash, hash_secret(secret))


def is_live(key: Key, *, now: Instant) -> bool:
    """Neither revoked nor expired. A key is good up to its expiry, and not at it."""
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def is_for(key: Key, namespace: str) -> bool:
    """Whether the key is of this namespace, or of all of them."""
    return key.namespace in (EVERY_NAMESPACE, namespace)


def has_role(key: Key, roles: Collection[Role]) -> bool:
    return not set(key.roles).isdisjoint(roles)
