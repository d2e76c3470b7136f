"""What may be a step, what it is called, and which options it takes."""

from __future__ import annotations

import functools
import gc
import operator
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from windlass.define.context import Context
from windlass.define.current import STEP, StepInfo, current_step
from windlass.define.options import MAP_OPTIONS, START_OPTIONS, refuse_unknown_options
from windlass.define.registry import Registry
from windlass.define.retry import Retry
from windlass.errors import AlreadyExists, InvalidInput, NotAllowed
from windlass.model.time import MINUTE, SECOND


@dataclass
class User:
    id: int


def fetch(region: str) -> User:
    return User(len(region))


async def fetch_later(id: int) -> list[User]:
    return [User(id)]


def bare(id):  # type: ignore[no-untyped-def]
    return id


class Mailer:
    async def send(self, to: str) -> int:
        return len(to)

    def __call__(self, to: str) -> bytes:
        return to.encode()


class AsyncMailer:
    async def __call__(self, to: str) -> bytes:
        return to.encode()


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.mark.parametrize(
    ("function", "name", "return_type", "declares_return", "is_async"),
    [
        (fetch, "fetch", User, True, False),
        (fetch_later, "fetch_later", list[User], True, True),
        (bare, "bare", Any, False, False),
        (print, "print", Any, False, False),
        (functools.partial(fetch, "eu"), "fetch", User, True, False),
        (functools.partial(functools.partial(fetch_later), 1), "fetch_later", list[User], True, True),
        (Mailer().send, "send", int, True, True),
        (Mailer(), "Mailer", bytes, True, False),
        (AsyncMailer(), "AsyncMailer", bytes, True, True),
        (operator.itemgetter(1), "itemgetter", Any, False, False),
        (User, "User", User, True, False),
    ],
)
def test_any_callable_can_be_a_step(
    registry: Registry, function: Any, name: str, return_type: Any, declares_return: bool, is_async: bool
) -> None:
    for _ in range(2):  # read, then remembered
        found = registry.describe_step(function)

        assert found.function is function or found.function == function
        assert (found.name, found.return_type, found.declares_return) == (name, return_type, declares_return)
        assert found.is_async is is_async


def test_a_partial_of_a_method_keeps_its_own_arguments(registry: Registry) -> None:
    first, second = functools.partial(fetch, "eu"), functools.partial(fetch, "us")

    assert registry.describe_step(first).function is first
    assert registry.describe_step(second).function is second


def test_a_lambda_needs_a_name(registry: Registry) -> None:
    double: Any = lambda: 2  # noqa: E731

    with pytest.raises(InvalidInput, match=r"A lambda \(test_steps.py:\d+\) has no name") as refused:
        registry.describe_step(double)
    assert refused.value.path == "name"
    assert registry.describe_step(double, name="double").name == "double"
    with pytest.raises(InvalidInput):  # the name belonged to that call only
        registry.describe_step(double)


def test_a_name_no_step_can_have_is_cleaned(registry: Registry) -> None:
    def odd() -> None: ...

    odd.__name__ = "<fetch>/all users"

    assert registry.describe_step(odd).name == "fetch_all_users"


def generator() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize("wrong", [None, 3, "fetch", generator, functools.partial(generator)])
def test_what_cannot_be_a_step_is_refused(registry: Registry, wrong: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        registry.describe_step(wrong)
    assert refused.value.reason == "invalid_step"


def test_a_wrapper_of_a_generator_is_no_generator(registry: Registry) -> None:
    @contextmanager
    def opened() -> Iterator[int]:
        yield 1

    assert registry.describe_step(opened).name == "opened"


def test_calling_the_function_instead_of_passing_it_is_explained(registry: Registry) -> None:
    with pytest.raises(InvalidInput, match=r"takes the function, not its result: ctx.step\(fetch_later, …\)"):
        registry.describe_step(fetch_later(1))  # type: ignore[arg-type]


def test_a_workflow_is_no_step(registry: Registry) -> None:
    async def order(ctx: Context) -> None: ...

    registry.declare_workflow(order)

    with pytest.raises(InvalidInput, match="order is a workflow"):
        registry.describe_step(order)


def test_declared_options_hold_wherever_the_function_is_called(registry: Registry) -> None:
    registry.describe_step(fetch)  # remembered without options, which must not last
    registry.declare_step(fetch, name="user", retry=Retry(7), timeout="30s", visibility="1m", raises=(KeyError,))

    for function in (fetch, functools.partial(fetch, "eu")):
        found = registry.describe_step(function)
        assert (found.name, found.retry, found.raises) == ("user", Retry(7), (KeyError,))
        assert (found.timeout_for, found.visibility_for) == (30 * SECOND, MINUTE)


def test_options_of_a_call_win_over_declared_ones(registry: Registry) -> None:
    declared = registry.declare_step(fetch, retry=Retry(7), timeout="30s")

    called = declared.with_options({"key": "a", "retry": Retry(2), "timeout": None})

    assert (called.retry, called.timeout_for, called.name) == (Retry(2), 30 * SECOND, "fetch")
    assert declared.with_options({"key": "a"}) is declared


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"retry": 5}, "retry"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"visibility": "1ms"}, "visibility"),
        ({"raises": KeyError}, "raises"),
        ({"raises": ("KeyError",)}, "raises"),
        ({"name": "a/b"}, "step name"),
    ],
)
def test_bad_options_of_a_step_are_refused(registry: Registry, options: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        registry.describe_step(fetch).with_options(options)
    assert refused.value.path == path


def test_two_functions_cannot_declare_one_step_name(registry: Registry) -> None:
    registry.declare_step(fetch, name="user")

    with pytest.raises(AlreadyExists, match=r"Step 'user' is declared twice: at test_steps.py:\d+") as refused:
        registry.declare_step(fetch_later, name="user")
    assert refused.value.reason == "already_registered"
    registry.declare_step(fetch, name="person")
    registry.declare_step(fetch_later, name="user")  # free again


def test_a_function_made_at_every_replay_is_not_kept(registry: Registry) -> None:
    def make() -> Any:
        def inner() -> int:
            return 1

        return inner

    function = make()
    registry.describe_step(function)
    seen = weakref.ref(function)

    del function
    gc.collect()

    assert seen() is None


def test_an_unknown_option_reads_as_error_4() -> None:
    with pytest.raises(InvalidInput) as refused:
        refuse_unknown_options({"key": "a", "region": "eu"}, verb="step", function=fetch)
    assert str(refused.value) == (
        "step() has no option 'region'. Arguments of fetch go by position: ctx.step(fetch, 'eu'), "
        "or functools.partial(fetch, region='eu'). Options: key, name, retry, timeout, visibility."
    )
    assert (refused.value.reason, refused.value.path) == ("unknown_option", "region")


def test_a_misspelt_option_is_answered_with_the_right_one() -> None:
    with pytest.raises(InvalidInput, match=r"step\(\) has no option 'retries'. Did you mean 'retry'\?"):
        refuse_unknown_options({"retries": 3}, verb="step", function=fetch)


def test_start_and_map_name_their_own_options() -> None:
    with pytest.raises(InvalidInput, match=r"app.start\(fetch, 1, 'eu'\). Options: key, delay, at, priority, queue."):
        refuse_unknown_options({"region": "eu"}, verb="start", function=fetch, args=(1,), allowed=START_OPTIONS)
    with pytest.raises(InvalidInput, match=r"the same for all items go by functools.partial"):
        refuse_unknown_options({"region": "eu"}, verb="map", function=fetch, allowed=MAP_OPTIONS)
    refuse_unknown_options({"limit": 3, "raises": (KeyError,)}, verb="map", function=fetch, allowed=MAP_OPTIONS)


def test_a_value_that_cannot_be_shown_does_not_hide_the_message() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(InvalidInput, match="<Odd>"):
        refuse_unknown_options({"region": Odd()}, verb="step", function=fetch)


def test_current_step_is_for_steps_only() -> None:
    with pytest.raises(NotAllowed, match="no step is running here"):
        current_step()

    info = StepInfo(key="fetch#2", name="fetch", attempt=1, run_id="run_x", idempotency_key="k")
    token = STEP.set(info)
    assert current_step() is info
    STEP.reset(token)
