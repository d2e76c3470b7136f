"""What Prometheus is told: counters, histograms and gauges whose labels come from closed or limited sets."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextvars import Context
from weakref import WeakKeyDictionary

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from windlass.model.commands import ClaimedRun
from windlass.model.pipeline import HandlerStatus
from windlass.model.pipeline_work import ClaimedPipeline, Task
from windlass.model.run import TERMINAL, RunStatus
from windlass.model.time import SECOND, Duration
from windlass.telemetry.labels import MOST_VALUES, Series, names
from windlass.telemetry.observer import Code, Departure, StepEnd

# Seconds. A step may be a look into memory or a report that takes an hour.
SHORT = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
LONG = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600)

ENDS = sorted(TERMINAL)

Labels = tuple[str, ...]


class Instruments:
    """The metrics of one registry. Two apps of a process share them; `namespace` tells them apart."""

    def __init__(self, registry: CollectorRegistry, *, most_values: int = MOST_VALUES) -> None:
        def counter(name: str, text: str, labels: Labels) -> Counter:
            return Counter(f"windlass_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, labels: Labels, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"windlass_{name}_seconds", text, labels, registry=registry, buckets=buckets)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(
                f"windlass_worker_{name}", text, ("namespace",), registry=registry, multiprocess_mode="livesum"
            )

        workflow, step = ("namespace", "workflow"), ("namespace", "workflow", "step")
        self._claimed = counter("runs_claimed", "Runs that a worker began to execute.", (*workflow, "queue"))
        self._ended = counter("runs_ended", "Runs that are over.", (*workflow, "status"))
        self._left = counter("runs_left", "Runs that left a worker and are not over.", (*workflow, "how"))
        self._run_time = histogram("run", "From a claim until the run was over or left.", workflow, LONG)
        self._steps = counter("steps_ended", "Attempts of steps.", (*step, "status"))
        self._step_time = histogram("step", "How long the body of a step ran.", step, LONG)
        self._wait = histogram("run_wait", "From being due to being claimed.", ("namespace", "queue"), LONG)
        self._active = gauge("active_runs", "Runs that occupy a slot.")
        self._slots = gauge("slots", "Slots of the workers that take runs.")
        self._duty_time = histogram("coordinator_duty", "One round of a duty.", ("duty",), SHORT)
        self._duty_failures = counter("coordinator_duty_failures", "Rounds of a duty that failed.", ("duty",))
        self._duty_rows = counter("coordinator_duty_rows", "Rows that a duty changed.", ("duty",))
        self._fired = counter("schedules_fired", "Slots that were fired.", ("namespace", "schedule"))
        self._lateness = histogram("schedule_lateness", "From a slot to its run.", ("namespace",), LONG)

        handler = ("namespace", "pipeline", "handler")
        self._handlers = counter("handlers_ended", "Attempts of handlers.", (*handler, "status"))
        self._handler_time = histogram("handler", "How long an attempt of a handler took.", handler, LONG)

        namespaces = Series(names, limit=most_values)
        workflows = Series(names, limit=most_values, within=namespaces)
        self.workflows = Series(self._for_workflow, limit=most_values, within=namespaces)
        self.queues = Series(self._wait.labels, limit=most_values, within=namespaces)
        self.claims = Series(self._claimed.labels, limit=most_values, within=workflows)
        self.steps = Series(self._for_step, limit=most_values, within=workflows)
        self.active = Series(self._active.labels, limit=most_values)
        self.slots = Series(self._slots.labels, limit=most_values)
        self.schedules = Series(self._for_schedule, limit=most_values, within=namespaces)
        self.duties = Series(self._for_duty, limit=most_values)
        pipelines = Series(names, limit=most_values, within=namespaces)
        self.handlers = Series(self._for_handler, limit=most_values, within=pipelines)

    def _for_workflow(self, *labels: str) -> WorkflowSeries:
        return WorkflowSeries(
            seconds=self._run_time.labels(*labels),
            ended={status: self._ended.labels(*labels, status) for status in ENDS},
            left={how: self._left.labels(*labels, how) for how in Departure if not how.is_end},
        )

    def _for_step(self, *labels: str) -> StepSeries:
        ended = {how: self._steps.labels(*labels, how) for how in StepEnd}
        return StepSeries(seconds=self._step_time.labels(*labels), ended=ended)

    def _for_handler(self, *labels: str) -> tuple[Histogram, Mapping[HandlerStatus, Counter]]:
        ended = {status: self._handlers.labels(*labels, status) for status in HandlerStatus}
        return self._handler_time.labels(*labels), ended

    def _for_schedule(self, *labels: str) -> tuple[Counter, Histogram]:
        return self._fired.labels(*labels), self._lateness.labels(*labels[:-1])

    def _for_duty(self, name: str) -> tuple[Histogram, Counter, Counter]:
        return self._duty_time.labels(name), self._duty_rows.labels(name), self._duty_failures.labels(name)


class WorkflowSeries:
    def __init__(
        self, *, seconds: Histogram, ended: Mapping[RunStatus, Counter], left: Mapping[Departure, Counter]
    ) -> None:
        self.seconds, self.ended, self.left = seconds, ended, left


class StepSeries:
    def __init__(self, *, seconds: Histogram, ended: Mapping[StepEnd, Counter]) -> None:
        self.seconds, self.ended = seconds, ended


_LOCK = threading.Lock()
_INSTRUMENTS: WeakKeyDictionary[CollectorRegistry, Instruments] = WeakKeyDictionary()


def instruments_of(registry: CollectorRegistry) -> Instruments:
    """A registry takes a name once, so every app that counts into it uses the same."""
    with _LOCK:
        found = _INSTRUMENTS.get(registry)
        if found is None:
            found = _INSTRUMENTS[registry] = Instruments(registry)
        return found


class Metrics:
    """An observer that counts, by default where a program's own `/metrics` looks."""

    def __init__(self, registry: CollectorRegistry = REGISTRY, *, instruments: Instruments | None = None) -> None:
        self._instruments = instruments_of(registry) if instruments is None else instruments

    def worker_begins(self, *, namespace: str, worker: str, slots: int) -> WorkerCounts:
        return WorkerCounts(self._instruments, namespace=namespace, slots=slots)

    def run_ended(self, *, namespace: str, workflow: str, status: RunStatus) -> None:
        self._instruments.workflows.of(namespace, workflow).ended[status].inc()

    def duty(self, name: str, *, seconds: float, count: int, failed: bool) -> None:
        times, rows, failures = self._instruments.duties.of(name)
        times.observe(seconds)
        rows.inc(count)
        failures.inc(failed)

    def schedule_fired(self, *, namespace: str, schedule: str, late_for: Duration) -> None:
        fired, lateness = self._instruments.schedules.of(namespace, schedule)
        fired.inc()
        lateness.observe(max(0, late_for) / SECOND)


class WorkerCounts:
    def __init__(self, instruments: Instruments, *, namespace: str, slots: int) -> None:
        self._instruments, self._namespace, self._slots = instruments, namespace, slots
        self._active = instruments.active.of(namespace)
        instruments.slots.of(namespace).inc(slots)

    def run_begins(self, run: ClaimedRun, *, context: Context) -> RunCounts:
        self._instruments.claims.of(self._namespace, run.name, run.queue).inc()
        self._instruments.queues.of(self._namespace, run.queue).observe(run.waited_for / SECOND)
        self._active.inc()
        return RunCounts(self._instruments, namespace=self._namespace, workflow=run.name, active=self._active)

    def handler_begins(self, pipeline: ClaimedPipeline, task: Task) -> HandlerCounts:
        return HandlerCounts(self._instruments, namespace=self._namespace, pipeline=pipeline.name, handler=task.handler)

    def ends(self) -> None:
        self._instruments.slots.of(self._namespace).dec(self._slots)


class HandlerCounts:
    def __init__(self, instruments: Instruments, *, namespace: str, pipeline: str, handler: str) -> None:
        self._instruments, self._labels = instruments, (namespace, pipeline, handler)

    def code_begins(self, code: Code, *, context: Context) -> None:
        """Nothing: an attempt is timed with all its phases."""

    def ends(self, how: HandlerStatus | Departure, *, ran_for: Duration, error: str | None) -> None:
        if isinstance(how, HandlerStatus):
            seconds, ended = self._instruments.handlers.of(*self._labels)
            seconds.observe(ran_for / SECOND)
            ended[how].inc()


class RunCounts:
    def __init__(self, instruments: Instruments, *, namespace: str, workflow: str, active: Gauge) -> None:
        self._instruments, self._namespace, self._workflow, self._active = instruments, namespace, workflow, active

    def step_begins(self, *, name: str, key: str, attempt: int, context: Context) -> StepCounts:
        return StepCounts(self._instruments.steps.of(self._namespace, self._workflow, name))

    def ends(self, how: Departure, *, ran_for: Duration, error: str | None) -> None:
        self._active.dec()
        series = self._instruments.workflows.of(self._namespace, self._workflow)
        series.seconds.observe(ran_for / SECOND)
        if how.is_end:
            series.ended[RunStatus(how)].inc()
        else:
            series.left[how].inc()


class StepCounts:
    def __init__(self, series: StepSeries) -> None:
        self._series = series

    def ends(self, how: StepEnd, *, ran_for: Duration, error: str | None) -> None:
        self._series.seconds.observe(ran_for / SECOND)
        self._series.ended[how].inc()
