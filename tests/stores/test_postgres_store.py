"""What is special about PostgreSQL: its connections, its locks, its clock."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import asyncpg
import pytest
from asyncpg.types import ServerVersion

from tests.conformance.given import (
    NAMESPACE,
    causes,
    claim,
    complete,
    completed,
    create,
    finish,
    finished,
    load,
    new_run,
    run_id,
    running_run,
)
from tests.conformance.hooks import Recorder
from windlass.errors import NotAllowed, StoreRefused, Unavailable
from windlass.model.run import WorkerId
from windlass.model.time import DAY, SECOND
from windlass.runtime import SystemClock
from windlass.store.base import Tx
from windlass.store.postgres.store import CONNECTIONS, PostgresStore

CUT_OTHERS = """
select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid()
"""


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(postgres_url, hooks=Recorder())
    await opened.open()
    yield opened
    await opened.close()


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def test_without_a_clock_the_database_tells_the_time(store: PostgresStore) -> None:
    run = await running_run(store)
    await complete(store, completed(run, renew_for=DAY))
    assert await finish(store, finished(run)) == [0]

    ended = await load(store)
    told = await store.read("now", lambda tx: tx.now())

    assert ended.created_at < (ended.started_at or 0) < (ended.finished_at or 0) < told
    assert abs(told - SystemClock().now()) < 60 * SECOND
    assert [cause for _, _, cause in await causes(store)] == ["start", "claim", "finish"]


async def test_behind_a_single_statement_only_reads_follow(store: PostgresStore) -> None:
    async def write_and_read(tx: Tx) -> bool:
        await tx.runs.create([new_run(1)])
        return await tx.runs.load(NAMESPACE, run_id(1)) is not None

    async def write_twice(tx: Tx) -> None:
        await tx.runs.create([new_run(2)])
        await tx.runs.create([new_run(3)])

    assert await store.run_tx("create", write_and_read, single=True)
    with pytest.raises(NotAllowed):
        await store.run_tx("create", write_twice, single=True)

    assert await store.read("load", lambda tx: tx.runs.load(NAMESPACE, run_id(3))) is None


async def test_concurrent_claimers_never_get_the_same_run(store: PostgresStore) -> None:
    await create(store, *[new_run(number, priority=number % 3) for number in range(300)])
    claimed: list[str] = []

    async def drain(worker: WorkerId) -> None:
        while len(claimed) < 300:  # a claim may come back empty while others hold what it looked at
            rows = await claim(store, limit=20, worker=worker)
            assert all(row.run.token == 1 for row in rows)
            claimed.extend(row.run.id for row in rows)

    await asyncio.wait_for(asyncio.gather(*[drain(WorkerId(f"wrk_{number}")) for number in range(8)]), timeout=20)

    assert sorted(claimed) == [run_id(number) for number in range(300)]


async def test_a_claim_skips_what_others_hold_and_still_fills_up(store: PostgresStore) -> None:
    await create(store, *[new_run(number) for number in range(10)])

    async def hold_first(tx: Tx) -> list[str]:
        assert await tx.runs.lock(NAMESPACE, run_id(0)) is not None
        return [row.run.id for row in await claim(store, limit=5)]

    assert await store.run_tx("hold", hold_first) == [run_id(number) for number in range(1, 6)]


async def test_a_deadlock_runs_the_transaction_again(store: PostgresStore) -> None:
    await create(store, new_run(1), new_run(2))
    tries, both_hold = [0, 0], asyncio.Barrier(2)

    async def lock(tx: Tx, side: int) -> None:
        tries[side] += 1
        if tries[side] == 1:
            await tx.runs.lock(NAMESPACE, run_id(1 + side))
            await both_hold.wait()
            await tx.runs.lock(NAMESPACE, run_id(2 - side))
        else:
            # In one order: whoever tries again may overtake who was already waiting for the row, and meet it once more.
            await tx.runs.lock(NAMESPACE, run_id(1))
            await tx.runs.lock(NAMESPACE, run_id(2))

    await asyncio.gather(*[store.run_tx("lock", lambda tx, side=side: lock(tx, side)) for side in (0, 1)])  # type: ignore[misc]

    assert max(tries) == 2  # of one of them, or of both: each finds out by itself


async def test_a_lost_connection_is_unavailable_and_the_next_call_works(
    store: PostgresStore, postgres_url: str
) -> None:
    async def cut(tx: Tx) -> None:
        await tx.runs.create([new_run(1)])
        await execute(postgres_url, CUT_OTHERS)
        await tx.runs.create([new_run(2)])

    with pytest.raises(Unavailable):
        await store.run_tx("create", cut)

    assert await store.read("load", lambda tx: tx.runs.load(NAMESPACE, run_id(1))) is None
    assert await create(store, new_run(1)) == [0]


async def test_idle_connections_that_were_cut_are_replaced(store: PostgresStore, postgres_url: str) -> None:
    await asyncio.gather(*[create(store, new_run(number)) for number in range(20)])
    await execute(postgres_url, CUT_OTHERS)

    done = 0
    for number in range(20, 40):
        try:
            done += len(await create(store, new_run(number)))
        except Unavailable:  # the cut may reach us only with the next statement
            continue

    assert done >= 20 - CONNECTIONS


async def test_no_more_connections_are_opened_than_allowed(store: PostgresStore, postgres_url: str) -> None:
    await asyncio.gather(*[create(store, new_run(number)) for number in range(50)])

    connection = await asyncpg.connect(postgres_url)
    count = await connection.fetchval(
        "select count(*) from pg_stat_activity where application_name = 'windlass' and datname = current_database()"
    )
    await connection.close()

    assert 1 <= count <= CONNECTIONS


@pytest.mark.parametrize(
    "broken",
    [
        lambda url: url.rsplit("/", 1)[0] + "/no_such_database",
        lambda url: url.replace("postgres@", "nobody_here:s3cret@"),
        lambda url: "postgresql://user:s3cret@127.0.0.1:1/windlass",
        lambda url: "postgresql://user:s3cret@127.0.0.1:port/windlass",
    ],
)
async def test_a_database_that_cannot_be_reached_is_refused_in_one_line(postgres_url: str, broken: object) -> None:
    assert callable(broken)
    store = PostgresStore(broken(postgres_url))

    with pytest.raises(StoreRefused) as refusal:
        await store.open()

    assert "s3cret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)
    with pytest.raises(NotAllowed):
        await create(store, new_run())


async def test_a_server_that_is_too_old_is_refused(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    version = ServerVersion(13, 4, 0, "final", 0)
    monkeypatch.setattr(asyncpg.Connection, "get_server_version", lambda self: version)

    with pytest.raises(StoreRefused, match="PostgreSQL 13; Windlass needs 14"):
        await PostgresStore(postgres_url).open()


async def test_a_forked_process_must_open_its_own(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(NotAllowed, match="forked"):
            await create(store, new_run())


async def test_batches_of_each_kind_have_a_lane(store: PostgresStore) -> None:
    lanes = {kind: (lane.senders, lane.cap) for lane in store.lanes for kind in lane.kinds}

    assert lanes == {
        "start_runs": (2, 500),
        "begin_steps": (1, 500),
        "complete_steps": (2, 500),
        "finish_runs": (1, 500),
        "handler_operations": (1, 100),
        "publish_events": (1, 500),
    }


@pytest.mark.parametrize("turns", [0, 3, 10, 30, 100])
async def test_a_killed_store_leaves_no_connection_behind_that_was_being_opened(postgres_url: str, turns: int) -> None:
    store = PostgresStore(postgres_url)
    await store.open()
    asking = [asyncio.create_task(store.read("now", lambda tx: tx.now())) for _ in range(CONNECTIONS)]
    for _ in range(turns):
        await asyncio.sleep(0)

    store.kill()
    others = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    connection = await asyncpg.connect(postgres_url)
    async with asyncio.timeout(10):
        while await connection.fetchval(others):
            await connection.execute("select pg_sleep(0.01)")

    await connection.close()
    for task in asking:
        task.cancel()
    await asyncio.wait(asking)
    assert all(task.cancelled() or task.exception() is None for task in asking)
