"""Are pairs measured in turn, and is a ratio made of what was measured together?"""

from __future__ import annotations

import pytest

from bench.pairs import Pair, Spread, interleave


def test_the_first_of_one_pair_is_the_second_of_the_next() -> None:
    order: list[str] = []

    def measured(name: str) -> float:
        order.append(name)
        return float(len(order))

    pairs = interleave(lambda: measured("ours"), lambda: measured("theirs"), rounds=3)

    assert order == ["theirs", "ours", "ours", "theirs", "theirs", "ours"]
    assert pairs == [Pair(ours=2, theirs=1), Pair(ours=3, theirs=4), Pair(ours=6, theirs=5)]


def test_a_ratio_is_that_of_its_own_pair() -> None:
    fast, slow = Pair(ours=200, theirs=2), Pair(ours=30, theirs=1)

    assert (fast.ratio, slow.ratio) == (100, 30)


@pytest.mark.parametrize(
    ("samples", "spread"),
    [([3.0, 1.0, 2.0], Spread(2, 1, 3, 3)), ([4.0, 1.0], Spread(2.5, 1, 4, 2)), ([7.0], Spread(7, 7, 7, 1))],
)
def test_a_spread_has_the_median_and_both_ends(samples: list[float], spread: Spread) -> None:
    assert Spread.of(samples) == spread
