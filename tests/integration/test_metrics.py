"""Is what workers do counted, under names that programs gave, and nothing of what they were given?"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.integration.observed import Counted, observed
from tests.programs import passes_to, sleeps, steps
from windlass import Context, NextContext, Retry, RunFailed, TopicEvent
from windlass.model.commands import ClaimedRun
from windlass.model.time import Duration
from windlass.settings import Settings
from windlass.telemetry.observer import StepEnd, WorkerWatch
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

SECRET = "hunter2-3141"


@pytest.fixture
async def harness(clock: FakeClock, give_up: None) -> AsyncIterator[Harness]:
    async with Harness(clock=clock, has_worker=False, settings=Settings(grace_for=Duration(0))) as harness:
        yield harness


@pytest.fixture
def counted() -> Counted:
    return Counted()


async def test_runs_and_steps_are_counted_by_how_they_ended(harness: Harness, counted: Counted) -> None:
    tries: list[str] = []

    async def fetch(item: str) -> str:
        tries.append(item)
        if len(tries) == 1:
            raise ConnectionError(f"no answer about {SECRET}")
        return f"{item} {SECRET}"

    def pack(item: str) -> str:
        return item.upper()

    async def refuse(item: str) -> None:
        raise ValueError(SECRET)

    @harness.app.workflow(retry=Retry(2))
    async def order(ctx: Context, item: str) -> str:
        fetched = await ctx.step(fetch, item)
        await ctx.sleep("1h")
        return await ctx.step(pack, fetched, key=f"box {item}")

    @harness.app.workflow(retry=Retry(1))
    async def bad(ctx: Context, item: str) -> None:
        await ctx.step(refuse, item)

    async with observed(harness, counted.observer):
        assert SECRET.upper() in await harness.run(order, SECRET)
        with pytest.raises(RunFailed):
            await harness.run(bad, SECRET)

    value = counted.value
    assert value("runs_claimed_total", workflow="order", queue="default") == 3, "begun, tried again, woken"
    assert value("runs_ended_total", workflow="order", status="completed") == 1
    assert value("runs_ended_total", workflow="order", status="failed") == 0
    assert value("runs_ended_total", workflow="bad", status="failed") == 1
    assert value("runs_left_total", workflow="order", how="parked") == 2
    assert value("run_seconds_count", workflow="order") == 3
    assert value("steps_ended_total", workflow="order", step="fetch", status="failed") == 1
    assert value("steps_ended_total", workflow="order", step="fetch", status="completed") == 1
    assert value("steps_ended_total", workflow="order", step="pack", status="completed") == 1, "by name, and not by key"
    assert value("steps_ended_total", workflow="bad", step="refuse", status="failed") == 1
    assert value("step_seconds_count", workflow="order", step="fetch") == 2
    assert SECRET not in counted.text() and "box" not in counted.text()


async def test_attempts_of_handlers_are_counted_by_how_they_ended(harness: Harness, counted: Counted) -> None:
    app = harness.app
    orders = app.topic("orders", str)

    @app.pipeline("shop").consumer(orders)
    async def pack(ctx: NextContext, events: list[TopicEvent[str]]) -> None:
        if events[0].payload == SECRET:
            raise ValueError(SECRET)

    async with observed(harness, counted.observer):
        await app.publish(orders, "book", id="1")
        await app.publish(orders, SECRET, id="2")
        await harness.idle()

    value = counted.value
    assert value("handlers_ended_total", pipeline="shop", handler="pack", status="committed") == 1
    assert value("handlers_ended_total", pipeline="shop", handler="pack", status="failed:logic") == 1
    assert value("handler_seconds_count", pipeline="shop", handler="pack") == 2
    assert SECRET not in counted.text()


async def test_slots_and_runs_in_them_are_shown_while_they_are_there(harness: Harness, counted: Counted) -> None:
    gate = Gate()
    order = harness.app.workflow(steps(gate.wait))

    async with observed(harness, counted.observer, slots=7), observed(harness, counted.observer, slots=2):
        handle = await harness.start(order)
        await gate.reached()
        during = counted.value("worker_slots"), counted.value("worker_active_runs")
        gate.open()
        await handle.result()
        await harness.idle()
        behind = counted.value("worker_slots"), counted.value("worker_active_runs")

    assert during == (9, 1)
    assert behind == (9, 0)
    assert (counted.value("worker_slots"), counted.value("worker_active_runs")) == (0, 0)


async def test_a_run_waits_from_when_it_is_due_until_it_is_claimed(open_harness: OpenHarness, counted: Counted) -> None:
    harness = await open_harness(has_worker=False)
    order = harness.app.workflow(sleeps("1h"))
    handle = await harness.start(order, delay="10s")
    await harness.advance("15s")
    async with observed(harness, counted.observer):
        await harness.until(handle, "sleeping")
    harness.clock.advance("1h2s")
    async with observed(harness, counted.observer):
        await handle.result()

    assert counted.value("run_wait_seconds_count", queue="default") == 2
    assert counted.value("run_wait_seconds_sum", queue="default") == 5 + 2


async def test_times_are_those_of_the_bodies(harness: Harness, counted: Counted) -> None:
    gate = Gate()
    order = harness.app.workflow(name="order")(steps(gate.wait))

    async with observed(harness, counted.observer):
        handle = await harness.start(order)
        await gate.reached()
        harness.clock.advance("40s")
        gate.open()
        await handle.result()

    assert counted.value("step_seconds_sum", workflow="order", step="wait") == 40
    assert counted.value("step_seconds_bucket", workflow="order", step="wait", le="30.0") == 0
    assert counted.value("step_seconds_bucket", workflow="order", step="wait", le="60.0") == 1
    assert counted.value("run_seconds_sum", workflow="order") == 40


async def test_a_cancelled_run_is_lost_to_its_worker_and_its_step_is_stopped(
    harness: Harness, counted: Counted
) -> None:
    gate = Gate()
    order = harness.app.workflow(name="order")(steps(gate.wait))

    async with observed(harness, counted.observer):
        handle = await harness.start(order)
        await gate.reached()
        await handle.cancel()
        await gate.left()
        await harness.idle()

    assert counted.value("runs_left_total", workflow="order", how="lost") == 1
    assert counted.value("steps_ended_total", workflow="order", step="wait", status="stopped") == 1
    assert counted.value("worker_active_runs") == 0


async def test_a_worker_that_stops_gives_its_runs_back(harness: Harness, counted: Counted) -> None:
    gate = Gate()
    order = harness.app.workflow(name="order")(steps(gate.wait))

    async with observed(harness, counted.observer):
        await harness.start(order)
        await gate.reached()

    assert counted.value("runs_left_total", workflow="order", how="released") == 1
    assert counted.value("steps_ended_total", workflow="order", step="wait", status="stopped") == 1


async def test_a_thread_that_passes_its_time_out_is_counted_once(harness: Harness, counted: Counted) -> None:
    entered, may_end, labels = threading.Event(), threading.Event(), {"workflow": "order", "step": "slow"}

    def slow() -> None:
        entered.set()
        may_end.wait(20)

    order = harness.app.workflow(name="order", retry=Retry(1))(steps(slow, timeout="5s"))

    async with observed(harness, counted.observer):
        handle = await harness.start(order)
        await asyncio.to_thread(entered.wait, 20)
        harness.clock.advance("5s")
        await eventually(lambda: counted.value("steps_ended_total", **labels, status="timed_out") == 1)
        may_end.set()
        with pytest.raises(RunFailed):
            await handle.result()

    ended = {how: counted.value("steps_ended_total", **labels, status=how) for how in StepEnd}
    assert ended == {"completed": 0, "failed": 0, "timed_out": 1, "stopped": 0}


async def test_a_run_given_to_a_person_is_counted(harness: Harness, counted: Counted) -> None:
    items = ["one"]

    def look(item: str) -> str:
        return item

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await ctx.step(look, items[-1])
        await ctx.sleep("1h")

    async with observed(harness, counted.observer):
        handle = await harness.start(order)
        await harness.until(handle, "sleeping")
        items.append("another")
        await harness.until(handle, "paused", within="2h")

    assert counted.value("runs_left_total", workflow="order", how="paused") == 1


class Broken:
    """Fails whatever it is told, from here on."""

    def worker_begins(self, *, namespace: str, worker: str, slots: int) -> WorkerWatch:
        return self

    def run_begins(self, run: ClaimedRun, *, context: object) -> None:
        raise OSError("The exporter is away.")

    def handler_begins(self, *_: object) -> None:
        raise OSError("The exporter is away.")

    def ends(self) -> None:
        raise OSError("The exporter is away.")

    def run_ended(self, **_: object) -> None: ...

    def duty(self, *_: object, **__: object) -> None: ...

    def schedule_fired(self, **_: object) -> None: ...


async def test_an_observer_that_fails_hurts_neither_runs_nor_other_observers(
    harness: Harness, counted: Counted, caplog: pytest.LogCaptureFixture
) -> None:
    def pack(number: int) -> int:
        return number

    order = harness.app.workflow(name="order")(passes_to(pack))

    async with observed(harness, Broken(), counted.observer):
        assert [await harness.run(order, number) for number in range(3)] == [0, 1, 2]

    assert counted.value("runs_ended_total", workflow="order", status="completed") == 3
    complaints = [record.getMessage() for record in caplog.records if record.name == "windlass.telemetry"]
    assert len(complaints) == 2 and "run_begins" in complaints[0] and "ends" in complaints[1]
