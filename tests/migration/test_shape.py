"""Does a fresh schema have one due time, one claim index, and nothing of what older schedulers kept beside them?"""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import apsw
import asyncpg
import pytest

import windlass
from windlass.model.commands import Suspended, Verdict
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

Ask = Callable[[str], Awaitable[list[tuple[object, ...]]]]

FORMER_COLUMNS = {"wake_up_at", "locked_until", "retry_at", "deadline_at"}
FORMER_NAMES = {
    "extend_worker_locks",
    "extend_locks_for_runs",
    "wake_sleeping",
    "find_orphaned",
    "find_and_recover_offline_worker_workflows",
    "process_pending_retries",
    "notify_new_work",
    "trigger_workflow_new_work",
    "WokenWorkflow",
    "OrphanedWorkflow",
    "retry_at",
}
FORMER_MODULES = {"scheduler", "watchdog"}
NEEDS_DUE_TIME = ("pending", "running", "sleeping")
FORBIDS_DUE_TIME = ("completed", "failed", "cancelled", "skipped")


@pytest.fixture
async def sqlite(tmp_path: Path) -> Ask:
    store = SqliteStore(str(tmp_path / "windlass.db"), clock=FakeClock())
    await store.open()
    await store.close()
    database = apsw.Connection(str(tmp_path / "windlass.db"))

    async def ask(text: str) -> list[tuple[object, ...]]:
        return database.execute(text).fetchall()

    return ask


@pytest.fixture
async def postgres(postgres_url: str) -> AsyncIterator[Ask]:
    store = PostgresStore(postgres_url)
    await store.open()
    await store.close()
    connection = await asyncpg.connect(postgres_url, server_settings={"search_path": "windlass"})

    async def ask(text: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in await connection.fetch(text)]

    yield ask
    await connection.close()


@pytest.mark.spec("runs:G2", "runs:P1.1", "runs:P1.4", "runs:P2.5", "runs:P2.7", "runs:P4.1")
async def test_a_fresh_sqlite_file_has_no_trigger_and_one_due_time_per_row(sqlite: Ask) -> None:
    triggers = await sqlite("select name from sqlite_schema where type = 'trigger'")
    columns = await sqlite(
        "select c.name from sqlite_schema t join pragma_table_info(t.name) c where t.type = 'table' and t.name = 'runs'"
    )
    everywhere = await sqlite("select c.name from sqlite_schema t join pragma_table_info(t.name) c")

    assert triggers == []
    assert [name for (name,) in columns if str(name).endswith("_at")] == [
        "available_at",
        "created_at",
        "started_at",
        "finished_at",
        # What no claim ever looks at: a time-out caps available_at, the others tell what was.
        "expires_at",
        "starts_at",
        "begun_at",
        "scheduled_at",
        "ready_at",
    ]
    assert {name for (name,) in everywhere} & FORMER_COLUMNS == set()


@pytest.mark.spec("runs:G2", "runs:P1.1", "runs:P1.4", "runs:P2.5", "runs:P2.7", "runs:P4.1")
async def test_a_fresh_postgres_schema_has_no_trigger_no_function_and_one_due_time(postgres: Ask) -> None:
    triggers = await postgres("select tgname from pg_trigger where not tgisinternal")
    functions = await postgres(
        "select p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'windlass'"
    )
    columns = await postgres("select column_name from information_schema.columns where table_schema = 'windlass'")

    assert (triggers, functions) == ([], [])
    assert {name for (name,) in columns} & FORMER_COLUMNS == set()


@pytest.mark.spec("runs:P2.8")
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_the_claim_index_covers_what_can_be_claimed_and_nothing_else(
    database: str, sqlite: Ask, postgres: Ask
) -> None:
    ask = {"sqlite": sqlite, "postgres": postgres}[database]
    text = {
        "sqlite": "select sql from sqlite_schema where name = 'runs_claim'",
        "postgres": "select indexdef from pg_indexes where indexname = 'runs_claim'",
    }[database]

    ((definition,),) = await ask(text)

    words = " ".join(str(definition).lower().replace("(", " ").replace(")", " ").split())
    assert "namespace, queue, name, version, priority, available_at" in words
    assert words.endswith("where available_at is not null")


async def test_postgres_removes_dead_rows_soon_where_whoever_looks_steps_over_them(postgres: Ask) -> None:
    """What is due, waits or is in doubt stands in an index that most rows have left, and all of them are kept."""
    found = await postgres(
        "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = 'windlass' and 'autovacuum_vacuum_scale_factor=0.05' = any (c.reloptions)"
    )

    assert {name for (name,) in found} == {"runs", "events", "effects"}


@pytest.mark.spec("runs:P2.6")
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@pytest.mark.parametrize("status", [*NEEDS_DUE_TIME, *FORBIDS_DUE_TIME, "waiting", "paused"])
async def test_the_constraint_demands_a_due_time_of_the_living_and_forbids_it_to_the_dead(
    database: str, status: str, sqlite: Ask, postgres: Ask
) -> None:
    ask = {"sqlite": sqlite, "postgres": postgres}[database]

    async def is_accepted(available_at: str) -> bool:
        try:
            await ask(
                "insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at) "
                f"values ('n', '{status}{available_at}', 'w', '', 'q', 0, '{status}', {available_at}, 1)"
            )
        except (apsw.ConstraintError, asyncpg.CheckViolationError):
            return False
        return True

    assert await is_accepted("null") is (status not in NEEDS_DUE_TIME)
    assert await is_accepted("5") is (status not in FORBIDS_DUE_TIME)


@pytest.mark.spec("runs:P2.11", "runs:P4.2", "runs:P6.2")
def test_no_operation_type_or_module_of_a_former_name_exists() -> None:
    source = Path(windlass.__file__).parent
    names: set[str] = set()
    for file in source.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)

    assert names & FORMER_NAMES == set()
    assert {file.stem for file in source.rglob("*.py")} & FORMER_MODULES == set()
    for file in source.rglob("*.sql"):
        assert not any(name in file.read_text(encoding="utf-8") for name in FORMER_NAMES), file.name


@pytest.mark.spec("runs:P4.8")
def test_the_answer_to_a_failed_step_has_no_retry_time() -> None:
    assert set(Suspended.__struct_fields__) == {"is_parked", "verdicts", "settled"}
    assert set(Verdict.__struct_fields__) == {"due_in", "at"}  # what is left, and when it was recorded
