"""How long does a page of the dashboard take the server, and does a long history make it longer?

Two databases of a store side by side, one with 1,000 runs and one with 100,000 and 1,000,000 rows of log, both of the
last three hours. The same 400 wait in both: what is over is what grows. Then 10,000 more that wait, for the page that
counts them.
"""

from __future__ import annotations

import asyncio

import apsw
import asyncpg

from bench.course import Course
from bench.load import load, settle
from bench.programs import PAGES
from bench.targets import STORES
from windlass.app import App
from windlass.embedded import in_process
from windlass.engine.coordinator import count_minutes
from windlass.model.time import HOUR
from windlass.settings import Settings, parse_url
from windlass.store.migrate import SCHEMA

FEW = 1_000
SPAN = 3 * HOUR
LOG_OF_EACH = 10  # rows for each run, as one that slept and was tried again has

# What is said about each run again and again, until there are enough rows.
MORE = (
    "insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at, data)"
    " select g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data"
    " from log g where g.seq <= (select max(seq) from log) and g.subject_kind = 'run' and g.to_status = 'running'"
)

WAITING = {"tomorrow": 200, "due": 200}
MORE_WAITING = 10_000

# As loaded, everything has ended well and just now; after this, about as much has ended in one minute as in another.
EARLIER = (
    "update runs set finished_at = finished_at - abs({random}) % {span} where finished_at is not null",
    "update runs set started_at = finished_at - 100000 - abs({random}) % 1000000 where finished_at is not null",
    "update runs set status = 'failed' where finished_at is not null and abs({random}) % 5 = 0",
)


def measure_pages(course: Course) -> None:
    for store in STORES:
        _history(course, store)
        _picture(course, store)


def _history(course: Course, store: str) -> None:
    many, sizes = course.sizes.shown, course.sizes
    with course.databases.fresh(store) as long, course.databases.fresh(store) as short:
        course.say(f"loading {many:,} runs with {LOG_OF_EACH} rows of log each ({store}) …")
        for url, count in ((long, many), (short, FEW)):
            asyncio.run(load(url, "finished", count=count - sum(WAITING.values())))
            for kind, number in WAITING.items():
                asyncio.run(load(url, kind, count=number))
            asyncio.run(_lengthen(url))
            asyncio.run(_count(url))
            asyncio.run(settle(url))
        slowest, ratios = [], []
        for _ in range(sizes.rounds):
            here = PAGES.run("pages", url=long, size=sizes.requests).figures
            there = PAGES.run("pages", url=short, size=sizes.requests).figures
            slowest.append(here["slowest_ms"])
            ratios.append(max(here[name] / there[name] for name in here if name != "slowest_ms"))
            course.say(", ".join(f"{name[:-3]} {here[name]:.1f}/{there[name]:.1f}" for name in sorted(here)))
        asyncio.run(load(long, "tomorrow", count=MORE_WAITING))
        asyncio.run(settle(long))
        waiting = [PAGES.run("pages", url=long, size=sizes.requests).figures for _ in range(sizes.rounds)]
        course.add("page_waiting", store, [figures["queues_ms"] for figures in waiting])
        course.add("page", store, slowest)
        course.add("page_flat", store, ratios)


def _picture(course: Course, store: str) -> None:
    found = [course.run(PAGES, "picture", store, size=1_000).figures for _ in range(course.sizes.rounds)]
    course.add("picture_folded", store, [figures["folded_ms"] for figures in found])
    course.add("picture", store, [figures["unfolded_ms"] for figures in found])


async def _lengthen(url: str) -> None:
    location = parse_url(url)
    more = LOG_OF_EACH - 3  # what the engine itself has written about each
    if location.kind == "sqlite":
        connection = apsw.Connection(location.target)
        with connection:
            _repeat_on_sqlite(connection, more)
            for statement in EARLIER:
                connection.execute(statement.format(random="random()", span=SPAN))
        connection.close()
        return
    server = await asyncpg.connect(location.target, server_settings={"search_path": SCHEMA})
    last = await server.fetchval("select max(seq) from log")
    for _ in range(more):
        await server.execute(MORE.replace("(select max(seq) from log)", str(last)), timeout=600)
    for statement in EARLIER:
        await server.execute(statement.format(random="(random() * 1e15)::bigint", span=SPAN), timeout=600)
    await server.execute("vacuum runs", timeout=600)
    await server.close()


async def _count(url: str) -> None:
    """As a coordinator has done by now."""
    async with App(url, settings=Settings()) as app:
        parts = in_process(await app._opening.get()).engine.parts
        while await count_minutes.tick(parts):
            pass


def _repeat_on_sqlite(connection: apsw.Connection, times: int) -> None:
    (last,) = next(connection.execute("select max(seq) from log"))
    for _ in range(times):
        connection.execute(MORE.replace("(select max(seq) from log)", str(last)))
