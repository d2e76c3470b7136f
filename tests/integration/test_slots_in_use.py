"""Is it said how many slots a worker uses now, and not how many it used when it was last heard of?"""

from __future__ import annotations

import windlass
from tests.integration.conftest import Gate, eventually
from tests.programs import sleeps
from windlass.testing.harness import Harness


async def at_work(harness: Harness) -> list[int]:
    return [worker.active for worker in await harness.opened.runs.list_workers("default")]


async def test_a_run_counts_from_its_claim_to_its_end(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def order(ctx: windlass.Context, number: int) -> None:
        await ctx.step(gate.wait)

    before = await at_work(harness)
    handles = [await harness.start(order, number) for number in range(3)]
    await gate.reached(3)
    busy = await at_work(harness)
    gate.open()
    for handle in handles:
        await handle.result()

    assert (before, busy, await at_work(harness)) == ([0], [3], [0])


async def test_a_run_that_sleeps_takes_no_slot(harness: Harness) -> None:
    nap = harness.app.workflow(sleeps("1h"))
    await harness.until(await harness.start(nap), "sleeping")

    assert await at_work(harness) == [0]


async def test_a_pipeline_at_work_counts_as_well(harness: Harness, gate: Gate) -> None:
    app = harness.app
    orders = app.topic("orders", int)

    @app.pipeline("shop").consumer(orders)
    async def pack(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        await gate.wait()

    async def is_declared() -> bool:
        return bool(await app.pipelines.list())

    await eventually(is_declared)
    await app.publish(orders, 1, id="a")
    await gate.reached()

    assert await at_work(harness) == [1]
    gate.open()
    await harness.idle()
    assert await at_work(harness) == [0]
