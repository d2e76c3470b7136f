"""Is a transaction whole, seen by its hooks, and gone without a trace when it fails — on both databases alike?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance.given import NAMESPACE, create, load, new_run, run_id
from tests.conformance.hooks import Recorder, whole
from windlass.errors import NotAllowed
from windlass.model.run import Run
from windlass.store.base import Tx
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

AnyStore = SqliteStore | PostgresStore


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "a.db") if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


def make_store(url: str, clock: FakeClock, hooks: Recorder) -> AnyStore:
    if url.startswith("postgresql"):
        return PostgresStore(url, clock=clock, hooks=hooks)
    return SqliteStore(url, clock=clock, hooks=hooks)


@pytest.fixture
def hooks() -> Recorder:
    return Recorder()


@pytest.fixture
async def store(url: str, clock: FakeClock, hooks: Recorder) -> AsyncIterator[AnyStore]:
    opened = make_store(url, clock, hooks)
    await opened.open()
    yield opened
    await opened.close()


async def load_or_none(store: AnyStore, number: int = 1) -> Run | None:
    return await store.read("load", lambda tx: tx.runs.load(NAMESPACE, run_id(number)))


async def add_run(tx: Tx) -> None:
    await tx.runs.create([new_run()])


@pytest.mark.parametrize("single", [False, True])
async def test_hooks_surround_every_commit_and_no_read(store: AnyStore, hooks: Recorder, single: bool) -> None:
    await store.run_tx("create", add_run, single=single)
    await load(store)

    assert hooks.seen == whole("create")


async def test_a_transaction_that_fails_leaves_nothing(store: AnyStore, hooks: Recorder) -> None:
    async def fail(tx: Tx) -> None:
        await add_run(tx)
        raise LookupError("on purpose")

    with pytest.raises(LookupError, match="on purpose"):
        await store.run_tx("create", fail)

    assert hooks.seen == [("before_begin", "create")]
    assert await load_or_none(store) is None
    assert await create(store, new_run()) == [0]


async def test_a_hook_that_raises_before_the_commit_undoes_it(store: AnyStore, hooks: Recorder) -> None:
    def crash() -> None:
        raise LookupError("on purpose")

    hooks.at["before_commit"] = crash
    with pytest.raises(LookupError):
        await store.run_tx("create", add_run)
    assert await load_or_none(store) is None

    hooks.at.clear()
    hooks.at["after_commit"] = crash
    with pytest.raises(LookupError):
        await store.run_tx("create", add_run)
    assert await load_or_none(store) is not None


async def test_a_read_must_not_write(store: AnyStore) -> None:
    for single in (False, True):
        with pytest.raises(NotAllowed):
            await store.read("create", add_run, single=single)

    assert await load_or_none(store) is None


async def test_time_is_the_clocks_and_the_same_for_rows_and_rules(store: AnyStore, clock: FakeClock) -> None:
    clock.advance(5)

    async def create_and_ask(tx: Tx) -> int:
        await add_run(tx)
        return await tx.now()

    assert await store.run_tx("create", create_and_ask) == clock.now() == (await load(store)).created_at


async def test_a_store_is_used_between_open_and_close(url: str, clock: FakeClock) -> None:
    store = make_store(url, clock, Recorder())
    with pytest.raises(NotAllowed):
        await create(store, new_run())
    await store.open()
    with pytest.raises(NotAllowed):
        await store.open()

    await store.close()
    await store.close()

    with pytest.raises(NotAllowed, match="closed"):
        await create(store, new_run())
    with pytest.raises(NotAllowed, match="closed"):
        await load_or_none(store)


async def test_what_was_committed_is_there_after_closing_and_opening(url: str, clock: FakeClock) -> None:
    for number in (1, 2):
        store = make_store(url, clock, Recorder())
        await store.open()
        assert await create(store, new_run(1), new_run(2)) == ([0, 1] if number == 1 else [])
        await store.close()


@pytest.mark.parametrize(("point", "is_there"), [("before_commit", False), ("after_commit", True)])
async def test_a_killed_store_leaves_what_a_dead_process_leaves(
    url: str, clock: FakeClock, point: str, is_there: bool
) -> None:
    hooks = Recorder()
    store = make_store(url, clock, hooks)
    await store.open()
    hooks.at[point] = store.kill

    dying = asyncio.create_task(store.run_tx("create", add_run))
    late = asyncio.create_task(load_or_none(store))
    _, pending = await asyncio.wait({dying, late}, timeout=0.3)
    assert dying in pending
    later = asyncio.create_task(create(store, new_run(2)))
    assert await asyncio.wait({later}, timeout=0.05) == (set(), {later})

    survivor = make_store(url, clock, Recorder())
    await survivor.open()
    assert (await load_or_none(survivor) is not None) is is_there
    assert await load_or_none(survivor, 2) is None
    await survivor.close()
    await store.close()
    for task in (dying, late, later):
        task.cancel()


async def test_killing_from_outside_ends_every_call(url: str, clock: FakeClock) -> None:
    store = make_store(url, clock, Recorder())
    await store.open()
    await create(store, new_run())

    store.kill()
    store.kill()

    late = asyncio.create_task(load_or_none(store))
    assert await asyncio.wait({late}, timeout=0.05) == (set(), {late})
    late.cancel()


async def test_a_cancelled_caller_leaves_a_store_that_works(store: AnyStore) -> None:
    for turns in range(20):
        call = asyncio.create_task(create(store, new_run(turns)))
        for _ in range(turns):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait({call})

    assert await create(store, new_run(99)) == [0]


async def test_what_a_cancelled_caller_began_is_finished(store: AnyStore, hooks: Recorder) -> None:
    call = asyncio.create_task(create(store, new_run(1)))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait({call})

    await create(store, new_run(2))
    await store.close()

    assert call.cancelled()
    assert hooks.seen.count(("after_commit", "create")) == 2


async def test_many_transactions_at_once_all_get_their_turn(store: AnyStore) -> None:
    done = await asyncio.gather(*[create(store, new_run(number)) for number in range(40)])

    assert done == [[0]] * 40
