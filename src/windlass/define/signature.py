"""What a function says about itself: where it stands, what it takes, what it returns."""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from windlass.errors import InvalidInput
from windlass.rules.limits import MAX_NAME, check_name

UNRESOLVED = object()
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


class Parameters(NamedTuple):
    names: tuple[str, ...]
    types: tuple[Any, ...]
    required: int


def locate(function: object) -> str:
    """Where a function was written, as "shop.py:12"; "" for what was not written in Python."""
    code = getattr(unwrap(function), "__code__", None)
    if code is None:
        return ""
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def unwrap(function: object) -> object:
    """The function behind partials, bound methods, `functools.wraps` and callable objects."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, types.FunctionType):
            wrapped = getattr(function, "__wrapped__", None)
            if wrapped is None:
                return function
            function = wrapped
        elif isinstance(call := _call_method(function), types.FunctionType):
            function = call
        else:
            return function


def _call_method(function: object) -> object:
    """What a callable object executes; None for a class, whose call makes an object."""
    return None if isinstance(function, type) else getattr(type(function), "__call__", None)  # noqa: B004


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine, through partials, bound methods and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.iscoroutinefunction(function):
        return True
    return inspect.iscoroutinefunction(_call_method(function))


def is_generator(function: object) -> bool:
    """Whether calling it gives a generator. A wrapper speaks for itself: `@contextmanager` makes a plain function."""
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        function = _call_method(function)
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def step_name(function: Callable[..., Any]) -> str:
    """The name of a step, from its function. Raises InvalidInput for a lambda, which has none."""
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__name__", None) or type(inner).__name__
    if name == "<lambda>":
        raise InvalidInput(
            f"A lambda ({locate(inner)}) has no name for its step. Give one: ctx.step(lambda: …, name='total').",
            reason="invalid_name",
            path="name",
        )
    try:
        return check_name(str(name), what="step name")
    except InvalidInput:  # set by hand, such as "fetch <cached>"
        return check_name(_NOT_IN_NAMES.sub("_", str(name)).strip("_.-")[:MAX_NAME] or "step", what="step name")


def resolve_annotation(function: object, name: str, *, local: Mapping[str, Any] | None = None) -> Any:
    """One annotation as a type; Any if there is none, UNRESOLVED if its names cannot be found.

    One by one, because a single name imported only for type checkers would make all of them unreadable.
    """
    inner = unwrap(function)
    annotations: Mapping[str, Any] = getattr(inner, "__annotations__", None) or {}
    if name not in annotations:
        return Any
    try:
        return _evaluate(inner, name, annotations[name], local)
    except Exception:  # an annotation is any expression, so reading it may raise anything
        return UNRESOLVED


def _evaluate(inner: object, name: str, annotation: Any, local: Mapping[str, Any] | None) -> Any:
    module = sys.modules.get(getattr(inner, "__module__", ""), None)
    scope = getattr(inner, "__globals__", None) or vars(module or typing)
    # get_type_hints reads nested forward references too; a bare holder lets it see this one annotation only.
    holder = types.SimpleNamespace(__annotations__={name: annotation})
    hints = typing.get_type_hints(holder, globalns=scope, localns=dict(local or {}), include_extras=True)
    return hints[name]


def resolve_type(owner: object, type: Any, *, local: Mapping[str, Any] | None = None) -> Any:
    """What a type is that may be written as text where `owner` stands; UNRESOLVED if its names cannot be found."""
    try:
        return _evaluate(owner, "type", type, local)
    except Exception:  # as of an annotation
        return UNRESOLVED


def type_identity(type: Any) -> object:
    """What makes a type the same after its classes were made anew; `list[Reply]` is looked into."""
    if isinstance(type, builtins.type):
        return type.__module__, type.__qualname__
    parts = typing.get_args(type)
    return (typing.get_origin(type), *map(type_identity, parts)) if parts else type


def return_annotation(function: Callable[..., Any], *, local: Mapping[str, Any] | None = None) -> Any:
    """The declared result as a type; UNRESOLVED if none is declared or it cannot be read."""
    if isinstance(function, type):
        return function
    if "return" not in (getattr(unwrap(function), "__annotations__", None) or {}):
        return UNRESOLVED
    return resolve_annotation(function, "return", local=local)


def check_workflow_function(function: object, *, kind: str = "Workflow") -> types.FunctionType:
    """Refuse what cannot be a workflow, or a job, before its name is known."""
    if isinstance(function, types.FunctionType) and function.__name__ != "<lambda>" and not is_generator(function):
        return function
    if isinstance(function, types.FunctionType):
        what = "a lambda" if function.__name__ == "<lambda>" else f"a generator ({function.__name__})"
    elif isinstance(function, type):
        what = f"the class {function.__name__}"
    else:
        article = "an" if type(function).__name__[0].lower() in "aeiou" else "a"
        what = f"{article} {type(function).__name__}"
    raise InvalidInput(
        f'A {kind.lower()} is a function written with "async def", and this is {what}'
        f"{_at(locate(function) if callable(function) else '')}.",
        reason="invalid_workflow",
    )


def read_workflow(
    function: types.FunctionType,
    *,
    name: str,
    location: str,
    local: Mapping[str, Any] | None = None,
    kind: str = "Workflow",
) -> Parameters:
    """The parameters behind ctx. Raises InvalidInput for a signature that a start could not serve."""
    whose = f"{kind} {name!r} ({location})"
    context = "Context" if kind == "Workflow" else "JobContext"
    if not inspect.iscoroutinefunction(function):
        raise InvalidInput(f'{whose} must be "async def". Its steps may be plain functions.', reason="invalid_workflow")
    parameters = [*inspect.signature(function).parameters.values()]
    if not parameters or not _is_context(parameters[0]):
        raise InvalidInput(
            f"{whose} must take ctx first: async def {function.__name__}(ctx: windlass.{context}, …).",
            reason="invalid_workflow",
        )
    return _read_parameters(function, parameters[1:], whose=whose, local=local)


def read_effect(function: types.FunctionType, *, whose: str, local: Mapping[str, Any] | None = None) -> Parameters:
    """All of its parameters, which stand on a ledger. Raises InvalidInput for a signature that they cannot serve."""
    parameters = [*inspect.signature(function).parameters.values()]
    if parameters and parameters[0].name == "ctx":
        raise InvalidInput(
            f"{whose} takes ctx, and an effect gets none: whoever has ctx may be executed again.",
            reason="invalid_effect",
            path="ctx",
        )
    return _read_parameters(function, parameters, whose=whose, local=local, reason="invalid_effect")


def _read_parameters(
    function: types.FunctionType,
    parameters: Sequence[inspect.Parameter],
    *,
    whose: str,
    local: Mapping[str, Any] | None,
    reason: str = "invalid_workflow",
) -> Parameters:
    positional = [parameter for parameter in parameters if _takes_position(parameter, whose, reason)]
    return Parameters(
        tuple(parameter.name for parameter in positional),
        tuple(read_argument_type(function, item.name, whose=whose, local=local, reason=reason) for item in positional),
        sum(parameter.default is parameter.empty for parameter in positional),
    )


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether it can be called with so many arguments, by position. What cannot be read is given the benefit."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # not written in Python
        return True
    return True


def _is_context(parameter: inspect.Parameter) -> bool:
    if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
        return False
    annotation = parameter.annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return parameter.name == "ctx" or text.strip("'\"").endswith("Context")


def _takes_position(parameter: inspect.Parameter, whose: str, reason: str) -> bool:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        problem = f"takes {stars}{parameter.name}, which says nothing about what is stored. Name each parameter."
    elif parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
        problem = f"wants {parameter.name!r} by keyword, and arguments go by position. Move it before the *."
    else:
        return parameter.kind is not parameter.KEYWORD_ONLY
    raise InvalidInput(f"{whose} {problem}", reason=reason, path=parameter.name)


def read_argument_type(
    function: types.FunctionType,
    name: str,
    *,
    whose: str,
    local: Mapping[str, Any] | None,
    reason: str = "invalid_workflow",
) -> Any:
    """The type of one parameter; Any if it declares none. Raises InvalidInput for one that cannot be read."""
    found = resolve_annotation(function, name, local=local)
    if found is not UNRESOLVED:
        return found
    # Reading it as Any would turn an object into a dict without a word, so it is refused.
    raise InvalidInput(
        f"{whose}: the type {function.__annotations__[name]!r} of {name!r} cannot be read here. "
        "Define or import it above the function, not only for type checkers.",
        reason=reason,
        path=name,
    )


def _at(location: str) -> str:
    return f" ({location})" if location else ""
