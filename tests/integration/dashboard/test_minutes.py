"""How many runs ended in each minute: counted once, by whoever comes first, and never by those who finish runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.integration.dashboard.test_pages import Shop
from windlass.engine.coordinator import count_minutes
from windlass.model.overview import Minute
from windlass.model.time import MINUTE, Instant
from windlass.settings import Settings
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness


@pytest.fixture
async def lone_harness(clock: FakeClock) -> AsyncIterator[Harness]:
    """Nobody counts but the test: a tick that finds another one at it answers 0 too, whatever is left."""
    async with Harness(clock=clock, settings=Settings(coordinates=False)) as made:
        yield made


async def counted(harness: Harness) -> tuple[Minute, ...]:
    return await harness.opened.pages.read_minutes("default", Instant(0))


async def test_a_minute_is_counted_once_it_is_over_by_one_of_two(harness: Harness) -> None:
    shop, parts = Shop(harness, has_signals=False), harness.opened.engine.parts
    for _ in range(3):
        await (await harness.start(shop.echo, "x")).result()
    await shop.fail()
    nap = await harness.start(shop.nap)
    await harness.until(nap, "sleeping")
    await nap.cancel()
    before = await count_minutes.tick(parts)
    harness.clock.advance("2m")

    found = await asyncio.gather(count_minutes.tick(parts), count_minutes.tick(parts))
    again = await count_minutes.tick(parts)

    assert (before, again) == (0, 0)
    assert sum(map(bool, found)) <= 1  # none, if the coordinator of the worker was there before
    (minute,) = await counted(harness)
    assert (minute.ended, minute.failed, minute.started) == (5, 1, 5)


async def test_what_never_began_took_no_time(lone_harness: Harness) -> None:
    shop, parts = Shop(lone_harness, has_signals=False), lone_harness.opened.engine.parts
    later = await lone_harness.app.start(shop.echo, "x", delay="1h")
    await later.cancel()
    lone_harness.clock.advance("2m")

    await count_minutes.tick(parts)

    (minute,) = await counted(lone_harness)
    assert (minute.ended, minute.started, minute.took_sum, minute.took_max) == (1, 0, 0, 0)


async def test_nothing_is_written_where_nothing_has_ended(lone_harness: Harness) -> None:
    parts = lone_harness.opened.engine.parts
    lone_harness.clock.advance("3h")

    assert await count_minutes.tick(parts) == 0
    assert await counted(lone_harness) == ()


async def test_what_was_never_counted_is_caught_up_with(lone_harness: Harness) -> None:
    shop, parts = Shop(lone_harness, has_signals=False), lone_harness.opened.engine.parts
    await (await lone_harness.start(shop.echo, "x")).result()
    lone_harness.clock.advance("3h")
    await (await lone_harness.start(shop.echo, "x")).result()
    lone_harness.clock.advance("2m")

    while await count_minutes.tick(parts):
        continue

    rows = await counted(lone_harness)
    assert [row.ended for row in rows] == [1, 1]
    assert rows[1].minute - rows[0].minute == 180 * MINUTE


async def test_a_run_belongs_to_the_minute_in_which_it_ended(lone_harness: Harness) -> None:
    shop, parts = Shop(lone_harness, has_signals=False), lone_harness.opened.engine.parts
    clock = lone_harness.clock
    clock.advance(MINUTE - clock.now() % MINUTE)  # on the boundary itself
    await (await lone_harness.start(shop.echo, "x")).result()
    boundary = Instant(clock.now() // MINUTE * MINUTE)
    clock.advance("2m")

    while await count_minutes.tick(parts):
        continue

    assert [row.minute for row in await counted(lone_harness)] == [boundary]
