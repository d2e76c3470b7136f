"""The stories about graphs: jobs that need other jobs, in every shape."""

from __future__ import annotations

import asyncio

import windlass
from tests.crash.telling import has_told, noted, seen, story, the_run_of, until
from tests.lives.life import LOOK_EVERY, ROUNDS, Life


def declare_release(life: Life) -> None:
    """Fans out and in: a matrix with a window, a group, a job that fails, what is skipped by it, and a handler."""
    release = life.app.graph("release", input=str)

    @release.job
    async def lint(ctx: windlass.JobContext) -> str:
        return f"{noted(life, ctx, 'input', ctx.input)} is fine"

    @release.job(needs=[lint], matrix={"py": ["12", "13"]}, max_parallel=1)
    async def test(ctx: windlass.JobContext, py: str) -> str:
        return f"{py} after {noted(life, ctx, 'lint', ctx.needs[lint].output)}"

    @release.group(needs=[lint])
    async def shards(ctx: windlass.JobContext) -> list[windlass.Spawn]:
        one = release.spawn(shard, "one", name="shard-one")
        return [one, release.spawn(shard, "two", name="shard-two", needs=[one])]

    @life.app.workflow(name="shard")
    async def shard(ctx: windlass.JobContext, part: str) -> str:
        return part

    @release.job
    async def audit(ctx: windlass.JobContext) -> None:
        raise ValueError("not signed")

    @release.job(needs=[audit])
    async def sign(ctx: windlass.JobContext) -> None: ...

    @release.job(needs=[sign, test])
    async def publish(ctx: windlass.JobContext) -> None: ...

    @release.job(needs=[windlass.after(publish, on="always"), windlass.after(audit, on="failed"), shards])
    async def tidy(ctx: windlass.JobContext) -> str:
        noted(life, ctx, "shards", [need.output for need in ctx.needs[shards]])
        return str(noted(life, ctx, "publish", ctx.needs[publish].status))

    life.memory.update(release=release)


@story(
    declare_release,
    **{
        "release": "failed",
        "release.lint": "completed",
        "release.test": "completed",
        "release.shards": "completed",
        "shard": "completed",
        "release.audit": "failed",
        "release.sign": "skipped",
        "release.publish": "skipped",
        "release.tidy": "completed",
    },
)
async def graph_of_every_shape(life: Life) -> None:
    await life.hire(slots=1)  # so that one after the other is claimed, and the points are the same each time
    await life.client.start(life.memory["release"], "book", key="release")
    await life.settle()


def declare_owner(life: Life) -> None:
    """A run that waits for a graph whose generators come to nothing."""
    empty = life.app.graph("empty")

    @empty.group
    async def none(ctx: windlass.JobContext) -> list[windlass.Spawn]:
        return []

    @empty.group
    async def broken(ctx: windlass.JobContext) -> list[windlass.Spawn]:
        return [empty.spawn(after_none, name="stray", needs=["nobody"])]

    @empty.job(needs=[none])
    async def after_none(ctx: windlass.JobContext) -> int:
        return len(ctx.needs[none])

    @empty.job(needs=[broken])
    async def after_broken(ctx: windlass.JobContext) -> None: ...

    @life.app.workflow(name="owner")
    async def owner(ctx: windlass.Context) -> str:
        try:
            await ctx.run(empty)
        except windlass.RunFailed as error:
            return str(noted(life, ctx, "error", error.type))
        return ""

    life.memory.update(owner=owner)


async def until_a_worker_waits(life: Life) -> None:
    """So that what comes next is given to it, and not claimed by it, whichever database is faster."""
    offers = life._opened.engine.parts.offers
    for _ in range(ROUNDS):
        if offers.are_open:
            return
        await asyncio.sleep(LOOK_EVERY)


def declare_chain(life: Life) -> None:
    chain = life.app.graph("chain")

    async def work(item: str) -> str:
        with life.journal.body():
            await until_a_worker_waits(life)
            return f"{item} done"

    @chain.job
    async def first(ctx: windlass.JobContext) -> str:
        result: str = await seen(life, ctx, "work", ctx.step(work, "first"))
        return result

    @chain.job(needs=[first])
    async def second(ctx: windlass.JobContext) -> str:
        return str(noted(life, ctx, "first", ctx.needs[first].output))

    life.memory.update(chain=chain)


def declare_long(life: Life) -> None:
    """A graph whose first job waits, and whose last one cleans up."""
    long, paid = life.app.graph("long"), life.app.event("paid", int)

    @long.job
    async def begin(ctx: windlass.JobContext) -> int:
        return await ctx.receive(paid)

    @long.job(needs=[begin])
    async def go_on(ctx: windlass.JobContext) -> None: ...

    @long.job(needs=[windlass.after(go_on, on="always")], cleanup=True)
    async def clean(ctx: windlass.JobContext) -> None: ...

    life.memory.update(long=long, paid=paid, begin=begin)


def declare_again(life: Life) -> None:
    """A graph whose second job fails until somebody asks for another try."""
    again = life.app.graph("again")

    @again.job
    async def fetch(ctx: windlass.JobContext) -> str:
        return "fetched"

    @again.job(needs=[fetch])
    async def store(ctx: windlass.JobContext) -> str:
        if not has_told(life, "retry"):
            raise ValueError("no room")
        return str(noted(life, ctx, "fetch", ctx.needs[fetch].output))

    @again.job(needs=[store])
    async def tell(ctx: windlass.JobContext) -> None: ...

    life.memory.update(again=again)


@story(
    declare_owner,
    **{
        "owner": "completed",
        "empty": "failed",
        "empty.none": "completed",
        "empty.broken": "failed",
        "empty.after_none": "completed",
        "empty.after_broken": "skipped",
    },
)
async def graph_that_a_run_waits_for(life: Life) -> None:
    await life.hire(slots=1)
    await life.client.start(life.memory["owner"], key="owner")
    await life.settle()


@story(
    declare_long,
    **{"long": "cancelled", "long.begin": "cancelled", "long.go_on": "cancelled", "long.clean": "completed"},
)
async def graph_that_is_cancelled(life: Life) -> None:
    await life.hire(slots=1)
    handle = await life.client.start(life.memory["long"], key="long")
    await until(life, handle, "waiting")
    await life.client.cancel(handle, by="ann")
    await life.settle()


@story(declare_chain, **{"chain": "completed", "chain.first": "completed", "chain.second": "completed"})
async def chain_of_jobs_that_a_waiting_worker_is_given(life: Life) -> None:
    await life.hire()
    await life.client.start(life.memory["chain"], key="chain")
    await life.settle()


@story(declare_long, **{"long": "completed", "long.begin": "completed", "long.go_on": "completed"})
async def graph_that_is_paused_and_goes_on(life: Life) -> None:
    await life.hire(slots=1)
    handle = await life.client.start(life.memory["long"], key="long")
    await until(life, handle, "waiting", "paused")
    begin = await the_run_of(life, "long.begin")
    await until(life, begin, "waiting", "paused")
    await life.client.pause(handle, by="ann")
    await life.client.send(begin, life.memory["paid"], 5, id="m-1")
    await life.settle()
    await life.client.resume(handle, by="bob")
    await life.settle()


@story(declare_again, again="completed", **{"again.fetch": "completed"})
async def graph_that_is_tried_again(life: Life) -> None:
    await life.hire(slots=1)
    handle = await life.client.start(life.memory["again"], key="again")
    await until(life, handle, "failed")
    await life.client.retry(handle, by="ann")
    await life.settle()
