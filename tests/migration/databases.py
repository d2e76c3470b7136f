"""A database that a store opens, and that a migration test then prepares and reads without the store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import apsw
import asyncpg

from windlass.store.catalog import Dialect
from windlass.store.migrate import SCHEMA
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

TABLES = {
    "meta",
    "runs",
    "payloads",
    "steps",
    "keys",
    "log",
    "workers",
    "inbox",
    "gates",
    "schedules",
    "workflows",
    "cursors",
    "removed_log",
    "namespaces",
    "api_keys",
    "audit",
    "graphs",
    "jobs",
    "edges",
    "pipelines",
    "handlers",
    "topics",
    "events",
    "inputs",
    "causes",
    "handler_runs",
    "effects",
    "items",
    "tasks",
    "signals",
    "firings",
    "signal_cursors",
    "minutes",
}

Rows = list[tuple[Any, ...]]


class Database(Protocol):
    """An empty one at first. Statements find the tables of Windlass without naming their schema."""

    dialect: Dialect
    name: str  # that a message about it must hold

    async def open_and_close(self) -> None: ...

    async def ask(self, query: str) -> Rows: ...

    async def change(self, statements: str) -> None: ...

    async def tables(self) -> set[str]:
        """The names of the tables of Windlass, or of what stands in their place."""
        ...

    async def contents(self) -> object:
        """All that is there, to be compared with what is there later."""
        ...


class SqliteDatabase:
    dialect: Dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    async def open_and_close(self) -> None:
        store = SqliteStore(str(self.path), clock=FakeClock())
        await store.open()
        await store.close()

    async def ask(self, query: str) -> Rows:
        with closing(apsw.Connection(str(self.path))) as connection:
            return connection.execute(query).fetchall()

    async def change(self, statements: str) -> None:
        await self.ask(statements)

    async def tables(self) -> set[str]:
        rows = await self.ask("select name from sqlite_schema where type = 'table'")
        return {name for (name,) in rows} - {"sqlite_sequence"}

    async def contents(self) -> bytes:
        """Every byte: no journal lies beside the file."""
        assert [file.name for file in self.path.parent.iterdir()] == [self.path.name]
        return self.path.read_bytes()


class PostgresDatabase:
    dialect: Dialect = "postgres"

    def __init__(self, url: str) -> None:
        self.url, self.name = url, urlsplit(url).path.removeprefix("/")

    async def open_and_close(self) -> None:
        store = PostgresStore(self.url)
        await store.open()
        await store.close()

    async def ask(self, query: str) -> Rows:
        async with self._connected() as connection:
            return [tuple(row) for row in await connection.fetch(query)]

    async def change(self, statements: str) -> None:
        async with self._connected() as connection:
            await connection.execute(statements)

    async def tables(self) -> set[str]:
        rows = await self.ask(f"select table_name from information_schema.tables where table_schema = '{SCHEMA}'")
        return {name for (name,) in rows}

    async def contents(self) -> tuple[Rows, dict[str, Rows]]:
        """Every column, and the rows of every table."""
        listing = (
            "select table_name, column_name, data_type from information_schema.columns"
            f" where table_schema = '{SCHEMA}' order by table_name, ordinal_position"
        )
        tables = await self.tables()
        async with self._connected() as connection:
            columns = [tuple(row) for row in await connection.fetch(listing)]
            rows = {table: await connection.fetch(f"select * from {table}") for table in tables}
        return columns, {table: [tuple(row) for row in found] for table, found in rows.items()}

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncpg.Connection[Any]]:
        connection = await asyncpg.connect(self.url, server_settings={"search_path": SCHEMA})
        try:
            yield connection
        finally:
            await connection.close()
