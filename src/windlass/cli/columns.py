"""How a list is laid out: a table of columns where there is room for one."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rich.table import Table
from rich.text import Text

from windlass.cli.terminal import UNLIMITED, Screen, wrapped

DIM = "bright_black"
PADDING = 2

Columns = dict[str, list[Text]]


def width_for(screen: Screen) -> int:
    """Into a pipe everything is written whole: grep and awk cannot scroll."""
    return screen.width if screen.is_terminal else UNLIMITED


def taken(columns: Columns) -> int:
    """How wide a table of these is."""
    widths = (max(len(header), *(cell.cell_len for cell in cells)) for header, cells in columns.items())
    return sum(widths) + PADDING * (len(columns) - 1)


def table(columns: Columns, *, right: Collection[str] = ()) -> Table:
    """`right` are the headers of columns whose cells are compared from the right."""
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, PADDING, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True, justify="right" if header in right else "left")
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def indented(text: str, *, screen: Screen, by: int = PADDING, style: str = "") -> Iterator[Text]:
    """Lines of a page, broken between words."""
    for line in wrapped(text, width=screen.width - by):
        yield Text(f"{' ' * by}{line}", style=style)


def title(text: str) -> Iterator[Text]:
    yield Text()
    yield Text(text, style="bold")
