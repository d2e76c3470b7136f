"""One case in a process of its own, against servers or a database: `python -m bench.over_wire CASE SIZE URL…`.

With several URLs there is a worker for each, with its share of the slots. Prints one line of JSON. The token comes from
WINDLASS_TOKEN; whether commits are durable is asked by whoever has the database.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from contextlib import AsyncExitStack

from windlass import process
from windlass.app import App
from windlass.bench.workloads import STEPS, Tally, noop, start_all
from windlass.client.calls import call
from windlass.define.context import Context
from windlass.settings import Settings
from windlass.settings_values import Secret

SLOTS = 100  # runs in flight
WORKERS_PER_APP = 20


def make_app(url: str) -> App:
    token = os.environ.get("WINDLASS_TOKEN")
    return App(url, settings=Settings(token=Secret(token) if token else None))


async def steps(size: int, urls: list[str]) -> dict[str, float]:
    """Runs of ten steps that wait when the workers begin, 100 at a time."""
    tally = Tally()

    async def ten_steps(ctx: Context, number: int) -> int:
        for step in range(STEPS):
            await ctx.step(noop, step)
        tally.count(ctx.run_id)
        return number

    apps = [make_app(url) for url in urls]
    async with AsyncExitStack() as stack:
        for app in apps:
            app.workflow(ten_steps)
            await stack.enter_async_context(app)
        handles = await start_all(apps[0], [call(ten_steps, number) for number in range(size)])
        tally.expect(handle.id for handle in handles)
        began, processor = time.monotonic(), time.process_time()
        for app in apps:
            await stack.enter_async_context(app.worker(slots=SLOTS // len(apps)))
        await tally.is_over.wait()
        await asyncio.gather(*[apps[0].handle(run_id).result() for run_id in tally.last()])
        passed, used = time.monotonic() - began, time.process_time() - processor
        results = await asyncio.gather(*[handle.result() for handle in handles])
    assert results == [*range(size)]
    return {"steps_per_second": size * STEPS / passed, "cpu_us": used * 1e6 / size / STEPS}


async def first_line(size: int, urls: list[str]) -> dict[str, float]:
    """From the call of start to the first line of the body, one run after the other."""
    app, took = make_app(urls[0]), list[float]()
    entered: dict[int, float] = {}

    async def body(ctx: Context, number: int) -> None:
        entered[number] = time.monotonic()

    app.workflow(body)
    async with app, app.worker(slots=SLOTS):
        for number in range(size):
            began = time.monotonic()
            handle = await app.start(body, number)
            await handle.result()
            took.append(1_000 * (entered[number] - began))
    return {"p50_ms": statistics.median(took), "p95_ms": statistics.quantiles(took, n=20)[-1]}


async def idle(size: int, urls: list[str]) -> dict[str, float]:
    """So many workers that have nothing to do, until the standard input ends."""

    async def nothing(ctx: Context) -> None: ...

    async with AsyncExitStack() as stack:
        for first in range(0, size, WORKERS_PER_APP):
            app = make_app(urls[0])
            app.workflow(nothing)
            await stack.enter_async_context(app)
            for _ in range(min(WORKERS_PER_APP, size - first)):
                await stack.enter_async_context(app.worker())
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
    return {}


CASES = {"steps": steps, "first_line": first_line, "idle": idle}


def main() -> None:
    case, size, *urls = sys.argv[1:]
    print(json.dumps(process.run(CASES[case](int(size), urls))), flush=True)


if __name__ == "__main__":
    main()
