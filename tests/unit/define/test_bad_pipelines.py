"""Is everything that can be no pipeline refused where it is written, in one clear line, with nothing declared?"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NewType

import pytest

import windlass
from windlass import (
    AlreadyExists,
    App,
    Consumer,
    InvalidInput,
    NextContext,
    NotFound,
    Pipeline,
    PrepareContext,
    ProducerContext,
    Topic,
    TopicEvent,
)
from windlass.settings import Settings

UserId = NewType("UserId", str)
AT = datetime(2030, 1, 1, 9, tzinfo=UTC)


@pytest.fixture
def app() -> App:
    return App("sqlite:///:memory:", settings=Settings())


@pytest.fixture
def orders(app: App) -> Topic[str]:
    return app.topic("orders", str)


@pytest.fixture
def payments(app: App) -> Pipeline:
    return app.pipeline("payments")


async def poll(ctx: ProducerContext, state: str | None) -> str:
    return "7"


async def note(ctx: NextContext, events: list[TopicEvent[str]]) -> None: ...


async def short(ctx: NextContext) -> None: ...


def plain(ctx: NextContext, events: list[TopicEvent[str]]) -> None: ...


async def generated(ctx: NextContext, events: list[TopicEvent[str]]) -> AsyncIterator[int]:
    yield 1


class Silent(Consumer[str, None]): ...


class Foreign:
    async def next(self, ctx: NextContext, prepared: object, result: None) -> None: ...


class Choosing(Consumer[str, None]):
    async def prepare(self, ctx: PrepareContext, state: object) -> windlass.Idle:
        return windlass.Idle()


class Blocking(Consumer[str, None]):
    def next(self, ctx: Any, prepared: Any, result: Any) -> None: ...  # type: ignore[override]


class Crooked(Consumer[str, None]):
    async def next(self, ctx: Any) -> None: ...  # type: ignore[override]


class Misspelt(Consumer[str, None]):
    async def next(self, ctx: Any, prepared: Any, result: Any) -> None: ...

    async def prepair(self, ctx: Any, state: Any) -> None: ...


class Plural(Choosing):
    async def mutates(self, ctx: Any, prepared: Any) -> None: ...


class Wanting(Consumer[str, None]):
    def __init__(self, url: str) -> None: ...

    async def next(self, ctx: Any, prepared: Any, result: Any) -> None: ...


class Unread(Consumer["Nowhere", None]):  # type: ignore[name-defined]
    async def next(self, ctx: Any, prepared: Any, result: Any) -> None: ...


def refused(make: Callable[[], object]) -> tuple[str, str, str]:
    """Reason, path and text. One line, whatever was given."""
    with pytest.raises(InvalidInput) as caught:
        make()
    assert "\n" not in str(caught.value)
    return caught.value.reason, caught.value.path, str(caught.value)


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        (plain, 'must be "async def"'),
        (short, "is called with ctx and events"),
        (generated, "A consumer is called and awaited, and generated"),
        (lambda ctx, events: None, 'A consumer is a function written with "async def"'),
        (7, "and 7 is none"),
        (Foreign, "class Foreign(windlass.Consumer["),
        (Consumer, "class Consumer(windlass.Consumer["),
        (Silent, "does nothing with its events"),
        (Blocking, 'must be "async def": whoever has ctx is async'),
        (Crooked, "is called with ctx and prepared and result"),
        (Misspelt, "has prepair, which is called by nobody. Did you mean prepare?"),
        (Plural, "has mutates, which is called by nobody. Did you mean mutate?"),
        (Wanting, "is made once, without arguments, and that raised TypeError"),
        (Unread, "'Nowhere' of what it prepares cannot be read here"),
    ],
)
def test_what_cannot_be_a_consumer_is_refused(
    app: App, payments: Pipeline, orders: Topic[str], handler: Any, text: str
) -> None:
    reason, _, found = refused(lambda: payments.consumer(orders)(handler))

    assert reason == "invalid_handler"
    assert text in found
    assert app._registry.handlers.pipelines == {}


def test_a_consumer_may_have_methods_of_its_own(payments: Pipeline, orders: Topic[str]) -> None:
    class Busy(Consumer[str, None]):
        async def next(self, ctx: Any, prepared: Any, result: Any) -> None: ...

        async def prepared(self) -> None: ...  # it takes nothing that a phase takes

        def mutates(self, ctx: Any, prepared: Any) -> None: ...  # a phase is async

        async def _prepare(self, ctx: Any, state: Any) -> None: ...

        async def look_up(self, ctx: Any, state: Any) -> None: ...

    payments.consumer(orders)(Busy)

    assert [handler.name for handler in payments.definition().spec.handlers] == ["Busy"]


@pytest.mark.parametrize(
    ("handler", "text"),
    [(plain, 'must be "async def"'), (short, "is called with ctx and state"), (Choosing, "A producer is a function")],
)
def test_what_cannot_be_a_producer_is_refused(payments: Pipeline, orders: Topic[str], handler: Any, text: str) -> None:
    assert text in refused(lambda: payments.producer(every="5m", publishes=[orders])(handler))[2]


@pytest.mark.parametrize(
    ("options", "reason", "path"),
    [
        ({}, "invalid_schedule", "cron"),
        ({"every": "5m", "cron": "* * * * *"}, "invalid_schedule", "cron"),
        ({"every": "-5m"}, "invalid_duration", "every"),
        ({"every": 0}, "invalid_schedule", "every"),
        ({"cron": "every day"}, "invalid_cron", "cron"),
        ({"cron": "0 9 * * *", "tz": "Mars/Base"}, "unknown_time_zone", "tz"),
    ],
)
def test_a_producer_without_good_times_is_refused(
    payments: Pipeline, orders: Topic[str], options: dict[str, Any], reason: str, path: str
) -> None:
    found = refused(lambda: payments.producer(**options, publishes=[orders])(poll))

    assert found[:2] == (reason, path), found


def test_a_producer_publishes_something_and_takes_its_times_by_name(payments: Pipeline) -> None:
    given: Any = "5m"

    assert refused(lambda: payments.producer(every="5m")(poll))[:2] == ("invalid_handler", "publishes")
    assert "every='5m'" in refused(lambda: payments.producer(given))[2]


@pytest.mark.spec("security:78")
def test_a_consumer_of_no_topic_is_refused(payments: Pipeline) -> None:
    bare: Any = payments.consumer

    assert refused(lambda: payments.consumer()(note))[:2] == ("invalid_handler", "topics")
    assert "note is no topic" in refused(lambda: bare(note))[2]


@pytest.mark.spec("security:78")
def test_a_topic_that_is_not_declared_here_is_refused(payments: Pipeline) -> None:
    other = App("sqlite:///:memory:", settings=Settings())
    named: Any = "ordersx"
    payments._registered.declare_topic("orders", str)

    with pytest.raises(NotFound, match=r"'elsewhere' does not exist. Declare it in this App with app.topic"):
        payments.consumer(other.topic("elsewhere", str))
    with pytest.raises(NotFound, match="Did you mean 'orders'"):
        payments.consumer(named)
    assert "this App declares" in refused(lambda: payments.consumer(other.topic("orders", int)))[2]


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"batch": 0}, "batch"),
        ({"batch": 1_001}, "batch"),
        ({"batch": True}, "batch"),
        ({"batch": 2}, "batch"),  # and chooses itself
        ({"publishes": "orders"}, "publishes"),
        ({"publishes": [7]}, "publishes"),
        ({"timeout": 0}, "timeout"),
        ({"name": "a b"}, "handler name"),
        ({"approval": "no"}, "approval"),
        ({"approval": 1}, "approval"),
        ({"approval": None}, "approval"),
    ],
)
def test_options_of_a_consumer_are_checked(
    app: App, payments: Pipeline, orders: Topic[str], options: dict[str, Any], path: str
) -> None:
    assert refused(lambda: payments.consumer(orders, **options)(Choosing))[1] == path
    assert app._registry.handlers.pipelines == {}


def test_a_consumer_that_publishes_has_something_that_does(payments: Pipeline, orders: Topic[str]) -> None:
    assert (
        "nothing that publishes. Write next"
        in refused(lambda: payments.consumer(orders, publishes=[orders])(Choosing))[2]
    )


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"queue": ""}, "queue"),
        ({"retry": 5}, "retry"),
        ({"retry": windlass.Retry(5, never=(ValueError,))}, "retry"),
        ({"visibility": "1ms"}, "visibility"),
        ({"version": "a b"}, "version"),
        ({"on_logic_error": 7}, "on_logic_error"),
        ({"on_attention": lambda: None}, "on_attention"),
    ],
)
def test_options_of_a_pipeline_are_checked(app: App, options: dict[str, Any], path: str) -> None:
    assert refused(lambda: app.pipeline("mail", **options))[1] == path
    assert app._registry.handlers.empty == ()


def test_a_time_out_is_shorter_than_the_visibility(app: App, orders: Topic[str]) -> None:
    mail = app.pipeline("mail", visibility="1m")

    assert refused(lambda: mail.consumer(orders, timeout="1m")(note))[1] == "timeout"


def test_two_pipelines_of_one_name_are_refused_with_both_places(app: App, payments: Pipeline) -> None:
    with pytest.raises(AlreadyExists, match=r"'payments' is declared twice: at .*py:\d+ and at .*py:\d+. Rename one"):
        app.pipeline("payments")


def test_two_handlers_of_one_name_are_refused_with_both_places(payments: Pipeline, orders: Topic[str]) -> None:
    payments.consumer(orders)(note)

    with pytest.raises(AlreadyExists, match=r"two handlers named 'note': at .*py:\d+ and at .*py:\d+."):
        payments.consumer(orders, name="note")(Choosing)
    assert [handler.name for handler in payments.definition().spec.handlers] == ["note"]
    assert not payments.definition().spec.handlers[0].prepares


def test_a_second_consumer_of_one_function_does_not_replace_the_first(app: App, payments: Pipeline) -> None:
    for other in (note, Choosing):
        payments.consumer(app.topic("refunds", str))(other)

        with pytest.raises(AlreadyExists) as caught:
            payments.consumer(app.topic("orders", str))(other)
        name = other.__name__
        assert f"Consumer {name!r} of pipeline 'payments' (test_bad_pipelines.py:" in str(caught.value)
        assert "Name all topics in one decorator, or give one of them name=." in str(caught.value)
        assert payments.definition().handlers[name].spec.topics == ("refunds",)
        payments.consumer(app.topic("orders", str), name=f"{name}-orders")(other)
        payments.consumer(app.topic("refunds", str))(other)  # as it was
    assert [*payments.definition().handlers] == ["note", "note-orders", "Choosing", "Choosing-orders"]


def test_a_second_consumer_behind_another_decorator_does_not_replace_the_first(app: App, payments: Pipeline) -> None:
    @functools.wraps(note)
    async def wrapped(*args: Any) -> None:
        await note(*args)

    payments.consumer(app.topic("refunds", str))(note)

    with pytest.raises(AlreadyExists, match="Name all topics in one decorator"):
        payments.consumer(app.topic("orders", str))(wrapped)


def test_a_second_producer_of_one_function_does_not_replace_the_first(payments: Pipeline, orders: Topic[str]) -> None:
    payments.producer(cron="0 9 * * *", publishes=[orders])(poll)

    with pytest.raises(AlreadyExists, match=r"Producer 'poll' .* is declared twice, .* Give one of them name=\.$"):
        payments.producer(cron="0 18 * * *", publishes=[orders])(poll)
    with pytest.raises(AlreadyExists, match=r"is declared twice, .* Give one of them name=\.$"):
        payments.consumer(orders)(poll)


def test_handlers_of_a_loop_do_not_replace_each_other(app: App, payments: Pipeline) -> None:
    def add(topic: Topic[str]) -> None:
        @payments.consumer(topic)
        async def take(ctx: NextContext, events: list[TopicEvent[str]]) -> None: ...

    add(app.topic("orders", str))
    add(app.topic("orders", str))  # the very same

    with pytest.raises(AlreadyExists, match=r"Consumer 'take' .* is declared twice"):
        add(app.topic("refunds", str))


def test_pipelines_of_one_function_do_not_replace_each_other(app: App) -> None:
    def make(topic: Topic[str], name: str) -> Pipeline:
        pipeline = app.pipeline("same")

        @pipeline.consumer(topic, name=name)
        async def take(ctx: NextContext, events: list[TopicEvent[str]]) -> None: ...

        return pipeline

    make(app.topic("orders", str), "orders")
    again = make(app.topic("orders", str), "orders")  # the very same

    assert [*again.definition().handlers] == ["orders"]
    for name in ("orders", "refunds"):
        with pytest.raises(AlreadyExists, match=r"Pipeline 'same' is made twice by the code at .*py:\d+, with other"):
            make(app.topic("refunds", str), name)


def test_a_topic_of_another_type_is_refused(app: App, orders: Topic[str]) -> None:
    with pytest.raises(AlreadyExists, match="Topic 'orders' is declared twice"):
        app.topic("orders", int)
    assert refused(lambda: app.topic("two words", str))[1] == "topic name"


@pytest.mark.parametrize("given", [5, True, "str", "Order", [str], {}, (str, int), len, poll, Ellipsis])
def test_a_topic_of_what_is_no_type_is_refused(app: App, given: Any) -> None:
    reason, path, text = refused(lambda: app.topic("mail", given))

    assert (reason, path) == ("invalid_argument", "type")
    assert "app.topic('mail', Order)" in text


@pytest.mark.parametrize(
    "given",
    [str, None, Any, object, list[str], dict[str, int], str | None, Literal["a"], Annotated[str, 5], UserId, Choosing],
)
def test_a_topic_has_any_type_there_is(app: App, given: Any) -> None:
    assert app.topic("mail", given).type is given


@pytest.mark.parametrize("batch", [1, 2])
def test_a_class_that_is_given_lists_says_so(payments: Pipeline, orders: Topic[str], batch: int) -> None:
    class One(Consumer[str, None]):
        async def next(self, ctx: Any, prepared: Any, result: Any) -> None: ...

    class Many(Consumer[list[str], None]):
        async def next(self, ctx: Any, prepared: Any, result: Any) -> None: ...

    class Whatever(Consumer[Any, None]):
        async def next(self, ctx: Any, prepared: Any, result: Any) -> None: ...

    if batch == 1:
        payments.consumer(orders)(One)
    else:
        reason, path, text = refused(lambda: payments.consumer(orders, batch=batch)(One))
        assert (reason, path) == ("invalid_handler", "batch")
        assert "with batch=2 is given lists, and its class says str. Write Consumer[list[str], …]." in text
        payments.consumer(orders, batch=batch)(Many)
    payments.consumer(orders, batch=batch)(Whatever)


def test_a_pipeline_without_handlers_has_no_definition(payments: Pipeline) -> None:
    assert "has no handlers" in refused(payments.definition)[2]


@pytest.mark.spec("security:72")
@pytest.mark.parametrize("events", [None, "7", 7, {}, [None], ["7"], {"topic": "orders", "ids": ["7"]}])
def test_what_can_not_be_reserved_is_refused_by_its_shape(events: Any) -> None:
    reason, path, text = refused(lambda: windlass.Reserve(events))

    assert (reason, path) == ("invalid_argument", "events")
    assert "an event or a list of events" in text


@pytest.mark.spec("security:72")
def test_unknown_keys_of_what_prepare_answers_are_refused() -> None:
    reserve: Any = windlass.Reserve
    event = TopicEvent(topic="orders", id="7", payload="7", created_at=AT)

    assert refused(lambda: reserve(event, ui={"subtitle": "7"}))[1] == "ui"
    assert refused(lambda: windlass.Idle(wake_at="2030-01-01T09:00:00Z", wake_in="1h"))[1] == "wake_in"
    with pytest.raises(TypeError, match="unexpected keyword argument 'reservations'"):
        reserve(event, reservations=[])


@pytest.mark.parametrize(
    "values", [("", "payment", "7"), ("stripe", "", "7"), ("stripe", "payment", ""), ("stripe", "payment", "x" * 256)]
)
def test_an_input_has_names_and_an_id(values: tuple[str, str, str]) -> None:
    refused(lambda: windlass.Input(*values))


@pytest.mark.parametrize(
    ("payload", "options", "path"),
    [
        (7, {"id": "7"}, "$.payload"),
        ("7", {"id": ""}, "id"),
        ("7", {"id": "x" * 256}, "id"),
        ("7", {"id": "7", "input": "inp_7"}, "input"),
    ],
)
async def test_nothing_bad_is_published(
    app: App, orders: Topic[str], payload: Any, options: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await app.publish(orders, payload, **options)

    assert caught.value.path == path
    assert not app._opening.is_open


def test_happened_wants_what_the_effect_would_have_returned() -> None:
    happened: Any = windlass.Happened

    with pytest.raises(TypeError, match="'result'"):
        happened()


@pytest.mark.parametrize(
    ("items", "path"),
    [("7", "items"), (7, "items"), (["7"], "items[0]"), ([("7", "7"), ("8", 8)], "items[1].$.payload")],
)
async def test_nothing_is_published_if_one_of_many_is_bad(app: App, orders: Topic[str], items: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await app.publish_many(orders, items)

    assert caught.value.path == path
    assert not app._opening.is_open
