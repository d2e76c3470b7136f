"""Does every namespace that was in use before there was a table of them have its row afterwards?"""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import asyncpg
import pytest

from windlass.store import migrate
from windlass.store.migrate import migrations
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

BEFORE = 5  # the last schema without namespaces
RUN = (
    "insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at)"
    " values ('{namespace}', '{id}', 'w', '', 'q', 0, 'pending', 1, 1)"
)
USES = (
    *(RUN.format(namespace=name, id=f"run_{number}") for name in ("runs", "Zebra", "äpfel") for number in range(3)),
    "insert into gates (namespace, kind, name) values ('gates', 'queue', 'q')",
    "insert into workers (namespace, id, host, pid, served, slots, started_at, seen_at)"
    " values ('workers', 'wrk_1', 'h', 1, {empty}, 1, 1, 1)",
    "insert into schedules (namespace, name, workflow, version, queue, input, input_hash, every_for, tz, anchor,"
    " catch_up, max_catch_up, overlap, jitter, status, is_declared, revision, last_slot, available_at, created_at,"
    " changed_at)"
    " values ('schedules', 's', 'w', '', 'q', {empty}, {empty}, 1000000, 'UTC', 1, 'latest', 1, 'skip', 0, 'active',"
    " 1, 1, 1, 1, 1, 1)",
)
FOUND = ["Zebra", "default", "gates", "runs", "schedules", "workers", "äpfel"]


def older(monkeypatch: pytest.MonkeyPatch) -> None:
    known = migrations
    monkeypatch.setattr(migrate, "migrations", lambda dialect: known(dialect)[:BEFORE])


def test_a_file_of_before_gets_a_row_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "windlass.db"

    def open_and_close() -> None:
        async def run() -> None:
            store = SqliteStore(str(path), clock=FakeClock())
            await store.open()
            await store.close()

        asyncio.run(run())

    older(monkeypatch)
    open_and_close()
    monkeypatch.undo()
    database = apsw.Connection(str(path))
    for statement in USES:
        database.execute(statement.format(empty="x''"))
    database.close()

    open_and_close()

    database = apsw.Connection(str(path))
    rows = database.execute("select name, is_enabled, created_at, disabled_at from namespaces order by name").fetchall()
    polls = database.execute("select poll from workers").fetchall()
    database.close()
    assert rows == [(name, 1, 0, None) for name in FOUND]
    assert polls == [(0,)]


async def test_a_postgres_schema_of_before_gets_a_row_for_each(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def open_and_close() -> None:
        store = PostgresStore(postgres_url)
        await store.open()
        await store.close()

    older(monkeypatch)
    await open_and_close()
    monkeypatch.undo()
    session = await asyncpg.connect(postgres_url, server_settings={"search_path": "windlass"})
    for statement in USES:
        await session.execute(statement.format(empty="'\\x'"))

    await open_and_close()

    rows = await session.fetch("select name, is_enabled, created_at, disabled_at from namespaces order by name")
    polls = await session.fetch("select poll from workers")
    await session.close()
    assert [tuple(row) for row in rows] == [(name, 1, 0, None) for name in FOUND]
    assert [tuple(row) for row in polls] == [(0,)]
