"""A dashboard on every database, or on one in memory where the database makes no difference."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.dashboard.office import Office
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness
from windlass.testing.postgres import PostgresServer


@pytest.fixture(params=["sqlite", "postgres"])
async def harness(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Harness]:
    """An app and its worker, on SQLite and on PostgreSQL."""
    url = str(tmp_path / "windlass.db")
    server: PostgresServer | None = None
    if request.param == "postgres":
        server = request.getfixturevalue("postgres_server")
        assert server is not None
        url = server.create_database()
    try:
        async with Harness(url, clock=clock) as made:
            yield made
    finally:
        if server is not None:
            server.drop_database(url)


@pytest.fixture
async def office(harness: Harness) -> AsyncIterator[Office]:
    found = Office(harness.opened, harness.clock)
    yield found
    await found.close()


@pytest.fixture
async def memory_harness(clock: FakeClock) -> AsyncIterator[Harness]:
    async with Harness(clock=clock) as made:
        yield made


@pytest.fixture
async def memory_office(memory_harness: Harness) -> AsyncIterator[Office]:
    found = Office(memory_harness.opened, memory_harness.clock)
    yield found
    await found.close()
