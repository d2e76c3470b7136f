"""Which jobs a matrix stands for: one for each combination of its axes, less what is excluded, and what is included.

Combinations are told apart by their label, the values joined by "-" in the order of the axes: `3.11-linux`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from windlass.errors import InvalidInput
from windlass.model.duration import shown

MOST_COMBINATIONS = 256  # of one matrix
MOST_EXAMINED = 10_000  # combinations that are looked at when some are excluded
LONGEST_INTEGER = 64  # bits

Matrix = Mapping[str, Sequence[Any]]
Values = Mapping[str, Any]


def combinations(
    matrix: Matrix, *, include: Sequence[Values] = (), exclude: Sequence[Values] = ()
) -> list[dict[str, Any]]:
    """All combinations, the last axis changing fastest; those of `include` follow.

    `exclude` leaves out what agrees with all values that one of its entries gives.
    """
    _check_axes(matrix)
    _check_size(matrix, MOST_EXAMINED if exclude else MOST_COMBINATIONS)
    for axis, values in matrix.items():
        _check_values(values, axis)
    _check_entries(matrix, exclude, what="exclude", is_whole=False)
    _check_entries(matrix, include, what="include", is_whole=True)
    product = (dict(zip(matrix, values, strict=True)) for values in itertools.product(*matrix.values()))
    kept = [values for values in product if not any(_agree(values, entry) for entry in exclude)]
    kept += [{axis: entry[axis] for axis in matrix} for entry in include]
    if not kept:
        raise _refuse("exclude leaves no combination; leave out the job instead", path="exclude")
    if len(kept) > MOST_COMBINATIONS:
        raise _too_many(f"{len(kept):,} combinations", most=MOST_COMBINATIONS)
    _check_labels(kept)
    return kept


def label(values: Values) -> str:
    """What tells a combination from the others: `3.11-linux`."""
    return "-".join(str(value) for value in values.values())


def _check_axes(matrix: object) -> None:
    axes = _read(matrix)
    if not axes:
        raise _refuse('axes were expected, such as {"py": ["3.11", "3.12"]}', path="matrix")
    for axis, values in axes.items():
        if not isinstance(axis, str) or not axis:
            raise _refuse(f"the name of an axis must be a text, not {shown(axis)}", path="matrix")
        if not isinstance(values, (list, tuple)):
            raise _refuse(f"axis {shown(axis)} must be a list of values, not {shown(values)}", path=axis)
        if not values:
            raise _refuse(f"axis {shown(axis)} is empty; give it at least one value", path=axis)


def _read(found: object) -> Mapping[object, object]:
    """What somebody gave as a mapping; empty if it is none."""
    return cast("Mapping[object, object]", found) if isinstance(found, Mapping) else {}


def _check_size(matrix: Matrix, most: int) -> None:
    """By the sizes of the axes alone: a million combinations are never built."""
    if math.prod(map(len, matrix.values())) > most:
        sizes = " × ".join(f"{len(values):,} ({shown(axis)})" for axis, values in matrix.items())
        raise _too_many(f"{sizes} combinations", most=most)


def _check_values(values: Sequence[Any], axis: str) -> None:
    found: set[str] = set()
    for value in values:
        _check_value(value, axis)
        if str(value) in found:
            raise _refuse(f"axis {shown(axis)} has {shown(str(value))} twice", path=axis)
        found.add(str(value))


def _check_value(value: object, axis: str) -> None:
    text = f"axis {shown(axis)} has the value {shown(value)}"
    if not isinstance(value, (str, int, float)):
        raise _refuse(f"{text}; a text, a number, true or false was expected", path=axis)
    if isinstance(value, str) and (not value.strip() or not value.isprintable() or "[" in value or "]" in value):
        raise _refuse(f"{text}, which cannot stand in a job's name; use a printable text without brackets", path=axis)
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:
        raise _refuse(f"{text}; at most {LONGEST_INTEGER} bits are accepted", path=axis)
    if isinstance(value, float) and not math.isfinite(value):
        raise _refuse(f"{text}; a finite number was expected", path=axis)


def _check_entries(matrix: Matrix, entries: object, *, what: str, is_whole: bool) -> None:
    """`is_whole`: an entry gives a value for every axis; else for some of them."""
    if not isinstance(entries, (list, tuple)):
        raise _refuse(f"{what} must be a list of combinations, not {shown(entries)}", path=what)
    for entry in map(_read, cast("Sequence[object]", entries)):
        if not entry:
            raise _refuse(f"{what} has an entry that names no axis", path=what)
        for axis, value in entry.items():
            if not isinstance(axis, str) or axis not in matrix:
                raise _refuse(f"{what} names axis {shown(axis)}; there is {_listed(matrix)}", path=what)
            _check_value(value, axis)
        missing = [axis for axis in matrix if axis not in entry] if is_whole else []
        if missing:
            raise _refuse(f"{what} has an entry without a value for axis {_listed(missing)}", path=what)


def _agree(values: Values, entry: Values) -> bool:
    # True equals 1 in Python, and is another value for people.
    return all(
        values[axis] == value and isinstance(values[axis], bool) == isinstance(value, bool)
        for axis, value in entry.items()
    )


def _check_labels(found: Sequence[Values]) -> None:
    labels: dict[str, Values] = {}
    for values in found:
        other = labels.setdefault(label(values), values)
        if other is not values:
            axes = [axis for axis in values if not _agree(other, {axis: values[axis]})] or values
            text = f"two combinations are called {shown(label(values))}; change a value of axis {_listed(axes)}"
            raise _refuse(text, path="matrix")


def _listed(axes: Iterable[str]) -> str:
    return ", ".join(map(shown, axes))


def _refuse(text: str, *, path: str) -> InvalidInput:
    return InvalidInput(f"Invalid matrix: {text}.", reason="invalid_matrix", path=path)


def _too_many(found: str, *, most: int) -> InvalidInput:
    text = f"The matrix has {found}; at most {most:,} are accepted. Shorten an axis, or split the job."
    return InvalidInput(text, reason="too_many", path="matrix")
