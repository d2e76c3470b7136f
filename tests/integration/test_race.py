"""Does the first of several waits win, the same at every replay, and is what lost forgotten?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.conftest import Gate, eventually, row_of
from windlass import Context, RunFailed
from windlass.testing.harness import Harness


async def test_the_first_wins_and_what_lost_wakes_nobody(harness: Harness) -> None:
    replied, seen = harness.app.event("replied", str), list[Any]()

    @harness.app.workflow
    async def asking(ctx: Context) -> str:
        name, value = await ctx.race(reply=ctx.receive(replied), late=ctx.sleep("1d"))
        seen.append((name, value))
        await ctx.sleep("7d")
        return f"{name}: {value}"

    handle = await harness.start(asking)
    await harness.until(handle, "waiting")
    await handle.send(replied, "yes")
    await harness.until(handle, "sleeping")
    run = await row_of(harness, handle)
    assert run.available_at == harness.clock.now() + 7 * 86_400_000_000  # not after one day, with the sleep that lost
    await harness.advance("7d")

    assert await handle.result() == "reply: yes"
    assert seen == [("reply", "yes")] * 2


async def test_an_event_that_came_too_late_is_still_there_for_the_next_wait(harness: Harness) -> None:
    replied = harness.app.event("replied", str)

    @harness.app.workflow
    async def asking(ctx: Context) -> list[str]:
        first, _ = await ctx.race(reply=ctx.receive(replied), late=ctx.sleep("1d"))
        await ctx.sleep("1d")
        return [first, await ctx.receive(replied)]

    handle = await harness.start(asking)
    await harness.until(handle, "waiting")
    await harness.advance("1d")
    await handle.send(replied, "late")
    await harness.idle()
    assert await handle.status() == "sleeping"
    await harness.advance("1d")

    assert await handle.result() == ["late", "late"]


async def test_the_error_of_the_first_is_raised(harness: Harness) -> None:
    async def broken() -> None:
        raise TypeError("no")

    @harness.app.workflow
    async def racing(ctx: Context) -> None:
        await ctx.race(work=ctx.step(broken), late=ctx.sleep("1d"))

    handle = await harness.start(racing)
    with pytest.raises(RunFailed, match="TypeError: no"):
        await handle.result()


async def test_a_step_can_win_over_a_time_limit_and_lose(harness: Harness, gate: Gate) -> None:
    async def quick() -> str:
        return "quick"

    @harness.app.workflow(visibility="12h")
    async def racing(ctx: Context) -> list[str]:
        first = await ctx.race(work=ctx.step(quick), late=ctx.sleep("1h"))
        second = await ctx.race(work=ctx.step(gate.wait), late=ctx.sleep("1h"))
        return [first[0], second[0]]

    handle = await harness.start(racing)
    await gate.reached()

    async def passes() -> bool:
        harness.clock.advance("1m")
        steps = await harness.steps(handle)
        return any(step.key == "sleep#2" and step.status == "completed" for step in steps)

    await eventually(passes, what="the second sleep ends")
    gate.open()  # what was entered runs to its end

    assert await handle.result() == ["work", "late"]


async def test_branches_can_race_with_code_of_their_own(harness: Harness) -> None:
    replied = harness.app.event("replied", str)

    @harness.app.workflow
    async def asking(ctx: Context) -> str:
        async def remind() -> str:
            for _ in range(3):
                await ctx.sleep("1d")
            return "gave up"

        name, value = await ctx.race(reply=ctx.receive(replied), given_up=remind())
        return f"{name}: {value}"

    handle = await harness.start(asking)
    await harness.until(handle, "waiting")
    for _ in range(3):
        await harness.advance("1d")

    assert await handle.result() == "given_up: gave up"


async def test_a_race_needs_runners(harness: Harness) -> None:
    @harness.app.workflow
    async def racing(ctx: Context) -> None:
        await ctx.race()

    with pytest.raises(RunFailed, match=r"race\(\) needs something to wait for"):
        await harness.run(racing)


async def test_a_loser_may_clean_up(harness: Harness) -> None:
    cleaned = list[str]()

    @harness.app.workflow
    async def racing(ctx: Context) -> str:
        async def slow() -> None:
            try:
                await ctx.sleep("7d")
            except asyncio.CancelledError:
                cleaned.append("slow")
                raise

        return (await ctx.race(slow=slow(), quick=ctx.sleep("1h")))[0]

    assert await harness.run(racing) == "quick"
    assert cleaned == ["slow", "slow"]  # when the run was parked, and when it had lost
