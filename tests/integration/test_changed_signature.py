"""Does a run whose workflow has another signature now wait for a person, with one clear line, and nobody else?"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import windlass
from tests.programs import returns
from windlass.testing.harness import Harness


@pytest.fixture
async def harness(url: str) -> AsyncIterator[Harness]:
    async with Harness(url) as harness:
        yield harness


async def test_a_run_whose_arguments_no_longer_fit_is_paused_and_the_worker_goes_on(harness: Harness) -> None:
    @harness.app.workflow(name="ship")
    async def ship(ctx: windlass.Context, order: str, by: str) -> str:
        return f"{order} by {by}"

    later = await harness.start(ship, "7", "sea", delay="1h")
    mistyped = await harness.start(ship, "8", "air", delay="1h")
    await harness.idle()

    def redeclared() -> None:
        async def ship(ctx: windlass.Context, order: str) -> str:
            return order

        ship.__qualname__ = original
        harness.app.workflow(name="ship")(ship)

    original = ship.__qualname__
    redeclared()
    await harness.advance("1h")

    for handle in (later, mistyped):
        with pytest.raises(windlass.ReplayMismatch, match="started with 2 arguments, and now takes 1"):
            await handle.result()

    other = harness.app.workflow(returns("still here"))

    assert await harness.run(other) == "still here"

    harness.app.workflow(name="ship")(ship)
    await later.resume()
    await harness.idle()
    assert await later.result() == "7 by sea"
