"""How much work a call does: counted, so that the answer is the same on every machine.

Three things are counted. Every line of Python that is executed is one. A method of a text, of bytes or of a list that
is written in C and may read all of it, such as `find`, counts as much as its object is long. And a comparison that a
set makes because two of its items share a hash is one (`comparisons`). The steps inside of a regular expression are
counted by `regex_steps`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

import msgspec

from windlass.errors import WindlassError
from windlass.server.http.errors import Refused

PER_CHARACTER = 64  # C reads about so many characters in the time of a line of Python
AT_ONCE = frozenset(
    {
        "append",
        "extend",
        "get",
        "pop",
        "add",
        "items",
        "keys",
        "values",
        "setdefault",
        "update",
        "startswith",
        "endswith",
    }
)
SIZED = (str, bytes, bytearray, list, dict, set)


class Meter:
    def __init__(self) -> None:
        self.lines = self.read = 0

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        self.lines += event == "line"
        return self.trace

    def profile(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            owner = getattr(called, "__self__", None)
            if isinstance(owner, SIZED) and called.__name__ not in AT_ONCE:
                self.read += len(owner)

    @property
    def work(self) -> float:
        return self.lines + self.read / PER_CHARACTER


def work_of(call: Callable[[], Any]) -> float:
    """A refusal is an answer, too."""
    meter, before = Meter(), (sys.gettrace(), sys.getprofile())
    sys.setprofile(meter.profile)
    sys.settrace(meter.trace)
    try:
        with suppress(WindlassError, Refused):
            call()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return meter.work


def comparisons(value: Any) -> int:
    """How often the sets and mappings in a value had to ask whether two items with one hash are equal."""
    return sum(
        count * (count - 1) // 2
        for found in _within(value)
        if isinstance(found, (set, frozenset, dict))
        for count in Counter(str(hash(item)) for item in found).values()
    )


def _within(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict):
        children: Any = value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        children = value
    else:
        children = (
            [getattr(value, name) for name in value.__struct_fields__] if isinstance(value, msgspec.Struct) else ()
        )
    for child in children:
        yield from _within(child)
