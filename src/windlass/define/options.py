"""Which options a call takes, and what the caller reads who gives another one."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, TypedDict

from windlass.define.retry import Retry
from windlass.errors import InvalidInput

DurationLike: TypeAlias = str | int | float | timedelta  # "1h30m", seconds, or a timedelta

SHOWN = 40  # characters of a value in a message


class MapOptions(TypedDict, total=False):
    """What every step of a `ctx.map` is given."""

    name: str
    retry: Retry
    timeout: DurationLike
    visibility: DurationLike
    raises: tuple[type[Exception], ...]


class StepOptions(MapOptions, total=False):
    """What `ctx.step` takes behind the arguments of the function."""

    key: str


class StartOptions(TypedDict, total=False):
    """What `app.start` and `app.run` take behind the arguments of the workflow."""

    key: str
    delay: DurationLike
    at: datetime
    priority: int
    queue: str
    timeout: DurationLike  # of the whole run


class ChildOptions(StartOptions, total=False):
    """What `ctx.run` and `ctx.start` take. Here `key` tells calls of one workflow apart, as in `ctx.step`."""

    on_cancel: Literal["propagate", "abandon"]  # what happens to the child when its parent is cancelled


class MapChildOptions(TypedDict, total=False):
    """What every child of a `ctx.map` over a workflow is given."""

    delay: DurationLike
    at: datetime
    priority: int
    queue: str
    timeout: DurationLike
    on_cancel: Literal["propagate", "abandon"]


STEP_OPTIONS = ("key", "name", "retry", "timeout", "visibility", "raises")
MAP_OPTIONS = ("key", "limit", "name", "retry", "timeout", "visibility", "raises")
START_OPTIONS = ("key", "delay", "at", "priority", "queue", "timeout")
CHILD_OPTIONS = (*START_OPTIONS, "on_cancel")
MAP_CHILD_OPTIONS = ("key", "limit", "delay", "at", "priority", "queue", "timeout", "on_cancel")

# `raises` is an option of the declaration first; the sentence names what a call is most often given.
_SHOWN_OPTIONS: dict[tuple[str, ...], tuple[str, ...]] = {STEP_OPTIONS: STEP_OPTIONS[:-1]}


def refuse_unknown_options(
    given: Mapping[str, object],
    *,
    verb: str,
    function: Callable[..., Any],
    args: Sequence[object] = (),
    allowed: tuple[str, ...] = STEP_OPTIONS,
) -> None:
    """Raise InvalidInput for the first option `verb` does not have; say how the argument is passed instead.

    `verb` is "step", "map", "start" or "run".
    """
    unknown = next((option for option in given if option not in allowed), None)
    if unknown is None:
        return
    text = f"{verb}() has no option {unknown!r}. "
    close = difflib.get_close_matches(unknown, allowed, n=1)
    if close and not _has_parameter(function, unknown):
        text += f"Did you mean {close[0]!r}? "
    else:
        text += _by_position(verb, function, args, unknown, given[unknown]) + " "
    shown = _SHOWN_OPTIONS.get(allowed, allowed)
    raise InvalidInput(f"{text}Options: {', '.join(shown)}.", reason="unknown_option", path=unknown)


def shorten(value: object, *, to: int = SHOWN) -> str:
    """The repr of a value, cut: messages name values, they do not carry them."""
    try:
        text = repr(value)
    except Exception:  # a repr of user code may do anything, and the message must still appear
        text = f"<{type(value).__name__}>"
    return text if len(text) <= to else text[: to - 1] + "…"


def _by_position(verb: str, function: Callable[..., Any], args: Sequence[object], unknown: str, value: object) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    receiver = "ctx" if verb in ("step", "map") else "app"
    values = ", ".join([name, *(shorten(item) for item in (*args, value))])
    partial = f"functools.partial({name}, {unknown}={shorten(value)})"
    if verb == "map":
        return f"Arguments of {name} that are the same for all items go by {partial}."
    text = f"Arguments of {name} go by position: {receiver}.{verb}({values})"
    return f"{text}, or {partial}." if verb == "step" else f"{text}."


def _has_parameter(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
