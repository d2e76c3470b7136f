"""A story that shows a difference, made as short as it can be, and written down as a test."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from itertools import combinations, pairwise
from typing import Any

from tests.model.operations import Advance, Crash
from windlass.testing.faults import Moment

MOST_TRIES = 600  # each tells a whole story
SHORT = 12  # operations: few enough to try all pairs


class Difference(AssertionError):
    """A database that does not do what the reference says. The message ends with a test that shows it."""

    def __init__(self, what: str, story: Sequence[Any]) -> None:
        super().__init__(f"{what}\n\nAs a test, for tests/model/test_found.py:\n\n{written(story, what)}")
        self.what, self.story = what, list(story)


def shortest(found: Difference, tell: Callable[[Sequence[Any]], None]) -> Difference:
    """Take away what is not needed, simplify what is, and begin again until nothing helps."""
    left = MOST_TRIES
    while left:
        for story in _simpler(found.story):
            left -= 1
            try:
                tell(story)
            except Difference as smaller:
                found = smaller
                break
            if not left:
                break
        else:
            return found
    return found


def _simpler(story: list[Any]) -> Iterator[list[Any]]:
    """Stories that say less: without a part of it, large parts first, then with two pauses in one, or plainer."""
    size = len(story) // 2
    while size:
        for start in reversed(range(0, len(story), size)):
            yield story[:start] + story[start + size :]
        size //= 2
    pauses = [place for place, operation in enumerate(story) if isinstance(operation, Advance)]
    for place, after in pairwise(pauses):
        whole = Advance(span=story[place].span + story[after].span)
        yield [*story[:place], whole, *story[place + 1 : after], *story[after + 1 :]]
    for place, operation in enumerate(story):
        for plainer in _plainer(operation):
            yield [*story[:place], plainer, *story[place + 1 :]]
    if len(story) <= SHORT:  # two that need each other, such as a run and what is done with it
        for first, second in combinations(range(len(story)), 2):
            yield [operation for place, operation in enumerate(story) if place not in (first, second)]


def _plainer(operation: Any) -> Iterator[Any]:
    if isinstance(operation, Crash):
        yield operation.during
        for during in _plainer(operation.during):
            yield replace(operation, during=during)
    for item in fields(operation):
        if item.default is not MISSING and getattr(operation, item.name) != item.default:
            yield replace(operation, **{item.name: item.default})


def written(story: Sequence[Any], what: str) -> str:
    """The story as the text of a test."""
    name = hashlib.sha256(repr(story).encode()).hexdigest()[:8]
    title = what.partition("\n")[0].replace('"', "'")
    lines = [
        f"def test_story_{name}(stores: Stores) -> None:",
        *(f"    # {line}" for line in (title, *what.splitlines()[1:])),
        "    story = [",
        *(f"        {literal(operation)}," for operation in story),
        "    ]",
        "",
        "    tell(story, stores)",
    ]
    return "\n".join(lines) + "\n"


def literal(value: Any) -> str:
    """An operation as it is written in a test, without what is said by default."""
    if isinstance(value, Moment):
        return f"Moment.{value.name}"
    if not is_dataclass(value):
        return repr(value)
    said = [
        f"{field.name}={literal(getattr(value, field.name))}"
        for field in fields(value)
        if getattr(value, field.name) != field.default
    ]
    return f"do.{type(value).__name__}({', '.join(said)})"
