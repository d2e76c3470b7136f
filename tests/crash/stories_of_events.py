"""The stories about what is sent to runs: events before, during and after the wait, approvals, races."""

from __future__ import annotations

import asyncio

import windlass
from tests.crash.telling import noted, seen, slept, story, until
from tests.lives.life import Life
from windlass.errors import WaitTimeout
from windlass.model.time import SECOND


def declare_events(life: Life) -> None:
    paid, remark = life.app.event("paid", int), life.app.event("remark", str)

    async def pack(item: str) -> str:
        with life.journal.body():
            return f"packed {item}"

    async def press(item: str) -> str:
        with life.journal.body():
            if life.journal.life == 1:
                await life.clock.sleep(5 * SECOND)
            return f"pressed {item}"

    @life.app.workflow(name="parcel")
    async def parcel(ctx: windlass.Context, item: str) -> int:
        first: int = await seen(life, ctx, "receive/paid", ctx.receive(paid))
        await seen(life, ctx, "pack", ctx.step(pack, item))
        return first - int(await seen(life, ctx, "receive/paid#2", ctx.receive(paid)))

    @life.app.workflow(name="both")
    async def both(ctx: windlass.Context, item: str) -> list[object]:
        return list(
            await asyncio.gather(
                seen(life, ctx, "press", ctx.step(press, item)), seen(life, ctx, "receive/paid", ctx.receive(paid))
            )
        )

    @life.app.workflow(name="patient")
    async def patient(ctx: windlass.Context, item: str) -> str:
        late = ctx.receive(remark, timeout="10s")
        said, error = await asyncio.gather(
            ctx.receive(remark, timeout="10s", default="nothing"), late, return_exceptions=True
        )
        assert isinstance(error, WaitTimeout)
        noted(life, ctx, "said", [said, str(error)])
        cents: int = await seen(life, ctx, "receive/paid", ctx.receive(paid))
        await slept(life, ctx, "sleep", "1s")
        return f"{said}, {cents}"

    @life.app.workflow(name="shipping")
    async def shipping(ctx: windlass.Context, item: str) -> list[str]:
        first = noted(life, ctx, "first", (await ctx.approval(f"Ship {item}?")).outcome)
        return [first, noted(life, ctx, "second", (await ctx.approval("Refund it?", timeout="10s")).outcome)]

    @life.app.workflow(name="race")
    async def race(ctx: windlass.Context, item: str) -> list[str]:
        name, value = await ctx.race(paid=ctx.receive(paid), late=ctx.sleep("1h"))
        first = noted(life, ctx, "first", f"{name} {value}")
        name, value = await ctx.race(said=ctx.receive(remark), late=ctx.sleep("5s"))
        second = noted(life, ctx, "second", f"{name} {value}")
        await slept(life, ctx, "sleep#3", "1s")  # so that both are replayed
        return [first, second]

    life.memory.update(paid=paid, parcel=parcel, both=both, patient=patient, shipping=shipping, race=race)


@story(declare_events, parcel="completed")
async def events_sent_before_the_wait(life: Life) -> None:
    handle = await life.client.start(life.memory["parcel"], "book", key="early")
    await life.client.send(handle, life.memory["paid"], 7, id="first")
    await life.client.send(handle, life.memory["paid"], 5, id="second")
    await life.hire()
    await life.settle()


@story(declare_events, parcel="completed")
async def events_sent_while_parked(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["parcel"], "book", key="parked")
    await until(life, handle, "waiting")
    await life.client.send(handle, life.memory["paid"], 7, id="first")
    await life.settle()
    await life.client.send(handle, life.memory["paid"], 5, id="second")
    await life.settle()


@story(declare_events, both="completed")
async def event_sent_while_a_body_is_at_work(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["both"], "shirt", key="busy")
    await life.settle()
    await life.advance("20ms")
    await life.client.send(handle, life.memory["paid"], 7, id="only")
    await life.settle()
    await life.advance("6s")


@story(declare_events, patient="completed")
async def events_that_did_not_come_in_time(life: Life) -> None:
    """Two waits are in vain; of two events that come later one is received, and one is left unread."""
    await life.hire()
    handle = await life.client.start(life.memory["patient"], "book", key="patient")
    await life.settle()
    await life.advance("11s")
    await life.client.send(handle, life.memory["paid"], 7, id="first")
    await life.settle()
    await life.client.send(handle, life.memory["paid"], 5, id="second")
    await life.advance("2s")


@story(declare_events, shipping="completed")
async def approved_and_expired(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["shipping"], "book", key="shipping")
    await until(life, handle, "waiting")
    await life.client.approve(handle, by="ann", step="approval")
    await life.settle()
    await life.advance("11s")


@story(declare_events, race="completed")
async def race_that_an_event_wins_and_one_that_it_does_not(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["race"], "book", key="race")
    await until(life, handle, "waiting")
    await life.client.send(handle, life.memory["paid"], 7, id="only")
    await life.settle()
    await life.advance("6s")
    await life.advance("2s")
