"""The stories about runs that start other runs."""

from __future__ import annotations

import windlass
from tests.crash.telling import noted, seen, story, the_run_of, until
from tests.lives.life import Life
from windlass.errors import RunCancelled, RunFailed, StepError


def declare_children(life: Life) -> None:
    paid, never = life.app.event("paid", int), life.app.event("never", int)

    async def bake(item: str) -> str:
        with life.journal.body():
            if item == "stone":
                raise StepError("a stone", kind="logic", data={"item": item})
            return f"baked {item}"

    @life.app.workflow(name="baker")
    async def baker(ctx: windlass.Context, item: str) -> str:
        baked: str = await seen(life, ctx, "bake", ctx.step(bake, item))
        return baked

    @life.app.workflow(name="payee")
    async def payee(ctx: windlass.Context, item: str) -> int:
        cents: int = await seen(life, ctx, "receive/paid", ctx.receive(paid))
        return cents

    @life.app.workflow(name="patient")
    async def patient(ctx: windlass.Context, item: str) -> int:
        return await ctx.receive(never)

    life.memory.update(paid=paid, baker=baker, payee=payee, patient=patient)


def declare_family(life: Life) -> None:
    declare_children(life)
    paid, baker, payee, patient = (life.memory[name] for name in ("paid", "baker", "payee", "patient"))

    @life.app.workflow(name="parent")
    async def parent(ctx: windlass.Context, item: str) -> str:
        baked: str = await seen(life, ctx, "baker", ctx.run(baker, item))
        try:
            await seen(life, ctx, "baker#2", ctx.run(baker, "stone"))
        except RunFailed as error:
            return f"{baked}, {error.message}"
        return baked

    @life.app.workflow(name="let_down")
    async def let_down(ctx: windlass.Context, item: str) -> str:
        try:
            await ctx.run(patient, item)
        except RunCancelled as error:
            noted(life, ctx, "error", str(error))
            return "without it"
        return ""

    @life.app.workflow(name="sender")
    async def sender(ctx: windlass.Context, item: str) -> int:
        child = await ctx.start(payee, item)
        noted(life, ctx, "child", child.id)
        await child.send(paid, 7)
        return int(await seen(life, ctx, "payee/result", child.result()))

    @life.app.workflow(name="bakery")
    async def bakery(ctx: windlass.Context, item: str) -> list[str]:
        loaves = await ctx.map(baker, [f"{item} 1", f"{item} 2", f"{item} 3"], key=lambda loaf: loaf)
        noted(life, ctx, "loaves", loaves)
        return loaves

    life.memory.update(parent=parent, let_down=let_down, sender=sender, bakery=bakery)


@story(declare_family, parent="completed")
async def child_that_returns_and_one_that_fails(life: Life) -> None:
    await life.hire()
    await life.client.start(life.memory["parent"], "bread", key="parent")
    await life.settle()


@story(declare_family, let_down="completed", patient="cancelled")
async def child_that_is_cancelled(life: Life) -> None:
    await life.hire()
    handle = await life.client.start(life.memory["let_down"], "bread", key="let_down")
    await until(life, handle, "waiting")
    await life.client.cancel(await the_run_of(life, "patient"), by="ann")
    await life.settle()


@story(declare_family, sender="completed", payee="completed")
async def child_that_is_started_sent_an_event_and_awaited(life: Life) -> None:
    await life.hire(slots=1)  # so that one after the other is claimed, and the points are the same each time
    await life.client.start(life.memory["sender"], "bread", key="sender")
    await life.settle()


@story(declare_family, bakery="completed", baker="completed")
async def map_of_children(life: Life) -> None:
    await life.hire()
    await life.client.start(life.memory["bakery"], "bread", key="bakery")
    await life.settle()
