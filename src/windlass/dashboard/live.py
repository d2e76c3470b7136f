"""Tells an open page that something has changed, as a server-sent event; the page then asks for itself again.

At most one event a second, whatever happens; the stream ends when the session does, or the server stops.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace
from starlette.types import Receive, Send

from windlass.dashboard.asking import Ask
from windlass.dashboard.rendering import SAFE
from windlass.errors import CursorExpired
from windlass.model.feed import FeedPage, ReadFeed
from windlass.model.time import SECOND, Duration

LOOK_AGAIN_EVERY = Duration(2 * SECOND)  # whether the session still holds
HEARTBEAT_EVERY = Duration(15 * SECOND)
PACE = SECOND  # between two events
PATIENCE = 10.0  # seconds: whoever takes nothing for so long is cut off, and comes back


async def serve(ask: Ask, receive: Receive, send: Send) -> None:
    """Raises before the first byte what is wrong."""
    desk = ask.desk
    desk.take_stream(ask.caller)
    try:
        await _serve(ask, receive, send)
    except TimeoutError:  # it was cut off, or goes on in a moment
        return
    finally:
        desk.leave_stream(ask.caller)


async def _serve(ask: Ask, receive: Receive, send: Send) -> None:
    headers = [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
        *SAFE,
    ]
    page = await ask.service.feed.read_feed(_from_now_on(ask))  # before the page hears that it is live, and asks again
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await _write(send, b"retry: 2000\n\n")
    tasks = [
        asyncio.ensure_future(_tell(ask, send, page)),
        asyncio.ensure_future(_until_gone(receive)),
        asyncio.ensure_future(ask.desk.serving.until_stopping()),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
        elif tasks[2].done():
            await _write(send, b"", more=False)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _from_now_on(ask: Ask) -> ReadFeed:
    return ReadFeed(namespace=ask.namespace, cursor="now", limit=1)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _tell(ask: Ask, send: Send, page: FeedPage) -> None:
    clock, feed = ask.desk.clock, ask.service.feed
    told_at = clock.monotonic()
    while await ask.desk.gate.still_admitted(ask.caller):
        await feed.wait_for_news(ask.namespace, LOOK_AGAIN_EVERY, page.cursor)
        try:
            page = await feed.read_feed(replace(_from_now_on(ask), cursor=page.cursor))
            is_news = bool(page.entries)
        except CursorExpired:
            is_news = True
        if is_news:  # what it was is nobody's business here: however much it is, it is passed over
            page = await feed.read_feed(_from_now_on(ask))
        if is_news or clock.monotonic() - told_at >= HEARTBEAT_EVERY:
            await _write(send, b"event: changed\ndata: {}\n\n" if is_news else b": still here\n\n")
            told_at = clock.monotonic()
        if is_news:
            await clock.sleep(PACE)
    await _write(send, b"event: ended\ndata: {}\n\n", more=False)


async def _write(send: Send, data: bytes, *, more: bool = True) -> None:
    async with asyncio.timeout(PATIENCE):
        await send({"type": "http.response.body", "body": data, "more_body": more})
