"""What tests of signals stand on: an engine without a coordinator, and every row judged once a test is over."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.conformance.given_signals import FOLLOW_UP, move, new_item, on_item, watch
from tests.invariants.checkers import judge
from tests.invariants.evidence import Evidence, take_snapshot
from windlass.assembly import open_engine
from windlass.embedded import Embedded, in_process
from windlass.engine.engine import Engine
from windlass.model.signal import Action, Signal
from windlass.runtime import seeded_rng
from windlass.settings import Settings
from windlass.testing.clock import FakeClock


async def opened_on(url: str, clock: FakeClock, seed: str = "signals") -> Embedded:
    return in_process(await open_engine(url, Settings(coordinates=False), clock=clock, rng=seeded_rng(seed)))


@pytest.fixture
async def engine(url: str, clock: FakeClock) -> AsyncIterator[Engine]:
    """An engine without a coordinator: the test decides when one looks. At the end everything is judged."""
    opened = await opened_on(url, clock)
    yield opened.engine
    last = await take_snapshot(opened.engine.parts.store, at=clock.now(), life=1)
    assert judge(Evidence(snapshots=(last,))) == []
    await opened.close()


async def blocked(engine: Engine, action: Action = FOLLOW_UP, **fields: bool) -> Signal:
    """A signal that has fired, and of which nobody has worked anything."""
    item = await new_item(engine, state="doing")
    signal = await watch(engine, on_item(item, "blocked"), action, **fields)
    await move(engine, item, "blocked")
    return signal
