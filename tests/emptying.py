"""A migrated PostgreSQL database for the next test: rows deleted, tables kept.

A new database would take ten times as long, and truncating makes a new file for every table and every index. Most
tables are empty: one look finds those that are not. Connections are kept, because to open one takes longest.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import asyncpg

from windlass.store.migrate import SCHEMA

TABLES = f"select tablename from pg_tables where schemaname = '{SCHEMA}' and tablename <> 'meta' order by 1"
FORGET = f"delete from {SCHEMA}.meta where key = 'counted_until'"
OTHERS_OUT = """
select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""


class Emptier:
    """It has a thread and a loop of its own: the loop of a test must stay the current one."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="test-postgres")
        self._runner = asyncio.Runner()
        self._connections: dict[str, asyncpg.Connection[Any]] = {}
        self._looks: dict[str, str] = {}  # for each database, which of its tables have rows

    def empty(self, url: str, *, are_others_out: bool = False) -> None:
        """Delete all rows; on demand, after everybody else was cut off."""
        self._thread.submit(lambda: self._runner.run(self._empty(url, are_others_out=are_others_out))).result()

    def close(self) -> None:
        self._thread.submit(lambda: self._runner.run(self._close())).result()
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()

    async def _empty(self, url: str, *, are_others_out: bool) -> None:
        connection = await self._connection(url)
        if are_others_out:
            await connection.execute(OTHERS_OUT)
        if url not in self._looks:
            tables = [row[0] for row in await connection.fetch(TABLES)]
            rows = (f"case when exists (select from {SCHEMA}.{name}) then '{name}' end" for name in tables)
            self._looks[url] = f"select unnest(array_remove(array[{', '.join(rows)}], null))"
        used = [row[0] for row in await connection.fetch(self._looks[url])]
        await connection.execute("; ".join([FORGET, *(f"delete from {SCHEMA}.{name}" for name in used)]))

    async def _connection(self, url: str) -> asyncpg.Connection[Any]:
        found = self._connections.get(url)
        if found is None or found.is_closed():
            found = self._connections[url] = await asyncpg.connect(url, ssl=False)
        return found

    async def _close(self) -> None:
        for connection in self._connections.values():
            connection.terminate()  # perhaps its server is gone
