"""Is nothing told unless it is switched on, and is what is missing named in one line?"""

from __future__ import annotations

import sys
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from windlass.errors import InvalidInput
from windlass.telemetry.switch import Telemetry, serve_metrics


def telemetry(*, port: int | None = None, traces: bool = False, registry: Any = None) -> Telemetry:
    return Telemetry(metrics_port=port, metrics_host="127.0.0.1", traces=traces, registry=registry)


def hide(monkeypatch: pytest.MonkeyPatch, package: str, module: str) -> None:
    """As if the extra were not installed."""
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"windlass.telemetry.{module}", raising=False)


def test_nothing_is_told_unless_it_is_switched_on() -> None:
    assert telemetry().observer() is None


@pytest.mark.parametrize("on", [{"port": 9464}, {"traces": True}, {"port": 9464, "traces": True}])
def test_what_is_switched_on_is_told_to_one_observer(on: dict[str, Any]) -> None:
    switch = telemetry(**on)

    assert switch.observer() is not None
    assert switch.observer() is switch.observer()


def test_a_program_may_give_the_registry_to_count_into() -> None:
    registry = CollectorRegistry()
    observer = telemetry(registry=registry).observer()

    assert observer is not None
    observer.duty("prune", seconds=1, count=1, failed=False)
    assert registry.get_sample_value("windlass_coordinator_duty_rows_total", {"duty": "prune"}) == 1


def test_what_is_no_registry_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"prometheus_client\.CollectorRegistry, not bool"):
        telemetry(registry=True).observer()


def test_metrics_without_their_extra_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "prometheus_client", "metrics")

    for call in (telemetry(port=9464).observer, lambda: serve_metrics("127.0.0.1", 0)):
        with pytest.raises(InvalidInput) as refused:
            call()
        assert "pip install 'windlass[metrics]'" in str(refused.value) and "\n" not in str(refused.value)
        assert refused.value.path == "metrics.port"


def test_traces_without_their_extra_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "opentelemetry", "traces")

    with pytest.raises(InvalidInput, match=r"pip install 'windlass\[telemetry\]'"):
        telemetry(traces=True).observer()


def test_the_package_itself_needs_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "opentelemetry", "traces")
    hide(monkeypatch, "prometheus_client", "metrics")

    assert telemetry().observer() is None
