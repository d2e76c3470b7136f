"""Ends of runs are counted once for each minute, by whichever coordinator comes first."""

from __future__ import annotations

import asyncio

from tests.integration.dashboard.test_pages import Shop
from windlass.engine.coordinator import count_minutes
from windlass.model.time import MINUTE, Instant
from windlass.testing.harness import Harness


async def counted(harness: Harness) -> list[tuple[str, int, int, int]]:
    rows = await harness.opened.pages.read_minutes("default", Instant(0))
    return [(row.queue, row.completed, row.failed, row.cancelled) for row in rows]


async def end_some(harness: Harness, shop: Shop) -> None:
    for _ in range(3):
        await (await harness.start(shop.echo, "x")).result()
    await shop.fail()
    nap = await harness.start(shop.nap)
    await harness.until(nap, "sleeping")
    await nap.cancel()


async def test_a_minute_is_counted_once_it_is_over(harness: Harness) -> None:
    shop, parts = Shop(harness), harness.opened.engine.parts
    await end_some(harness, shop)
    before = await count_minutes.tick(parts)
    harness.clock.advance("2m")
    await asyncio.gather(count_minutes.tick(parts), count_minutes.tick(parts))
    again = await count_minutes.tick(parts)

    assert (before, again) == (0, 0)
    # The signal of the shop has started one more for the one that failed, or is about to.
    ((queue, completed, failed, cancelled),) = await counted(harness)
    assert (queue, failed, cancelled) == ("default", 1, 1)
    assert completed in (3, 4)


async def test_nothing_is_written_where_nothing_has_ended(memory_harness: Harness) -> None:
    parts = memory_harness.opened.engine.parts
    memory_harness.clock.advance("3h")

    assert await count_minutes.tick(parts) == 0
    assert await counted(memory_harness) == []


async def test_what_was_never_counted_is_caught_up_with(memory_harness: Harness) -> None:
    shop, parts = Shop(memory_harness), memory_harness.opened.engine.parts
    await (await memory_harness.start(shop.echo, "x")).result()
    memory_harness.clock.advance("3h")
    await (await memory_harness.start(shop.echo, "x")).result()
    memory_harness.clock.advance("2m")

    while await count_minutes.tick(parts):
        continue

    rows = await memory_harness.opened.pages.read_minutes("default", Instant(0))
    assert [row.completed for row in rows] == [1, 1]
    assert rows[1].minute - rows[0].minute == 180 * MINUTE
