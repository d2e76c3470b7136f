"""What OpenTelemetry is told: a span for each execution of a run, and in it one for each body that was entered.

All executions of a run, on whatever worker and after whatever sleep, belong to one trace: its id follows from the run's
seed. Their common parent is a span that nobody ever records; it is there to carry that id. So with an attempt of a
handler, in whose spans are those of its phases and its effect; there it follows from the id of the attempt.
"""

from __future__ import annotations

import hashlib
import logging
from contextvars import Context
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from windlass.model.commands import ClaimedRun
from windlass.model.pipeline import HandlerStatus
from windlass.model.pipeline_work import ClaimedPipeline, Task
from windlass.model.run import RunStatus
from windlass.model.time import Duration
from windlass.telemetry.observer import Code, CodeKind, Departure, StepEnd

LOGGER = logging.getLogger("windlass.telemetry")
NAME = "windlass"
STEP_ERRORS = frozenset({StepEnd.FAILED, StepEnd.TIMED_OUT})

Attributes = dict[str, str | int]


class Traces:
    """An observer that makes spans, with the program's tracer provider unless another one is given."""

    def __init__(self, provider: trace.TracerProvider | None = None) -> None:
        self._given = provider
        self._current: trace.TracerProvider | None = None
        self._tracer: trace.Tracer = trace.NoOpTracer()

    def worker_begins(self, *, namespace: str, worker: str, slots: int) -> WorkerSpans:
        return WorkerSpans(self, namespace=namespace, worker=worker)

    def run_ended(self, *, namespace: str, workflow: str, status: RunStatus) -> None:
        """No span: nothing was executed."""

    def duty(self, name: str, *, seconds: float, count: int, failed: bool) -> None:
        """No span: a round of a duty belongs to no run."""

    def schedule_fired(self, *, namespace: str, schedule: str, late_for: Duration) -> None:
        """No span: the run it started has its own."""

    def begin(self, name: str, *, seed: str, attributes: Attributes) -> tuple[trace.Tracer, Span]:
        provider, tracer = self._find_tracer()
        parent = parent_of(seed)
        if not _is_wanted(provider, parent, name, attributes):
            parent = parent_of(seed, flags=TraceFlags.DEFAULT)
        within = trace.set_span_in_context(NonRecordingSpan(parent), otel_context.Context())
        return tracer, tracer.start_span(name, within, kind=SpanKind.CONSUMER, attributes=attributes)

    def _find_tracer(self) -> tuple[trace.TracerProvider, trace.Tracer]:
        """Of the provider as it is now: a program may set one after its app was made."""
        provider = trace.get_tracer_provider() if self._given is None else self._given
        if provider is not self._current:
            if isinstance(provider, trace.ProxyTracerProvider):
                LOGGER.warning("Traces are switched on, and no tracer provider is set: spans go nowhere until one is.")
            self._current, self._tracer = provider, provider.get_tracer(NAME)
        return provider, self._tracer


def parent_of(seed: str, *, flags: int = TraceFlags.SAMPLED) -> SpanContext:
    """The same for every execution of a run, and of its retries."""
    digest = hashlib.blake2b(seed.encode(), digest_size=24, person=b"windlass trace").digest()
    trace_id, span_id = int.from_bytes(digest[:16]), int.from_bytes(digest[16:])
    return SpanContext(trace_id or 1, span_id or 1, is_remote=True, trace_flags=TraceFlags(flags))


def _is_wanted(provider: Any, parent: SpanContext, name: str, attributes: Attributes) -> bool:
    """Would this trace be sampled if it began here? A parent that says yes would silence the program's own sampler."""
    sampler = getattr(provider, "sampler", None)  # of the SDK; the API knows no samplers
    if sampler is None:
        return True
    nowhere = otel_context.Context()
    sampled = sampler.should_sample(nowhere, parent.trace_id, name, kind=SpanKind.CONSUMER, attributes=attributes)
    return bool(sampled.decision.is_sampled())


class WorkerSpans:
    def __init__(self, traces: Traces, *, namespace: str, worker: str) -> None:
        self._traces, self._namespace, self._worker = traces, namespace, worker

    def run_begins(self, run: ClaimedRun, *, context: Context) -> RunSpan:
        attributes: Attributes = {
            "windlass.namespace": self._namespace,
            "windlass.run_id": run.run_id,
            "windlass.workflow": run.name,
            "windlass.queue": run.queue,
            "windlass.attempt": run.attempts,
            "windlass.worker": self._worker,
        }
        if run.version:
            attributes["windlass.version"] = run.version
        if run.parent is not None:
            attributes["windlass.parent_run_id"] = run.parent
        tracer, span = self._traces.begin(f"run {run.name}", seed=run.seed, attributes=attributes)
        within = trace.set_span_in_context(span, otel_context.Context())
        context.run(otel_context.attach, within)
        return RunSpan(tracer, span, within=within, run=run)

    def handler_begins(self, pipeline: ClaimedPipeline, task: Task) -> HandlerSpan:
        common: Attributes = {
            "windlass.run_id": task.run_id,
            "windlass.pipeline": pipeline.name,
            "windlass.handler": task.handler,
        }
        attributes: Attributes = {
            **common,
            "windlass.namespace": self._namespace,
            "windlass.queue": pipeline.queue,
            "windlass.attempt": task.attempt,
            "windlass.worker": self._worker,
        }
        tracer, span = self._traces.begin(f"handler {task.handler}", seed=task.run_id, attributes=attributes)
        return HandlerSpan(tracer, span, attributes=common)

    def ends(self) -> None:
        """Nothing: a worker has no span."""


class RunSpan:
    def __init__(self, tracer: trace.Tracer, span: Span, *, within: otel_context.Context, run: ClaimedRun) -> None:
        self._tracer, self._span, self._within = tracer, span, within
        self._run_id, self._workflow = run.run_id, run.name

    def step_begins(self, *, name: str, key: str, attempt: int, context: Context) -> StepSpan:
        attributes: Attributes = {
            "windlass.run_id": self._run_id,
            "windlass.workflow": self._workflow,
            "windlass.step.name": name,
            "windlass.step.key": key,
            "windlass.attempt": attempt,
        }
        span = self._tracer.start_span(f"step {name}", self._within, attributes=attributes)
        context.run(otel_context.attach, trace.set_span_in_context(span, otel_context.Context()))
        return StepSpan(span)

    def ends(self, how: Departure, *, ran_for: Duration, error: str | None) -> None:
        _end(self._span, how, error=error if how is Departure.FAILED else None)


class HandlerSpan:
    def __init__(self, tracer: trace.Tracer, span: Span, *, attributes: Attributes) -> None:
        self._tracer, self._span, self._attributes = tracer, span, attributes
        self._within = trace.set_span_in_context(span, otel_context.Context())

    def code_begins(self, code: Code, *, context: Context) -> StepSpan:
        key = "windlass.phase" if code.kind is CodeKind.PHASE else "windlass.effect.name"
        attributes = {**self._attributes, key: code.name}
        span = self._tracer.start_span(f"{code.kind} {code.name}", self._within, attributes=attributes)
        context.run(otel_context.attach, trace.set_span_in_context(span, otel_context.Context()))
        return StepSpan(span)

    def ends(self, how: HandlerStatus | Departure, *, ran_for: Duration, error: str | None) -> None:
        _end(self._span, how, error=error)


class StepSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    def ends(self, how: StepEnd, *, ran_for: Duration, error: str | None) -> None:
        _end(self._span, how, error=error if how in STEP_ERRORS else None)


def _end(span: Span, how: str, *, error: str | None) -> None:
    span.set_attribute("windlass.outcome", str(how))
    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR, error))
    span.end()
