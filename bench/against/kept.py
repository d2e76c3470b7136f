"""What was compared so far: in a file that git does not know, written part by part, to be gone on with or printed."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from bench.against.verdict import Known, Samples

FOLDER = Path(__file__).parents[1] / ".against_cache"


class Asked(Struct, frozen=True, kw_only=True):
    """What must be the same for figures to stand in one table."""

    theirs: str  # the commit
    ours: str  # the commit, and the changes
    pairs: int
    is_quick: bool


class Compared(Struct, kw_only=True):
    asked: Asked
    revision: str  # as it was called
    parts: dict[str, float] = {}  # that are done: the seconds they took
    figures: dict[str, dict[str, Samples]] = {}
    known: dict[str, Known] = {}
    failed: dict[str, str] = {}  # by part: what it said
    about: dict[str, str] = {}


def path_of(asked: Asked) -> Path:
    """A few parts in more pairs do not cost the table of the whole."""
    return FOLDER / f"{asked.theirs[:12]}-{asked.pairs}{'-quick' if asked.is_quick else ''}.json"


def load(path: Path) -> Compared | None:
    return msgspec.json.decode(path.read_bytes(), type=Compared) if path.exists() else None


def save(compared: Compared, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(compared)) + b"\n")
    unfinished.replace(path)
