"""Which run a start key belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.run import RunId
from windlass.model.time import Duration, Instant

if TYPE_CHECKING:
    from windlass.store.base import Connection


class NewKey(Struct, frozen=True, kw_only=True, gc=False):
    namespace: str
    key: str
    name: str
    version: str
    input_hash: bytes
    run_id: RunId
    expires_for: Duration | None = None  # none: for ever


class KeyOwner(Struct, frozen=True, kw_only=True):
    run_id: RunId
    name: str
    version: str
    input_hash: bytes


class KeyQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def take(self, rows: Sequence[NewKey]) -> Mapping[int, Instant]:
        """Take keys that are free or expired. A missing ordinal has an owner already."""
        return await self._connection.batch("take_keys", rows)

    async def owners(self, namespace: str, keys: Sequence[str]) -> dict[str, KeyOwner]:
        rows = await self._connection.all("owners_of_keys", namespace=namespace, keys=keys)
        return {row[0]: KeyOwner(run_id=row[1], name=row[2], version=row[3], input_hash=row[4]) for row in rows}
