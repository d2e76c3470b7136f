"""Server-sent events of the log: resumable, alive while nothing happens, and over when they should be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.integration.conftest import eventually
from tests.integration.server.live import Follower, following, listening
from tests.integration.server.site import DEFAULT, Site, error_of, prune
from windlass.model.access import Role
from windlass.testing.clock import FakeClock


@pytest.fixture
async def port(site: Site) -> AsyncIterator[int]:
    async with listening(site) as port:
        yield port


async def until(follower: Follower, name: str, clock: FakeClock) -> dict[str, str]:
    """The next event of this name, while time goes by."""
    waiting = asyncio.ensure_future(_next(follower, name))
    while not waiting.done():
        clock.advance("1s")
        await asyncio.wait([waiting], timeout=0.01)
    return await waiting


async def _next(follower: Follower, name: str) -> dict[str, str]:
    while True:
        event = await follower.event()
        if not event or name in (event.get("event"), event.get("comment")):
            return event


async def test_what_happens_comes_as_it_happens(site: Site, port: int) -> None:
    client = await site.client(Role.CLIENT)
    before = await site.start(client)
    async with following(port, await site.token(Role.VIEWER)) as follower:
        assert follower.response.headers["content-type"].startswith("text/event-stream")
        assert follower.response.headers["cache-control"] == "no-store"
        (first,) = await follower.entries(1)
        after = await site.start(client)
        site.clock.advance("3s")  # type: ignore[attr-defined]
        (second,) = await follower.entries(1)

    assert [line["entry"]["subject_id"] for line in (first, second)] == [before, after]
    assert first["entry"]["to"] == "pending"


async def test_who_comes_again_goes_on_where_it_was(site: Site, port: int) -> None:
    client, token = await site.client(Role.CLIENT), await site.token(Role.VIEWER)
    ids = [await site.start(client) for _ in range(6)]
    async with following(port, token) as follower:
        lines = await follower.entries(3)
    cursor = lines[-1]["cursor"]

    async with following(port, token, headers={"last-event-id": cursor}) as follower:
        by_header = await follower.entries(3)
    async with following(port, token, params={"cursor": cursor}) as follower:
        by_query = await follower.entries(3)
    async with following(port, token, params={"cursor": "now"}, headers={"last-event-id": cursor}) as follower:
        by_both = await follower.entries(3)

    assert [line["entry"]["subject_id"] for line in [*lines, *by_header]] == ids
    assert by_header == by_query == by_both


async def test_only_what_was_asked_for_comes(site: Site, port: int) -> None:
    client, token = await site.client(Role.CLIENT), await site.token(Role.VIEWER)
    runs = [await site.start(client) for _ in range(3)]
    await client.post(f"{DEFAULT}/runs/{runs[1]}/cancel", json={})

    async with following(port, token, params={"subject_kind": "run", "subject_id": runs[1]}) as follower:
        lines = await follower.entries(2)

    assert [(line["entry"]["subject_id"], line["entry"]["to"]) for line in lines] == [
        (runs[1], "pending"), (runs[1], "cancelled"),
    ]  # fmt: skip


async def test_a_quiet_stream_says_that_it_lives(site: Site, port: int, clock: FakeClock) -> None:
    async with following(port, await site.token(Role.VIEWER)) as follower:
        assert (await follower.event())["comment"] == "from here on"
        assert (await until(follower, "still here", clock))["comment"] == "still here"


@pytest.mark.spec("security:S-06")
async def test_a_revoked_key_ends_its_stream_within_seconds(site: Site, port: int, clock: FakeClock) -> None:
    async with following(port, await site.token(Role.VIEWER)) as follower:
        await follower.event()
        (key,) = await site.opened.access.list_keys("default")
        await site.opened.access.revoke_key(key.id)
        ending = asyncio.ensure_future(_next(follower, "error"))
        for _ in range(5):  # and not a second more, however long it takes the machine
            clock.advance("1s")
            await asyncio.wait([ending], timeout=0.5)
        event = await ending

        assert json.loads(event["data"])["error"]["code"] == "not_authenticated"
        assert await follower.event() == {}


@pytest.mark.spec("security:96")
async def test_a_cursor_whose_log_is_gone_is_refused_with_what_to_do(site: Site, port: int, clock: FakeClock) -> None:
    client, token = await site.client(Role.CLIENT), await site.token(Role.VIEWER)
    beginning = (await client.get(f"{DEFAULT}/feed", params={"cursor": "now"})).json()["cursor"]
    run_id = await site.start(client)
    await client.post(f"{DEFAULT}/runs/{run_id}/cancel", json={})
    async with following(port, token) as follower:
        await follower.entries(2)
    await prune(site.opened.engine, clock)

    for path in ("feed", "feed/stream"):
        answer = await client.get(f"{DEFAULT}/{path}", params={"cursor": beginning})
        assert (answer.status_code, error_of(answer)["code"]) == (410, "cursor_expired")
        assert "begin" in error_of(answer)["message"].lower() or "from" in error_of(answer)["message"]
    async with following(port, token, headers={"last-event-id": beginning}) as follower:
        assert follower.response.status_code == 410


async def test_a_stream_ends_when_the_server_stops(site: Site, port: int) -> None:
    async with following(port, await site.token(Role.VIEWER)) as follower:
        await follower.event()
        site.health.stop()
        site.clock.advance("3s")  # type: ignore[attr-defined]

        assert await follower.event() == {}


@pytest.mark.spec("security:S-15")
async def test_a_key_holds_so_many_streams_and_no_more(site: Site, port: int) -> None:
    token = await site.token(Role.VIEWER)
    headers = {"authorization": f"Bearer {token}"}
    url = f"http://127.0.0.1:{port}{DEFAULT}/feed/stream"
    limits = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(timeout=20, limits=limits) as client:
        opened = [await client.send(client.build_request("GET", url, headers=headers), stream=True) for _ in range(101)]
        assert [answer.status_code for answer in opened] == [200] * 100 + [429]
        for answer in opened:
            await answer.aclose()

    async def is_free() -> bool:
        async with following(port, token) as follower:
            return follower.response.status_code == 200

    await eventually(is_free, what="a place for a stream")


@pytest.mark.spec("security:S-15")
async def test_a_reader_that_does_not_read_is_cut_off(site: Site, port: int) -> None:
    client, token = await site.client(Role.CLIENT), await site.token(Role.VIEWER)
    note = "x" * 2_000
    for _ in range(2):
        wanted = [{"workflow": "order", "allow_unknown": True} for _ in range(1_000)]
        runs = (await client.post(f"{DEFAULT}/runs/batch", json={"runs": wanted})).json()["results"]
        for item in runs:
            await client.post(f"{DEFAULT}/runs/{item['run_id']}/cancel", json={"note": note})
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**16)
    head = f"GET {DEFAULT}/feed/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    writer.write(head.encode())
    await reader.readline()  # and no more
    held = site.app._site._streams  # type: ignore[attr-defined]

    await eventually(lambda: sum(held.values()) == 1, what="the stream is there")
    await eventually(lambda: not held, what="it is cut off")
    assert (await client.get(f"{DEFAULT}/queues")).status_code == 200
    writer.transport.abort()
