"""The stories about what people do to runs and queues: cancel, pause, resume, retry; and about time-outs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import windlass
from tests.crash.telling import has_told, seen, story, the_run_of, until
from tests.lives.life import Life
from windlass.errors import StepError
from windlass.model.time import SECOND


def declare_bosses(life: Life) -> None:
    paid, never = life.app.event("paid", int), life.app.event("never", int)
    press = pressing(life, seconds=300)

    @life.app.workflow(name="follower")
    async def follower(ctx: windlass.Context, item: str) -> int:
        return await ctx.receive(never)

    @life.app.workflow(name="outliver")
    async def outliver(ctx: windlass.Context, item: str) -> int:
        cents: int = await seen(life, ctx, "receive/paid", ctx.receive(paid))
        return cents

    @life.app.workflow(name="boss")
    async def boss(ctx: windlass.Context, item: str) -> int:
        await ctx.start(outliver, item, on_cancel="abandon")
        return await ctx.run(follower, item)

    @life.app.workflow(name="busy_boss")
    async def busy_boss(ctx: windlass.Context, item: str) -> list[object]:
        return list(await asyncio.gather(ctx.step(press, item), ctx.run(follower, item)))

    life.memory.update(paid=paid, boss=boss, busy_boss=busy_boss)


def pressing(life: Life, *, seconds: int) -> Callable[[str], Coroutine[Any, Any, str]]:
    async def press(item: str) -> str:
        with life.journal.body():
            # The very first body takes its time, later ones do not: what was interrupted comes to an end.
            if life.journal.life == 1 and not life.memory.get("is_pressed"):
                life.memory["is_pressed"] = True
                await life.clock.sleep(seconds * SECOND)
            return f"pressed {item}"

    return press


def declare_laundry(life: Life) -> None:
    paid, press = life.app.event("paid", int), pressing(life, seconds=5)

    async def fold(item: str) -> str:
        with life.journal.body():
            return f"folded {item}"

    async def iron(item: str) -> str:
        with life.journal.body():
            if not life.memory["is_repaired"]:
                raise StepError("the iron is cold", kind="logic")
            return f"ironed {item}"

    @life.app.workflow(name="laundry")
    async def laundry(ctx: windlass.Context, item: str) -> str:
        pressed = await seen(life, ctx, "press", ctx.step(press, item))
        folded: str = await seen(life, ctx, "fold", ctx.step(fold, pressed))
        return folded

    @life.app.workflow(name="broken")
    async def broken(ctx: windlass.Context, item: str) -> str:
        folded = await seen(life, ctx, "fold", ctx.step(fold, item))
        ironed: str = await seen(life, ctx, "iron", ctx.step(iron, folded))
        return ironed

    @life.app.workflow(name="given_up")
    async def given_up(ctx: windlass.Context, item: str) -> int:
        folded = await seen(life, ctx, "fold", ctx.step(fold, item))
        await seen(life, ctx, "fold#2", ctx.step(fold, folded))
        cents: int = await seen(life, ctx, "receive/paid", ctx.receive(paid))
        return cents

    life.memory.update(paid=paid, laundry=laundry, broken=broken, given_up=given_up)
    life.memory["is_repaired"] = has_told(life, "retry")


def declare_late(life: Life) -> None:
    paid = life.app.event("paid", int)

    async def stall(item: str) -> str:
        with life.journal.body():
            await life.clock.sleep(60 * SECOND)
            return item

    @life.app.workflow(name="sleeper", timeout="10s")
    async def sleeper(ctx: windlass.Context, item: str) -> None:
        await ctx.sleep("1h")

    @life.app.workflow(name="staller", timeout="8s")
    async def staller(ctx: windlass.Context, item: str) -> str:
        return await ctx.step(stall, item)

    @life.app.workflow(name="changing")
    async def changing(ctx: windlass.Context, item: str) -> int:
        if life.memory.get("is_changed"):
            await ctx.approval("Is it paid?")
        cents: int = await seen(life, ctx, "receive/paid", ctx.receive(paid))
        return cents

    life.memory.update(paid=paid, sleeper=sleeper, staller=staller, changing=changing)


@story(declare_bosses, boss="cancelled", follower="cancelled", outliver="completed")
async def cancel_of_a_waiting_run_with_children(life: Life) -> None:
    await life.hire(slots=1)  # so that one after the other is claimed, and the points are the same each time
    handle = await life.client.start(life.memory["boss"], "shirt", key="boss")
    await until(life, handle, "waiting")
    await life.client.cancel(handle, by="ann")
    await life.settle()
    await life.client.send(await the_run_of(life, "outliver"), life.memory["paid"], 7, id="only")
    await life.settle()


@story(declare_bosses, busy_boss="cancelled", follower="cancelled")
async def cancel_of_a_running_run_with_a_child(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["busy_boss"], "shirt", key="busy_boss")
    await life.settle()
    await life.advance("20ms")
    await life.client.cancel(handle, by="ann")
    await life.settle()


@story(declare_laundry, laundry="completed")
async def pause_of_a_running_run(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["laundry"], "shirt", key="laundry")
    await life.settle()
    await life.client.pause(handle, by="ann")
    await life.settle()
    await until(life, handle, "paused")
    await life.client.resume(handle, by="bob")
    await life.settle()


@story(declare_laundry, laundry="completed")
async def pause_of_a_queue(life: Life) -> None:
    """What is at work comes to its end; nothing else is taken, also not by the worker beside the client."""
    await life.hire()
    await life.client.start(life.memory["laundry"], "shirt", key="before")
    await life.settle()
    await life.client.pause_queue("default", by="ann")
    await life.client.start(life.memory["laundry"], "sock", key="after")
    await life.settle()
    await life.advance("6s")
    await life.client.resume_queue("default", by="bob")
    await life.settle()


@story(declare_laundry, broken="completed")
async def retry_of_a_failed_run(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["broken"], "shirt", key="broken")
    await until(life, handle, "failed")
    life.memory["is_repaired"] = True
    await life.client.retry(handle, by="ann")
    await life.client.retry(handle, by="bob")  # creates nothing: the answer is the run of the first
    await life.settle()


@story(declare_laundry, given_up="completed")
async def retry_of_a_cancelled_run_from_a_step(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["given_up"], "shirt", key="given_up")
    await until(life, handle, "waiting")
    await life.client.cancel(handle, by="ann")
    again = await life.client.retry(handle, by="ann", from_step="fold#2")
    assert again is not None
    await life.settle()
    await life.client.send(again, life.memory["paid"], 7, id="only")
    await life.settle()


@story(declare_late, sleeper="failed", staller="failed")
async def time_out_of_a_sleeping_run_and_of_one_at_work(life: Life) -> None:
    await life.hire(slots=1)  # else it also claims what its own body is stopped for, or not, as it happens
    await life.client.start(life.memory["sleeper"], "shirt", key="sleeper")
    await life.settle()
    await life.client.start(life.memory["staller"], "shirt", key="staller")
    await life.settle()
    await life.advance("9s")
    await life.advance("2s")


@story(declare_late, changing="completed")
async def mismatch_of_a_wait_and_rollback(life: Life) -> None:
    """The code changed while the run waited; with the old code it goes on, and has the event that came meanwhile."""
    await life.hire()
    handle = await life.client.start(life.memory["changing"], "shirt", key="changing")
    await until(life, handle, "waiting", "paused")
    life.memory["is_changed"] = life.journal.life == 1
    await life.client.send(handle, life.memory["paid"], 7, id="only")
    await life.settle()
    life.memory["is_changed"] = False
    await life.client.resume(handle, by="ann")
    await life.settle()
