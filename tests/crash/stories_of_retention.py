"""The stories about what a coordinator ends and removes: runs that nobody comes for, and runs that are old enough."""

from __future__ import annotations

from typing import Any

import windlass
from tests.crash.telling import has_told, scenario, seen, the_run_of, until
from tests.lives.life import Life
from windlass.errors import NotFound, RunFailed, StepError
from windlass.model.page import ListRuns
from windlass.model.time import DAY, Duration

KEPT = Duration(30 * DAY)
# No coordinator beside the worker in these stories: what one does is a part of them.


def declare_archive(life: Life) -> None:
    paid = life.app.event("paid", int)

    async def file(item: str) -> str:
        with life.journal.body():
            return f"filed {item}"

    async def seal(item: str) -> str:
        with life.journal.body():
            if not life.memory["is_repaired"]:
                raise StepError("the wax is cold", kind="logic")
            return f"sealed {item}"

    @life.app.workflow(name="letter")
    async def letter(ctx: windlass.Context, item: str) -> str:
        filed: str = await seen(life, ctx, "file", ctx.step(file, item))
        return filed

    @life.app.workflow(name="bundle")
    async def bundle(ctx: windlass.Context, item: str) -> str:
        await ctx.run(letter, item)
        raise StepError("torn", kind="logic")

    @life.app.workflow(name="deed")
    async def deed(ctx: windlass.Context, item: str) -> str:
        await seen(life, ctx, "receive/paid", ctx.receive(paid))
        sealed: str = await seen(life, ctx, "seal", ctx.step(seal, item))
        return sealed

    life.memory.update(paid=paid, bundle=bundle, deed=deed)
    life.memory["is_repaired"] = has_told(life, "retry")


def declare_patience(life: Life) -> None:
    never = life.app.event("never", int)

    @life.app.workflow(name="lonely", timeout="1m")
    async def lonely(ctx: windlass.Context, item: str) -> int:
        return await ctx.receive(never)

    @life.app.workflow(name="patient")
    async def patient(ctx: windlass.Context, item: str) -> str:
        try:
            await ctx.run(lonely, item)
        except RunFailed as error:
            return error.kind
        return "nothing"

    life.memory.update(patient=patient)


async def until_over(life: Life, handle: windlass.Handle[Any]) -> None:
    """Until the run is over, or gone: a story that is told again finds what the last one has left."""
    try:
        await until(life, handle, "completed", "failed")
    except NotFound:
        return


async def until_all_are_over(life: Life) -> None:
    """What a dead worker held comes back when its claim has run out."""
    await life.settle()
    while runs := await life.open_runs():
        await life.advance(life._until_next(runs))


@scenario(declare_archive, is_told_again=True, settings={"coordinates": False, "keep_for": KEPT})
async def removal_of_runs_and_their_families(life: Life) -> None:
    await life.hire(slots=1)
    await until_over(life, await life.client.start(life.memory["bundle"], "book", key="bundle"))
    deed = await life.client.start(life.memory["deed"], "book", key="deed")
    await life.client.send(deed, life.memory["paid"], 7, id="only")
    await until_over(life, deed)
    life.memory["is_repaired"] = True
    await life.client.retry(deed, by="ann")
    await until_all_are_over(life)
    await life.duties.look()
    await life.advance(KEPT - DAY)
    await life.duties.prune(batch=1)  # too early
    await life.advance(DAY)
    await life.duties.prune(batch=1)
    page = await life._opened.runs.list_runs(ListRuns(namespace="default"))
    assert page.runs == ()


@scenario(
    declare_patience,
    is_told_again=True,
    settings={"coordinates": False},
    endings={"patient": "completed", "lonely": "failed"},
)
async def time_out_of_a_run_that_nobody_comes_for(life: Life) -> None:
    """A person has paused it; its parent waits, and hears of the end."""
    await life.hire()
    handle = await life.client.start(life.memory["patient"], "book", key="patient")
    await until(life, handle, "waiting")
    await life.client.pause(await the_run_of(life, "lonely"), by="ann")
    await life.advance("63s")
    await life.duties.expire()
    await life.settle()
