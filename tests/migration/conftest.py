"""An empty database of each kind, for tests about what a store makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migration.databases import Database, PostgresDatabase, SqliteDatabase


@pytest.fixture
def sqlite_database(tmp_path: Path) -> SqliteDatabase:
    return SqliteDatabase(tmp_path / "windlass.db")


@pytest.fixture
def postgres_database(postgres_url: str) -> PostgresDatabase:
    return PostgresDatabase(postgres_url)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(f"{request.param}_database")
    return found
