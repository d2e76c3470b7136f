"""A start that is written down and not made yet: what `start_many` takes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Generic, TypeVar, TypeVarTuple, Unpack, cast, overload

from windlass.client.graphs import GraphResult
from windlass.define.context import Context
from windlass.define.graph import Graph
from windlass.define.options import StartOptions
from windlass.errors import InvalidInput

MAX_CALLS = 10_000

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class Call(Generic[R_co]):
    """One start of many: a workflow, its arguments, and the options `app.start` takes."""

    __slots__ = ("args", "function", "options")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], options: StartOptions) -> None:
        self.function, self.args, self.options = function, args, options

    def __repr__(self) -> str:
        return f"Call({getattr(self.function, '__name__', self.function)}, {len(self.args)} arguments)"


@overload
def call(graph: Graph, /, *args: Any, **options: Unpack[StartOptions]) -> Call[GraphResult]: ...


@overload
def call(
    fn: Callable[[Context, *Ts], Coroutine[Any, Any, R]], /, *args: *Ts, **options: Unpack[StartOptions]
) -> Call[R]: ...


def call(fn: Callable[..., Any], /, *args: *Ts, **options: Unpack[StartOptions]) -> Call[Any]:
    """Write down a start for `app.start_many`, with the options of `app.start`. Checks nothing yet.

    Example: `await app.start_many([windlass.call(order, id, key=f"order-{id}") for id in ids])`.
    """
    return Call(fn, args, options)


def check_calls(calls: Iterable[Call[R]]) -> list[Call[R]]:
    """As a list, if it is one of calls and not too long."""
    given: object = calls
    if not isinstance(given, Iterable):
        raise InvalidInput(
            "start_many() takes a list of calls, not one: app.start_many([windlass.call(order, '7'), …]).",
            reason="invalid_argument",
            path="calls",
        )
    listed: list[object] = list(given)
    if len(listed) > MAX_CALLS:
        raise InvalidInput(
            f"start_many() takes up to {MAX_CALLS:,} calls and got {len(listed):,}. Start them in several lots.",
            reason="too_many",
            path="calls",
        )
    for position, item in enumerate(listed):
        if not isinstance(item, Call):
            raise InvalidInput(
                f"start_many() takes a list of calls, and calls[{position}] is a {type(item).__name__}. "
                "Write: app.start_many([windlass.call(order, '7'), …]).",
                reason="invalid_argument",
                path=f"calls[{position}]",
            )
    return cast("list[Call[R]]", listed)
