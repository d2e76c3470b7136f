"""How soon: one run on an idle system, its first line, a long history that is replayed. Medians, in milliseconds."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from windlass.app import App
from windlass.bench.durable import BenchFailed
from windlass.bench.site import Site
from windlass.bench.workloads import CLOCK, STEPS, noop
from windlass.client.calls import call
from windlass.client.handle import Handle
from windlass.define.context import Context
from windlass.define.options import StartOptions
from windlass.model.run import RunStatus
from windlass.model.time import MILLISECOND

BARE_COMMITS = 12  # what the least of ten steps costs: a start, ten results, an end
# Runs that are not counted: connections are opened, statements prepared, and SQLite's log has reached its size. While
# that still grows, a commit takes up to three times as long.
WARM_UP, WARM_UP_OF_TEN_STEPS = 1_500, 400
WARM_UP_FOR_EACH = 50  # that is counted: a small size is for a look, and need not wait for all of that
SETTLE_FOR = 5 * MILLISECOND  # until the worker waits again
REPLAYS = 5
CHILD = "windlass.bench.across"

Workflow = Callable[[Context], Coroutine[Any, Any, None]]


async def ten_steps(site: Site, size: int) -> dict[str, float]:
    """One run of ten steps after the other, and bare commits behind each: a slow moment hits both."""
    app = site.app()

    @app.workflow
    async def ten_steps(ctx: Context) -> None:
        for step in range(STEPS):
            await ctx.step(noop, step)

    runs, commits = [], []
    async with site.opened(app), site.bare() as bare, app.worker():
        await asyncio.gather(
            *[handle.result() for handle in await _warm_up(app, ten_steps, WARM_UP_OF_TEN_STEPS, size=size)]
        )
        for _ in range(size):
            await CLOCK.sleep(SETTLE_FOR)
            began = CLOCK.monotonic()
            await (await app.start(ten_steps)).result()
            ended = CLOCK.monotonic()
            for _ in range(BARE_COMMITS):
                await bare.commit()
            runs.append(ended - began)
            commits.append(CLOCK.monotonic() - ended)
    return {
        "ten_steps_ms": _median_ms(runs),
        "twelve_commits_ms": _median_ms(commits),
        "ratio": statistics.median(run / commit for run, commit in zip(runs, commits, strict=True)),
    }


async def _warm_up(app: App, workflow: Workflow, count: int, *, size: int) -> list[Handle[None]]:
    """Start what is not counted."""
    return await app.start_many([call(workflow)] * min(count, WARM_UP_FOR_EACH * size))


async def first_line(site: Site, size: int) -> dict[str, float]:
    """From the start of a run to its first line, in the process that executes it."""
    app, lines = site.app(), asyncio.Queue[int]()
    enter = declare_first_line(app, lines.put_nowait)
    async with site.opened(app), app.worker():
        await _warm_first_line(app, enter, lines.get, size=size)
        local = await _until_first_line(app, enter, lines.get, size=size)
        # Due at once, and yet never handed over in memory: only a run without any delay is.
        claimed = await _until_first_line(app, enter, lines.get, size=size, delay=0)
    return {"local_ms": local, "claimed_ms": claimed}


async def first_line_across(site: Site, size: int) -> dict[str, float]:
    """The same, executed by another process; both read the one monotonic clock of the machine."""
    app = site.app()
    enter = declare_first_line(app, lambda at: None)
    async with site.opened(app), _child(site.url) as read_line:
        await _warm_first_line(app, enter, read_line, size=size)
        return {"across_ms": await _until_first_line(app, enter, read_line, size=size)}


def declare_first_line(app: App, tell: Callable[[int], object]) -> Workflow:
    """A workflow whose first line tells the time."""

    @app.workflow
    async def first_line(ctx: Context) -> None:
        tell(CLOCK.monotonic())

    return first_line


async def _warm_first_line(app: App, enter: Workflow, entered_at: Callable[[], Awaitable[int]], *, size: int) -> None:
    for handle in await _warm_up(app, enter, WARM_UP, size=size):
        await entered_at()  # somebody's
        await handle.result()


async def _until_first_line(
    app: App, enter: Workflow, entered_at: Callable[[], Awaitable[int]], *, size: int, **options: Any
) -> float:
    given: StartOptions = options  # type: ignore[assignment]
    took = []
    for _ in range(size):
        await CLOCK.sleep(SETTLE_FOR)
        began = CLOCK.monotonic()
        handle = await app.start(enter, **given)
        took.append(await entered_at() - began)
        await handle.result()
    return _median_ms(took)


@asynccontextmanager
async def _child(url: str) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """Another process that executes runs. Answers with how to hear of the next first line there."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", CHILD, url, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    output = child.stdout

    async def read_line() -> int:
        line = await output.readline()
        if not line:
            raise BenchFailed("The process that should execute the runs has ended.")
        return int(line)

    try:
        await read_line()  # it waits for runs now
        yield read_line
    finally:
        child.stdin.close()
        await child.wait()


async def replay(site: Site, size: int) -> dict[str, float]:
    """A run with that many steps on record goes on in another worker."""
    app = site.app()
    go_on = app.event("go_on", bool)
    entered: dict[str, int] = {}
    replayed: dict[str, int] = {}

    @app.workflow
    async def long_history(ctx: Context) -> None:
        entered[ctx.run_id] = CLOCK.monotonic()
        for step in range(size):
            await ctx.step(noop, step)
        replayed[ctx.run_id] = CLOCK.monotonic()
        await ctx.receive(go_on)

    woken: dict[str, int] = {}
    async with site.opened(app):
        async with app.worker():
            handles = [await app.start(long_history) for _ in range(REPLAYS)]
            await _parked(handles)
        async with app.worker():
            for handle in handles:
                await CLOCK.sleep(SETTLE_FOR)
                woken[handle.id] = CLOCK.monotonic()
                await handle.send(go_on, True)
                await handle.result()
    return {
        "replay_ms": _median_ms([replayed[run_id] - entered[run_id] for run_id in woken]),
        "woken_ms": _median_ms([replayed[run_id] - at for run_id, at in woken.items()]),
    }


async def _parked(handles: Sequence[Handle[Any]]) -> None:
    """Wait until all of them wait for their event, and no worker holds them."""
    for handle in handles:
        while await handle.status() is not RunStatus.WAITING:
            await CLOCK.sleep(SETTLE_FOR)


def _median_ms(took: Sequence[int]) -> float:
    return statistics.median(took) / MILLISECOND
