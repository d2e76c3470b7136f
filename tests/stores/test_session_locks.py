"""Does the lock of a worker on PostgreSQL last as long as its session, and come back when that is lost?"""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest

from windlass.errors import Unavailable
from windlass.model.run import WorkerId
from windlass.model.time import SECOND
from windlass.model.worker import LockKind
from windlass.store.postgres.locks import SESSION, SETTLED_AFTER, SessionLocks
from windlass.testing.clock import FakeClock

A, B, C = WorkerId("wrk_a"), WorkerId("wrk_b"), WorkerId("wrk_c")
PATIENCE = 20.0
HELD = """
select pid from pg_locks
 where locktype = 'advisory' and granted
   and database = (select oid from pg_database where datname = current_database())
"""
CUT = """
select pg_terminate_backend(pid) from pg_stat_activity
 where application_name = 'windlass worker' and datname = current_database()
"""

Open = Callable[[], SessionLocks]


@pytest.fixture
async def open_locks(postgres_url: str, clock: FakeClock) -> AsyncIterator[Open]:
    opened: list[SessionLocks] = []

    def open_one() -> SessionLocks:
        connect = lambda: asyncpg.connect(postgres_url, server_settings=SESSION)  # noqa: E731
        opened.append(SessionLocks(connect, clock=clock, where="The database"))
        return opened[-1]

    yield open_one
    for locks in opened:
        await locks.close()


@pytest.fixture
async def outside(postgres_url: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def holders(outside: Any) -> list[int]:
    """The sessions that hold locks, one for each lock."""
    return [row["pid"] for row in await outside.fetch(HELD)]


async def until_held(outside: Any, count: int, *, not_by: list[int]) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(found := await holders(outside)) != count or not set(found).isdisjoint(not_by):
            pass  # the question itself takes its time


async def looks(prober: SessionLocks, clock: FakeClock, *, count: int = 2, worker: WorkerId = A) -> list[bool]:
    """What look after look finds, a second apart; it stops at what it could seize."""
    found = []
    for _ in range(count):
        found.append(await is_seized(prober, worker))
        clock.advance(SECOND)
    return found


async def is_seized(prober: SessionLocks, worker: WorkerId = A) -> bool:
    """Look, and seize what may be free."""
    return bool(await prober.free([worker])) and await prober.seize(worker)


async def settled(prober: SessionLocks, clock: FakeClock, *, worker: WorkerId = B) -> SessionLocks:
    """A prober with a session of its own that has been there for a while."""
    await prober.take(worker)
    clock.advance(SETTLED_AFTER)
    return prober


async def test_a_lock_that_is_held_cannot_be_seized(open_locks: Open, clock: FakeClock) -> None:
    one, other = open_locks(), await settled(open_locks(), clock)

    assert await one.take(A) is LockKind.SESSION
    assert await one.take(A) is LockKind.SESSION

    assert await looks(other, clock) == [False, False]
    await one.release(A, for_good=True)  # taken twice, and free after one release
    assert await looks(other, clock) == [False, True]


async def test_a_lock_must_be_free_at_two_looks_in_a_row(open_locks: Open, clock: FakeClock) -> None:
    one, other = open_locks(), await settled(open_locks(), clock)
    for _ in range(3):
        assert await looks(other, clock, count=1) == [False]
        await one.take(A)
        assert await looks(other, clock, count=1) == [False]
        await one.release(A, for_good=False)

    assert [await is_seized(other), await is_seized(other)] == [False, False]  # two looks at one moment are one
    clock.advance(SECOND)
    assert await is_seized(other)


async def test_what_one_has_seized_no_other_gets(open_locks: Open, clock: FakeClock) -> None:
    prober, rival = await settled(open_locks(), clock), await settled(open_locks(), clock, worker=C)
    assert await looks(prober, clock) == [False, True]

    assert await looks(rival, clock, count=3) == [False] * 3

    await prober.release(A, for_good=True)
    assert await looks(rival, clock) == [False, True]


async def test_the_end_of_a_session_frees_its_locks(open_locks: Open, clock: FakeClock, outside: Any) -> None:
    one, other = open_locks(), await settled(open_locks(), clock)
    await one.take(A)

    one.kill()

    await until_held(outside, 1, not_by=[])
    assert await looks(other, clock) == [False, True]


async def test_a_session_that_is_lost_is_made_anew_and_takes_its_locks_again(
    open_locks: Open, clock: FakeClock, outside: Any
) -> None:
    one = open_locks()
    await one.take(A)
    await one.take(B)
    before = await holders(outside)

    await outside.fetch(CUT)

    await until_held(outside, 2, not_by=before)
    other = await settled(open_locks(), clock, worker=C)
    assert await looks(other, clock, count=3) == [False] * 3
    await one.release(A, for_good=True)
    assert await looks(other, clock) == [False, True]


async def test_nobody_is_judged_right_after_ones_own_session_was_lost(
    open_locks: Open, clock: FakeClock, outside: Any
) -> None:
    prober = await settled(open_locks(), clock)
    assert await looks(prober, clock, count=1) == [False]  # free, seen once

    before = await holders(outside)
    await outside.fetch(CUT)
    await until_held(outside, 1, not_by=before)

    assert await looks(prober, clock, count=4) == [False] * 4
    clock.advance(SETTLED_AFTER)
    assert True in await looks(prober, clock)


async def test_workers_of_one_process_are_not_asked_about(open_locks: Open, clock: FakeClock) -> None:
    locks = await settled(open_locks(), clock)
    await locks.take(A)

    assert await looks(locks, clock, count=3) == [False] * 3


async def test_nobody_is_judged_right_after_the_server_has_started(open_locks: Open, clock: FakeClock) -> None:
    prober = open_locks()
    prober.settled_after = 10**12  # a server that has been up for longer than that is none of ours

    assert await looks(prober, clock, count=3) == [False] * 3


async def test_without_an_answer_nobody_is_judged(clock: FakeClock) -> None:
    async def connect() -> Any:
        raise ConnectionRefusedError("no")

    with pytest.raises(Unavailable):
        await SessionLocks(connect, clock=clock, where="The database").free([A])


async def test_a_server_that_does_not_answer_is_unavailable(clock: FakeClock) -> None:
    async def connect() -> Any:
        raise ConnectionRefusedError("no")

    with pytest.raises(Unavailable, match="The database does not answer: no"):
        await SessionLocks(connect, clock=clock, where="The database").take(A)


async def test_a_look_of_long_ago_is_none(open_locks: Open, clock: FakeClock) -> None:
    prober = await settled(open_locks(), clock)

    assert not await is_seized(prober)
    clock.advance("1h")

    assert await looks(prober, clock) == [False, True]


class Mute:
    """A session that, once told to, gives no answer any more: gone on the other side without a word."""

    def __init__(self, session: asyncpg.Connection[Any]) -> None:
        self._session, self.is_mute = session, False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._session, name)
        if name not in ("fetchval", "fetch", "execute"):
            return found

        async def ask(*args: Any) -> Any:
            if self.is_mute:
                await asyncio.get_running_loop().create_future()
            return await found(*args)

        return ask


async def test_a_session_that_does_not_answer_is_given_up_and_its_locks_taken_by_another(
    postgres_url: str, clock: FakeClock, outside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.store.postgres.locks.ANSWER_SECONDS", 0.5)
    sessions: list[Mute] = []

    async def connect() -> Any:
        sessions.append(Mute(await asyncpg.connect(postgres_url, server_settings=SESSION)))
        return sessions[-1]

    locks = SessionLocks(connect, clock=clock, where="The database")
    await locks.take(A)
    before = await holders(outside)
    sessions[0].is_mute = True

    with pytest.raises(Unavailable):
        await locks.take(A)  # a worker makes sure of its lock at every look

    await until_held(outside, 1, not_by=before)
    assert await locks.take(A) is LockKind.SESSION
    assert len(sessions) == 2
    await locks.close()


class Pooled(Mute):
    def get_server_pid(self) -> int:
        return 1  # of the pooler


async def test_through_a_pooler_there_are_no_locks(postgres_url: str, clock: FakeClock) -> None:
    """The session that answers is not the one that was connected to: others may share it, and it outlives us."""

    async def connect() -> Any:
        return Pooled(await asyncpg.connect(postgres_url, server_settings=SESSION))

    locks = SessionLocks(connect, clock=clock, where="The database")
    clock.advance(SETTLED_AFTER)

    assert await locks.take(A) is None
    assert await locks.free([B]) == []
    await locks.close()


async def test_what_is_closed_is_not_opened_again(open_locks: Open, outside: Any) -> None:
    locks = open_locks()
    await locks.take(A)

    await locks.close()

    with pytest.raises(Unavailable):
        await locks.take(B)
    await until_held(outside, 0, not_by=[])


async def test_a_forked_child_does_not_keep_the_session_of_its_parent_alive(open_locks: Open, outside: Any) -> None:
    locks = open_locks()
    await locks.take(A)
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)  # lives until the test lets it go
        os._exit(0)
    try:
        locks.kill()

        await until_held(outside, 0, not_by=[])  # though the child is still there
    finally:
        os.close(writer)
        os.close(reader)
        await asyncio.to_thread(os.waitpid, child, 0)
