"""Whether a path may be opened as a database at all, whether it is still there, and how a file is left that may not."""

from __future__ import annotations

import ctypes
import glob
import os
import stat
from contextlib import suppress

import apsw

from windlass.errors import FILE_GONE, StoreRefused
from windlass.store.migrate import APPLICATION_ID

# https://sqlite.org/fileformat2.html: the header of a database, and that of a rollback journal.
HEADER_BYTES = 100
FIRST_WORDS = b"SQLite format 3\0"
FORMATS, WAL_FORMATS = slice(18, 20), b"\2\2"
APPLICATION = slice(68, 72)
PAGES_BEFORE = slice(16, 20)  # of the file, when the transaction began that the journal would undo


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


def refuse_gone(database: apsw.Connection, *, where: str) -> None:
    """Raise StoreRefused if the path leads to another file than the open one, or to none.

    What is written to the open one would be lost with it, without an error.
    """
    has_moved = ctypes.c_int(0)
    database.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(has_moved))
    if not has_moved.value:
        return
    try:
        os.stat(database.filename)
    except (FileNotFoundError, NotADirectoryError):
        what = "was removed"
    except OSError:  # it cannot be looked at just now, which says nothing about it
        return
    else:
        what = "was replaced by another file"
    raise StoreRefused(
        f"{where} {what} while it was open. What is written now would be lost, so nothing is: "
        "see that the right file is there, and start again.",
        reason=FILE_GONE,
    )


def is_read_only(path: str) -> bool:
    """Whether this process may not write a file, or the journals that SQLite keeps beside it."""
    real = os.path.realpath(path)
    if not os.path.isfile(real):
        return False
    journals = [f"{real}{ending}" for ending in ("-wal", "-shm")]
    may_keep_journals = os.access(os.path.dirname(real), os.W_OK) or all(os.access(name, os.W_OK) for name in journals)
    return not (os.access(real, os.W_OK) and may_keep_journals)


def left_beside(path: str) -> list[str]:
    """The files beside a database that is not there: none if there never was one, or it was moved as a whole."""
    real = os.path.realpath(path)
    journals = [name for name in (f"{real}-wal", f"{real}-shm") if os.path.exists(name)]
    locks = sorted(glob.glob(f"{glob.escape(real)}-wrk_*.lock"))
    return [os.path.basename(name) for name in (*journals, *locks)]


def create_private(path: str) -> None:
    """Make a new file that only its owner may read; SQLite gives its journals the same mode."""
    with suppress(OSError):  # it is there, or cannot be: opening it says which
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def refuse_other_applications(database: apsw.Connection, *, where: str) -> None:
    """Judge a file by its first bytes, before SQLite looks into it.

    What a crash left in a rollback journal SQLite brings back before it answers the first question: in a file of
    another application that would be written by us. A file of ours has our number from its first migration on.
    """
    # Through SQLite: to open and close it beside SQLite would end the locks that this process has on it elsewhere.
    _, header = database.read("main", 0, 0, HEADER_BYTES)
    if any(header) and not header.startswith(FIRST_WORDS):
        raise StoreRefused(f"{where} is not a database; choose another file.")
    number = int.from_bytes(header[APPLICATION], "big")
    if number == APPLICATION_ID or (number == 0 and _is_without_journal_or_new(database, header)):
        return
    raise StoreRefused(f"{where} belongs to another application; choose another file.")


def is_left_unmade(database: apsw.Connection) -> bool:
    """Was a file never finished by whoever began to create it? Then it is empty, and to look into it would tidy it up.

    Ask for a file that is not refused.
    """
    _, header = database.read("main", 0, 0, HEADER_BYTES)
    if header[APPLICATION] != bytes(4):
        return False
    return _size(database.filename_journal) > 0 or (not any(header) and _size(database.filename_wal) > 0)


def close_unchanged(database: apsw.Connection) -> None:
    """Let go of a file that was only looked at.

    The last to close a file empties its journal into it: what a crash left there would be written to a file we have no
    business with. Without such a journal nothing is written, and SQLite removes the empty ones it made.
    """
    if _size(database.filename_wal):  # as SQLite names it: beside the file itself, not beside a link to it
        database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    database.close(True)


def _is_without_journal_or_new(database: apsw.Connection, header: bytes) -> bool:
    """Without our number it may be ours only if we died while we made it: it was empty, and was to become WAL."""
    if not _size(database.filename_journal):
        return True
    try:
        with open(database.filename_journal, "rb") as journal:
            was_empty = journal.read(PAGES_BEFORE.stop)[PAGES_BEFORE] == bytes(4)
    except FileNotFoundError:  # gone this moment: somebody else creates the database
        return True
    except OSError:
        return False
    return was_empty and (not any(header) or header[FORMATS] == WAL_FORMATS)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
