"""An SQLite file opened for reading only: nothing is created, migrated, checkpointed or locked for others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import apsw

from windlass.model.time import Instant
from windlass.runtime import Clock
from windlass.store.base import Tx
from windlass.store.catalog import load
from windlass.store.sqlite.connection import SqliteConnection
from windlass.store.sqlite.errors import translate
from windlass.store.sqlite.store import BUSY_FOR

T = TypeVar("T")


class SqliteReader:
    """For a command that does nothing else meanwhile: it reads on the thread that asks."""

    def __init__(self, path: str, *, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._where = f"The database {path}"
        self._database: apsw.Connection
        self._connection: SqliteConnection

    def open(self) -> None:
        """Raises StoreRefused if the file cannot be read."""
        try:
            self._database = apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READONLY)
            self._database.set_busy_timeout(BUSY_FOR // 1_000)
            self._database.execute("pragma synchronous = full")
        except apsw.Error as error:
            raise translate(error, where=self._where) from None
        self._connection = SqliteConnection(self._database, catalog=load("sqlite"))

    def close(self) -> None:
        with suppress(apsw.Error):
            self._database.close(True)

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        """Run fn on a snapshot. It must not write."""
        try:
            self._database.execute("begin")
            self._connection.begin(now=Instant(self._clock.now()), is_read_only=True)
            return await fn(Tx(self._connection))
        except apsw.Error as error:
            raise translate(error, where=self._where) from None
        finally:
            if self._database.in_transaction:
                self._database.execute("rollback")
