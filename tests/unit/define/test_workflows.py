"""What may be declared as a workflow, under which name, and what its signature says."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from windlass.define.context import Context
from windlass.define.event import Event
from windlass.define.registry import Registry
from windlass.define.retry import Retry
from windlass.errors import AlreadyExists, InvalidInput, NotFound
from windlass.model.time import MINUTE
from windlass.model.worker import Served

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Item:
    name: str


@pytest.fixture
def registry() -> Registry:
    return Registry()


def line_of(function: Any) -> str:
    return f"test_workflows.py:{function.__code__.co_firstlineno}"


def test_a_workflow_is_known_by_function_and_by_name(registry: Registry) -> None:
    async def order(ctx: Context, id: str, count: int = 1) -> Item:
        return Item(id)

    declared = registry.declare_workflow(order, queue="shop", version="2", retry=Retry(5), visibility="1m")

    assert registry.find_workflow(order) is registry.find_workflow("order") is declared
    assert (declared.argument_names, declared.argument_types, declared.required) == (("id", "count"), (str, int), 1)
    assert (declared.return_type, declared.location) == (Item, line_of(order))
    assert (declared.queue, declared.version, declared.visibility_for) == ("shop", "2", MINUTE)


def test_types_of_an_enclosing_function_are_read_through_its_locals(registry: Registry) -> None:
    @dataclass
    class Inner:
        value: int

    async def order(ctx: Context, inner: Inner) -> Inner:
        return inner

    declared = registry.declare_workflow(order, local=locals())

    assert (declared.argument_types, declared.return_type) == ((Inner,), Inner)


def test_an_argument_type_that_cannot_be_read_is_refused_rather_than_guessed(registry: Registry) -> None:
    async def order(ctx: Context, price: Decimal) -> None: ...

    with pytest.raises(InvalidInput, match="'Decimal' of 'price' cannot be read") as refused:
        registry.declare_workflow(order)
    assert (refused.value.reason, refused.value.path) == ("invalid_workflow", "price")


def test_a_sync_workflow_reads_as_error_3(registry: Registry) -> None:
    def order(ctx: Context) -> None: ...

    with pytest.raises(InvalidInput) as refused:
        registry.declare_workflow(order)
    expected = f"Workflow 'order' ({line_of(order)}) must be \"async def\". Its steps may be plain functions."
    assert (str(refused.value), refused.value.reason) == (expected, "invalid_workflow")


def generator(ctx: Context) -> Iterator[int]:
    yield 1


async def async_generator(ctx: Context) -> AsyncIterator[int]:
    yield 1


async def plain(ctx: Context) -> None: ...


class Callable:
    async def __call__(self, ctx: Context) -> None: ...


@pytest.mark.spec("security:8")
@pytest.mark.parametrize(
    "wrong",
    [None, 3, "order", generator, async_generator, lambda ctx: None, Item, Callable(), functools.partial(plain), print],
)
def test_what_is_no_function_is_refused_at_decoration(registry: Registry, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match='written with "async def"') as refused:
        registry.declare_workflow(wrong)
    assert refused.value.reason == "invalid_workflow"


async def without_context() -> None: ...


async def with_self(self: Any, id: str) -> None: ...


async def with_keywords_only(*, ctx: Context) -> None: ...


@pytest.mark.parametrize("wrong", [without_context, with_self, with_keywords_only])
def test_ctx_comes_first(registry: Registry, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="must take ctx first: async def") as refused:
        registry.declare_workflow(wrong)
    assert refused.value.reason == "invalid_workflow"


async def with_stars(ctx: Context, *ids: str) -> None: ...


async def with_double_stars(ctx: Context, **ids: str) -> None: ...


async def with_a_keyword(ctx: Context, *, region: str) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (with_stars, r"takes \*ids"),
        (with_double_stars, r"takes \*\*ids"),
        (with_a_keyword, "wants 'region' by keyword"),
    ],
)
def test_parameters_that_no_position_reaches_are_refused(registry: Registry, wrong: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        registry.declare_workflow(wrong)


def test_a_keyword_with_a_default_stays_out_of_the_arguments(registry: Registry) -> None:
    async def order(context: Context, id: str, *, region: str = "eu") -> None: ...

    assert registry.declare_workflow(order).argument_names == ("id",)


@pytest.mark.spec("security:1", "security:2", "security:3", "security:4", "security:5")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "invalid_name"),
        ("   ", "invalid_name"),
        ("x" * 201, "invalid_name"),
        ("a/b", "invalid_name"),
        ("a..b", "invalid_name"),
        ("a\\b", "invalid_name"),
        ("a\nb", "invalid_name"),
        ("a\0b", "invalid_name"),
        ("a\ud800", "invalid_text"),
        ("a\u202eb", "invalid_name"),
        ("a\u200bb", "invalid_name"),
        (3, "invalid_name"),
    ],
)
def test_bad_names_are_refused_at_declaration(registry: Registry, name: Any, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        registry.declare_workflow(plain, name=name)
    assert refused.value.reason == reason
    assert registry.workflows == ()


@pytest.mark.spec("security:11")
@pytest.mark.parametrize("name", ["health", "ready", "__init__", "constructor", "null"])
def test_names_that_mean_something_elsewhere_mean_nothing_here(registry: Registry, name: str) -> None:
    assert registry.declare_workflow(plain, name=name).name == name


def make_order() -> Any:
    async def order(ctx: Context) -> None: ...

    return order


def test_declaring_the_same_function_again_replaces(registry: Registry) -> None:
    first, second = make_order(), make_order()
    registry.declare_workflow(first)

    registry.declare_workflow(second, queue="shop")

    assert [(item.function, item.queue) for item in registry.workflows] == [(second, "shop")]


@pytest.mark.spec("security:7")
def test_another_function_under_that_name_is_refused_with_both_places(registry: Registry) -> None:
    async def order(ctx: Context) -> None: ...

    registry.declare_workflow(plain, name="order")

    with pytest.raises(AlreadyExists) as refused:
        registry.declare_workflow(order)
    assert refused.value.reason == "already_registered"
    assert line_of(plain) in str(refused.value)
    assert line_of(order) in str(refused.value)


def test_versions_of_one_name_stand_side_by_side_and_the_last_one_is_meant_by_the_name(registry: Registry) -> None:
    async def order_of_today(ctx: Context) -> None: ...

    old = registry.declare_workflow(plain, name="order", version="1")
    new = registry.declare_workflow(order_of_today, name="order", version="2")

    assert registry.workflows == (old, new)
    assert (registry.find_workflow(plain), registry.find_workflow(order_of_today)) == (old, new)
    assert registry.find_workflow("order") is registry.workflow_or_none("order") is new
    assert registry.workflow_or_none("order", "1") is old
    assert registry.workflow_or_none("order", "2") is new
    assert registry.workflow_or_none("order", "") is None
    assert registry.workflow_or_none("invoice", "1") is None
    assert registry.served(["shop"]) == (Served("shop", "order", "1"), Served("shop", "order", "2"))


def test_a_version_that_is_declared_again_replaces_only_itself(registry: Registry) -> None:
    first, second, third = make_order(), make_order(), make_order()
    registry.declare_workflow(first, version="1")
    registry.declare_workflow(second, version="2")
    registry.declare_workflow(third, version="2", queue="shop")

    assert [(item.function, item.version) for item in registry.workflows] == [(first, "1"), (third, "2")]
    assert registry.find_workflow(first).version == "1"
    assert registry.find_workflow(second).function is third
    assert registry.is_workflow(second)


@pytest.mark.spec("security:7")
def test_another_function_under_the_same_name_and_version_is_refused(registry: Registry) -> None:
    registry.declare_workflow(plain, name="order", version="1")

    with pytest.raises(AlreadyExists, match="Workflow 'order' is declared twice"):
        registry.declare_workflow(make_order(), version="1")
    assert registry.declare_workflow(make_order(), version="2").version == "2"


@pytest.mark.parametrize(
    ("first", "second"),
    [(str, int), (list[str], list[int]), (list[str], tuple[str]), (str | None, str), (Item, str), (Any, str)],
)
def test_an_event_has_one_type(registry: Registry, first: Any, second: Any) -> None:
    declared = registry.declare_event("replied", first)

    with pytest.raises(AlreadyExists, match="Event 'replied' is declared twice") as refused:
        registry.declare_event("replied", second)

    assert (refused.value.reason, refused.value.owner) == ("already_registered", "replied")
    assert registry.find_event("replied") is declared
    assert registry.declare_event("replied", first) is declared


@pytest.mark.parametrize(
    "shape", [lambda kind: kind, list.__class_getitem__, lambda kind: dict.__class_getitem__((str, kind | None))]
)
def test_an_event_follows_a_class_that_was_made_anew(registry: Registry, shape: Any) -> None:
    first, second = make_class(), make_class()
    registry.declare_event("replied", shape(first))

    registry.declare_event("replied", shape(second))

    assert registry.find_event("replied").type == shape(second)


def make_class() -> Any:
    @dataclass
    class Reply:
        text: str

    return Reply


def test_an_unknown_event_is_answered_with_names_that_look_alike(registry: Registry) -> None:
    registry.declare_event("replied", str)

    with pytest.raises(NotFound, match=r"Event 'relied' does not exist. Did you mean 'replied'\? Declare it with"):
        registry.find_event("relied")


@pytest.mark.spec("security:6")
def test_names_that_differ_only_in_composition_are_one(registry: Registry) -> None:
    async def other(ctx: Context) -> None: ...

    registry.declare_workflow(plain, name="caf\u00e9")

    with pytest.raises(AlreadyExists):
        registry.declare_workflow(other, name="cafe\u0301")


def test_an_unknown_workflow_is_answered_with_names_that_look_alike(registry: Registry) -> None:
    registry.declare_workflow(plain, name="order")

    with pytest.raises(NotFound, match=r"Workflow 'oder' does not exist. Did you mean 'order'\?") as missing:
        registry.find_workflow("oder")
    assert missing.value.close == ("order",)


def test_a_function_that_was_not_declared_says_how_to(registry: Registry) -> None:
    async def simple(ctx: Context) -> None: ...

    with pytest.raises(NotFound, match=r"Declare simple \(test_workflows.py:\d+\) with @app.workflow"):
        registry.find_workflow(simple)


def test_a_function_that_another_app_has_declared_is_said_so(registry: Registry) -> None:
    Registry().declare_workflow(plain)

    with pytest.raises(NotFound) as missing:
        registry.find_workflow(plain)

    assert str(missing.value) == (
        f"Workflow 'plain' does not exist. plain ({line_of(plain)}) is declared in another App: "
        "ask that one, or declare it in this one too."
    )


@pytest.mark.filterwarnings("error")
def test_what_a_workflow_returned_is_no_workflow(registry: Registry) -> None:
    with pytest.raises(InvalidInput) as refused:
        registry.find_workflow(plain(None), verb="app.start")  # type: ignore[arg-type]

    assert str(refused.value) == (
        "app.start() takes the function, not its result: app.start(plain, …), without calling it."
    )


@pytest.mark.parametrize("wrong", [None, 7, Item, functools.partial(print), len])
def test_what_is_no_function_of_python_is_no_workflow(registry: Registry, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r"app.start\(\) takes the function of a workflow, not "):
        registry.find_workflow(wrong, verb="app.start")


def test_an_event_of_another_app_is_taken_if_it_is_declared_here_alike(registry: Registry) -> None:
    declared = registry.declare_event("paid", int)
    alike, other, unknown = Event[Any]("paid", int), Event[Any]("paid", str), Event[Any]("piad", int)

    assert registry.find_event(declared) is declared
    assert registry.find_event(alike).type is int
    with pytest.raises(InvalidInput) as refused:
        registry.find_event(other)
    with pytest.raises(NotFound, match=r"Event 'piad' does not exist. Did you mean 'paid'\? Declare it with app.event"):
        registry.find_event(unknown)

    assert str(refused.value) == (
        "send() got Event('paid', str), and this App declares Event('paid', int). Use the one that app.event() gave."
    )


@pytest.mark.parametrize("wrong", [None, 7, str])
def test_what_is_no_event_is_refused(registry: Registry, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r"send\(\) takes an event, not \w+: replied = app.event"):
        registry.find_event(wrong)


def test_a_worker_serves_every_workflow_in_each_of_its_queues(registry: Registry) -> None:
    registry.declare_workflow(plain)
    registry.declare_workflow(make_order(), version="2", queue="shop")

    served = registry.served(["shop", "default"])

    assert served == (
        Served("default", "order", "2"),
        Served("default", "plain"),
        Served("shop", "order", "2"),
        Served("shop", "plain"),
    )


@pytest.mark.parametrize(
    "options",
    [{"visibility": "0s"}, {"visibility": "25h"}, {"retry": 3}, {"queue": ""}, {"version": "a b"}],
)
def test_bad_options_are_refused_at_declaration(registry: Registry, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        registry.declare_workflow(plain, **options)
