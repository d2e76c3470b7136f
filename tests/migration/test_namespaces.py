"""Does every namespace that was in use before there was a table of them have its row afterwards?"""

from __future__ import annotations

import pytest

from tests.migration.databases import Database
from windlass.store import migrate
from windlass.store.migrate import migrations

BEFORE = 5  # the last schema without namespaces
RUN = (
    "insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at)"
    " values ('{namespace}', '{id}', 'w', '', 'q', 0, 'pending', 1, 1)"
)
USES = (
    *(RUN.format(namespace=name, id=f"run_{number}") for name in ("runs", "Zebra", "äpfel") for number in range(3)),
    "insert into gates (namespace, kind, name) values ('gates', 'queue', 'q')",
    "insert into workers (namespace, id, host, pid, served, slots, started_at, seen_at)"
    " values ('workers', 'wrk_1', 'h', 1, {empty}, 1, 1, 1)",
    "insert into schedules (namespace, name, workflow, version, queue, input, input_hash, every_for, tz, anchor,"
    " catch_up, max_catch_up, overlap, jitter, status, is_declared, revision, last_slot, available_at, created_at,"
    " changed_at)"
    " values ('schedules', 's', 'w', '', 'q', {empty}, {empty}, 1000000, 'UTC', 1, 'latest', 1, 'skip', 0, 'active',"
    " 1, 1, 1, 1, 1, 1)",
)
FOUND = ["Zebra", "default", "gates", "runs", "schedules", "workers", "äpfel"]


EMPTY = {"sqlite": "x''", "postgres": "'\\x'"}


async def test_a_database_of_before_gets_a_row_for_each(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    known = migrations
    monkeypatch.setattr(migrate, "migrations", lambda dialect: known(dialect)[:BEFORE])
    await database.open_and_close()
    monkeypatch.undo()
    for statement in USES:
        await database.change(statement.format(empty=EMPTY[database.dialect]))

    await database.open_and_close()

    rows = await database.ask("select name, is_enabled, created_at, disabled_at from namespaces order by name")
    assert rows == [(name, 1, 0, None) for name in FOUND]
    assert await database.ask("select poll from workers") == [(0,)]
