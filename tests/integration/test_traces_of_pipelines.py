"""Has every attempt of a handler a span, with its phases and its effect in it, that tells nothing of the events?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from opentelemetry.trace import SpanKind, StatusCode

import windlass
from tests.integration.conftest import Gate
from tests.integration.observed import Counted, Traced, attributes, is_child, observed
from tests.integration.pipelines.looking import until_stands
from tests.integration.pipelines.till import Order, Till
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

SECRET = "hunter2-3141"


@pytest.fixture
async def harness(clock: FakeClock, give_up: None) -> AsyncIterator[Harness]:
    async with Harness(clock=clock, has_worker=False) as harness:
        yield harness


@pytest.fixture
def traced() -> Traced:
    return Traced()


def outcomes(traced: Traced, beginning: str = "") -> list[tuple[str, str]]:
    return [(span.name, attributes(span)["windlass.outcome"]) for span in traced.spans(beginning)]


async def test_phases_and_the_effect_are_children_of_the_attempt(harness: Harness, traced: Traced) -> None:
    till = Till(harness)

    async with observed(harness, traced.observer) as worker:
        await till.deployed()
        before = len(traced.spans())
        await till.settle("b")
        (run,) = await till.runs()

    names = ["phase prepare", "phase mutate", "effect charge", "phase next", "handler Charge"]
    assert traced.names()[before : before + 5] == names
    *children, attempt = traced.spans()[before : before + 5]
    assert all(is_child(child, attempt) for child in children)
    assert attempt.kind is SpanKind.CONSUMER and attempt.status.status_code is StatusCode.UNSET
    assert attributes(attempt) == {
        "windlass.namespace": "default",
        "windlass.run_id": run.id,
        "windlass.pipeline": "payments",
        "windlass.handler": "Charge",
        "windlass.queue": "default",
        "windlass.attempt": 1,
        "windlass.worker": worker.id,
        "windlass.outcome": "committed",
    }
    common = {"windlass.run_id": run.id, "windlass.pipeline": "payments", "windlass.handler": "Charge"}
    assert [attributes(child) for child in children] == [
        {**common, "windlass.phase": "prepare", "windlass.outcome": "completed"},
        {**common, "windlass.phase": "mutate", "windlass.outcome": "completed"},
        {**common, "windlass.effect.name": "charge", "windlass.outcome": "completed"},
        {**common, "windlass.phase": "next", "windlass.outcome": "completed"},
    ]
    assert outcomes(traced, "handler note")[-1] == ("handler note", "committed")


async def test_what_user_code_opens_is_a_child_of_its_phase_and_of_its_effect(harness: Harness, traced: Traced) -> None:
    app = harness.app
    orders, shop = app.topic("order", Order), app.pipeline("shop")

    @app.effect
    def charge(id: str) -> None:
        with traced.tracer.start_as_current_span("in a thread"):
            pass

    @shop.consumer(orders)
    class Pay(windlass.Consumer[Order, None]):
        async def mutate(
            self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
        ) -> windlass.Effect[None]:
            with traced.tracer.start_as_current_span("in mutate"):
                return windlass.Effect(charge, prepared.data.id)

    async with observed(harness, traced.observer):
        await harness.idle()
        await app.publish(orders, Order("a"), id="a")
        await harness.idle()

    spans = {span.name: span for span in traced.spans()}
    assert is_child(spans["in mutate"], spans["phase mutate"])
    assert is_child(spans["in a thread"], spans["effect charge"])
    assert is_child(spans["phase mutate"], spans["handler Pay"])


async def test_failures_are_told_by_their_type_and_every_attempt_is_a_trace(harness: Harness, traced: Traced) -> None:
    app, counted, errors = harness.app, Counted(), [ConnectionError(f"{SECRET} was declined")]
    orders, shop = app.topic("order", Order), app.pipeline("shop", retry=windlass.Retry(3))

    @shop.consumer(orders)
    async def pack(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Order]]) -> None:
        if errors:
            raise windlass.StepError("no", kind="transient") from errors.pop()

    async with observed(harness, traced.observer, counted.observer):
        await harness.idle()
        before = len(traced.spans())
        await app.publish(orders, Order(SECRET), id=SECRET)
        await harness.idle()
        await harness.advance("1h")

    spans = traced.spans()[before:]
    assert [(span.name, attributes(span)["windlass.outcome"]) for span in spans] == [
        ("phase next", "failed"),
        ("handler pack", "paused:transient"),
        ("phase next", "completed"),
        ("handler pack", "committed"),
    ]
    for span in spans[:2]:
        assert attributes(span)["error.type"] == "StepError"
        assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "StepError")
        assert not span.events
    assert [attributes(span)["windlass.attempt"] for span in (spans[1], spans[3])] == [1, 2]
    assert len({span.context.trace_id for span in spans}) == 2
    assert SECRET not in traced.text() and SECRET not in counted.text()
    count = counted.value("handlers_ended_total", pipeline="shop", handler="pack", status="paused:transient")
    assert count == 1


async def test_an_effect_in_doubt_is_asked_about_in_the_trace_of_its_attempt(harness: Harness, traced: Traced) -> None:
    till = Till(harness)

    async with observed(harness, traced.observer):
        await till.deployed()
        before = len(traced.spans())
        till.world.plan(charge=ConnectionError("gone"), reconcile=[windlass.Unknown(), windlass.DidNotHappen()])
        await till.settle("a")
        await harness.advance("1h")

    spans = [span for span in traced.spans()[before:] if attributes(span)["windlass.pipeline"] == "payments"]
    first = [span for span in spans if span.context.trace_id == spans[0].context.trace_id]
    assert [(span.name, attributes(span)["windlass.outcome"]) for span in first] == [
        ("phase prepare", "completed"),
        ("phase mutate", "completed"),
        ("effect charge", "failed"),
        ("reconcile charge", "completed"),
        ("handler Charge", "paused:reconciliation"),
        ("reconcile charge", "completed"),
        ("handler Charge", "parked"),
    ]
    assert is_child(first[5], first[6]) and not is_child(first[5], first[4])


async def test_an_attempt_that_is_stopped_with_its_worker_ends_its_spans(harness: Harness, traced: Traced) -> None:
    gate, app = Gate(), harness.app
    orders, shop = app.topic("order", Order), app.pipeline("shop")

    @shop.consumer(orders)
    async def pack(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Order]]) -> None:
        await gate.wait()

    async def work() -> None:
        async with observed(harness, traced.observer):
            await harness.idle()
            await app.publish(orders, Order("a"), id="a")
            await gate.reached()

    working = asyncio.ensure_future(work())
    await gate.reached()
    while not working.done():  # until its grace is over
        harness.clock.advance("1s")
        await asyncio.wait([working], timeout=0.01)
    await working

    assert outcomes(traced)[-2:] == [("phase next", "stopped"), ("handler pack", "released")]
    assert [span.status.status_code for span in traced.spans()[-2:]] == [StatusCode.UNSET, StatusCode.UNSET]


async def test_an_attempt_whose_claim_is_gone_is_lost(harness: Harness, traced: Traced) -> None:
    gate, till, counted = Gate(), Till(harness), Counted()

    async with observed(harness, traced.observer, counted.observer):
        await till.deployed()
        till.world.plan(mutate=gate)
        await till.publish("a")
        await until_stands(harness, "payments", a="reserved")
        await till.app.pipelines.skip_event("payments", till.orders, "a")
        gate.open()
        await harness.idle()

    assert ("handler Charge", "lost") in outcomes(traced)
    assert counted.value("handlers_ended_total", pipeline="payments", handler="Charge", status="crashed") == 0
