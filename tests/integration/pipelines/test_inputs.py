"""What is known of what came from outside: where it is, what it has caused, and what became of that?"""

from __future__ import annotations

import asyncio

import pytest

import windlass
from tests.integration.pipelines.looking import look
from tests.integration.pipelines.till import Order, Receipt, Till, refusal, until_declared
from windlass.errors import InvalidInput, NotFound
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # what is looked at over the wire is in tests/integration/server


def paid(id: str, *, title: str = "") -> windlass.Input:
    return windlass.Input("stripe", "payment", id, title=title)


async def publish(till: Till, id: str, *inputs: str) -> None:
    for name in inputs:
        await till.app.publish(till.orders, Order(id), id=id, input=paid(name, title=f"Payment {name}"))


@pytest.mark.spec("pipelines:57")
async def test_an_input_is_followed_through_every_topic_to_the_effects_it_led_to(harness: Harness) -> None:
    till = await Till(harness).deployed()

    @till.pipeline.consumer(till.done)
    async def archive(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Receipt]]) -> None:
        return None

    await until_declared(harness, "payments")
    await till.again()
    await publish(till, "a", "pi_1")
    await harness.idle()
    trace = await till.app.pipelines.trace("payments", paid("pi_1"))

    assert (trace.input.source, trace.input.type, trace.input.id, trace.input.title) == (
        "stripe",
        "payment",
        "pi_1",
        "Payment pi_1",
    )
    assert (trace.input.status, trace.input.events, trace.input.pending) == ("done", 2, 0)
    assert [(event.topic, event.id, event.status) for event in trace.events] == [
        ("order.paid", "a", "consumed"),
        ("payment.done", "a", "consumed"),
    ]
    assert {run.handler for run in trace.runs} == {"Charge", "archive"}
    assert [(effect.name, effect.status) for effect in trace.effects] == [("charge", "applied")]
    elsewhere = await till.app.pipelines.trace("notes", paid("pi_1"))
    assert [(event.topic, event.status) for event in elsewhere.events] == [("payment.done", "consumed")]


async def test_what_several_inputs_have_caused_names_them_all_and_none_twice(harness: Harness) -> None:
    till = await Till(harness, batch=3).deployed()
    await till.app.pipelines.pause("payments")
    await publish(till, "a", "pi_1")
    await publish(till, "b", "pi_2")
    await publish(till, "c", "pi_1")
    await till.app.pipelines.resume("payments")
    await harness.idle()
    traces = [await till.app.pipelines.trace("notes", paid(id)) for id in ("pi_1", "pi_2")]
    causes = [sorted(event.inputs) for trace in traces for event in trace.events]

    assert causes == [sorted([paid("pi_1").input_id, paid("pi_2").input_id])] * 2


async def test_an_input_is_pending_until_nothing_it_has_caused_is_open(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(prepare=refusal("auth"))
    await publish(till, "a", "pi_1")
    await publish(till, "b", "pi_1")
    await harness.idle()
    (row,) = await till.app.pipelines.inputs("payments", status="pending")
    assert (row.id, row.status, row.pending, row.events) == ("pi_1", "pending", 2, 2)
    await till.app.pipelines.resume("payments")
    await harness.idle()
    (row,) = await till.app.pipelines.inputs("payments", status="done")
    assert (row.id, row.status, row.pending, row.events) == ("pi_1", "done", 0, 2)
    assert await till.app.pipelines.inputs("payments", status="pending") == []


async def test_the_same_thing_outside_is_the_same_input_and_keeps_its_first_title(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.publish(till.orders, Order("a"), id="a", input=paid("pi_1", title="first"))
    await till.app.publish(till.orders, Order("b"), id="b", input=paid("pi_1", title="second"))
    await till.app.publish(till.orders, Order("c"), id="c", input=windlass.Input("stripe", "refund", "pi_1"))
    await harness.idle()
    rows = await till.app.pipelines.inputs("payments")

    assert sorted((row.type, row.title, row.events) for row in rows) == [("payment", "first", 2), ("refund", "", 1)]


async def known_inputs(till: Till) -> dict[str, tuple[str, int, int]]:
    """How each stands, and how many of its events are open, of how many."""
    rows = await till.app.pipelines.inputs("payments")
    return {row.id: (row.status, row.pending, row.events) for row in rows}


async def test_an_event_that_is_published_again_without_an_input_keeps_the_one_it_had(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    await publish(till, "a", "pi_1")
    await till.app.publish(till.orders, Order("a", 8), id="a")

    assert await known_inputs(till) == {"pi_1": ("pending", 1, 1)}
    said = await till.app.pipelines.skip_input("payments", paid("pi_1"))
    assert said.skipped == 1


async def test_an_event_that_waits_has_the_input_with_which_it_was_published_last(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    await publish(till, "a", "pi_1", "pi_2")

    assert await known_inputs(till) == {"pi_1": ("pending", 0, 0), "pi_2": ("pending", 1, 1)}


@pytest.mark.parametrize("input", [None, paid("pi_1"), paid("pi_2")], ids=["none", "same", "other"])
async def test_what_an_input_has_led_to_stays_done_when_its_event_is_published_again(
    harness: Harness, input: windlass.Input | None
) -> None:
    till = await Till(harness).deployed()
    await publish(till, "a", "pi_1")
    await harness.idle()
    await till.app.publish(till.orders, Order("a", 8), id="a", input=input)
    await harness.idle()
    (traced,) = (await till.app.pipelines.trace("payments", paid("pi_1"))).events

    # Nothing came of another input, so there is none that would be pending for ever.
    assert await known_inputs(till) == {"pi_1": ("done", 0, 1)}
    assert (traced.id, traced.inputs) == ("a", (paid("pi_1").input_id,))


async def test_of_one_event_published_twice_in_a_moment_the_input_stays_whoever_is_last(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    publishing = [
        till.app.publish(till.orders, Order("a"), id="a", input=paid("pi_1")),
        *(till.app.publish(till.orders, Order("a", amount), id="a") for amount in (8, 9)),
    ]
    await asyncio.gather(*publishing)

    assert await known_inputs(till) == {"pi_1": ("pending", 1, 1)}


async def test_an_input_that_nobody_gets_done_for_a_week_is_stale(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    await publish(till, "a", "pi_1")
    await till.advance("6d")
    assert [row.is_stale for row in await till.app.pipelines.inputs("payments")] == [False]
    await till.advance("2d")

    assert [row.is_stale for row in await till.app.pipelines.inputs("payments")] == [True]


async def test_a_pipeline_counts_the_inputs_that_wait_each_once_and_those_that_are_stale(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    await publish(till, "a", "pi_1")
    await publish(till, "b", "pi_1")
    await till.app.publish(till.orders, Order("c"), id="c")
    await till.advance("8d")
    await publish(till, "d", "pi_2")

    view = await look(harness, "payments")

    assert (view.inputs_pending, view.inputs_stale) == (2, 1)


async def test_the_inputs_of_a_producer_that_failed_are_not_entered(harness: Harness) -> None:
    app, errors = harness.app, [refusal("logic")]
    orders = app.topic("order.paid", Order)
    polling = app.pipeline("polling")

    @polling.producer(every="1h", publishes=[orders])
    async def poll(ctx: windlass.ProducerContext, state: None) -> None:
        found = ctx.input("mail", "message", "1", title="Hello")
        ctx.publish(orders, Order("a"), id="a", input=found)
        if errors:
            raise errors.pop()

    @polling.consumer(orders)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Order]]) -> None:
        return None

    await until_declared(harness, "polling")
    assert await app.pipelines.inputs("polling") == []
    await app.pipelines.retry("polling")
    await harness.idle()

    assert [(row.source, row.title, row.status) for row in await app.pipelines.inputs("polling")] == [
        ("mail", "Hello", "done")
    ]


async def test_what_is_not_there_is_said_so(harness: Harness) -> None:
    till = await Till(harness).deployed()
    with pytest.raises(NotFound, match="Input"):
        await till.app.pipelines.trace("payments", paid("pi_0"))
    with pytest.raises(NotFound, match=r"paymemts.*payments"):
        await till.app.pipelines.inputs("paymemts")
    with pytest.raises(InvalidInput, match="'pending', 'done', 'skipped'"):
        await till.app.pipelines.inputs("payments", status="open")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="input"):
        await till.app.publish(till.orders, Order("a"), id="a", input="pi_1")  # type: ignore[arg-type]


async def test_inputs_of_one_status_are_found_behind_pages_of_another(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    await publish(till, "first", "pi_first")
    await till.app.pipelines.skip_input("payments", paid("pi_first"))
    for number in range(5):
        await publish(till, f"o{number}", f"pi_{number}")

    found = await till.app.pipelines.inputs("payments", status="skipped", limit=2)

    assert [row.id for row in found] == ["pi_first"]
    everything = await till.app.pipelines.inputs("payments", limit=4)
    assert len({row.id for row in everything}) == 4
