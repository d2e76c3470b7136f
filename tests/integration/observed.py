"""An app whose worker is observed, on SQLite in memory and on a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler
from prometheus_client import CollectorRegistry, generate_latest

from windlass.telemetry.guarded import GuardedObserver
from windlass.telemetry.metrics import Metrics
from windlass.telemetry.observer import Observer
from windlass.telemetry.traces import Traces
from windlass.testing.harness import Harness
from windlass.worker.worker import Worker


@asynccontextmanager
async def observed(harness: Harness, *observers: Observer, slots: int = 10) -> AsyncIterator[Worker]:
    """A worker of this app, beside any other it has."""
    app, known = harness.app, set(harness.app._workers)
    app._telemetry._observer = GuardedObserver(observers)  # as if settings had switched it on
    working = app.worker(slots=slots)
    await working.__aenter__()
    harness._has_worker = True  # so that it waits for what this worker has to do
    try:
        (worker,) = set(app._workers) - known
        yield worker
    finally:
        await working.__aexit__(None, None, None)


class Counted:
    """Metrics in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.observer = Metrics(self.registry)

    def value(self, name: str, **labels: str) -> float | None:
        """Of one series, the namespace being the only one; None if there is none."""
        found = self.registry.get_sample_value(f"windlass_{name}", {"namespace": "default", **labels})
        return found

    def text(self) -> str:
        return generate_latest(self.registry).decode()


class Traced:
    """Spans in memory, in the order in which they ended."""

    def __init__(self, *, sampler: Sampler | None = None) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.observer = Traces(self.provider)
        self.tracer = self.provider.get_tracer("the program")

    def spans(self, beginning: str = "") -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name.startswith(beginning)]

    def names(self) -> list[str]:
        return [span.name for span in self.spans()]

    def text(self) -> str:
        return "\n".join(span.to_json() for span in self.spans())


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def is_child(span: ReadableSpan, parent: ReadableSpan) -> bool:
    within = span.parent
    return within is not None and (within.trace_id, within.span_id) == (parent.context.trace_id, parent.context.span_id)
