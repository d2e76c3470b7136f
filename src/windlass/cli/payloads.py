"""What a run was given, what it returned and how it failed, as a person reads it: decoded, laid out and cut."""

from __future__ import annotations

from typing import Any

from windlass.cli.terminal import UNICODE, Glyphs, cut, escape
from windlass.codec import Codec
from windlass.errors import WindlassError
from windlass.model.failure import Failure
from windlass.rules import pretty

MAX_LINES, MAX_ITEMS, MAX_TEXT, MAX_DEPTH = 12, 20, 400, 6
TRACEBACK_LINES = 6

_codec = Codec()


def lines(data: bytes, *, width: int, is_full: bool = False) -> list[str]:
    """A payload over as many lines as it needs, at most MAX_LINES unless all of it is wanted."""
    known, value = _decoded(data)
    if not known:
        return [value]
    drawn = laid_out(value, width=width, is_full=is_full)
    if is_full or len(drawn) <= MAX_LINES:
        return drawn
    return [*drawn[:MAX_LINES], f"… {len(drawn) - MAX_LINES} more lines (--full)"]


def one_line(data: bytes, *, width: int, glyphs: Glyphs = UNICODE) -> str:
    known, value = _decoded(data)
    if not known:
        return str(value)
    # Laid out as if there were room for all of it: one line, unless it is longer than could ever be shown.
    text = " ".join(part.strip() for part in laid_out(value, width=4 * max(width, MAX_TEXT), is_full=False))
    return cut(text, width, glyphs=glyphs)


def call(name: str, data: bytes, *, width: int, is_full: bool = False) -> list[str]:
    """A workflow with its arguments, as it would be called."""
    known, value = _decoded(data)
    if not known or not isinstance(value, tuple):
        return [f"{escape(name)}({value if not known else ', '.join(laid_out(value, width=width, is_full=is_full))})"]
    arguments = [laid_out(item, width=width - 4, is_full=is_full) for item in value]
    flat = f"{escape(name)}({', '.join(' '.join(part) for part in arguments)})"
    if all(len(part) == 1 for part in arguments) and len(flat) <= width:
        return [flat]
    drawn = [f"{escape(name)}("]
    for part in arguments:
        drawn += ["    " + line for line in part[:-1]] + [f"    {part[-1]},"]
    drawn.append(")")
    if is_full or len(drawn) <= MAX_LINES:
        return drawn
    return [*drawn[:MAX_LINES], f"… {len(drawn) - MAX_LINES} more lines (--full)"]


def traceback(failure: Failure, *, is_full: bool = False) -> list[str]:
    """The end of a traceback, where the error is, without the lines that only repeat what is said already."""
    found = [line for line in failure.traceback.splitlines() if line.strip()]
    if found and found[0].startswith("Traceback "):
        del found[0]
    message = failure.message.splitlines() or [""]
    while found and not found[-1].startswith(" ") and len(found) > 1:
        last = found.pop()
        if last.endswith(message[0]) and message[0]:
            break
    if not is_full and len(found) > TRACEBACK_LINES:
        missing = len(found) - TRACEBACK_LINES
        found = [f"… {missing} more {'line' if missing == 1 else 'lines'} (--full)", *found[-TRACEBACK_LINES:]]
    return [escape(line) for line in found]


def _decoded(data: bytes) -> tuple[bool, Any]:
    """Whether it can be read, and the value; one sealed by a codec of the user cannot."""
    try:
        return True, _codec.decode(data)
    except WindlassError:
        return False, f"<{len(data):,} bytes that only the program's own codec can read>"


def laid_out(value: Any, *, width: int, is_full: bool = True) -> list[str]:
    """A value over as many lines as it needs."""
    drawn = pretty.laid_out(
        value,
        width=max(width, 20),
        max_items=None if is_full else MAX_ITEMS,
        max_text=None if is_full else MAX_TEXT,
        max_depth=None if is_full else MAX_DEPTH,
    )
    return [escape(part) for line in drawn for part in line.splitlines()]
