"""Is a PostgreSQL database set up, recognised or refused — and, if refused, left exactly as it was?"""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from windlass.errors import StoreRefused
from windlass.store.migrate import migrations
from windlass.store.postgres.store import PostgresStore

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


async def open_and_close(url: str) -> None:
    store = PostgresStore(url)
    await store.open()
    await store.close()


async def ask(url: str, statement: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(statement)
    finally:
        await connection.close()


async def tables(url: str) -> set[str]:
    rows = await ask(url, "select table_name from information_schema.tables where table_schema = 'windlass'")
    return {row[0] for row in rows}


async def test_an_empty_database_gets_a_schema_of_its_own(postgres_url: str) -> None:
    await open_and_close(postgres_url)

    assert await tables(postgres_url) == TABLES
    meta = {row[0]: row[1] for row in await ask(postgres_url, "select key, value from windlass.meta")}
    assert meta == {"application": "windlass", "schema_version": str(len(migrations("postgres")))}
    assert await ask(postgres_url, "select 1 from information_schema.tables where table_schema = 'public'") == []


async def test_tables_of_others_beside_ours_are_left_alone(postgres_url: str) -> None:
    await ask(postgres_url, "create table public.runs (id text)")

    await open_and_close(postgres_url)
    await open_and_close(postgres_url)

    assert await tables(postgres_url) == TABLES
    assert (
        len(await ask(postgres_url, "select column_name from information_schema.columns where table_schema = 'public'"))
        == 1
    )


async def test_an_empty_schema_prepared_by_an_administrator_is_used(postgres_url: str) -> None:
    await ask(postgres_url, "create schema windlass")

    await open_and_close(postgres_url)

    assert await tables(postgres_url) == TABLES


async def test_a_newer_schema_is_refused(postgres_url: str) -> None:
    await open_and_close(postgres_url)
    await ask(postgres_url, "update windlass.meta set value = '999' where key = 'schema_version'")

    with pytest.raises(StoreRefused, match=r"has schema 999.*upgrade Windlass"):
        await open_and_close(postgres_url)


@pytest.mark.parametrize("table", ["orders", "meta"])
async def test_a_schema_of_another_application_is_refused(postgres_url: str, table: str) -> None:
    await ask(postgres_url, "create schema windlass")
    await ask(postgres_url, f"create table windlass.{table} (key text, value text)")

    with pytest.raises(StoreRefused, match="another application") as refusal:
        await open_and_close(postgres_url)

    assert "\n" not in str(refusal.value)
    assert await tables(postgres_url) == {table}


async def test_a_migration_that_fails_leaves_nothing(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from windlass.store import migrate

    broken = (*migrations("postgres"), migrate.Migration(99, "create table extra (id text); nonsense;"))
    monkeypatch.setattr(migrate, "migrations", lambda dialect: broken)

    with pytest.raises(StoreRefused, match="syntax error"):
        await open_and_close(postgres_url)

    assert await tables(postgres_url) == set()


async def test_stores_that_migrate_at_once_all_succeed(postgres_url: str) -> None:
    await asyncio.gather(*[open_and_close(postgres_url) for _ in range(5)])

    assert await tables(postgres_url) == TABLES


async def test_both_databases_have_the_same_columns(postgres_url: str) -> None:
    import apsw

    from windlass.store.migrate import migrate_sqlite

    await open_and_close(postgres_url)
    database = apsw.Connection(":memory:")
    migrate_sqlite(database, where="a test")
    listing = "select table_name, column_name from information_schema.columns where table_schema = 'windlass'"

    on_postgres = {(row[0], row[1]) for row in await ask(postgres_url, listing)}
    on_sqlite = {(table, row[1]) for table in TABLES for row in database.execute(f"pragma table_info({table})")}

    assert on_postgres - on_sqlite == {("log", "xid")}  # on SQLite seq alone is the order of commits
    assert on_sqlite - on_postgres == set()
    database.close()
