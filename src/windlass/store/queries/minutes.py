"""What ended in each minute, counted once it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.overview import Minute
from windlass.model.time import Instant

if TYPE_CHECKING:
    from windlass.store.base import Connection


class MinuteQueries:
    """`MinuteQueries(tx.connection)`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, namespace: str, *, since: Instant, limit: int) -> list[Minute]:
        rows = await self._connection.all("list_minutes", namespace=namespace, since=since, limit=limit)
        return [
            Minute(
                minute=row[0],
                ended=row[1],
                failed=row[2],
                started=row[3],
                took_sum=row[4],
                took_max=row[5],
            )
            for row in rows
        ]

    async def counted_until(self) -> str:
        """The mark, as it is written; "" where nothing was ever counted."""
        row = await self._connection.first("counted_until")
        return "" if row is None else str(row[0])

    async def first_ended(self, *, since: Instant, until: Instant) -> Instant | None:
        row = await self._connection.first("first_ended", since=since, until=until)
        return None if row is None else Instant(row[0])

    async def move(self, *, seen: str, until: Instant) -> bool:
        """False: somebody else has moved the mark since it was read."""
        return await self._connection.first("move_counted", seen=seen, until=str(until)) is not None

    async def count(self, *, since: Instant, until: Instant) -> None:
        await self._connection.run("count_minutes", since=since, until=until)

    async def forget(self, *, before: Instant) -> None:
        await self._connection.run("forget_minutes", before=before)
