"""Several measurements of one figure in one line: the median, the spread, and the bare store beside it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from msgspec import Struct

from windlass.bench.cases import CASES, RAW, Figure
from windlass.bench.once import Record

HEADERS = ("figure", "median", "spread", "bare store")
SHORT = 10.0  # milliseconds below which a hundredth of one is told


class BareStore(Struct, frozen=True, kw_only=True):
    """What the bare store did meanwhile, in place of a line."""

    figure: str  # its key
    median: float
    text: str


class Line(Struct, frozen=True, kw_only=True):
    case: str
    figure: str  # its key
    words: str
    unit: str
    values: tuple[float, ...]  # in the order they were measured
    beside: BareStore | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def told(self) -> str:
        return told(self.median, self.unit)

    @property
    def spread(self) -> str:
        return f"[{_number(min(self.values), self.unit)} – {_number(max(self.values), self.unit)}]"

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """In the order of the headers."""
        return self.words, self.told, self.spread, self.beside.text if self.beside else ""


def lines(records: Sequence[Record], names: Iterable[str]) -> list[Line]:
    """One line per figure of these cases, in the order of the cases."""
    chosen = set(names)
    return [
        Line(
            case=name,
            figure=figure.key,
            words=figure.words.format(size=f"{of_case[0].size:,}"),
            unit=figure.unit,
            values=tuple(record.figures[figure.key] for record in of_case),
            beside=_beside(figure, of_case, [record for record in records if record.case == RAW]),
        )
        for name, case in CASES.items()
        if name in chosen and (of_case := [record for record in records if record.case == name])
        for figure in case.figures
    ]


def told(value: float, unit: str) -> str:
    """A number with its unit: 21,340/s, 4.56 ms, 2.48 ×."""
    number = _number(value, unit)
    return f"{number}{unit}" if unit.startswith("/") else f"{number} {unit}"


def markdown(lines: Iterable[Line]) -> str:
    """The same as a table of a document."""
    rows = [HEADERS, ("---", "---:", "---", "---"), *(line.cells for line in lines)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _beside(figure: Figure, of_case: Sequence[Record], raw: Sequence[Record]) -> BareStore | None:
    beside = figure.beside
    if beside is None:
        return None
    found = [record.figures[beside.key] for record in (*of_case, *raw) if beside.key in record.figures]
    if not found:
        return None
    median = statistics.median(found)
    return BareStore(figure=beside.key, median=median, text=beside.words.format(_number(median, beside.unit)))


def _number(value: float, unit: str) -> str:
    if unit.startswith("/"):
        return f"{value:,.0f}"
    return f"{value:,.2f}" if value < SHORT else f"{value:,.1f}"
