"""Branches that run at the same time, with the tools asyncio already has: `gather` and `TaskGroup`.

A step that is called from several branches needs a `key=`, because the order of its calls is not repeatable. A sleep
needs none: it is known by the place of its task. While every branch waits, the run holds no worker.
"""

from __future__ import annotations

import asyncio

import windlass

app = windlass.App()


def quote(shop: str) -> int:
    return {"north": 30, "south": 20, "west": 25}[shop]


async def reserve(part: str) -> str:
    return f"{part} reserved"


@app.workflow
async def cheapest(ctx: windlass.Context, shops: list[str]) -> str:
    prices = await asyncio.gather(*(ctx.step(quote, shop, key=shop) for shop in shops))
    price, shop = min(zip(prices, shops, strict=True))
    return f"{shop} for {price}"


@app.workflow
async def assemble(ctx: windlass.Context) -> list[str]:
    async def branch(part: str, *, wait: str) -> str:
        await ctx.sleep(wait)
        return await ctx.step(reserve, part, key=part)

    async with asyncio.TaskGroup() as group:
        slow = group.create_task(branch("engine", wait="300ms"))
        fast = group.create_task(branch("wheels", wait="100ms"))
    return [slow.result(), fast.result()]


if __name__ == "__main__":
    print(app.run(cheapest, ["north", "south", "west"]))
    print(app.run(assemble))
