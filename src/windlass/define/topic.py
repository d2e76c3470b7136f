"""What was declared as a topic: a name, and the type of what is published to it."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from windlass.define.options import shorten
from windlass.errors import InvalidInput

T = TypeVar("T")
VALUES = (str, bytes, int, float, list, tuple, set, dict, types.FunctionType, types.BuiltinFunctionType)


class Topic(Generic[T]):
    """Where events are published, and from where consumers take them: `orders = app.topic("order.paid", Order)`.

    Published with `ctx.publish(orders, order, id=order.id)` in a handler, and with `await app.publish(…)` elsewhere.
    """

    __slots__ = ("name", "type")

    def __init__(self, name: str, type: Any) -> None:
        self.name, self.type = name, type

    def __repr__(self) -> str:
        return f"Topic({self.name!r}, {getattr(self.type, '__name__', self.type)})"


def check_type(given: object, *, topic: str) -> object:
    """Raises InvalidInput for what is a value, or the name of a type. What else is a type only a codec can tell."""
    if given is Ellipsis or isinstance(given, VALUES):
        raise InvalidInput(
            f"The type of a topic is a type itself, not {shorten(given)}: app.topic({topic!r}, Order).",
            reason="invalid_argument",
            path="type",
        )
    return given


def check_topic(asked: object, *, verb: str) -> Topic[Any]:
    """Raises InvalidInput for what is no topic."""
    if not isinstance(asked, Topic):
        raise InvalidInput(
            f"{verb}() takes a topic, not {type(asked).__name__}: orders = app.topic('order.paid', Order).",
            reason="invalid_argument",
            path="topic",
        )
    return asked


def read_topics(topics: object, *, verb: str) -> tuple[Topic[Any], ...]:
    """One topic or a list of them, as `publish` takes it. Raises InvalidInput."""
    given = topics if isinstance(topics, Sequence) and not isinstance(topics, str) else (topics,)
    if not given:
        raise InvalidInput(f"{verb}() got no topic.", reason="invalid_argument", path="topic")
    found = [check_topic(topic, verb=verb) for topic in given]
    return tuple({topic.name: topic for topic in found}.values())
