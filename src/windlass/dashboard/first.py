"""What somebody writes first: the examples on pages that have nothing else to show yet."""

PROGRAM = """\
import windlass

app = windlass.App()


@app.workflow
async def hello(ctx: windlass.Context, name: str) -> str:
    return await ctx.step(str.upper, name)


# windlass dev MODULE:app
# windlass start MODULE:app hello you"""

GRAPH = """\
release = app.graph("release")


@release.job
async def lint(ctx): ...


@release.job(needs=[lint])
async def build(ctx): ..."""

PIPELINE = """\
orders = app.topic("order.paid", Order)
payments = app.pipeline("payments")


@payments.consumer(orders)
async def book(ctx, events): ..."""

SCHEDULE = """\
@app.schedule(cron="0 9 * * *", tz="Europe/Rome")
async def nightly(ctx: windlass.Context) -> None: ..."""

SIGNAL = """\
await app.when(handle, enters="failed", start=page_on_call)"""
