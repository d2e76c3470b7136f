"""What conformance tests stand on: each of them runs on every store, empty when it begins."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.conformance.hooks import record
from tests.emptying import Emptier
from windlass.store.base import Store
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.postgres import PostgresServer

# Before they are imported, so that a failing assert shows its values.
pytest.register_assert_rewrite(
    *(f"tests.conformance.{name}" for name in ("given", "given_signals", "given_transitions", "interleaving", "sound"))
)

from tests.conformance.interleaving import PATIENCE, Blocked  # noqa: E402

KINDS = ("memory", "disk", "postgres")

# The one thing that waits in this database is the late write.
LATE_WRITES = """
select count(*) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'
"""


@pytest.fixture(params=KINDS)
def store_kind(request: pytest.FixtureRequest) -> str:
    """Which store. A test about one of them says `@only("postgres")`."""
    found: str = request.param
    return found


@pytest.fixture(scope="session")
def migrated_url(postgres_server: PostgresServer) -> Iterator[str]:
    url = postgres_server.create_database()

    async def migrate() -> None:
        opened = PostgresStore(url)
        await opened.open()
        await opened.close()

    asyncio.run(migrate())
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def store_place(store_kind: str, emptier: Emptier, request: pytest.FixtureRequest) -> str:
    """The path or URL of an empty database."""
    if store_kind == "memory":
        return ":memory:"
    if store_kind == "disk":
        folder: Path = request.getfixturevalue("tmp_path")
        return str(folder / "windlass.db")
    url: str = request.getfixturevalue("migrated_url")

    emptier.empty(url)
    return url


def store_at(kind: str, place: str, clock: FakeClock) -> SqliteStore | PostgresStore:
    return PostgresStore(place, clock=clock) if kind == "postgres" else SqliteStore(place, clock=clock)


@pytest.fixture
async def store(store_kind: str, store_place: str, clock: FakeClock) -> AsyncIterator[Store]:
    """Takes its time from `clock`."""
    opened = store_at(store_kind, store_place, clock)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def second_store(store_kind: str, store_place: str, store: Store, clock: FakeClock) -> AsyncIterator[Store]:
    """Another one on the same database. What is in memory belongs to one connection: there it is the same object."""
    if store_kind == "memory":
        yield store
        return
    opened = store_at(store_kind, store_place, clock)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def until_blocked(store_kind: str, store_place: str, store: Store, second_store: Store) -> AsyncIterator[Blocked]:
    """Wait until the write that was just begun on `store` waits for a transaction of `second_store`."""
    if store_kind != "postgres":
        yield _until_begun(store, second_store)
        return
    session = await asyncpg.connect(store_place)

    async def wait() -> None:
        """PostgreSQL knows who waits for a row lock, so here the wait is proven."""
        async with asyncio.timeout(PATIENCE):
            while not await session.fetchval(LATE_WRITES):
                continue  # each look is a round trip

    yield wait
    await session.close()


def _until_begun(store: Store, second_store: Store) -> Blocked:
    has_begun = threading.Event()
    record(store).at["before_begin"] = has_begun.set

    async def wait() -> None:
        has_begun.clear()
        if store is not second_store:  # else there is one writer, and the write waits for its turn
            assert await asyncio.to_thread(has_begun.wait, PATIENCE)

    return wait
