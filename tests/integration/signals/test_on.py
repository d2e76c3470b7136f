"""Signals that stand in the code of a program: entered with its worker, and taken back when they leave the code."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import windlass
from tests.integration.conftest import OpenHarness, eventually
from tests.programs import returns
from windlass.settings import Settings
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness


def declare(app: windlass.App, seen: list[Any], *, enters: Any = "failed", has_signal: bool = True) -> Any:
    @app.workflow
    async def order(ctx: windlass.Context, id: str) -> str:
        if id == "bad":
            raise windlass.StepError("declined")
        return id

    async def page(ctx: windlass.Context, firing: windlass.Firing) -> None:
        seen.append(firing.subject_id)

    if has_signal:
        app.on(order, enters=enters)(page)
    else:
        app.workflow(page)
    return order


async def test_every_run_that_fails_starts_one_that_follows(open_harness: OpenHarness) -> None:
    app, seen = windlass.App(":memory:", settings=Settings()), list[str]()
    order = declare(app, seen)
    harness = await open_harness(app=app)

    runs = [await harness.start(order, id) for id in ("bad", "good", "bad")]
    await harness.idle()

    (info,) = await harness.app.signals.list()
    assert sorted(seen) == sorted([runs[0].id, runs[2].id])
    assert (info.watches, info.does) == ("when a run of 'order' enters failed", "start 'page'")
    assert (info.status, info.fired, info.is_declared, info.declared_in is not None) == ("armed", 2, True, True)


async def test_every_work_item_may_be_watched(open_harness: OpenHarness) -> None:
    app, seen = windlass.App(":memory:", settings=Settings()), list[tuple[str, str]]()

    @app.on(windlass.Item, enters={"blocked", "failed"}, repeat=True)
    async def help(ctx: windlass.Context, firing: windlass.Firing) -> None:
        seen.append((firing.subject_id, firing.to_status))

    harness = await open_harness(app=app)
    items = [await harness.app.items.create(title) for title in ("one", "two")]
    for item in items:
        for state in ("ready", "doing", "blocked", "doing"):
            await item.move(state)
    await items[0].move("failed")
    await harness.idle()

    assert sorted(seen) == sorted([(items[0].id, "blocked"), (items[1].id, "blocked"), (items[0].id, "failed")])


async def test_what_was_declared_later_is_entered_at_once(open_harness: OpenHarness) -> None:
    harness, seen = await open_harness(), list[str]()

    order = declare(harness.app, seen)

    async def is_entered() -> bool:
        return len(await harness.app.signals.list()) == 1

    await eventually(is_entered, what="the signal")
    run = await harness.start(order, "bad")
    await harness.idle()
    assert seen == [run.id]


async def test_what_is_taken_out_of_the_code_is_paused_and_comes_back_with_it(shared_url: str) -> None:
    seen: list[str] = []
    clock = FakeClock()
    first = Harness(shared_url, clock=clock)
    order = declare(first.app, seen)
    async with first:
        await first.start(order, "bad")
        await first.idle()

    without = Harness(shared_url, clock=clock)
    order = declare(without.app, seen, has_signal=False)
    async with without:
        (gone,) = await without.app.signals.list()
        await without.start(order, "bad")
        await without.idle()
        kept = len(seen)

    again = Harness(shared_url, clock=clock)
    order = declare(again.app, seen)
    async with again:
        await again.idle()
        (back,) = await again.app.signals.list()

    assert (gone.status, gone.is_declared) == ("paused", False)
    assert gone.reason is not None and "no longer declared" in gone.reason
    assert kept == 1
    assert (back.status, back.is_declared, back.id) == ("armed", True, gone.id)


async def test_other_states_in_the_code_are_other_states_in_the_database(shared_url: str) -> None:
    seen: list[str] = []
    clock = FakeClock()
    for enters in ("failed", "completed"):
        harness = Harness(shared_url, clock=clock)
        order = declare(harness.app, seen, enters=enters)
        async with harness:
            runs = [await harness.start(order, id) for id in ("bad", "good")]
            await harness.idle()
            (info,) = await harness.app.signals.list()
        assert info.enters == (enters,)

    assert seen[1:] == [runs[1].id]


async def test_a_script_enters_no_signals(shared_url: str) -> None:
    app = windlass.App(shared_url, settings=Settings())
    declare(app, [])
    hello = app.workflow(returns("hello"))

    def run() -> str:
        return app.run(hello)

    assert await asyncio.to_thread(run) == "hello"
    async with windlass.App(shared_url, settings=Settings()) as other:
        assert await other.signals.list() == []


async def test_a_signal_that_chases_itself_comes_to_an_end(
    open_harness: OpenHarness, caplog: pytest.LogCaptureFixture
) -> None:
    app, seen = windlass.App(":memory:", settings=Settings()), list[str]()
    caplog.set_level(logging.CRITICAL, logger="windlass")

    @app.workflow
    async def loop(ctx: windlass.Context, firing: windlass.Firing | None = None) -> None:
        seen.append(ctx.run_id)

    app.on(loop, enters="completed")(loop)
    harness = await open_harness(app=app)
    await harness.start(loop)
    await harness.advance("10m")

    assert 2 <= len(seen) <= 12
