"""An SQLite file opened only to be looked at: nothing is created, migrated, checkpointed or written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import apsw

from windlass.errors import StoreRefused
from windlass.model.time import Instant
from windlass.runtime import Clock
from windlass.store.base import Tx
from windlass.store.catalog import load
from windlass.store.sqlite.connection import SqliteConnection
from windlass.store.sqlite.errors import DriverError, refuse, translate
from windlass.store.sqlite.file import close_unchanged, is_left_unmade, refuse_other_applications
from windlass.store.sqlite.store import BUSY_FOR

T = TypeVar("T")


class SqliteReader:
    """For a command that does nothing else meanwhile: it reads on the thread that asks."""

    def __init__(self, path: str, *, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._where, self._catalog = f"The database {path}", load("sqlite")
        self._database: apsw.Connection | None = None

    def open(self) -> None:
        """Raises StoreRefused if the file cannot be read."""
        try:
            # Not read-only, though nothing is written: SQLite would leave the journals behind that it makes to read.
            self._database = apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READWRITE)
            self._judge(self._database)
            self._database.set_busy_timeout(BUSY_FOR // 1_000)
            self._database.execute("pragma query_only = on")
            self._database.execute("pragma synchronous = full")  # as every connection of ours has it
        except DriverError as error:
            self.close()
            raise refuse(error, where=self._where) from None
        except BaseException:
            self.close()
            raise

    def _judge(self, database: apsw.Connection) -> None:
        refuse_other_applications(database, where=self._where)
        if is_left_unmade(database):
            raise StoreRefused(f"{self._where} was left when it was being created; to finish it: windlass migrate")

    def close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(apsw.Error):
                close_unchanged(database)

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        """Run fn on a snapshot. It must not write."""
        database = self._database
        assert database is not None  # open() comes first
        connection = SqliteConnection(database, catalog=self._catalog)
        try:
            database.execute("begin")
            connection.begin(now=Instant(self._clock.now()), is_read_only=True)
            return await fn(Tx(connection))
        except DriverError as error:
            raise translate(error, where=self._where) from None
        finally:
            if database.in_transaction:
                database.execute("rollback")
