"""The log of a namespace as it is followed from outside: in an order that never changes, from a place one can keep."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from windlass.model.run import LogEntry

FEED_LIMIT = 500
FROM_NOW = "now"  # as a cursor: nothing that is there already


class Place(NamedTuple):
    """Where an entry stands in the feed. `xid` orders transactions on PostgreSQL; on SQLite it is 0."""

    xid: int
    seq: int


BEGINNING = Place(0, 0)


class ReadFeed(Struct, frozen=True, kw_only=True):
    """`cursor` is what an entry or a page came with; none: from the beginning of what is kept; "now": from now on."""

    namespace: str
    cursor: str | None = None
    subject_kind: str | None = None  # only these: "run", "schedule", "gate", …
    subject_id: str | None = None
    limit: int = 100


class FeedEntry(Struct, frozen=True, kw_only=True):
    cursor: str  # go on behind this entry
    entry: LogEntry


class FeedPage(Struct, frozen=True, kw_only=True):
    entries: tuple[FeedEntry, ...]
    cursor: str  # go on from here, also where nothing was found
    has_more: bool  # there is more already
