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


class Edge(Struct, frozen=True, kw_only=True):
    """Ask for it in the same snapshot as for what is in the feed."""

    horizon: Place  # so far the feed goes: whatever is not in it yet comes behind
    removed: Place  # the last place from which something was removed


class FoundEntry(Struct, frozen=True, kw_only=True):
    place: Place
    is_own: bool  # of the namespace that was asked for
    entry: LogEntry


class FeedQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def edge(self, namespace: str) -> Edge:
        (row,) = await self._connection.all("feed_edge", namespace=namespace)
        removed = BEGINNING if row[2] is None else Place(row[2], row[3])
        return Edge(horizon=Place(row[0], row[1]), removed=removed)

    async def page(self, namespace: str, *, after: Place, before: Place, limit: int) -> list[FoundEntry]:
        """What comes next. Rows of other namespaces may stand between, and count."""
        rows = await self._connection.all(
            "feed_page", namespace=namespace, xid=after.xid, seq=after.seq, horizon=before.xid, limit=limit
        )
        return _entries(rows)

    async def of_subject(
        self, namespace: str, *, subject: tuple[str, str], after: Place, before: Place, limit: int
    ) -> list[FoundEntry]:
        kind, id = subject
        rows = await self._connection.all(
            "feed_of_subject",
            namespace=namespace,
            subject_kind=kind,
            subject_id=id,
            xid=after.xid,
            seq=after.seq,
            horizon=before.xid,
            limit=limit,
        )
        return _entries(rows)

    async def newest(self, namespace: str) -> Place:
        """The last place of the feed, or one behind it where other namespaces have written since."""
        row = await self._connection.first("newest_of_feed", namespace=namespace)
        return BEGINNING if row is None else Place(row[0], row[1])


def _entries(rows: Sequence[Row]) -> list[FoundEntry]:
    return [
        FoundEntry(place=Place(row[0], row[2]), is_own=bool(row[1]), entry=log_entry_from_row(row[2:])) for row in rows
    ]
