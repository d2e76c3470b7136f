"""What do signals cost, and how soon do they act? One case in a process of its own:
`python -m bench.signal_cases CASE --db URL [--size N]`.

    alone      runs that wait are drained, and nobody watches them
    watched    the same with a signal on each that waits for its end and announces it; then, until all have fired.
               The worker looks after them meanwhile, as any does
    follow     from a transition to the first line of the workflow that a signal starts, in one process: of an item that
               is moved, from that call on; of a run that fails, from its last line on
    across     of an item that is moved, where another process looks after signals and executes what they start

The database is used as it is; one line of JSON, like the programs it is measured beside.
"""

from __future__ import annotations

import asyncio
import logging
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from bench.load import nothing
from bench.peers.protocol import Answer, answer
from bench.signal_load import watch_all
from windlass import process
from windlass.app import App
from windlass.bench.durable import read_back
from windlass.bench.workloads import CLOCK, SLOTS, Stopwatch, Tally, start_all
from windlass.client.calls import call
from windlass.define.context import Context
from windlass.embedded import in_process
from windlass.model.signal import Firing
from windlass.model.time import MILLISECOND
from windlass.settings import Settings

LOOK_EVERY = 10 * MILLISECOND
SETTLE_FOR = 20 * MILLISECOND  # until whoever acted on the one before waits again
WARM_UP = 20  # that are not counted
EXECUTE = "execute"  # as the other process of `across`

Next = Callable[[], Awaitable[int]]


# How many


async def alone(url: str, size: int) -> Answer:
    return await _drained(url, size, is_watched=False)


async def watched(url: str, size: int) -> Answer:
    return await _drained(url, size, is_watched=True)


async def _drained(url: str, size: int, *, is_watched: bool) -> Answer:
    """From the begin of the worker to the last result; and on to the last announcement."""
    app, tally = App(url, settings=Settings()), Tally()

    @app.workflow(name=nothing.__name__)
    async def counted(ctx: Context, number: int) -> int:
        tally.count(ctx.run_id)
        return number

    async with app:
        handles = await start_all(app, [call(counted, number) for number in range(size)])
        if is_watched:
            await watch_all(app, url, handles[0])
        by_id = {handle.id: handle for handle in handles}
        tally.expect(by_id)
        stopwatch = Stopwatch()
        async with app.worker(slots=SLOTS):
            await tally.is_over.wait()
            await asyncio.gather(*[by_id[run_id].result() for run_id in tally.last()])
            figures = stopwatch.rates(size, what="runs")
            await _all_fired(app)
            figures |= {f"fired_{name}": value for name, value in stopwatch.rates(size, what="runs").items()}
        if is_watched:
            await _demand_fired(app, size)
        return Answer(figures, await read_back(app))


async def _all_fired(app: App) -> None:
    """Until nothing is to be worked, and nobody works anything."""
    store = in_process(await app._opening.get()).engine.parts.store
    while await store.read("bench_firings", lambda tx: tx.watch.next()) is not None:
        await CLOCK.sleep(LOOK_EVERY)


async def _demand_fired(app: App, size: int) -> None:
    left = await app.signals.list(status="armed", limit=1)
    assert not left, f"{left[0].id} has not fired"
    fired = await app.signals.list(status="fired", limit=1_000)
    assert len(fired) == min(size, 1_000), f"{len(fired)} of {size} signals have fired"


# How soon


async def follow(url: str, size: int) -> Answer:
    app, lines = App(url, settings=Settings()), asyncio.Queue[int]()
    page = _declare(app, lines.put_nowait)
    failed_at: list[int] = []
    broken = app.event("broken", str)

    @app.workflow
    async def order(ctx: Context) -> None:
        text = await ctx.receive(broken)
        failed_at.append(CLOCK.monotonic())
        raise ValueError(text)

    async def fail() -> int:
        handle = await app.start(order)
        await app.when(handle, enters="failed", start=page)
        await CLOCK.sleep(SETTLE_FOR)
        await handle.send(broken, "out of stock")
        entered_at = await lines.get()
        return entered_at - failed_at.pop()

    async with app, app.worker():
        moved = [await _moved(app, page, lines.get) for _ in range(WARM_UP + size)]
        failed = [await fail() for _ in range(WARM_UP + size)]
        return Answer({"item_ms": _median_ms(moved), "run_ms": _median_ms(failed)}, await read_back(app))


async def across(url: str, size: int) -> Answer:
    app = App(url, settings=Settings(coordinates=False))
    page = _declare(app, lambda at: None)
    async with app, _child(url) as read_line:
        took = [await _moved(app, page, read_line) for _ in range(WARM_UP + size)]
        return Answer({"across_ms": _median_ms(took)}, await read_back(app))


def _declare(app: App, tell: Callable[[int], object]) -> Callable[[Context, Firing], Coroutine[Any, Any, None]]:
    """A workflow whose first line tells the time."""

    @app.workflow
    async def page(ctx: Context, firing: Firing) -> None:
        tell(CLOCK.monotonic())

    return page


async def _moved(app: App, page: Callable[[Context, Firing], Coroutine[Any, Any, None]], entered_at: Next) -> int:
    item = await app.items.create("Ship it")
    await app.when(item, enters="ready", start=page)
    await CLOCK.sleep(SETTLE_FOR)
    began = CLOCK.monotonic()
    await item.move("ready")
    return await entered_at() - began


def _median_ms(took: list[int]) -> float:
    return statistics.median(took[WARM_UP:]) / MILLISECOND


@asynccontextmanager
async def _child(url: str) -> AsyncIterator[Next]:
    """Another process that looks after signals. Answers with how to hear of the next first line there."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.signal_cases", EXECUTE, url, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    output = child.stdout

    async def read_line() -> int:
        return int(await output.readline())

    try:
        await read_line()  # it executes runs now
        yield read_line
    finally:
        child.stdin.close()
        await child.wait()


async def execute(url: str) -> None:
    """Until its input ends."""
    app = App(url, settings=Settings())
    _declare(app, _tell)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wait_for_end() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    async with app, app.worker():
        threading.Thread(target=wait_for_end, daemon=True).start()
        _tell(CLOCK.monotonic())
        await ended.wait()


def _tell(at: int) -> None:
    os.write(sys.stdout.fileno(), f"{at}\n".encode())


def _case(function: Callable[[str, int], Coroutine[Any, Any, Answer]]) -> Callable[[str, int], Answer]:
    return lambda url, size: process.run(function(url, size))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # of runs that fail, because they are to
    if sys.argv[1:2] == [EXECUTE]:
        process.run(execute(sys.argv[2]))
    else:
        cases = {"alone": alone, "watched": watched, "follow": follow, "across": across}
        answer({name: _case(function) for name, function in cases.items()}, size=100)
