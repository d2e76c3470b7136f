"""What processes do beside each other: some execute runs, others send to them, cancel them, pause their queue.

    serve      a worker of every workflow below; SIGTERM makes it leave in order
    send       start runs under keys, and send three events to each
    cancel     start runs under keys, and cancel most of them, sooner or later
    toggle     start runs, while their queue is paused and resumed
    families   start runs that start others

Clients end by themselves when they have been answered. Two with the same arguments ask the same, word by word.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import windlass
from tests.invariants.claims import WORKER
from tests.lives.clients import Client
from tests.lives.journal import Event, Journal
from tests.lives.journalled_work import JournalledWork
from tests.lives.shared_journal import SharedJournal, read_shared_journal
from windlass.app import App
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock
from windlass.settings import Settings

SLOTS = 8  # fewer than there are runs at once, so that a worker whose slots are taken leaves some to the other
AT_ONCE = 16  # runs that one client cares for at a time
PARTS = 4  # children of one map
LATE, NEVER = 3, 4  # of so many runs in a row, one is cancelled before it can begin, and one when it is over
LOOK_EVERY = 0.002  # seconds
TURNS = 5  # of pausing and resuming

Care = Callable[["Beside", int], Awaitable[None]]


class Beside:
    """One process with its app: what it declares, and the client it asks through."""

    def __init__(self, app: App, journal: Journal) -> None:
        self.app, self.journal = app, journal
        self.client = Client(app, journal)
        self.noted = app.event("noted", int)
        self.workflows: dict[str, Any] = {}
        declare(self)


def declare(beside: Beside) -> None:
    app, journal, noted = beside.app, beside.journal, beside.noted

    async def count(number: int) -> int:
        with journal.body():
            return number + 1

    @app.workflow(name="listener")
    async def listener(ctx: windlass.Context, number: int) -> list[int]:
        first = await ctx.receive(noted)
        await ctx.step(count, number)
        return [first, *await asyncio.gather(ctx.receive(noted), ctx.receive(noted))]

    @app.workflow(name="counter")
    async def counter(ctx: windlass.Context, number: int) -> int:
        return await ctx.step(count, await ctx.step(count, number))

    async def meet(number: int) -> int:
        """Over once two workers have claimed something: one alone fills its slots and leaves the rest to the other."""
        with journal.body():
            while len(claimers(journal.path)) < 2:  # noqa: ASYNC110 - the other process has no event to set here
                await asyncio.sleep(LOOK_EVERY)
            return number + 1

    @app.workflow(name="part")
    async def part(ctx: windlass.Context, number: int) -> int:
        return await ctx.step(meet, number)

    @app.workflow(name="parent")
    async def parent(ctx: windlass.Context, number: int) -> list[int]:
        parts = await ctx.map(part, range(number, number + PARTS))
        return [*parts, *await asyncio.gather(ctx.run(part, 0, key="one"), ctx.run(part, 1, key="two"))]

    beside.workflows.update(listener=listener, counter=counter, parent=parent)


def claimers(journal: Path) -> set[str]:
    """The workers that have claimed something so far."""
    return {line.who for line in read_shared_journal(journal) if line.event is Event.CLAIMED}


def run(main: Callable[[Beside], Awaitable[None]], *, url: str, journal: str, number: int) -> None:
    async def opened() -> None:
        notes = SharedJournal(Path(journal), number=number, clock=SystemClock())
        settings = Settings(visibility_for=Duration(300 * SECOND), poll_for=Duration(SECOND))
        async with App(url, settings=settings) as app:
            await main(Beside(app, notes))

    asyncio.run(opened())


def told_to_leave() -> asyncio.Event:
    """Set by SIGTERM, also by one that came before anyone could hear it: the nursery starts us with it blocked."""
    leave = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    return leave


def serve(*, url: str, journal: str, number: int) -> None:
    async def main(beside: Beside) -> None:
        leave, opened = told_to_leave(), await beside.app._opening.get()
        opened.work = JournalledWork(opened.work, beside.journal, who=WORKER)
        async with beside.app.worker(slots=SLOTS):
            await leave.wait()

    run(main, url=url, journal=journal, number=number)


async def each(beside: Beside, runs: int, care: Care) -> None:
    """Care for every run, a few at a time."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(item: int) -> None:
        async with free:
            await care(beside, item)

    async with asyncio.TaskGroup() as group:
        for item in range(runs):
            group.create_task(one(item))


def send(*, url: str, journal: str, number: int, runs: int) -> None:
    async def care(beside: Beside, item: int) -> None:
        handle = await beside.client.start(beside.workflows["listener"], item, key=f"listener-{item}")
        for place in range(3):
            # A worker is at it, and about to park it, or has done so; of some runs it is certain that it has.
            too_early = ("pending", "running") if item % 10 == 0 == place else ("pending",)
            while await handle.status() in too_early:  # noqa: ASYNC110 - the status of a run has no event
                await asyncio.sleep(LOOK_EVERY)
            await beside.client.send(handle, beside.noted, place, id=f"noted-{place}")

    run(lambda beside: each(beside, runs, care), url=url, journal=journal, number=number)


def cancel(*, url: str, journal: str, number: int, runs: int) -> None:
    async def care(beside: Beside, item: int) -> None:
        options = {"delay": "1h"} if item % NEVER == 0 else {}
        handle = await beside.client.start(beside.workflows["counter"], item, key=f"counter-{item}", **options)
        if item % NEVER == LATE:
            await handle.result()
        await asyncio.sleep(item % 7 / 500)
        await beside.client.cancel(handle, by=f"client {number}")

    run(lambda beside: each(beside, runs, care), url=url, journal=journal, number=number)


def toggle(*, url: str, journal: str, number: int, runs: int) -> None:
    async def main(beside: Beside) -> None:
        async def ask(first: int, last: int) -> None:
            for item in range(number * runs + first, number * runs + last):
                await beside.client.start(beside.workflows["counter"], item, key=f"counter-{item}")

        for turn in range(TURNS):
            half = runs // TURNS // 2
            first = turn * 2 * half
            await asyncio.gather(
                ask(first, first + half), beside.client.pause_queue("default", by=f"{number} pauses {turn}")
            )
            await asyncio.gather(
                ask(first + half, first + 2 * half),
                beside.client.resume_queue("default", by=f"{number} resumes {turn}"),
            )

    run(main, url=url, journal=journal, number=number)


def families(*, url: str, journal: str, number: int, runs: int) -> None:
    async def care(beside: Beside, item: int) -> None:
        await beside.client.start(beside.workflows["parent"], item, key=f"parent-{item}")

    run(lambda beside: each(beside, runs, care), url=url, journal=journal, number=number)


ENTRIES: dict[str, Callable[..., int | None]] = {
    "serve": serve,
    "send": send,
    "cancel": cancel,
    "toggle": toggle,
    "families": families,
}
