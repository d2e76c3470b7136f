"""Does a migration happen once and whole when two processes begin it together, or when one dies in the middle of it?"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from tests.faults import migrating
from tests.faults.migrating import KILLED, PROCESSES, exit_code, open_and_close, started
from tests.scale import SCALE
from windlass.store.migrate import Migration, migrations

ROUNDS = 3 * SCALE
VERSIONS = sorted({0, 1})  # nothing at all, and the oldest there ever was
END_OWN_SESSION = "select pg_terminate_backend(pg_backend_pid());"

Schema = list[tuple[Any, ...]]
Fresh = Callable[[], str]

from_every_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"from-{version}")


@pytest.fixture
def files(memory: Path) -> Fresh:
    numbers = itertools.count()
    return lambda: str(memory / f"{next(numbers)}.db")


@pytest.fixture
def databases(postgres_url: str) -> Fresh:
    """One database, emptied again and again: to make another one costs much more."""

    async def empty() -> None:
        connection = await asyncpg.connect(postgres_url)
        try:
            await connection.execute("drop schema if exists windlass cascade")
        finally:
            await connection.close()

    def fresh() -> str:
        asyncio.run(empty())
        return postgres_url

    return fresh


@pytest.fixture(params=["files", "databases"])
def fresh(request: pytest.FixtureRequest) -> Fresh:
    found: Fresh = request.getfixturevalue(request.param)
    return found


def schema(url: str) -> Schema:
    """What tables and indexes there are, and which version the database believes to have."""
    return asyncio.run(_postgres_schema(url)) if url.startswith("postgresql:") else _sqlite_schema(url)


def _sqlite_schema(path: str) -> Schema:
    database = apsw.Connection(path)
    try:
        found: Schema = list(database.execute("select name, sql from sqlite_schema order by name"))
        meta = "select key, value from meta order by key" if found else "select 'nothing'"
        return [*found, *database.execute(meta), *database.execute("pragma application_id")]
    finally:
        database.close()


async def _postgres_schema(url: str) -> Schema:
    columns = """
select table_name::text, column_name::text, data_type::text, column_default::text from information_schema.columns
 where table_schema = 'windlass' order by table_name, ordinal_position
"""
    indexes = "select indexname::text, indexdef from pg_indexes where schemaname = 'windlass' order by indexname"
    connection = await asyncpg.connect(url)
    try:
        found = [tuple(row) for row in [*await connection.fetch(columns), *await connection.fetch(indexes)]]
        if not found:
            return []
        rows = await connection.fetch("select key, value from windlass.meta order by key")
        return [*found, *map(tuple, rows)]
    finally:
        await connection.close()


def at_version(fresh: Fresh, version: int) -> str:
    """A database as an older Windlass left it; 0: none has seen it yet."""
    url = fresh()
    if version:
        open_and_close(url, version)
    return url


def current(fresh: Fresh) -> Schema:
    url = fresh()
    open_and_close(url)
    return schema(url)


def kind_of(url: str) -> str:
    return "postgresql" if url.startswith("postgresql:") else "sqlite"


@pytest.mark.spec("invariants:I-63")
@from_every_version
def test_two_processes_that_migrate_at_once_both_go_on(fresh: Fresh, version: int, figures: list[str]) -> None:
    wanted = current(fresh)
    for _ in range(ROUNDS):
        url = at_version(fresh, version)
        barrier = PROCESSES.Barrier(2)
        pair = [started(migrating.open_at_once, url, barrier) for _ in range(2)]

        assert [exit_code(process) for process in pair] == [0, 0]
        assert schema(url) == wanted
    agreed = f"{ROUNDS} of {ROUNDS} rounds agree"
    figures.append(f"{kind_of(url):10}  two processes migrating at once from {version}: {agreed}")


def die_everywhere(die: Callable[[str, int], None], fresh: Fresh, version: int) -> tuple[int, int]:
    """How many places there are, and after how many of them the new schema was there; every next open completes it."""
    wanted = current(fresh)
    old = schema(at_version(fresh, version))
    places = done = 0
    for place in itertools.count(1):
        url = at_version(fresh, version)
        code = exit_code(started(die, url, place))
        left = schema(url)
        assert left in (old, wanted), f"half a schema is left behind after place {place}"
        open_and_close(url)
        assert schema(url) == wanted
        if code == 0:  # there is no such place any more
            return places, done
        assert code == KILLED
        places, done = places + 1, done + (left == wanted)
    raise AssertionError("not reached")


@pytest.mark.spec("invariants:I-63")
@from_every_version
def test_a_process_killed_at_any_statement_leaves_the_old_or_the_new_file(
    files: Fresh, version: int, figures: list[str]
) -> None:
    places, done = die_everywhere(migrating.die_at_sqlite, files, version)

    figures.append(
        f"{'sqlite':10}  killed in a migration from {version}: {places} of {places} statements, "
        f"{places - done} left the old schema and {done} the new one"
    )
    assert places > 5


@pytest.mark.spec("invariants:I-63")
@from_every_version
def test_a_process_killed_at_any_call_leaves_the_old_or_the_new_database(
    databases: Fresh, version: int, figures: list[str]
) -> None:
    places, done = die_everywhere(migrating.die_at_postgres, databases, version)

    figures.append(
        f"{'postgresql':10}  killed in a migration from {version}: {places} of {places} calls, "
        f"{places - done} left the old schema and {done} the new one"
    )
    assert places > 5


def cut_short(version: int) -> Iterator[tuple[Migration, ...]]:
    """All migrations, ended by the server after one of the statements that are still to be done: after each in turn."""
    known = migrations("postgres")
    for item in known[version:]:
        statements = [text for text in item.text.split(";\n") if text.strip()]
        for place in range(1, len(statements) + 1):
            text = ";\n".join([*statements[:place], END_OWN_SESSION, *statements[place:]])
            yield (*known[: item.number - 1], Migration(item.number, text), *known[item.number :])


@pytest.mark.spec("invariants:I-63")
@from_every_version
def test_a_server_that_ends_the_session_at_any_statement_leaves_the_old_database(
    databases: Fresh, version: int, figures: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from windlass.errors import StoreRefused
    from windlass.store import migrate

    wanted = current(databases)
    url = at_version(databases, version)
    old = schema(url)
    places = 0
    for broken in cut_short(version):
        with monkeypatch.context() as patch:
            patch.setattr(migrate, "migrations", lambda dialect, broken=broken: broken)
            with pytest.raises(StoreRefused, match="cannot be opened"):
                open_and_close(url)
        assert schema(url) == old
        places += 1

    open_and_close(url)

    assert schema(url) == wanted
    figures.append(
        f"{'postgresql':10}  sessions ended in a migration from {version}: {places} of {places} left it whole"
    )
