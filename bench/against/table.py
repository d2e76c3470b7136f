"""How a comparison reads: a row for each figure and store, how it is judged, and what is lost."""

from __future__ import annotations

from collections.abc import Iterable

from bench.against.kept import Compared
from bench.against.verdict import (
    BARE,
    CHANCE,
    FEWEST,
    LEAST,
    NOTHING,
    Row,
    chance,
    enough,
    one_sided,
    rows,
)
from bench.pairs import Spread
from bench.table import number
from bench.targets import BY_NAME


def page(compared: Compared) -> str:
    """Everything that is said about a comparison, in Markdown."""
    found = rows(compared.figures, compared.known)
    lines = [
        *lines_of(found, compared.revision),
        "",
        *judged(compared),
        "",
        *(f"- {name}: {text}" for name, text in compared.about.items()),
        "",
        *verdict(compared, found),
    ]
    return "\n".join(lines)


def lines_of(found: Iterable[Row], revision: str) -> list[str]:
    return [
        f"| | store | now | {revision} | now / {revision} | pairs | |",
        "|---|---|---:|---:|---:|---:|---|",
        *(_line(row) for row in found),
    ]


def _line(row: Row) -> str:
    unit, spread = row.known.unit, row.spread
    cells = [
        f"{row.known.text} `{row.figure}`",
        row.store,
        *(f"{number(Spread.of(samples).median)} {unit}" for samples in (row.ours, row.theirs)),
        f"{spread.median:.3f} [{spread.low:.2f} – {spread.high:.2f}]",
        str(spread.times),
        mark(row),
    ]
    return f"| {' | '.join(cells)} |"


def mark(row: Row) -> str:
    if row.figure in BARE:
        return "the machine"
    if row.is_lost:
        return "✘ **lost**"
    return f"▼ below {LEAST}" if row.is_low else ""


def judged(compared: Compared) -> list[str]:
    pairs = compared.asked.pairs
    wanted = enough(pairs)
    rule = (
        f"fewer than {FEWEST} pairs prove nothing"
        if wanted is None
        else f"of {pairs} pairs {wanted} must be below (by chance {chance(pairs, wanted):.1%})"
    )
    unsure = ", ".join(
        f"{BY_NAME[name].text} below {number(least)} {BY_NAME[name].unit}" for name, least in NOTHING.items()
    )
    return [
        "Ratios of interleaved pairs: the median, in brackets the lowest and the highest; below 1 is slower, larger or "
        "later, also where a small figure is good.",
        f"Lost: the median is below {LEAST}, and the spread does not explain it, by a sign test at {CHANCE:.0%}: {rule}"
        f". What is below {LEAST} and not lost is marked; measure it again with more pairs.",
        f"What is too small to be told apart counts as no difference: {unsure}. The bare database is the same program"
        " on both sides: its ratios say how unlike the halves of a pair are. Peers are not measured.",
    ]


def verdict(compared: Compared, found: list[Row]) -> list[str]:
    lines = []
    for name, store, is_ours in one_sided(compared.figures, compared.known):
        lines.append(
            f"ONE SIDE  {compared.known[name].text} `{name}` ({store}): {'only now' if is_ours else 'only then'}"
        )
    lines += [f"FAILED    {part}: {said}" for part, said in compared.failed.items()]
    lines += [f"LOW       {_told(row)}" for row in found if row.is_low and not row.is_lost]
    lines += [f"LOST      {_told(row)}" for row in found if row.is_lost]
    lost, low = sum(row.is_lost for row in found), sum(row.is_low for row in found)
    lines.append(f"{len(found)} rows, {low} below {LEAST}, {lost} lost.")
    return lines


def _told(row: Row) -> str:
    spread = row.spread
    told = f"{row.known.text} `{row.figure}` ({row.store}): {spread.median:.3f} [{spread.low:.2f} – {spread.high:.2f}]"
    return f"{told}, {row.below} of {spread.times} pairs below {LEAST}"


def is_good(compared: Compared) -> bool:
    return not compared.failed and not any(row.is_lost for row in rows(compared.figures, compared.known))
