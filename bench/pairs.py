"""How many times as fast: pairs measured one right after the other, a ratio for each, and their median.

On a machine that others share one minute is not like the next. Two measurements side by side meet the same minute, and
the order changes from pair to pair, so that whoever comes second has no lasting advantage.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Pair(NamedTuple):
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def interleave(ours: Callable[[], float], theirs: Callable[[], float], *, rounds: int) -> list[Pair]:
    """Measure both, `rounds` times, the first of one pair being the second of the next."""
    pairs = []
    for number in range(rounds):
        if number % 2:
            first = ours()
            pairs.append(Pair(ours=first, theirs=theirs()))
        else:
            first = theirs()
            pairs.append(Pair(ours=ours(), theirs=first))
    return pairs


class Spread(NamedTuple):
    """What several measurements of one thing say."""

    median: float
    low: float
    high: float
    times: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        return cls(statistics.median(samples), min(samples), max(samples), len(samples))
