"""What an exception of the SQLite driver means to the rest of Windlass."""

from __future__ import annotations

import apsw

from windlass.errors import InvalidInput, StoreRefused, Unavailable, WindlassError


def translate(error: apsw.Error, *, where: str) -> WindlassError:
    """Say it in one line, in our own terms. What the world may put right under an open file is Unavailable."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable(f"{where} is busy: another process holds its write lock.")
        case apsw.FullError():
            return Unavailable(f"{where} cannot grow: the disk is full. Free some space, and it goes on.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return Unavailable(f"{where} has become read-only. Make it writable, and it goes on.")
        case apsw.IOError() | apsw.NoMemError() | apsw.InterruptError() | apsw.CantOpenError():
            return Unavailable(f"{where} cannot be read or written: {error}.")
        case apsw.NotADBError() | apsw.FormatError() | apsw.CorruptError():
            return StoreRefused(f"{where} is damaged: {error}. Restore it from a backup.")
        case apsw.ConstraintError() | apsw.MismatchError() | apsw.TooBigError() | apsw.RangeError():
            return InvalidInput(f"{where} refused a value: {error}.", reason="refused_by_store")
    return WindlassError(f"{where} refused a statement: {type(error).__name__}: {error}.")


def refuse(error: apsw.Error, *, where: str) -> WindlassError:
    """Say in one line why a file cannot be opened."""
    match error:
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreRefused(f"{where} is read-only. Make the file and its folder writable, or choose another.")
        case apsw.NotADBError() | apsw.FormatError():
            return StoreRefused(f"{where} is not a database; choose another file.")
        case apsw.CantOpenError():
            return StoreRefused(f"{where} cannot be opened: does its folder exist, and may you write there?")
        case apsw.IOError():
            return StoreRefused(f"{where} cannot be opened: {error}.")
        case apsw.SQLError():  # of the few statements that look at a file: its tables are not what they are called
            return StoreRefused(f"{where} is damaged: {error}. Restore it from a backup.")
    return translate(error, where=where)
