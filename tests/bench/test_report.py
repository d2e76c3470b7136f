"""Does a line of the bench tell the median and the spread, with the bare store that was measured meanwhile?"""

from __future__ import annotations

from windlass.bench.cases import CASES
from windlass.bench.once import Record
from windlass.bench.report import lines, markdown, told


def record(case: str, **figures: float) -> Record:
    return Record(case=case, store="sqlite", size=1_000, figures=figures, durability={}, cpu_seconds=1.0, seconds=1.0)


STEPS = [record("steps", steps_per_second=value, cpu_us=20.0) for value in (30_000.0, 10_000.0, 20_000.0)]
RAW = [record("raw", commits_per_second=4_000.0, commit_ms=0.25, rows_per_second=value) for value in (1e5, 3e5, 2e5)]


def test_a_line_tells_median_spread_and_the_bare_store() -> None:
    (line,) = lines([*STEPS, *RAW], ["steps"])

    assert line.cells == ("steps of 1,000 runs × 10", "20,000/s", "[10,000 – 30,000]", "200,000 rows/s")
    assert line.values == (30_000.0, 10_000.0, 20_000.0)


def test_the_bare_store_of_the_same_case_goes_first() -> None:
    runs = record("ten_steps", ten_steps_ms=7.5, twelve_commits_ms=3.0, ratio=2.5)

    own, ratio = lines([*RAW, runs], ["ten_steps"])

    assert own.cells[1:] == ("7.50 ms", "[7.50 – 7.50]", "3.00 ms for 12 commits")
    assert ratio.cells[1:] == ("2.50 ×", "[2.50 – 2.50]", "")


def test_lines_stand_in_the_order_of_the_cases_and_only_those_asked_for() -> None:
    found = lines([*STEPS, *RAW], ["steps", "raw", "drain"])

    assert [line.case for line in found] == ["raw", "raw", "steps"]


def test_without_the_bare_store_nothing_stands_beside() -> None:
    (line,) = lines(STEPS, ["steps"])

    assert (line.beside, line.cells[3]) == (None, "")


def test_small_times_are_told_more_exactly() -> None:
    assert [told(value, "ms") for value in (0.284, 9.99, 12.34)] == ["0.28 ms", "9.99 ms", "12.3 ms"]


def test_the_table_of_a_document() -> None:
    assert markdown(lines([*STEPS, *RAW], ["steps"])) == (
        "| figure | median | spread | bare store |\n"
        "| --- | ---: | --- | --- |\n"
        "| steps of 1,000 runs × 10 | 20,000/s | [10,000 – 30,000] | 200,000 rows/s |\n"
    )


def test_a_brief_case_is_never_larger_than_the_full_one() -> None:
    assert all(0 < case.brief <= case.size for case in CASES.values())
