"""How a database comes to hold 100,000 armed signals in seconds: the engine makes one, the database copies it.

What the engine wrote about the first (its row, its log, the mark on the run it watches) is written for every other run
of the workflow, under an id of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import asyncpg

from bench.load import NUMBERED, POSTGRESQL, SQLITE, make_app, nothing
from windlass.app import App
from windlass.client.handle import Handle
from windlass.settings import parse_url
from windlass.store.migrate import SCHEMA


async def watch_loaded(url: str) -> None:
    """Arm a signal on each run of a database that bench/load.py has filled."""
    async with make_app(url) as app:
        handle = await app.start(nothing, 0, delay="1d")
        await watch_all(app, url, handle)


async def watch_all(app: App, url: str, handle: Handle[int]) -> None:
    """Arm a signal that only announces on this run, and then on each other run of its workflow."""
    signal = await app.when(handle, enters="completed")
    location = parse_url(url)
    if location.kind == "sqlite":
        _copy_on_sqlite(location.target, signal.id)
    else:
        await _copy_on_postgres(location.target, signal.id)


def _copy_on_sqlite(path: str, id: str) -> None:
    connection = apsw.Connection(path)
    connection.set_busy_timeout(60_000)
    with connection:
        columns = {
            table: [str(row[0]) for row in connection.execute(SQLITE.columns.format(table=table))]
            for table in ("signals", "log")
        }
        for text in _texts(columns, id):
            connection.execute(text)
    connection.close()


async def _copy_on_postgres(url: str, id: str) -> None:
    connection = await asyncpg.connect(url, server_settings={"search_path": SCHEMA})
    async with connection.transaction():
        columns = {
            table: [row[0] for row in await connection.fetch(POSTGRESQL.columns.format(table=table))]
            for table in ("signals", "log")
        }
        for text in _texts(columns, id):
            await connection.execute(text, timeout=600)
    await connection.close()


def _texts(columns: dict[str, list[str]], id: str) -> Iterator[str]:
    own = "'sig_' || substr(r.id, 5)"
    others = f"w.id = '{id}' and r.namespace = w.namespace and r.name = '{nothing.__name__}' and r.id <> w.subject"
    changes = {"signals": {"id": own, "subject": "r.id"}, "log": {"subject_id": own}}
    for table, joined in (
        ("signals", ""),
        ("log", " join log g on g.namespace = w.namespace and g.subject_kind = 'signal' and g.subject_id = w.id"),
    ):
        kept = [column for column in columns[table] if column not in NUMBERED]
        alias = "g" if joined else "w"
        values = [changes[table].get(column, f"{alias}.{column}") for column in kept]
        yield (
            f"insert into {table} ({', '.join(kept)}) select {', '.join(values)}"
            f" from signals w cross join runs r{joined} where {others} order by r.id"
        )
    yield f"update runs set armed = 1 where name = '{nothing.__name__}'"
