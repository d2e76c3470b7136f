"""Is what a run is told the same as what is on record, although the answer to its write was lost?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests.integration.conftest import AnswerLost, ByHand, OpenHarness, eventually
from tests.programs import raises, returns
from windlass import Context, RunFailed, StepFailed
from windlass.client.handle import Handle
from windlass.store.base import NoHooks
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


async def test_a_send_that_a_retry_repeats_with_the_same_payload_is_the_same_event(open_harness: OpenHarness) -> None:
    """The event was accepted, and that it was sent could not be recorded any more."""
    hooks = AnswerLost("send_event")
    harness = await open_harness(hooks=hooks)
    said = harness.app.event("said", int)

    @harness.app.workflow
    async def child(ctx: Context) -> list[int]:
        return [await ctx.receive(said), await ctx.receive(said, timeout="1h", default=-1)]

    @harness.app.workflow
    async def parent(ctx: Context) -> list[int]:
        started = await ctx.start(child)
        await started.send(said, 7)
        return await started.result()

    hooks.is_armed = True
    handle = await harness.start(parent)
    await eventually(lambda: not hooks.is_armed, what="the event is accepted, and nobody hears of it")
    await handle.pause()
    (execution,) = [e for worker in harness.app._workers for e in worker.executions if e.claimed.name == "parent"]
    execution.ending.stop()
    await harness.until(handle, "paused")
    again = await handle.retry()
    await harness.idle()
    await harness.advance("1h")

    assert await again.result() == [7, -1]


async def test_a_run_whose_start_was_repeated_behind_a_closed_gate_is_executed(open_harness: OpenHarness) -> None:
    """Born claimed by the first try, whose answer was lost: whoever holds it has to hear of it, paused queue or not."""
    hooks = AnswerLost("start_runs")
    harness = await open_harness(hooks=hooks)
    order = harness.app.workflow(returns("done"))
    await harness.run(order)
    await harness.idle()
    hooks.is_armed = True
    starting = asyncio.ensure_future(harness.start(order))
    await eventually(lambda: not hooks.is_armed, what="the run is stored, and nobody hears of it")
    await harness.app.pause(queue="default")

    async def is_answered() -> bool:
        harness.clock.advance("20ms")
        return starting.done()

    await eventually(is_answered, what="the start is answered")
    handle = await starting
    if await handle.status() == "pending":  # there was no worker to offer a slot at that moment
        await harness.app.resume(queue="default")

    assert await handle.result() == "done"


class AtTheEnd(NoHooks):
    """Calls back when runs are about to be ended."""

    def __init__(self) -> None:
        self.callback: Callable[[], object] | None = None

    def before_begin(self, name: str) -> None:
        if self.callback is not None and "finish_runs" in name:
            callback, self.callback = self.callback, None
            callback()


async def test_what_a_cancelled_poll_has_claimed_goes_back(open_harness: OpenHarness) -> None:
    """Beside it an expired run is being ended: that takes a transaction more."""
    hooks = AtTheEnd()
    harness = await open_harness(hooks=hooks, has_worker=False)
    order = harness.app.workflow(name="order")(returns("done"))
    late, sound = await harness.start(order, timeout="1s"), await harness.start(order)
    harness.clock.advance("2s")
    loop = asyncio.get_running_loop()
    polling = asyncio.ensure_future(ByHand(harness).claim())
    hooks.callback = lambda: loop.call_soon_threadsafe(polling.cancel)
    await asyncio.wait([polling])
    assert polling.cancelled()
    await harness.until(late, "failed")
    await harness.until(sound, "pending")


async def test_a_child_that_failed_with_an_error_of_that_name_was_not_cancelled(open_harness: OpenHarness) -> None:
    harness = await open_harness()

    class RunCancelled(Exception): ...

    child = harness.app.workflow(raises(RunCancelled, "by itself"))

    @harness.app.workflow
    async def parent(ctx: Context) -> str:
        try:
            await ctx.run(child)
        except RunFailed as error:
            return error.type.rpartition(".")[2]
        return "?"

    assert await harness.run(parent) == "RunCancelled"
