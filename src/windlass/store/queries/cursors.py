"""How far readers of the log have come that must not miss anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windlass.store.base import Connection


class CursorQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def move(self, namespace: str, *, name: str, seq: int) -> int:
        """Note how far a reader has come, and answer with where it stands: it never goes back."""
        await self._connection.run("move_cursor", namespace=namespace, name=name, seq=seq)
        row = await self._connection.first("load_cursor", namespace=namespace, name=name)
        return seq if row is None else int(row[0])

    async def drop(self, namespace: str, *, name: str) -> bool:
        """Nobody reads on from there any more. False: there is no such cursor."""
        return await self._connection.run("drop_cursor", namespace=namespace, name=name) == 1

    async def slowest(self, namespace: str) -> int | None:
        """How far the last reader of a namespace has come; none: nobody reads."""
        row = await self._connection.first("slowest_cursor", namespace=namespace)
        return None if row is None else row[0]
