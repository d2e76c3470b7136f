"""A store of each kind, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from windlass.store.base import Store
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    return ":memory:" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def store(store_url: str, clock: FakeClock) -> AsyncIterator[Store]:
    opened = SqliteStore(store_url, clock=clock) if store_url == ":memory:" else PostgresStore(store_url, clock=clock)
    await opened.open()
    yield opened
    await opened.close()
