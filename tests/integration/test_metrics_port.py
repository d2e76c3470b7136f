"""Are metrics answered on their port while a worker is there, to this machine only, and is a taken port named?"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from windlass.errors import InvalidInput
from windlass.model.run import RunStatus
from windlass.telemetry.metrics import Metrics
from windlass.telemetry.switch import Telemetry, serve_metrics

LOOPBACK = "127.0.0.1"


def read(port: int) -> str:
    with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=60) as answer:
        return str(answer.read().decode())


def is_open(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex((LOOPBACK, port)) == 0


@pytest.fixture
def free_port() -> int:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        yield taken.getsockname()[1]


def test_a_port_answers_with_the_registry() -> None:
    registry = CollectorRegistry()
    Metrics(registry).run_ended(namespace="default", workflow="order", status=RunStatus.COMPLETED)

    served = serve_metrics(LOOPBACK, 0, registry=registry)
    try:
        text = read(served.port)
    finally:
        served.close()

    assert 'windlass_runs_ended_total{namespace="default",status="completed",workflow="order"} 1.0' in text
    assert not is_open(served.port)


async def test_two_apps_of_a_process_share_a_port_until_both_are_done(free_port: int) -> None:
    one, other = (Telemetry(metrics_port=free_port, metrics_host=LOOPBACK, traces=False) for _ in range(2))

    async with one.serving():
        async with other.serving():
            assert "# HELP" in await asyncio.to_thread(read, free_port)
        assert is_open(free_port)
    assert not is_open(free_port)

    async with one.serving():  # an app may be opened again
        assert is_open(free_port)


async def test_two_registries_cannot_have_one_port(free_port: int) -> None:
    one, other = (
        Telemetry(metrics_port=free_port, metrics_host=LOOPBACK, traces=False, registry=CollectorRegistry())
        for _ in range(2)
    )

    async with one.serving():
        with pytest.raises(InvalidInput, match="is in use"):
            async with other.serving():
                raise AssertionError("it was not refused")


async def test_an_app_without_a_port_opens_none() -> None:
    threads = threading.active_count()

    async with Telemetry(metrics_port=None, metrics_host=LOOPBACK, traces=True, registry=CollectorRegistry()).serving():
        assert threading.active_count() == threads


async def test_a_taken_port_is_refused_in_one_line_that_names_the_setting(taken_port: int) -> None:
    telemetry = Telemetry(metrics_port=taken_port, metrics_host=LOOPBACK, traces=False)

    with pytest.raises(InvalidInput) as refused:
        async with telemetry.serving():
            raise AssertionError("it was not refused")

    message = str(refused.value)
    assert "\n" not in message
    assert f"Port {taken_port} of {LOOPBACK} for metrics is in use" in message and "WINDLASS_METRICS_PORT" in message


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_that_is_not_ours_is_refused_in_one_line(host: str) -> None:
    with pytest.raises(InvalidInput, match=r"metrics\.host"):
        serve_metrics(host, 0)


def test_a_port_for_everyone_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        serve_metrics("0.0.0.0", 0, registry=CollectorRegistry()).close()

    assert "without a password" in caplog.text
