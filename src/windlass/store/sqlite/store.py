"""Windlass on one SQLite file: embedded, durable, shared by processes of one machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import apsw

from windlass.errors import NotAllowed, StoreRefused, WindlassError
from windlass.model.time import SECOND, Duration, Instant
from windlass.runtime import Clock
from windlass.store.base import Hooks, Lane, NoHooks, Tx
from windlass.store.catalog import load
from windlass.store.migrate import check_sqlite, migrate_memory, migrate_sqlite
from windlass.store.sqlite.connection import SqliteConnection
from windlass.store.sqlite.errors import DriverError, refuse, translate
from windlass.store.sqlite.file import (
    close_unchanged,
    create_private,
    refuse_gone,
    refuse_other_applications,
    refuse_other_than_files,
)
from windlass.store.sqlite.locks import FileLocks
from windlass.store.sqlite.thread import Killed, WriterThread

T = TypeVar("T")
Transaction = Callable[[Tx], Awaitable[T]]

IN_MEMORY = ":memory:"
ATTEMPTS_WHEN_BUSY = 2  # each waits for the whole busy time-out
BUSY_FOR = Duration(5 * SECOND)
CACHE_KIB = 8192
KINDS = frozenset(
    {"start_runs", "begin_steps", "complete_steps", "finish_runs", "handler_operations", "publish_events"}
)


class SqliteStore:
    """One connection on one thread. Several processes may open the same file; one of them writes at a time."""

    creates_behind_gates = False  # nothing changes between two statements of a transaction

    def __init__(self, path: str, *, clock: Clock, hooks: Hooks | None = None, busy_for: Duration = BUSY_FOR) -> None:
        self.hooks: Hooks = hooks or NoHooks()
        # No small cap: on SQLite a smaller batch only costs more fsyncs.
        self.lanes: Sequence[Lane] = (Lane(kinds=KINDS, senders=1, cap=100_000),)
        self.commits = 0  # counted by SQLite itself, so that no commit goes unnamed
        self._path, self._clock, self._busy_for = path, clock, busy_for
        self._where = f"The database {path}"
        self.locks = FileLocks(None if path == IN_MEMORY else path)
        self._thread: WriterThread | None = None
        self._process = 0
        self._is_killed = False
        self._database: apsw.Connection
        self._connection: SqliteConnection
        self._tx: Tx

    async def open(self) -> None:
        """Open the file, creating it if it is missing, and migrate it. Raises StoreRefused if it cannot be used."""
        if self._thread is not None:
            raise NotAllowed("The store is open already.")
        self._thread, self._process = WriterThread("windlass-sqlite"), os.getpid()
        try:
            await self._thread.submit(self._open)
        except BaseException:
            self._thread.stop()
            self._thread = None
            raise

    async def close(self) -> None:
        """Wait for what is queued, then let go of the file. Closing twice is fine."""
        thread, self._thread = self._thread, None
        if thread is None or self._is_killed:
            return
        self._check_process()
        await self.locks.close()
        try:
            await thread.submit(lambda: self._database.close())
        finally:
            thread.stop()

    async def run_tx(self, name: str, fn: Transaction[T], *, single: bool = False, is_cancellable: bool = True) -> T:
        """Run fn in one transaction, whole, on the writer thread: it may await nothing but `tx`."""
        return await self._submit(lambda: self._write(name, fn))

    async def read(self, name: str, fn: Transaction[T], *, single: bool = False) -> T:
        """Run fn on a snapshot. It must not write."""
        return await self._submit(lambda: self._read(name, fn))

    async def data_version(self) -> int:
        """A number that changes when another connection, of this or another process, has committed."""
        return await self._submit(self._data_version)

    def kill(self) -> None:
        """Play a process that dies here: no commit, no clean-up, no answer, now or later. For crash tests."""
        self._is_killed = True
        self.locks.kill()
        if self._thread is None:
            return
        if self._thread.is_current:  # called by a hook: the transaction in hand dies with the connection
            self._drop()
            return
        self._thread.stop()
        self._thread.join(seconds=10)
        self._drop()

    async def _submit(self, work: Callable[[], T]) -> T:
        if self._is_killed:
            await asyncio.get_running_loop().create_future()  # for ever
        if self._thread is None:
            raise NotAllowed("The store is closed.")
        self._check_process()
        return await self._thread.submit(work)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise NotAllowed("This store was opened by the parent process; a forked process must open its own.")

    # From here on: on the writer thread.

    def _open(self) -> None:
        if self._path != IN_MEMORY:
            refuse_other_than_files(self._path, where=self._where)
            create_private(self._path)
        database: apsw.Connection | None = None
        try:
            database = apsw.Connection(self._path)
            if self._path != IN_MEMORY:
                refuse_other_applications(database, where=self._where)
            database.set_busy_timeout(self._busy_for // 1_000)
            if database.readonly("main"):
                raise apsw.ReadOnlyError
            self._prepare(database)
            database.set_busy_timeout(self._busy_for // 1_000)  # again: to migrate took longer
        except DriverError as error:
            if database is not None:
                close_unchanged(database)
            raise refuse(error, where=self._where) from None
        except BaseException:
            if database is not None:
                close_unchanged(database)
            raise
        database.set_commit_hook(self._count_commit)
        self._database = database
        self._connection = SqliteConnection(database, catalog=load("sqlite"))
        self._tx = Tx(self._connection)

    def _prepare(self, database: apsw.Connection) -> None:
        """Judge the file before anything is written to it, then set it up."""
        check_sqlite(database, where=self._where)
        if self._path != IN_MEMORY:
            _switch_to_wal(database, where=self._where)
        keep_plans(database)
        database.execute("pragma synchronous = full")
        database.execute("pragma foreign_keys = on")
        database.execute(f"pragma cache_size = -{CACHE_KIB}")
        if self._path == IN_MEMORY:
            migrate_memory(database)
        else:
            migrate_sqlite(database, where=self._where)

    def _write(self, name: str, fn: Transaction[T]) -> T:
        attempt = 1
        while True:
            try:
                return self._attempt(name, fn)
            except apsw.BusyError as error:
                self._roll_back()
                if attempt == ATTEMPTS_WHEN_BUSY:
                    raise translate(error, where=self._where, in_use=True) from None
                attempt += 1
            except DriverError as error:
                self._roll_back()
                raise translate(error, where=self._where, in_use=True) from None
            except BaseException:
                self._roll_back()
                raise

    def _attempt(self, name: str, fn: Transaction[T]) -> T:
        self._hook(self.hooks.before_begin, name)
        self._refuse_gone()
        self._database.execute("begin immediate")
        self._connection.begin(now=Instant(self._clock.now()), is_read_only=False)
        result = drive(name, fn(self._tx))
        self._hook(self.hooks.before_commit, name)
        self._database.execute("commit")
        self._hook(self.hooks.after_commit, name)
        return result

    def _read(self, name: str, fn: Transaction[T]) -> T:
        if self._is_killed:
            raise Killed
        try:
            self._refuse_gone()
            self._database.execute("begin")
            self._connection.begin(now=Instant(self._clock.now()), is_read_only=True)
            return drive(name, fn(self._tx))
        except DriverError as error:
            raise translate(error, where=self._where, in_use=True) from None
        finally:
            self._roll_back()

    def _data_version(self) -> int:
        if self._is_killed:
            raise Killed
        try:
            self._refuse_gone()
            (version,) = self._database.execute("pragma data_version").fetchall()[0]
        except DriverError as error:
            raise translate(error, where=self._where, in_use=True) from None
        assert isinstance(version, int)
        return version

    def _refuse_gone(self) -> None:
        if self._path != IN_MEMORY:
            refuse_gone(self._database, where=self._where)

    def _hook(self, hook: Callable[[str], None], name: str) -> None:
        if self._is_killed:
            raise Killed
        try:
            hook(name)
        finally:
            if self._is_killed:
                raise Killed

    def _roll_back(self) -> None:
        if self._is_killed:
            return  # the connection goes down as it is
        if self._database.in_transaction:  # SQLite may have rolled back by itself
            with suppress(apsw.Error):  # what made it necessary is what the caller is told
                self._database.execute("rollback")

    def _count_commit(self) -> bool:
        self.commits += 1
        return False  # go on

    def _drop(self) -> None:
        """Close without a checkpoint: the journal stays behind as a dead process would leave it."""
        with suppress(apsw.ConnectionClosedError, AttributeError):  # dropped before, or never opened
            self._database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._database.close(True)


def keep_plans(database: apsw.Connection) -> None:
    """Let no plan depend on what is bound: else a claim is planned anew every time, which takes ten times as long."""
    database.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def drive(name: str, awaitable: Awaitable[T]) -> T:
    """Run a coroutine that never suspends to its end."""
    steps = awaitable.__await__()
    try:
        next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
    close: Callable[[], Any] | None = getattr(steps, "close", None)
    if close is not None:
        close()
    raise WindlassError(f"Transaction {name} awaited something other than its tx; that is a bug in it.")


def _switch_to_wal(database: apsw.Connection, *, where: str) -> None:
    for attempt in range(1, 101):
        try:
            (mode,) = database.execute("pragma journal_mode = wal").fetchall()[0]
        except apsw.BusyError:
            # The switch needs the file alone and does not wait for it; two processes that create it meet here.
            if attempt == 100:
                raise
            continue
        break
    if mode != "wal":
        raise StoreRefused(f"{where} lies on a file system without shared memory; SQLite cannot use WAL there.")
