"""Do the hot queries stay on their indexes, whatever the statistics say?

Plans are made on an empty database and kept, or made after ANALYZE saw the tables at a bad moment: empty, or with every
run pending. In each case the queries must go by key, and must not read rows that are due later, over, or of others.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import apsw
import asyncpg
import pytest

from windlass.store.catalog import Query, load
from windlass.store.migrate import migrate_sqlite
from windlass.store.postgres.store import SESSION, PostgresStore

MANY = 5_000
MOMENTS = ["never", "empty", "pending", "full"]
ONE_LANE = {"namespace": "d", "served": json.dumps([["q", "w", "", 9]])}
HOT: dict[str, dict[str, Any]] = {
    "claim_runs": ONE_LANE | {"limit": 10, "worker": "wrk_1", "poll": 1},
    "next_due_run": ONE_LANE,
    "outcomes_of_runs": {"namespace": "d", "ids": ["run_b1", "run_b2"]},
    "endings_of_runs": {"namespace": "d", "ids": ["run_b1"]},
    "runs_of_poll": {"namespace": "d", "worker": "wrk_1", "poll": 1},
    "owners_of_keys": {"namespace": "d", "keys": ["k"]},
    "histories_of_runs": {"namespace": "d", "run_ids": ["run_b1"]},
    "open_waits": {"namespace": "d", "run_id": "run_b1"},
    "renew_claim": {"namespace": "d", "id": "run_a1", "token": 0, "visibility_for": 1},
    "list_runs": {"namespace": "d", "before": "~", "status": None, "name": None, "queue": None, "limit": 10},
    "view_run": {"namespace": "d", "id": "run_a1"},
    "log_of_subject": {"namespace": "d", "subject_kind": "run", "subject_id": "run_a1"},
}
STEP = {"key": "k", "attempt": 1, "kind": "step", "failures": 0, "input_hash": b"", "output": b"", "ran_for": 0}
HELD = {"namespace": "d", "run_id": "run_e1", "token": 1}
BATCHES: dict[str, dict[str, Any]] = {
    "complete_steps": HELD | STEP | {"order": 1, "renew_for": 5},
    "begin_steps": HELD | STEP,
    "finish_runs": HELD | {"status": "completed", "result_hash": b"", "output": b"", "failure": None},
}

# Letter of the ids, status, name, available_at: due, over, later, of others, running.
PENDING = [("a", "pending", "w", "1")]
REST = [
    ("b", "completed", "w", "null"),
    ("c", "pending", "w", "9000000000000000"),
    ("d", "pending", "other", "1"),
    ("e", "running", "w", "9000000000000000"),
]


def fill(series: str, rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    for letter, status, name, available_at in rows:
        yield (
            "insert into runs (namespace, id, name, version, queue, priority, status, available_at, token, created_at)"
            f" select 'd', 'run_{letter}' || i, '{name}', '', 'q', 0, '{status}', {available_at}, 1, 1 from {series}"
        )
        yield f"insert into payloads (namespace, run_id, input) select 'd', 'run_{letter}' || i, '' from {series}"
        yield (
            "insert into log (namespace, subject_kind, subject_id, to_status, cause, at)"
            f" select 'd', 'run', 'run_{letter}' || i, 'pending', 'start', 1 from {series}"
        )
        yield (
            "insert into steps (namespace, run_id, step_key, attempt, kind, status, token, failures, input_hash)"
            f" select 'd', 'run_{letter}' || i, 's', 1, 'step', 'running', 1, 0, '' from {series}"
        )


def values_of(query: Query, parameters: dict[str, Any]) -> list[Any]:
    return [parameters[name] for name in query.statements[0].parameters]


# SQLite


@pytest.fixture(params=MOMENTS)
def database(request: pytest.FixtureRequest) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    migrate_sqlite(connection, where="a test")
    series = f"(with recursive g (i) as (select 1 union all select i + 1 from g where i < {MANY}) select i from g)"
    for moment, rows in (("empty", []), ("pending", PENDING), ("full", REST)):
        for statement in fill(series, rows):
            connection.execute(
                statement.replace("''", "x''") if "payloads" in statement or "steps" in statement else statement
            )
        if request.param == moment:
            connection.execute("analyze")
    yield connection
    connection.close()


@pytest.mark.parametrize("name", [*HOT, *BATCHES])
def test_sqlite_goes_by_key(database: apsw.Connection, name: str) -> None:
    for statement in load("sqlite")[name].statements:
        values = (None,) * (len(statement.parameters) + statement.takes_now)
        details = [str(row[3]) for row in database.execute(f"explain query plan {statement.text}", values)]

        # What may be scanned: the lanes, which are few, and a list that the caller gave.
        scans = [line for line in details if line.startswith("SCAN") and line not in ("SCAN l", "SCAN s")]
        assert [line for line in scans if "VIRTUAL TABLE" not in line] == []


def test_sqlite_claims_along_the_claim_index(database: apsw.Connection) -> None:
    statement = load("sqlite")["claim_runs"].statements[0]
    values = (None,) * (len(statement.parameters) + statement.takes_now)

    details = [str(row[3]) for row in database.execute(f"explain query plan {statement.text}", values)]

    lane = "namespace=? AND queue=? AND name=? AND version=? AND priority=? AND available_at<?"
    assert f"SEARCH d USING COVERING INDEX runs_claim ({lane})" in details


# PostgreSQL


@pytest.fixture(params=MOMENTS)
async def session(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    store = PostgresStore(postgres_url)
    await store.open()
    await store.close()
    connection = await asyncpg.connect(postgres_url, server_settings=SESSION)
    await prepare_all(connection)  # so that "never" is a plan made on empty tables, and kept
    for moment, rows in (("empty", []), ("pending", PENDING), ("full", REST)):
        for statement in fill(f"generate_series(1, {MANY}) as i", rows):
            await connection.execute(statement)
        if request.param == moment:
            await connection.execute("analyze")
    yield connection
    await connection.close()


def literal(value: Any) -> str:
    match value:
        case None:
            return "null"
        case int():
            return str(value)
        case bytes():
            return f"'\\x{value.hex()}'"
        case list():  # of an unknown type, so that the parameter's own decides
            return "'{" + ", ".join(literal(item).strip("'").replace("\\", "\\\\") for item in value) + "}'"
    return f"'{value}'"


async def prepare_all(session: asyncpg.Connection[Any]) -> None:
    catalog = load("postgres", has_injected_clock=False)
    for name, parameters in (HOT | BATCHES).items():
        await session.execute(f"prepare {name} as {catalog[name].statements[0].text}")
        await explain(session, catalog[name], parameters)


async def explain(session: asyncpg.Connection[Any], query: Query, parameters: dict[str, Any]) -> list[str]:
    """Run a query and say how it was done; what it changed is undone."""
    values = values_of(query, {name: [value] for name, value in parameters.items()} if query.key else parameters)
    transaction = session.transaction()
    await transaction.start()
    arguments = ", ".join(map(literal, values))
    rows = await session.fetch(f"explain (analyze, costs off, timing off) execute {query.name}({arguments})")
    await transaction.rollback()
    return [str(row[0]).strip() for row in rows]


def most_rows_read(plan: list[str]) -> int:
    """The most rows any node returned or threw away."""
    rows = [int(found) * int(loops) for line in plan for found, loops in re.findall(r"rows=(\d+) loops=(\d+)", line)]
    thrown_away = [int(found) for line in plan for found in re.findall(r"Rows Removed by .*: (\d+)", line)]
    return max(rows + thrown_away)


async def test_postgres_goes_by_key(session: asyncpg.Connection[Any]) -> None:
    catalog = load("postgres", has_injected_clock=False)

    for name, parameters in (HOT | BATCHES).items():
        plan = await explain(session, catalog[name], parameters)
        text = "\n".join(plan)

        assert "Seq Scan" not in text, f"{name}\n{text}"
        assert most_rows_read(plan) <= 20, f"{name}\n{text}"


async def test_postgres_claims_along_the_claim_index(session: asyncpg.Connection[Any]) -> None:
    plan = await explain(session, load("postgres", has_injected_clock=False)["claim_runs"], HOT["claim_runs"])

    assert "Conflicting Tuples: 10" in plan  # it did claim: the upsert met ten rows that exist
    conditions = [line for line in plan if line.startswith("Index Cond") and "available_at <=" in line]
    assert len(conditions) == 1
    for column in ("namespace", "queue", "name", "version", "priority"):
        assert f"({column} = " in conditions[0]
