"""A consumer as users write it: a class with up to three phases, or a function over events, which is the last of them.

prepare(ctx, state)            chooses events: Reserve or Idle      without it: the oldest events, `batch` at a time
mutate(ctx, prepared)          answers with the one effect          without it: none
next(ctx, prepared, result)    publishes, and returns the state     without it: the events are consumed
"""

from __future__ import annotations

import difflib
import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

from windlass.define import signature
from windlass.define.effect import Effect
from windlass.define.handler_code import Source, read_class, read_function
from windlass.define.options import shorten
from windlass.define.pipeline_context import MutateContext, NextContext, PrepareContext
from windlass.define.pipeline_values import Idle, Prepared, Reserve
from windlass.errors import InvalidInput

In = TypeVar("In")
Result = TypeVar("Result")

PHASES = {"prepare": ("ctx", "state"), "mutate": ("ctx", "prepared"), "next": ("ctx", "prepared", "result")}


class Consumer(Generic[In, Result]):
    """The base of a consumer with an outside effect. `In` is what it prepares, `Result` what its effect returns.

    Example::

        @payments.consumer(orders, publishes=[done])
        class Charge(windlass.Consumer[Order, Receipt]):
            async def mutate(
                self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
            ) -> windlass.Effect[Receipt]:
                return windlass.Effect(charge, prepared.data)

            async def next(
                self, ctx: windlass.NextContext, prepared: windlass.Prepared[Order], receipt: Receipt | None
            ) -> None:
                if receipt is not None:
                    ctx.publish(done, receipt, id=receipt.id)
    """

    async def prepare(self, ctx: PrepareContext, state: Any, /) -> Reserve | Idle:
        """Choose events. Executed as often as need be, so it changes nothing."""
        raise NotImplementedError

    async def mutate(self, ctx: MutateContext, prepared: Prepared[In], /) -> Effect[Result] | None:
        """Answer with the effect, which is called when this has returned, or with None. Executed only with events."""
        raise NotImplementedError

    async def next(self, ctx: NextContext, prepared: Prepared[In], result: Result | None, /) -> Any:
        """Publish, and return the new state, or None to keep it. `result` is None if there was no effect.

        Executed again if it fails, and the effect is not.
        """
        raise NotImplementedError


class Read(Struct, frozen=True, kw_only=True):
    """What the code of a handler says."""

    source: Source
    produce: Callable[..., Any] | None = None
    prepare: Callable[..., Any] | None = None
    mutate: Callable[..., Any] | None = None
    next: Callable[..., Any] | None = None
    takes_events: bool = False
    state_type: Any = Any
    data_type: Any = Any


def check_handler(handler: object, *, kind: str) -> types.FunctionType | type[Consumer[Any, Any]]:
    """What may be a handler at all. Raises InvalidInput."""
    if isinstance(handler, types.FunctionType) and not signature.is_generator(handler):
        if handler.__name__ != "<lambda>":
            return handler
    elif isinstance(handler, type) and kind == "consumer":
        if issubclass(handler, Consumer) and handler is not Consumer:
            return handler
        raise InvalidInput(
            f"{handler.__name__} is no consumer. Write: class {handler.__name__}(windlass.Consumer[Order, Receipt]).",
            reason="invalid_handler",
        )
    also = ", or a class" if kind == "consumer" else ""
    what = shorten(handler) if not callable(handler) else getattr(handler, "__name__", type(handler).__name__)
    where = f" ({found})" if (found := signature.locate(handler)) else ""
    if signature.is_generator(handler):
        text = f"A {kind} is called and awaited, and {what}{where} yields. Publish with ctx.publish, and return."
        raise InvalidInput(text, reason="invalid_handler")
    raise InvalidInput(
        f'A {kind} is a function written with "async def"{also}, and {what}{where} is none.', reason="invalid_handler"
    )


def read_producer(function: types.FunctionType, *, name: str, local: Mapping[str, Any] | None) -> Read:
    source = read_function(function)
    whose = f"Producer {name!r} ({source.location})"
    _check_phase(function, function.__name__, ("ctx", "state"), whose=whose)
    state = _state_of(function, 1, whose=whose, local=local)
    if state is None:
        state = _returned(function, whose=whose, local=local)
    return Read(source=source, produce=function, state_type=Any if state is None else state)


def read_function_over_events(function: types.FunctionType, *, name: str) -> Read:
    source = read_function(function)
    whose = f"Consumer {name!r} ({source.location})"
    _check_phase(function, function.__name__, ("ctx", "events"), whose=whose)
    return Read(source=source, next=function, takes_events=True)


def read_consumer(cls: type[Consumer[Any, Any]], *, name: str, local: Mapping[str, Any] | None) -> Read:
    """Raises InvalidInput for a class that cannot be made, or whose methods are not as they are called."""
    source = read_class(cls, above=Consumer)
    whose = f"Consumer {name!r} ({source.location})"
    instance = _make(cls, whose)
    methods: dict[str, Callable[..., Any]] = {}
    for phase, arguments in PHASES.items():
        if getattr(cls, phase) is not getattr(Consumer, phase):
            methods[phase] = getattr(instance, phase)
            _check_phase(methods[phase], phase, arguments, whose=whose)
    _refuse_misspelt(cls, methods, whose=whose)
    if not methods:
        raise InvalidInput(
            f"{whose} does nothing with its events. Write prepare, mutate or next.", reason="invalid_handler"
        )
    state = None
    if "prepare" in methods:
        state = _state_of(_plain(methods["prepare"]), 2, whose=whose, local=local)
    if state is None and "next" in methods:
        state = _returned(_plain(methods["next"]), whose=whose, local=local)
    return Read(
        source=source,
        prepare=methods.get("prepare"),
        mutate=methods.get("mutate"),
        next=methods.get("next"),
        state_type=Any if state is None else state,
        data_type=_data_type(cls, whose=whose, local=local),
    )


def _make(cls: type[Consumer[Any, Any]], whose: str) -> Consumer[Any, Any]:
    try:
        return cls()
    except Exception as error:  # code of the user's: it may raise anything
        raised = f"{type(error).__name__}: {shorten(str(error), to=200)}"
        raise InvalidInput(
            f"{whose} is made once, without arguments, and that raised {raised}.",
            reason="invalid_handler",
        ) from None


def _refuse_misspelt(cls: type, methods: Collection[str], *, whose: str) -> None:
    """A phase under another name would never be called, and nobody would hear of it."""
    missing = [phase for phase in PHASES if phase not in methods]
    for name in (name for name in dir(cls) if not name.startswith("_") and name not in PHASES):
        for phase in difflib.get_close_matches(name.lower(), missing, n=1, cutoff=0.75):
            method = getattr(cls, name)
            if inspect.iscoroutinefunction(method) and signature.takes(method, 1 + len(PHASES[phase])):
                raise InvalidInput(
                    f"{whose} has {name}, which is called by nobody. Did you mean {phase}? Else begin its name with "
                    "an underscore.",
                    reason="invalid_handler",
                    path=name,
                )


def _check_phase(method: Callable[..., Any], phase: str, arguments: tuple[str, ...], *, whose: str) -> None:
    shown = f"async def {phase}({', '.join(arguments)})"
    if signature.is_generator(method):
        text = f"{phase} of {whose} is called and awaited, and yields. Return what it answers with."
    elif not inspect.iscoroutinefunction(method):
        text = f'{phase} of {whose} must be "async def": whoever has ctx is async. Effects may be plain functions.'
    elif not signature.takes(method, len(arguments)):
        text = f"{phase} of {whose} is called with {' and '.join(arguments)}: {shown}."
    else:
        return
    raise InvalidInput(text, reason="invalid_handler", path=phase)


def _plain(method: Callable[..., Any]) -> types.FunctionType | None:
    found = signature.unwrap(method)
    return found if isinstance(found, types.FunctionType) else None


def _state_of(
    function: types.FunctionType | None, position: int, *, whose: str, local: Mapping[str, Any] | None
) -> Any | None:
    """What the parameter of the state declares; None if it declares nothing."""
    names = [] if function is None else [*inspect.signature(function).parameters]
    if function is None or len(names) <= position or names[position] not in function.__annotations__:
        return None
    return signature.read_argument_type(function, names[position], whose=whose, local=local, reason="invalid_handler")


def _returned(function: types.FunctionType | None, *, whose: str, local: Mapping[str, Any] | None) -> Any | None:
    if function is None or "return" not in function.__annotations__:
        return None
    found = signature.read_argument_type(function, "return", whose=whose, local=local, reason="invalid_handler")
    return None if found is types.NoneType else found


def _data_type(cls: type, *, whose: str, local: Mapping[str, Any] | None) -> Any:
    arguments = _type_arguments(cls)
    given = arguments[0] if arguments else Any
    if isinstance(given, TypeVar):
        return Any
    found = signature.resolve_type(cls, given, local=local)
    if found is signature.UNRESOLVED:
        shown = getattr(given, "__forward_arg__", given)
        raise InvalidInput(
            f"{whose}: the type {shown!r} of what it prepares cannot be read here. Define or import it above the "
            "class.",
            reason="invalid_handler",
        )
    return Any if getattr(found, "__parameters__", ()) and not isinstance(found, type) else found


def _type_arguments(cls: type) -> tuple[Any, ...]:
    """With what `Consumer[…]` stands above this class, also through generic classes between them."""
    for base in vars(cls).get("__orig_bases__", cls.__bases__):
        origin, arguments = typing.get_origin(base) or base, typing.get_args(base)
        if origin is Consumer:
            return arguments
        if isinstance(origin, type) and issubclass(origin, Consumer):
            given = dict(zip(getattr(origin, "__parameters__", ()), arguments, strict=False))
            return tuple(
                given.get(item, item) if isinstance(item, TypeVar) else item for item in _type_arguments(origin)
            )
    return ()
