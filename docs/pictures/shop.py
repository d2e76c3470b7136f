"""A shop with something of every kind going on, for the pictures of the dashboard: `make pictures`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import windlass

app = windlass.App()
LARGE = 100_000  # cents


@dataclass
class Order:
    id: str
    cents: int


# Runs


async def reserve(order: Order) -> dict[str, str]:
    await asyncio.sleep(0.3)
    return {"shelf": "B-12", "parcel": f"p-{order.id}"}


async def charge(order: Order) -> str:
    await asyncio.sleep(0.2)
    step = windlass.current_step()
    if step.attempt == 1 and order.id.endswith("4"):
        raise TimeoutError("the payment provider took longer than 10 s")
    return f"rcp-{order.id}"


async def ship(order: Order, parcel: str) -> str:
    await asyncio.sleep(0.4)
    return f"{parcel} is on its way"


@app.workflow(retry=windlass.Retry(3, initial=0.5))
async def order(ctx: windlass.Context, bought: Order) -> str:
    reserved = await ctx.step(reserve, bought)
    await ctx.step(charge, bought)
    if bought.cents >= LARGE:
        await ctx.approval(
            f"Ship order {bought.id} for {bought.cents / 100:,.2f} €?", data={"customer": "Ada Lovelace"}
        )
    await ctx.sleep("1s")
    return await ctx.step(ship, bought, reserved["parcel"])


async def transfer(order_id: str, cents: int) -> str:
    await asyncio.sleep(0.2)
    raise ConnectionError(f"the bank does not answer (refund {order_id})")


@app.workflow(retry=windlass.Retry(3, initial=0.4))
async def refund(ctx: windlass.Context, order_id: str, cents: int) -> str:
    return await ctx.step(transfer, order_id, cents)


@app.workflow(queue="mail")  # nobody serves it
async def newsletter(ctx: windlass.Context, number: int) -> None: ...


async def read_file(name: str) -> int:
    await asyncio.sleep(3_600)
    return 0


@app.workflow
async def catalogue(ctx: windlass.Context, file: str) -> int:
    return await ctx.step(read_file, file)


@app.schedule(cron="0 6 * * MON-FRI", tz="Europe/Rome")
async def report(ctx: windlass.Context) -> None: ...


@app.schedule(every="1m")
async def stock(ctx: windlass.Context) -> None:
    await ctx.step(asyncio.sleep, 0.5)


# A graph

release = app.graph("release")


@release.job
async def lint(ctx: windlass.JobContext) -> None:
    await asyncio.sleep(0.3)


@release.job(needs=[lint], matrix={"python": ["3.11", "3.12", "3.13", "3.14"]})
async def test(ctx: windlass.JobContext, python: str) -> None:
    await asyncio.sleep(0.5)
    if python == "3.12":
        raise AssertionError("2 of 418 tests failed: test_totals, test_rounding")


@release.job(needs=[lint])
async def docs(ctx: windlass.JobContext) -> None:
    await asyncio.sleep(0.4)


@release.job(needs=[lint])
async def wheel(ctx: windlass.JobContext) -> str:
    await asyncio.sleep(3_600)
    return "shop-1.4.0-py3-none-any.whl"


@app.workflow
async def scan(ctx: windlass.Context, part: int) -> int:
    return part


@release.group(needs=[lint])
async def scans(ctx: windlass.JobContext) -> list[windlass.Spawn]:
    return [release.spawn(scan, part, name=f"scan-{part}") for part in range(40)]


@release.job(needs=[test, docs, wheel, scans])
async def upload(ctx: windlass.JobContext) -> None: ...


@release.job(needs=[windlass.after(upload, on="always")])
async def tell_everybody(ctx: windlass.JobContext) -> None: ...


# A pipeline

paid = app.topic("order.paid", Order)
payments = app.pipeline("payments")


@app.effect
async def book(bought: Order) -> str:
    if bought.id == "1003":
        raise TimeoutError("the ledger closed the connection before it answered")
    return f"booked {bought.id}"


@payments.consumer(paid, approval=True)
class Book(windlass.Consumer[Order, str]):
    """Books what was paid, once somebody has looked at it."""

    async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]) -> windlass.Effect[str]:
        bought = prepared.data
        return windlass.Effect(book, bought, title=f"Book order {bought.id}, {bought.cents / 100:,.2f} €")


# Signals


@app.on(refund, enters="failed")
async def page_on_call(ctx: windlass.Context, firing: windlass.Firing) -> None: ...
