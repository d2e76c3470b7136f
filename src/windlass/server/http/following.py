"""Follow the log from a cursor on: what a stream and a subscription have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec.structs import replace

from windlass.api.checks import check
from windlass.model.feed import FeedPage, ReadFeed
from windlass.server.http.asked import StreamQuery
from windlass.server.http.calls import LOOK_AGAIN_EVERY, Site

PAGE = 100


def wanted(query: StreamQuery, *, namespace: str, cursor: str | None) -> ReadFeed:
    command = ReadFeed(
        namespace=namespace,
        cursor=cursor,
        subject_kind=query.subject_kind,
        subject_id=query.subject_id,
        limit=PAGE,
    )
    return check(command)


async def pages(site: Site, command: ReadFeed, first: FeedPage) -> AsyncIterator[FeedPage]:
    """Page after page until the server is about to stop; an empty one every 2 s while nothing happens."""
    page, feed = first, site.service.feed
    while True:
        yield page
        if not page.has_more:
            await site.unless_stopping(feed.wait_for_news(command.namespace, LOOK_AGAIN_EVERY, page.cursor))
        if site.serving.is_stopping:
            return
        page = await feed.read_feed(replace(command, cursor=page.cursor))
