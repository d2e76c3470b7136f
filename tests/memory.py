"""A folder in memory, for tests that kill processes.

That loses no page of a file, so a file in memory is as good as one on disk, and much faster.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
DAY = 24 * 60 * 60


@contextmanager
def folder_in_memory(name: str) -> Iterator[Path]:
    """An empty folder, if there is memory to be had as a file system; else on disk."""
    remove_leftovers(MEMORY)
    with tempfile.TemporaryDirectory(prefix=f"windlass-{name}-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


def remove_leftovers(place: Path) -> None:
    """A test run that was killed could not clean up. No other one lasts for a day."""
    for left in place.glob("windlass-*/"):
        if left.exists() and left.stat().st_mtime < time.time() - DAY:
            shutil.rmtree(left, ignore_errors=True)
