"""Does a reader of the log on PostgreSQL miss nothing that commits late, and see what happened in the order it did?"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from tests.conformance.given import NAMESPACE, engine_on
from tests.conformance.test_feed import LONG, causes, entry, follow, read
from tests.conformance.test_log import append
from windlass.engine.engine import Engine
from windlass.model.checkup import FeedState
from windlass.model.feed import FROM_NOW
from windlass.store.migrate import SCHEMA
from windlass.store.postgres.store import PostgresStore
from windlass.store.queries.checks import CheckQueries
from windlass.testing.clock import FakeClock

if TYPE_CHECKING:
    Session = asyncpg.Connection[Any]

WRITE = """
insert into log (namespace, subject_kind, subject_id, to_status, cause, at)
values ('default', 'gate', $1, 'open', $2, 1)
"""


@pytest.fixture
async def store(postgres_url: str, clock: FakeClock) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(postgres_url, clock=clock)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def engine(store: PostgresStore, clock: FakeClock) -> Engine:
    return engine_on(store, clock)


@pytest.fixture
async def sessions(store: PostgresStore, postgres_url: str) -> AsyncIterator[list[Session]]:
    opened = [await asyncpg.connect(postgres_url, server_settings={"search_path": SCHEMA}) for _ in range(4)]
    yield opened
    for session in opened:
        await session.close()


async def test_what_commits_late_comes_behind_and_is_not_missed(
    engine: Engine, store: PostgresStore, sessions: list[Session]
) -> None:
    slow = sessions[0]
    await append(store, entry("first"))
    (first,) = await follow(engine, count=1)
    await slow.execute("begin")
    await slow.execute(WRITE, "a", "slow")  # it has its number, and is not committed
    for number in range(3):
        await append(store, entry(f"{number}"))

    held_back = await read(engine, first.cursor)
    assert held_back.entries == ()  # told now, they would be in front of what has the smaller number
    waiting = asyncio.ensure_future(engine.feed.wait_for_news(NAMESPACE, LONG, held_back.cursor))
    await slow.execute("commit")
    await waiting

    assert causes(await follow(engine, held_back.cursor, count=4)) == ["slow", "0", "1", "2"]
    assert causes(await follow(engine, count=5)) == ["first", "slow", "0", "1", "2"]


async def test_what_is_undone_is_never_told_and_holds_nobody_up(
    engine: Engine, store: PostgresStore, sessions: list[Session]
) -> None:
    await sessions[0].execute("begin")
    await sessions[0].execute(WRITE, "a", "undone")
    await append(store, entry("kept"))

    await sessions[0].execute("rollback")

    assert causes(await follow(engine, count=1)) == ["kept"]


async def test_readers_who_only_read_hold_nobody_up(
    engine: Engine, store: PostgresStore, sessions: list[Session]
) -> None:
    await sessions[0].execute("begin isolation level repeatable read")
    await sessions[0].fetch("select * from log")

    await append(store, entry("a"))

    assert causes(await follow(engine, count=1)) == ["a"]


async def test_of_one_subject_what_came_first_is_told_first_though_its_transaction_is_younger(
    engine: Engine, sessions: list[Session]
) -> None:
    older, younger, between, _ = sessions
    for session in (older, between, younger):
        await session.execute("begin")
        await session.fetchval("select pg_current_xact_id()")
    await younger.execute(WRITE, "it", "first")
    await younger.execute("commit")
    await older.execute(WRITE, "it", "second")  # it has waited for the other one
    await older.execute("commit")

    assert (await read(engine)).entries == ()
    await between.execute("commit")

    assert causes(await follow(engine, count=2)) == ["first", "second"]


async def test_readers_at_any_pace_see_one_order_while_many_write(engine: Engine, sessions: list[Session]) -> None:
    """Transactions that overlap in every way, some undone; three readers of which one begins anew at every page."""
    begin = (await read(engine, FROM_NOW)).cursor
    names = itertools.count()
    written: list[str] = []

    async def write(session: Session, number: int) -> None:
        for turn in range(40):
            own = [f"{next(names)}" for _ in range(turn % 3 + 1)]
            transaction = session.transaction()
            await transaction.start()
            for name in own:
                await session.execute(WRITE, f"{number}", name)
                await asyncio.sleep(0)
            if turn % 7 == number:
                await transaction.rollback()
            else:
                await transaction.commit()
                written.extend(own)

    async def listen(limit: int) -> list[str]:
        found: list[str] = []
        cursor = begin
        while not writers.done() or len(found) < len(written):
            page = await read(engine, cursor, limit=limit)
            found, cursor = found + causes(page.entries), page.cursor
            if not page.has_more:
                waiting = asyncio.ensure_future(engine.feed.wait_for_news(NAMESPACE, LONG, cursor))
                await asyncio.wait([waiting, writers], return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
        return found

    writers = asyncio.gather(*[write(session, number) for number, session in enumerate(sessions)])
    one, few, many = await asyncio.gather(listen(1), listen(7), listen(500))

    assert one == few == many
    assert sorted(one) == sorted(written)
    assert one == causes(await follow(engine, begin, count=len(written), limit=500))


async def test_doctor_names_who_holds_the_feed_back(
    engine: Engine, store: PostgresStore, clock: FakeClock, sessions: list[Session]
) -> None:
    async def look() -> FeedState:
        return await store.read("check_feed", lambda tx: CheckQueries(tx.connection).feed())

    (pid,) = await sessions[0].fetchrow("select pg_backend_pid()")
    await sessions[0].execute("set application_name = 'forgotten'; begin; select pg_current_xact_id()")
    await append(store, entry("a"))

    held = await look()
    assert held.held_since == clock.now()
    assert [(item.pid, item.application, item.state) for item in held.holders] == [
        (pid, "forgotten", "idle in transaction")
    ]
    await sessions[0].execute("rollback")
    await follow(engine, count=1)
    assert await look() == FeedState(held_since=None, ahead=0)

    await sessions[0].execute("update log set xid = xid + 1000000")
    assert (await look()).ahead == 1
