"""What was measured, when, and where: kept beside the table, so that one figure can be measured anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.targets import BY_NAME

FILE = Path(__file__).parent / "results.json"


class Measured(Struct, frozen=True, kw_only=True):
    samples: list[float]
    on: str  # the day
    command: str


class Results(Struct, kw_only=True):
    """By figure and store."""

    figures: dict[str, dict[str, Measured]] = {}
    about: dict[str, str] = {}  # the machine and the versions

    def add(self, figure: str, store: str, samples: Sequence[float], *, on: str, command: str) -> None:
        assert figure in BY_NAME, f"{figure} is no figure: targets.py has them all"
        self.figures.setdefault(figure, {})[store] = Measured(samples=list(samples), on=on, command=command)

    def merge(self, newer: Results) -> None:
        """Take what is newer, keep what was not measured again."""
        for name, stores in newer.figures.items():
            self.figures.setdefault(name, {}).update(stores)
        self.about |= newer.about


def load(path: Path = FILE) -> Results:
    return msgspec.json.decode(path.read_bytes(), type=Results) if path.exists() else Results()


def save(results: Results, path: Path = FILE) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")
