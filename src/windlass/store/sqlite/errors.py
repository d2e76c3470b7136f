"""What an exception of the SQLite driver means to the rest of Windlass."""

from __future__ import annotations

import apsw

from windlass.errors import InvalidInput, StoreRefused, Unavailable, WindlassError

# All that may come out of the driver: of the database, and of a text in it that is none.
DriverError = (apsw.Error, UnicodeDecodeError)


def translate(error: apsw.Error | UnicodeDecodeError, *, where: str, in_use: bool = False) -> WindlassError:
    """Say it in one line, in our own terms. `in_use`: it was open, and what is in the way now may go away again."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable(f"{where} is busy: another process holds its write lock.")
        case apsw.FullError():
            return Unavailable(f"{where} cannot grow: the disk is full. Free some space, and it goes on.")
        case apsw.ReadOnlyError() | apsw.PermissionsError() if in_use:
            return Unavailable(f"{where} has become read-only. Make it writable, and it goes on.")
        case apsw.CantOpenError() if in_use:
            return Unavailable(f"{where} cannot be read or written: {error}.")
        case apsw.IOError() | apsw.NoMemError() | apsw.InterruptError():
            return Unavailable(f"{where} cannot be read or written: {error}.")
        case apsw.ConstraintError() | apsw.MismatchError() | apsw.TooBigError() | apsw.RangeError():
            return InvalidInput(f"{where} refused a value: {error}.", reason="refused_by_store")
    return _unusable(error, where)


def refuse(error: apsw.Error | UnicodeDecodeError, *, where: str) -> WindlassError:
    """Say in one line why a file cannot be opened."""
    if isinstance(error, apsw.SQLError):  # of the few statements that look at it: its tables are not what they say
        return StoreRefused(f"{where} is damaged: {error}. Restore it from a backup.")
    return translate(error, where=where)


def _unusable(error: apsw.Error | UnicodeDecodeError, where: str) -> WindlassError:
    match error:
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreRefused(f"{where} is read-only. Make the file and its folder writable, or choose another.")
        case apsw.NotADBError() | apsw.FormatError():
            return StoreRefused(f"{where} is not a database; choose another file.")
        case apsw.CorruptError() | UnicodeDecodeError():
            return StoreRefused(f"{where} is damaged: {error}. Restore it from a backup.")
        case apsw.SQLError():  # every statement is ours, so it is the tables that are not
            return StoreRefused(f"{where} is not as it should be: {error}. See: windlass doctor")
        case apsw.CantOpenError():
            return StoreRefused(f"{where} cannot be opened: does its folder exist, and may you write there?")
    return WindlassError(f"{where} refused a statement: {type(error).__name__}: {error}.")
