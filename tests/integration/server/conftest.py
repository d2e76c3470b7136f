"""A site on every database, or on one in memory where the database makes no difference."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.integration.server.site import Site
from tests.integration.server.wire import Wire
from windlass.assembly import open_engine
from windlass.runtime import Clock, SystemClock, system_rng
from windlass.settings import Settings
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness


async def _opened(url: str, clock: FakeClock) -> AsyncIterator[Site]:
    opened = await open_engine(url, Settings(), clock=clock, rng=system_rng())
    site = Site(opened, clock)
    yield site
    await site.close()
    await opened.close()


@pytest.fixture
async def site(shared_url: str, clock: FakeClock, give_up: None) -> AsyncIterator[Site]:
    """On SQLite and on PostgreSQL."""
    async for found in _opened(shared_url, clock):
        yield found


@pytest.fixture
async def memory_site(clock: FakeClock, give_up: None) -> AsyncIterator[Site]:
    async for found in _opened("sqlite:///:memory:", clock):
        yield found


@pytest.fixture
async def memory_harness(clock: FakeClock, give_up: None) -> AsyncIterator[Harness]:
    """An app without a worker, beside which a site may stand."""
    async with Harness(clock=clock, has_worker=False) as harness:
        yield harness


async def _wired(url: str, clock: Clock) -> AsyncIterator[Wire]:
    opened = await open_engine(url, Settings(), clock=clock, rng=system_rng())
    try:
        async with Wire(opened, clock) as found:
            yield found
    finally:
        await opened.close()


@pytest.fixture
async def wire(shared_url: str, clock: FakeClock, give_up: None) -> AsyncIterator[Wire]:
    """A server of gRPC, on SQLite and on PostgreSQL."""
    async for found in _wired(shared_url, clock):
        yield found


@pytest.fixture
async def memory_wire(clock: FakeClock, give_up: None) -> AsyncIterator[Wire]:
    async for found in _wired("sqlite:///:memory:", clock):
        yield found


@pytest.fixture
async def live_wire(shared_url: str, give_up: None) -> AsyncIterator[Wire]:
    """Where the time is the one that passes."""
    async for found in _wired(shared_url, SystemClock()):
        yield found
