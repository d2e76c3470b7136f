"""Does a run that fails in one process start its follow-up in another, with nothing but wake-ups, and without any?"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import windlass
from tests.processes.children import PATIENCE, Child, Nursery
from tests.processes.database import Database
from tests.processes.following import Program, opened, settings
from windlass.app import App
from windlass.model.page import ListRuns

LOOK_EVERY = 0.02

Main = Callable[[App, Program], Awaitable[None]]

ways = pytest.mark.parametrize("is_silent", [False, True], ids=["by-a-wake-up", "by-the-tick"])


@pytest.mark.spec("signals:16", "signals:20", "invariants:I-47")
@ways
def test_a_signal_on_a_run_that_fails_in_another_process_starts_its_follow_up(
    database: Database, nursery: Nursery, is_silent: bool
) -> None:
    children = [start(nursery, entry, database, is_silent=is_silent) for entry in ("take_orders", "page")]

    async def main(app: App, program: Program) -> None:
        await (await app.start(program.hello)).result()  # it looks after signals by now, and has found none
        order = await app.start(program.order, 7)
        watch = await app.when(order, enters="failed", start=program.page, payload="wake ann")
        await order.send(program.broken, "out of stock")
        (told,) = await follow_ups(app, count=1)

        assert told == {"subject": order.id, "to": "failed", "payload": "wake ann"}
        assert (await watch.status()) == "fired"

    asyncio.run(asking(database, main, is_silent=is_silent))
    assert [child.end(signal.SIGTERM) for child in children] == [0, 0]


@pytest.mark.spec("signals:16", "signals:20")
@ways
def test_what_is_declared_for_every_run_follows_up_on_each_that_fails_in_another_process(
    database: Database, nursery: Nursery, is_silent: bool
) -> None:
    children = [
        start(nursery, entry, database, is_silent=is_silent, declares=True) for entry in ("take_orders", "page")
    ]

    async def main(app: App, program: Program) -> None:
        await (await app.start(program.hello)).result()  # it has declared by now what it wants to know
        begun = [await app.start(program.order, number) for number in range(3)]
        for order in begun:
            await order.send(program.broken, "out of stock")

        told = await follow_ups(app, count=3)
        assert sorted(item["subject"] for item in told) == sorted(order.id for order in begun)

    asyncio.run(asking(database, main, is_silent=is_silent))
    assert [child.end(signal.SIGTERM) for child in children] == [0, 0]


def start(nursery: Nursery, entry: str, database: Database, *, is_silent: bool, declares: bool = False) -> Child:
    return nursery.start(entry, url=database.url, is_silent=is_silent, declares=declares)


async def asking(database: Database, main: Main, *, is_silent: bool) -> None:
    """A third process, as far as the others can tell: it looks after nothing, and executes nothing."""
    async with App(database.url, settings=settings(is_silent=is_silent, coordinates=False)) as app:
        async with asyncio.timeout(PATIENCE):
            await main(app, Program(await opened(app, is_silent=is_silent)))


async def follow_ups(app: App, *, count: int) -> list[dict[str, Any]]:
    """What those that were started have answered. Asked for by looking: whoever waits here is no part of the test."""
    while True:
        page = await (await app._opening.get()).runs.list_runs(ListRuns(namespace="default", limit=500))
        found = [run for run in page.runs if run.name == "page"]
        if len(found) >= count and all(run.status.is_terminal for run in found):
            handles: list[windlass.Handle[dict[str, Any]]] = [app.handle(run.id) for run in found]
            assert len(found) == count
            return [await handle.result() for handle in handles]
        await asyncio.sleep(LOOK_EVERY)
