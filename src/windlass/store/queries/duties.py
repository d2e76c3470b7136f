"""What somebody should have removed by now, and who keeps it from being removed. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.checkup import Cursor
from windlass.model.time import Duration

if TYPE_CHECKING:
    from windlass.store.base import Connection


class EndedCount(Struct, frozen=True, kw_only=True):
    """How many runs of a namespace are over, and how many of these should be gone."""

    namespace: str
    ended: int
    late: int
    unread: int  # of the late ones: a cursor has not come to their end


class DutyQueries:
    """For doctor and for tests: `DutyQueries(tx.connection)` inside `store.read`. It reads whole tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def cursors(self) -> list[Cursor]:
        """The slowest of a namespace first."""
        rows = await self._connection.all("every_cursor")
        return [Cursor(namespace=row[0], name=row[1], seq=row[2], moved_at=row[3]) for row in rows]

    async def ended(self, *, keep_for: Duration | None, late_for: Duration) -> list[EndedCount]:
        """Runs that are over, by namespace. `late_for`: how long ago they should have been removed."""
        rows = await self._connection.all("count_kept_runs", keep_for=keep_for, late_for=late_for)
        return [EndedCount(namespace=row[0], ended=row[1], late=row[2], unread=row[3]) for row in rows]
