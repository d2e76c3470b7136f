"""An SQLite file opened only to be looked at: nothing is created, migrated, checkpointed or written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import apsw

from windlass.errors import StoreRefused, Unavailable, WindlassError
from windlass.model.time import Instant
from windlass.runtime import Clock
from windlass.store.base import Tx
from windlass.store.catalog import load
from windlass.store.migrate import check_sqlite
from windlass.store.sqlite.connection import SqliteConnection
from windlass.store.sqlite.errors import DriverError, refuse, translate
from windlass.store.sqlite.file import close_unchanged, is_left_unmade, is_read_only
from windlass.store.sqlite.looking import Stamp, has_journal, open_to_look, stamp
from windlass.store.sqlite.store import BUSY_FOR

T = TypeVar("T")

MOST_LOOKS = 10  # at a file that changes while it is read


class SqliteReader:
    """It reads on the thread that asks. What it reads without a lock is read again if it has changed meanwhile."""

    def __init__(self, path: str, *, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._where, self._catalog = f"The database {path}", load("sqlite")
        self._database: apsw.Connection | None = None
        self._seen: Stamp | None = None  # how it stood when it was opened, if it is read without a lock
        self.is_read_only = False

    def open(self) -> int:
        """The version of its schema. Raises StoreRefused if the file cannot be read."""
        try:
            self._connect()
            assert self._database is not None
            return check_sqlite(self._database, where=self._where)
        except DriverError as error:
            self.close()
            raise refuse(error, where=self._where) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(apsw.Error):
                close_unchanged(database)

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        """Run fn on a snapshot. It must not write, and may be run again."""
        for _ in range(MOST_LOOKS):
            if self._has_changed():
                self.close()
                self.open()
            try:
                answer = await self._snapshot(fn)
            except WindlassError:
                if not self._has_changed():
                    raise
            else:
                if not self._has_changed():
                    return answer
        raise Unavailable(f"{self._where} changes while it is read. Ask again.")

    def _connect(self) -> None:
        seen = stamp(self._path)
        self.is_read_only = is_read_only(self._path)
        self._seen = seen if self.is_read_only and not has_journal(seen) else None
        self._database = open_to_look(self._path, where=self._where)
        if is_left_unmade(self._database):
            raise StoreRefused(f"{self._where} was left when it was being created; to finish it: windlass migrate")
        self._database.set_busy_timeout(BUSY_FOR // 1_000)
        self._database.execute("pragma query_only = on")
        self._database.execute("pragma synchronous = full")  # as every connection of ours has it

    def _has_changed(self) -> bool:
        return self._seen is not None and stamp(self._path) != self._seen

    async def _snapshot(self, fn: Callable[[Tx], Awaitable[T]]) -> T:
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
