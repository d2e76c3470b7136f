"""Coordinators as processes of their own, on a clock that the test moves for all of them.

    coordinate    look after the database, over and over, until SIGTERM

A clock in shared memory: every process sees the same time at the same moment, and it stands still until it is moved.
"""

from __future__ import annotations

import asyncio
import mmap
import struct
from collections.abc import Callable
from pathlib import Path

from tests.processes.beside import told_to_leave
from windlass.assembly import open_engine
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock, system_rng
from windlass.settings import Settings

INTERVAL = Duration(30 * SECOND)  # of the coordinators: by the shared clock, as what counts as on time
BATCH = 10  # schedules in one pass: few, so that they meet at all of them and not only at the first
PACE = 0.02  # real seconds between two looks that found nothing
MICROSECONDS = struct.Struct("=q")


class SharedClock:
    """A `Clock` whose wall time stands in a file; everything else about it is real."""

    def __init__(self, path: Path) -> None:
        system = SystemClock()
        self.monotonic, self.call_later, self.sleep = system.monotonic, system.call_later, system.sleep
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), MICROSECONDS.size)

    @staticmethod
    def make(path: Path, *, now: int) -> SharedClock:
        path.write_bytes(MICROSECONDS.pack(now))
        return SharedClock(path)

    def now(self) -> int:
        found: int = MICROSECONDS.unpack_from(self._memory)[0]
        return found

    def move(self, now: int) -> None:
        assert now >= self.now()
        self._memory[:] = MICROSECONDS.pack(now)  # at once: `pack_into` writes zeros first, and others read meanwhile


def coordinate(*, url: str, clock: str, number: int) -> None:
    async def main() -> None:
        leave = told_to_leave()
        opened = await open_engine(url, Settings(coordinates=False), clock=SharedClock(Path(clock)), rng=system_rng())
        coordinator = Coordinator(opened.engine.parts, CoordinatorSettings(interval_for=INTERVAL, batch=BATCH))
        while not leave.is_set():
            if not await coordinator.tick():
                await asyncio.sleep(PACE)
        await opened.close()

    asyncio.run(main())


ENTRIES: dict[str, Callable[..., int | None]] = {"coordinate": coordinate}
