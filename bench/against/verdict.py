"""Is it slower than it was? The ratios of pairs, so that below 1 is always a loss, and what they prove.

A median below 0.95 may be chance. If nothing were lost, a pair would be below 0.95 as often as above at the worst, so
the sign test says how many of the pairs must be below before chance explains it in one case out of twenty only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.pairs import Spread

LEAST = 0.95
CHANCE = 0.05
FEWEST = 3  # pairs, before anything is said; three and four must all be below
# The same program on both sides, without Windlass: what the machine does, not what we do.
BARE = {"commit_ms", "commits", "group_rows"}
# A difference of two sizes that may be nothing at all: below this it counts as this.
NOTHING = {"growth": 1.0}


class Known(NamedTuple):
    """What a tree says about a figure."""

    text: str
    unit: str
    is_ceiling: bool | None  # of its target, if it has one


class Row(NamedTuple):
    figure: str
    store: str
    known: Known
    ours: Sequence[float]
    theirs: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        """Pair by pair."""
        return [self._ratio(ours, theirs) for ours, theirs in zip(self.ours, self.theirs, strict=False)]

    @property
    def spread(self) -> Spread:
        return Spread.of(self.ratios)

    @property
    def is_low(self) -> bool:
        return self.figure not in BARE and self.spread.median < LEAST

    @property
    def is_lost(self) -> bool:
        wanted = enough(len(self.ratios))
        return self.is_low and wanted is not None and self.below >= wanted

    @property
    def below(self) -> int:
        """How many of its pairs are."""
        return sum(ratio < LEAST for ratio in self.ratios)

    def _ratio(self, ours: float, theirs: float) -> float:
        least = NOTHING.get(self.figure, 0.0)
        ours, theirs = max(ours, least), max(theirs, least)
        better, worse = (ours, theirs) if is_more_better(self.known) else (theirs, ours)
        if better == worse:
            return 1.0
        return better / worse if worse else math.inf


def is_more_better(known: Known) -> bool:
    """Rates and what is compared to something slower grow; times, sizes and shares of a processor shrink."""
    if known.unit == "×":
        return not known.is_ceiling
    return known.unit.endswith("/s")


def enough(pairs: int) -> int | None:
    """How many of so many pairs must be below 0.95 to be called a loss. None: too few to say anything."""
    if pairs < FEWEST:
        return None
    for below in range(pairs // 2 + 1, pairs):
        if chance(pairs, below) <= CHANCE:
            return below
    return pairs


def chance(pairs: int, below: int) -> float:
    """That so many of the pairs or more are below, if each is as easily above."""
    return sum(math.comb(pairs, number) for number in range(below, pairs + 1)) / float(2**pairs)


class Samples(NamedTuple):
    """Of one figure on one store."""

    ours: Sequence[float]
    theirs: Sequence[float]


def rows(figures: Mapping[str, Mapping[str, Samples]], known: Mapping[str, Known]) -> list[Row]:
    """What both have, in the order in which figures are known."""
    return [
        Row(name, store, known[name], samples.ours, samples.theirs)
        for name in known
        for store, samples in figures.get(name, {}).items()
        if samples.ours and samples.theirs
    ]


def one_sided(figures: Mapping[str, Mapping[str, Samples]], known: Mapping[str, Known]) -> list[tuple[str, str, bool]]:
    """What only one has: figure, store, and whether it is ours."""
    return [
        (name, store, bool(samples.ours))
        for name in known
        for store, samples in figures.get(name, {}).items()
        if bool(samples.ours) != bool(samples.theirs)
    ]
