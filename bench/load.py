"""How a database comes to hold half a million runs in seconds: the engine makes one, the database copies it.

What the engine wrote about the first (its row, its payload, its log) is written about each of the others under an id of
its own, so a loaded database is one that `windlass doctor` finds in order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple

import apsw
import asyncpg

from windlass.app import App
from windlass.define.context import Context
from windlass.settings import Settings, parse_url
from windlass.store.migrate import SCHEMA

TABLES = {"runs": "id", "payloads": "run_id", "log": "subject_id"}
ORDER = {"log": "n, seq"}  # a run's log is read in the order of its numbers
NUMBERED = {"seq", "xid"}  # given by the database
DIGITS = 7  # of an id that become the number of the copy


class Dialect(NamedTuple):
    columns: str
    series: str
    padded: str


SQLITE = Dialect(
    columns="select name from pragma_table_info('{table}')",
    series="(with recursive series(n) as (select 1 union all select n + 1 from series where n < {count})"
    " select n from series) as copies",
    padded=f"printf('%0{DIGITS}d', n)",
)
POSTGRESQL = Dialect(
    columns="select column_name from information_schema.columns where table_name = '{table}'"
    " and table_schema = current_schema()",
    series="generate_series(1, {count}) as copies(n)",
    padded=f"lpad(n::text, {DIGITS}, '0')",
)


async def nothing(ctx: Context, number: int) -> int:
    return number


async def elsewhere(ctx: Context, number: int) -> int:
    """Known to nobody who drains."""
    return number


def make_app(url: str) -> App:
    app = App(url, settings=Settings())
    app.workflow(nothing)
    app.workflow(elsewhere)
    return app


async def due_tomorrow(app: App) -> str:
    return (await app.start(nothing, 0, delay="1d")).id


async def finished(app: App) -> str:
    async with app.worker():
        handle = await app.start(nothing, 0)
        await handle.result()
    return handle.id


async def for_others(app: App) -> str:
    return (await app.start(elsewhere, 0)).id


async def due(app: App) -> str:
    return (await app.start(nothing, 0)).id


class Kind(NamedTuple):
    make: Callable[[App], Awaitable[str]]
    changes: Mapping[str, str] = {}  # in what the copies differ, by column of runs


KINDS = {
    "tomorrow": Kind(due_tomorrow, {"priority": "n % 10 - 5", "available_at": "available_at + n"}),
    "finished": Kind(finished),
    "others": Kind(for_others, {"available_at": "available_at - n"}),
    "due": Kind(due, {"priority": "n % 3 - 1", "available_at": "available_at - n"}),
}


async def load(url: str, kind: str, *, count: int) -> None:
    """Put `count` runs of one kind into a database, and let it settle as one that has had them for long."""
    async with make_app(url) as app:
        id = await KINDS[kind].make(app)
    location = parse_url(url)
    if location.kind == "sqlite":
        _copy_on_sqlite(location.target, id, kind, count)
    else:
        await _copy_on_postgres(location.target, id, kind, count)


async def settle(url: str) -> None:
    """Nothing left for the background to do while somebody measures."""
    location = parse_url(url)
    if location.kind == "sqlite":
        connection = apsw.Connection(location.target)
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        connection.close()
        return
    server = await asyncpg.connect(location.target)
    await server.execute("vacuum analyze")
    await server.execute("checkpoint")
    await server.close()


def _copy_on_sqlite(path: str, id: str, kind: str, count: int) -> None:
    connection = apsw.Connection(path)
    connection.execute("pragma synchronous = off").fetchall()
    with connection:
        for table in TABLES:
            columns = [str(row[0]) for row in connection.execute(SQLITE.columns.format(table=table))]
            connection.execute(_copy(SQLITE, table, columns, id=id, changes=KINDS[kind].changes, count=count))
    connection.close()


async def _copy_on_postgres(url: str, id: str, kind: str, count: int) -> None:
    connection = await asyncpg.connect(url, server_settings={"search_path": SCHEMA})
    async with connection.transaction():
        for table in TABLES:
            columns = [row[0] for row in await connection.fetch(POSTGRESQL.columns.format(table=table))]
            await connection.execute(
                _copy(POSTGRESQL, table, columns, id=id, changes=KINDS[kind].changes, count=count), timeout=600
            )
    await connection.close()


def _copy(dialect: Dialect, table: str, columns: list[str], *, id: str, changes: Mapping[str, str], count: int) -> str:
    def values() -> Iterator[str]:
        for column in kept:
            if column == TABLES[table]:
                yield f"substr({column}, 1, {len(id) - DIGITS}) || {dialect.padded}"
            else:
                yield changes.get(column, column) if table == "runs" else column

    kept = [column for column in columns if column not in NUMBERED]
    return (
        f"insert into {table} ({', '.join(kept)}) select {', '.join(values())}"
        f" from {table}, {dialect.series.format(count=count)}"
        f" where {TABLES[table]} = '{id}' order by {ORDER.get(table, 'n')}"
    )
