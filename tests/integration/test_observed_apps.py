"""Does an app tell what it was told to tell: by settings, on its port, and for what no worker does?"""

from __future__ import annotations

import asyncio
import socket
import urllib.request

import pytest
from prometheus_client import CollectorRegistry

import windlass
from tests.integration.conftest import eventually
from tests.programs import nothing, returns, sleeps
from windlass import Context
from windlass.errors import InvalidInput
from windlass.settings import Settings
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

MEMORY = "sqlite:///:memory:"


@pytest.fixture
def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def read(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        return str(answer.read().decode())


async def test_a_port_in_the_settings_shows_what_the_worker_does(free_port: int) -> None:
    app = windlass.App(MEMORY, namespace="on_a_port", settings=Settings(metrics_port=free_port))
    order = app.workflow(name="order")(nothing)

    async with app, app.worker():
        handle = await app.start(order)
        await handle.result()
        text = await asyncio.to_thread(read, free_port)

    assert 'windlass_runs_claimed_total{namespace="on_a_port",queue="default",workflow="order"} 1.0' in text


async def test_an_app_that_only_asks_opens_no_port(free_port: int) -> None:
    app = windlass.App(MEMORY, settings=Settings(metrics_port=free_port, traces=True))

    async with app:
        with socket.socket() as asking:
            assert asking.connect_ex(("127.0.0.1", free_port)) != 0


def test_a_script_runs_beside_a_worker_that_has_the_port(free_port: int) -> None:
    app = windlass.App(MEMORY, namespace="script", settings=Settings(metrics_port=free_port))
    order = app.workflow(returns(7))

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port))
        taken.listen()
        assert app.run(order) == 7


async def test_a_worker_is_refused_a_port_that_is_taken(free_port: int) -> None:
    app = windlass.App(MEMORY, settings=Settings(metrics_port=free_port))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port))
        taken.listen()
        async with app:
            with pytest.raises(InvalidInput, match="WINDLASS_METRICS_PORT"):
                async with app.worker():
                    raise AssertionError("it was not refused")


async def test_a_harness_leaves_the_port_of_the_program_alone(free_port: int) -> None:
    app = windlass.App(MEMORY, settings=Settings(metrics_port=free_port))
    order = app.workflow(returns(7))

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port))
        taken.listen()
        async with Harness(app=app) as harness:
            assert await harness.run(order) == 7


async def test_what_the_coordinator_does_is_counted(clock: FakeClock, give_up: None) -> None:
    registry = CollectorRegistry()

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"windlass_{name}", labels)

    async with Harness(clock=clock, metrics=registry) as harness:
        app = harness.app
        forgotten = app.workflow(name="forgotten", timeout="1m", queue="elsewhere")(nothing)
        held = app.workflow(name="held")(sleeps("1d"))
        await harness.start(forgotten)
        cancelled = await harness.start(held)
        await harness.until(cancelled, "sleeping")
        await cancelled.cancel()
        await harness.advance("2m")

        async def has_expired() -> bool:
            await harness.advance("5s")  # until the coordinator looks again
            return bool(value("coordinator_duty_rows_total", duty="expire_runs"))

        await eventually(has_expired, what="the run nobody comes for has expired")

    assert value("runs_ended_total", namespace="default", workflow="held", status="cancelled") == 1
    assert value("runs_ended_total", namespace="default", workflow="forgotten", status="failed") == 1
    assert value("coordinator_duty_rows_total", duty="expire_runs") == 1
    assert value("coordinator_duty_failures_total", duty="expire_runs") == 0


async def test_schedules_are_counted(clock: FakeClock) -> None:
    registry = CollectorRegistry()
    harness = Harness(clock=clock, metrics=registry)

    @harness.app.schedule(every="1h")
    async def report(ctx: Context) -> None: ...

    async with harness:
        for _ in range(3):
            await harness.advance("1h")

    labels = {"namespace": "default", "schedule": "report"}
    assert registry.get_sample_value("windlass_schedules_fired_total", labels) == 3
    assert registry.get_sample_value("windlass_schedule_lateness_seconds_count", {"namespace": "default"}) == 3
