"""Does what the code has dropped stay dropped, and does a codec that cannot answer cost time and nothing else?"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.integration.conftest import eventually
from tests.programs import steps
from windlass import Context, ReplayMismatch, Retry, Unavailable
from windlass.model.run import RunId
from windlass.testing.harness import Harness
from windlass.worker.worker import FEWEST_THREADS

OpenHarness = Callable[..., Awaitable[Harness]]


async def causes(harness: Harness, run_id: str) -> list[str]:
    return [entry.cause for entry in await harness.opened.runs.read_log("default", RunId(run_id))]


@pytest.mark.parametrize("way", ["group", "map"])
async def test_a_retry_that_nobody_awaits_any_more_wakes_nobody(harness: Harness, way: str) -> None:
    async def flaky(number: int) -> int:
        if number:
            raise OSError("again")
        raise TypeError("for good")

    @harness.app.workflow
    async def give_up(ctx: Context) -> str:
        with contextlib.suppress(Exception):
            if way == "map":
                await ctx.map(flaky, [1, 0], retry=Retry(5, initial="1s"))
            else:
                async with asyncio.TaskGroup() as group:
                    group.create_task(ctx.step(flaky, 1, retry=Retry(5, initial="1s")))
                    group.create_task(ctx.step(flaky, 0))
        await ctx.sleep("1d")
        return "slept"

    handle = await harness.start(give_up)
    await harness.idle()
    for _ in range(20):
        await harness.advance("1h")

    assert (await causes(harness, handle.id)).count("claim") < 6  # not one for every look at the dropped retry
    await harness.advance("5h")
    assert await handle.result() == "slept"


class Locksmith:
    """A codec hook whose key service can be away."""

    def __init__(self) -> None:
        self.is_away, self.has_wrong_key = False, False

    def seal(self, data: bytes, /) -> bytes:
        return data[::-1]

    def open(self, data: bytes, /) -> bytes:
        if self.is_away:
            raise Unavailable("The key service does not answer.")
        if self.has_wrong_key:
            raise ValueError("wrong key")
        return data[::-1]


async def test_a_key_service_that_is_away_costs_time_and_nothing_else(open_harness: OpenHarness) -> None:
    locksmith = Locksmith()
    harness = await open_harness(codec=locksmith)

    async def one() -> int:
        return 1

    @harness.app.workflow
    async def sealed(ctx: Context, number: int) -> int:
        found = await ctx.step(one)
        await ctx.sleep("1h")
        return number + found

    early = await harness.start(sealed, 1)
    await harness.idle()
    locksmith.is_away = True
    late = await harness.start(sealed, 2)
    harness.clock.advance("1h")
    async with asyncio.timeout(20):
        for handle in (early, late):
            while (await causes(harness, handle.id))[-1] in ("start", "sleep"):  # noqa: ASYNC110 - a row has no event
                await asyncio.sleep(0.001)

    locksmith.is_away = False
    for _ in range(3):
        harness.clock.advance("6s")
        await asyncio.sleep(0.05)
    await harness.idle()

    assert await early.result() == 2
    await harness.advance("1h")
    assert await late.result() == 3


async def test_a_worker_with_the_wrong_key_pauses_runs_instead_of_failing_them(open_harness: OpenHarness) -> None:
    locksmith = Locksmith()
    harness = await open_harness(codec=locksmith)

    @harness.app.workflow
    async def sealed(ctx: Context, number: int) -> int:
        return number

    locksmith.has_wrong_key = True
    handle = await harness.start(sealed, 1)
    await harness.idle()
    with pytest.raises(ReplayMismatch, match="stored input does not fit"):
        await handle.result()

    locksmith.has_wrong_key = False
    await handle.resume()
    await harness.idle()
    assert await handle.result() == 1


def stands_by(harness: Harness, run_id: str) -> bool:
    """Is the run at a worker, and has it seen that nothing of its own can move it?"""
    executions = [execution for worker in harness.app._workers for execution in worker.executions]
    standbys = [item.standby for item in executions if item.claimed.run_id == run_id and not item.is_over]
    return any(standby is not None and standby._timer is not None for standby in standbys)


async def test_a_run_that_waits_for_a_thread_is_given_back_and_never_taken_for_dead(open_harness: OpenHarness) -> None:
    harness = await open_harness(slots=4)
    release, entered = threading.Event(), threading.Semaphore(0)

    def hold(number: int) -> int:
        entered.release()
        release.wait(20)
        return number

    def quick() -> str:
        return "quick"

    @harness.app.workflow(visibility="1h")
    async def greedy(ctx: Context) -> int:
        return len(await ctx.map(hold, range(FEWEST_THREADS), visibility="1h"))

    modest = harness.app.workflow(steps(quick))
    greedy_one = await harness.start(greedy)
    await asyncio.to_thread(lambda: [entered.acquire(timeout=20) for _ in range(FEWEST_THREADS)])
    modest_one = await harness.start(modest)
    for _ in range(3):
        await eventually(lambda: stands_by(harness, modest_one.id))
        before = (await causes(harness, modest_one.id)).count("release")
        harness.clock.advance("151s")
        async with asyncio.timeout(20):
            while (await causes(harness, modest_one.id)).count("release") == before:  # noqa: ASYNC110 - likewise
                await asyncio.sleep(0.001)
    release.set()

    assert await modest_one.result() == "quick"
    assert await greedy_one.result() == FEWEST_THREADS
    assert "recover" not in await causes(harness, modest_one.id)


async def test_steps_with_a_visibility_of_their_own_keep_to_the_threads_there_are(open_harness: OpenHarness) -> None:
    harness = await open_harness(slots=4)
    at_once, most, lock = 0, 0, threading.Lock()
    full = threading.Event()

    def count(number: int) -> int:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        if at_once >= FEWEST_THREADS:
            full.set()
        full.wait(10)
        with lock:
            at_once -= 1
        return number

    @harness.app.workflow
    async def fan_out(ctx: Context) -> int:
        return len(await ctx.map(count, range(3 * FEWEST_THREADS), visibility="1h"))

    assert await harness.run(fan_out) == 3 * FEWEST_THREADS
    assert most == FEWEST_THREADS


async def test_the_key_of_a_failed_step_is_kept_as_it_is(harness: Harness) -> None:
    async def bad() -> None:
        raise TypeError("no")

    quoted = harness.app.workflow(steps(bad, key="o'brien"))
    handle = await harness.start(quoted)
    await harness.idle()
    view: Any = await harness.opened.runs.get_run("default", RunId(handle.id))

    assert view.failure.step == "bad:o'brien"
