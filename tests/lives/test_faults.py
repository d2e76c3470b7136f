"""Does a fault happen where it was asked for, and is it a death and not a goodbye?"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.lives.faults import Faults, Moment, Point, suppress_wakeups
from windlass.model.commands import RegisterWorker
from windlass.model.run import WorkerId
from windlass.store.base import Tx
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness


def registration(name: str) -> RegisterWorker:
    return RegisterWorker(namespace="default", id=WorkerId(name), host="h", pid=1, served=(), slots=1)


async def opened(path: Path, faults: Faults | None = None) -> SqliteStore:
    store = SqliteStore(str(path), clock=FakeClock(), hooks=faults)
    await store.open()
    if faults is not None:
        faults.arm(store)
    return store


async def live_workers(path: Path) -> list[str]:
    store = await opened(path)
    try:
        return [worker.id for worker in await store.read("live", lambda tx: tx.workers.live("default"))]
    finally:
        await store.close()


async def write(store: SqliteStore, name: str) -> None:
    async def register(tx: Tx) -> None:
        await tx.workers.register(registration(name))

    await store.run_tx("register_worker", register)


async def test_points_are_named_in_the_order_they_are_reached(tmp_path: Path) -> None:
    faults = Faults()
    store = await opened(tmp_path / "windlass.db", faults)

    await write(store, "wrk_1")
    await write(store, "wrk_2")
    await store.close()

    assert faults.points == [Point("register_worker", moment, time) for time in (1, 2) for moment in Moment]
    assert faults.crashed is None


@pytest.mark.parametrize(
    ("moment", "survivors"),
    [
        (Moment.BEFORE_BEGIN, ["wrk_1"]),
        (Moment.BEFORE_COMMIT, ["wrk_1"]),
        (Moment.AFTER_COMMIT, ["wrk_2", "wrk_1"]),
    ],
)
async def test_a_death_keeps_what_was_committed_and_nothing_else(
    tmp_path: Path, moment: Moment, survivors: list[str]
) -> None:
    path = tmp_path / "windlass.db"
    loop, dead = asyncio.get_running_loop(), asyncio.Event()
    deaths: list[Point] = []

    def on_crash(point: Point) -> None:
        deaths.append(point)
        loop.call_soon_threadsafe(dead.set)

    point = Point("register_worker", moment, 2)
    faults = Faults(crash_at=point, on_crash=on_crash)
    store = await opened(path, faults)
    await write(store, "wrk_1")

    dying = asyncio.create_task(write(store, "wrk_2"))
    await dead.wait()
    late = asyncio.create_task(write(store, "wrk_3"))
    await asyncio.wait([dying, late], timeout=0.05)

    assert (dying.done(), late.done()) == (False, False)  # no answer, now or later
    assert (deaths, faults.crashed) == ([point], point)
    assert sorted(await live_workers(path)) == sorted(survivors)
    dying.cancel()
    late.cancel()


async def test_work_is_done_though_every_wakeup_is_lost() -> None:
    async with Harness() as harness:

        @harness.app.workflow(name="greet")
        async def greet(ctx: object, name: str) -> str:
            return f"hello {name}"

        suppress_wakeups(harness.opened.engine)

        handle = await harness.start(greet, "you")
        await harness.advance("5s")  # one poll

        assert await handle.status() == "completed"
