"""Has a fresh database all that graphs need: counted needs, edges with one key, and an index for each question?"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import apsw
import asyncpg
import pytest

from windlass.model.graph import COMPLETED_ONLY, EVERY_END, Edge
from windlass.model.run import RunId
from windlass.store.base import Store, Tx
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

Rows = list[tuple[object, ...]]
Ask = Callable[[str], Awaitable[Rows]]

COLUMNS = {
    "sqlite": "select name, \"notnull\", dflt_value from pragma_table_info('{table}')",
    "postgres": """
        select column_name, case when is_nullable = 'NO' then 1 else 0 end, column_default
          from information_schema.columns where table_schema = 'windlass' and table_name = '{table}'
    """,
}
INDEXES = {
    "sqlite": "select name, sql from sqlite_schema where tbl_name = '{table}' and sql is not null",
    "postgres": "select indexname, indexdef from pg_indexes where schemaname = 'windlass' and tablename = '{table}'",
}
KEYS = {
    "sqlite": "select name from pragma_table_info('{table}') where pk > 0 order by pk",
    "postgres": """
        select a.attname from pg_index i cross join unnest(i.indkey) with ordinality as k (attnum, place)
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
         where i.indrelid = 'windlass.{table}'::regclass and i.indisprimary order by k.place
    """,
}
GRAPH = RunId("run_" + "1" * 26)
OTHER = RunId("run_" + "2" * 26)


class Fresh:
    """A database as the migrations leave it, before anything was done with it."""

    def __init__(self, kind: str, store: Store, ask: Ask) -> None:
        self.store, self._kind, self._ask = store, kind, ask

    async def columns(self, table: str) -> dict[str, tuple[bool, str | None]]:
        """By name: whether it is never null, and what it is if nothing is said."""
        rows = await self._ask(COLUMNS[self._kind].format(table=table))
        return {str(name): (bool(not_null), _plain(default)) for name, not_null, default in rows}

    async def indexes(self, table: str) -> dict[str, str]:
        rows = await self._ask(INDEXES[self._kind].format(table=table))
        return {str(name): " ".join(re.sub(r"[()\"]", " ", str(text)).lower().split()) for name, text in rows}

    async def key(self, table: str) -> list[str]:
        """The columns of the primary key, in their order."""
        return [str(name) for (name,) in await self._ask(KEYS[self._kind].format(table=table))]


def _plain(default: object) -> str | None:
    return None if default is None else str(default).partition("::")[0].strip("'")


@pytest.fixture(params=["sqlite", "postgres"])
async def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Fresh]:
    if request.param == "sqlite":
        path = str(tmp_path / "windlass.db")
        sqlite = SqliteStore(path, clock=FakeClock())
        await sqlite.open()
        database = apsw.Connection(path)

        async def ask(text: str) -> Rows:
            return database.execute(text).fetchall()

        yield Fresh("sqlite", sqlite, ask)
        database.close()
        await sqlite.close()
        return
    url: str = request.getfixturevalue("postgres_url")
    postgres = PostgresStore(url)
    await postgres.open()
    connection = await asyncpg.connect(url, server_settings={"search_path": "windlass"})

    async def fetch(text: str) -> Rows:
        return [tuple(row) for row in await connection.fetch(text)]

    yield Fresh("postgres", postgres, fetch)
    await connection.close()
    await postgres.close()


@pytest.mark.spec("graphs:9", "graphs:12", "graphs:13", "graphs:14", "graphs:16", "graphs:17", "graphs:18", "graphs:19")
@pytest.mark.spec("graphs:11", "graphs:15")
async def test_a_fresh_database_counts_needs_and_finds_edges_from_both_ends(fresh: Fresh) -> None:
    runs = await fresh.columns("runs")
    assert runs["unmet"] == (True, "0")
    assert runs["ready_at"] == (False, None)
    assert (await fresh.columns("jobs"))["group_name"] == (False, None)
    edges = await fresh.columns("edges")
    assert {name: edges[name] for name in ("namespace", "graph", "job", "upstream")} == dict.fromkeys(
        ("namespace", "graph", "job", "upstream"), (True, None)
    )
    assert edges["accepts"] == (True, "completed")

    waiting = (await fresh.indexes("runs"))["runs_needs"]
    assert "namespace, parent, parent_step" in waiting
    assert "where unmet > 0" in waiting and "finished_at is null" in waiting
    assert "graph, upstream" in (await fresh.indexes("edges"))["edges_upstream"]
    assert await fresh.key("edges") == ["namespace", "graph", "job", "upstream"]  # who is waited for, from this end

    async def write(tx: Tx) -> list[Edge]:
        lint, again = Edge(job="report", upstream="lint"), Edge(job="report", upstream="lint", accepts=EVERY_END)
        for graph in (GRAPH, OTHER):
            await tx.edges.create("default", graph, [lint, Edge(job="report", upstream="build", accepts=EVERY_END)])
        await tx.edges.create("default", GRAPH, [lint])
        await tx.edges.create("default", GRAPH, [again])
        return await tx.edges.of_graph("default", GRAPH)

    stored = {edge.upstream: edge.accepts for edge in await fresh.store.run_tx("write", write)}
    assert stored == {"lint": COMPLETED_ONLY, "build": EVERY_END}
    assert len(stored) == 2
