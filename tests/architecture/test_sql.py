"""Does SQL stand in the catalogue only, each query with one user, and few of them per dialect?"""

from __future__ import annotations

import pytest

from tests.architecture.source import PACKAGE, File, python_files, sql_files
from tests.architecture.statements import is_overlay, misused_queries, query_names, stray_sql, users_of

# path: why its SQL cannot stand in the catalogue
EXCEPTIONS = {
    f"{PACKAGE}/bench/raw.py": "measures the database without Windlass, on a table of its own; it knows none of ours",
    f"{PACKAGE}/store/migrate.py": "asks what the database is before there is a schema that queries could be about",
    f"{PACKAGE}/store/postgres/locks.py": "asks a session about its own locks; it knows no table",
    f"{PACKAGE}/testing/postgres.py": "creates and drops databases; it knows no table",
}

# Written twice by design: on PostgreSQL one guarded statement over many rows, on SQLite one per row in one transaction.
HOT_PATH = {
    "create_runs",
    "dispatch_runs",
    "take_keys",
    "claim_runs",
    "begin_steps",
    "complete_steps",
    "finish_runs",
    "create_jobs",
    "create_edges",
    "skip_jobs",
    "release_jobs",
    "dispatch_jobs",
}
OVERLAY_SHARE = 5  # of the other queries, at most one in five may differ


def test_no_sql_outside_the_catalogue() -> None:
    files = [file for file in python_files(PACKAGE) if file.path not in EXCEPTIONS]

    assert [complaint for file in files for complaint in stray_sql(file)] == []


def test_every_query_has_exactly_one_user() -> None:
    names = {name for file in sql_files() for name in query_names(file)}
    users = users_of(python_files(f"{PACKAGE}/store/queries"))

    assert names, "no query found: has the catalogue moved?"
    assert misused_queries(names, users) == []


def test_overlays_are_the_exception() -> None:
    names = {name for file in sql_files() for name in query_names(file)} - HOT_PATH
    overlays = [name for file in sql_files() if is_overlay(file) for name in query_names(file)]

    assert excess_overlays(overlays, total=len(names)) == []
    assert set(overlays) >= HOT_PATH  # one that is shared again leaves the list


def excess_overlays(overlays: list[str], *, total: int) -> list[str]:
    """The overlays outside the hot path, if they are too many; a name differing in both dialects counts twice."""
    others = sorted(name for name in overlays if name not in HOT_PATH)
    return others if len(others) > total // OVERLAY_SHARE else []


def test_too_many_overlays_are_found() -> None:
    assert excess_overlays(["load_run", "claim_runs"], total=5) == []
    assert excess_overlays(["load_run", "load_run"], total=5) == ["load_run", "load_run"]


def sample(text: str, *, path: str = "src/windlass/engine/sample.py") -> list[str]:
    return stray_sql(File(path, text))


@pytest.mark.parametrize(
    "text",
    [
        "x = 'select id from runs'",
        "x = 'SELECT id\\n  FROM runs'",
        "x = f'select {columns} from {table}'",
        "x = 'select id ' + 'from runs'",
        "x = 'select id ' + columns + ' from runs'",
        "x = 'insert into runs values (1)'",
        "x = 'insert or ignore into runs values (1)'",
        "x = f'update {table} set status = 1'",
        "x = 'delete from runs'",
        "x = 'create table if not exists meta (x)'",
        "x = 'create unique index i on runs (id)'",
        "x = 'with due as (select 1) update'",
        "x = 'pragma journal_mode = wal'",
        "x = 'begin immediate'",
        "x = 'listen windlass'",
        "x = 'select pg_advisory_lock(1)'",
        "def f():\n    'prose: select x from y'\n    return 'delete from runs'",
    ],
)
def test_each_stray_statement_is_found(text: str) -> None:
    assert len(sample(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "'''select id from runs'''",
        "def f():\n    'Delete from the list.'",
        "x = 'Please select one of the runs from the list'",
        "x = 'update the settings'",
        "x = 'commit'",
        "x = 'begin with a letter'",
        "x = 'select 1'",
    ],
)
def test_prose_is_not_taken_for_sql(text: str) -> None:
    assert sample(text) == []


def test_each_place_may_hold_only_its_own_kind() -> None:
    assert sample("x = 'pragma data_version'", path="src/windlass/store/sqlite/connection.py") == []
    assert sample("x = 'begin immediate'", path="src/windlass/store/postgres/connection.py") == []
    assert sample("x = 'listen windlass'", path="src/windlass/notify/postgres.py") == []

    assert sample("x = 'pragma data_version'", path="src/windlass/store/postgres/connection.py") != []
    assert sample("x = 'select id from runs'", path="src/windlass/store/sqlite/connection.py") != []
    assert sample("x = 'select id from runs'", path="src/windlass/store/queries/runs.py") != []


QUERIES = """
class RunQueries:
    async def load(self):
        return await self._connection.first("load_run", id=1)

    async def load_again(self):
        return await self._connection.first("load_run" if self.old else "load_new_run", id=1)
"""


def test_a_query_with_two_users_none_or_unknown_is_found() -> None:
    users = users_of([File("src/windlass/store/queries/runs.py", QUERIES)])

    found = misused_queries(["load_run", "forgotten"], users)

    assert len(found) == 3
    assert "load_new_run: not in the catalogue" in found[0]
    assert "forgotten: in the catalogue, sent by nobody" in found[1]
    assert "RunQueries.load, " in found[2]
    assert "RunQueries.load_again" in found[2]


def test_names_are_read_from_the_catalogue() -> None:
    file = File(
        "src/windlass/store/sql/postgres/runs.sql", "-- name: load_run\n-- Why.\nselect 1;\n\n-- name: save_run\n"
    )

    assert query_names(file) == ["load_run", "save_run"]
    assert is_overlay(file)
    assert not is_overlay(File("src/windlass/store/sql/runs.sql", ""))
