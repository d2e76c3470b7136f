"""What is known about a pipeline once it is declared: its handlers, their phases and types, and its revision?"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

import pytest

import windlass
from windlass import (
    App,
    Consumer,
    Effect,
    MutateContext,
    NextContext,
    Pipeline,
    PrepareContext,
    Prepared,
    ProducerContext,
    TopicEvent,
)
from windlass.model.duration import to_duration
from windlass.model.pipeline import PIPELINE_RETRY, HandlerKind
from windlass.model.schedule import Timing
from windlass.model.worker import ServedPipeline
from windlass.settings import Settings

AT = datetime(2030, 1, 1, 9, tzinfo=UTC)
Item = TypeVar("Item")


@dataclass
class Order:
    id: str


@dataclass
class Receipt:
    id: str


@dataclass
class Cursor:
    after: str


@pytest.fixture
def app() -> App:
    app = App("sqlite:///:memory:", settings=Settings())
    app.topic("order.paid", Order)
    app.topic("payment.done", Receipt)
    return app


@pytest.fixture
def orders(app: App) -> windlass.Topic[Order]:
    return app.topic("order.paid", Order)


@pytest.fixture
def done(app: App) -> windlass.Topic[Receipt]:
    return app.topic("payment.done", Receipt)


@pytest.fixture
def payments(app: App) -> Pipeline:
    return app.pipeline("payments")


async def poll(ctx: ProducerContext, state: Cursor | None) -> Cursor | None: ...


async def note(ctx: NextContext, events: list[TopicEvent[Order]]) -> None: ...


async def charge(order: Order) -> Receipt:
    return Receipt(order.id)


class Charge(Consumer[Order, Receipt]):
    async def mutate(self, ctx: MutateContext, prepared: Prepared[Order]) -> Effect[Receipt]:
        return Effect(charge, prepared.data)

    async def next(self, ctx: NextContext, prepared: Prepared[Order], receipt: Receipt | None) -> None: ...


class Digest(Consumer[list[Order], None]):
    async def prepare(self, ctx: PrepareContext, state: Cursor | None) -> windlass.Reserve | windlass.Idle:
        return windlass.Idle()


class Written(Consumer["Order", None]):
    async def next(self, ctx: NextContext, prepared: Prepared[Order], result: None) -> Cursor:
        return Cursor("7")


class Any_(Consumer[Item, None], Generic[Item]):
    async def next(self, ctx: NextContext, prepared: Prepared[Item], result: None) -> None: ...


class Narrow(Any_[Order]): ...


@pytest.mark.spec("pipelines:4", "pipelines:5")
@pytest.mark.parametrize(
    ("options", "timing"),
    [
        ({"every": "5m"}, Timing(every=to_duration("5m"))),
        ({"every": timedelta(days=1)}, Timing(every=to_duration("1d"))),
        ({"cron": "0 9 * * *", "tz": "Europe/Rome"}, Timing(cron="0 9 * * *", tz="Europe/Rome")),
    ],
)
def test_a_producer_has_an_interval_or_a_cron(
    payments: Pipeline, orders: windlass.Topic[Order], options: dict[str, Any], timing: Timing
) -> None:
    decorated = payments.producer(**options, publishes=[orders], timeout="30s")(poll)

    handler = payments.definition().handlers["poll"]
    assert decorated is poll
    assert handler.spec.kind is HandlerKind.PRODUCER
    assert handler.spec.timing == timing
    assert handler.spec.publishes == ("order.paid",)
    assert handler.spec.timeout_for == to_duration("30s")
    assert handler.produce is poll
    assert handler.state_type == Cursor | None


def test_a_function_over_events_is_the_last_phase_of_a_consumer(
    payments: Pipeline, orders: windlass.Topic[Order]
) -> None:
    decorated = payments.consumer(orders, batch=10)(note)

    handler = payments.definition().handlers["note"]
    assert decorated is note
    assert handler.takes_events
    assert handler.next is note
    assert handler.spec.topics == ("order.paid",)
    assert (handler.spec.prepares, handler.spec.mutates, handler.spec.emits) == (False, False, True)
    assert handler.spec.batch == 10


@pytest.mark.parametrize(
    ("cls", "phases", "data_type", "state_type"),
    [
        (Charge, (False, True, True), Order, Any),
        (Digest, (True, False, False), list[Order], Cursor | None),
        (Written, (False, False, True), Order, Cursor),
        (Narrow, (False, False, True), Order, Any),
        (Any_, (False, False, True), Any, Any),
    ],
)
def test_a_class_has_the_phases_that_it_writes(
    payments: Pipeline,
    orders: windlass.Topic[Order],
    cls: Any,
    phases: tuple[bool, ...],
    data_type: Any,
    state_type: Any,
) -> None:
    decorated: object = payments.consumer(orders, approval=True)(cls)

    handler = payments.definition().handlers[cls.__name__]
    assert decorated is cls
    assert (handler.spec.prepares, handler.spec.mutates, handler.spec.emits) == phases
    assert handler.spec.needs_approval
    assert handler.data_type == data_type
    assert handler.state_type == state_type
    assert not handler.takes_events


def test_methods_are_of_one_object_that_is_made_when_the_class_is_declared(
    payments: Pipeline, orders: windlass.Topic[Order]
) -> None:
    payments.consumer(orders)(Charge)

    handler = payments.definition().handlers["Charge"]
    assert handler.mutate is not None and handler.next is not None
    owner: Any = getattr(handler.mutate, "__self__", None)
    assert isinstance(owner, Charge)
    assert getattr(handler.next, "__self__", None) is owner


def test_a_pipeline_says_what_its_topics_hold(
    payments: Pipeline, orders: windlass.Topic[Order], done: windlass.Topic[Receipt]
) -> None:
    payments.producer(every="5m", publishes=[orders])(poll)
    payments.consumer(orders, publishes=[done])(Charge)

    definition = payments.definition()
    assert [handler.name for handler in definition.spec.handlers] == ["poll", "Charge"]
    assert definition.topics == {"order.paid": Order, "payment.done": Receipt}
    assert definition.spec.retry == PIPELINE_RETRY
    assert not definition.spec.has_fixer


def test_options_of_a_pipeline_are_in_its_definition(app: App, orders: windlass.Topic[Order]) -> None:
    def fix(problem: windlass.Problem) -> windlass.Fixed:
        return windlass.Fixed()

    pipeline = app.pipeline(
        "mail", queue="slow", retry=windlass.Retry(2), visibility="10m", on_logic_error=fix, on_attention=print
    )
    pipeline.consumer(orders)(note)

    definition = pipeline.definition()
    assert definition.spec.queue == "slow"
    assert definition.spec.retry == windlass.Retry(2).policy
    assert definition.spec.visibility_for == to_duration("10m")
    assert definition.spec.has_fixer
    assert (definition.on_logic_error, definition.on_attention, definition.on_indeterminate) == (fix, print, None)


@pytest.mark.spec("pipelines:134")
def test_a_definition_is_read_once_until_another_handler_is_declared(
    app: App, payments: Pipeline, orders: windlass.Topic[Order]
) -> None:
    payments.consumer(orders)(note)
    first = payments.definition()

    assert payments.definition() is first
    assert app._registry.handlers.pipelines["payments"] is first

    payments.consumer(orders)(Charge)
    second = app._registry.handlers.pipelines["payments"]

    assert second is not first
    assert second.spec.revision != first.spec.revision
    assert [*second.handlers] == ["note", "Charge"]


@pytest.mark.spec("pipelines:134")
def test_a_revision_is_the_same_for_the_same_code_and_options() -> None:
    def revision(*, version: str = "", every: str = "5m", function: Callable[..., Any] = poll) -> str:
        app = App("sqlite:///:memory:", settings=Settings())
        pipeline = app.pipeline("payments", version=version)
        pipeline.producer(every=every, publishes=[app.topic("order.paid", Order)], name="poll")(function)
        return pipeline.definition().spec.revision

    async def other(ctx: ProducerContext, state: Cursor | None) -> Cursor | None:
        return state

    assert revision() == revision()
    assert len({revision(), revision(version="2"), revision(every="6m"), revision(function=other)}) == 4


def test_code_without_a_source_file_is_told_apart_by_what_it_does(orders: windlass.Topic[Order], app: App) -> None:
    def code(body: str) -> str:
        scope: dict[str, Any] = {}
        exec(f"async def handle(ctx, events):\n    return {body}", scope)
        pipeline = App("sqlite:///:memory:", settings=Settings()).pipeline("p")
        pipeline._registered.declare_topic("order.paid", Order)
        pipeline.consumer(orders)(scope["handle"])
        return pipeline.definition().spec.handlers[0].code

    assert code("events in {'a', 'b', 'c'}") == code("events in {'a', 'b', 'c'}")
    assert len({code("1"), code("2"), code("events.a"), code("events.b"), code("lambda: 1")}) == 5


def test_a_cell_that_runs_again_replaces_the_handlers_before(app: App, orders: windlass.Topic[Order]) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "app": app, "orders": orders, "windlass": windlass}

    def cell(pipeline: str, batch: int) -> Pipeline:
        text = f"""
{pipeline}
@payments.consumer(orders, batch={batch})
async def take(ctx, events): ...
@payments.consumer(orders, batch={batch})
class Take(windlass.Consumer[list, None]):
    async def next(self, ctx, prepared, result): ...
"""
        exec(compile(text, "<cell>", "exec"), names)
        payments: Pipeline = names["payments"]
        return payments

    for pipeline in ("payments = app.pipeline('payments')", ""):
        for batch in (1, 7):
            found = cell(pipeline, batch).definition()
            assert {name: handler.spec.batch for name, handler in found.handlers.items()} == {
                "take": batch,
                "Take": batch,
            }


def test_those_who_serve_are_told_of_every_handler(app: App, payments: Pipeline, orders: windlass.Topic[Order]) -> None:
    told: list[int] = []
    app._registry.listeners.append(lambda: told.append(len(app._registry.handlers.pipelines)))

    payments.consumer(orders)(note)
    payments.consumer(orders)(Charge)

    assert told == [1, 1]


def test_a_pipeline_is_served_in_its_queue_once_it_has_a_handler(app: App, orders: windlass.Topic[Order]) -> None:
    mail, empty = app.pipeline("mail", queue="slow"), app.pipeline("empty")
    mail.consumer(orders)(note)
    handlers = app._registry.handlers

    assert empty.is_empty
    assert handlers.empty == ("empty",)
    assert handlers.served_pipelines(["default"]) == ()
    assert handlers.served_pipelines(["slow", "default"]) == (
        ServedPipeline("slow", "mail", mail.definition().spec.revision),
    )
    assert handlers.pipeline_commands() == (mail.definition().spec,)


@pytest.mark.spec("security:78")
def test_a_consumer_that_feeds_itself_is_warned_of(
    payments: Pipeline, orders: windlass.Topic[Order], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        payments.consumer(orders, publishes=[orders])(note)

    assert "publishes to 'order.paid', which it takes events from" in caplog.text


def test_a_topic_is_known_by_its_name_and_type(app: App, orders: windlass.Topic[Order]) -> None:
    handlers = app._registry.handlers

    assert app.topic("order.paid", Order) is orders
    assert handlers.find_topic("order.paid") is orders
    assert repr(orders) == "Topic('order.paid', Order)"


@pytest.mark.spec("pipelines:25", "pipelines:124")
@pytest.mark.parametrize("wake_at", ["2030-01-01T09:00:00+01:00", AT, timedelta(hours=1), None])
def test_what_prepare_answers_holds_events_data_title_and_wake(wake_at: Any) -> None:
    event = TopicEvent(topic="order.paid", id="7", payload=Order("7"), created_at=AT)

    answered = windlass.Reserve(event, data={"id": "7"}, title="Charge order 7", wake_at=wake_at)

    assert answered.events == (event,)
    assert answered.data == {"id": "7"}
    assert answered.title == "Charge order 7"
    assert answered.wake_at == wake_at
    assert windlass.Reserve([event, event], ui={"title": "Two"}).title == "Two"
    assert windlass.Reserve([]).events == ()
    assert windlass.Idle(wake_at=wake_at).wake_at == wake_at
    assert windlass.Idle(wake_in="1h").wake_in == "1h"


def test_an_input_is_known_by_source_type_and_id() -> None:
    first = windlass.Input("stripe", "payment", "pi_1", title="Order 7")

    assert first.input_id.startswith("inp_") and len(first.input_id) == 30
    assert windlass.Input("stripe", "payment", "pi_1").input_id == first.input_id
    assert windlass.Input("stripe", "payment", "pi_2").input_id != first.input_id
    assert windlass.Input("a", "bc", "d").input_id != windlass.Input("ab", "c", "d").input_id
    assert (first.new().external_id, first.new().title) == ("pi_1", "Order 7")
