"""What type checkers must refuse. Each ignore is an error that has to be there: an unused one fails the check."""

from __future__ import annotations

import windlass

app = windlass.App()


@app.workflow
async def order(ctx: windlass.Context, id: str) -> int:
    return len(id)


async def fetch(id: int) -> str:
    return str(id)


def charge(id: int, amount: float) -> bool:
    return amount > id


async def steps(ctx: windlass.Context) -> None:
    await ctx.step(fetch, "7")  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await ctx.step(charge, 7)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await ctx.step(charge, 7, 1.5, region="eu")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await ctx.step(fetch, 7, retry=5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await ctx.map(fetch, ["7"])  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]


async def asking() -> None:
    await app.start(order, 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await app.start(order)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await app.start(order, "7", region="eu")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await app.start(fetch, 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    app.run(order, 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    app.handle(order)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


@app.workflow  # type: ignore[type-var]  # pyright: ignore[reportArgumentType, reportUntypedFunctionDecorator]
def plain(ctx: windlass.Context) -> int:
    return 1
