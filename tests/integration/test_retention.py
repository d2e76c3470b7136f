"""Do runs go when they are old enough, beside a worker; and what does somebody read who asks for one that has gone?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.given import engine_on
from tests.conformance.test_retention import prune
from tests.integration.conftest import PATIENCE, OpenHarness
from tests.programs import echo, nothing, sleeps
from windlass import App, Context, Handle, NotFound, RunFailed
from windlass.model.time import DAY, HOUR, Duration
from windlass.settings import Settings
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

KEPT = Settings(keep_for=Duration(30 * DAY))


async def until_gone(harness: Harness, handle: Handle[Any]) -> str:
    """What is said about it, once the coordinator beside the worker has had its turn."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await handle.status()
            except NotFound as error:
                return str(error)
            harness.clock.advance("5s")
            await harness.idle()


@pytest.mark.spec("invariants:I-64")
async def test_a_coordinator_beside_the_worker_removes_what_is_old_enough(open_harness: OpenHarness) -> None:
    harness = await open_harness(settings=KEPT)
    order = harness.app.workflow(echo)
    ping = harness.app.workflow(keep="1h")(nothing)
    old, short = await harness.start(order, 1), await harness.start(ping)
    await harness.idle()
    await harness.advance(HOUR)
    await until_gone(harness, short)
    assert await old.result() == 1

    await harness.advance(30 * DAY)

    assert await until_gone(harness, old) == (
        f"run {old.id!r} does not exist. If it did once, it was removed: it had ended longer ago than runs are kept."
    )


@pytest.mark.spec("invariants:I-64", "security:42")
async def test_a_key_whose_run_has_gone_creates_nothing_and_says_so(open_harness: OpenHarness) -> None:
    harness = await open_harness(settings=KEPT)
    order = harness.app.workflow(echo)
    first = await harness.start(order, 1, key="order-1")
    await harness.idle()
    await harness.advance(30 * DAY)
    await until_gone(harness, first)

    again = await harness.start(order, 1, key="order-1")

    assert again.id == first.id
    for ask in (again.result(), again.status(), again.retry(), again.cancel(), again.explain()):
        with pytest.raises(NotFound, match="it was removed: it had ended longer ago than runs are kept"):
            await ask
    with pytest.raises(NotFound, match=f"'order-1' does not exist. It was {first.id}, which was removed"):
        await harness.app.handle(order, key="order-1").result()


def test_a_program_that_runs_a_key_whose_run_has_gone_reads_so(tmp_path: Path) -> None:
    path, clock = str(tmp_path / "windlass.db"), FakeClock()

    async def order(ctx: Context, number: int) -> int:
        return number

    def shop() -> App:
        app = App(path, settings=Settings(), _clock=clock)
        app.workflow(order)
        return app

    async def remove() -> None:
        store = SqliteStore(path, clock=clock)
        await store.open()
        clock.advance(DAY)
        assert await prune(engine_on(store, clock), keep_for=DAY) == 1
        await store.close()

    assert shop().run(order, 1, key="order-1") == 1
    asyncio.run(remove())

    with pytest.raises(NotFound, match="it was removed: it had ended longer ago than runs are kept"):
        shop().run(order, 1, key="order-1")


async def test_a_run_that_nobody_serves_ends_by_its_time_out(harness: Harness) -> None:
    order = harness.app.workflow(nothing)
    handle = await harness.start(order, queue="nobody", timeout="1h")
    await harness.advance(HOUR)
    async with asyncio.timeout(PATIENCE):
        while not (await handle.status()).is_terminal:
            harness.clock.advance("5s")
            await harness.idle()

    with pytest.raises(RunFailed, match="did not end within its time-out") as failed:
        await handle.result()
    assert failed.value.kind == "timeout"
    assert "its time-out. Nobody had come for it." in await handle.explain()


async def test_a_paused_run_ends_by_its_time_out(harness: Harness) -> None:
    order = harness.app.workflow(sleeps("7d"))
    handle = await harness.start(order, timeout="1h")
    await harness.idle()
    await handle.pause()
    await harness.advance(HOUR)
    async with asyncio.timeout(PATIENCE):
        while not (await handle.status()).is_terminal:
            harness.clock.advance("5s")
            await harness.idle()

    with pytest.raises(RunFailed, match="time-out"):
        await handle.result()
