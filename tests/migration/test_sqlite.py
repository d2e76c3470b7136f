"""What of opening a database is true of files only: is an empty one taken, a text refused, a table made anew whole?"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.migration.databases import TABLES, SqliteDatabase
from tests.migration.test_opening import assert_refused
from windlass.store import migrate
from windlass.store.migrate import APPLICATION_ID, migrate_sqlite, migrations

FORBIDDEN_COLUMNS = {"wake_up_at", "locked_until", "retry_at", "deadline_at"}

# A row with a value in every column, none of them twice where it can be helped.
RUN = {
    "namespace": "n",
    "id": "run_1",
    "name": "w",
    "version": "2",
    "queue": "q",
    "priority": 3,
    "status": "running",
    "available_at": 4,
    "token": 5,
    "worker": "wrk_1",
    "poll": 6,
    "attempts": 7,
    "recoveries": 8,
    "created_at": 9,
    "started_at": 10,
    "finished_at": 11,
    "result_hash": b"12",
    "expires_at": 13,
    "held": 1,
    "parent": "run_2",
    "parent_step": "step",
    "follows_parent": 14,
    "unmet": 15,
    "starts_at": 16,
    "retry_of": "run_3",
    "origin": "run_4",
    "begun_at": 17,
    "schedule": "nightly",
    "slot": 18,
    "scheduled_at": 19,
}
STEP = {
    "namespace": "n",
    "run_id": "run_1",
    "step_key": "k",
    "attempt": 2,
    "kind": "event",
    "status": "waiting",
    "step_order": 3,
    "token": 4,
    "failures": 5,
    "input_hash": b"6",
    "output": b"7",
    "failure": b"8",
    "due_at": 9,
    "started_at": 10,
    "finished_at": 11,
    "awaits": "replied",
    "detail": b"12",
    "dropped": 13,
}

INDEXES = """
select name, sql from sqlite_schema where type = 'index' and tbl_name in ('runs', 'steps') order by name
"""

# Waits for a line, so that all of them begin at the same moment.
OPEN_AND_CLOSE = """
import asyncio, sys
from windlass.runtime import SystemClock
from windlass.store.sqlite.store import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1], clock=SystemClock())
    print("ready", flush=True)
    sys.stdin.readline()
    await store.open()
    await store.close()

asyncio.run(main())
"""


async def test_a_fresh_file_says_whose_it_is(sqlite_database: SqliteDatabase) -> None:
    await sqlite_database.open_and_close()

    assert await sqlite_database.ask("pragma application_id") == [(APPLICATION_ID,)]


async def test_an_empty_file_is_taken(sqlite_database: SqliteDatabase) -> None:
    sqlite_database.path.touch()

    await sqlite_database.open_and_close()

    assert sqlite_database.path.stat().st_size > 0


async def test_no_column_is_a_second_due_time(sqlite_database: SqliteDatabase) -> None:
    await sqlite_database.open_and_close()

    columns = {row[1] for table in TABLES for row in await sqlite_database.ask(f"pragma table_info({table})")}
    triggers = await sqlite_database.ask("select name from sqlite_schema where type = 'trigger'")

    assert columns & FORBIDDEN_COLUMNS == set()
    assert triggers == []


@pytest.mark.parametrize("content", ["# Notes\n", "x" * 10_000])
async def test_a_text_file_is_refused(sqlite_database: SqliteDatabase, content: str) -> None:
    sqlite_database.path.write_text(content)

    await assert_refused(sqlite_database, "is not a database")


def test_a_migration_that_fails_is_rolled_back_on_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (*migrations("sqlite"), migrate.Migration(99, "create table extra (id text); nonsense;"))
    monkeypatch.setattr(migrate, "migrations", lambda dialect: broken)
    database = apsw.Connection(str(tmp_path / "windlass.db"))

    with pytest.raises(apsw.SQLError):
        migrate_sqlite(database, where="the test's file")

    assert database.execute("select count(*) from sqlite_schema").fetchall() == [(0,)]
    database.close()


def test_processes_that_migrate_at_once_all_succeed(sqlite_database: SqliteDatabase) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_AND_CLOSE, str(sqlite_database.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    endings = [process.communicate(timeout=60) for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0], endings
    asyncio.run(sqlite_database.open_and_close())


async def rows_of(database: SqliteDatabase, table: str, columns: Iterable[str]) -> list[tuple[Any, ...]]:
    """What stands there under these names: later versions add others."""
    return await database.ask(f"select {', '.join(columns)} from {table}")


async def test_what_is_in_a_table_that_is_made_anew_stays(
    sqlite_database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrations("sqlite")
    monkeypatch.setattr(migrate, "migrations", lambda dialect: known[:4])
    await sqlite_database.open_and_close()
    monkeypatch.undo()
    values = {"runs": RUN, "steps": STEP}
    with closing(apsw.Connection(str(sqlite_database.path))) as connection:
        for table, columns in values.items():
            marks = ", ".join("?" for _ in columns)
            connection.execute(f"insert into {table} ({', '.join(columns)}) values ({marks})", tuple(columns.values()))
    was = {table: await rows_of(sqlite_database, table, columns) for table, columns in values.items()}
    indexes = await sqlite_database.ask(INDEXES)

    await sqlite_database.open_and_close()

    assert {table: await rows_of(sqlite_database, table, columns) for table, columns in values.items()} == was
    assert None not in was["runs"][0]
    assert None not in was["steps"][0]
    assert set(indexes) <= set(await sqlite_database.ask(INDEXES))
