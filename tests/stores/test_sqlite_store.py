"""What is special about SQLite: its thread, its file, its lock."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from tests.conformance.given import NAMESPACE, causes, create, new_run, run_id
from tests.conformance.hooks import Recorder
from windlass.errors import NotAllowed, StoreRefused, Unavailable, WindlassError
from windlass.model.time import MILLISECOND
from windlass.store.base import Tx
from windlass.store.sqlite.errors import translate
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "windlass.db")


@pytest.fixture
async def store(path: str, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(path, clock=clock, hooks=Recorder(), busy_for=MILLISECOND)
    await opened.open()
    yield opened
    await opened.close()


async def test_a_transaction_runs_on_the_writer_thread_with_its_hooks(path: str, clock: FakeClock) -> None:
    hooks, threads = Recorder(), set[str]()
    for point in ("before_begin", "before_commit", "after_commit"):
        hooks.at[point] = lambda: threads.add(threading.current_thread().name)
    store = SqliteStore(path, clock=clock, hooks=hooks)
    await store.open()

    async def look(tx: Tx) -> None:
        threads.add(threading.current_thread().name)

    await store.run_tx("look", look)

    assert threads == {"windlass-sqlite"}
    await store.close()


async def test_a_transaction_that_awaits_something_else_is_a_bug_and_is_undone(store: SqliteStore) -> None:
    async def wander(tx: Tx) -> None:
        await tx.runs.create([new_run()])
        await asyncio.sleep(0)

    with pytest.raises(WindlassError, match="wander awaited something other than its tx"):
        await store.run_tx("wander", wander)

    assert await store.read("load", lambda tx: tx.runs.load(NAMESPACE, run_id(1))) is None


async def test_sqlite_itself_counts_the_commits(store: SqliteStore) -> None:
    assert isinstance(store.hooks, Recorder)

    await create(store, new_run(1))
    await create(store, new_run(1))
    await causes(store)

    named = [point for point, _ in store.hooks.seen if point == "after_commit"]
    assert store.commits == len(named) == 2


async def test_the_data_version_changes_when_others_commit(store: SqliteStore, path: str, clock: FakeClock) -> None:
    before = await store.data_version()
    await create(store, new_run(1))
    assert await store.data_version() == before

    other = SqliteStore(path, clock=clock)
    await other.open()
    await create(other, new_run(2))

    assert await store.data_version() != before
    await other.close()


async def test_a_new_file_is_for_its_owner_only(store: SqliteStore, path: str) -> None:
    await create(store, new_run())

    for suffix in ("", "-wal", "-shm"):
        assert stat.S_IMODE(os.stat(path + suffix).st_mode) == 0o600


async def test_the_file_is_set_up_for_durability(store: SqliteStore) -> None:
    database = store._database

    settings = {
        name: database.execute(f"pragma {name}").fetchall()[0][0]
        for name in ("journal_mode", "synchronous", "foreign_keys", "cache_size")
    }

    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "cache_size": -8192}


async def test_a_busy_database_is_unavailable_and_then_works_again(store: SqliteStore, path: str) -> None:
    other = apsw.Connection(path)
    other.execute("begin immediate")

    with pytest.raises(Unavailable, match="busy"):
        await create(store, new_run())

    other.execute("rollback")
    other.close()
    assert await create(store, new_run()) == [0]


async def test_a_full_disk_is_unavailable_and_nothing_is_half_written(store: SqliteStore) -> None:
    (pages,) = store._database.execute("pragma page_count").fetchall()[0]
    store._database.execute(f"pragma max_page_count = {pages}")

    with pytest.raises(Unavailable, match="disk is full"):
        await create(store, *[new_run(number, input=b"x" * 5_000) for number in range(50)])

    store._database.execute("pragma max_page_count = 100000")
    assert await store.read("load", lambda tx: tx.runs.load(NAMESPACE, run_id(0))) is None
    assert await create(store, new_run(0)) == [0]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (apsw.IOError("disk I/O error"), Unavailable),
        (apsw.FullError("full"), Unavailable),
        (apsw.ReadOnlyError("attempt to write a readonly database"), StoreRefused),
        (apsw.CorruptError("malformed"), StoreRefused),
        (apsw.CantOpenError("unable to open database file"), StoreRefused),
    ],
)
def test_errors_of_the_driver_become_ours_in_one_line(error: apsw.Error, kind: type[WindlassError]) -> None:
    translated = translate(error, where="The database x.db")

    assert type(translated) is kind
    assert "x.db" in str(translated)
    assert "\n" not in str(translated)


async def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path, clock: FakeClock) -> None:
    for path in (tmp_path, tmp_path / "missing" / "a.db"):
        store = SqliteStore(str(path), clock=clock)
        with pytest.raises(StoreRefused, match="cannot be opened"):
            await store.open()


async def test_a_forked_process_must_open_its_own(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(NotAllowed, match="forked"):
            await create(store, new_run())

    assert await create(store, new_run()) == [0]


async def test_killing_leaves_the_journal_behind(path: str, clock: FakeClock) -> None:
    store = SqliteStore(path, clock=clock)
    await store.open()
    await create(store, new_run())

    store.kill()

    assert os.stat(path + "-wal").st_size > 0
    survivor = SqliteStore(path, clock=clock)
    await survivor.open()
    assert await create(survivor, new_run(1), new_run(2)) == [1]
    await survivor.close()


async def test_all_kinds_of_batches_share_one_lane(store: SqliteStore) -> None:
    (lane,) = store.lanes

    of_runs = {"start_runs", "begin_steps", "complete_steps", "finish_runs"}
    assert lane.kinds == of_runs | {"handler_operations", "publish_events"}
    assert (lane.senders, lane.cap) == (1, 100_000)
