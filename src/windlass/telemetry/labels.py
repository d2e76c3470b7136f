"""How many values a label may have: a program that makes names out of data cannot fill the memory with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

OTHER = "(other)"
MOST_VALUES = 1_000

T = TypeVar("T")


class Series(Generic[T]):
    """What is counted under one set of labels, made when it is first asked for.

    Past the limit a new value of the last label counts as `(other)`; the labels before it have a limit of their own.
    """

    def __init__(
        self, make: Callable[..., T], *, limit: int = MOST_VALUES, within: Series[tuple[str, ...]] | None = None
    ) -> None:
        self._make, self._limit, self._within = make, limit, within
        self._known: dict[tuple[str, ...], T] = {}
        self._others: dict[tuple[str, ...], T] = {}  # by the labels before the last one, of which there are few too

    def of(self, *values: str) -> T:
        found = self._known.get(values)
        return self._find(values) if found is None else found

    def _find(self, values: tuple[str, ...]) -> T:
        before = values[:-1] if self._within is None or len(values) == 1 else self._within.of(*values[:-1])
        fitting = (*before, values[-1])
        if fitting in self._known:
            return self._known[fitting]
        if len(self._known) < self._limit:
            return self._known.setdefault(fitting, self._make(*fitting))
        if before not in self._others:
            self._others[before] = self._make(*before, OTHER)
        return self._others[before]


def names(*values: str) -> tuple[str, ...]:
    """Makes a series that only says under which labels to count."""
    return values
