"""Is what a run is told the same as what is on record, although the answer to its write was lost?"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.integration.conftest import AnswerLost, OpenHarness, eventually
from windlass import Context, RunFailed, StepFailed
from windlass.client.handle import Handle
from windlass.testing.harness import Harness


async def let_time_pass(harness: Harness, handle: Handle[Any], status: str) -> None:
    """The worker asks again after a pause."""

    async def is_there() -> bool:
        harness.clock.advance("20ms")
        return await handle.status() == status

    await eventually(is_there, what=f"the run is {status}")


@pytest.mark.spec("invariants:I-57")
async def test_an_event_is_taken_once_though_the_answer_about_another_was_lost(open_harness: OpenHarness) -> None:
    hooks = AnswerLost("park_run")
    harness = await open_harness(hooks=hooks)
    first, second = harness.app.event("first", str), harness.app.event("second", str)

    @harness.app.workflow
    async def asking(ctx: Context) -> list[str]:
        await ctx.sleep("1h")
        won = await ctx.race(first=ctx.receive(first), second=ctx.receive(second))
        return [won[0], await ctx.receive(second, timeout="1h", default="lost")]

    handle = await harness.start(asking)
    await harness.idle()
    await handle.send(first, "1")
    await handle.send(second, "2")
    hooks.is_armed = True
    harness.clock.advance("1h")
    await let_time_pass(harness, handle, "completed")

    assert await handle.result() == ["first", "2"]
    assert not hooks.is_armed


@pytest.mark.spec("invariants:I-06", "invariants:I-57")
async def test_the_time_of_a_failure_is_that_of_its_record(open_harness: OpenHarness) -> None:
    hooks = AnswerLost("park_run")
    harness = await open_harness(hooks=hooks)
    seen = list[datetime]()

    async def broken() -> None:
        raise TypeError("for good")

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        try:
            await ctx.step(broken)
        except StepFailed:
            seen.append(ctx.now())
        await ctx.step(str, ctx.now().isoformat())
        await ctx.sleep("1h")

    hooks.is_armed = True
    handle = await harness.start(order)
    await let_time_pass(harness, handle, "sleeping")
    await harness.advance("1h")
    await handle.result()

    assert seen[0] == seen[1]
    assert not hooks.is_armed


async def test_a_retry_that_comes_to_a_send_again_sends_another_event(open_harness: OpenHarness) -> None:
    harness = await open_harness()
    said, values = harness.app.event("said", int), [1, 2]

    async def compute() -> int:
        return values.pop(0)

    @harness.app.workflow
    async def child(ctx: Context) -> list[int]:
        return [await ctx.receive(said), await ctx.receive(said)]

    @harness.app.workflow
    async def parent(ctx: Context) -> list[int]:
        started = await ctx.start(child)
        await started.send(said, await ctx.step(compute))
        if values:
            raise ValueError("once more")
        return await started.result()

    handle = await harness.start(parent)
    with pytest.raises(RunFailed, match="once more"):
        await handle.result()

    assert await (await handle.retry(from_step="compute")).result() == [1, 2]
