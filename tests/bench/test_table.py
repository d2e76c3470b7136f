"""Does the table say what was to be reached, whether it was, and what nobody has measured?"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import results as files
from bench.results import Results
from bench.table import BEGIN, END, README, missed, number, page, replaced
from bench.targets import BY_NAME, FIGURES, POSTGRESQL, SQLITE, STORES, at_least, at_most


def measured(figure: str, store: str, *samples: float, on: str = "2026-11-16") -> Results:
    results = Results()
    results.add(figure, store, samples, on=on, command="python -m bench.run")
    return results


def row(text: str, figure: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {BY_NAME[figure].text} |")]
    return line


def test_every_figure_is_named_once() -> None:
    assert len(BY_NAME) == len(FIGURES)
    assert len({figure.text for figure in FIGURES}) == len(FIGURES)
    assert {store for figure in FIGURES for store in figure.targets} == set(STORES)


def test_a_bound_itself_is_reached() -> None:
    assert at_least(80).is_reached(80) and not at_least(80).is_reached(79.9)
    assert at_most(1.8).is_reached(1.8) and not at_most(1.8).is_reached(1.81)


def test_a_target_that_is_reached_is_shown_with_its_spread(tmp_path: Path) -> None:
    text = page(measured("steps_over_dbos", SQLITE, 120, 90, 140), folder=tmp_path)

    assert "| ✔ 120 × [90 – 140] | ≥ 100 × | not measured | ≥ 80 × |" in row(text, "steps_over_dbos")


def test_the_median_decides_and_a_miss_is_plain(tmp_path: Path) -> None:
    text = page(measured("steps_over_dbos", POSTGRESQL, 60, 79, 120), folder=tmp_path)

    assert "✘ **missed** 79 × [60 – 120] | ≥ 80 × |" in row(text, "steps_over_dbos")


def test_a_miss_links_its_profile_where_there_is_one(tmp_path: Path) -> None:
    results = measured("steps_over_dbos", SQLITE, 50)
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "steps.md").touch()

    assert "([why](profiles/steps.md))" in row(page(results, folder=tmp_path), "steps_over_dbos")


def test_a_figure_without_target_has_no_verdict(tmp_path: Path) -> None:
    text = page(measured("dbos_steps", SQLITE, 295), folder=tmp_path)

    assert row(text, "dbos_steps").endswith("| 295 steps/s |  | – |  |")


def test_a_figure_of_another_day_says_so(tmp_path: Path) -> None:
    results = measured("replay", SQLITE, 15, on="2026-11-15")
    results.merge(measured("starts_each", SQLITE, 20_000, on="2026-11-16"))

    assert "15 ms (2026-11-15)" in row(page(results, folder=tmp_path), "replay")
    assert "20,000 /s |" in row(page(results, folder=tmp_path), "starts_each")


def test_what_is_measured_anew_replaces_only_itself() -> None:
    results = measured("replay", SQLITE, 15)
    results.merge(measured("replay", POSTGRESQL, 20))
    results.merge(measured("replay", SQLITE, 12))

    assert {store: item.samples for store, item in results.figures["replay"].items()} == {
        SQLITE: [12],
        POSTGRESQL: [20],
    }


def test_results_come_back_as_they_were_kept(tmp_path: Path) -> None:
    results = measured("replay", SQLITE, 15.25, 16)
    results.about = {"machine": "two cores"}

    files.save(results, tmp_path / "results.json")

    assert files.load(tmp_path / "results.json") == results
    assert files.load(tmp_path / "none.json") == Results()


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(AssertionError, match="is no figure"):
        measured("step", SQLITE, 1)


def test_all_that_is_short_of_a_target_is_listed() -> None:
    lines = missed(measured("replay", SQLITE, 70))

    assert f"{BY_NAME['replay'].text} (sqlite): 70 ms, wanted ≤ 50 ms" in lines
    assert f"{BY_NAME['replay'].text} (postgresql): not measured" in lines
    assert len(lines) == sum(len(figure.targets) for figure in FIGURES)


def test_the_table_goes_between_its_markers() -> None:
    assert replaced(f"a\n{BEGIN}\nold\n{END}\nb", "new") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb"
    with pytest.raises(ValueError, match="markers"):
        replaced("a\nb", "new")


def test_the_document_has_a_place_for_it() -> None:
    assert BEGIN in replaced(README.read_text(encoding="utf-8"), "new")


@pytest.mark.parametrize(
    ("value", "text"),
    [(12_345.6, "12,346"), (100, "100"), (43.84, "43.8"), (10, "10"), (1.8, "1.8"), (0.856, "0.86"), (0, "0")],
)
def test_a_number_has_as_many_digits_as_count(value: float, text: str) -> None:
    assert number(value) == text
