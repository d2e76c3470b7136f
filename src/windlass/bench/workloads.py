"""How many: steps, drained runs and accepted starts per second. One process, bodies that do nothing."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from windlass.app import App
from windlass.bench.durable import BenchFailed
from windlass.bench.raw import GROUP
from windlass.bench.site import Site
from windlass.client.calls import MAX_CALLS, Call, call
from windlass.client.handle import Handle
from windlass.define.context import Context
from windlass.model.time import MILLISECOND, SECOND
from windlass.runtime import SystemClock

SLOTS = 1_000
STEPS = 10  # of one run
GROUPS_PER_COMMIT = 0.08  # 40 groups beside 500 commits take about as long
EVERY = 50  # of the runs that ended last, one in so many is asked for: at least one of every batch
CLOCK = SystemClock()


async def noop(number: int) -> int:
    return number


class Stopwatch:
    """Time on the wall, and of all threads of this process on a processor."""

    def __init__(self) -> None:
        self._began, self._processor = CLOCK.monotonic(), time.process_time()

    def rates(self, count: int, *, what: str) -> dict[str, float]:
        """How many of them a second, and what one of them cost the processor in microseconds."""
        passed, processor = CLOCK.monotonic() - self._began, time.process_time() - self._processor
        return {f"{what}_per_second": count * SECOND / passed, "cpu_us": processor * SECOND / count}


class Tally:
    """Counts bodies as they end: to wait for every result would cost as much as what is measured."""

    def __init__(self) -> None:
        self._expected: set[str] = set()
        self._last: deque[str] = deque(maxlen=SLOTS)
        self.is_over = asyncio.Event()

    def expect(self, run_ids: Iterable[str]) -> None:
        """Count these, and nothing that stood in the database before."""
        self._expected.update(run_ids)

    def count(self, run_id: str) -> None:
        if run_id not in self._expected:
            return
        self._expected.remove(run_id)
        self._last.append(run_id)
        if not self._expected:
            self.is_over.set()

    def last(self) -> list[str]:
        """Some of those that ended last, the very last among them."""
        return [*self._last][::-EVERY]


async def steps(site: Site, size: int) -> dict[str, float]:
    """Runs of ten steps that wait when the worker begins."""
    app, tally = site.app(), Tally()

    @app.workflow
    async def ten_steps(ctx: Context, number: int) -> int:
        for step in range(STEPS):
            await ctx.step(noop, step)
        tally.count(ctx.run_id)
        return number

    async with site.opened(app):
        handles = await start_all(app, [call(ten_steps, number) for number in range(size)])
        return await _executed(app, handles, tally, count=size * STEPS, what="steps")


async def drain(site: Site, size: int) -> dict[str, float]:
    """Runs without steps that wait when the worker begins."""
    app, tally = site.app(), Tally()

    @app.workflow
    async def nothing(ctx: Context, number: int) -> int:
        tally.count(ctx.run_id)
        return number

    async with site.opened(app):
        handles = await start_all(app, [call(nothing, number) for number in range(size)])
        return await _executed(app, handles, tally, count=size, what="runs")


async def starts_each(site: Site, size: int) -> dict[str, float]:
    """Starts by a call each, all at the same time; nobody executes them."""
    app = site.app()

    @app.workflow
    async def nothing(ctx: Context, number: int) -> int:
        return number

    async with site.opened(app):
        stopwatch = Stopwatch()
        await asyncio.gather(*[app.start(nothing, number) for number in range(size)])
        return stopwatch.rates(size, what="starts")


async def starts_batch(site: Site, size: int) -> dict[str, float]:
    """Starts by one call for all of them; nobody executes them."""
    app = site.app()

    @app.workflow
    async def nothing(ctx: Context, number: int) -> int:
        return number

    async with site.opened(app):
        calls = [call(nothing, number) for number in range(size)]
        stopwatch = Stopwatch()
        await start_all(app, calls)
        return stopwatch.rates(size, what="starts")


async def raw(site: Site, size: int) -> dict[str, float]:
    """The bare store: commits of one row one after the other, then groups of rows."""
    groups = max(1, round(size * GROUPS_PER_COMMIT))
    async with site.bare() as bare:
        took = []
        for _ in range(size):
            began = CLOCK.monotonic()
            await bare.commit()
            took.append(CLOCK.monotonic() - began)
        began = CLOCK.monotonic()
        for _ in range(groups):
            await bare.commit_group(GROUP)
        passed = CLOCK.monotonic() - began
    return {
        "commits_per_second": size * SECOND / sum(took),
        "commit_ms": statistics.median(took) / MILLISECOND,
        "rows_per_second": groups * GROUP * SECOND / passed,
    }


async def start_all(app: App, calls: Sequence[Call[int]]) -> list[Handle[int]]:
    """Start them with as few calls as allowed."""
    handles: list[Handle[int]] = []
    for first in range(0, len(calls), MAX_CALLS):
        handles += await app.start_many(calls[first : first + MAX_CALLS])
    return handles


async def _executed(
    app: App, handles: Sequence[Handle[Any]], tally: Tally, *, count: int, what: str
) -> dict[str, float]:
    """From the begin of the worker to the last result; then every result is looked at."""
    by_id = {handle.id: handle for handle in handles}
    tally.expect(by_id)
    stopwatch = Stopwatch()
    async with app.worker(slots=SLOTS):
        await tally.is_over.wait()
        await asyncio.gather(*[by_id[run_id].result() for run_id in tally.last()])
        rates = stopwatch.rates(count, what=what)
        results = await asyncio.gather(*[handle.result() for handle in handles])
    if results != [*range(len(handles))]:
        raise BenchFailed("Some runs ended with another result than they should. Nothing is reported.")
    return rates
