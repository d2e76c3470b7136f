"""Does a pooler in between cost speed and nothing else, and is its user told once what to do about it?"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from tests.integration.conftest import PATIENCE, PostgresDatabases, eventually
from tests.integration.pooler import Pooler
from windlass import App, Context
from windlass.model.run import WorkerId
from windlass.notify.postgres import EVERYTHING, PostgresListener
from windlass.store.postgres.store import PostgresStore
from windlass.store.version import newest, read_postgres

WORKER = WorkerId(f"wrk_{1:026}")


async def double(number: int) -> int:
    return 2 * number


async def order(ctx: Context, number: int) -> int:
    await ctx.sleep("1ms")
    return await ctx.step(double, number)


@pytest.fixture
async def url(postgres_databases: PostgresDatabases) -> AsyncIterator[str]:
    url = postgres_databases.take()
    yield url
    postgres_databases.give_back(url)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.spec("security:102")
@pytest.mark.parametrize("refuses_settings", [True, False])
async def test_runs_are_worked_through_a_pooler(
    url: str, caplog: pytest.LogCaptureFixture, refuses_settings: bool
) -> None:
    async with Pooler(url, refuses_settings=refuses_settings) as pooler, App(pooler.url) as app:
        app.workflow(order)
        async with app.worker(slots=10):
            handles = await asyncio.gather(*[app.start(order, number) for number in range(30)])
            results = await asyncio.gather(*[handle.result() for handle in handles])

    assert results == [2 * number for number in range(30)]
    assert not [text for text in warnings(caplog) if "NOTIFY" not in text]


@pytest.mark.spec("security:102")
async def test_what_another_process_starts_is_found_within_seconds_and_its_user_is_told_once(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Pooler(url) as pooler, App(pooler.url) as works, App(pooler.url) as asks:
        works.workflow(order)
        asks.workflow(order)
        async with works.worker():
            for number in range(2):
                handle = await asks.start(order, number)
                assert await asyncio.wait_for(handle.result(), PATIENCE) == 2 * number
        await eventually(lambda: len(warnings(caplog)) == 2, what="one for each app")
    assert len(warnings(caplog)) == 2
    assert all("pooler in transaction mode" in text and "Connect directly" in text for text in warnings(caplog))
    assert "\n" not in warnings(caplog)[0]


async def test_whoever_is_connected_directly_hears_those_behind_a_pooler(url: str) -> None:
    heard = asyncio.Queue[str]()
    async with Pooler(url) as pooler:
        behind, direct = PostgresListener(pooler.url), PostgresListener(url)
        await behind.open(lambda topic: None)
        await direct.open(heard.put_nowait)

        behind.send('it\'s \\ "quoted" é')

        assert await asyncio.wait_for(heard.get(), PATIENCE) == 'it\'s \\ "quoted" é'
        await behind.close()
        await direct.close()


async def test_a_deaf_listener_says_that_something_may_have_been_missed(url: str) -> None:
    heard = asyncio.Queue[str]()
    async with Pooler(url) as pooler:
        listener = PostgresListener(pooler.url)
        await listener.open(heard.put_nowait)

        for _ in range(2):
            assert await asyncio.wait_for(heard.get(), PATIENCE) == EVERYTHING
        await listener.close()


async def test_no_lock_is_taken_where_sessions_are_shared(url: str) -> None:
    async with Pooler(url) as pooler:
        store = PostgresStore(pooler.url)
        await store.open()

        assert await store.locks.take(WORKER) is None
        assert await store.locks.free([WORKER]) == []
        assert not await store.locks.seize(WORKER)
        await store.close()


async def test_a_schema_is_read_and_made_through_a_pooler(url: str) -> None:
    async with Pooler(url) as pooler:
        assert await read_postgres(pooler.url) == newest("postgres")
