"""Does an open page hear of what happens for as long as its session lasts, and the last hour of what the clock says?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.conformance.given import NAMESPACE, claim_one, finished, start
from tests.integration.conftest import eventually
from tests.integration.dashboard.office import SESSION, UI, Office
from tests.integration.dashboard.test_pages import Shop
from windlass.dashboard import asking, live
from windlass.engine.coordinator import count_minutes
from windlass.model.namespace import CreateNamespace
from windlass.model.time import DAY, MINUTE, Instant
from windlass.store.queries.minutes import MinuteQueries
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

CHANGED, ENDED = b"event: changed\ndata: {}\n\n", b"event: ended\ndata: {}\n\n"
PATIENCE = 20.0


class Listener:
    """A browser that has the stream of a page open."""

    def __init__(self) -> None:
        self.status, self.headers, self.body, self.is_over = 0, dict[bytes, bytes](), b"", False
        self.is_deaf = False  # it takes nothing more
        self.leaves = asyncio.Event()
        self._has_asked = False

    async def receive(self) -> dict[str, Any]:
        if not self._has_asked:
            self._has_asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if self.is_deaf:
            await asyncio.Event().wait()
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        else:
            self.body += message.get("body", b"")
            self.is_over = not message.get("more_body", False)

    def heard(self, what: bytes, *, times: int = 1) -> Callable[[], bool]:
        return lambda: self.body.count(what) >= times


@asynccontextmanager
async def listening(office: Office, token: str) -> AsyncIterator[Listener]:
    listener, path = Listener(), f"{UI}/live"
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "server": ("127.0.0.1", 1),
        "headers": [(b"host", b"localhost:7421"), (b"cookie", f"{SESSION}={token}".encode())],
        "client": ("127.0.0.1", 5),
    }  # fmt: skip
    task = asyncio.ensure_future(office.app(scope, listener.receive, listener.send))
    await eventually(lambda: task.done() or bool(listener.body), what="the stream begins")
    try:
        yield listener
    finally:
        listener.leaves.set()
        async with asyncio.timeout(PATIENCE):
            await task


async def until_waiting(office: Office) -> None:
    """Until every stream has read the log, and waits for more of it."""
    feed: Any = office.opened.feed
    await eventually(lambda: any(news.has_waiters for news in feed._news.values()), what="a stream waits for news")


# An open page


async def test_a_run_that_is_started_is_told_to_an_open_page(office: Office, harness: Harness) -> None:
    shop = Shop(harness, has_signals=False)

    async with listening(office, await office.token()) as listener:
        await until_waiting(office)
        before = listener.body
        await harness.start(shop.nap)
        await eventually(listener.heard(CHANGED), what="the page is told")

    assert before == b"retry: 2000\n\n"
    assert listener.status == 200
    assert listener.headers[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert listener.headers[b"cache-control"] == b"no-store"


async def test_however_much_happens_a_page_is_told_once_a_second(
    memory_office: Office, memory_harness: Harness
) -> None:
    shop = Shop(memory_harness, has_signals=False)

    async with listening(memory_office, await memory_office.token()) as listener:
        await until_waiting(memory_office)
        for _ in range(20):
            await (await memory_harness.start(shop.echo, "x")).result()
        await eventually(listener.heard(CHANGED), what="the page is told")
        memory_harness.clock.advance("999ms")
        await memory_harness.idle()
        within_a_second = listener.body.count(CHANGED)
        memory_harness.clock.advance("1ms")
        await eventually(listener.heard(CHANGED, times=2), what="the page is told of the rest")

    assert within_a_second == 1


async def test_a_page_of_another_namespace_is_told_nothing(memory_office: Office, memory_harness: Harness) -> None:
    shop = Shop(memory_harness, has_signals=False)
    await memory_office.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    token = await memory_office.token(namespace="other")

    async with listening(memory_office, token) as listener:
        await memory_harness.start(shop.nap)
        await memory_harness.idle()

    assert listener.status == 403
    assert CHANGED not in listener.body


async def test_the_stream_says_that_it_is_there_while_nothing_happens(memory_office: Office, clock: FakeClock) -> None:
    async with listening(memory_office, await memory_office.token()) as listener:
        for _ in range(8):
            await until_waiting(memory_office)
            clock.advance("2s")
            await asyncio.sleep(0)
        await eventually(listener.heard(b": still here\n\n"), what="a sign of life")

    assert CHANGED not in listener.body


# Its end


@pytest.mark.spec("security:S-18")
@pytest.mark.parametrize("is_told", [False, True])
async def test_a_stream_ends_when_its_key_is_revoked(office: Office, harness: Harness, is_told: bool) -> None:
    shop = Shop(harness, has_signals=False)

    async with listening(office, await office.token()) as listener:
        await until_waiting(office)
        (key,) = await office.opened.access.list_keys("default")
        await office.opened.access.revoke_key(key.id)
        harness.clock.advance("2s")
        if is_told:
            await harness.start(shop.echo, "x")
            await eventually(lambda: listener.is_over or CHANGED in listener.body, what="the page is told or let go")
            harness.clock.advance("1s")
        await eventually(lambda: listener.is_over, what="the stream ends")

    assert listener.body.endswith(ENDED)


@pytest.mark.spec("security:S-18")
async def test_a_stream_ends_when_its_session_has_expired(memory_office: Office, clock: FakeClock) -> None:
    code = memory_office.links.make()
    token = (await memory_office.visitor().get(f"/ui/-/login?code={code}")).cookies[SESSION]

    async with listening(memory_office, token) as listener:
        await until_waiting(memory_office)
        clock.advance("12h")
        await eventually(lambda: listener.is_over, what="the stream ends")

    assert listener.body.endswith(ENDED)


async def test_a_stream_ends_with_the_server(memory_office: Office) -> None:
    async with listening(memory_office, await memory_office.token()) as listener:
        await until_waiting(memory_office)
        memory_office.health.stop()
        await eventually(lambda: listener.is_over, what="the stream ends")

    assert ENDED not in listener.body  # the page asks the next server


async def test_whoever_takes_nothing_is_let_go(
    memory_office: Office, memory_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "PATIENCE", 0.01)
    shop, token = Shop(memory_harness, has_signals=False), await memory_office.token()

    async with listening(memory_office, token) as listener:
        await until_waiting(memory_office)
        listener.is_deaf = True
        await memory_harness.start(shop.nap)
        feed: Any = memory_office.opened.feed
        await eventually(lambda: not feed._news, what="the stream is given up")


@pytest.mark.spec("security:S-15")
async def test_a_key_has_so_many_pages_open_and_no_more(memory_office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_STREAMS", 2)
    token, other = await memory_office.token(), await memory_office.token()

    async with listening(memory_office, token) as first, listening(memory_office, token):
        async with listening(memory_office, token) as third, listening(memory_office, other) as of_another:
            pass
        first.leaves.set()
        await eventually(lambda: sum(memory_office_streams(memory_office).values()) == 1, what="a page is closed")
        async with listening(memory_office, token) as again:
            pass

    assert (third.status, of_another.status, again.status) == (429, 200, 200)


def memory_office_streams(office: Office) -> dict[str, int]:
    dashboard: Any = office.app._dashboard  # type: ignore[attr-defined]
    streams: dict[str, int] = dashboard._desk._streams
    return streams


# The last hour


class Hour:
    """An engine that counts when it is told to."""

    def __init__(self, harness: Harness) -> None:
        self.engine, self.clock, self._number = harness.opened.engine, harness.clock, 0
        self._pages = harness.opened.pages

    async def end_one(self) -> None:
        """A run that ends now, in a minute that is counted as soon as it is over."""
        self._number += 1
        await self.engine.runs.start_run(start(self._number))
        await self.engine.work.finish_run(finished(await claim_one(self.engine, self._number)))

    async def count(self) -> list[int]:
        """Two minutes later: how many minutes ago each of those was in which something ended."""
        self.clock.advance("2m")
        while await count_minutes.tick(self.engine.parts):
            continue
        rows = await self._pages.read_minutes(NAMESPACE, Instant(0))
        return [(self.clock.now() - row.minute) // MINUTE for row in rows]

    async def mark(self) -> str:
        return await self.engine.parts.store.read("mark", lambda tx: MinuteQueries(tx.connection).counted_until())


@pytest.fixture
async def hour(clock: FakeClock) -> AsyncIterator[Hour]:
    async with Harness(clock=clock, has_worker=False) as harness:
        yield Hour(harness)


async def test_minutes_are_counted_again_after_the_clock_was_ahead(hour: Hour) -> None:
    hour.clock.jump("1d")
    await hour.end_one()
    ahead = await hour.count()
    hour.clock.jump("-1d")
    await hour.count()  # here it is seen

    await hour.end_one()

    assert ahead == [2]
    assert await hour.count() == [2, 4 - DAY // MINUTE + 2]


async def test_a_server_whose_clock_is_minutes_behind_does_not_begin_again(hour: Hour) -> None:
    await hour.end_one()
    hour.clock.jump("4m")
    await hour.count()
    before = await hour.mark()
    hour.clock.jump("-4m")

    await hour.end_one()
    await hour.count()

    assert before == await hour.mark()
