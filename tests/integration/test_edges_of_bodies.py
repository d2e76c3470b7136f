"""Do bodies behave at their edges: many threads, coroutines from plain callables, results that no longer fit?"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import windlass
from windlass import Context, ReplayMismatch, Retry, RunFailed, StepFailed
from windlass.testing.harness import Harness
from windlass.worker.worker import FEWEST_THREADS


@pytest.fixture
async def harness(open_harness: Any) -> Harness:
    opened: Harness = await open_harness(slots=4)
    return opened


async def test_sync_steps_never_use_more_threads_than_the_worker_allows(harness: Harness) -> None:
    at_once, most, lock = 0, 0, threading.Lock()
    release = threading.Event()

    def count(number: int) -> int:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
            if at_once == FEWEST_THREADS:
                release.set()
        release.wait(10)
        with lock:
            at_once -= 1
        return number

    @harness.app.workflow
    async def fan_out(ctx: Context) -> int:
        return sum(await ctx.map(count, range(5 * FEWEST_THREADS)))

    assert await harness.run(fan_out) == sum(range(5 * FEWEST_THREADS))
    assert most == FEWEST_THREADS


async def test_a_plain_callable_that_returns_a_coroutine_keeps_its_time_out_and_its_name(harness: Harness) -> None:
    keys = []

    async def endless() -> int:
        keys.append(windlass.current_step().key)
        await asyncio.Event().wait()
        return 1

    @harness.app.workflow
    async def impatient(ctx: Context) -> str:
        try:
            await ctx.step(lambda: endless(), name="endless", timeout="5s", retry=Retry(1))  # type: ignore[misc]
        except StepFailed as failed:
            return failed.kind
        return "ended"

    handle = await harness.start(impatient)
    async with asyncio.timeout(20):
        while not keys:  # noqa: ASYNC110 - the body is on another thread first
            await asyncio.sleep(0.001)
    harness.clock.advance("6s")

    assert await handle.result() == "timeout"
    assert keys == ["endless"]


async def test_a_recorded_result_that_no_longer_fits_pauses_the_run_and_says_so(harness: Harness) -> None:
    async def price() -> str:
        return "12.50"

    @harness.app.workflow(name="sell")
    async def sell(ctx: Context) -> str:
        await ctx.step(price)
        await ctx.sleep("1h")
        return "sold"

    handle = await harness.start(sell)
    await harness.idle()

    async def changed() -> int:
        return 12

    changed.__qualname__, changed.__name__ = price.__qualname__, price.__name__
    original = price
    price = changed  # type: ignore[assignment]
    await harness.advance("1h")

    with pytest.raises(ReplayMismatch, match="the result that history has for 'price' does not fit"):
        await handle.result()

    price = original
    await handle.resume()
    await harness.idle()
    assert await handle.result() == "sold"


async def test_a_map_whose_failure_has_been_heard_enters_no_other_body(harness: Harness) -> None:
    entered = []

    async def fail_first(number: int) -> int:
        entered.append(number)
        if number == 0:
            raise TypeError("no")
        return number

    @harness.app.workflow
    async def all_or_nothing(ctx: Context) -> None:
        try:
            await ctx.map(fail_first, range(2_000), limit=1)
        finally:
            await ctx.sleep("1s")

    with pytest.raises(RunFailed, match="no"):
        await harness.run(all_or_nothing)

    # While the failure is on its way to the store the next bodies begin; once the code has heard of it, none does.
    assert len(entered) < 1_000
