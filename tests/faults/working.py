"""A worker in a process of its own: `python -m tests.faults.working URL JOURNAL`, until SIGTERM."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import windlass
from tests.faults.shop import declare_order
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock
from windlass.settings import Settings
from windlass.testing.journal import Journal

VISIBILITY = Duration(5 * SECOND)  # how long a run stays behind whose claim or whose answer was lost
MAX_RECOVERIES = 1_000  # the store fails much more often here than a body ever should


def main(url: str, journal_path: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    journal = Journal(Path(journal_path))
    journal.begin_life(SystemClock())
    settings = Settings(visibility_for=VISIBILITY, max_recoveries=MAX_RECOVERIES)
    app = windlass.App(url, settings=settings)
    declare_order(app, journal)
    app.serve(slots=20)


if __name__ == "__main__":
    main(*sys.argv[1:])
