"""Can a person stop a run, hold it and let it go on, without losing or repeating anything?"""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, log_of, path_of, row_of, until_recorded
from tests.programs import nothing, receives, returns, sleeps, steps
from windlass import Context, NotFound, RunCancelled, WrongState
from windlass.model.page import ListRuns
from windlass.model.run import Deed, Run
from windlass.testing.harness import Harness

HOUR = 3_600_000_000


async def deeds_of(harness: Harness, run_id: str, cause: str) -> list[Deed]:
    return [Deed.from_log(entry.data) for entry in await log_of(harness, run_id) if entry.cause == cause]


async def runs_of(harness: Harness) -> tuple[Run, ...]:
    return (await harness.opened.runs.list_runs(ListRuns(namespace="default"))).runs


# Cancel


@pytest.mark.spec("invariants:I-13")
async def test_cancelling_stops_what_is_at_work_and_refuses_its_result(harness: Harness, gate: Gate) -> None:
    order = harness.app.workflow(steps(gate.wait, then="too late"))
    handle = await harness.start(order)
    await gate.reached()

    assert await handle.cancel(by="ann", note="wrong address") is True

    with pytest.raises(RunCancelled, match=f"Run {handle.id} was cancelled"):
        await handle.result()
    await gate.left()
    assert await handle.cancel() is False
    await harness.idle()
    run = await row_of(harness, handle)
    assert (run.status, run.worker, run.available_at) == ("cancelled", None, None)
    assert await deeds_of(harness, handle.id, "cancel") == [Deed(by="ann", note="wrong address")]
    assert [step.status for step in await harness.steps(handle)] in ([], ["running"])


async def test_a_thread_that_cannot_be_stopped_ends_and_nobody_takes_its_result(harness: Harness) -> None:
    entered, may_end = threading.Event(), threading.Event()

    def slow() -> str:
        entered.set()
        may_end.wait(20)
        return "done"

    order = harness.app.workflow(steps(slow))
    handle = await harness.start(order)
    await eventually(entered.is_set, what="the thread is at work")
    await handle.cancel()
    may_end.set()
    await harness.idle()

    assert all(step.status != "completed" for step in await harness.steps(handle))
    assert (await path_of(harness, handle))[-1] == "cancelled"


@pytest.mark.spec("invariants:I-13")
async def test_a_run_can_be_cancelled_wherever_it_waits(harness: Harness) -> None:
    replied = harness.app.event("replied", str)
    napping = harness.app.workflow(sleeps("1d"))
    asking = harness.app.workflow(receives(replied))
    unserved = harness.app.workflow(queue="nobody")(nothing)
    handles = [await harness.start(fn) for fn in (napping, asking, unserved)]
    handles.append(await harness.start(napping, delay="1h"))
    await harness.idle()
    await handles[0].pause()
    before = [await handle.status() for handle in handles]
    assert before == ["paused", "waiting", "pending", "pending"]
    for handle in handles:
        assert await handle.cancel() is True
        assert await handle.status() == "cancelled"
    await harness.advance("2d")
    assert [await handle.status() for handle in handles] == ["cancelled"] * 4


async def test_what_is_over_stays_as_it_is(harness: Harness) -> None:
    order = harness.app.workflow(returns("done"))
    handle = await harness.start(order)
    assert await handle.result() == "done"
    assert await handle.cancel() is False
    assert await handle.result() == "done"
    with pytest.raises(NotFound):
        await harness.app.handle("run_" + "0" * 26).cancel()


async def test_a_worker_elsewhere_hears_of_a_cancel(open_shared: OpenHarness, gate: Gate) -> None:
    working, asking = await open_shared(), await open_shared(has_worker=False)
    order = working.app.workflow(steps(gate.wait))
    handle = await working.start(order)
    await gate.reached()
    assert await asking.app.handle(handle.id).cancel() is True
    await gate.left()


async def test_without_a_hint_a_worker_learns_of_a_cancel_when_it_looks(harness: Harness, gate: Gate) -> None:
    order = harness.app.workflow(steps(gate.wait))
    handle = await harness.start(order)
    await gate.reached()
    harness.opened.engine.parts.hub.is_suppressed = True
    await handle.cancel()
    assert gate.cancelled == 0
    harness.clock.advance("10s")

    await gate.left()


async def test_a_finally_block_runs_when_a_run_is_cancelled_and_ctx_refuses_it(harness: Harness, gate: Gate) -> None:
    seen = list[str]()

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        try:
            await ctx.step(gate.wait)
        finally:
            try:
                await ctx.step(print, "clean up")
            except Exception as error:
                seen.append(type(error).__name__)

    handle = await harness.start(order)
    await gate.reached()
    await handle.cancel()
    await harness.idle()

    assert seen == ["NotAllowed"]


# Pause


async def test_a_paused_run_ends_its_body_enters_no_other_and_goes_on_where_it_was(harness: Harness) -> None:
    first, entered = Gate(), list[str]()

    async def pack() -> str:
        entered.append("pack")
        await first.wait()
        return "packed"

    async def ship() -> str:
        entered.append("ship")
        return "shipped"

    @harness.app.workflow
    async def order(ctx: Context) -> list[str]:
        return [await ctx.step(pack), await ctx.step(ship)]

    handle = await harness.start(order)
    await first.reached()
    await handle.pause(by="ann", note="stock-taking")
    assert await handle.status() == "running"  # what is at work ends first
    await eventually(lambda: any(e.is_held for w in harness.app._workers for e in w.executions), what="it is told")
    first.open()
    await harness.until(handle, "paused")
    await harness.idle()
    assert entered == ["pack"]
    assert (await deeds_of(harness, handle.id, "pause"))[0] == Deed(by="ann", note="stock-taking")
    with pytest.raises(WrongState, match="paused"):
        await handle.result()
    await harness.advance("1d")
    assert await handle.status() == "paused"

    await handle.resume(by="bob")

    assert await handle.result() == ["packed", "shipped"]
    assert entered == ["pack", "ship"]
    assert await deeds_of(harness, handle.id, "resume") == [Deed(by="bob")]


async def test_resumed_before_its_holder_came_to_it_a_run_just_goes_on(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> str:
        await ctx.step(gate.wait)
        await ctx.step(print, "")
        return "done"

    handle = await harness.start(order)
    await gate.reached()
    await handle.pause()
    await handle.pause()  # twice is once
    await handle.resume()
    with pytest.raises(WrongState, match="running; paused was expected"):
        await handle.resume()
    gate.open()

    assert await handle.result() == "done"
    assert "paused" not in await path_of(harness, handle)


async def test_a_sleep_goes_on_while_its_run_is_paused(harness: Harness) -> None:
    @harness.app.workflow
    async def nap(ctx: Context) -> int:
        await ctx.sleep("2h")
        return harness.clock.now()

    begun_at = harness.clock.now()
    short, long = await harness.start(nap), await harness.start(nap)
    await harness.idle()
    for handle in (short, long):
        await handle.pause()
        assert (await row_of(harness, handle)).available_at is None
    await harness.advance("1h")
    await short.resume()
    assert (await row_of(harness, short)).available_at == begun_at + 2 * HOUR
    await harness.advance("1h")
    assert await short.result() == begun_at + 2 * HOUR
    await harness.advance("1h")
    await long.resume()

    assert await long.result() == begun_at + 3 * HOUR


async def test_a_run_that_has_not_begun_keeps_its_time(harness: Harness) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> int:
        return harness.clock.now()

    begun_at = harness.clock.now()
    handle = await harness.start(order, delay="2h")
    await handle.pause()
    await harness.advance("1h")
    await handle.resume()
    assert await handle.status() == "pending"
    await harness.advance("1h")

    assert await handle.result() == begun_at + 2 * HOUR


async def test_what_comes_while_a_run_is_paused_is_there_when_it_goes_on(harness: Harness) -> None:
    replied = harness.app.event("replied", str)
    child = harness.app.workflow(receives(replied))

    @harness.app.workflow
    async def parent(ctx: Context) -> str:
        decision = await ctx.approval("Go?")
        reply = await ctx.receive(replied)
        return f"{decision.outcome} {reply} {await ctx.run(child)}"

    handle = await harness.start(parent)
    await harness.until(handle, "waiting")
    await handle.pause()
    await handle.approve(by="ann")
    await handle.send(replied, "yes")
    await harness.idle()
    assert await handle.status() == "paused"
    await handle.resume()
    await harness.until(handle, "waiting")
    await harness.idle()
    await handle.pause()
    (own,) = [run for run in await runs_of(harness) if run.parent == handle.id]
    await harness.app.handle(own.id).send(replied, "no")
    await harness.idle()
    assert await handle.status() == "paused"
    await handle.resume()

    assert await handle.result() == "approved yes no"


async def test_what_is_over_cannot_be_paused(harness: Harness) -> None:
    order = harness.app.workflow(nothing)
    handle = await harness.start(order)
    await handle.result()
    with pytest.raises(WrongState, match="completed"):
        await handle.pause()
    with pytest.raises(WrongState, match="completed; paused was expected"):
        await handle.resume()


@pytest.mark.parametrize("how", ["died", "resumed"])
async def test_a_run_that_had_work_to_do_when_it_was_paused_does_it_when_it_goes_on(
    harness: Harness, gate: Gate, how: str
) -> None:
    """It waits for an event too: seen from its waits alone it would wait for that, and for ever."""
    replied, entered = harness.app.event("replied", str), list[str]()

    async def work() -> str:
        entered.append("work")
        if len(entered) == 1:
            await gate.wait()
        return "worked"

    @harness.app.workflow
    async def order(ctx: Context) -> list[str]:
        return list(await asyncio.gather(ctx.receive(replied), ctx.step(work)))

    handle = await harness.start(order)
    await gate.reached()
    await until_recorded(harness, handle, "receive/replied")
    await harness.app.pause(queue="default")  # so that nobody takes it meanwhile
    if how == "died":
        harness.crash()
    else:
        await handle.pause()
        (execution,) = [execution for worker in harness.app._workers for execution in worker.executions]
        execution.ending.stop()
        await harness.until(handle, "paused")
        await handle.resume()
    await harness.until(handle, "pending")
    await handle.pause()
    await handle.resume()
    await harness.app.resume(queue="default")
    await harness.until(handle, "waiting")
    assert entered == ["work", "work"]
    await handle.send(replied, "yes")

    assert await handle.result() == ["yes", "worked"]


async def test_after_a_mismatch_a_run_goes_on_at_once_whatever_else_it_sleeps_for(harness: Harness, gate: Gate) -> None:
    is_changed, entered = [False], list[str]()

    async def pack() -> None: ...

    async def ship() -> None:
        entered.append("ship")
        if len(entered) == 1:
            await gate.wait()

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        async def work() -> None:
            await ctx.step(pack, name="weigh" if is_changed[0] else "pack")
            await ctx.step(ship)

        await asyncio.gather(ctx.sleep("7d"), work())

    handle = await harness.start(order)
    await gate.reached()
    await until_recorded(harness, handle, "sleep")
    is_changed[0] = True
    harness.crash()
    await harness.until(handle, "paused")
    is_changed[0] = False
    await handle.resume()
    await harness.until(handle, "sleeping")

    assert entered == ["ship", "ship"]
