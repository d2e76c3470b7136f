"""What is known about a function once it is declared as an effect, and what is refused?"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import windlass
from windlass import App, InvalidInput, NotFound, Retry, StepError
from windlass.define.effect import idempotency_key
from windlass.model.duration import to_duration
from windlass.settings import Settings


@dataclass
class Order:
    id: str


@pytest.fixture
def app() -> App:
    return App("sqlite:///:memory:", settings=Settings())


async def charge(order: Order, amount: int = 0) -> str:
    return order.id


def refund(id: str) -> int:
    return len(id)


def find(order: Order, amount: int = 0) -> windlass.Happened[str] | windlass.DidNotHappen | windlass.Unknown:
    return windlass.Happened(order.id)


def key_of(order: Order, amount: int = 0) -> str:
    return f"charge-{order.id}"


def refused(make: Callable[[], object]) -> tuple[str, str, str]:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert "\n" not in str(caught.value)
    return caught.value.reason, caught.value.path, str(caught.value)


def test_an_effect_is_known_by_its_function_and_its_name(app: App) -> None:
    decorated = app.effect(reconcile=find, key=key_of, retry=Retry(2), timeout="30s")(charge)

    definition = app._registry.handlers.find_effect(charge)
    assert decorated is charge
    assert app._registry.handlers.effect_of_name("charge") is definition
    assert (definition.function, definition.reconcile, definition.key) == (charge, find, key_of)
    assert (definition.argument_types, definition.required, definition.return_type) == ((Order, int), 1, str)
    assert definition.is_async
    assert definition.timeout_for == to_duration("30s")
    assert definition.argument_names == ("order", "amount")


def test_an_effect_says_what_it_returns(app: App) -> None:
    def untyped(order: Order):  # type: ignore[no-untyped-def]
        return order

    def unread(id: str) -> "Nowhere": ...  # type: ignore[name-defined]  # noqa: F821, UP037

    reason, path, text = refused(lambda: app.effect(untyped))
    assert (reason, path) == ("invalid_effect", "return")
    assert 'Write "-> Receipt", or "-> None"' in text
    reason, path, text = refused(lambda: app.effect(unread))
    assert (reason, path) == ("invalid_effect", "return")
    assert "Nowhere" in text and "cannot be read here" in text
    for function in (untyped, unread):
        assert app._registry.handlers.effect_or_none(function) is None


@pytest.mark.parametrize(("annotation", "expected"), [("None", type(None)), ("Any", Any), ("list[Order]", list[Order])])
def test_an_effect_may_return_nothing_or_anything_if_it_says_so(app: App, annotation: str, expected: Any) -> None:
    def act(id: str) -> Any: ...

    act.__annotations__["return"] = annotation
    app.effect(act)

    assert app._registry.handlers.find_effect(act).return_type == expected


def test_an_effect_may_be_a_plain_function_and_bare(app: App) -> None:
    assert app.effect(refund) is refund

    definition = app._registry.handlers.find_effect(refund)
    assert not definition.is_async
    assert definition.reconcile is None


def test_an_effect_is_a_step_too(app: App) -> None:
    app.effect(name="bill", retry=Retry(2), timeout="30s")(charge)

    step = app._registry.describe_step(charge)
    assert step.effect is app._registry.handlers.find_effect(charge)
    assert (step.name, step.retry, step.timeout_for) == ("bill", Retry(2), to_duration("30s"))
    assert app._registry.describe_step(refund).effect is None


def test_options_of_a_step_leave_the_effect(app: App) -> None:
    app.effect(charge)
    app.step(timeout="10s")(charge)

    step = app._registry.describe_step(charge)
    assert step.effect is not None
    assert step.timeout_for == to_duration("10s")


def test_an_effect_under_a_partial_is_refused_as_a_step(app: App) -> None:
    app.effect(refund)

    assert "ctx.step(refund, …)" in refused(lambda: app._registry.describe_step(functools.partial(refund, "7")))[2]


def test_an_effect_declared_anew_is_replaced(app: App) -> None:
    app.effect(name="first")(charge)
    app.effect(name="second")(charge)

    assert app._registry.handlers.effect_of_name("first") is None
    assert app._registry.handlers.find_effect(charge).name == "second"


def test_two_effects_of_one_name_are_refused(app: App) -> None:
    app.effect(charge)

    with pytest.raises(windlass.AlreadyExists, match="'charge' is declared twice"):
        app.effect(name="charge")(refund)
    assert app._registry.handlers.effect_or_none(refund) is None


def test_a_function_that_is_no_effect_is_not_found(app: App) -> None:
    with pytest.raises(NotFound, match=r"Declare charge \(test_effects.py:\d+\) with @app.effect"):
        app._registry.handlers.find_effect(charge)


def test_a_key_is_made_of_the_arguments(app: App) -> None:
    app.effect(key=key_of)(charge)
    app.effect(key=lambda id: None)(refund)  # type: ignore[arg-type, return-value]
    find_effect = app._registry.handlers.find_effect

    assert idempotency_key(find_effect(charge), [Order("7")]) == "charge-7"
    assert refused(lambda: idempotency_key(find_effect(refund), ["7"]))[1] == "key of effect 'refund'"


def test_without_a_key_of_its_own_there_is_none(app: App) -> None:
    app.effect(charge)

    assert idempotency_key(app._registry.handlers.find_effect(charge), [Order("7")]) is None


def generates() -> Iterator[int]:
    yield 1


def with_context(ctx: object) -> None: ...


def with_stars(*orders: Order) -> None: ...


def by_keyword(*, id: str) -> None: ...


async def async_key(order: Order, amount: int = 0) -> str:
    return order.id


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda: None, "this is a lambda"),
        (Order, "this is the class Order"),
        (generates, "this is a generator (generates)"),
        (functools.partial(refund, "7"), "this is a partial"),
        (7, "this is an int"),
        (with_context, "an effect gets none"),
        (with_stars, "Name each parameter"),
        (by_keyword, "arguments go by position"),
    ],
)
def test_what_cannot_be_an_effect_is_refused(app: App, function: Any, text: str) -> None:
    reason, _, found = refused(lambda: app.effect()(function))

    assert reason == "invalid_effect"
    assert text in found


@pytest.mark.parametrize(
    ("options", "path", "text"),
    [
        ({"reconcile": 7}, "reconcile", "takes a function, not 7"),
        ({"reconcile": refund}, "reconcile", "(order, amount), and refund takes others"),
        ({"reconcile": generates}, "reconcile", "not a generator"),
        ({"key": "order-7"}, "key", "takes a function, not 'order-7'"),
        ({"key": lambda: "7"}, "key", "takes others"),
        ({"key": async_key}, "key", "awaits nothing"),
        ({"retry": 3}, "retry", "windlass.Retry(3)"),
        ({"timeout": 0}, "timeout", ""),
        ({"name": "a b"}, "effect name", ""),
    ],
)
def test_options_of_an_effect_are_checked(app: App, options: dict[str, Any], path: str, text: str) -> None:
    _, found, message = refused(lambda: app.effect(**options)(charge))

    assert found == path
    assert text in message
    assert app._registry.handlers.effect_or_none(charge) is None


def test_what_mutate_answers_with_holds_function_arguments_and_title() -> None:
    effect = windlass.Effect(charge, Order("7"), 3, title="Charge order 7")

    assert (effect.function, effect.args, effect.title) == (charge, (Order("7"), 3), "Charge order 7")
    assert repr(effect) == "Effect(charge, 2 arguments)"


@pytest.mark.parametrize("args", [(), (1, 2, 3)])
def test_arguments_that_do_not_fit_are_refused_where_they_are_given(args: tuple[int, ...]) -> None:
    make: Any = windlass.Effect

    assert "charge(order, amount) cannot be called with" in refused(lambda: make(charge, *args))[2]


def test_the_result_of_an_effect_is_no_effect() -> None:
    make: Any = windlass.Effect

    assert "the function, not its result" in refused(lambda: make(charge(Order("7"))))[2]


def test_what_reconcile_answers_are_values() -> None:
    assert windlass.Happened(7) == windlass.Happened(7)
    assert windlass.DidNotHappen() == windlass.DidNotHappen()
    assert windlass.Unknown() == windlass.Unknown()


@pytest.mark.parametrize("said", [None, True, False])
def test_an_error_may_say_that_nothing_happened(said: bool | None) -> None:
    assert StepError("no", did_not_happen=said).did_not_happen is said
