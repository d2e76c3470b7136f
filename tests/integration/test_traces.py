"""Is a run one trace, whoever executes it and however often, and does it tell nothing of what the run was given?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, StatusCode

from tests.integration.conftest import Gate
from tests.integration.observed import Counted, Traced, attributes, is_child, observed
from tests.programs import sleeps, steps
from windlass import Context, Retry, RunFailed
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

SECRET = "hunter2-3141"


class Bystander:
    """Looks which span is the current one where the worker does its own work, as when it classifies a failure."""

    def __init__(self) -> None:
        self.seen: list[bool] = []

    def __call__(self, error: BaseException) -> None:
        self.seen.append(trace.get_current_span().get_span_context().is_valid)


@pytest.fixture
def bystander() -> Bystander:
    return Bystander()


@pytest.fixture
async def harness(clock: FakeClock, give_up: None, bystander: Bystander) -> AsyncIterator[Harness]:
    async with Harness(clock=clock, has_worker=False, classify=bystander) as harness:
        yield harness


@pytest.fixture
def traced() -> Traced:
    return Traced()


def trace_ids(spans: list[ReadableSpan]) -> set[int]:
    return {span.context.trace_id for span in spans}


async def test_bodies_are_children_of_their_run_and_what_they_do_is_a_child_of_them(
    harness: Harness, traced: Traced
) -> None:
    async def fetch(item: str) -> str:
        with traced.tracer.start_as_current_span("inside fetch"):
            return await asyncio.create_task(ask(item))

    async def ask(item: str) -> str:
        with traced.tracer.start_as_current_span("inside a task of fetch"):
            return item

    def pack(item: str) -> str:
        with traced.tracer.start_as_current_span("inside pack"):
            return item

    def borrow(item: str) -> object:
        return ask(item)  # a plain function that answers with a coroutine goes on with it on the loop

    @harness.app.workflow(queue="default")
    async def order(ctx: Context, item: str) -> str:
        with traced.tracer.start_as_current_span("inside order"):
            pass
        await ctx.step(borrow, item, name="lent")
        return await ctx.step(pack, await ctx.step(fetch, item), key="box")

    async with observed(harness, traced.observer) as worker:
        handle = await harness.start(order, "7")
        await handle.result()

    spans = {span.name: span for span in traced.spans()}
    names = ["inside order", "inside a task of fetch", "step lent", "inside a task of fetch", "inside fetch"]
    assert traced.names() == [*names, "step fetch", "inside pack", "step pack", "run order"]
    run = spans["run order"]
    assert len(trace_ids(traced.spans())) == 1
    assert is_child(spans["inside order"], run)
    assert (
        is_child(spans["step fetch"], run) and is_child(spans["step pack"], run) and is_child(spans["step lent"], run)
    )
    assert is_child(spans["inside fetch"], spans["step fetch"]) and is_child(spans["inside pack"], spans["step pack"])
    assert is_child(traced.spans("inside a task")[0], spans["step lent"])
    assert is_child(traced.spans("inside a task")[1], spans["inside fetch"])
    assert run.kind is SpanKind.CONSUMER and run.status.status_code is StatusCode.UNSET
    assert attributes(run) == {
        "windlass.namespace": "default",
        "windlass.run_id": handle.id,
        "windlass.workflow": "order",
        "windlass.queue": "default",
        "windlass.attempt": 1,
        "windlass.worker": worker.id,
        "windlass.outcome": "completed",
    }
    assert attributes(spans["step pack"]) == {
        "windlass.run_id": handle.id,
        "windlass.workflow": "order",
        "windlass.step.name": "pack",
        "windlass.step.key": "pack:box",
        "windlass.attempt": 1,
        "windlass.outcome": "completed",
    }


async def test_all_executions_of_a_run_are_one_trace_and_replayed_steps_have_no_span(
    harness: Harness, traced: Traced
) -> None:
    tries: list[int] = []

    def look() -> None:
        return None

    def fetch() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("no")

    @harness.app.workflow(retry=Retry(2))
    async def order(ctx: Context) -> None:
        await ctx.step(look)
        await ctx.step(fetch)
        await ctx.sleep("1h")

    elsewhere = Traced()
    async with observed(harness, traced.observer):
        handle = await harness.start(order)
        await harness.until(handle, "sleeping", within="1m")
    harness.clock.advance("1h")
    async with observed(harness, elsewhere.observer):
        await handle.result()

    assert traced.names() == ["step look", "step fetch", "run order", "step fetch", "run order"]
    assert elsewhere.names() == ["run order"]
    runs = [*traced.spans("run"), *elsewhere.spans("run")]
    assert [attributes(span)["windlass.outcome"] for span in runs] == ["parked", "parked", "completed"]
    assert [attributes(span)["windlass.attempt"] for span in runs] == [1, 2, 3]
    assert [attributes(span)["windlass.attempt"] for span in traced.spans("step fetch")] == [1, 2]
    assert len(trace_ids([*traced.spans(), *elsewhere.spans()])) == 1
    assert len({span.parent.span_id for span in runs if span.parent is not None and span.parent.is_remote}) == 1


async def test_a_retry_of_a_run_is_in_the_trace_of_the_run(harness: Harness, traced: Traced) -> None:
    is_ready: list[bool] = []

    def fetch() -> None:
        if not is_ready:
            raise ConnectionError("no")

    order = harness.app.workflow(retry=Retry(1))(steps(fetch))

    async with observed(harness, traced.observer):
        first = await harness.start(order)
        with pytest.raises(RunFailed):
            await first.result()
        is_ready.append(True)
        second = await first.retry()
        await second.result()

    ids = [attributes(span)["windlass.run_id"] for span in traced.spans("run")]
    assert ids == [first.id, second.id]
    assert len(trace_ids(traced.spans())) == 1


async def test_failures_are_told_by_their_type_and_secrets_by_nothing(harness: Harness, traced: Traced) -> None:
    counted = Counted()

    class Declined(Exception):
        pass

    def charge(card: str) -> str:
        raise Declined(f"{card} was declined")

    async def remember(card: str) -> str:
        return card

    @harness.app.workflow(retry=Retry(1))
    async def pay(ctx: Context, card: str) -> None:
        await ctx.step(remember, card)
        await ctx.step(charge, card)

    async with observed(harness, traced.observer, counted.observer):
        handle = await harness.start(pay, SECRET, key="payment 1")
        with pytest.raises(RunFailed):
            await handle.result()

    (step,), (run,) = traced.spans("step charge"), traced.spans("run pay")
    for span in (step, run):
        assert attributes(span)["windlass.outcome"] == "failed"
        assert attributes(span)["error.type"].endswith("Declined")
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description == attributes(span)["error.type"]
        assert not span.events
    assert SECRET not in traced.text() and SECRET not in counted.text()
    assert "declined" not in traced.text()


async def test_runs_beside_each_other_keep_their_spans_apart(
    harness: Harness, traced: Traced, bystander: Bystander
) -> None:
    gate = Gate()

    async def stand(name: str) -> None:
        await gate.wait()
        with traced.tracer.start_as_current_span(f"in {name}"):
            raise ConnectionError(name)

    @harness.app.workflow(retry=Retry(1))
    async def order(ctx: Context, name: str) -> None:
        with traced.tracer.start_as_current_span(f"around {name}"):
            await asyncio.gather(ctx.step(stand, name), ctx.step(gate.wait), return_exceptions=True)

    async with observed(harness, traced.observer):
        handles = [await harness.start(order, name) for name in ("a", "b", "c")]
        await gate.reached(6)
        gate.open()
        await asyncio.gather(*[handle.result() for handle in handles])

    for handle, name in zip(handles, ("a", "b", "c"), strict=True):
        (mine,) = {
            span.context.trace_id for span in traced.spans("run") if attributes(span)["windlass.run_id"] == handle.id
        }
        assert trace_ids(traced.spans(f"in {name}")) == {mine}
        assert trace_ids(traced.spans(f"around {name}")) == {mine}
    assert len(trace_ids(traced.spans("run"))) == 3
    assert bystander.seen == [False, False, False], "what the worker itself does is part of no run"


async def test_a_body_that_is_stopped_ends_its_span(harness: Harness, traced: Traced) -> None:
    gate = Gate()
    order = harness.app.workflow(name="order")(steps(gate.wait))

    async with observed(harness, traced.observer):
        handle = await harness.start(order)
        await gate.reached()
        await handle.cancel()
        await gate.left()

    assert traced.names() == ["step wait", "run order"]
    assert [attributes(span)["windlass.outcome"] for span in traced.spans()] == ["stopped", "lost"]
    assert [span.status.status_code for span in traced.spans()] == [StatusCode.UNSET, StatusCode.UNSET]


@pytest.mark.parametrize(("share", "names"), [(0.0, []), (1.0, ["step look", "run order"])])
async def test_the_sampler_of_the_program_decides_for_the_whole_run(
    harness: Harness, share: float, names: list[str]
) -> None:
    traced = Traced(sampler=ParentBased(TraceIdRatioBased(share)))

    def look() -> None:
        return None

    order = harness.app.workflow(name="order")(steps(look))

    async with observed(harness, traced.observer):
        await harness.run(order)

    assert traced.names() == names


async def test_a_sampler_that_takes_half_takes_whole_runs(harness: Harness) -> None:
    half, everything = Traced(sampler=ParentBased(TraceIdRatioBased(0.5))), Traced(sampler=ALWAYS_ON)
    order = harness.app.workflow(sleeps("1s"))

    async with observed(harness, half.observer, everything.observer):
        for _ in range(40):
            await harness.run(order)

    executions = [attributes(span)["windlass.run_id"] for span in half.spans("run")]
    taken = set(executions)
    assert 0 < len(taken) < 40
    assert all(executions.count(run_id) == 2 for run_id in taken), "before and after the sleep alike"
    assert len(everything.spans("run")) == 80


class Full(SpanProcessor):
    def on_end(self, span: ReadableSpan) -> None:
        raise OSError(f"The disk is full: {span.name}")


async def test_a_span_processor_that_fails_hurts_no_run(
    harness: Harness, traced: Traced, caplog: pytest.LogCaptureFixture
) -> None:
    traced.provider.add_span_processor(Full())

    def look() -> int:
        return 1

    order = harness.app.workflow(steps(look))

    async with observed(harness, traced.observer):
        assert [await harness.run(order) for _ in range(3)] == [1, 1, 1]

    complaints = [record.getMessage() for record in caplog.records if record.name == "windlass.telemetry"]
    assert [text.split()[0].rpartition("traces.")[2] for text in complaints] == ["StepSpan.ends", "RunSpan.ends"]
