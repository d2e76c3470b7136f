"""One WebSocket: requests answered side by side, events in between, and an end that says why.

reader ── request ──► task ──┐                 1003 binary · 1007 not JSON · 1008 no longer let in
                             ├─► queue ─► writer      1009 too large · 1012 server stops · 1013 too slow
subscription ── events ──────┘   (bounded)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import msgspec
from starlette.types import Receive, Send

from windlass.api.admission import Caller
from windlass.errors import AlreadyExists, Busy, InvalidInput, NotFound, Unavailable, WindlassError
from windlass.model.feed import FeedPage
from windlass.server.http import frames
from windlass.server.http.calls import LOOK_AGAIN_EVERY, Site, ended
from windlass.server.http.errors import detail_of
from windlass.server.http.following import Following, pages
from windlass.server.http.ops import OPS, Asking
from windlass.server.http.plain import read_json, shaped
from windlass.server.http.told import Told

MAX_FRAME = 1024 * 1024
MOST_SUBSCRIPTIONS = 100
MOST_REQUESTS = 16  # at work at once
MOST_QUEUED = 4 * 1024 * 1024  # bytes on their way: who does not take them is not asked for more
GOODBYE_SECONDS = 1.0


class Conversation:
    def __init__(self, site: Site, caller: Caller, token: str | None, *, receive: Receive, send: Send) -> None:
        self.site = site
        self._caller, self._token = caller, token
        self._receive, self._send = receive, send
        self._out: asyncio.Queue[bytes] = asyncio.Queue()
        self._queued, self._has_room = 0, asyncio.Event()
        self._has_room.set()
        self._over: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._requests: set[asyncio.Task[None]] = set()
        self._subscriptions: dict[str, asyncio.Task[None] | None] = {}  # none: about to begin
        self._answered: dict[str, asyncio.Event] = {}  # of subscriptions whose request is not answered yet

    async def hold(self) -> None:
        """Until one of the two has had enough."""
        parts = [asyncio.ensure_future(part) for part in (self._read(), self._write(), self._watch(), self._stop())]
        try:
            code, reason = await self._over
        finally:
            following = [task for task in self._subscriptions.values() if task is not None]
            await ended(*parts, *self._requests, *following)
        if code:
            await self._close(code, reason)

    def _end(self, code: int, reason: str = "") -> None:
        if not self._over.done():
            self._over.set_result((code, reason))

    async def _close(self, code: int, reason: str) -> None:
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._send({"type": "websocket.close", "code": code, "reason": reason})
        except TimeoutError:  # it does not even take a goodbye
            return

    # What comes in

    async def _read(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                self._end(0)
                return
            text = message.get("text")
            if text is None:
                self._end(1003, "text frames only")
                return
            if len(text.encode(errors="surrogatepass")) > MAX_FRAME:
                self._end(1009, "a frame has at most 1 MiB")
                return
            try:
                tree = read_json(text.encode(errors="surrogatepass"))
            except InvalidInput as error:
                self._end(1007, str(error)[:100])
                return
            await self._take(tree)
            await self._has_room.wait()  # what it does not take it need not ask for

    async def _take(self, tree: Any) -> None:
        given = tree.get("id") if isinstance(tree, dict) else None
        id = given if isinstance(given, str) and len(given) <= 100 else ""
        request_id = self.site.ids.request()
        try:
            request = shaped(tree, frames.Request)
            if len(self._requests) >= MOST_REQUESTS:
                raise Busy(f"{MOST_REQUESTS} requests of this socket are at work already. Wait for an answer.")
        except WindlassError as error:
            await self._put(frames.RefusalFrame(id=id, error=detail_of(error, request_id=request_id)))
            return
        task = self._spawn(self._answer(request, request_id))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    async def _answer(self, request: frames.Request, request_id: str) -> None:
        try:
            op = OPS.get(request.op)
            if op is None:
                raise NotFound("op", request.op[:60])
            # Whoever is not let in learns nothing about what they sent.
            caller = await self.site.gate.admit(
                self._token,
                op.operation,
                self._caller.namespace,
                peer=self._caller.peer,
                request_id=request_id,
            )
            params = op.read(request.params)
            result = await op.run(Asking(conversation=self, caller=caller, id=request.id, params=params))
            frame: Told = frames.Reply(id=request.id, result=result)
        except Exception as error:
            frame = frames.RefusalFrame(id=request.id, error=detail_of(error, request_id=request_id))
        await self._put(frame)
        answered = self._answered.pop(request.id, None)
        if answered is not None:
            answered.set()

    # Subscriptions: their events come behind the answer to the request that began them

    async def subscribe(self, id: str, following: Following, params: Any, caller: Caller) -> frames.SubscribedAnswer:
        if id in self._subscriptions:
            raise AlreadyExists(f"Subscription {id!r} is there already. Choose another id.", owner=id)
        if len(self._subscriptions) >= MOST_SUBSCRIPTIONS:
            raise Busy(f"A socket has at most {MOST_SUBSCRIPTIONS} subscriptions. End one of them first.")
        self._subscriptions[id] = None  # taken, before anything is waited for
        try:
            command = following.wanted(params, namespace=caller.namespace, cursor=params.cursor)
            page = await self.site.service.feed.read_feed(command)
        except BaseException:
            del self._subscriptions[id]
            raise
        answered = self._answered[id] = asyncio.Event()
        followed = self._followed(id, following, pages(self.site, command, page), answered, caller.request_id)
        self._subscriptions[id] = self._spawn(followed)
        return frames.SubscribedAnswer(subscription=id, cursor=page.cursor)

    async def _followed(
        self, id: str, following: Following, found: AsyncIterator[FeedPage], answered: asyncio.Event, request_id: str
    ) -> None:
        await answered.wait()
        try:
            async for page in found:
                for item in page.entries:
                    await self._put(following.frame(item, id))
        except Exception as error:
            await self._put(frames.EndEvent(subscription=id, error=detail_of(error, request_id=request_id)))
        finally:
            self._subscriptions.pop(id, None)

    async def unsubscribe(self, id: str) -> bool:
        task = self._subscriptions.get(id)
        if task is None:
            return False
        await ended(task)
        self._subscriptions.pop(id, None)  # one that was ended before its first turn could not do so itself
        return True

    # What goes out

    async def _put(self, frame: Told) -> None:
        """Waits for a slow reader, and not for ever: the queue is bounded, and so is patience."""
        try:
            async with asyncio.timeout(self.site.patience):
                await self._has_room.wait()
        except TimeoutError:
            self._end(1013, "too slow: come again with the last cursor")
            return
        data = msgspec.json.encode(frame)
        self._out.put_nowait(data)
        self._queued += len(data)
        if self._queued >= MOST_QUEUED:
            self._has_room.clear()

    async def _write(self) -> None:
        while True:
            data = await self._out.get()
            try:
                async with asyncio.timeout(self.site.patience):
                    await self._send({"type": "websocket.send", "text": data.decode()})
                self._queued -= len(data)
                if self._queued < MOST_QUEUED:
                    self._has_room.set()
            except TimeoutError:
                self._end(1013, "too slow: come again with the last cursor")
                return
            except (OSError, RuntimeError):  # it is gone, and the reader has not heard of it yet
                self._end(0)
                return

    async def _watch(self) -> None:
        """A key that was revoked ends what was begun with it."""
        while True:
            await self.site.clock.sleep(LOOK_AGAIN_EVERY)
            try:
                is_welcome = await self.site.gate.still_admitted(self._caller)
            except Unavailable:
                self._end(1013, "the server cannot tell now who asks: come again with the last cursor")
                return
            if not is_welcome:
                self._end(1008, "this key is no longer accepted")
                return

    async def _stop(self) -> None:
        await self.site.serving.until_stopping()
        self._end(1012, "the server is about to stop")
