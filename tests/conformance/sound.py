"""What a suite about the engine stands on: an engine over the store, and a look at every row once a test is over."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.conformance.given import engine_on
from windlass.engine.engine import Engine
from windlass.store.base import Store
from windlass.store.queries.checks import CheckQueries, Inconsistency
from windlass.testing.clock import FakeClock


def only(*kinds: str) -> pytest.MarkDecorator:
    """For tests about some stores."""
    return pytest.mark.parametrize("store_kind", kinds, indirect=True)


async def inconsistencies(store: Store) -> list[Inconsistency]:
    return await store.read("consistency", lambda tx: CheckQueries(tx.connection).inconsistencies())


class EngineConformance:
    @pytest.fixture
    def engine(self, store: Store, clock: FakeClock) -> Engine:
        return engine_on(store, clock)

    @pytest.fixture(autouse=True)
    async def is_in_order(self, store: Store) -> AsyncIterator[None]:
        yield
        assert await inconsistencies(store) == []
