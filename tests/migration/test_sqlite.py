"""Is an SQLite file created, recognised or refused — and, if refused, left exactly as it was?"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import pytest

from windlass.errors import StoreRefused
from windlass.store.migrate import APPLICATION_ID, migrate_sqlite, migrations
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "windlass.db"


def open_and_close(path: Path) -> None:
    async def run() -> None:
        store = SqliteStore(str(path), clock=FakeClock())
        await store.open()
        await store.close()

    asyncio.run(run())


def assert_refused(path: Path, reason: str) -> None:
    """It says why in one line, and the file keeps every byte."""
    before = path.read_bytes()

    with pytest.raises(StoreRefused, match=reason) as refusal:
        open_and_close(path)

    assert "\n" not in str(refusal.value)
    assert str(path) in str(refusal.value)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_fresh_file_gets_the_whole_schema(path: Path) -> None:
    open_and_close(path)

    database = apsw.Connection(str(path))
    names = {row[0] for row in database.execute("select name from sqlite_schema where type = 'table'")}
    assert names - {"sqlite_sequence"} == TABLES
    assert database.execute("pragma application_id").fetchall() == [(APPLICATION_ID,)]
    meta = {row[0]: row[1] for row in database.execute("select key, value from meta")}
    assert meta == {"application": "windlass", "schema_version": str(len(migrations("sqlite")))}
    database.close()


def test_opening_again_changes_nothing(path: Path) -> None:
    open_and_close(path)
    before = path.read_bytes()

    open_and_close(path)

    assert path.read_bytes() == before


def test_an_empty_file_is_taken(path: Path) -> None:
    path.touch()

    open_and_close(path)

    assert path.stat().st_size > 0


def test_no_column_is_a_second_due_time(path: Path) -> None:
    open_and_close(path)

    database = apsw.Connection(str(path))
    columns = {row[1] for table in TABLES for row in database.execute(f"pragma table_info({table})")}
    triggers = database.execute("select name from sqlite_schema where type = 'trigger'").fetchall()
    database.close()

    assert columns & FORBIDDEN_COLUMNS == set()
    assert triggers == []


def test_a_newer_schema_is_refused(path: Path) -> None:
    open_and_close(path)
    database = apsw.Connection(str(path))
    database.execute("update meta set value = '999' where key = 'schema_version'")
    database.close()

    assert_refused(path, r"has schema 999.*upgrade Windlass")


@pytest.mark.parametrize("application_id", [0, 12345, APPLICATION_ID])
def test_the_database_of_another_application_is_refused(path: Path, application_id: int) -> None:
    database = apsw.Connection(str(path))
    database.execute(f"pragma application_id = {application_id}; create table runs (id text)")
    database.close()

    assert_refused(path, "belongs to another application")


def test_a_foreign_meta_table_is_refused(path: Path) -> None:
    database = apsw.Connection(str(path))
    database.execute(f"pragma application_id = {APPLICATION_ID}; create table meta (key text, value text)")
    database.close()

    assert_refused(path, "belongs to another application")


@pytest.mark.parametrize("content", ["# Notes\n", "x" * 10_000])
def test_a_text_file_is_refused(path: Path, content: str) -> None:
    path.write_text(content)

    assert_refused(path, "is not a database")


def test_a_migration_that_fails_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from windlass.store import migrate

    broken = (*migrations("sqlite"), migrate.Migration(99, "create table extra (id text); nonsense;"))
    monkeypatch.setattr(migrate, "migrations", lambda dialect: broken)
    database = apsw.Connection(str(path))

    with pytest.raises(apsw.SQLError):
        migrate_sqlite(database, where="the test's file")

    assert database.execute("select count(*) from sqlite_schema").fetchall() == [(0,)]
    database.close()


def test_an_older_schema_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from windlass.store import migrate

    open_and_close(path)
    more = (*migrations("sqlite"), migrate.Migration(99, "create table extra (id text);"))
    monkeypatch.setattr(migrate, "migrations", lambda dialect: more)

    open_and_close(path)

    database = apsw.Connection(str(path))
    assert database.execute("select value from meta where key = 'schema_version'").fetchall() == [(str(len(more)),)]
    assert database.execute("select count(*) from extra").fetchall() == [(0,)]
    database.close()


def test_processes_that_migrate_at_once_all_succeed(path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_AND_CLOSE, str(path)],
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
    open_and_close(path)


def rows_of(database: apsw.Connection, table: str, columns: Iterable[str]) -> list[tuple[Any, ...]]:
    """What stands there under these names: later versions add others."""
    return database.execute(f"select {', '.join(columns)} from {table}").fetchall()


def test_what_is_in_a_table_that_is_made_anew_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from windlass.store import migrate

    known = migrations("sqlite")
    monkeypatch.setattr(migrate, "migrations", lambda dialect: known[:4])
    open_and_close(path)
    monkeypatch.undo()
    database = apsw.Connection(str(path))
    values = {"runs": RUN, "steps": STEP}
    for table, columns in values.items():
        marks = ", ".join("?" for _ in columns)
        database.execute(f"insert into {table} ({', '.join(columns)}) values ({marks})", tuple(columns.values()))
    was = {table: rows_of(database, table, columns) for table, columns in values.items()}
    indexes = database.execute(INDEXES).fetchall()
    database.close()

    open_and_close(path)

    database = apsw.Connection(str(path))
    assert {table: rows_of(database, table, columns) for table, columns in values.items()} == was
    assert None not in was["runs"][0]
    assert None not in was["steps"][0]
    assert set(indexes) <= set(database.execute(INDEXES).fetchall())
    database.close()
