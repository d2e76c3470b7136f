"""How long does each file of tests take? Kept beside them, so that the longest begin first; shown when a run is over.

Files are executed side by side: what takes long must not begin when all the rest is over. `make durations` measures
them anew.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

KEPT = Path(__file__).with_suffix(".json")
SHOWN = 10
UNKNOWN_SECONDS = 10.0  # of a file that was never measured


def known() -> dict[str, float]:
    found: dict[str, float] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return found


def file_of(test: str) -> str:
    return test.partition("::")[0]


def in_order(items: list[pytest.Item], seconds: Mapping[str, float]) -> list[pytest.Item]:
    """The longest file first; tests of a file stay together, in the order in which they stand there."""
    return sorted(items, key=lambda item: -seconds.get(file_of(item.nodeid), UNKNOWN_SECONDS))


class Stopwatch:
    """What each file took, all its tests and their set-up added up."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.seconds: Counter[str] = Counter()

    def add(self, report: pytest.TestReport) -> None:
        self.seconds[file_of(report.nodeid)] += report.duration

    def lines(self) -> list[str]:
        passed = time.monotonic() - self.began
        total = self.seconds.total()
        slowest = [f"{seconds:8.1f} s  {path}" for path, seconds in self.seconds.most_common(SHOWN)]
        return [f"{_clock(passed)} in all, {_clock(total)} of tests side by side. The slowest files:", *slowest]

    def keep(self) -> None:
        kept = {path: round(seconds, 1) for path, seconds in sorted(self.seconds.items())}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")


def _clock(seconds: float) -> str:
    return f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"
