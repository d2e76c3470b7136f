"""A gate over keys and namespaces that the test fills."""

from __future__ import annotations

import pytest

from tests.unit.server.doors import Keys, Tenants
from windlass.server.gate import Gate
from windlass.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def keys() -> Keys:
    return Keys()


@pytest.fixture
def tenants() -> Tenants:
    return Tenants("default", "shop", "other")


@pytest.fixture
async def gate(keys: Keys, tenants: Tenants, clock: FakeClock) -> Gate:
    return Gate(keys, tenants, clock=clock)
