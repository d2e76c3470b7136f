"""What do metrics and traces make of what they are told, and what of an observer that fails?"""

from __future__ import annotations

import logging

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from prometheus_client import REGISTRY, CollectorRegistry

from windlass.model.run import RunStatus
from windlass.model.time import SECOND, Duration
from windlass.telemetry.guarded import Guard, GuardedObserver
from windlass.telemetry.metrics import Metrics, instruments_of
from windlass.telemetry.traces import Traces, parent_of


def test_the_duties_of_a_coordinator_are_counted() -> None:
    registry = CollectorRegistry()
    observer = GuardedObserver([Metrics(registry), Traces(TracerProvider(shutdown_on_exit=False))])

    observer.duty("prune", seconds=0.03, count=500, failed=False)
    observer.duty("prune", seconds=0.02, count=0, failed=True)

    value, labels = registry.get_sample_value, {"duty": "prune"}
    assert value("windlass_coordinator_duty_seconds_count", labels) == 2
    assert value("windlass_coordinator_duty_seconds_sum", labels) == pytest.approx(0.05)
    assert value("windlass_coordinator_duty_failures_total", labels) == 1
    assert value("windlass_coordinator_duty_rows_total", labels) == 500


def test_schedules_are_counted_with_how_late_they_were() -> None:
    registry = CollectorRegistry()
    observer = GuardedObserver([Metrics(registry), Traces(TracerProvider(shutdown_on_exit=False))])

    observer.schedule_fired(namespace="default", schedule="nightly", late_for=Duration(2 * SECOND))
    observer.schedule_fired(namespace="default", schedule="nightly", late_for=Duration(-1))
    observer.run_ended(namespace="default", workflow="order", status=RunStatus.CANCELLED)

    value = registry.get_sample_value
    assert value("windlass_schedules_fired_total", {"namespace": "default", "schedule": "nightly"}) == 2
    assert value("windlass_schedule_lateness_seconds_sum", {"namespace": "default"}) == 2
    ended = {"namespace": "default", "workflow": "order", "status": "cancelled"}
    assert value("windlass_runs_ended_total", ended) == 1


def test_a_workflow_is_counted_under_the_ends_that_its_runs_can_have() -> None:
    registry = CollectorRegistry()

    Metrics(registry).run_ended(namespace="default", workflow="order", status=RunStatus.FAILED)

    samples = [sample for metric in registry.collect() for sample in metric.samples]
    ends = {sample.labels["status"] for sample in samples if sample.name == "windlass_runs_ended_total"}
    assert ends == {"completed", "failed", "cancelled", "skipped"}  # as docs/how-to/metrics-and-traces.md says


def test_two_apps_may_count_into_one_registry() -> None:
    registry = CollectorRegistry()

    assert instruments_of(registry) is instruments_of(registry)
    assert instruments_of(registry) is not instruments_of(CollectorRegistry())


def test_without_a_registry_it_counts_where_the_program_looks() -> None:
    Metrics().run_ended(namespace="test of registries", workflow="order", status=RunStatus.FAILED)

    labels = {"namespace": "test of registries", "workflow": "order", "status": "failed"}
    assert REGISTRY.get_sample_value("windlass_runs_ended_total", labels) == 1


def test_a_trace_follows_from_the_seed_alone() -> None:
    one, again, other = parent_of("run_1"), parent_of("run_1"), parent_of("run_2")

    assert (one.trace_id, one.span_id) == (again.trace_id, again.span_id)
    assert one.trace_id == 0x9AAE209354DA8601D5E02EBB128D5E56, "the same in every release, or runs fall apart"
    assert one.trace_id != other.trace_id and one.span_id != other.span_id
    assert one.is_valid and one.is_remote and one.trace_flags.sampled


def test_a_program_without_a_tracer_provider_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    traces = Traces(trace.ProxyTracerProvider())

    spans = [traces.begin("run order", seed="run_1", attributes={})[1] for _ in range(3)]

    assert not any(span.is_recording() for span in spans)
    assert len(caplog.records) == 1 and "no tracer provider" in caplog.text


def test_what_fails_is_said_once_and_nothing_is_raised(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard()

    def broken() -> None:
        raise OSError("away")

    def also_broken() -> None:
        raise OSError("away")

    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            guard.tell(broken)
            assert guard.ask(broken) is None
        assert guard.ask_all([also_broken, lambda: 7]) == [7]

    assert [record.name for record in caplog.records] == ["windlass.telemetry"] * 2
    assert "also_broken" in caplog.records[1].getMessage()


def test_being_told_to_stop_is_no_failure_of_an_observer() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Guard().tell(stop)
