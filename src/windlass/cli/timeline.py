"""How lanes are drawn on a time axis that fits the terminal.

          ╷0            ╷2 s          ╷4 s
 ✓ order   ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━        4.6 s
 ✓  charge  ▒✗·····▒✗···········███             4.3 s, 3 tries

What went on is told by sign and by colour, so neither is needed to read the other. A bar is at least one column wide,
and attempts of one step stay beside each other even where the axis is too coarse for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from windlass.cli.terminal import STATUS_STYLES, Glyphs, cut, escape, status_glyph
from windlass.model.duration import describe
from windlass.model.run import RunStatus
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration
from windlass.rules.lanes import Bar, Lane, Mark

Cell = tuple[str, Mark] | None

MAX_LANES, FIRST_LANES = 40, 12
COLUMNS_PER_TICK = 9
SHORTEST_BAR, LONGEST_NOTE = 12, 20

STYLES = {
    Mark.QUEUED: "yellow",
    Mark.AWAITED: "yellow",
    Mark.SLEPT: "blue",
    Mark.CLAIMED: "bright_black",
    Mark.PAUSED: "magenta",
    Mark.WORKED: "green",
    Mark.RUNNING: "cyan",
    Mark.INTERRUPTED: "magenta",
    Mark.FAILED: "red",
}
SIGN_STYLES = {"retry": "yellow", "interrupted": "magenta"}
MEANINGS = {
    Mark.WORKED: "worked",
    Mark.RUNNING: "works",
    Mark.FAILED: "failed",
    Mark.INTERRUPTED: "interrupted",
    Mark.QUEUED: "waits",
    Mark.AWAITED: "awaits",
    Mark.SLEPT: "sleeps",
    Mark.PAUSED: "paused",
    Mark.CLAIMED: "claimed",
}
WAITS = frozenset({Mark.QUEUED, Mark.AWAITED, Mark.SLEPT, Mark.CLAIMED, Mark.PAUSED})
RANKS = {mark: rank for rank, mark in enumerate(Mark)}

TICKS = [
    *(Duration(digit * 10**power) for power in range(7) for digit in (1, 2, 5)),
    *(Duration(count * SECOND) for count in (10, 15, 30)),
    *(Duration(count * MINUTE) for count in (1, 2, 5, 10, 15, 30)),
    *(Duration(count * HOUR) for count in (1, 2, 3, 6, 12)),
    *(Duration(count * DAY) for count in (1, 2, 7, 14, 30, 60, 90, 180, 365, 1_000)),
]


def draw(
    lanes: Sequence[Lane], *, span: tuple[int, int], width: int, glyphs: Glyphs, is_full: bool = False
) -> list[Text]:
    """The axis, a line per lane, and a legend of the signs that were used; no line is longer than `width`."""
    shown, missing = _choose([replace(lane, label=escape(lane.label)) for lane in lanes], is_full=is_full)
    indents = [0 if lane.is_run else 1 for lane in shown]
    labels = [indent + cell_len(lane.label) for lane, indent in zip(shown, indents, strict=True)]
    label_width = min(max([*labels, 4]), 3 * width // 10)
    note_width = min(max([cell_len(lane.note) for lane in shown] + [0]), LONGEST_NOTE)
    # A sign and a space in front, two spaces between label, bars and note, one column at the edge.
    columns = max(width - label_width - note_width - 8, SHORTEST_BAR)
    used: set[Mark] = set()
    drawn = [Text(" " * (label_width + 5)).append(_axis(span, columns=columns, glyphs=glyphs))]
    for position, (lane, indent) in enumerate(zip(shown, indents, strict=True)):
        if missing and position == FIRST_LANES:
            drawn.append(Text(f"   {glyphs.ellipsis} {missing:,} more steps (--full)", style="bright_black"))
        label = set_cell_size(" " * indent + cut(lane.label, label_width - indent, glyphs=glyphs), label_width)
        line = Text(" ").append(*_sign(lane.sign, glyphs)).append(" ")
        line.append(label, style="bold" if lane.is_run else "").append("  ")
        cells = _cells(lane, span=span, columns=columns, glyphs=glyphs)
        used.update(cell[1] for cell in cells if cell is not None)
        line.append(_joined(cells)).append("  ")
        line.append(cut(lane.note, note_width, glyphs=glyphs), style="bright_black")
        line.rstrip()
        drawn.append(line)
    legend = _legend(used, glyphs)
    legend.truncate(width)
    drawn.append(legend)
    return drawn


def _choose(lanes: Sequence[Lane], *, is_full: bool) -> tuple[Sequence[Lane], int]:
    """The first and the last of many lanes, and how many are left out between them."""
    if is_full or len(lanes) <= MAX_LANES:
        return lanes, 0
    return [*lanes[:FIRST_LANES], *lanes[FIRST_LANES - MAX_LANES :]], len(lanes) - MAX_LANES


def _axis(span: tuple[int, int], *, columns: int, glyphs: Glyphs) -> Text:
    start, end = span
    total = end - start
    step = next((tick for tick in TICKS if tick * columns >= COLUMNS_PER_TICK * total), TICKS[-1])
    line = ""
    for offset in range(0, total, step):
        column = _column(start + offset, span=span, columns=columns)
        label = glyphs.tick + (describe(Duration(offset)) if offset else "0")
        if column >= len(line) and column + len(label) <= columns:
            line = line.ljust(column) + label + " "
    return Text(line.rstrip(), style="bright_black")


def _cells(lane: Lane, *, span: tuple[int, int], columns: int, glyphs: Glyphs) -> list[Cell]:
    cells: list[Cell] = [None] * columns
    free = 0  # the first column behind the attempts placed so far
    placed: list[tuple[Bar, int, int]] = []
    for bar in sorted(lane.bars, key=lambda bar: (bar.start, RANKS[bar.mark])):
        first, behind = _columns(bar, span=span, columns=columns)
        if bar.mark not in WAITS:
            first = min(max(first, free), columns - 1)
            behind = max(behind, first + 1)
            free = behind
        placed.append((bar, first, behind))
    for bar, first, behind in sorted(placed, key=lambda item: RANKS[item[0].mark]):
        fill, cap = _glyphs(bar.mark, glyphs)
        for column in range(first, behind):
            is_last = column == behind - 1
            cells[column] = (cap if is_last else fill, bar.mark)
    return cells


def _joined(cells: Sequence[Cell]) -> Text:
    line = Text()
    for cell in cells:
        if cell is None:
            line.append(" ")
        else:
            line.append(cell[0], style=STYLES[cell[1]])
    return line


def _columns(bar: Bar, *, span: tuple[int, int], columns: int) -> tuple[int, int]:
    """The first column of a bar and the one behind its last: one that ends where another begins touches it."""
    first = min(_column(bar.start, span=span, columns=columns), columns - 1)
    # A moment in a queue may vanish between two columns; everything else is seen, however short.
    return first, max(_column(bar.end, span=span, columns=columns), first + (bar.mark is not Mark.QUEUED))


def _column(instant: int, *, span: tuple[int, int], columns: int) -> int:
    """The nearest boundary between two columns, from 0 to `columns`."""
    start, end = span
    inside = min(max(instant, start), end) - start
    return (2 * inside * columns + end - start) // (2 * (end - start))


def _glyphs(mark: Mark, glyphs: Glyphs) -> tuple[str, str]:
    """What fills a bar, and what ends it."""
    fill, cap = {
        Mark.QUEUED: (glyphs.pending_bar, glyphs.pending_bar),
        Mark.AWAITED: (glyphs.awaited_bar, glyphs.awaited_bar),
        Mark.SLEPT: (glyphs.sleeping_bar, glyphs.sleeping_bar),
        Mark.CLAIMED: (glyphs.claimed_bar, glyphs.claimed_bar),
        Mark.PAUSED: (glyphs.paused_bar, glyphs.paused_bar),
        Mark.WORKED: (glyphs.worked_bar, glyphs.worked_bar),
        Mark.RUNNING: (glyphs.running_bar, glyphs.running),
        Mark.INTERRUPTED: (glyphs.interrupted_bar, glyphs.interrupted),
        Mark.FAILED: (glyphs.failed_bar, glyphs.failed),
    }[mark]
    return fill, cap


def _sign(sign: str, glyphs: Glyphs) -> tuple[str, str]:
    if sign in SIGN_STYLES:
        glyph: str = getattr(glyphs, sign)
        return glyph, SIGN_STYLES[sign]
    status = RunStatus(sign)  # steps share these names with runs
    return status_glyph(status, glyphs=glyphs), STATUS_STYLES[status]


def _legend(used: set[Mark], glyphs: Glyphs) -> Text:
    line = Text("   ")
    for mark, meaning in MEANINGS.items():
        if mark in used:
            fill, cap = _glyphs(mark, glyphs)
            line.append(fill if fill == cap else fill + cap, style=STYLES[mark])
            line.append(f" {meaning}   ", style="bright_black")
    line.rstrip()
    return line
