"""HTTP on a real port: what is slow, long or no HTTP at all holds nobody up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock
from windlass.server.web import BODY_WITHIN, HEADER_WITHIN, WebListener
from windlass.testing.clock import FakeClock

GET = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


class App:
    """An ASGI app that reads the body, waits until it may answer, and answers with its length."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asked = asyncio.Event()

    async def __call__(
        self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        self.asked.set()
        length, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            length, more = length + len(message["body"]), message["more_body"]
        await self.may_answer.wait()
        body = str(length).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
async def app() -> App:
    return App()


@pytest.fixture
async def web(app: App, clock: FakeClock) -> AsyncIterator[WebListener]:
    listener = WebListener(app, host="127.0.0.1", port=0, tls=None, clock=clock)
    await listener.start()
    yield listener
    app.may_answer.set()
    await listener.stop()


class Caller:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @staticmethod
    async def of(web: WebListener) -> Caller:
        return Caller(*await asyncio.open_connection("127.0.0.1", web.port))

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self) -> tuple[str, bytes]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length"))
        return head, await self._reader.readexactly(length)

    async def end(self) -> bytes:
        """What still comes until the server closes."""
        try:
            return await self._reader.read()
        except ConnectionResetError:
            return b""
        finally:
            self._writer.close()

    def leave(self) -> None:
        self._writer.close()


async def until_seen(web: WebListener, count: int) -> None:
    """A connection is there for us as soon as the server has answered another one that was made later."""
    for _ in range(count):
        later = await Caller.of(web)
        await later.send(GET)
        await later.answer()
        later.leave()


@pytest.mark.spec("security:S-30")
async def test_an_answer_has_no_banner(web: WebListener) -> None:
    caller = await Caller.of(web)
    await caller.send(GET)
    head, body = await caller.answer()
    caller.leave()

    assert head.startswith("HTTP/1.1 200")
    assert body == b"0"
    assert "server:" not in head and "date:" not in head and "uvicorn" not in head


@pytest.mark.spec("security:S-15")
@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: loc"])
async def test_who_sends_no_header_in_time_is_cut_off(web: WebListener, clock: FakeClock, sent: bytes) -> None:
    slow = await Caller.of(web)
    await slow.send(sent)
    await until_seen(web, 2)

    clock.advance(HEADER_WITHIN - SECOND)
    await slow.send(b"" if not sent else b"a")  # a little more is no reason to wait longer
    await until_seen(web, 2)
    clock.advance(SECOND)

    assert await slow.end() == b""


@pytest.mark.spec("security:S-15")
async def test_who_sends_a_body_too_slowly_is_cut_off(web: WebListener, clock: FakeClock, app: App) -> None:
    slow = await Caller.of(web)
    await slow.send(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\na")
    await app.asked.wait()

    clock.advance(BODY_WITHIN - SECOND)
    await slow.send(b"b")
    await until_seen(web, 2)
    clock.advance(SECOND)

    assert await slow.end() == b""


async def test_who_waits_for_an_answer_is_not_cut_off_and_may_ask_again(
    web: WebListener, clock: FakeClock, app: App
) -> None:
    caller = await Caller.of(web)
    for _ in range(2):
        app.may_answer.clear()
        app.asked.clear()
        await caller.send(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\nab")
        await app.asked.wait()
        clock.advance(2 * BODY_WITHIN)
        app.may_answer.set()
        assert (await caller.answer())[1] == b"2"
    caller.leave()


@pytest.mark.spec("security:S-13", "security:S-30", "security:95")
@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 17_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_told_so_like_every_other_error(web: WebListener, sent: bytes) -> None:
    caller = await Caller.of(web)
    await caller.send(sent)
    head, body = await caller.answer()

    assert head.startswith("HTTP/1.1 400")
    assert json.loads(body)["error"].keys() == {"code", "reason", "message", "path", "request_id"}
    assert await caller.end() == b""
    await until_seen(web, 1)  # and goes on serving


async def test_a_call_may_end_when_the_server_leaves_and_nobody_new_comes(app: App) -> None:
    web = WebListener(app, host="127.0.0.1", port=0, tls=None, clock=SystemClock())
    await web.start()
    app.may_answer.clear()
    caller, idle = await Caller.of(web), await Caller.of(web)
    await caller.send(GET)
    await app.asked.wait()

    draining = asyncio.ensure_future(web.drain(Duration(30 * SECOND)))
    assert await idle.end() == b""
    with pytest.raises(OSError):
        await Caller.of(web)
    app.may_answer.set()

    assert (await caller.answer())[1] == b"0"
    caller.leave()
    await draining
    await web.stop()


async def test_a_call_that_takes_longer_than_the_grace_is_cut_off(app: App) -> None:
    web = WebListener(app, host="127.0.0.1", port=0, tls=None, clock=SystemClock())
    await web.start()
    app.may_answer.clear()
    caller = await Caller.of(web)
    await caller.send(GET)
    await app.asked.wait()

    await web.drain(Duration(0))
    await web.stop()

    assert b"200" not in await caller.end()


async def test_stopping_twice_or_before_the_start_is_harmless(app: App) -> None:
    web = WebListener(app, host="127.0.0.1", port=0, tls=None, clock=SystemClock())
    await web.drain(Duration(0))
    await web.stop()
    await web.start()
    await web.stop()
    await web.drain(Duration(0))
    await web.stop()
