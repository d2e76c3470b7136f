"""Does a run that is served the short way, one task that awaits one step, behave like any other once it is not?"""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from tests.integration.conftest import OpenHarness, eventually
from tests.programs import steps
from windlass import Context, NotAllowed, RunFailed
from windlass.testing.harness import Harness
from windlass.worker.execute import Execution


@pytest.fixture
async def harness(open_harness: OpenHarness) -> Harness:
    return await open_harness(slots=10)


def executions(harness: Harness) -> list[Execution]:
    return [execution for worker in harness.app._workers for execution in worker.executions]


async def quick(value: str) -> str:
    return value


@pytest.mark.parametrize("then", ["another step", "the end"])
async def test_a_step_that_the_code_gives_up_does_not_keep_it(harness: Harness, then: str) -> None:
    gate, begun = asyncio.Event(), asyncio.Event()
    limits: list[asyncio.Timeout] = []

    async def slow() -> str:
        begun.set()
        await gate.wait()
        return "slow"

    @harness.app.workflow
    async def impatient(ctx: Context) -> str:
        try:
            async with asyncio.timeout(None) as limit:
                limits.append(limit)
                return await ctx.step(slow)
        except TimeoutError:
            return await ctx.step(quick, "instead") if then == "another step" else "gave up"

    handle = await harness.start(impatient)
    await begun.wait()
    limits[0].reschedule(asyncio.get_running_loop().time())

    assert await handle.result() == ("instead" if then == "another step" else "gave up")
    gate.set()


async def test_one_task_that_asks_beside_a_foreign_one_waits_its_turn(harness: Harness) -> None:
    """A coroutine of ctx that somebody else awaits is no step of the only task."""

    @harness.app.workflow
    async def lends(ctx: Context) -> list[str]:
        asked = [ctx.step(quick, value, key=value) for value in "abc"]
        return await asyncio.gather(*asked)

    assert await harness.run(lends) == ["a", "b", "c"]


async def test_runs_that_are_over_leave_nothing_for_the_garbage_collector(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[weakref.ref[Execution]] = []
    begin = Execution.begin

    def note(self: Execution, coroutine: Any) -> None:
        seen.append(weakref.ref(self))
        begin(self, coroutine)

    monkeypatch.setattr(Execution, "begin", note)

    @harness.app.workflow
    async def steps(ctx: Context, number: int) -> int:
        for value in "abc":
            await ctx.step(quick, value)
        return number

    gc.collect()
    gc.disable()
    try:
        handles = [await harness.start(steps, number) for number in range(5)]
        for handle in handles:
            await handle.result()
        await eventually(lambda: not any(ref() for ref in seen), what="that all of them are gone")
    finally:
        gc.enable()
    assert len(seen) == 5


async def test_ctx_of_a_run_that_is_over_refuses_every_call_in_words(harness: Harness) -> None:
    kept: list[Context] = []

    @harness.app.workflow
    async def leaks(ctx: Context) -> str:
        kept.append(ctx)
        return "over"

    assert await harness.run(leaks) == "over"
    await eventually(lambda: not executions(harness))

    for call in (
        lambda ctx: ctx.sleep("1s"),
        lambda ctx: ctx.approval("pay?"),
        lambda ctx: ctx.step(quick, "x"),
        lambda ctx: ctx.run(leaks),
    ):
        with pytest.raises(NotAllowed, match="has left this worker"):
            await call(kept[0])


async def test_an_error_in_hearing_of_a_failed_body_drops_that_run_and_no_other(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As when a filter of the program's own log raises."""

    def broken(*_: Any) -> None:
        raise RuntimeError("a filter of the program")

    monkeypatch.setattr("windlass.worker.failures.tell_step", broken)

    async def fails() -> None:
        raise ValueError("no")

    bad = harness.app.workflow(steps(fails))

    @harness.app.workflow
    async def good(ctx: Context, number: int) -> str:
        return await ctx.step(quick, str(number))

    await harness.start(bad)
    handles = [await harness.start(good, number) for number in range(3)]
    assert [await handle.result() for handle in handles] == ["0", "1", "2"]
    await eventually(lambda: "an error of the worker itself" in caplog.text)


@pytest.mark.parametrize("value", [{"$tuple": [1], "x": 2}, {"$tuple": [1], "x": [2]}, {"$tuple": [], "$set": []}])
async def test_an_object_that_looks_like_a_tuple_comes_back_as_it_was(harness: Harness, value: dict[str, Any]) -> None:
    async def echo(given: dict[str, Any]) -> dict[str, Any]:
        return given

    @harness.app.workflow
    async def returns(ctx: Context, given: dict[str, Any]) -> dict[str, Any]:
        return await ctx.step(echo, given)

    assert await harness.run(returns, value) == value


async def test_a_run_whose_time_is_over_enters_no_body_that_was_asked_for_before(harness: Harness) -> None:
    entered, may_go_on = [], asyncio.Event()

    async def late() -> None:
        entered.append("late")

    @harness.app.workflow(timeout="1m")
    async def asks_early(ctx: Context) -> None:
        await ctx.step(quick, "first")
        asked = ctx.step(late)
        try:
            await may_go_on.wait()
        finally:
            await asked

    handle = await harness.start(asks_early)
    await eventually(lambda: bool(executions(harness)))
    harness.clock.advance("2m")

    with pytest.raises(RunFailed):
        await handle.result()
    may_go_on.set()
    await eventually(lambda: not executions(harness))
    assert entered == []
