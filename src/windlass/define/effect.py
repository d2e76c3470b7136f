"""One call to the outside world, as users declare it and ask for it: what it takes, and how to find out if it happened.

@app.effect(reconcile=find_charge)          declares; the function stays as it is
await ctx.step(charge, order)               in a workflow: a step whose start is written before the call
return windlass.Effect(charge, order)       in `mutate` of a consumer: called by the worker, behind `mutate`
Happened(result) · DidNotHappen() · Unknown()   what `reconcile` answers
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, TypeVarTuple, overload

from msgspec import Struct

from windlass.define import signature
from windlass.define.handler_definition import EffectDefinition
from windlass.define.options import DurationLike, shorten
from windlass.define.retry import Retry
from windlass.define.workflow import check_retry_option
from windlass.define.workflows import refuse_result
from windlass.errors import InvalidInput
from windlass.model.duration import to_duration
from windlass.rules.limits import MAX_TITLE, check_key, check_name, check_note

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Ts = TypeVarTuple("Ts")


class Effect(Generic[R_co]):
    """The one outside effect of a consumer's run: `return windlass.Effect(charge, prepared.data)` in `mutate`.

    The function is one declared with `@app.effect`. It is called when `mutate` has returned, with these arguments;
    `title` is for people.
    """

    __slots__ = ("args", "function", "title")

    @overload
    def __init__(self: Effect[R], function: Callable[[*Ts], Awaitable[R]], /, *args: *Ts, title: str = "") -> None: ...

    @overload
    def __init__(self: Effect[R], function: Callable[[*Ts], R], /, *args: *Ts, title: str = "") -> None: ...

    def __init__(self, function: Callable[..., Any], /, *args: *Ts, title: str = "") -> None:
        _check_function(function, "windlass.Effect()")
        _check_fit(function, args)
        self.function, self.args = function, args
        self.title = check_note(title, what="title", longest=MAX_TITLE) or ""

    def __repr__(self) -> str:
        return f"Effect({self.function.__name__}, {len(self.args)} arguments)"


class Happened(Struct, Generic[R_co], frozen=True):
    """What `reconcile` answers when the effect took place, with what it would have returned."""

    result: R_co


class DidNotHappen(Struct, frozen=True):
    """What `reconcile` answers when nothing took place, for certain: the effect may be tried again."""


class Unknown(Struct, frozen=True):
    """What `reconcile` answers when it cannot tell yet: it is asked again after a while."""


def read_effect(
    function: object,
    *,
    name: str | None = None,
    reconcile: Callable[..., Any] | None = None,
    key: Callable[..., Any] | None = None,
    retry: Retry | None = None,
    timeout: DurationLike | None = None,
    local: Mapping[str, Any] | None = None,
) -> EffectDefinition:
    """What a function and its options say, checked. Raises InvalidInput for what cannot be an effect."""
    plain = _check_function(function, "app.effect")
    name = check_name(signature.step_name(plain) if name is None else name, what="effect name")
    location = signature.locate(plain)
    whose = f"Effect {name!r} ({location})"
    parameters = signature.read_effect(plain, whose=whose, local=local)
    counts = {parameters.required, len(parameters.names)}
    shown = f"({', '.join(parameters.names)})"
    if reconcile is not None:
        _check_asked(reconcile, "reconcile", counts, whose=whose, shown=shown)
    if key is not None:
        _check_asked(key, "key", counts, whose=whose, shown=shown)
        if signature.is_async(key):
            text = f"key of {whose} makes a text from the arguments and awaits nothing: write a plain function."
            raise InvalidInput(text, reason="invalid_effect", path="key")
    return EffectDefinition(
        name=name,
        function=plain,
        is_async=signature.is_async(plain),
        reconcile=reconcile,
        key=key,
        retry=check_retry_option(retry, what=f"retry of effect {name!r}"),
        timeout_for=None if timeout is None else to_duration(timeout, what="timeout", allow_zero=False),
        argument_names=parameters.names,
        argument_types=parameters.types,
        required=parameters.required,
        return_type=_return_type(plain, whose=whose, local=local),
        location=location,
    )


def _return_type(function: types.FunctionType, *, whose: str, local: Mapping[str, Any] | None) -> Any:
    """Asked for before it is called: a result that cannot be kept would leave open what has happened."""
    found = signature.return_annotation(function, local=local)
    if found is not signature.UNRESOLVED:
        return found
    declared = (getattr(signature.unwrap(function), "__annotations__", None) or {}).get("return")
    if declared is None:
        text = f'{whose} does not say what it returns, which has to be kept. Write "-> Receipt", or "-> None".'
    else:
        text = f"{whose}: what it returns, {declared!r}, cannot be read here. Define or import it above the function, "
        text += "not only for type checkers."
    raise InvalidInput(text, reason="invalid_effect", path="return")


def idempotency_key(definition: EffectDefinition, args: Sequence[Any]) -> str | None:
    """What its `key=` makes of the arguments; None where it has none. Raises InvalidInput if that is no key."""
    if definition.key is None:
        return None
    return check_key(definition.key(*args), what=f"key of effect {definition.name!r}")


def _check_function(function: object, verb: str) -> types.FunctionType:
    refuse_result(function, verb.removesuffix("()"), reason="invalid_effect")
    is_function = isinstance(function, types.FunctionType)
    if isinstance(function, types.FunctionType):
        if function.__name__ != "<lambda>" and not signature.is_generator(function):
            return function
        what = "a lambda" if function.__name__ == "<lambda>" else f"a generator ({function.__name__})"
    elif isinstance(function, type):
        what = f"the class {function.__name__}"
    else:
        what = f"{'an' if type(function).__name__[0].lower() in 'aeiou' else 'a'} {type(function).__name__}"
    where = f" ({signature.locate(function)})" if is_function else ""
    raise InvalidInput(f"{verb} takes a function with a name, and this is {what}{where}.", reason="invalid_effect")


def _check_fit(function: types.FunctionType | Callable[..., Any], args: Sequence[object]) -> None:
    code: Any = getattr(function, "__code__", None)
    is_plain = code is not None and not code.co_kwonlyargcount and not hasattr(function, "__wrapped__")
    if is_plain and code.co_argcount == len(args):
        return  # as with most: reading a signature takes longer than all the rest
    if not signature.takes(function, len(args)):
        name = function.__name__
        names = ", ".join(inspect.signature(function).parameters)
        given = ", ".join(map(shorten, args))
        raise InvalidInput(
            f"{name}({names}) cannot be called with ({given}). Arguments go by position: windlass.Effect({name}, …).",
            reason="invalid_argument",
            path="args",
        )


def _check_asked(asked: object, option: str, counts: set[int], *, whose: str, shown: str) -> None:
    refuse_result(asked, f"{option}=", reason="invalid_effect")
    if not callable(asked) or signature.is_generator(asked):
        what = "a generator" if callable(asked) else shorten(asked)
        text = f"{option} of {whose} takes a function, not {what}."
    elif not all(signature.takes(asked, count) for count in counts):
        name = getattr(asked, "__name__", type(asked).__name__)
        text = f"{option} of {whose} is called with the effect's arguments, {shown}, and {name} takes others."
    else:
        return
    raise InvalidInput(text, reason="invalid_effect", path=option)
