"""Is a run that is tried again a new one that keeps what was done, and loses nothing that was sent or started?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Gate, row_of, step_keys
from tests.programs import raises, receives, sleeps, steps
from windlass import Context, NotFound, RunFailed, WrongState, current_step
from windlass.model.commands import SendEvent
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunId
from windlass.testing.harness import Harness

HOUR = 3_600_000_000


async def runs_of(harness: Harness) -> tuple[Run, ...]:
    return (await harness.opened.runs.list_runs(ListRuns(namespace="default"))).runs


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
    order = harness.app.workflow(steps(gate.wait, then="done"))
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


def orders_in(harness: Harness) -> tuple[list[str], Callable[..., None]]:
    """What was entered, and a way to declare `order` anew with other steps, as a deployment does."""
    entered = list[str]()

    async def work(name: str) -> None:
        entered.append(name)

    def declare(*names: str) -> None:
        async def order(ctx: Context) -> str:
            for name in names:
                await ctx.step(work, name, name=name)
            await ctx.sleep("1h")
            return "done"

        harness.app.workflow(order)

    return entered, declare


async def test_code_that_changed_is_rolled_back_and_the_run_goes_on(harness: Harness) -> None:
    entered, declare = orders_in(harness)
    declare("pack")
    handle = await harness.app.start(harness.app._registry.find_workflow("order").function)
    await harness.until(handle, "sleeping")
    declare("weigh")
    await harness.advance("1h")
    assert await handle.status() == "paused"
    assert f'or "windlass retry {handle.id} --from pack"' in await handle.explain()
    declare("pack")
    await handle.resume()

    assert await handle.result() == "done"
    assert entered == ["pack"]


async def test_a_run_whose_code_has_changed_can_be_tried_again_from_there(harness: Harness) -> None:
    entered, declare = orders_in(harness)
    declare("pack", "weigh")
    handle = await harness.app.start(harness.app._registry.find_workflow("order").function)
    await harness.until(handle, "sleeping")
    declare("pack")
    await harness.advance("1h")
    assert await handle.status() == "paused"
    again = await handle.retry(from_step="weigh", by="ann")
    assert await handle.status() == "cancelled"
    await harness.idle()
    await harness.advance("1h")

    assert await again.result() == "done"
    assert entered == ["pack", "weigh"]


async def test_a_retry_keeps_the_time_out_and_the_queue_of_the_run(harness: Harness) -> None:
    order = harness.app.workflow(raises(ValueError, "no"))
    handle = await harness.start(order, timeout="2h", priority=4)
    with pytest.raises(RunFailed):
        await handle.result()
    harness.clock.advance("1h")
    again = await handle.retry()
    run = await row_of(harness, again)

    assert (run.priority, run.queue, run.expires_at) == (4, "default", run.created_at + 2 * HOUR)


async def test_a_retry_takes_over_a_child_that_is_still_at_it(harness: Harness) -> None:
    is_broken = [True]

    async def pack() -> None:
        if is_broken[0]:
            raise TypeError("no box")

    child = harness.app.workflow(name="child")(sleeps("1h", then="child"))

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
    child = harness.app.workflow(name="child")(sleeps("1h", then="child"))

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
    order = harness.app.workflow(receives(paid))
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
