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
from windlass.model.time import Duration
from windlass.rules import feed as rules
from windlass.rules.feed import Cursor
from windlass.store.base import Tx
from windlass.store.queries.feed import Edge, FeedQueries, FoundEntry

SCAN = 1_000  # entries in one look of which a reader wants some


class EngineFeed:
    """api.service.Feed, in process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._news: dict[str, News] = {}

    async def read_feed(self, command: ReadFeed) -> FeedPage:
        given = rules.check_read(command)
        after = BEGINNING if given is None else given.place

        async def look(tx: Tx) -> tuple[Edge, list[FoundEntry]]:
            edge = await FeedQueries(tx.connection).edge(command.namespace)
            if given is not None:
                rules.check_place(given, horizon=edge.horizon, removed=edge.removed)
            is_new = command.cursor == FROM_NOW
            return edge, [] if is_new else await _look(tx, command, after=after, before=edge.horizon)

        # In one snapshot: what is removed behind it is found out by the next look.
        edge, found = await until_answered(self._parts.clock, lambda: self._parts.store.read("read_feed", look))
        since = max(edge.horizon, edge.removed) if given is None else given.since
        return _page(command, found, horizon=edge.horizon, since=since)

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


async def _look(tx: Tx, command: ReadFeed, *, after: Place, before: Place) -> list[FoundEntry]:
    feed, limit = FeedQueries(tx.connection), _scanned(command)
    if command.subject_kind is None or command.subject_id is None:
        return await feed.page(command.namespace, after=after, before=before, limit=limit)
    subject = command.subject_kind, command.subject_id
    return await feed.of_subject(command.namespace, subject=subject, after=after, before=before, limit=limit)


def _scanned(command: ReadFeed) -> int:
    """How many entries are looked at for one page: one more than it holds, or many of which few may be wanted."""
    is_sparse = command.subject_kind is not None and command.subject_id is None
    return max(SCAN, command.limit + 1) if is_sparse else command.limit + 1


def _page(command: ReadFeed, found: Sequence[FoundEntry], *, horizon: Place, since: Place) -> FeedPage:
    def written(place: Place) -> str:
        return rules.write_cursor(Cursor(place, since), namespace=command.namespace)

    wanted = [item for item in found if item.is_own and command.subject_kind in (None, item.entry.subject_kind)]
    told = wanted[: command.limit]
    is_all = len(found) < _scanned(command)
    end = told[-1].place if len(wanted) > len(told) else horizon if is_all else found[-1].place
    return FeedPage(
        entries=tuple(FeedEntry(cursor=written(item.place), entry=item.entry) for item in told),
        cursor=written(end),
        has_more=end != horizon,
    )
