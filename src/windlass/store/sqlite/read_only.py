"""Windlass on an SQLite file that this process may only read: it answers questions, and refuses changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn, TypeVar

import apsw

from windlass.errors import NotAllowed, StoreRefused, WindlassError
from windlass.runtime import Clock
from windlass.store.base import Hooks, Lane, NoHooks, Tx
from windlass.store.migrate import migrations
from windlass.store.sqlite.errors import refuse
from windlass.store.sqlite.locks import FileLocks
from windlass.store.sqlite.reader import SqliteReader
from windlass.store.sqlite.store import KINDS, drive
from windlass.store.sqlite.thread import WriterThread

T = TypeVar("T")


class ReadOnlyStore:
    creates_behind_gates = False

    def __init__(self, path: str, *, clock: Clock) -> None:
        self.hooks: Hooks = NoHooks()
        self.lanes: Sequence[Lane] = (Lane(kinds=KINDS, senders=1, cap=1),)
        self.locks = FileLocks(None)  # nobody works here
        self._where = f"The database {path}"
        self._reader = SqliteReader(path, clock=clock)
        self._thread: WriterThread | None = None

    @property
    def refusal(self) -> WindlassError:
        """What becomes of whoever would change something."""
        return refuse(apsw.ReadOnlyError(), where=self._where)

    async def open(self) -> None:
        """Raises StoreRefused if the file cannot be read as it is."""
        if self._thread is not None:
            raise NotAllowed("The store is open already.")
        self._thread = WriterThread("windlass-sqlite")
        try:
            await self._thread.submit(self._open)
        except BaseException:
            self._thread.stop()
            self._thread = None
            raise

    async def close(self) -> None:
        """Closing twice is fine."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await thread.submit(self._reader.close)
            thread.stop()

    async def run_tx(
        self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False, is_cancellable: bool = True
    ) -> NoReturn:
        raise self.refusal

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        """Run fn on a snapshot. It must not write, and may be run again."""
        if self._thread is None:
            raise NotAllowed("The store is closed.")
        return await self._thread.submit(lambda: drive(name, self._reader.read(name, fn)))

    def _open(self) -> None:
        found, known = self._reader.open(), len(migrations("sqlite"))
        if found != known:
            self._reader.close()
            raise StoreRefused(
                f"{self._where} has schema {found}, this Windlass needs {known}, and the file is read-only. "
                "Make it and its folder writable, and bring it up to date: windlass migrate"
            )
