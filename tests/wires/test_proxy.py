"""Does the wire of fault tests fail in the way it is told, and in no other?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from tests.wires.proxy import Proxy
from windlass.model.time import SECOND, Duration
from windlass.testing.clock import FakeClock

PATIENCE = 10.0
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Echo:
    """A server that sends back every line, and remembers what it has heard."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.pieces: list[bytes] = []
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Echo]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for writer in self._writers:
                writer.transport.abort()
            await asyncio.sleep(0)  # which closes them

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        line = b""
        try:
            while piece := await reader.read(100):
                self.pieces.append(piece)
                line += piece
                if line.endswith(b"\n"):
                    self.heard.append(line)
                    writer.write(line)
                    line = b""
        except ConnectionError:
            pass
        finally:
            writer.close()


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    async with Echo().serving() as server:
        yield server


@pytest.fixture
async def proxy(echo: Echo) -> AsyncIterator[Proxy]:
    async with Proxy("127.0.0.1", echo.port) as opened:
        yield opened


opened_ends: list[Ends] = []


@pytest.fixture(autouse=True)
async def let_go_of_all() -> AsyncIterator[None]:
    yield
    for _, writer in opened_ends:
        writer.transport.abort()
    opened_ends.clear()
    await asyncio.sleep(0)  # which closes them


async def connect(proxy: Proxy) -> Ends:
    opened_ends.append(await asyncio.open_connection("127.0.0.1", proxy.port, limit=2**20))
    return opened_ends[-1]


async def ask(ends: Ends, line: bytes = b"hello\n") -> bytes:
    ends[1].write(line)
    return await asyncio.wait_for(ends[0].readline(), PATIENCE)


async def test_what_is_said_passes_both_ways(proxy: Proxy) -> None:
    one, two = await connect(proxy), await connect(proxy)

    assert [await ask(one, b"a\n"), await ask(two, b"b\n"), await ask(one, b"c" * 200_000 + b"\n")] == [
        b"a\n",
        b"b\n",
        b"c" * 200_000 + b"\n",
    ]
    assert proxy.accepted == 2


async def test_a_cut_request_never_arrives(proxy: Proxy, echo: Echo) -> None:
    cut, other = await connect(proxy), await connect(proxy)
    proxy.cut_next_request()

    with pytest.raises(ConnectionResetError):
        await ask(cut)

    assert echo.heard == []
    assert await ask(other) == b"hello\n"  # one was asked for


async def test_a_cut_reply_was_asked_for(proxy: Proxy, echo: Echo) -> None:
    ends = await connect(proxy)
    proxy.cut_next_reply()

    with pytest.raises(ConnectionResetError):
        await ask(ends)

    assert echo.heard == [b"hello\n"]


async def test_all_are_cut_at_once_and_new_ones_pass(proxy: Proxy) -> None:
    several = [await connect(proxy) for _ in range(3)]
    for ends in several:
        await ask(ends)

    assert proxy.cut() == 3

    for ends in several:
        with pytest.raises(ConnectionResetError):
            await ends[0].read()
    assert await ask(await connect(proxy)) == b"hello\n"


async def test_whoever_is_refused_finds_nobody_and_what_is_open_stays(proxy: Proxy) -> None:
    ends, port = await connect(proxy), proxy.port
    await ask(ends)

    await proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        await connect(proxy)
    assert await ask(ends) == b"hello\n"

    await proxy.accept()
    assert proxy.port == port
    assert await ask(await connect(proxy)) == b"hello\n"


async def test_a_black_hole_takes_everything_and_answers_nothing(proxy: Proxy, echo: Echo) -> None:
    ends = await connect(proxy)
    proxy.hold()
    asking = asyncio.ensure_future(ask(ends))
    late = await connect(proxy)  # also those who come now
    asking_late = asyncio.ensure_future(ask(late))
    await asyncio.wait([asking, asking_late], timeout=0.05)

    assert (echo.heard, asking.done(), asking_late.done()) == ([], False, False)
    proxy.let_go()
    assert [await asking, await asking_late] == [b"hello\n"] * 2


async def test_a_delay_is_taken_on_either_way(echo: Echo, clock: FakeClock) -> None:
    async with Proxy("127.0.0.1", echo.port, clock=clock) as proxy:
        ends = await connect(proxy)
        proxy.delay_for = Duration(SECOND)
        asking = asyncio.ensure_future(ask(ends))
        for heard in ([], [b"hello\n"]):
            while clock.next_timer() is None:
                await asyncio.wait([asking], timeout=0.001)
            assert echo.heard == heard
            clock.advance(SECOND)

        assert await asking == b"hello\n"


async def test_a_trickle_comes_byte_by_byte_and_whole(proxy: Proxy, echo: Echo) -> None:
    proxy.is_trickling = True

    assert await ask(await connect(proxy), b"a longer line\n") == b"a longer line\n"
    assert len(echo.pieces) > 1


async def test_the_end_of_one_side_is_told_to_the_other(proxy: Proxy) -> None:
    ends = await connect(proxy)
    ends[1].write(b"last\n")
    ends[1].write_eof()

    assert await asyncio.wait_for(ends[0].read(), PATIENCE) == b"last\n"


async def test_a_server_that_is_gone_is_a_reset() -> None:
    async with Proxy("127.0.0.1", 1) as proxy:
        ends = await connect(proxy)
        with pytest.raises(ConnectionResetError):
            await ends[0].read()


async def test_a_database_is_reached_through_it(postgres_url: str) -> None:
    parts = postgres_url.rpartition("/")[0].rpartition(":")
    async with Proxy("127.0.0.1", int(parts[2])) as proxy:
        session = await asyncpg.connect(proxy.through(postgres_url), ssl=False)
        proxy.is_trickling = True
        assert await session.fetchval("select 42") == 42

        proxy.cut_next_reply()
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await session.fetchval("select 43")
        assert session.is_closed()


def test_a_url_keeps_all_but_its_address() -> None:
    proxy = Proxy("127.0.0.1", 5432)
    proxy.port = 7

    assert proxy.through("postgresql://anna:x%40y@db:5432/shop?a=b") == "postgresql://anna:x%40y@127.0.0.1:7/shop?a=b"
    assert proxy.through("grpc://host:7420") == "grpc://127.0.0.1:7"
