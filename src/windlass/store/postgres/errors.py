"""What an exception of the PostgreSQL driver means to the rest of Windlass."""

from __future__ import annotations

from urllib.parse import urlsplit

import asyncpg

from windlass.errors import InvalidInput, StoreRefused, Unavailable, WindlassError

# All that may come out of the driver: of the server, of the client side, of the socket.
DriverError = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)

# The transaction was undone by the server and may be run again as it is.
Repeatable = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InvalidCachedStatementError,
    asyncpg.LockNotAvailableError,  # not within the time that was given for it
)

_UNAVAILABLE = (
    *Repeatable,
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,  # a primary that has become a standby: the next connection finds the new one
    asyncpg.InternalClientError,
    OSError,
)
_REFUSED_VALUES = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.DataError,
    ValueError,  # the driver's own check of a parameter is an InterfaceError and a ValueError
)


def name_of(url: str) -> str:
    """How messages call the database: without the password, whatever else the URL holds."""
    try:
        parts = urlsplit(url)
        return f"The database {parts.path.lstrip('/') or '?'} at {parts.hostname or '?'}:{parts.port or 5432}"
    except ValueError:
        return "The database"


def translate(error: BaseException, *, where: str, is_lost: bool = False) -> WindlassError:
    """Say it in one line, in our own terms. `is_lost`: the connection is gone, whatever the driver calls it."""
    if is_lost or isinstance(error, _UNAVAILABLE):
        return Unavailable(f"{where} does not answer: {_line(error)}.")
    if isinstance(error, _REFUSED_VALUES):
        return InvalidInput(f"{where} refused a value: {_line(error)}.", reason="refused_by_store")
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return StoreRefused(f"{where} does not let this user in: {_line(error)}.")
    return WindlassError(f"{where} refused a statement: {_line(error)}.")


def refuse(error: BaseException, *, where: str) -> StoreRefused:
    """Say in one line why a database cannot be opened."""
    return StoreRefused(f"{where} cannot be opened: {_line(error)}.")


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text or type(error).__name__
