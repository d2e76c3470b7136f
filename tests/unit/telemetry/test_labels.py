"""Does a label keep a limited number of values, whatever a program makes its names of?"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from windlass.model.time import SECOND, Duration
from windlass.telemetry.labels import OTHER, Series, names
from windlass.telemetry.metrics import Instruments, Metrics
from windlass.telemetry.observer import StepEnd


def test_values_past_the_limit_are_counted_together() -> None:
    series = Series(names, limit=2)

    assert [series.of(name) for name in "abcab"] == [("a",), ("b",), (OTHER,), ("a",), ("b",)]
    assert series.of("d") == (OTHER,)


def test_a_label_is_limited_within_those_before_it() -> None:
    outer = Series(names, limit=1)
    series = Series(names, limit=2, within=outer)

    assert series.of("shop", "pack") == ("shop", "pack")
    assert series.of("bank", "pay") == (OTHER, "pay"), "the second value of the first label"
    assert series.of("shop", "send") == ("shop", OTHER), "the third pair"
    assert series.of("bank", "ask") == (OTHER, OTHER)
    assert series.of("shop", "pack") == ("shop", "pack")
    assert series.of("bank", "pay") == (OTHER, "pay")


def test_a_series_is_made_once() -> None:
    made: list[tuple[str, ...]] = []

    def make(*values: str) -> int:
        made.append(values)
        return len(made)

    series = Series(make, limit=1)

    assert [series.of(name) for name in ("a", "b", "a", "c")] == [1, 2, 1, 2]
    assert made == [("a",), (OTHER,)]


def test_a_program_that_names_its_steps_after_data_cannot_fill_the_memory() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(instruments=Instruments(registry, most_values=10))
    worker = metrics.worker_begins(namespace="default", worker="wrk_1", slots=1)
    assert worker is not None

    for number in range(1_000):
        metrics.run_ended(namespace="default", workflow=f"order {number}", status="failed")
        metrics.schedule_fired(namespace="default", schedule=f"every {number}", late_for=Duration(SECOND))
        step = metrics._instruments.steps.of("default", f"order {number}", f"step {number}")
        step.ended[StepEnd.COMPLETED].inc()
    text = generate_latest(registry).decode()

    assert text.count("windlass_steps_ended_total{") == (10 + 1) * len(StepEnd)
    assert text.count("windlass_schedules_fired_total{") == 11
    assert 'windlass_schedules_fired_total{namespace="default",schedule="(other)"} 990.0' in text
    other = 'windlass_steps_ended_total{namespace="default",status="completed",step="(other)",workflow="(other)"} 990.0'
    assert other in text
    assert len(text) < 100_000
