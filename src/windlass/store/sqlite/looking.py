"""How a file is opened that is only looked at. Where it may not be written, nothing is left beside it either.

may be written            read-write, though nothing is written: SQLite removes the empty journals that it makes to read
read-only, a journal      with its index as it is: both are there while a process writes, or since one has died
read-only, no journal     as a file that does not change; a caller has to see for itself that it does not
"""

from __future__ import annotations

import os
from typing import TypeAlias
from urllib.parse import quote

import apsw

from windlass.errors import StoreRefused
from windlass.store.sqlite.file import close_unchanged, is_read_only, refuse_other_applications

JOURNALS = ("-wal", "-journal")
READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI

Stamp: TypeAlias = tuple[tuple[int, int, int] | None, ...]  # of the file and of each journal


def open_to_look(path: str, *, where: str) -> apsw.Connection:
    """Raises StoreRefused, or what the driver raises, and leaves everything as it is."""
    if is_read_only(path):
        return _open_read_only(path, where=where)
    database = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        refuse_other_applications(database, where=where)
    except BaseException:
        close_unchanged(database)
        raise
    return database


def stamp(path: str) -> Stamp:
    """What differs once somebody has written: by whatever is read without a lock."""
    real = os.path.realpath(path)
    return tuple(_stamp(f"{real}{ending}") for ending in ("", *JOURNALS))


def has_journal(seen: Stamp) -> bool:
    """Does a part of what was written stand beside the file?"""
    _, *journals = seen
    return any(journal is not None and journal[1] for journal in journals)


def _open_read_only(path: str, *, where: str) -> apsw.Connection:
    is_journalled = has_journal(stamp(path))
    how = "readonly_shm=1" if is_journalled else "immutable=1"
    database = apsw.Connection(f"file:{quote(os.path.realpath(path))}?mode=ro&{how}", flags=READ_ONLY)
    try:
        refuse_other_applications(database, where=where)
        database.execute("pragma schema_version").fetchall()
    except apsw.CantOpenError:
        database.close(True)
        if not is_journalled:
            raise
        raise StoreRefused(
            f"{where} is read-only, and what was written last stands in its journal, {os.path.basename(path)}-wal. "
            "To read that, SQLite has to write beside it: copy both files to a folder of yours, and look at the copy."
        ) from None
    except BaseException:
        database.close(True)
        raise
    return database


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
