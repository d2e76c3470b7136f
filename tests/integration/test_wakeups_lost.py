"""Do processes on one PostgreSQL wake each other within moments, also after their listeners were cut off?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.integration.conftest import PostgresDatabases
from windlass import App, Context
from windlass.model.feed import FROM_NOW, ReadFeed
from windlass.model.time import HOUR, Duration
from windlass.settings import Settings

PATIENCE = 60.0
# Nobody looks by themselves: what is found was told.
SETTINGS = Settings(poll_for=Duration(HOUR))
CUT_LISTENERS = """
select pid, pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and application_name = 'windlass listener'
"""
# One that was cut off may still be there for a while.
LISTENERS = """
select count(*) from pg_stat_activity
 where datname = current_database() and application_name = 'windlass listener' and pid <> all($1::int[])
"""


async def double(ctx: Context, number: int) -> int:
    return 2 * number


@pytest.fixture
async def url(postgres_databases: PostgresDatabases) -> AsyncIterator[str]:
    url = postgres_databases.take()
    yield url
    postgres_databases.give_back(url)


async def test_a_start_wakes_a_worker_elsewhere_also_after_every_listener_was_cut(url: str) -> None:
    async with App(url, settings=SETTINGS) as works, App(url, settings=SETTINGS) as asks:
        works.workflow(double)
        asks.workflow(double)
        administrator = await asyncpg.connect(url)
        async with works.worker():
            for number in range(4):
                handle = await asks.start(double, number)
                assert await asyncio.wait_for(handle.result(), PATIENCE) == 2 * number
                cut = await administrator.fetch(CUT_LISTENERS)
                assert len(cut) == 2
                # Told while nobody listens, it is found when they listen again and look at everything.
                handle = await asks.start(double, 10 * number)
                assert await asyncio.wait_for(handle.result(), PATIENCE) == 20 * number
                await both_listen(administrator, but=[row["pid"] for row in cut])
        await administrator.close()


async def both_listen(administrator: asyncpg.Connection, *, but: list[int]) -> None:  # type: ignore[type-arg]
    async def until() -> None:
        while await administrator.fetchval(LISTENERS, but) < 2:
            continue

    await asyncio.wait_for(until(), PATIENCE)


async def test_what_happens_elsewhere_is_told_to_those_who_follow_the_log(url: str) -> None:
    async with App(url, settings=SETTINGS) as follows, App(url, settings=SETTINGS) as asks:
        asks.workflow(double)
        feed = follows._opening.opened().feed
        page = await feed.read_feed(ReadFeed(namespace="default", cursor=FROM_NOW))
        waiting = asyncio.ensure_future(feed.wait_for_news("default", Duration(HOUR), page.cursor))
        await asyncio.sleep(0)

        handle = await asks.start(double, 1)

        await asyncio.wait_for(waiting, PATIENCE)
        page = await feed.read_feed(ReadFeed(namespace="default", cursor=page.cursor))
        assert [(item.entry.subject_id, item.entry.to_status) for item in page.entries] == [(handle.id, "pending")]
