"""What was counted, as text: for a server that shows it on a path of its own."""

from __future__ import annotations

from windlass.telemetry.switch import MetricsRegistry


def make_registry() -> MetricsRegistry | None:
    """Where to count into; None if prometheus-client is not installed."""
    try:
        from prometheus_client import CollectorRegistry
    except ImportError:
        return None
    return CollectorRegistry()


def read(registry: MetricsRegistry) -> bytes:
    """The metrics in the text format of Prometheus."""
    from prometheus_client import generate_latest

    return generate_latest(registry)
