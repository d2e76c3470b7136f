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


replied = app.event("replied", str)


async def steps(ctx: windlass.Context) -> None:
    await ctx.step(fetch, "7")  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await ctx.step(charge, 7)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await ctx.step(charge, 7, 1.5, region="eu")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await ctx.step(fetch, 7, retry=5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await ctx.map(fetch, ["7"])  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]


async def asking() -> None:
    await app.start(order, 7)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await app.start(order)  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await app.start(order, "7", region="eu")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await app.start(fetch, 7)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    app.run(order, 7)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    app.handle(order)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


async def waits(ctx: windlass.Context) -> None:
    await ctx.receive("replied")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    await ctx.receive(replied, until="1d")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await ctx.run(order, 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await ctx.run(fetch, 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await ctx.start(order)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await ctx.run(order, "7", on_cancel="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def steering(handle: windlass.Handle[int]) -> None:
    await handle.send(replied, 7)  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
    await app.pause(topic="mail")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    windlass.call(order, 7)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await app.start_many([order])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def blocking(handle: windlass.SyncHandle[int]) -> None:
    app.sync.start(order, 7)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    app.sync.start(order)  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportCallIssue, reportArgumentType]
    app.sync.start(order, "7", region="eu")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    app.sync.handle(order)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    handle.send(replied, 7)  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
    handle.result(until="1d")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


release = app.graph("release")


@release.job
async def lint(ctx: windlass.JobContext) -> int:
    return 1


@app.workflow
async def check(ctx: windlass.Context, part: str) -> None: ...


@release.job(needs=[7], matrix={"py": 7})  # type: ignore[list-item, dict-item]  # pyright: ignore[reportArgumentType]
async def test(ctx: windlass.JobContext, py: str) -> None: ...


async def graphs() -> None:
    windlass.after(lint, on="sometimes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    windlass.after(lint, if_failed="stop")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    release.spawn(check, 7, name="check")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    release.spawn(check, "a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await app.start(lint)  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportCallIssue, reportArgumentType]


@release.job  # type: ignore[type-var]  # pyright: ignore[reportArgumentType, reportUntypedFunctionDecorator]
def sync_job(ctx: windlass.JobContext) -> int:
    return 1


@app.workflow  # type: ignore[type-var]  # pyright: ignore[reportArgumentType, reportUntypedFunctionDecorator]
def plain(ctx: windlass.Context) -> int:
    return 1


orders = app.topic("order.paid", str)
payments = app.pipeline("payments")


@app.effect
async def pay(id: str) -> int:
    return len(id)


@payments.producer(every="5m", publishes=[orders])
async def poll(ctx: windlass.ProducerContext, state: str | None) -> str:
    await ctx.peek(orders)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    ctx.publish(orders, 7, id="7")  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
    return "7"


@payments.consumer(orders)
class Charge(windlass.Consumer[str, int]):
    async def prepare(self, ctx: windlass.PrepareContext, state: None) -> windlass.Reserve | windlass.Idle:
        ctx.publish(orders, "7", id="7")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        return windlass.Idle()

    async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[str]) -> windlass.Effect[int]:
        ctx.publish(orders, "7", id="7")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        windlass.Effect(pay, 7)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
        windlass.Effect(pay, "7", "8")  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportCallIssue, reportArgumentType]
        return windlass.Effect(pay, prepared.data)

    async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[str], result: int | None) -> None:
        await ctx.peek(orders)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        ctx.publish(orders, result, id="7")  # type: ignore[misc]  # pyright: ignore[reportArgumentType]


class Other(windlass.Consumer[str, int]):
    async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[int]) -> None: ...  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]


async def pipelines() -> None:
    await app.publish(orders, 7, id="7")  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
    await app.publish(orders, "7")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await app.pipelines.resolve("payments", "maybe")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@payments.consumer(orders)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType, reportUntypedFunctionDecorator]
def sync_handler(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None: ...


@app.on(order, enters="failed")  # type: ignore[type-var]  # pyright: ignore[reportArgumentType, reportUntypedFunctionDecorator]
def plain_page(ctx: windlass.Context) -> None: ...


async def signals(handle: windlass.Handle[int], item: windlass.Item) -> None:
    app.on(order, enters="faild")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    app.on("order", enters="failed")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await app.when(handle, enters="faild")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await app.when("run_01", enters="failed")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await app.when(handle, enters="failed", start=order)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await app.when(handle, enters="failed", start=fetch)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await app.when(handle, enters="failed", send=(handle, replied), payload=7)  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
    await app.when(handle, enters="failed", send=(item, replied), payload="7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await app.when(handle, enters="failed", since="today")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await item.move("dooing")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await app.items.list(status="todo")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def blocking_signals(handle: windlass.SyncHandle[int], item: windlass.SyncItem) -> None:
    app.sync.when(handle, enters="faild")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    app.sync.when(handle, enters="failed", send=(handle, replied), payload=7)  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
    item.move("dooing")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
