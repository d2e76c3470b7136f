"""What an exception of the SQLite driver means to the rest of Windlass."""

from __future__ import annotations

import apsw

from windlass.errors import InvalidInput, StoreRefused, Unavailable, WindlassError


def translate(error: apsw.Error, *, where: str) -> WindlassError:
    """Say it in one line, in our own terms."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable(f"{where} is busy: another process holds its write lock.")
        case apsw.FullError():
            return Unavailable(f"{where} cannot grow: the disk is full.")
        case apsw.IOError() | apsw.NoMemError() | apsw.InterruptError():
            return Unavailable(f"{where} cannot be read or written: {error}.")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreRefused(f"{where} is read-only.")
        case apsw.NotADBError() | apsw.FormatError():
            return StoreRefused(f"{where} is not a database; choose another file.")
        case apsw.CorruptError():
            return StoreRefused(f"{where} is damaged: {error}.")
        case apsw.CantOpenError():
            return StoreRefused(f"{where} cannot be opened: does its folder exist, and may you write there?")
        case apsw.ConstraintError() | apsw.MismatchError() | apsw.TooBigError() | apsw.RangeError():
            return InvalidInput(f"{where} refused a value: {error}.", reason="refused_by_store")
    return WindlassError(f"{where} refused a statement: {type(error).__name__}: {error}.")
