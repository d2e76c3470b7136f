"""Who may come in, and for what."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from windlass.model.access import Key
from windlass.store.rows import api_key_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class ApiKeyQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def insert(self, key: Key) -> bool:
        """False: the id is taken."""
        changed = await self._connection.run(
            "insert_api_key",
            namespace=key.namespace,
            id=key.id,
            roles=",".join(key.roles),
            queues=",".join(key.queues),
            note=key.note,
            secret_hash=key.secret_hash,
            created_at=key.created_at,
            created_by=key.created_by,
            expires_at=key.expires_at,
        )
        return changed == 1

    async def find(self, id: str) -> Key | None:
        """With the hash of its secret."""
        row = await self._connection.first("find_api_key", id=id)
        return None if row is None else api_key_from_row(row)

    async def list(self, namespace: str | None) -> builtins.list[Key]:
        """Of one namespace, or all; the newest first."""
        return [api_key_from_row(row) for row in await self._connection.all("list_api_keys", namespace=namespace)]

    async def revoke(self, id: str) -> bool:
        """False: it is unknown, or was revoked before."""
        return await self._connection.run("revoke_api_key", id=id) == 1

    async def revoke_all(self, namespace: str) -> int:
        """Every key that is good for this namespace only. Says how many."""
        return await self._connection.run("revoke_api_keys_of_namespace", namespace=namespace)
