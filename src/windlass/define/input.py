"""Something outside that causes events, as users name it: where it is from, what it is, and its id there."""

from __future__ import annotations

from typing import NoReturn

from windlass.errors import InvalidInput
from windlass.model.pipeline import InputId, NewInput
from windlass.rules.inputs import new_input


class Input:
    """What outside has caused an event: `windlass.Input("stripe", "payment", "pi_123", title="Order 7")`.

    The same source, type and id are the same input, however often it is named. `app.pipelines.trace(…)` tells what
    became of it.
    """

    __slots__ = ("_new", "id", "source", "title", "type")

    source: str
    type: str
    id: str
    title: str
    _new: NewInput

    def __init__(self, source: str, type: str, id: str, *, title: str = "") -> None:
        new = new_input(source, type, id, title=title)
        for name, value in (
            ("source", new.source),
            ("type", new.type),
            ("id", id),
            ("title", new.title),
            ("_new", new),
        ):
            object.__setattr__(self, name, value)

    @property
    def input_id(self) -> InputId:
        """By what id it is known here: "inp_" and 26 characters, which follow from source, type and id."""
        return self._new.id

    def new(self) -> NewInput:
        """As the engine is told of it."""
        return self._new

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"An Input does not change; make another one to set {name!r}.")

    def __eq__(self, other: object) -> bool:
        return self._new == other._new if isinstance(other, Input) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._new.id)

    def __repr__(self) -> str:
        return f"Input({self.source!r}, {self.type!r}, {self.id!r})"


def check_input(given: object, *, verb: str) -> Input | None:
    """Raises InvalidInput for what is no input, such as its id."""
    if given is None or isinstance(given, Input):
        return given
    raise InvalidInput(
        f"input of {verb}() takes a windlass.Input, not {type(given).__name__}: "
        "input=windlass.Input('stripe', 'payment', 'pi_123').",
        reason="invalid_argument",
        path="input",
    )
