"""Whether a path may be opened as a database at all, and how a file is left that may not."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

import apsw

from windlass.errors import StoreRefused

JOURNAL = "-wal"


def refuse_other_than_files(path: str, *, where: str) -> None:
    """SQLite would wait for a pipe, and take an empty device for an empty file and write its journals beside it."""
    try:
        mode = os.stat(path).st_mode
    except OSError:  # it does not exist yet, or cannot be looked at: opening it says which
        return
    if stat.S_ISDIR(mode):
        raise StoreRefused(f"{where} cannot be opened: it is a folder; name a file in it.")
    if not stat.S_ISREG(mode):
        raise StoreRefused(f"{where} cannot be opened: it is a device or a pipe; choose a file.")


def create_private(path: str) -> None:
    """Make a new file that only its owner may read; SQLite gives its journals the same mode."""
    with suppress(OSError):  # it is there, or cannot be: opening it says which
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def close_unchanged(database: apsw.Connection, *, path: str) -> None:
    """Let go of a file that was only looked at.

    The last to close a file empties its journal into it: what a crash left there would be written to a file we have no
    business with. Without such a journal nothing is written, and SQLite removes the empty ones it made.
    """
    if _size(path + JOURNAL):
        database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    database.close(True)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
