"""How many steps a regular expression takes on a text: a matcher that tries what `re` tries, in its order, and counts.

The steps inside of `re` cannot be seen from Python. So its own parser is asked for the tree of an expression, and the
tree is walked with plain backtracking. Each attempt to match one character, one choice or one position is a step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MOST_STEPS = 200_000  # some expressions take a step more than doubles for each character
CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s", op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
# What stands inside of something that has no width of its own, one sequence for each of its arms.
INSIDE: dict[Any, Callable[[Any], list[Any]]] = {
    op.SUBPATTERN: lambda given: [given[3]],
    op.ATOMIC_GROUP: lambda given: [given],
    op.BRANCH: lambda given: given[1],
}


class TooManySteps(Exception):
    """It would go on for longer than a test can wait."""


class Matcher:
    """`steps` grows with all that is tried."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self._tree = list(parser.parse(text, pattern.flags & ~re.DEBUG))
        self._flags = pattern.flags
        self.steps = 0

    def search_all(self, text: str) -> None:
        """As `finditer`, `sub` and `split` do."""
        start = 0
        while start <= len(text):
            end = self._first(text, start)
            start = start + 1 if end is None or end == start else end

    def match_whole(self, text: str) -> bool:
        return any(end == len(text) for end in self._sequence(text, 0, self._tree, 0))

    def match_all(self, text: str) -> list[tuple[int, int]]:
        """Where it matches: what proves that this matcher and `re` agree."""
        found, start = [], 0
        while start <= len(text):
            end = self._first(text, start)
            if end is not None:
                found.append((start, end))
            start = start + 1 if end is None or end == start else end
        return found

    def _first(self, text: str, start: int) -> int | None:
        return next(self._sequence(text, start, self._tree, 0), None)

    def _sequence(self, text: str, at: int, items: list[Any], place: int) -> Iterator[int]:
        """Every end that these items can have, in the order in which `re` tries them. Without recursion per repeat."""
        stack = [(self._one(text, at, items[place]) if place < len(items) else iter((at,)), place)]
        while stack:
            ends, here = stack[-1]
            end = next(ends, None)
            if end is None:
                stack.pop()
            elif here + 1 >= len(items):
                yield end
            else:
                stack.append((self._one(text, end, items[here + 1]), here + 1))

    def _one(self, text: str, at: int, item: Any) -> Iterator[int]:
        kind, given = item
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooManySteps
        if kind in REPEATS:
            yield from self._repeat(text, at, kind, *given)
        elif kind in INSIDE:
            ends = (end for arm in INSIDE[kind](given) for end in self._sequence(text, at, list(arm), 0))
            yield from self._only_first(ends) if kind is op.ATOMIC_GROUP else ends
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            if self._is_there(text, at, *given) is (kind is op.ASSERT):
                yield at
        elif kind is op.AT:
            if self._is_at(text, at, given):
                yield at
        elif at < len(text) and self._fits(text[at], kind, given):
            yield at + 1

    def _repeat(self, text: str, at: int, kind: Any, least: int, most: Any, items: Any) -> Iterator[int]:
        body = list(items)
        if kind is op.MIN_REPEAT:
            yield from self._lazily(text, at, least, most, body)
        elif kind is op.POSSESSIVE_REPEAT:
            yield from self._only_first(self._greedily(text, at, least, most, body))
        else:
            yield from self._greedily(text, at, least, most, body)

    def _greedily(self, text: str, at: int, least: int, most: Any, body: list[Any]) -> Iterator[int]:
        stack = [(at, self._sequence(text, at, body, 0) if most else iter(()))]
        while stack:
            here, ends = stack[-1]
            end = next(ends, None)
            if end is not None and (end != here or len(stack) <= least):
                is_full = most is not op.MAXREPEAT and len(stack) >= most
                stack.append((end, iter(()) if is_full else self._sequence(text, end, body, 0)))
            elif end is None:
                stack.pop()
                self.steps += 1
                if len(stack) >= least:
                    yield here

    def _lazily(self, text: str, at: int, least: int, most: Any, body: list[Any]) -> Iterator[int]:
        count, here = 0, at
        while True:
            if count >= least:
                yield here
            end = next(self._sequence(text, here, body, 0), None)
            if end is None or end == here or (most is not op.MAXREPEAT and count >= most):
                return
            count, here = count + 1, end

    @staticmethod
    def _only_first(ends: Iterator[int]) -> Iterator[int]:
        first = next(ends, None)
        if first is not None:
            yield first

    def _is_there(self, text: str, at: int, direction: int, items: Any) -> bool:
        if direction > 0:
            return next(self._sequence(text, at, list(items), 0), None) is not None
        start = at - items.getwidth()[0]
        return start >= 0 and at in self._sequence(text, start, list(items), 0)

    def _is_at(self, text: str, at: int, place: Any) -> bool:
        is_word: Callable[[int], bool] = lambda n: 0 <= n < len(text) and re.match(r"\w", text[n]) is not None  # noqa: E731
        if place in (op.AT_BOUNDARY, op.AT_NON_BOUNDARY):
            return (is_word(at - 1) != is_word(at)) is (place is op.AT_BOUNDARY)
        is_begin = at == 0 or (self._flags & re.MULTILINE and text[at - 1] == "\n")
        is_end = at == len(text) or text[at:] == "\n" or (self._flags & re.MULTILINE and text[at] == "\n")
        return bool({op.AT_BEGINNING: is_begin, op.AT_BEGINNING_STRING: at == 0,
                     op.AT_END: is_end, op.AT_END_STRING: at == len(text)}[place])  # fmt: skip

    def _fits(self, character: str, kind: Any, given: Any) -> bool:
        cases = {character}
        if self._flags & re.IGNORECASE:
            cases |= {character.lower(), character.upper()}
        if kind is op.ANY:
            return character != "\n" or bool(self._flags & re.DOTALL)
        if kind is op.LITERAL:
            return any(ord(case) == given for case in cases if len(case) == 1)
        if kind is op.NOT_LITERAL:
            return all(ord(case) != given for case in cases if len(case) == 1)
        assert kind is op.IN, kind
        is_negated = given[0][0] is op.NEGATE
        return any(self._is_one_of(case, given) for case in cases if len(case) == 1) is not is_negated

    @staticmethod
    def _is_one_of(character: str, given: list[Any]) -> bool:
        for kind, what in given:
            if kind is op.LITERAL and ord(character) == what:
                return True
            if kind is op.RANGE and what[0] <= ord(character) <= what[1]:
                return True
            if kind is op.CATEGORY and re.match(CATEGORIES[what], character):
                return True
        return False


def literals(pattern: re.Pattern[Any]) -> list[str]:
    """The characters and words that an expression itself names: what an attack on it is made of."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    found: dict[str, None] = {}
    _collect(list(parser.parse(text, pattern.flags & ~re.DEBUG)), found)
    return list(found)


def _collect(items: Any, found: dict[str, None]) -> None:
    word = ""
    for kind, given in [*items, (None, None)]:
        if kind is op.LITERAL:
            word += chr(given)
            found[chr(given)] = None
            continue
        if word:
            found[word] = None
        word = ""
        for inner in _sequences(kind, given):
            _collect(inner, found)


def _sequences(kind: Any, given: Any) -> list[Any]:
    """What stands inside, with the first character of each range as one of its own."""
    if kind in REPEATS:
        return [given[2]]
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return [given[1]]
    if kind is op.NOT_LITERAL:
        return [[(op.LITERAL, given)]]
    if kind is op.IN:
        known = [(inner, what) for inner, what in given if inner in (op.LITERAL, op.RANGE)]
        return [[(op.LITERAL, what if inner is op.LITERAL else what[0])] for inner, what in known]
    return INSIDE[kind](given) if kind in INSIDE else []
