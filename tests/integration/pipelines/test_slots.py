"""Runs and pipelines share the slots of a worker: does it ever hold more than it has?"""

from __future__ import annotations

import asyncio

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.integration.pipelines.test_executing import declared
from tests.programs import returns, steps

LOOKS = 20  # until what is wrongly claimed has been, at the latest


async def test_a_run_waits_for_the_only_slot_while_a_handler_has_it(open_harness: OpenHarness) -> None:
    harness = await open_harness(slots=1)
    app, gate = harness.app, Gate()
    numbers = app.topic("number", int)
    orders = app.pipeline("orders")

    @orders.consumer(numbers)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        await gate.wait()

    report = app.workflow(returns("done"))
    await declared(app, "orders")
    await app.publish(numbers, 1, id="1")
    await gate.reached()

    handle = await app.start(report)

    assert {await handle.status() for _ in range(LOOKS)} == {"pending"}
    gate.open()
    assert await handle.result() == "done"


async def test_a_handler_waits_for_the_only_slot_while_a_run_has_it(open_harness: OpenHarness) -> None:
    harness = await open_harness(slots=1)
    app, gate = harness.app, Gate()
    numbers = app.topic("number", int)
    orders = app.pipeline("orders")
    seen: list[int] = []

    @orders.consumer(numbers)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        seen.extend(event.payload for event in events)

    report = app.workflow(steps(gate.wait))
    await declared(app, "orders")
    await app.start(report)
    await gate.reached()

    await app.publish(numbers, 1, id="1")

    assert [await app.pipelines.runs("orders") for _ in range(LOOKS)] == [[]] * LOOKS
    gate.open()
    await eventually(lambda: seen == [1], what="it has the slot")


@pytest.mark.parametrize("slots", [1, 2])
async def test_under_load_of_both_kinds_a_worker_is_never_overfull(open_harness: OpenHarness, slots: int) -> None:
    harness = await open_harness(slots=slots)
    app, held, seen, done = harness.app, list[int](), list[int](), list[int]()
    numbers = app.topic("number", int)

    async def work() -> None:
        (worker,) = app._workers
        held.append(len(worker.executions) + len(worker.handled))
        for _ in range(3):
            await asyncio.sleep(0)

    def declare(name: str) -> None:
        @app.pipeline(name).consumer(numbers)
        async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
            await work()
            seen.extend(event.payload for event in events)

    @app.workflow
    async def report(ctx: windlass.Context, number: int) -> None:
        await ctx.step(work)
        done.append(number)

    names = ("one", "two", "three")
    for name in names:
        declare(name)
    await declared(app, names[-1])
    count = 8
    for number in range(count):
        await asyncio.gather(app.start(report, number), app.publish(numbers, number, id=str(number)))
    await eventually(lambda: len(done) == count and len(seen) == count * len(names), what="all of it is done")

    assert max(held) <= slots
    assert sorted(done) == [*range(count)]
