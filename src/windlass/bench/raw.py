"""What the database can do without Windlass: commits of one row, and groups of rows in one commit.

With the settings Windlass uses, on a table of its own that is gone afterwards. On SQLite that is in a file of its own
beside the database: in the same file, one would wait for the other's lock.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import apsw
import asyncpg

from windlass.store.postgres.errors import DriverError as PostgresError
from windlass.store.postgres.errors import name_of
from windlass.store.postgres.errors import refuse as refuse_postgres
from windlass.store.sqlite.errors import DriverError as SqliteError
from windlass.store.sqlite.errors import refuse as refuse_sqlite

if TYPE_CHECKING:
    Session = asyncpg.Connection[Any]  # generic in its stubs only

ROW = b"x" * 200  # about what a step leaves behind
GROUP = 500  # rows of one commit
GROUPS_UNTIL_CHECKPOINT = 50  # after 1,000 pages SQLite begins its log anew
IN_MEMORY = ":memory:"
CONNECT_SECONDS = 10.0

_SQLITE_OPEN = """
pragma journal_mode = wal;
pragma synchronous = full;
create table bare (id integer primary key, value blob not null);
"""
_SQLITE_SETTINGS = """
select 'sqlite_version', sqlite_version()
union all select 'journal_mode', journal_mode from pragma_journal_mode
union all select 'synchronous', cast(synchronous as text) from pragma_synchronous
"""
_SQLITE_INSERT = "insert into bare (id, value) values (?, ?)"
_POSTGRES_OPEN = """
drop table if exists windlass_bare;
create table windlass_bare (id bigint primary key, value bytea not null);
"""
_POSTGRES_SETTINGS = """
select name, setting from pg_settings where name in ('server_version', 'fsync', 'synchronous_commit')
"""
_POSTGRES_INSERT = "insert into windlass_bare (id, value) values ($1, $2)"
_POSTGRES_GROUP = """
insert into windlass_bare (id, value) select * from unnest($1::bigint[], $2::bytea[])
"""
_POSTGRES_CLOSE = "drop table if exists windlass_bare"


class Bare(Protocol):
    """A connection and a table."""

    async def open(self) -> dict[str, str]:
        """Make the table, as one in use. Answers with what the database says about itself on this very connection."""
        ...

    async def commit(self) -> None:
        """One row in a commit of its own."""
        ...

    async def commit_group(self, rows: int) -> None:
        """Many rows in one commit."""
        ...

    async def close(self) -> None:
        """Remove the table. Closing what was not opened is fine."""
        ...


class SqliteBare:
    """Nothing here suspends: a bare commit has no thread to wait for."""

    def __init__(self, path: str) -> None:
        self._path = path if path == IN_MEMORY else f"{path}-bare"
        self._connection: apsw.Connection | None = None
        self._rows = 0

    async def open(self) -> dict[str, str]:
        self._remove()
        try:
            self._connection = apsw.Connection(self._path)
            self._connection.execute(_SQLITE_OPEN).fetchall()
            settings = {str(name): str(value) for name, value in self._connection.execute(_SQLITE_SETTINGS)}
            # While the log of a new file still grows, a commit takes up to three times as long.
            for _ in range(GROUPS_UNTIL_CHECKPOINT):
                await self.commit_group(GROUP)
            return settings
        except SqliteError as error:
            raise refuse_sqlite(error, where=f"The database {self._path}") from None

    async def commit(self) -> None:
        assert self._connection is not None
        self._rows += 1
        self._connection.execute(_SQLITE_INSERT, (self._rows, ROW))

    async def commit_group(self, rows: int) -> None:
        assert self._connection is not None
        first, self._rows = self._rows + 1, self._rows + rows
        with self._connection:
            self._connection.executemany(_SQLITE_INSERT, ((id, ROW) for id in range(first, first + rows)))

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._remove()

    def _remove(self) -> None:
        for ending in ("", "-wal", "-shm"):
            Path(f"{self._path}{ending}").unlink(missing_ok=True)


class PostgresBare:
    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Session | None = None
        self._rows = 0

    async def open(self) -> dict[str, str]:
        try:
            self._connection = await asyncpg.connect(self._url, timeout=CONNECT_SECONDS)
            await self._connection.execute(_POSTGRES_OPEN)
            return {name: value for name, value in await self._connection.fetch(_POSTGRES_SETTINGS)}
        except (*PostgresError, ValueError) as error:
            raise refuse_postgres(error, where=name_of(self._url)) from None

    async def commit(self) -> None:
        assert self._connection is not None
        self._rows += 1
        await self._connection.execute(_POSTGRES_INSERT, self._rows, ROW)

    async def commit_group(self, rows: int) -> None:
        assert self._connection is not None
        first, self._rows = self._rows + 1, self._rows + rows
        await self._connection.execute(_POSTGRES_GROUP, range(first, first + rows), [ROW] * rows)

    async def close(self) -> None:
        if self._connection is not None:
            with suppress(*PostgresError):  # whatever went wrong was said before
                await self._connection.execute(_POSTGRES_CLOSE)
                await self._connection.close()
