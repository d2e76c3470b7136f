"""When an order fails, somebody is paged: once for each order, whichever process notices, and whatever is killed.

The order fails in a process of its own. What follows is executed in this one, which has not seen it fail.
"""

from __future__ import annotations

import asyncio
import sys

import windlass

app = windlass.App()
rung = asyncio.Event()


def charge(order_id: str) -> None:
    raise windlass.StepError(f"the card of order {order_id} was declined")


async def ring(text: str) -> str:
    print(text)
    rung.set()
    return "ann"


@app.workflow
async def order(ctx: windlass.Context, id: str) -> None:
    await ctx.step(charge, id)


@app.on(order, enters="failed", queue="on-call")  # every run of it; once for each
async def page(ctx: windlass.Context, firing: windlass.Firing) -> str:
    # firing.id is the same at every attempt: a key for the outside world, so that who is rung twice is woken once.
    return await ctx.step(ring, f"{firing.subject_kind} went from {firing.from_status} to {firing.to_status}")


async def shop() -> None:
    async with app, app.worker(queues=["default"]):  # it executes orders, and pages nobody
        handle = await app.start(order, "7")
        try:
            await handle.result()
        except windlass.RunFailed as error:
            print(error.message)


async def on_call() -> None:
    async with app, app.worker(queues=["on-call"]):
        other = await asyncio.create_subprocess_exec(sys.executable, __file__, "shop")
        await other.wait()
        await rung.wait()
        (firing,) = await app.signals.firings()
        print(await app.handle(firing.run_id or "").result(), "knows")


if __name__ == "__main__":
    asyncio.run(shop() if sys.argv[1:] == ["shop"] else on_call())
