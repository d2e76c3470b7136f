"""A worker in a process of its own: `python -m tests.faults.working URL JOURNAL NUMBER`, until SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

import windlass
from tests.faults.shop import declare_order, journalled
from tests.lives.shared_journal import SharedJournal
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock
from windlass.settings import Settings

VISIBILITY = Duration(5 * SECOND)  # how long a run stays behind whose claim or whose answer was lost
MAX_RECOVERIES = 1_000  # the store fails much more often here than a body ever should
SLOTS = 20


async def work(url: str, journal: SharedJournal) -> None:
    leave = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave.set)
    settings = Settings(visibility_for=VISIBILITY, max_recoveries=MAX_RECOVERIES)
    async with windlass.App(url, settings=settings) as app:
        declare_order(app, journal)
        await journalled(app, journal)
        async with app.worker(slots=SLOTS):
            await leave.wait()


def main(url: str, journal: str, number: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(work(url, SharedJournal(Path(journal), number=int(number), clock=SystemClock())))


if __name__ == "__main__":
    main(*sys.argv[1:])
