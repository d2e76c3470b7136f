"""What was declared as an event: a name, and the type of what is sent under it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from windlass.errors import InvalidInput

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Receivable(Generic[T_co]):
    """What `ctx.receive` takes: an event of texts is one of objects too, for whoever only receives it.

    Not so for whoever sends it: there an Event stands for exactly its type.
    """

    __slots__ = ()


class Event(Receivable[T], Generic[T]):
    """Something that can be sent to a run: `replied = app.event("replied", str)`.

    Sent with `handle.send(replied, "yes")`, received with `await ctx.receive(replied)`.
    """

    __slots__ = ("name", "type")

    def __init__(self, name: str, type: Any) -> None:
        self.name, self.type = name, type

    def __repr__(self) -> str:
        return f"Event({self.name!r}, {getattr(self.type, '__name__', self.type)})"


def check_event(asked: object, *, verb: str) -> Event[Any]:
    """Raises InvalidInput for what is no event, such as the name of one."""
    if not isinstance(asked, Event):
        raise InvalidInput(
            f"{verb}() takes an event, not {type(asked).__name__}: replied = app.event('replied', str).",
            reason="invalid_argument",
            path="event",
        )
    return asked
