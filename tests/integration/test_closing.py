"""When a loop, an app or a worker ends in the middle of things, does everyone get an answer?"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.programs import sleeps, steps
from windlass import Context, RunFailed
from windlass.errors import Unavailable
from windlass.testing.harness import Harness


async def order(ctx: Context, number: int) -> int:
    return number


@pytest.mark.parametrize("turns", [1, 2, 3, 5])
async def test_a_sender_that_is_cancelled_leaves_nobody_without_an_answer(harness: Harness, turns: int) -> None:
    """As at the end of asyncio.run, which cancels every task there is, also ours that have not begun."""
    harness.app.workflow(order)
    await harness.start(order, -1)
    batcher = harness.opened.engine.parts.batcher
    starting = [asyncio.create_task(harness.start(order, number)) for number in range(20)]
    for turn in range(turns):
        await asyncio.sleep(0)
        if turn:
            starting.append(asyncio.create_task(harness.start(order, 20 + turn)))
    for task in tuple(batcher._tasks):
        task.cancel()

    async with asyncio.timeout(30):
        started = await asyncio.gather(*starting, return_exceptions=True)
        later = await harness.start(order, 99)

    assert [answer for answer in started if not hasattr(answer, "id") and not isinstance(answer, Unavailable)] == []
    assert await later.result() == 99

    async def is_all_done() -> bool:
        harness.clock.advance("1s")  # what a cancelled sender has committed nobody was told of: a poll finds it
        return not await harness._busy()

    await eventually(is_all_done, what="every run that was accepted is over")


@pytest.mark.in_process("The readers of results are on the server.")
async def test_a_reader_that_is_cancelled_leaves_nobody_without_an_answer(harness: Harness) -> None:
    harness.app.workflow(order)
    handle = await harness.start(order, 1)
    await harness.idle()
    runs: Any = harness.opened.runs
    asking = [asyncio.create_task(handle.result()) for _ in range(3)]
    for _ in range(50):  # turns of the loop
        if runs._results._reader is not None:
            break
        await asyncio.sleep(0)
    runs._results._reader.cancel()

    async with asyncio.timeout(30):
        answers = await asyncio.gather(*asking, return_exceptions=True)

    assert [answer for answer in answers if answer != 1 and not isinstance(answer, Unavailable)] == []
    assert await handle.result() == 1


def inject(function: Callable[[Context, str], Any]) -> Callable[..., Any]:
    """A decorator that shows the arguments of what it wraps, and takes others."""

    @functools.wraps(function)
    async def wrapper(ctx: Context) -> Any:
        return await function(ctx, "database")

    return wrapper


async def test_a_workflow_that_cannot_be_called_fails_alone(harness: Harness) -> None:
    @harness.app.workflow
    @inject
    async def mislabelled(ctx: Context, database: str) -> str:
        return database

    harness.app.workflow(order)
    bad = await harness.start(mislabelled, "x")

    with pytest.raises(RunFailed, match="takes 1 positional argument but 2 were given"):
        await bad.result()
    assert await (await harness.start(order, 7)).result() == 7


async def test_closing_goes_on_when_whoever_closes_gives_up(open_harness: OpenHarness, gate: Gate) -> None:
    harness = await open_harness(has_worker=False)
    waits = harness.app.workflow(steps(gate.wait))
    stack = AsyncExitStack()
    for queue in ("slow", "quick"):
        await stack.enter_async_context(harness.app.worker(queues=[queue]))
    await harness.start(waits, queue="slow")
    await gate.reached()

    closing = asyncio.create_task(harness.app.aclose())
    await eventually(lambda: not harness.app._workers)  # while a body is at work, nobody claims any more
    closing.cancel()
    await asyncio.wait([closing])
    gate.open()
    await harness.app.aclose()

    assert (harness.app._workers, harness.app._opening.is_open) == ([], False)
    await stack.aclose()


async def test_a_harness_looks_into_the_namespace_of_its_app(open_harness: OpenHarness) -> None:
    harness = await open_harness(namespace="shop")
    nap = harness.app.workflow(sleeps("1d", then="rested"))

    async with asyncio.timeout(30):
        assert await harness.run(nap) == "rested"
    handle = await harness.start(nap)
    await harness.idle()
    assert [step.key for step in await harness.steps(handle)] == ["sleep"]
