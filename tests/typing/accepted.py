"""What type checkers infer for the public surface. Never executed: mypy and basedpyright read it."""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass
from datetime import datetime, timedelta
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


@app.workflow(name="nightly", queue="reports", version="2", retry=windlass.Retry(5), timeout="1d", visibility="10m")
async def report(ctx: windlass.Context) -> None:
    await ctx.sleep("1d")


@app.workflow
async def ship(ctx: windlass.Context, parcel: int) -> float:
    return parcel / 2


replied = app.event("replied", str)
paid = app.event("paid", Receipt)


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
    assert_type(await ctx.map(ship, [1, 2]), list[float])
    assert_type(await ctx.map(ship, [1], key=lambda parcel: str(parcel), limit=2, on_cancel="abandon"), list[float])


async def waits(ctx: windlass.Context) -> None:
    assert_type(replied, windlass.Event[str])
    assert_type(await ctx.receive(replied), str)
    anything: object = await ctx.receive(replied)
    assert f"{anything} {await ctx.receive(replied)}"
    assert_type(await ctx.receive(paid, timeout="1d"), Receipt)
    assert_type(await ctx.receive(paid, timeout="1d", default=None), Receipt | None)
    assert_type(await ctx.receive(replied, timeout=60, default=0), str | int)
    decision = await ctx.approval("Ship it?", data={"id": 7}, timeout="2d")
    assert_type(decision, windlass.Decision)
    assert_type(decision.by, str | None)
    name, value = await ctx.race(reply=ctx.receive(replied), late=ctx.sleep("1d"))
    assert_type(name, str)
    assert_type(value, Any)


async def children(ctx: windlass.Context) -> None:
    assert_type(await ctx.run(order, "7"), Receipt)
    assert_type(await ctx.run(ship, 7, key="first", timeout="1d", on_cancel="abandon"), float)
    child = await ctx.start(order, "7", "by hand", queue="shop")
    assert_type(child, windlass.Child[Receipt])
    assert_type(child.id, str)
    assert_type(await child.result(), Receipt)
    await child.send(paid, Receipt("7", 3))
    assert_type(await child.cancel(), bool)
    receipt, weight = await asyncio.gather(ctx.run(order, "7"), ctx.run(ship, 7))
    assert_type(receipt, Receipt)
    assert_type(weight, float)


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


async def steering() -> None:
    handle = app.handle(order, key="order-7")
    assert_type(await handle.send(paid, Receipt("7", 3)), bool)
    assert_type(await handle.send(replied, "yes", id="mail-7"), bool)
    assert_type(await handle.approve(by="ann", note="fine"), windlass.Decision)
    assert_type(await handle.reject(), windlass.Decision)
    assert_type(await handle.cancel(by="ann"), bool)
    assert_type(await handle.retry(from_step="pack"), windlass.Handle[Receipt])
    await handle.pause(by="ann", note="wait")
    await app.pause(queue="mail", by="ann", note="the server is moved")
    await app.resume(workflow=order)


async def many() -> None:
    assert_type(windlass.call(order, "7", key="order-7", delay="1h"), windlass.Call[Receipt])
    handles = await app.start_many([windlass.call(order, str(number)) for number in range(3)])
    assert_type(handles, list[windlass.Handle[Receipt]])
    assert_type(await handles[0].result(), Receipt)


def blocking() -> None:
    handle = app.sync.start(order, "7", key="order-7", delay="10m")
    assert_type(handle, windlass.SyncHandle[Receipt])
    assert_type(handle.id, str)
    assert_type(handle.result(), Receipt)
    assert_type(app.sync.start(ship, 7).result(timeout="3s"), float)
    assert_type(handle.explain(), str)
    assert_type(handle.send(replied, "yes", id="mail-7"), bool)
    assert_type(handle.approve(by="ann", note="fine"), windlass.Decision)
    assert_type(handle.cancel(), bool)
    assert_type(handle.retry(from_step="pack"), windlass.SyncHandle[Receipt])
    assert_type(app.sync.handle(order, key="order-7"), windlass.SyncHandle[Receipt])
    assert_type(app.sync.handle("run_01J"), windlass.SyncHandle[Any])
    assert_type(app.sync.start_many([windlass.call(ship, 7)]), list[windlass.SyncHandle[float]])
    app.sync.pause(queue="mail")
    app.sync.resume(workflow="order", by="ann")
    with app.sync, app.sync.worker(queues=["shop"], slots=3):
        handle.result()
    app.sync.close()


def executing() -> None:
    assert_type(app.run(order, "7", key="order-7"), Receipt)
    app.run(report)
    app.serve(queues=["default", "reports"], slots=3)


release = app.graph("release", input=Receipt, queue="ci", timeout="1h", keep="30d", retry=windlass.Retry(2))


@release.job
async def lint(ctx: windlass.JobContext) -> int:
    return len(ctx.graph_id)


@release.job(needs=[lint], matrix={"py": ["3.11", "3.12"], "size": [1, 2]}, max_parallel=2, fail_fast=True)
async def test(ctx: windlass.JobContext, py: str, size: int) -> float:
    return size / len(py)


@release.group(needs=[lint, "test"], timeout="10m")
async def shards(ctx: windlass.JobContext) -> list[windlass.Spawn]:
    first = release.spawn(ship, 1, name="first")
    assert_type(first, windlass.Spawn)
    return [first, release.spawn(ship, 2, name="second", needs=[lint, first, windlass.after("test", on="always")])]


@release.job(
    needs=[windlass.after(test, on={"completed", "failed"}), windlass.after(shards, if_failed="run")], cleanup=True
)
async def tell(ctx: windlass.JobContext) -> str:
    await ctx.step(charge, "7", 3)
    assert_type(ctx.job, str)
    assert_type(ctx.input, Any)
    for name in ctx.needs:
        assert_type(name, str)
    need: windlass.Need = ctx.needs[lint]
    assert_type(need.error, str | None)
    return f"{need.status} {need.output} {len(ctx.needs['test'])}"


async def graphs(ctx: windlass.Context) -> None:
    assert_type(release, windlass.Graph)
    assert_type(await test(windlass_job(), "3.11", 1), float)
    assert_type(release.plan(), str)
    release.validate()
    handle = await app.start(release, Receipt("7", 3), key="1.0", priority=3)
    assert_type(handle, windlass.GraphHandle)
    assert_type(await handle.result(timeout="1m"), windlass.GraphResult)
    assert_type(await handle.jobs(), list[windlass.JobInfo])
    assert_type(await handle.retry(), windlass.GraphHandle)
    assert_type(await handle.output(tell), Any)
    assert_type(app.handle(release, key="1.0"), windlass.GraphHandle)
    assert_type(app.handle(release, run_id=handle.id), windlass.GraphHandle)
    assert_type(windlass.call(release, Receipt("7", 3), key="1.0"), windlass.Call[windlass.GraphResult])
    await ctx.run(release, Receipt("7", 3), timeout="1h")
    child = await ctx.start(release, Receipt("7", 3))
    assert_type(await child.cancel(), bool)
    assert_type(app.schedule(cron="0 9 * * *", args=[Receipt("7", 3)])(release), windlass.Graph)
    await app.schedules.create(release, Receipt("7", 3), cron="0 9 * * *")


def blocking_graphs() -> None:
    assert_type(app.run(release, Receipt("7", 3)), windlass.GraphResult)
    handle = app.sync.start(release, Receipt("7", 3))
    assert_type(handle, windlass.SyncGraphHandle)
    assert_type(handle.result(), windlass.GraphResult)
    assert_type(handle.jobs(), list[windlass.JobInfo])
    assert_type(app.sync.handle(release, key="1.0"), windlass.SyncGraphHandle)
    assert_type(app.sync.handle(release, run_id=handle.id), windlass.SyncGraphHandle)


def windlass_job() -> windlass.JobContext:
    raise NotImplementedError


orders = app.topic("order.paid", Receipt)
done = app.topic("payment.done", str)
payments = app.pipeline("payments", retry=windlass.Retry(3), on_logic_error=lambda problem: windlass.Fixed())


def find_payment(receipt: Receipt) -> windlass.Happened[str] | windlass.DidNotHappen | windlass.Unknown:
    return windlass.Happened(receipt.id)


def key_of(receipt: Receipt) -> str:
    return receipt.id


@app.effect(reconcile=find_payment, key=key_of, retry=windlass.Retry(2), timeout="30s")
async def pay(receipt: Receipt) -> str:
    return receipt.id


@app.effect
def refund(id: str, amount: int = 0) -> int:
    return amount


@payments.producer(every="5m", publishes=[orders])
async def poll(ctx: windlass.ProducerContext, state: str | None) -> str | None:
    assert_type(ctx.scheduled_at, datetime)
    found = ctx.input("shop", "order", "7", title="Order 7")
    assert_type(found, windlass.Input)
    ctx.publish(orders, Receipt("7", 3), id="7", input=found)
    return state


@payments.consumer(orders, publishes=[done], approval=True)
class Charge(windlass.Consumer[Receipt, str]):
    async def prepare(self, ctx: windlass.PrepareContext, state: int | None) -> windlass.Reserve | windlass.Idle:
        events = await ctx.peek(orders, limit=10)
        assert_type(events, list[windlass.TopicEvent[Receipt]])
        known = await ctx.get(orders, ["7"])
        if not known:
            return windlass.Idle(wake_in="1h")
        return windlass.Reserve(events[0], data=events[0].payload, title="Charge", wake_at="2030-01-01T09:00:00Z")

    async def mutate(
        self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Receipt]
    ) -> windlass.Effect[str] | None:
        assert_type(prepared.data, Receipt)
        assert_type(windlass.Effect(refund, "7", 3), windlass.Effect[int])
        return windlass.Effect(pay, prepared.data, title="Pay")

    async def next(
        self, ctx: windlass.NextContext, prepared: windlass.Prepared[Receipt], receipt: str | None
    ) -> int | None:
        if receipt is not None:
            ctx.publish(done, receipt, id=receipt)
            ctx.publish([done], receipt, id=receipt)
        return 1


@payments.consumer(done, batch=10)
async def note(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None:
    ctx.log.info(events[0].payload)


@payments.consumer(orders, publishes=[done])
class Shortest(windlass.Consumer[Receipt, str]):
    async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Receipt]) -> windlass.Effect[str]:
        return windlass.Effect(pay, prepared.data)

    async def next(
        self, ctx: windlass.NextContext, prepared: windlass.Prepared[Receipt], result: str | None
    ) -> None: ...


async def pipelines(ctx: windlass.Context) -> None:
    assert_type(orders, windlass.Topic[Receipt])
    assert_type(Charge(), Charge)
    assert_type(await pay(Receipt("7", 3)), str)
    assert_type(await ctx.step(pay, Receipt("7", 3)), str)
    assert_type(await ctx.step(refund, "7", 3), int)
    await app.publish(orders, Receipt("7", 3), id="7", input=windlass.Input("shop", "order", "7"))
    await app.publish_many(orders, [("7", Receipt("7", 3))])
    assert_type(await app.pipelines.list(), list[windlass.PipelineInfo])
    assert_type(await app.pipelines.approve(payments, by="ann"), windlass.PipelineInfo)
    assert_type(await app.pipelines.resolve("payments", "happened", result="7"), windlass.EffectInfo)
    assert_type(await app.pipelines.trace("payments", windlass.Input("shop", "order", "7")), windlass.InputTrace)


def blocking_pipelines() -> None:
    app.sync.publish(orders, Receipt("7", 3), id="7")
    assert_type(app.sync.pipelines.get("payments"), windlass.PipelineInfo)
    assert_type(app.sync.pipelines.runs(payments, limit=5), list[windlass.HandlerRunInfo])


fired = app.event("fired", windlass.Firing)


@app.on(order, enters={"failed", "cancelled"}, queue="on-call", timeout="1m")
async def page(ctx: windlass.Context, firing: windlass.Firing) -> str:
    assert_type(firing.at, datetime)
    assert_type(firing.from_status, str | None)
    return firing.subject_id


@app.on(windlass.Item, enters="blocked", repeat=True)
@app.on(payments, enters="attention", name="attention")
@app.on(lint, enters="failed", name="lint")
@app.workflow
async def tidy(ctx: windlass.Context, firing: windlass.Firing | None = None) -> None: ...


async def signals(handle: windlass.Handle[Receipt], at: datetime) -> None:
    assert_type(await page(windlass_context(), await anything()), str)
    signal = await app.when(handle, enters="failed", start=page, payload={"why": "notify"}, key="page-7")
    assert_type(signal, windlass.Signal)
    assert_type(signal.already, bool)
    assert_type(await signal.status(), windlass.SignalStatus)
    assert_type(await signal.firings(status="failed"), list[windlass.FiringInfo])
    assert_type(await signal.update(enters=["failed"], repeat=True), bool)
    assert_type(await app.signals.list(status="paused"), list[windlass.SignalInfo])
    await app.when(handle, enters=await handle.status(), start=tidy, since="beginning")
    await app.when(order, enters="failed", start=windlass.call(order, "7", queue="slow"))
    await app.when(handle, enters="failed", start=report)
    await app.when(release, enters="failed", start=release)
    await app.when(handle, enters="failed", send=(handle, replied), payload="failed")
    await app.when(handle, enters="failed", send=(handle, fired))
    await app.when(at, start=tidy)
    await app.when(timedelta(hours=1), repeat=True, start=tidy)


async def items() -> None:
    item = await app.items.create("Move the server", priority=2, data={"rack": 7}, key="ticket-17")
    assert_type(item, windlass.Item)
    assert_type(await item.status(), windlass.ItemStatus)
    assert_type(await item.move("doing", expected=windlass.ItemStatus.READY), windlass.ItemInfo)
    assert_type(await item.add_task("Find out"), windlass.TaskInfo)
    assert_type(await item.end_task((await item.tasks())[0], "skipped", by="ann"), windlass.TaskInfo)
    assert_type(await item.history(), list[windlass.ItemChange])
    assert_type(await app.items.list(status="doing"), list[windlass.ItemInfo])
    await app.when(item, enters={"done", "failed"}, task="Tell the customer")
    await app.when(windlass.Item, enters="blocked")


def blocking_signals(handle: windlass.SyncHandle[Receipt]) -> None:
    signal = app.sync.when(handle, enters="failed", start=page)
    assert_type(signal, windlass.SyncSignal)
    assert_type(signal.status(), windlass.SignalStatus)
    assert_type(app.sync.signals.get(signal.id), windlass.SyncSignal)
    assert_type(app.sync.signals.firings(limit=5), list[windlass.FiringInfo])
    app.sync.when(handle, enters="failed", send=(handle, replied), payload="failed")
    item = app.sync.items.create("Move the server")
    assert_type(item, windlass.SyncItem)
    assert_type(item.move("ready"), windlass.ItemInfo)
    assert_type(item.tasks(), list[windlass.TaskInfo])
    app.sync.when(item, enters="done", task="Tell the customer")


async def anything() -> Any: ...


def windlass_context() -> windlass.Context:
    raise NotImplementedError
