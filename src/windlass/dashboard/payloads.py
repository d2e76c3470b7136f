"""What went in and came out, laid out for a person: decoded, secrets masked, and never more than a page can hold."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct
from rich.pretty import pretty_repr

from windlass.codec import Codec
from windlass.errors import WindlassError

LONGEST = 64 * 1024  # bytes that are decoded and shown
WIDTH = 100
MASK = "••••••"
SECRET = re.compile(
    r"pass(word|wd|phrase)?$|secret|token|authorization|api[_-]?key|private[_-]?key|cookie|credential", re.I
)
DEEPEST = 40

_codec = Codec()


class Payload(Struct, frozen=True, kw_only=True):
    text: str
    size: int  # of the whole
    is_cut: bool = False

    @property
    def is_long(self) -> bool:
        return self.text.count("\n") > 12 or len(self.text) > 1_200


def payload(data: bytes | None, *, size: int | None = None, is_call: bool = False) -> Payload | None:
    """`data` may be the beginning of something of `size` bytes. Nothing where there is nothing."""
    if data is None:
        return None
    whole = len(data) if size is None else size
    if whole > LONGEST or len(data) < whole:
        return Payload(text=_masked_text(data[:LONGEST].decode(errors="replace")), size=whole, is_cut=True)
    try:
        value = masked(_codec.decode(data))
    except WindlassError:
        return Payload(text=f"{whole:,} bytes that only the program's own codec can read", size=whole)
    if is_call and isinstance(value, tuple | list):
        return Payload(text="\n".join(_laid_out(item) for item in value) or "nothing", size=whole)
    return Payload(text=_laid_out(value), size=whole)


def masked(value: Any, depth: int = 0) -> Any:
    """The same without what stands under a name that sounds like a secret."""
    if depth > DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {
            key: MASK if isinstance(key, str) and SECRET.search(key) else masked(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [masked(item, depth + 1) for item in value]
    if isinstance(value, tuple):
        return tuple(masked(item, depth + 1) for item in value)
    return value


def _masked_text(text: str) -> str:
    """Of what is cut in the middle, and cannot be decoded."""
    return re.sub(
        r'("(?:[^"\\]|\\.){0,80}")(\s*:\s*)"(?:[^"\\]|\\.)*"?',
        lambda found: f'{found[1]}{found[2]}"{MASK}"' if SECRET.search(found[1].strip('"')) else found[0],
        text,
    )


def _laid_out(value: Any) -> str:
    return pretty_repr(value, max_width=WIDTH)
