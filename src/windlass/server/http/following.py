"""Follow the log from a cursor on, all of it or what it says of signals: what a stream and a subscription share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.checks import check
from windlass.model.feed import FeedEntry, FeedPage, ReadFeed
from windlass.server.http import frames, telling, telling_of_signals
from windlass.server.http.asked import StreamQuery
from windlass.server.http.asked_of_signals import SignalStreamQuery
from windlass.server.http.calls import LOOK_AGAIN_EVERY, Site
from windlass.server.http.told import Told

PAGE = 100


class Following(Struct, frozen=True):
    """Which entries somebody follows, and how each of them is told."""

    subject: Callable[[Any], dict[str, str | None]]  # of what was asked for
    event: Callable[[FeedEntry], tuple[str, Told]]  # over a stream: its name, and what it says
    frame: Callable[[FeedEntry, str], Told]  # over a socket, with the id of the subscription

    def wanted(self, query: Any, *, namespace: str, cursor: str | None) -> ReadFeed:
        return check(ReadFeed(namespace=namespace, cursor=cursor, limit=PAGE, **self.subject(query)))


def _subject_of_log(query: StreamQuery) -> dict[str, str | None]:
    return {"subject_kind": query.subject_kind, "subject_id": query.subject_id}


def _subject_of_signals(query: SignalStreamQuery) -> dict[str, str | None]:
    return {"subject_kind": "signal", "subject_id": query.signal_id}


def _log_event(item: FeedEntry) -> tuple[str, Told]:
    return "log", telling.feed_line(item)


def _log_frame(item: FeedEntry, subscription: str) -> Told:
    return frames.LogEvent(subscription=subscription, cursor=item.cursor, entry=telling.entry(item.entry))


LOG = Following(_subject_of_log, _log_event, _log_frame)
SIGNALS = Following(_subject_of_signals, telling_of_signals.event, telling_of_signals.event_frame)
FOLLOWED = {"stream_feed": LOG, "stream_signals": SIGNALS}  # by the name of the route


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
