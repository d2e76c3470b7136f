"""The log in the order of its feed: what has been told stays where it is, and nothing comes in before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.feed import BEGINNING, Place
from windlass.model.run import LogEntry
from windlass.store.rows import log_entry_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection, Row


class FoundEntries(Struct, frozen=True, kw_only=True):
    """What one look at the feed has found. Rows of other namespaces may be among it, and count."""

    horizon: Place  # so far the feed goes: whatever is not in it yet comes behind
    removed: Place  # the last place from which something was removed
    entries: Sequence[tuple[Place, LogEntry]]


class FeedQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(self, namespace: str, *, after: Place, limit: int) -> FoundEntries:
        rows = await self._connection.all("feed_page", namespace=namespace, xid=after.xid, seq=after.seq, limit=limit)
        return _found(rows)

    async def of_subject(self, namespace: str, *, kind: str, id: str, after: Place, limit: int) -> FoundEntries:
        rows = await self._connection.all(
            "feed_of_subject",
            namespace=namespace,
            subject_kind=kind,
            subject_id=id,
            xid=after.xid,
            seq=after.seq,
            limit=limit,
        )
        return _found(rows)

    async def newest(self, namespace: str) -> Place:
        """The last place of the feed, or one behind it where others have written since."""
        row = await self._connection.first("newest_of_feed", namespace=namespace)
        return BEGINNING if row is None else Place(row[0], row[1])


def _found(rows: Sequence[Row]) -> FoundEntries:
    first = rows[0]  # there is always one: without an entry it says how far the feed goes
    return FoundEntries(
        horizon=Place(first[0], first[1]),
        removed=BEGINNING if first[2] is None else Place(first[2], first[3]),
        entries=[(Place(row[4], row[5]), log_entry_from_row(row[5:])) for row in rows if row[5] is not None],
    )
