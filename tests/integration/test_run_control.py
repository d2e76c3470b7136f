"""Can a person stop a run, hold it, let it go on, and try it again, without losing or repeating anything?"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, log_of, path_of, row_of, step_keys, until_recorded
from windlass import Context, NotFound, RunCancelled, RunFailed, WrongState, current_step
from windlass.model.commands import SendEvent
from windlass.model.page import ListRuns
from windlass.model.run import Deed, Run, RunId
from windlass.testing.harness import Harness

HOUR = 3_600_000_000


async def deeds_of(harness: Harness, run_id: str, cause: str) -> list[Deed]:
    return [Deed.from_log(entry.data) for entry in await log_of(harness, run_id) if entry.cause == cause]


async def runs_of(harness: Harness) -> tuple[Run, ...]:
    return (await harness.opened.runs.list_runs(ListRuns(namespace="default"))).runs


# Cancel


@pytest.mark.spec("invariants:I-13")
async def test_cancelling_stops_what_is_at_work_and_refuses_its_result(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> str:
        await ctx.step(gate.wait)
        return "too late"

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

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        return await ctx.step(slow)

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

    @harness.app.workflow
    async def napping(ctx: Context) -> None:
        await ctx.sleep("1d")

    @harness.app.workflow
    async def asking(ctx: Context) -> None:
        await ctx.receive(replied)

    @harness.app.workflow(queue="nobody")
    async def unserved(ctx: Context) -> None: ...

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
    @harness.app.workflow
    async def order(ctx: Context) -> str:
        return "done"

    handle = await harness.start(order)
    assert await handle.result() == "done"
    assert await handle.cancel() is False
    assert await handle.result() == "done"
    with pytest.raises(NotFound):
        await harness.app.handle("run_" + "0" * 26).cancel()


async def test_a_worker_elsewhere_hears_of_a_cancel(open_shared: OpenHarness, gate: Gate) -> None:
    working, asking = await open_shared(), await open_shared(has_worker=False)

    @working.app.workflow
    async def order(ctx: Context) -> None:
        await ctx.step(gate.wait)

    handle = await working.start(order)
    await gate.reached()
    assert await asking.app.handle(handle.id).cancel() is True
    await gate.left()


async def test_without_a_hint_a_worker_learns_of_a_cancel_when_it_looks(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await ctx.step(gate.wait)

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

    @harness.app.workflow
    async def child(ctx: Context) -> str:
        return await ctx.receive(replied)

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
    @harness.app.workflow
    async def order(ctx: Context) -> None: ...

    handle = await harness.start(order)
    await handle.result()
    with pytest.raises(WrongState, match="completed"):
        await handle.pause()
    with pytest.raises(WrongState, match="completed; paused was expected"):
        await handle.resume()


# Retry


async def test_a_retry_is_a_new_run_that_keeps_what_was_done(harness: Harness) -> None:
    entered, is_broken = list[str](), [True]

    async def pack(id: str) -> str:
        entered.append("pack")
        return f"packed {id}"

    async def ship(packed: str) -> str:
        entered.append("ship")
        if is_broken[0]:
            raise TypeError("no van")
        return f"{packed}, shipped"

    @harness.app.workflow
    async def order(ctx: Context, id: str) -> str:
        return await ctx.step(ship, await ctx.step(pack, id))

    handle = await harness.start(order, "7", key="order-7")
    with pytest.raises(RunFailed, match="no van"):
        await handle.result()
    is_broken[0] = False

    again = await handle.retry(by="ann")

    assert again.id != handle.id
    assert await again.result() == "packed 7, shipped"
    assert entered == ["pack", "ship", "ship"]
    assert (await row_of(harness, again)).retry_of == handle.id
    assert (await row_of(harness, handle)).status == "failed"
    assert (await handle.retry()).id == again.id  # a second one answers with the first
    by_key = harness.app.handle(order, key="order-7")
    assert await by_key.result() == "packed 7, shipped"
    assert by_key.id == again.id
    assert (await harness.start(order, "7", key="order-7")).id == again.id


async def test_a_retry_from_a_step_does_it_and_all_after_it_again(harness: Harness) -> None:
    entered = list[str]()

    async def work(name: str) -> str:
        entered.append(name)
        return name

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        for name in "abc":
            await ctx.step(work, name, key=name)
        raise ValueError("the end")

    handle = await harness.start(order)
    with pytest.raises(RunFailed):
        await handle.result()
    with pytest.raises(NotFound, match=r"Step 'work:d' does not exist. Did you mean"):
        await handle.retry(from_step="work:d")
    again = await handle.retry(from_step="work:b")
    with pytest.raises(RunFailed, match="the end"):
        await again.result()

    assert entered == ["a", "b", "c", "b", "c"]
    assert sorted(await step_keys(harness, again)) == ["work:a", "work:b", "work:c"]


async def test_only_what_ended_badly_can_be_tried_again(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> str:
        await ctx.step(gate.wait)
        return "done"

    handle = await harness.start(order)
    await gate.reached()
    with pytest.raises(WrongState, match="running"):
        await handle.retry()
    gate.open()
    await handle.result()
    with pytest.raises(WrongState, match="completed"):
        await handle.retry()
    with pytest.raises(NotFound):
        await harness.app.handle("run_" + "0" * 26).retry()


async def test_a_cancelled_run_goes_on_as_a_new_one(harness: Harness) -> None:
    replied, entered = harness.app.event("replied", str), list[str]()

    async def pack() -> None:
        entered.append("pack")

    @harness.app.workflow
    async def order(ctx: Context) -> list[str]:
        await ctx.step(pack)
        await ctx.sleep("1h")
        return [await ctx.receive(replied), await ctx.receive(replied)]

    handle = await harness.start(order)
    await harness.idle()
    await handle.send(replied, "one")
    await handle.send(replied, "two")
    await handle.cancel()
    again = await handle.retry()
    await harness.idle()
    await harness.advance("1h")

    assert await again.result() == ["one", "two"]  # what was sent to the first and not received is not lost
    assert entered == ["pack"]


async def test_what_a_failed_run_caught_is_tried_again_with_it(harness: Harness) -> None:
    """Only what completed is kept: a failure that the code had handled may go well this time, and change its way."""
    entered, is_broken = list[str](), [True]

    async def try_van() -> str:
        entered.append("van")
        if is_broken[0]:
            raise TypeError("no van")
        return "van"

    async def by_post() -> str:
        entered.append("post")
        return "post"

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        try:
            return await ctx.step(try_van)
        except Exception:
            await ctx.step(by_post)
            raise ValueError("post is closed") from None

    handle = await harness.start(order)
    with pytest.raises(RunFailed):
        await handle.result()
    is_broken[0] = False

    assert await (await handle.retry()).result() == "van"
    assert entered == ["van", "post", "van"]


async def test_code_that_changed_is_rolled_back_and_the_run_goes_on(harness: Harness) -> None:
    entered = list[str]()

    async def pack() -> None:
        entered.append("pack")

    async def weigh() -> None:
        entered.append("weigh")

    def declare(*steps: Any) -> None:
        async def order(ctx: Context) -> str:
            for step in steps:
                await ctx.step(step)
            await ctx.sleep("1h")
            return "done"

        harness.app.workflow(order)

    declare(pack)
    handle = await harness.app.start(harness.app._registry.find_workflow("order").function)
    await harness.until(handle, "sleeping")
    declare(weigh)
    await harness.advance("1h")
    assert await handle.status() == "paused"
    assert f'or "windlass retry {handle.id} --from pack"' in await handle.explain()
    declare(pack)
    await handle.resume()

    assert await handle.result() == "done"
    assert entered == ["pack"]


async def test_a_run_whose_code_has_changed_can_be_tried_again_from_there(harness: Harness) -> None:
    entered = list[str]()

    async def pack() -> None:
        entered.append("pack")

    async def weigh() -> None:
        entered.append("weigh")

    def declare(*steps: Any) -> None:
        async def order(ctx: Context) -> str:
            for step in steps:
                await ctx.step(step)
            await ctx.sleep("1h")
            return "done"

        harness.app.workflow(order)

    declare(pack, weigh)
    handle = await harness.app.start(harness.app._registry.find_workflow("order").function)
    await harness.until(handle, "sleeping")
    declare(pack)
    await harness.advance("1h")
    assert await handle.status() == "paused"
    again = await handle.retry(from_step="weigh", by="ann")
    assert await handle.status() == "cancelled"
    await harness.idle()
    await harness.advance("1h")

    assert await again.result() == "done"
    assert entered == ["pack", "weigh"]


async def test_a_retry_keeps_the_time_out_and_the_queue_of_the_run(harness: Harness) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> None:
        raise ValueError("no")

    handle = await harness.start(order, timeout="2h", priority=4)
    with pytest.raises(RunFailed):
        await handle.result()
    harness.clock.advance("1h")
    again = await handle.retry()
    run = await row_of(harness, again)

    assert (run.priority, run.queue, run.expires_at) == (4, "default", run.created_at + 2 * HOUR)


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


async def test_a_retry_takes_over_a_child_that_is_still_at_it(harness: Harness) -> None:
    is_broken = [True]

    async def pack() -> None:
        if is_broken[0]:
            raise TypeError("no box")

    @harness.app.workflow
    async def child(ctx: Context) -> str:
        await ctx.sleep("1h")
        return "child"

    @harness.app.workflow
    async def parent(ctx: Context) -> str:
        started = await ctx.start(child)
        await ctx.step(pack)
        return await started.result()

    handle = await harness.start(parent)
    with pytest.raises(RunFailed):
        await handle.result()
    is_broken[0] = False
    again = await handle.retry()
    await harness.until(again, "waiting")
    await harness.idle()
    await harness.advance("1h")

    assert await again.result() == "child"
    assert [run.parent for run in await runs_of(harness) if run.name == "child"] == [again.id]


async def test_a_retry_starts_anew_a_child_that_was_cancelled_with_its_parent(harness: Harness) -> None:
    @harness.app.workflow
    async def child(ctx: Context) -> str:
        await ctx.sleep("1h")
        return "child"

    @harness.app.workflow
    async def parent(ctx: Context) -> str:
        return await (await ctx.start(child)).result()

    handle = await harness.start(parent)
    await harness.idle()
    await handle.cancel()
    again = await handle.retry()
    await harness.idle()
    await harness.advance("1h")

    assert await again.result() == "child"
    assert sorted(run.status for run in await runs_of(harness) if run.name == "child") == ["cancelled", "completed"]


async def test_what_a_run_drew_by_lot_is_the_same_when_it_is_tried_again(harness: Harness) -> None:
    """Its steps were done with these values, and the world knows their keys."""
    seen, keys, is_broken = list[Any](), list[str](), [True]

    async def charge(id: str, lot: float, at: str) -> None:
        seen.append((id, lot, at))

    async def ship() -> None:
        keys.append(current_step().idempotency_key)
        if is_broken[0]:
            raise TypeError("no van")

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        drawn = (str(ctx.uuid()), ctx.random.random(), ctx.now().isoformat())
        await ctx.step(charge, *drawn)
        await ctx.step(ship)
        return drawn[0]

    handle = await harness.start(order)
    with pytest.raises(RunFailed):
        await handle.result()
    await harness.advance("1h")
    again = await handle.retry()
    with pytest.raises(RunFailed):
        await again.result()
    is_broken[0] = False

    assert await (await again.retry()).result() == seen[0][0]
    assert len(seen) == 1
    assert keys == [f"{handle.id}/ship"] * 3


async def test_an_event_that_cannot_be_read_is_left_behind_by_a_retry_from_its_wait(harness: Harness) -> None:
    paid = harness.app.event("paid", int)

    @harness.app.workflow
    async def order(ctx: Context) -> int:
        return await ctx.receive(paid)

    handle = await harness.start(order)
    await harness.idle()
    payload, hashed = harness.app._codec.encode_hashed(None)
    command = SendEvent(
        namespace="default", run_id=RunId(handle.id), event="paid", id="x", payload=payload, payload_hash=hashed
    )
    await harness.opened.control.send_event(command)
    with pytest.raises(RunFailed, match="brought something else than it declares"):
        await handle.result()
    again = await handle.retry(from_step="receive/paid")
    await harness.until(again, "waiting")
    await again.send(paid, 7)

    assert await again.result() == 7
