import windlass

app = windlass.App()


@app.workflow
async def order(ctx: windlass.Context, id: str) -> str:
    await ctx.step(print, "packed", id)
    await ctx.sleep("10s")  # kill -9 here, run again: "packed" is not printed twice
    await ctx.step(print, "shipped", id)
    return f"order {id} done"


if __name__ == "__main__":
    print(app.run(order, "7", key="order-7"))
