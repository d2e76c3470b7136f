"""The key of whoever sets a server up: made at the first start, and shown once."""

from __future__ import annotations

from windlass.api.service import Access
from windlass.model.access import EVERY_NAMESPACE, CreateKey, Role
from windlass.model.time import Instant
from windlass.rules.access import SECRET_BYTES, hash_secret, is_live, make_token
from windlass.runtime import Clock, Ids, secret_bytes

NOTE = "made at the first start of a server"


async def make_first_key(access: Access, *, clock: Clock, ids: Ids) -> str | None:
    """A token for everything, if there is no live key of that kind yet."""
    now = Instant(clock.now())
    for key in await access.list_keys(EVERY_NAMESPACE):
        if key.namespace == EVERY_NAMESPACE and Role.ADMIN in key.roles and is_live(key, now=now):
            return None
    secret = secret_bytes(SECRET_BYTES)
    made = await access.create_key(
        CreateKey(
            id=ids.key(),
            namespace=EVERY_NAMESPACE,
            roles=(Role.ADMIN,),
            secret_hash=hash_secret(secret),
            note=NOTE,
        )
    )
    return make_token(made.id, secret)
