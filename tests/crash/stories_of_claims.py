"""The stories about starts and claims: taken, renewed, run out, released; and about bodies that take their time."""

from __future__ import annotations

import windlass
from tests.crash.telling import scenario, seen
from tests.lives.journal import Event
from tests.lives.life import Life
from windlass.model.time import SECOND, Duration
from windlass.worker.worker import Worker

# --- starts, claims, steps --------------------------------------------------------------------------------------------


def declare_order(life: Life) -> None:
    def price(item: str) -> int:
        with life.journal.body():
            return len(item)

    async def charge(cents: int) -> str:
        with life.journal.body():
            return f"charged {cents}"

    @life.app.workflow(name="order")
    async def order(ctx: windlass.Context, item: str) -> str:
        life.journal.write(Event.VALUE, run_id=ctx.run_id, what="begun at", value=ctx.now().isoformat())
        cents = await seen(life, ctx, "price", ctx.step(price, item))
        life.journal.write(Event.VALUE, run_id=ctx.run_id, what="priced at", value=ctx.now().isoformat())
        life.journal.write(Event.VALUE, run_id=ctx.run_id, what="uuid", value=str(ctx.uuid()))
        life.journal.write(Event.VALUE, run_id=ctx.run_id, what="random", value=ctx.random.random())
        receipt: str = await seen(life, ctx, "charge", ctx.step(charge, cents))
        return receipt

    @life.app.workflow(name="quick")
    async def quick(ctx: windlass.Context, item: str) -> int:
        cents: int = await seen(life, ctx, "price", ctx.step(price, item))
        return cents

    life.memory.update(order=order, quick=quick)


@scenario(declare_order)
async def start_and_claim(life: Life) -> None:
    await life.start(life.memory["order"], "book")
    await life.settle()
    await life.hire()
    await life.settle()


@scenario(declare_order)
async def local_dispatch(life: Life) -> None:
    await life.hire()
    await life.settle()
    await life.start(life.memory["order"], "book")
    await life.settle()


@scenario(declare_order)
async def start_with_a_key(life: Life) -> None:
    order = life.memory["order"]
    await life.start(order, "lamp", key="lamp-1")
    await life.start(order, "lamp", key="lamp-1")
    await life.start(order, "desk", key="lamp-1")  # refused: other input
    await life.hire()
    await life.settle()
    await life.start(order, "chair", key="chair-1")
    await life.settle()


@scenario(declare_order)
async def priorities_and_few_slots(life: Life) -> None:
    quick = life.memory["quick"]
    await life.start(quick, "low", priority=-1)
    await life.start(quick, "high", priority=5)
    await life.start(quick, "later", delay="7s", priority=9)
    await life.hire(slots=1)
    await life.settle()
    await life.advance("8s")


@scenario(declare_order)
async def worker_comes_and_goes(life: Life) -> None:
    first = await life.hire()
    await life.advance("10s")
    await life.advance("10s")
    await life.dismiss(first)
    await life.start(life.memory["order"], "book")
    await life.hire()
    await life.settle()


# --- bodies that take their time --------------------------------------------------------------------------------------


def declare_slow(life: Life) -> None:
    async def bake(seconds: int) -> str:
        with life.journal.body():
            # The very first body takes its time, later ones do not: what was interrupted comes to an end.
            if life.journal.life == 1 and not life.memory.get("is_baked"):
                life.memory["is_baked"] = True
                await life.clock.sleep(seconds * SECOND)
            return f"baked for {seconds} s"

    async def serve(text: str) -> str:
        with life.journal.body():
            return text.replace("baked", "served")

    @life.app.workflow(name="slow")
    async def slow(ctx: windlass.Context, seconds: int) -> str:
        baked = await seen(life, ctx, "bake", ctx.step(bake, seconds))
        served: str = await seen(life, ctx, "serve", ctx.step(serve, baked))
        return served

    @life.app.workflow(name="long")
    async def long(ctx: windlass.Context, seconds: int) -> str:
        baked = await seen(life, ctx, "bake", ctx.step(bake, seconds, visibility="2m"))
        served: str = await seen(life, ctx, "serve", ctx.step(serve, baked))
        return served

    life.memory.update(slow=slow, long=long)


async def begin_slow(life: Life, *, seconds: int) -> Worker:
    """A worker has claimed a run, and is inside the first of its bodies."""
    worker = await life.hire()
    await life.settle()
    await life.start(life.memory["slow"], seconds)
    await life.settle()
    return worker


@scenario(declare_slow)
async def observed_start(life: Life) -> None:
    await begin_slow(life, seconds=3)
    await life.advance("20ms")
    await life.advance("3s")


@scenario(declare_slow)
async def renewal_on_the_way(life: Life) -> None:
    """More than half of the claim is used up, so the completion renews it, and the next body needs no renewal."""
    await begin_slow(life, seconds=20)
    await life.advance("21s")


@scenario(declare_slow, claims_last_for=Duration(120 * SECOND))
async def renewal_before_a_long_body(life: Life) -> None:
    await life.start(life.memory["long"], 60)
    await life.hire()
    await life.settle()
    await life.advance("20ms")
    await life.advance("61s")


@scenario(declare_slow)
async def claim_that_ran_out(life: Life) -> None:
    """The body takes longer than its claim lasts: it is stopped, and the run is recovered."""
    await begin_slow(life, seconds=300)
    await life.advance("29s")
    await life.advance("2s")


@scenario(declare_slow)
async def clock_that_jumped(life: Life) -> None:
    """The wall clock jumps, so the claim is over while its holder is still at work: the old token is refused."""
    await begin_slow(life, seconds=10)
    life.clock.jump("31s")
    await life.advance("5s")
    await life.advance("6s")


@scenario(declare_slow)
async def release_on_a_graceful_stop(life: Life) -> None:
    worker = await begin_slow(life, seconds=300)
    await life.advance("20ms")
    await life.dismiss(worker)
    await life.hire()
    await life.settle()
