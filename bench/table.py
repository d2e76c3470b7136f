"""How the figures read: one table, with what was to be reached and whether it was.

A target that is missed says so, and links the profile that explains it, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.pairs import Spread
from bench.results import Measured, Results
from bench.targets import FIGURES, POSTGRESQL, SQLITE, Figure, Target

FOLDER = Path(__file__).parent
README = FOLDER / "README.md"
BEGIN, END = "<!-- figures: written by make bench -->", "<!-- end of figures -->"
REACHED, MISSED = "✔", "✘ **missed**"
NOTHING = "–"


def page(results: Results, *, folder: Path = FOLDER) -> str:
    """The table and what it was measured on, in Markdown."""
    newest = max((item.on for stores in results.figures.values() for item in stores.values()), default="")
    lines = [
        "| | SQLite | target | PostgreSQL | target |",
        "|---|---:|---:|---:|---:|",
        *_rows(results, newest, folder),
        "",
        "Medians; in brackets the lowest and the highest of all samples. "
        "A ratio is the median of the ratios of interleaved pairs.",
        "",
        *(f"- {name}: {text}" for name, text in results.about.items()),
    ]
    return "\n".join(lines)


def _rows(results: Results, newest: str, folder: Path) -> Iterator[str]:
    for figure in FIGURES:
        stores = results.figures.get(figure.name, {})
        if stores or figure.targets:
            cells = [
                cell
                for store in (SQLITE, POSTGRESQL)
                for cell in (
                    _measured(figure, store, stores.get(store), newest=newest, folder=folder),
                    _wanted(figure, figure.targets.get(store)),
                )
            ]
            yield f"| {figure.text} | {' | '.join(cells)} |"


def _measured(figure: Figure, store: str, measured: Measured | None, *, newest: str, folder: Path) -> str:
    if measured is None:
        return "not measured" if store in figure.targets else NOTHING
    spread = Spread.of(measured.samples)
    text = f"{number(spread.median)} {figure.unit}"
    if spread.times > 1:
        text += f" [{number(spread.low)} – {number(spread.high)}]"
    if measured.on != newest:
        text += f" ({measured.on})"
    is_reached = figure.is_reached(store, spread.median)
    if is_reached is None:
        return text
    return f"{REACHED} {text}" if is_reached else f"{MISSED} {text}{_why(figure, folder)}"


def _why(figure: Figure, folder: Path) -> str:
    path = f"profiles/{figure.profile or figure.name}.md"
    return f" ([why]({path}))" if (folder / path).exists() else ""


def _wanted(figure: Figure, target: Target | None) -> str:
    if target is None:
        return ""
    return f"{'≤' if target.is_ceiling else '≥'} {number(target.bound)} {figure.unit}"


def number(value: float) -> str:
    """Three digits that count, or all in front of the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}".removesuffix(".0")
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def missed(results: Results) -> list[str]:
    """What is short of its target, or was not measured, in words."""
    found = []
    for figure in FIGURES:
        for store in figure.targets:
            measured = results.figures.get(figure.name, {}).get(store)
            if measured is None:
                found.append(f"{figure.text} ({store}): not measured")
            elif not figure.is_reached(store, Spread.of(measured.samples).median):
                value = f"{number(Spread.of(measured.samples).median)} {figure.unit}"
                found.append(f"{figure.text} ({store}): {value}, wanted {_wanted(figure, figure.targets[store])}")
    return found


def write(results: Results, path: Path = README) -> None:
    """Put the table between its markers."""
    path.write_text(replaced(path.read_text(encoding="utf-8"), page(results)), encoding="utf-8")


def replaced(document: str, table: str) -> str:
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the markers {BEGIN!r} and {END!r} are not both there")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"
