"""A disk that is small enough to be filled, and that can be made read-only: a file system in memory of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHUNK = 4096


class Disk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    @property
    def database(self) -> Path:
        return self.folder / "windlass.db"

    def fill(self) -> None:
        """Take every byte that is left."""
        with self._filler.open("ab", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(CHUNK))
            except OSError:
                return

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    def remount(self, options: str) -> None:
        _mount("-o", f"remount,{options}", str(self.folder))


@contextmanager
def small_disk(folder: Path, *, megabytes: int) -> Iterator[Disk]:
    """Skips where nobody may mount anything."""
    folder.mkdir()
    try:
        _mount("-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    try:
        yield Disk(folder)
    finally:
        # Lazily: a test that failed may have left a process with an open file behind.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        os.rmdir(folder)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True, text=True)


@contextmanager
def read_only_view(folder: Path, view: Path) -> Iterator[Path]:
    """The same files under another name, where nothing can be written. Skips where nobody may mount anything."""
    view.mkdir()
    try:
        _mount("--bind", str(folder), str(view))
        _mount("-o", "remount,bind,ro", str(view))
    except (OSError, subprocess.CalledProcessError) as error:
        subprocess.run(["umount", "--lazy", str(view)], check=False, capture_output=True)
        pytest.skip(f"no file system can be mounted here: {error}")
    try:
        yield view
    finally:
        subprocess.run(["umount", "--lazy", str(view)], check=True)
