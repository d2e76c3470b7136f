"""Routes for those who follow what happens: page by page here, as it comes in `stream` and `sockets`."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.api.checks import check
from windlass.model.feed import FeedPage, ReadFeed
from windlass.model.time import SECOND, Duration
from windlass.server.http import asked, telling, told
from windlass.server.http.calls import NAMESPACE, Call, Kind, Row

FEED = f"{NAMESPACE}/feed"


async def read_feed(call: Call) -> told.FeedAnswer:
    query: asked.FeedQuery = call.query
    command = check(
        ReadFeed(
            namespace=call.namespace,
            cursor=query.cursor,
            subject_kind=query.subject_kind,
            subject_id=query.subject_id,
            limit=query.limit,
        )
    )
    page = await call.service.feed.read_feed(command)
    if not page.entries and query.wait_secs:
        page = await _later(call, command, page)
    return telling.feed(page)


async def _later(call: Call, command: ReadFeed, page: FeedPage) -> FeedPage:
    """What has come once something came, or nothing after `wait_secs`; at once when the server is about to stop."""
    feed, wait_for = call.service.feed, Duration(int(call.query.wait_secs * SECOND))
    await call.site.unless_stopping(feed.wait_for_news(call.namespace, wait_for, page.cursor), call.caller)
    return await feed.read_feed(replace(command, cursor=page.cursor))


ROWS = (
    Row(
        method="GET",
        path=FEED,
        operation="read_feed",
        op="feed.read",
        summary="The log of a namespace from a cursor on, page by page; with `wait_secs` once there is more.",
        handler=read_feed,
        query=asked.FeedQuery,
        answer=told.FeedAnswer,
    ),
    Row(
        method="GET",
        path=f"{FEED}/stream",
        operation="read_feed",
        id="stream_feed",
        summary="The same as it comes, as server-sent events. Last-Event-ID or `cursor` says where to go on.",
        query=asked.StreamQuery,
        answer=told.FeedLine,
        kind=Kind.STREAM,
    ),
    Row(
        method="GET",
        path=f"{NAMESPACE}/socket",
        operation="server_info",
        id="open_socket",
        summary="A WebSocket: requests and answers as frames, and events of the log.",
        kind=Kind.SOCKET,
    ),
)
