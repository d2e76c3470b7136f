"""A story that shows a difference, made as short as it can be, and written down as a test."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from itertools import combinations
from typing import Any

from tests.lives.faults import Moment
from tests.model.operations import Advance, Crash

MOST_TRIES = 600  # each tells a whole story
SHORT = 12  # operations: few enough to try all pairs


class Difference(AssertionError):
    """A database that does not do what the reference says. The message ends with a test that shows it."""

    def __init__(self, what: str, story: Sequence[Any]) -> None:
        super().__init__(f"{what}\n\nAs a test, for tests/model/test_found.py:\n\n{written(story, what)}")
        self.what, self.story = what, list(story)


def shortest(found: Difference, tell: Callable[[Sequence[Any]], None]) -> Difference:
    """Take away what is not needed, simplify what is, and begin again until nothing helps."""
    shrinking = Shrinking(found, tell)
    before: list[Any] = []
    while shrinking.left and shrinking.story != before:
        before = shrinking.story
        shrinking.remove_parts()
        shrinking.join_pauses()
        shrinking.make_plainer()
        shrinking.remove_pairs()
    return shrinking.found


class Shrinking:
    """A difference on its way to the shortest story that shows one."""

    def __init__(self, found: Difference, tell: Callable[[Sequence[Any]], None]) -> None:
        self.found, self.left = found, MOST_TRIES
        self._tell = tell

    @property
    def story(self) -> list[Any]:
        return self.found.story

    def remove_parts(self) -> None:
        """Large ones first, the last first."""
        size = len(self.story) // 2
        while size:
            start = len(self.story)
            while start > 0:
                start = max(0, min(start, len(self.story)) - size)
                self._differs([*self.story[:start], *self.story[start + size :]])
            size //= 2

    def join_pauses(self) -> None:
        for number in reversed(range(len(self.story))):
            pauses = [place for place, item in enumerate(self.story) if isinstance(item, Advance) and place >= number]
            if len(pauses) > 1 and pauses[0] == number:
                whole = Advance(span=self.story[number].span + self.story[pauses[1]].span)
                rest = [item for place, item in enumerate(self.story) if place > number and place != pauses[1]]
                self._differs([*self.story[:number], whole, *rest])

    def make_plainer(self) -> None:
        place = 0
        while place < len(self.story):
            story = self.story
            is_plainer = any(
                self._differs([*story[:place], plainer, *story[place + 1 :]]) for plainer in _plainer(story[place])
            )
            place += not is_plainer

    def remove_pairs(self) -> None:
        """Two that need each other, such as a run and what is done with it; where there are few enough to try all."""
        story = self.story
        for pair in combinations(range(len(story)), 2) if len(story) <= SHORT else ():
            if self._differs([item for place, item in enumerate(story) if place not in pair]):
                return

    def _differs(self, story: Sequence[Any]) -> bool:
        if not self.left:
            return False
        self.left -= 1
        try:
            self._tell(story)
        except Difference as smaller:
            self.found = smaller
            return True
        return False


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
