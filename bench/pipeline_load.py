"""What others have left in a database: idle pipelines, and events that were consumed long ago."""

from __future__ import annotations

import apsw
import asyncpg

from windlass.app import App

_IDLE = """
insert into pipelines (namespace, name, queue, revision, status, available_at, retry, declared_in, created_at,
                       changed_at)
select 'default', 'idle-' || n, 'default', 'r', 'idle', case when n % 2 = 0 then {later} end,
       {retry}, 'others', 0, 0
  from {numbers} as a(n)
"""
_HANDLERS = """
insert into handlers (namespace, pipeline, name, position, spec, next_at)
select 'default', 'idle-' || n, 'poll', 0, {spec}, {later} from {numbers} as a(n)
"""
_EVENTS = """
insert into events (namespace, pipeline, topic, id, seq, version, payload, status, reserved_by, created_at, updated_at)
select 'default', '{pipeline}', '{topic}', 'old-' || n, 100000000 + n, 100000000 + n, {payload}, 'consumed', 'hrn_old',
       0, 0
  from {numbers} as a(n)
"""
LATER = 4_000_000_000_000_000
RETRY = '{"max_attempts":6,"initial_for":10000000,"factor":2.0,"max_for":600000000}'
SPEC = '{"name":"poll","kind":"producer"}'


async def load_others(app: App, url: str, *, pipelines: int, events: int) -> None:
    """Straight into the tables: through the doors it would take longer than what is measured."""
    _ = await app.pipelines.list()  # so that the tables are there
    if url.startswith("postgresql"):
        await _load_postgres(url, pipelines=pipelines, events=events)
    else:
        _load_sqlite(url.removeprefix("sqlite:///"), pipelines=pipelines, events=events)


async def _load_postgres(url: str, *, pipelines: int, events: int) -> None:
    session = await asyncpg.connect(url, server_settings={"search_path": "windlass"})
    try:
        for text in _texts(pipelines, events, numbers="generate_series(1, {})", blob="convert_to('{}', 'UTF8')"):
            await session.execute(text)
        await session.execute("analyze")
    finally:
        await session.close()


def _load_sqlite(path: str, *, pipelines: int, events: int) -> None:
    database = apsw.Connection(path)
    series = "(with recursive s(n) as (select 1 union all select n + 1 from s where n < {}) select n from s)"
    with database:
        for text in _texts(pipelines, events, numbers=series, blob="cast('{}' as blob)"):
            database.execute(text.replace("as a(n)", ""))
    database.close()


def _texts(pipelines: int, events: int, *, numbers: str, blob: str) -> list[str]:
    later, many, few = str(LATER), numbers.format(events), numbers.format(pipelines)
    return [
        _IDLE.format(numbers=few, later=later, retry=blob.format(RETRY)),
        _HANDLERS.format(numbers=few, later=later, spec=blob.format(SPEC)),
        _EVENTS.format(numbers=many, payload=blob.format("1"), pipeline="one", topic="orders.one"),
    ]
