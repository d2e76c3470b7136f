"""Connections on which nothing is said, or nothing that is accepted: they make room for others, and nobody for them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
import trustme

from tests.integration.conftest import eventually
from tests.integration.server.live import following, listening, talking
from tests.integration.server.site import DEFAULT, Site
from windlass.model.access import Role
from windlass.server.limits import Limits

STRANGERS = 3
LIMITS = Limits(grpc=1, known=2, strangers=STRANGERS)
Stranger = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def strangers(port: int, count: int = 2 * STRANGERS) -> AsyncIterator[list[Stranger]]:
    """Connections on which nothing is said."""
    made = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    yield made
    for _, writer in made:
        writer.transport.abort()


async def ended(stranger: Stranger) -> bool:
    try:
        return await asyncio.wait_for(stranger[0].read(1), 5) == b""
    except ConnectionError:
        return True


@pytest.mark.spec("security:S-15")
async def test_the_stranger_that_came_first_makes_room_for_the_one_that_comes(memory_site: Site) -> None:
    async with listening(memory_site, limits=LIMITS) as port, strangers(port) as idle:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            answers = [await client.get(path) for path in ("/healthz", "/readyz", f"{DEFAULT}/runs")]

        assert [answer.status_code for answer in answers] == [200, 200, 401]
        assert all([await ended(stranger) for stranger in idle[: STRANGERS + 1]])
        assert not any(stranger[0].at_eof() for stranger in idle[STRANGERS + 1 :])


@pytest.mark.spec("security:S-15")
async def test_a_connection_on_which_a_key_was_accepted_is_not_cut_off_for_strangers(memory_site: Site) -> None:
    token = await memory_site.token(Role.VIEWER)
    async with (
        listening(memory_site, limits=LIMITS) as port,
        talking(port, token) as talker,
        following(port, token) as follower,
    ):
        await talker.ask("ping")
        async with strangers(port, 4 * STRANGERS) as idle:
            assert await ended(idle[0])

        await memory_site.start(await memory_site.client(Role.CLIENT))
        assert await follower.entries(1)
        assert (await talker.ask("ping"))["id"]


@pytest.mark.spec("security:S-15")
async def test_a_refused_key_makes_no_stranger_known(memory_site: Site) -> None:
    async with listening(memory_site, limits=LIMITS) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {DEFAULT}/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer no\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n")
        async with strangers(port):
            rest = await asyncio.wait_for(reader.read(), 5)  # of the answer, and then the end

        assert b"not_authenticated" in rest
        writer.close()


@pytest.mark.spec("security:S-15")
async def test_more_known_connections_than_there_may_be_are_answered_as_strangers(memory_site: Site) -> None:
    token = await memory_site.token(Role.VIEWER)
    async with listening(memory_site, limits=LIMITS) as port, AsyncExitStack() as stack:
        for _ in range(LIMITS.known + STRANGERS):
            follower = await stack.enter_async_context(following(port, token))
            assert follower.response.status_code == 200
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.get("/readyz")).status_code == 200


@pytest.mark.spec("security:S-15")
async def test_the_place_of_a_known_connection_is_free_again_when_it_has_gone(memory_site: Site) -> None:
    token = await memory_site.token(Role.VIEWER)
    async with listening(memory_site, limits=LIMITS) as port:
        for _ in range(LIMITS.known):
            async with following(port, token) as gone:
                assert gone.response.status_code == 200

        async with following(port, token) as first, following(port, token) as second, strangers(port) as idle:
            assert await ended(idle[0])
            await memory_site.start(await memory_site.client(Role.CLIENT))
            assert await first.entries(1) and await second.entries(1)


@pytest.mark.spec("security:S-15")
async def test_who_begins_no_handshake_is_counted_as_well(memory_site: Site) -> None:
    authority = trustme.CA()
    tls, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(tls)
    authority.configure_trust(trusting)

    async with listening(memory_site, limits=LIMITS, tls=tls) as port, strangers(port) as idle:
        assert await ended(idle[0])
        async with httpx.AsyncClient(base_url=f"https://localhost:{port}", verify=trusting) as client:
            assert (await client.get("/healthz")).status_code == 200
        await eventually(idle[1][0].at_eof, what="the next one makes room")
