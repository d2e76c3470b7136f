from carrier import ship

import windlass

app = windlass.App()
paid = app.event("paid", int)


def reserve(item: str) -> str:
    print("reserved", item)
    return f"shelf {len(item)}"


def give_back(shelf: str) -> None:
    print("given back:", shelf)


@app.workflow
async def delivery(ctx: windlass.Context, item: str, shelf: str) -> str:
    parcel = await ctx.step(ship, item, shelf, retry=windlass.Retry(5, initial="100ms"))
    await ctx.sleep("2s")  # it is on its way
    return f"{parcel} has arrived"


@app.workflow
async def order(ctx: windlass.Context, item: str) -> str:
    shelf = await ctx.step(reserve, item)
    try:
        amount = await ctx.receive(paid, timeout="7d")
    except windlass.WaitTimeout:
        await ctx.step(give_back, shelf)
        return f"{item}: not paid"
    decision = await ctx.approval(f"Ship {item}?", data={"paid": amount}, timeout="2d")
    if decision.outcome != "approved":
        await ctx.step(give_back, shelf)
        return f"{item}: {decision.outcome}"
    return await ctx.run(delivery, item, shelf)
