"""Is nothing told unless it is switched on, and is what is missing named in one line?"""

from __future__ import annotations

import sys

import pytest

from windlass.errors import InvalidInput
from windlass.telemetry.switch import Telemetry, serve_metrics


def telemetry(*, port: int | None = None, traces: bool = False) -> Telemetry:
    return Telemetry(metrics_port=port, metrics_host="127.0.0.1", traces=traces)


def hide(monkeypatch: pytest.MonkeyPatch, package: str, module: str) -> None:
    """As if the extra were not installed."""
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"windlass.telemetry.{module}", raising=False)


def test_nothing_is_told_unless_it_is_switched_on() -> None:
    assert telemetry().observer() is None


@pytest.mark.parametrize(("port", "traces"), [(0, False), (9464, False), (None, True), (0, True)])
def test_what_is_switched_on_is_told_to_one_observer(port: int | None, traces: bool) -> None:
    switch = telemetry(port=port, traces=traces)

    assert switch.observer() is not None
    assert switch.observer() is switch.observer()


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
