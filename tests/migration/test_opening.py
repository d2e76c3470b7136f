"""Is a database set up, recognised or refused — and, if refused, left exactly as it was?"""

from __future__ import annotations

import pytest

from tests.migration.databases import TABLES, Database, PostgresDatabase, SqliteDatabase
from windlass.errors import StoreRefused
from windlass.store import migrate
from windlass.store.migrate import APPLICATION_ID, migrations


async def assert_refused(database: Database, reason: str) -> None:
    """It says why in one line, and everything is kept."""
    before = await database.contents()

    with pytest.raises(StoreRefused, match=reason) as refusal:
        await database.open_and_close()

    assert "\n" not in str(refusal.value)
    assert database.name in str(refusal.value)
    assert await database.contents() == before


async def test_an_empty_database_gets_the_whole_schema(database: Database) -> None:
    await database.open_and_close()

    assert await database.tables() == TABLES
    meta: dict[str, str] = dict(await database.ask("select key, value from meta"))
    assert meta == {"application": "windlass", "schema_version": str(len(migrations(database.dialect)))}


async def test_opening_again_changes_nothing(database: Database) -> None:
    await database.open_and_close()
    before = await database.contents()

    await database.open_and_close()

    assert await database.contents() == before


async def test_a_newer_schema_is_refused(database: Database) -> None:
    await database.open_and_close()
    await database.change("update meta set value = '999' where key = 'schema_version'")

    await assert_refused(database, r"has schema 999.*upgrade Windlass")


OF_OTHERS = [
    *(
        pytest.param(
            "sqlite", f"pragma application_id = {number}; create table runs (id text)", id=f"sqlite-runs-{number}"
        )
        for number in (0, 12345, APPLICATION_ID)
    ),
    pytest.param(
        "sqlite",
        f"pragma application_id = {APPLICATION_ID}; create table meta (key text, value text)",
        id="sqlite-meta",
    ),
    *(
        pytest.param(
            "postgres",
            f"create schema windlass; create table windlass.{table} (key text, value text)",
            id=f"postgres-{table}",
        )
        for table in ("orders", "meta")
    ),
]


@pytest.mark.parametrize(("database", "made"), OF_OTHERS, indirect=["database"])
async def test_the_database_of_another_application_is_refused(database: Database, made: str) -> None:
    await database.change(made)

    await assert_refused(database, "(belongs to|has a schema named windlass of) another application")


async def test_a_migration_that_fails_leaves_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (*migrations(database.dialect), migrate.Migration(99, "create table extra (id text); nonsense;"))
    monkeypatch.setattr(migrate, "migrations", lambda dialect: broken)

    with pytest.raises(StoreRefused, match="syntax error"):
        await database.open_and_close()

    assert await database.tables() == set()


async def test_an_older_schema_is_brought_up_to_date(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await database.open_and_close()
    more = (*migrations(database.dialect), migrate.Migration(99, "create table extra (id text);"))
    monkeypatch.setattr(migrate, "migrations", lambda dialect: more)

    await database.open_and_close()

    assert await database.ask("select value from meta where key = 'schema_version'") == [(str(len(more)),)]
    assert await database.ask("select count(*) from extra") == [(0,)]


async def test_both_databases_have_the_same_columns(
    sqlite_database: SqliteDatabase, postgres_database: PostgresDatabase
) -> None:
    await sqlite_database.open_and_close()
    await postgres_database.open_and_close()
    listing = "select table_name, column_name from information_schema.columns where table_schema = 'windlass'"

    on_postgres = set(await postgres_database.ask(listing))
    on_sqlite = {
        (table, row[1]) for table in TABLES for row in await sqlite_database.ask(f"pragma table_info({table})")
    }

    assert on_postgres - on_sqlite == {("log", "xid")}  # on SQLite seq alone is the order of commits
    assert on_sqlite - on_postgres == set()
