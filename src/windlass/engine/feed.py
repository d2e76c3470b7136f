"""Read the log of a namespace from a place on, and wait until it grows.

                    told, in an order that never changes            not told yet
    log   ····· removed │ kept ─────────────────────────────── │ a transaction older than these may still commit
                        ▲ removed                    cursor ▲   ▲ horizon

An entry is told of once every transaction that could come before it is over, so a cursor is a place and nothing else:
whatever commits late stands behind it. On SQLite there is one writer, and the horizon is the end of the log.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.engine.again import until_answered
from windlass.engine.news import News
from windlass.engine.parts import Parts
from windlass.model.feed import BEGINNING, FROM_NOW, FeedEntry, FeedPage, Place, ReadFeed
from windlass.model.run import LogEntry
from windlass.model.time import Duration
from windlass.rules import feed as rules
from windlass.rules.feed import Cursor
from windlass.store.base import Tx
from windlass.store.queries.feed import FeedQueries, FoundEntries

SCAN = 1_000  # entries in one look of which a reader wants some


class EngineFeed:
    """api.service.Feed, in process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._news: dict[str, News] = {}

    async def read_feed(self, command: ReadFeed) -> FeedPage:
        given = rules.check_read(command)
        after = BEGINNING if given is None else given.place
        # One statement, and so one look: what is removed behind it is found out by the next.
        found = await until_answered(
            self._parts.clock,
            lambda: self._parts.store.read("read_feed", lambda tx: _look(tx, command, after), single=True),
        )
        if given is not None:
            rules.check_place(given, horizon=found.horizon, removed=found.removed)
        since = max(found.horizon, found.removed) if given is None else given.since
        return _page(command, found, since=since)

    async def wait_for_news(self, namespace: str, wait_for: Duration, cursor: str | None = None) -> None:
        after = None if cursor is None else rules.read_cursor(cursor, namespace=namespace).place
        news = self._news.get(namespace)
        if news is None:
            news = self._news[namespace] = News(self._parts, namespace)
        try:
            await news.wait(wait_for, after=after)
        finally:
            if not news.has_waiters:
                self._news.pop(namespace, None)

    async def close(self) -> None:
        """Let everybody go who waits."""
        for news in tuple(self._news.values()):
            await news.close()


async def _look(tx: Tx, command: ReadFeed, after: Place) -> FoundEntries:
    feed, limit = FeedQueries(tx.connection), command.limit + 1
    if command.cursor == FROM_NOW:
        limit = 0
    if command.subject_kind is None:
        return await feed.page(command.namespace, after=after, limit=limit)
    if command.subject_id is None:
        return await feed.page(command.namespace, after=after, limit=max(limit, SCAN))
    return await feed.of_subject(
        command.namespace, kind=command.subject_kind, id=command.subject_id, after=after, limit=limit
    )


def _page(command: ReadFeed, found: FoundEntries, *, since: Place) -> FeedPage:
    def written(place: Place) -> str:
        return rules.write_cursor(Cursor(place, since), namespace=command.namespace)

    wanted = [(place, entry) for place, entry in found.entries if _is_wanted(entry, command)]
    told = wanted[: command.limit]
    entries = tuple(FeedEntry(cursor=written(place), entry=entry) for place, entry in told)
    end = _end(command, found, told)
    return FeedPage(
        entries=entries,
        cursor=written(found.horizon if end is None else end),
        has_more=end is not None,
    )


def _is_wanted(entry: LogEntry, command: ReadFeed) -> bool:
    return entry.namespace == command.namespace and command.subject_kind in (None, entry.subject_kind)


def _end(command: ReadFeed, found: FoundEntries, told: Sequence[tuple[Place, LogEntry]]) -> Place | None:
    """Where the next page begins; none: all was read that there is."""
    last = found.entries[-1][0] if found.entries else None
    if len(told) == command.limit and last != told[-1][0]:
        return told[-1][0]
    is_full = len(found.entries) > (command.limit if command.subject_kind is None or command.subject_id else SCAN - 1)
    return last if is_full else None
