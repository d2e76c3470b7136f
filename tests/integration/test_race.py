"""Does the first of several waits win, the same at every replay, and is what lost forgotten?"""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from tests.integration.conftest import Gate, eventually, row_of
from tests.programs import sleeps
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


async def test_of_two_that_fail_at_once_the_first_is_heard_and_the_other_is_nobodys_error(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(text: str) -> None:
        raise TypeError(text)

    @harness.app.workflow
    async def racing(ctx: Context) -> None:
        await ctx.race(first=refuse("one"), second=refuse("two"))

    with pytest.raises(RunFailed, match="TypeError: one"):
        await harness.run(racing)
    gc.collect()

    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


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


async def test_of_two_events_that_are_there_one_is_received_and_the_other_stays(harness: Harness) -> None:
    yes, no = harness.app.event("yes", str), harness.app.event("no", str)

    @harness.app.workflow
    async def asking(ctx: Context) -> list[str]:
        await ctx.sleep("1s")
        first = await ctx.race(yes=ctx.receive(yes), no=ctx.receive(no))
        return [first[0], await ctx.receive(no, timeout="1h", default="lost")]

    handle = await harness.start(asking)
    await harness.idle()
    await handle.send(no, "n")
    await handle.send(yes, "y")
    await harness.advance("1s")

    assert await handle.result() == ["yes", "n"]


async def test_an_event_wins_over_a_sleep_that_is_over_and_none_is_lost_in_a_loop(harness: Harness) -> None:
    said = harness.app.event("said", str)

    @harness.app.workflow
    async def listening(ctx: Context) -> list[str]:
        heard = list[str]()
        for _ in range(4):
            name, value = await ctx.race(said=ctx.receive(said), tick=ctx.sleep("1m"))
            heard.append(value if name == "said" else "tick")
        return heard

    handle = await harness.start(listening)
    await harness.until(handle, "waiting")
    await harness.idle()
    await harness.app.pause(queue="default")
    harness.clock.advance("2m")  # nobody takes it, and both are there when somebody does
    await handle.send(said, "one")
    await handle.send(said, "two")
    await harness.app.resume(queue="default")
    await harness.idle()
    await harness.advance("1m")
    await harness.advance("1m")

    assert await handle.result() == ["one", "two", "tick", "tick"]


async def test_an_event_that_comes_with_the_result_of_a_step_is_not_lost(harness: Harness, gate: Gate) -> None:
    said, seen = harness.app.event("said", str), list[str]()

    async def work() -> str:
        await gate.wait()
        return "worked"

    @harness.app.workflow
    async def listening(ctx: Context) -> list[str]:
        first = await ctx.race(work=ctx.step(work), said=ctx.receive(said))
        seen.append(first[0])
        return [first[1], await ctx.receive(said, timeout="1h", default="lost") if first[0] == "work" else "-"]

    handle = await harness.start(listening)
    await gate.reached()
    gate.open()
    await handle.send(said, "hello")

    assert await handle.result() in (["worked", "hello"], ["hello", "-"])


async def test_a_child_that_lost_does_not_hold_its_parent(harness: Harness) -> None:
    slow = harness.app.workflow(sleeps("7d"))

    @harness.app.workflow
    async def parent(ctx: Context) -> str:
        return (await ctx.race(child=ctx.run(slow), late=ctx.sleep("1h")))[0]

    handle = await harness.start(parent)
    await harness.idle()
    await harness.advance("1h")

    assert await handle.result() == "late"
