"""How something is written to a terminal, or to what stands in its place: a pipe, a file, a narrow encoding.

Everything is drawn into a text first and written in one place. Whatever comes from a database, a file or the command
line passes `escape`: a name can neither move the cursor nor be read as markup.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.text import Text

from windlass.logs import escape as escape
from windlass.model.run import RunStatus

WIDTH_WITHOUT_TERMINAL = 80
NARROWEST, WIDEST = 60, 200
UNLIMITED = 10_000
_VALUE = r"""(?:'[^']*'|"[^"]*"|[^\s'"])+"""  # as a shell reads it
_NAME = r"(?:send [^\s,]+|(?:schedules|items|signals|namespaces|keys) [a-z-]+|run-now|[a-z]+)"  # of a command
WORD = re.compile(
    rf"[\"(]?windlass(?: --[a-z]+ {_VALUE}){{0,2}} {_NAME}(?: (?!--)[^\s,]+)?(?: --[a-z]+ [^\s,]+)?,?|\S+"
)


class Glyphs(Struct, frozen=True, kw_only=True):
    """The signs a drawing is made of."""

    completed: str = "✓"
    failed: str = "✗"
    running: str = "▶"
    sleeping: str = "☾"
    pending: str = "·"
    waiting: str = "…"
    paused: str = "‖"
    cancelled: str = "⊘"
    skipped: str = "»"
    retry: str = "↻"
    interrupted: str = "↯"
    worked_bar: str = "█"
    failed_bar: str = "▒"
    running_bar: str = "▓"
    interrupted_bar: str = "╍"
    sleeping_bar: str = "░"
    awaited_bar: str = "┄"
    pending_bar: str = "·"
    claimed_bar: str = "━"
    paused_bar: str = "‖"
    arrow: str = "→"
    ellipsis: str = "…"
    dot: str = "·"
    tick: str = "╷"
    times: str = "×"


UNICODE = Glyphs()
ASCII = Glyphs(
    completed="+",
    failed="x",
    running=">",
    sleeping="z",
    pending=".",
    waiting="~",
    paused="|",
    cancelled="o",
    skipped="/",
    retry="r",
    interrupted="!",
    worked_bar="#",
    failed_bar="%",
    running_bar=">",
    interrupted_bar="?",
    sleeping_bar="-",
    awaited_bar="~",
    pending_bar=".",
    claimed_bar="=",
    paused_bar="|",
    arrow="->",
    ellipsis="..",
    dot="-",
    tick="'",
    times="x",
)

STATUS_STYLES = {
    RunStatus.WAITING: "yellow",
    RunStatus.PENDING: "yellow",
    RunStatus.RUNNING: "cyan",
    RunStatus.SLEEPING: "blue",
    RunStatus.PAUSED: "bold magenta",
    RunStatus.COMPLETED: "green",
    RunStatus.FAILED: "bold red",
    RunStatus.CANCELLED: "bright_black",
    RunStatus.SKIPPED: "bright_black",
}


def status_glyph(status: RunStatus, *, glyphs: Glyphs) -> str:
    glyph: str = getattr(glyphs, status.value)
    return glyph


def cut(text: str, width: int, *, glyphs: Glyphs = UNICODE) -> str:
    """The text in at most `width` cells, with a sign where something is missing."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - cell_len(glyphs.ellipsis))).rstrip() + glyphs.ellipsis


def wrapped(text: str, *, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken between words; what is longer stays whole.

    A command counts as one word: it is there to be copied.
    """
    lines = [""]
    for word in WORD.findall(text):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and cell_len(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


class Screen:
    """Where a command writes: how wide it is, whether it has colours, which signs it can show."""

    def __init__(self, stdout: TextIO | None = None) -> None:
        # A process started with its output closed has no sys.stdout at all.
        self._stdout = stdout or sys.stdout or io.StringIO()
        self.is_terminal = self._stdout.isatty()
        is_dumb = os.environ.get("TERM") == "dumb"
        self.has_colour = self.is_terminal and not os.environ.get("NO_COLOR") and not is_dumb
        self.glyphs = UNICODE if _can_write(self._stdout, "".join(_all(UNICODE))) else ASCII
        columns = shutil.get_terminal_size((WIDTH_WITHOUT_TERMINAL, 24)).columns
        self.width = min(max(columns, NARROWEST), WIDEST)

    def draw(self, *parts: RenderableType, width: int | None = None) -> str:
        """Draw tables and texts, each on lines of its own. Without a width, no line is longer than the screen."""
        buffer = io.StringIO()
        console = Console(
            file=buffer,
            width=self.width if width is None else width,
            force_terminal=self.has_colour,
            color_system="standard" if self.has_colour else None,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
            _environ={},
        )
        for part in parts:
            console.print(part)
        return "".join(line.rstrip(" ") + "\n" for line in buffer.getvalue().splitlines())

    def draw_whole(self, *lines: Text) -> str:
        """Draw lines, each as long as it is: a path or a command is there to be copied."""
        return self.draw(*lines, width=max([self.width, *(line.cell_len for line in lines)]))

    def write(self, text: str) -> None:
        """The only place that writes to the standard output. Raises BrokenPipeError if nobody reads any more."""
        encoding = self._stdout.encoding or "utf-8"
        self._stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._stdout.flush()

    def write_json(self, value: Any, *, is_line: bool = False) -> None:
        """An answer over several lines, or one of a stream of events on a line of its own."""
        # ASCII on purpose: valid under every encoding, and no control character reaches a terminal.
        self.write(json.dumps(value, indent=None if is_line else 2) + "\n")


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _all(glyphs: Glyphs) -> Iterable[str]:
    return (getattr(glyphs, name) for name in glyphs.__struct_fields__)
