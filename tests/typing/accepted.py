"""What type checkers infer for the public surface. Never executed: mypy and basedpyright read it."""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_type
from uuid import UUID

import windlass

app = windlass.App()


@dataclass
class Receipt:
    id: str
    amount: int


@app.workflow
async def order(ctx: windlass.Context, id: str, note: str = "") -> Receipt:
    return await ctx.step(charge, id, 3)


@app.workflow(name="nightly", queue="reports", version="2", retry=windlass.Retry(5), visibility="10m")
async def report(ctx: windlass.Context) -> None:
    await ctx.sleep("1d")


@app.step
def charge(id: str, amount: int) -> Receipt:
    return Receipt(id, amount)


@app.step(retry=windlass.Retry(5, initial="2s", never=(KeyError,)), timeout=30, raises=(LookupError,))
async def fetch(id: int) -> str:
    return windlass.current_step().idempotency_key


def resize(size: int, *, unit: str = "px") -> float:
    return float(size)


class Mailer:
    async def send(self, to: str) -> int:
        return len(to)


async def steps(ctx: windlass.Context) -> None:
    assert_type(await ctx.step(charge, "7", 3), Receipt)
    assert_type(await ctx.step(fetch, 7, key="user-7", name="user", timeout="30s", retry=windlass.Retry(2)), str)
    assert_type(await ctx.step(resize, 3), float)
    assert_type(await ctx.step(functools.partial(resize, unit="em"), 3), float)
    assert_type(await ctx.step(functools.partial(fetch, 7)), str)
    assert_type(await ctx.step(Mailer().send, "a@example.org"), int)
    assert_type(await ctx.step(lambda: 1, name="one"), int)
    await ctx.step(print, "packed", 7)


async def branches(ctx: windlass.Context) -> None:
    receipt, text = await asyncio.gather(ctx.step(charge, "7", 3), ctx.step(fetch, 7))
    assert_type(receipt, Receipt)
    assert_type(text, str)
    assert_type(await asyncio.gather(*[ctx.step(fetch, id) for id in range(3)]), list[str])
    async with asyncio.TaskGroup() as group:
        first = group.create_task(ctx.step(charge, "7", 3))
        second = group.create_task(ctx.step(fetch, 7))
        group.create_task(ctx.sleep("1h"))
    assert_type(first.result(), Receipt)
    assert_type(second.result(), str)
    assert_type(await asyncio.wait_for(ctx.step(fetch, 7), timeout=3), str)


async def maps(ctx: windlass.Context) -> None:
    assert_type(await ctx.map(fetch, [1, 2]), list[str])
    assert_type(await ctx.map(resize, range(3), limit=2, retry=windlass.Retry(2)), list[float])
    assert_type(await ctx.map(fetch, [1, 2], key=lambda id: f"user-{id}"), list[str])


async def attributes(ctx: windlass.Context) -> None:
    assert_type(ctx.run_id, str)
    assert_type(ctx.key, str | None)
    assert_type(ctx.random.random(), float)
    assert_type(ctx.uuid(), UUID)
    assert_type(ctx.now(), datetime)
    ctx.log.info("at %s", ctx.now())
    await ctx.sleep_until(ctx.now())


async def asking() -> None:
    handle = await app.start(order, "7", key="order-7", delay="10m", priority=3, queue="shop")
    assert_type(handle, windlass.Handle[Receipt])
    assert_type(await handle.result(), Receipt)
    assert_type(await handle.result(timeout="3s"), Receipt)
    assert_type(handle.id, str)
    assert_type(await (await app.start(order, "7", "by hand")).result(), Receipt)
    await (await app.start(report)).result()
    assert_type(app.handle(order, key="order-7"), windlass.Handle[Receipt])
    assert_type(app.handle("run_01J"), windlass.Handle[Any])
    async with app, app.worker(queues=["shop"], slots=3):
        assert_type(await handle.explain(), str)
        await handle.resume()


def executing() -> None:
    assert_type(app.run(order, "7", key="order-7"), Receipt)
    app.run(report)
    app.serve(queues=["default", "reports"], slots=3)
