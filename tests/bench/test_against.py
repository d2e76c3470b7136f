"""Is a loss called a loss, whatever the unit, and chance called chance?"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from bench import flat, wire
from bench.against import kept, run, table
from bench.against.kept import Asked, Compared
from bench.against.trees import NoTree
from bench.against.turns import Part, take_turns
from bench.against.verdict import Known, Row, Samples, enough, is_more_better, one_sided, rows
from bench.run import PARTS
from bench.targets import FIGURES

RATE = Known("a rate", "steps/s", None)
TIME = Known("a time", "ms", is_ceiling=True)
CEILING = Known("over bare commits", "×", is_ceiling=True)
SHARE = Known("over the drain without", "×", is_ceiling=False)


def row(known: Known, ours: list[float], theirs: list[float], *, figure: str = "steps") -> Row:
    return Row(figure, "sqlite", known, ours, theirs)


def compared(figures: dict[str, dict[str, Samples]], *, pairs: int = 5) -> Compared:
    asked = Asked(theirs="f2697f2", ours="abcdef0", pairs=pairs, is_quick=False)
    known = {"steps": RATE, "ten_steps_ms": TIME, "commits": Known("bare commits", "/s", None)}
    return Compared(asked=asked, revision="f2697f2", figures=figures, known=known)


@pytest.mark.parametrize(
    ("known", "now", "then"), [(RATE, 90.0, 100.0), (TIME, 10.0, 9.0), (CEILING, 2.0, 1.8), (SHARE, 0.9, 1.0)]
)
def test_below_one_is_always_a_loss(known: Known, now: float, then: float) -> None:
    assert row(known, [now], [then]).ratios == pytest.approx([0.9])


def test_every_figure_has_a_side_on_which_it_is_better() -> None:
    smaller = {
        figure.name
        for figure in FIGURES
        for target in [next(iter(figure.targets.values()), None)]
        if not is_more_better(Known(figure.text, figure.unit, target.is_ceiling if target else None))
    }

    assert {
        "first_line_local",
        "idle_cpu",
        "wire_idle",
        "resident",
        "create_graph",
        "finish_flat",
        "ten_steps",
    } <= smaller
    assert smaller.isdisjoint({"commits", "steps", "drain", "flat_finished", "two_servers", "chain_over_commits"})


def test_a_ratio_is_that_of_its_own_pair_and_the_median_is_theirs() -> None:
    found = row(RATE, [100, 50, 99], [100, 25, 110])

    assert found.ratios == pytest.approx([1, 2, 0.9])
    assert found.spread.median == 1


@pytest.mark.parametrize(
    ("pairs", "wanted"), [(1, None), (2, None), (3, 3), (4, 4), (5, 5), (7, 7), (8, 7), (10, 9), (20, 15)]
)
def test_chance_must_explain_it_in_one_case_out_of_twenty_at_most(pairs: int, wanted: int | None) -> None:
    assert enough(pairs) == wanted


@pytest.mark.parametrize(
    ("ours", "is_low", "is_lost"),
    [
        ([90.0, 91, 92, 93, 94], True, True),
        ([80.0, 81, 82, 96, 120], True, False),  # the spread explains it
        ([80.0, 96, 97, 98, 99], False, False),
        ([95.0] * 5, False, False),
        ([50.0, 50], True, False),  # two pairs prove nothing
    ],
)
def test_lost_is_what_the_spread_does_not_explain(ours: list[float], is_low: bool, is_lost: bool) -> None:
    found = row(RATE, ours, [100.0] * len(ours))

    assert (found.is_low, found.is_lost) == (is_low, is_lost)


def test_the_bare_database_is_not_judged() -> None:
    found = row(RATE, [50.0] * 5, [100.0] * 5, figure="commits")

    assert (found.is_low, found.is_lost, table.mark(found)) == (False, False, "the machine")


@pytest.mark.parametrize(("now", "then", "ratio"), [(0.9, -0.1, 1.0), (0.2, 0.02, 1.0), (4.0, 0.1, 0.25)])
def test_a_growth_that_may_be_nothing_is_no_difference(now: float, then: float, ratio: float) -> None:
    assert row(Known("growth", "MB", is_ceiling=True), [now], [then], figure="growth").ratios == [ratio]


def test_a_figure_of_zero_divides_nothing() -> None:
    assert row(TIME, [0.0, 1.0], [0.0, 0.0]).ratios == [1.0, 0.0]


def test_what_only_one_side_has_is_named_and_not_judged() -> None:
    found = compared({"steps": {"sqlite": Samples([1.0], [])}, "ten_steps_ms": {"sqlite": Samples([], [1.0])}})

    text = table.page(found)

    assert rows(found.figures, found.known) == []
    assert one_sided(found.figures, found.known) == [("steps", "sqlite", True), ("ten_steps_ms", "sqlite", False)]
    assert "ONE SIDE  a rate `steps` (sqlite): only now" in text
    assert "ONE SIDE  a time `ten_steps_ms` (sqlite): only then" in text
    assert table.is_good(found)


def test_the_table_says_what_was_then_what_is_now_and_what_is_lost() -> None:
    found = compared(
        {
            "steps": {"sqlite": Samples([90.0] * 5, [100.0] * 5), "postgresql": Samples([100.0] * 5, [100.0] * 5)},
            "ten_steps_ms": {"sqlite": Samples([1.2, 1.0, 1.2, 1.2, 1.0], [1.0] * 5)},
        }
    )

    text = table.page(found)

    assert "| a rate `steps` | sqlite | 90 steps/s | 100 steps/s | 0.900 [0.90 – 0.90] | 5 | ✘ **lost** |" in text
    assert "| a rate `steps` | postgresql | 100 steps/s | 100 steps/s | 1.000 [1.00 – 1.00] | 5 |  |" in text
    assert "| a time `ten_steps_ms` | sqlite | 1.2 ms | 1 ms | 0.833 [0.83 – 1.00] | 5 | ▼ below 0.95 |" in text
    assert "of 5 pairs 5 must be below (by chance 3.1%)" in text
    assert "LOST      a rate `steps` (sqlite): 0.900 [0.90 – 0.90], 5 of 5 pairs below 0.95" in text
    assert text.endswith("3 rows, 2 below 0.95, 1 lost.")
    assert not table.is_good(found)


def test_a_part_that_failed_is_no_success() -> None:
    found = compared({})
    found.failed["wire"] = "f2697f2: ProgramFailed: no"

    assert not table.is_good(found)
    assert "FAILED    wire: f2697f2: ProgramFailed: no" in table.page(found)


def test_the_second_of_one_pair_begins_the_next() -> None:
    order, left = "", {"A": 4, "B": 4}

    def measure(name: str) -> bool:
        nonlocal order
        order += name
        left[name] -= 1
        return left[name] > 0

    take_turns(lambda: measure("A"), lambda: measure("B"))

    assert order == "ABBAABBA"


@pytest.mark.parametrize(("ours", "theirs"), [(1, 5), (5, 1), (2, 2), (3, 4)])
def test_who_has_more_to_measure_goes_on_alone(ours: int, theirs: int) -> None:
    first, second = itertools.count(1), itertools.count(1)

    take_turns(lambda: next(first) < ours, lambda: next(second) < theirs)

    assert (next(first), next(second)) == (ours + 1, theirs + 1)


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    found = compared({"steps": {"sqlite": Samples([1.0], [2.0])}})

    kept.save(found, tmp_path / "new" / "f2697f2.json")

    read = kept.load(tmp_path / "new" / "f2697f2.json")
    assert read is not None
    assert (read.asked, read.known) == (found.asked, found.known)
    assert rows(read.figures, read.known) == rows(found.figures, found.known)
    assert kept.load(tmp_path / "other.json") is None


def test_every_part_of_the_bench_is_compared_in_its_order() -> None:
    assert list(run.EXPECTED) == list(PARTS)
    assert run.parts_of(None) == list(PARTS)
    assert run.parts_of(["idle", "spine", "steps"]) == ["raw", "steps", "drain", "alone", "idle"]


def test_both_trees_are_told_the_same_sizes() -> None:
    asked = Asked(theirs="f2697f2", ours="abcdef0", pairs=3, is_quick=True)

    sizes = run.asked_sizes(asked)

    assert (sizes["rounds"], sizes["flat_rounds"], sizes["waiting"]) == (3, 3, 1_000)


def test_what_a_part_measures_once_is_still_called_as_it_was() -> None:
    """`side.py` asks both trees for these by name; f2697f2 cannot be changed any more."""
    assert callable(flat._much_due)
    assert callable(wire._idle)


def test_what_is_measured_anew_takes_its_place_and_what_is_gone_on_with_is_kept() -> None:
    wanted = Asked(theirs="f2697f2", ours="abcdef0", pairs=5, is_quick=False)
    other = Asked(theirs="f2697f2", ours="abcdef1", pairs=5, is_quick=False)

    def before() -> Compared:
        return Compared(asked=wanted, revision="f2697f2", parts={"raw": 1.0, "steps": 2.0})

    anew, on = run.parse(["f2697f2", "--only", "steps"]), run.parse(["f2697f2", "--continue"])

    assert run.begin(wanted, before(), anew).parts == {"raw": 1.0}
    assert run.begin(wanted, before(), on).parts == {"raw": 1.0, "steps": 2.0}
    assert run.begin(other, before(), anew).parts == {}
    with pytest.raises(NoTree, match="leave out --continue"):
        run.begin(other, before(), on)
    assert kept.path_of(wanted) == kept.path_of(other)
    assert kept.path_of(wanted) != kept.path_of(Asked(theirs="f2697f2", ours="abcdef0", pairs=9, is_quick=False))


class Tree:
    """Measures one figure of each part it has."""

    def __init__(self, *parts: str) -> None:
        self.parts, self.part = parts, Part({}, "")

    def begin(self, part: str, sizes: object) -> None:
        figures = {("steps", "sqlite"): [1.0]} if part in self.parts else {}
        self.part = Part(figures, "")

    def goes_on(self) -> bool:
        return False


def test_what_was_measured_before_is_not_taken_for_a_part_that_a_tree_does_not_have() -> None:
    ours, theirs, found = Tree("steps", "drain"), Tree("drain"), compared({})

    run._measure("drain", found, ours, theirs)  # type: ignore[arg-type]
    run._measure("steps", found, ours, theirs)  # type: ignore[arg-type]

    assert found.figures["steps"]["sqlite"] == Samples([1.0], [])
