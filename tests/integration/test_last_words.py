"""Is what a process says right before it ends heard by the others, and known afterwards?"""

from __future__ import annotations

import asyncio

import windlass
from tests.programs import nothing
from windlass.notify.postgres import PostgresListener
from windlass.rules.workers import said_goodbye
from windlass.settings import Settings
from windlass.store.base import Tx

PATIENCE = 60.0


async def test_what_is_said_right_before_the_end_goes_out(postgres_url: str) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listening, speaking = PostgresListener(postgres_url), PostgresListener(postgres_url)
    await listening.open(heard.put_nowait)
    await speaking.open(lambda topic: None)

    speaking.send("drain")
    await speaking.close()

    assert await asyncio.wait_for(heard.get(), PATIENCE) == "drain"
    await listening.close()


async def test_a_worker_that_leaves_in_order_is_known_to_have_said_goodbye(url: str) -> None:
    app = windlass.App(url, settings=Settings())  # with the clock of the database, where it has one
    app.workflow(nothing)

    async with app:
        async with app.worker():
            worker = app._workers[0].id
        store = (await app._opening.get()).engine.parts.store

        async def look(tx: Tx) -> bool:
            row = await tx.workers.find("default", id=worker)
            return row is not None and said_goodbye(row)

        assert await store.read("look", look)
