"""How long does a claim take that finds nothing, and one that finds more than it asks for?

    python -m bench.claims empty --db URL       the engine's claim that does not wait, and the same asked by a worker
    python -m bench.claims hundred --db URL     100 at a time, as long as there are some

The database is used as it is; one line of JSON, like the programs it is measured beside.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from bench.load import nothing
from bench.peers.protocol import Answer, answer
from windlass.api.service import Work
from windlass.app import App
from windlass.bench.durable import read_back
from windlass.embedded import Embedded
from windlass.model.commands import ClaimedRun, ClaimRuns, RegisterWorker
from windlass.model.run import WorkerId
from windlass.model.time import SECOND, Duration
from windlass.model.worker import Served
from windlass.settings import Settings

SERVED = (Served("default", "nothing"),)
HUNDRED = 100
WARM_UP = 5


class TimedWork:
    """A worker's door: its first claims do not wait, and are timed; then it is the door it was."""

    def __init__(self, work: Work, *, size: int) -> None:
        self._work, self._left = work, size + WARM_UP
        self.took: list[float] = []
        self.is_done = asyncio.Event()

    async def claim_runs(self, command: ClaimRuns) -> list[ClaimedRun]:
        if not self._left:
            self.is_done.set()
            return await self._work.claim_runs(command)
        self._left -= 1
        began = time.perf_counter()
        claimed = await self._work.claim_runs(replace(command, wait_for=Duration(0)))
        self.took.append(time.perf_counter() - began)
        return claimed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)


async def empty(url: str, size: int) -> Answer:
    """Nothing may be due here for the workflow `nothing`."""
    async with make_app(url) as app:
        opened = await app._opening.get()
        took, claimed = [], 0
        async with claiming(opened) as claim:
            for _ in range(size + WARM_UP):
                began = time.perf_counter()
                claimed += len(await claim())
                took.append(time.perf_counter() - began)
        timed = TimedWork(opened.work, size=size)
        opened.work = timed
        async with app.worker():
            await timed.is_done.wait()
        assert not claimed, f"{claimed} runs were due"
        return Answer({"empty_ms": middle(took), "poll_ms": middle(timed.took)}, await read_back(app))


async def hundred(url: str, size: int) -> Answer:
    """At least a hundred times `size` runs of `nothing` must be due here."""
    async with make_app(url) as app:
        took = []
        async with claiming(await app._opening.get()) as claim:
            for _ in range(size + WARM_UP):
                began = time.perf_counter()
                claimed = await claim()
                took.append(time.perf_counter() - began)
                assert len(claimed) == HUNDRED, f"{len(claimed)} runs were due"
        return Answer({"hundred_ms": middle(took)}, await read_back(app))


def make_app(url: str) -> App:
    app = App(url, settings=Settings())
    app.workflow(nothing)
    return app


@asynccontextmanager
async def claiming(opened: Embedded) -> AsyncIterator[Callable[[], Awaitable[list[ClaimedRun]]]]:
    """A claim of a hundred that does not wait, in the name of a worker that is there for the block."""
    worker, polls = WorkerId(opened.ids.worker()), 0
    await opened.work.register_worker(
        RegisterWorker(namespace="default", id=worker, host="bench", pid=0, served=SERVED, slots=HUNDRED)
    )

    async def claim() -> list[ClaimedRun]:
        nonlocal polls
        polls += 1
        return await opened.work.claim_runs(
            ClaimRuns(
                namespace="default",
                worker=worker,
                poll=polls,
                served=SERVED,
                limit=HUNDRED,
                visibility_for=Duration(300 * SECOND),
                wait_for=Duration(0),
            )
        )

    try:
        yield claim
    finally:
        await opened.work.deregister_worker("default", worker)


def middle(took: list[float]) -> float:
    """In milliseconds, without the first ones."""
    return statistics.median(took[WARM_UP:]) * 1_000


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    answer(
        {
            "empty": lambda url, size: asyncio.run(empty(url, size)),
            "hundred": lambda url, size: asyncio.run(hundred(url, size)),
        },
        size=100,
    )
