"""Where a crash story takes place: an empty database that costs little, and a look at it from outside."""

from __future__ import annotations

import asyncio
import shutil
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import apsw
import asyncpg

from tests.invariants.evidence import Snapshot, take_snapshot
from windlass.model.time import Instant
from windlass.store.base import Tx
from windlass.store.catalog import load
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.connection import SqliteConnection
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

T = TypeVar("T")

TABLES = (
    *("runs", "payloads", "steps", "keys", "log", "workers", "inbox", "gates", "schedules", "workflows", "cursors"),
    *("namespaces", "api_keys", "audit", "removed_log", "graphs", "jobs", "edges"),
    *("pipelines", "handlers", "topics", "events", "inputs", "causes", "handler_runs", "effects"),
    *("items", "tasks", "signals", "firings", "signal_cursors"),
    "minutes",
)
CLEAR = "; ".join(f"delete from windlass.{table}" for table in TABLES)

# Who may still change something: whoever works on a statement, or has written in a transaction. A connection that was
# just being made when its process died may still wait for the rest of a read, which never comes.
AT_WORK = """
select count(*) from pg_stat_activity
 where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
   and (backend_xid is not null or (state = 'active' and wait_event is distinct from 'ClientRead'))
"""
# A statement that lay unread in a socket when its sender died shows in neither: only the end of its connection does.
OTHERS = """
select pid from pg_stat_activity
 where datname = current_database() and backend_type = 'client backend' and pid <> all($1::int[])
"""
PATIENCE = 60.0  # seconds for the server to notice that a client is gone
LINGERING = 0.3  # seconds after which a connection that does not end is one that was just being made


class Places(Protocol):
    """A database of which every case gets an empty one."""

    name: str

    def fresh(self) -> Place: ...


class Place(ABC):
    """One case: a folder for its journal, a URL, and how to look at the database."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder

    @abstractmethod
    def look(self, *, at: int, life: int, is_judged: bool = True) -> Snapshot: ...

    def look_at_death(self, *, at: int, life: int) -> Snapshot:
        return self.look(at=at, life=life)


class SqlitePlaces:
    """A copy of an empty file for each case."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runner = asyncio.Runner()
        self._template = folder / "template.db"
        self._runner.run(self._make_template())

    def fresh(self) -> Place:
        return SqlitePlace(_emptied(self._folder / "case"), self._runner, template=self._template)

    def close(self) -> None:
        self._runner.close()

    async def _make_template(self) -> None:
        store = SqliteStore(str(self._template), clock=FakeClock())
        await store.open()
        await store.close()


class SqlitePlace(Place):
    def __init__(self, folder: Path, runner: asyncio.Runner, *, template: Path) -> None:
        self._path, self._runner = folder / "windlass.db", runner
        shutil.copy(template, self._path)
        super().__init__(str(self._path), folder)

    def look(self, *, at: int, life: int, is_judged: bool = True) -> Snapshot:
        """Look at a copy: opening the file itself would tidy up the journal that a dead process left behind."""
        copy = _emptied(self.folder / "copy") / "windlass.db"
        for suffix in ("", "-wal"):
            source = self._path.with_name(self._path.name + suffix)
            if source.exists():
                shutil.copy(source, copy.with_name(copy.name + suffix))
        reader = Reader(copy)
        try:
            return self._runner.run(take_snapshot(reader, at=at, life=life, is_judged=is_judged))
        finally:
            reader.close()


class Reader:
    """A file that is only read, without the thread a store has: it is opened and closed thousands of times."""

    catalog = load("sqlite")

    def __init__(self, path: Path) -> None:
        self._database = apsw.Connection(str(path))
        self._connection = SqliteConnection(self._database, catalog=self.catalog)

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        self._connection.begin(now=Instant(0), is_read_only=True)
        self._database.execute("begin")
        try:
            return await fn(Tx(self._connection))
        finally:
            self._database.execute("rollback")

    def close(self) -> None:
        self._database.close()


class PostgresPlaces:
    """One database, emptied for each case: that is ten times cheaper than a new one."""

    name = "postgresql"

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self._runner = asyncio.Runner()
        self._store = PostgresStore(url, clock=FakeClock())
        self._runner.run(self._store.open())
        self._connection = self._runner.run(self._connect())
        self._own = [row["pid"] for row in self._runner.run(self._connection.fetch(OTHERS, []))]

    def fresh(self) -> Place:
        self._runner.run(self._connection.execute(CLEAR))
        folder = _emptied(self._folder / "case")
        return PostgresPlace(self._url, folder, self._runner, store=self._store, settle=self._settle)

    async def _connect(self) -> asyncpg.Connection[Any]:
        return await asyncpg.connect(self._url, ssl=False)

    def _settle(self) -> None:
        """Wait until the server does nothing for anyone else."""
        self._runner.run(asyncio.wait_for(self._at_rest(), PATIENCE))

    async def _at_rest(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + LINGERING
        while await self._connection.fetchval(AT_WORK) or (
            loop.time() < deadline and await self._connection.fetch(OTHERS, self._own)
        ):
            pass

    def close(self) -> None:
        self._runner.run(self._connection.close())
        self._runner.run(self._store.close())
        self._runner.close()


class PostgresPlace(Place):
    def __init__(
        self, url: str, folder: Path, runner: asyncio.Runner, *, store: PostgresStore, settle: Callable[[], None]
    ) -> None:
        super().__init__(url, folder)
        self._runner, self._store, self._settle = runner, store, settle

    def look(self, *, at: int, life: int, is_judged: bool = True) -> Snapshot:
        return self._runner.run(take_snapshot(self._store, at=at, life=life, is_judged=is_judged))

    def look_at_death(self, *, at: int, life: int) -> Snapshot:
        """Look once the server has noticed: a statement on its way when its sender died may still be carried out."""
        self._settle()
        return self.look(at=at, life=life)


@contextmanager
def sqlite_places(folder: Path) -> Iterator[SqlitePlaces]:
    places = SqlitePlaces(folder)
    try:
        yield places
    finally:
        places.close()


@contextmanager
def postgres_places(url: str, folder: Path) -> Iterator[PostgresPlaces]:
    places = PostgresPlaces(url, folder)
    try:
        yield places
    finally:
        places.close()


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
