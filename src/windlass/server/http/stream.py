"""The log as it comes, as server-sent events: resumable, and cut when its reader is too slow or no longer let in.

id: <cursor>            kept by the browser, and sent back as Last-Event-ID when it connects again
event: log              or what became of a signal, such as work.signal.fired
data: {"cursor": …, "entry": {…}}
"""

from __future__ import annotations

import asyncio

import msgspec
from starlette.types import Receive, Send

from windlass.errors import CursorExpired, NotAuthenticated, WindlassError
from windlass.model.feed import FeedEntry, FeedPage, ReadFeed
from windlass.model.time import SECOND, Duration
from windlass.server.http.calls import LOOK_AGAIN_EVERY, NO_LONGER, Call, ended
from windlass.server.http.errors import detail_of
from windlass.server.http.following import Following, pages
from windlass.server.http.guard import SAFE, Headers
from windlass.server.http.told import ErrorAnswer

HEARTBEAT_EVERY = Duration(15 * SECOND)


async def serve(call: Call, following: Following, headers: Headers, receive: Receive, send: Send) -> None:
    """Raises before the first byte what is wrong with the request; later it is an event."""
    cursor = _last_event(headers) or call.query.cursor
    command = following.wanted(call.query, namespace=call.namespace, cursor=cursor)
    page = await call.service.feed.read_feed(command)
    call.site.take_stream(call.caller)
    stream = asyncio.ensure_future(_Stream(call, following, command, send).follow(page))
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        await asyncio.wait({stream, gone}, return_when=asyncio.FIRST_COMPLETED)
        if stream.done():
            stream.result()
    finally:
        call.site.leave_stream(call.caller)
        await ended(stream, gone)


def _last_event(headers: Headers) -> str | None:
    given = [value for name, value in headers if name == b"last-event-id"]
    return given[0].decode("latin-1") or None if given else None


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Stream:
    def __init__(self, call: Call, following: Following, command: ReadFeed, send: Send) -> None:
        self._call, self._following, self._command, self._send = call, following, command, send
        self._clock = call.site.clock
        self._told_at = self._looked_at = self._clock.monotonic()

    async def follow(self, first: FeedPage) -> None:
        try:
            await self._begin()
            try:
                async for page in pages(self._call.site, self._command, first):
                    await self._tell(page)
            except WindlassError as error:
                await self._refuse(error)
            await self._write(b"", more=False)
        except TimeoutError:  # a slow reader: what it missed it gets when it comes again
            return

    async def _tell(self, page: FeedPage) -> None:
        if not await self._is_admitted():
            raise NotAuthenticated(NO_LONGER)
        await self._entries(page)
        if self._clock.monotonic() - self._told_at >= HEARTBEAT_EVERY:
            await self._write(b": still here\n\n")

    async def _is_admitted(self) -> bool:
        now = self._clock.monotonic()
        if now - self._looked_at < LOOK_AGAIN_EVERY:
            return True
        self._looked_at = now
        return await self._call.site.gate.still_admitted(self._call.caller)

    async def _begin(self) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"x-accel-buffering", b"no"),
            (b"x-request-id", self._call.caller.request_id.encode()),
            *SAFE,
        ]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._write(b": from here on\n\n")

    async def _entries(self, page: FeedPage) -> None:
        if page.entries:
            await self._write(b"".join([self._event(item) for item in page.entries]))

    def _event(self, item: FeedEntry) -> bytes:
        name, said = self._following.event(item)
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (item.cursor.encode(), name.encode(), msgspec.json.encode(said))

    async def _refuse(self, error: WindlassError) -> None:
        """The last event: why it ends, and whether coming again will help."""
        detail = detail_of(error, request_id=self._call.caller.request_id)
        name = b"expired" if isinstance(error, CursorExpired) else b"error"
        await self._write(b"event: %s\ndata: %s\n\n" % (name, msgspec.json.encode(ErrorAnswer(error=detail))))

    async def _write(self, data: bytes, *, more: bool = True) -> None:
        self._told_at = self._clock.monotonic()
        async with asyncio.timeout(self._call.site.patience):
            await self._send({"type": "http.response.body", "body": data, "more_body": more})
