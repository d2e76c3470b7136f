"""What of opening a database is true of PostgreSQL only: are other schemas left alone, and do stores wait in turn?"""

from __future__ import annotations

import asyncio

from tests.migration.databases import TABLES, PostgresDatabase


async def test_an_empty_database_gets_a_schema_of_its_own(postgres_database: PostgresDatabase) -> None:
    await postgres_database.open_and_close()

    assert await postgres_database.tables() == TABLES
    in_public = "select 1 from information_schema.tables where table_schema = 'public'"
    assert await postgres_database.ask(in_public) == []


async def test_tables_of_others_beside_ours_are_left_alone(postgres_database: PostgresDatabase) -> None:
    await postgres_database.change("create table public.runs (id text)")

    await postgres_database.open_and_close()
    await postgres_database.open_and_close()

    assert await postgres_database.tables() == TABLES
    in_public = "select column_name from information_schema.columns where table_schema = 'public'"
    assert await postgres_database.ask(in_public) == [("id",)]


async def test_an_empty_schema_prepared_by_an_administrator_is_used(postgres_database: PostgresDatabase) -> None:
    await postgres_database.change("create schema windlass")

    await postgres_database.open_and_close()

    assert await postgres_database.tables() == TABLES


async def test_stores_that_migrate_at_once_all_succeed(postgres_database: PostgresDatabase) -> None:
    await asyncio.gather(*[postgres_database.open_and_close() for _ in range(5)])

    assert await postgres_database.tables() == TABLES
