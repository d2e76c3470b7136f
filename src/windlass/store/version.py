"""Which version of the schema a database has, without writing to it."""

from __future__ import annotations

import os

import apsw
import asyncpg

from windlass.store.catalog import Dialect
from windlass.store.migrate import check_postgres, check_sqlite, migrations
from windlass.store.postgres.errors import DriverError, name_of, refuse
from windlass.store.sqlite.errors import DriverError as FileError
from windlass.store.sqlite.errors import refuse as refuse_file
from windlass.store.sqlite.file import (
    close_unchanged,
    is_left_unmade,
    refuse_other_than_files,
)
from windlass.store.sqlite.looking import open_to_look

BUSY_MILLISECONDS = 5_000
CONNECT_SECONDS = 10.0


def newest(dialect: Dialect) -> int:
    """The version that this Windlass brings a database to."""
    return len(migrations(dialect))


def read_sqlite(path: str) -> int:
    """Open a file for reading; 0 if it does not exist. Raises StoreRefused if it cannot be used."""
    if path == ":memory:" or not os.path.exists(path):
        return 0
    where = f"The database {path}"
    refuse_other_than_files(path, where=where)
    database: apsw.Connection | None = None
    try:
        database = open_to_look(path, where=where)
        database.set_busy_timeout(BUSY_MILLISECONDS)
        return 0 if is_left_unmade(database) else check_sqlite(database, where=where)
    except FileError as error:
        raise refuse_file(error, where=where) from None
    finally:
        if database is not None:
            close_unchanged(database)


async def read_postgres(url: str) -> int:
    """Connect and look; 0 if there is no schema of ours. Raises StoreRefused if it cannot be used."""
    where = name_of(url)
    try:
        session = await asyncpg.connect(url, timeout=CONNECT_SECONDS, statement_cache_size=0)
    except (*DriverError, ValueError) as error:
        raise refuse(error, where=where) from None
    try:
        async with session.transaction():  # of a pooler, one session for all of it
            return await check_postgres(session, where=where)
    except DriverError as error:
        raise refuse(error, where=where) from None
    finally:
        session.terminate()
