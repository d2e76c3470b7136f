"""What becomes of a step or a child that nobody has awaited when the workflow returns? It is never lost in silence."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.integration.conftest import Gate, begin, eventually, path_of, until_recorded
from tests.integration.graphs.looking import ends
from tests.programs import sleeps
from windlass import App, Context, Handle, JobContext, Retry, RunFailed, StepFailed
from windlass.testing.harness import Harness


async def double(number: int) -> int:
    return 2 * number


async def refuse() -> None:
    raise TypeError("no stock")


async def flaky() -> None:
    raise OSError("not yet")


async def failure_of(harness: Harness, workflow: Callable[..., Awaitable[Any]], *args: Any) -> RunFailed:
    """Run it, and see that it fails and was never completed."""
    handle = await harness.start(workflow, *args)
    with pytest.raises(RunFailed) as caught:
        await handle.result()
    assert "completed" not in await path_of(harness, handle)
    assert (await path_of(harness, handle))[-1] == "failed"
    return caught.value


# What is not over


async def test_a_step_at_work_that_nobody_awaited_fails_the_run_and_is_named(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def forget(ctx: Context) -> str:
        begin(ctx.step(gate.wait))
        await ctx.step(double, 1)
        return "done"

    error = await failure_of(harness, forget)

    assert (error.type, error.kind) == ("NotAwaited", "logic")
    assert error.message == (
        "The workflow returned before step 'wait' was over, and nothing awaits it. Await what a workflow asks for "
        "before it returns, as asyncio.TaskGroup does, or cancel the task."
    )
    await gate.left()


async def test_a_step_asked_for_in_the_moment_of_the_return_is_not_begun_and_fails_the_run(harness: Harness) -> None:
    entered: list[int] = []

    async def note() -> None:
        entered.append(1)

    @harness.app.workflow
    async def forget(ctx: Context) -> str:
        begin(ctx.step(note))
        return "done"

    error = await failure_of(harness, forget)

    assert "before step 'note' was over" in error.message
    assert entered == []


async def test_steps_of_a_gather_that_nobody_awaited_are_counted(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def forget(ctx: Context) -> str:
        begin(asyncio.gather(*(ctx.step(gate.wait) for _ in range(5))))
        await ctx.step(double, 1)
        return "done"

    error = await failure_of(harness, forget)

    assert "before step 'wait', step 'wait#2', step 'wait#3' and 2 more were over" in error.message


async def test_of_a_map_that_nobody_awaited_an_item_that_is_not_over_is_named(harness: Harness, gate: Gate) -> None:
    go = harness.app.event("go", str)

    async def pass_or_wait(number: int) -> int:
        if number == 1:
            await gate.wait()
        return number

    @harness.app.workflow
    async def forget(ctx: Context) -> str:
        begin(ctx.map(pass_or_wait, [0, 1, 2]))
        return await ctx.receive(go)

    handle = await harness.start(forget)
    await gate.reached()
    await until_recorded(harness, handle, "pass_or_wait#3")
    await handle.send(go, "now")

    with pytest.raises(RunFailed, match="before step 'pass_or_wait#2' was over"):
        await handle.result()


@pytest.mark.parametrize("way", ["run", "start", "map"])
async def test_a_child_that_nobody_awaited_fails_the_run(harness: Harness, way: str) -> None:
    @harness.app.workflow
    async def ship(ctx: Context, number: int) -> None:
        await ctx.sleep("2h")

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        if way == "start":
            begin(ctx.start(ship, 1))
            return "done"
        begin(ctx.run(ship, 1) if way == "run" else ctx.map(ship, [1]))
        await ctx.sleep("1h")
        return "done"

    error = await failure_of_later(harness, order)

    assert (error.type, error.kind) == ("NotAwaited", "logic")
    assert "before child 'ship' was over" in error.message


async def failure_of_later(harness: Harness, workflow: Callable[..., Awaitable[Any]]) -> RunFailed:
    """The same for a run that is parked for an hour before."""
    handle = await harness.start(workflow)
    await harness.idle()
    await harness.advance("1h")
    with pytest.raises(RunFailed) as caught:
        await handle.result()
    return caught.value


async def test_a_step_that_waits_for_its_next_attempt_is_not_over_though_the_run_was_parked(harness: Harness) -> None:
    @harness.app.workflow
    async def forget(ctx: Context) -> str:
        begin(ctx.step(flaky, retry=Retry(3, initial="3h", max_delay="3h")))
        await ctx.sleep("1h")
        return "done"

    error = await failure_of_later(harness, forget)

    assert "before step 'flaky' was over" in error.message


async def test_a_branch_that_goes_from_step_to_step_is_not_cut_off_between_two_of_them(
    harness: Harness, gate: Gate
) -> None:
    """It hears of the step that ended together with the workflow, and asks for the next."""

    @harness.app.workflow
    async def forget(ctx: Context) -> str:
        async def both() -> None:
            await ctx.step(double, 1, key="first")
            await ctx.step(gate.wait)

        begin(both())
        await ctx.step(double, 2, key="own")
        return "done"

    error = await failure_of(harness, forget)

    assert "before step 'wait' was over" in error.message


async def test_a_job_is_held_to_the_same(harness: Harness, gate: Gate) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def lint(ctx: JobContext) -> str:
        begin(ctx.step(gate.wait))
        await ctx.step(double, 1)
        return "clean"

    handle = await harness.app.start(graph)
    await eventually(lambda: gate.cancelled == 1)
    await harness.idle()

    assert await ends(handle) == {"lint": "failed"}


# What is over, waits only, or was given up


async def test_a_step_that_is_over_need_not_be_awaited(harness: Harness) -> None:
    @harness.app.workflow
    async def forget(ctx: Context) -> str:
        begin(ctx.step(double, 1, key="left"))
        await ctx.sleep("1h")
        return "done"

    assert await harness.run(forget) == "done"


@pytest.mark.parametrize("what", ["receive", "approval", "sleep", "result of a child"])
async def test_a_task_that_only_waits_is_dropped(harness: Harness, what: str) -> None:
    replied = harness.app.event("replied", str)
    ship = harness.app.workflow(name="ship")(sleeps("5h"))

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        async def wait() -> None:
            child = await ctx.start(ship) if what == "result of a child" else None
            while True:
                if child is not None:
                    await child.result()
                elif what == "receive":
                    await ctx.receive(replied)
                elif what == "approval":
                    await ctx.approval("Ship it?")
                else:
                    await ctx.sleep("2h")

        begin(wait())
        await ctx.sleep("1h")
        return await ctx.step(str, "done")

    handle = await harness.start(order)
    await harness.idle()
    await harness.advance("1h")

    assert await handle.result() == "done"


async def test_a_cancelled_task_is_given_up(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def change_of_mind(ctx: Context) -> str:
        task = begin(ctx.step(gate.wait))
        await ctx.step(double, 1)
        task.cancel()
        return "done"

    assert await harness.run(change_of_mind) == "done"


async def test_who_loses_a_race_or_takes_too_long_is_given_up(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def hurry(ctx: Context) -> str:
        first, _ = await ctx.race(slow=ctx.step(gate.wait), quick=ctx.step(double, 1))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ctx.step(gate.wait, key="late"), timeout=0.01)
        return first

    assert await harness.run(hurry) == "quick"


async def test_a_gather_that_has_failed_gives_the_others_up_as_a_map_does(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def careful(ctx: Context) -> str:
        async def deeper() -> None:
            await begin(ctx.step(gate.wait, key="deeper"))

        try:
            await asyncio.gather(ctx.step(gate.wait), deeper(), ctx.step(refuse))
        except StepFailed as failed:
            return failed.message
        return "done"

    assert await harness.run(careful) == "no stock"


async def test_a_task_that_never_stands_still_does_not_keep_the_run(harness: Harness) -> None:
    @harness.app.workflow
    async def busy(ctx: Context) -> str:
        async def spin() -> None:
            while True:  # noqa: ASYNC110 - it is to be a bad one
                await asyncio.sleep(0)

        begin(spin())
        return "done"

    assert await harness.run(busy) == "done"


async def test_a_workflow_that_raises_fails_with_its_own_error(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def broken(ctx: Context) -> None:
        begin(ctx.step(gate.wait))
        await ctx.step(double, 1)
        raise ValueError("mine")

    error = await failure_of(harness, broken)

    assert (error.type, error.message) == ("ValueError", "mine")


# The same verdict wherever the worker dies


async def an_hour(harness: Harness, handle: Handle[Any]) -> None:
    await harness.idle()
    await harness.advance("1h")


@pytest.mark.parametrize("left", ["is over", "is tried again later", "only waits", "failed for good"])
async def test_the_verdict_is_the_same_wherever_the_worker_dies(left: str) -> None:
    app = App("sqlite:///:memory:")
    replied = app.event("replied", str)

    @app.workflow
    async def forget(ctx: Context) -> str:
        async def branch() -> None:
            await ctx.step(double, 1, key="first")
            if left == "only waits":
                await ctx.receive(replied)
            elif left == "is tried again later":
                await ctx.step(flaky, retry=Retry(3, initial="3h", max_delay="3h"))
            elif left == "failed for good":
                await ctx.step(refuse)

        begin(branch())
        await ctx.step(double, 2, key="own")
        await ctx.sleep("1h")
        return await ctx.step(str, "done")

    verdicts: set[str] = set()

    async def note(harness: Harness, handle: Handle[Any]) -> None:
        try:
            verdicts.add(await handle.result())
        except RunFailed as failed:
            verdicts.add(failed.type)

    report = await Harness(app=app).crash_everywhere(forget, script=an_hour, check=note)

    assert len(report.points) > 10
    expected = {"is tried again later": "NotAwaited", "failed for good": "TypeError"}
    assert verdicts == {expected.get(left, "done")}
