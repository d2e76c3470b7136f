"""Does a process that waits hear of every commit of another to the same SQLite file, and is it left in peace else?"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from tests.conformance.given import create, new_run
from tests.integration.conftest import eventually
from windlass.model.time import MILLISECOND, SECOND
from windlass.notify.local import Hub, Subscription, queue_topic
from windlass.notify.sqlite import LOOK_ANYWAY, LOOK_EVERY, FileWatch
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

TOPIC = queue_topic("default", "default")

# Another process: it does what each line says, and says so.
OTHER = """
import asyncio, sys
from windlass.notify.sqlite import FileWatch
from windlass.runtime import SystemClock
from windlass.store.sqlite.store import SqliteStore
from tests.conformance.given import create, new_run

async def main(path):
    store = SqliteStore(path, clock=SystemClock())
    await store.open()
    watch = FileWatch(store.data_version, clock=SystemClock(), path=path)
    await watch.open(lambda topic: None)
    print("open", flush=True)
    for number, line in enumerate(sys.stdin, start=1):
        if "checkpoint" in line:
            store._database.execute("pragma wal_checkpoint(truncate)")
        if "commit" in line:
            await create(store, new_run(number))
        if "tell" in line:
            watch.send(("queue", "default", "default"))
        print("done", flush=True)

asyncio.run(main(sys.argv[1]))
"""


class Other:
    def __init__(self, process: Process) -> None:
        self._process = process

    async def does(self, what: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n".encode())
        assert await self.says() == "done"

    async def says(self) -> str:
        assert self._process.stdout is not None
        return (await self._process.stdout.readline()).decode().strip()

    def kill(self) -> None:
        self._process.kill()


class Reads:
    """Counts how often the store is asked for its version."""

    def __init__(self, store: SqliteStore) -> None:
        self._store, self.count = store, 0

    async def __call__(self) -> int:
        self.count += 1
        return await self._store.data_version()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "windlass.db")


@pytest.fixture
async def store(path: str, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(path, clock=clock)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def reads(store: SqliteStore) -> Reads:
    return Reads(store)


@pytest.fixture
async def hub(reads: Reads, path: str, clock: FakeClock) -> AsyncIterator[Hub]:
    opened = Hub(FileWatch(reads, clock=clock, path=path))
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def other(hub: Hub, path: str) -> AsyncIterator[Other]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", OTHER, path, stdin=PIPE, stdout=PIPE)
    other = Other(process)
    assert await other.says() == "open"
    yield other
    if process.returncode is None:
        process.kill()
    await process.wait()


async def until_it_waits(clock: FakeClock, *, for_touches: bool = True) -> None:
    """Let the short pauses behind a touch pass, until nothing but a touch, or the second without one, ends the wait."""

    def is_waiting() -> bool:
        pause = clock.next_timer()
        if pause is not None and pause <= LOOK_EVERY and for_touches:
            clock.advance(pause)
        return pause is not None and (pause > LOOK_EVERY) is for_touches

    await eventually(is_waiting, what="the watch waits")


async def until_heard(subscription: Subscription) -> None:
    await eventually(lambda: subscription._is_set, what="a hint")
    subscription.clear()


async def test_every_commit_that_another_process_tells_of_is_heard(hub: Hub, other: Other, clock: FakeClock) -> None:
    with hub.subscribe(TOPIC) as subscription:
        await until_it_waits(clock)
        subscription.clear()
        for _ in range(20):
            await other.does("commit and tell")
            await until_heard(subscription)
            await until_it_waits(clock)


async def test_what_is_told_while_a_look_is_followed_by_its_pause_is_heard_behind_it(
    hub: Hub, other: Other, clock: FakeClock
) -> None:
    with hub.subscribe(TOPIC) as subscription:
        await until_it_waits(clock)
        subscription.clear()
        await other.does("commit and tell")
        await until_heard(subscription)
        await until_it_waits(clock, for_touches=False)  # time stands still in the pause

        await other.does("commit and tell")
        assert not subscription._is_set
        clock.advance(LOOK_EVERY)

        await until_heard(subscription)


async def test_a_commit_is_heard_of_on_both_sides_of_a_checkpoint(
    hub: Hub, store: SqliteStore, other: Other, clock: FakeClock
) -> None:
    with hub.subscribe(TOPIC) as subscription:
        for number in range(3):
            await create(store, new_run(100 + number))  # so that there is something to write back
            await until_it_waits(clock)
            subscription.clear()
            await other.does("commit and tell")
            await until_heard(subscription)
            await until_it_waits(clock)
            await other.does("checkpoint, commit and tell")
            await until_heard(subscription)


async def test_what_a_process_that_died_could_not_tell_is_noticed_within_a_second(
    hub: Hub, other: Other, clock: FakeClock
) -> None:
    with hub.subscribe(TOPIC) as subscription:
        await until_it_waits(clock)
        subscription.clear()
        await other.does("commit")
        other.kill()
        assert not subscription._is_set

        assert LOOK_ANYWAY == SECOND
        clock.advance(LOOK_ANYWAY)

        await until_heard(subscription)


async def test_a_commit_from_before_the_wait_began_wakes_whoever_waits(
    hub: Hub, other: Other, clock: FakeClock
) -> None:
    with hub.subscribe(TOPIC):
        await until_it_waits(clock)
    clock.advance(LOOK_ANYWAY)  # the watch notices that nobody waits
    await eventually(lambda: clock.next_timer() is None, what="the end of the watch")
    await other.does("commit")

    with hub.subscribe(TOPIC) as subscription:
        await until_heard(subscription)


async def test_while_nobody_waits_nothing_is_read(hub: Hub, reads: Reads, other: Other, clock: FakeClock) -> None:
    opened = reads.count
    await other.does("commit and tell")
    await other.does("commit and tell")
    assert reads.count == opened

    with hub.subscribe(TOPIC):
        await until_it_waits(clock)
    read = reads.count
    await other.does("commit and tell")  # the watch hears of it, and sees that it is not wanted any more
    await eventually(lambda: clock.next_timer() is None, what="the end of the watch")
    await other.does("commit and tell")

    assert reads.count == read


async def test_own_commits_wake_nobody(hub: Hub, store: SqliteStore, reads: Reads, clock: FakeClock) -> None:
    with hub.subscribe(TOPIC) as subscription:
        await until_it_waits(clock)
        subscription.clear()
        read = reads.count
        await create(store, new_run(1))
        hub.publish_elsewhere(TOPIC)
        await eventually(lambda: reads.count > read, what="a look")
        await until_it_waits(clock)

        assert not subscription._is_set


async def test_an_idle_process_reads_once_a_second(hub: Hub, reads: Reads, clock: FakeClock) -> None:
    with hub.subscribe(TOPIC):
        await until_it_waits(clock)
        read = reads.count
        for _ in range(60):
            clock.advance(LOOK_ANYWAY - 1)
            assert clock.next_timer() == 1
            clock.advance(1)
            await until_it_waits(clock)

        assert reads.count == read + 60


@pytest.mark.parametrize(("took", "rest"), [(0, 1), (50, 1), (500, 5), (2_000, 20), (9_000, 25)])
async def test_the_longer_a_look_takes_the_longer_it_is_until_the_next(
    store: SqliteStore, path: str, clock: FakeClock, took: int, rest: int
) -> None:
    async def data_version() -> int:
        clock.advance(took)  # as if others were before us
        return await store.data_version()

    hub = Hub(FileWatch(data_version, clock=clock, path=path))
    await hub.open()
    with hub.subscribe(TOPIC):
        await until_it_waits(clock)
        for _ in range(3):
            hub.publish_elsewhere(TOPIC)
            await until_it_waits(clock, for_touches=False)
            assert clock.next_timer() == rest * MILLISECOND
            await until_it_waits(clock)
    await hub.close()


@pytest.mark.parametrize("touched", [None, "no such file"])
async def test_where_touches_cannot_be_heard_of_the_file_is_read_every_25_ms(
    reads: Reads, other: Other, clock: FakeClock, touched: str | None
) -> None:
    hub = Hub(FileWatch(reads, clock=clock, path=touched))
    await hub.open()
    with hub.subscribe(TOPIC) as subscription:
        for _ in range(3):
            await until_it_waits(clock, for_touches=False)
            subscription.clear()
            await other.does("commit")
            assert clock.next_timer() == LOOK_EVERY
            clock.advance(LOOK_EVERY)
            await until_heard(subscription)
    await hub.close()


async def test_to_tell_others_frees_none_of_the_locks_of_sqlite(hub: Hub, store: SqliteStore, path: str) -> None:
    # A process that closes a file gives up all locks it has on it, whoever took them.
    script = f"import apsw; apsw.Connection({path!r}).execute('begin immediate')"

    async def is_locked_out() -> bool:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stderr=PIPE)
        _, said = await process.communicate()
        return b"BusyError" in said

    own = apsw.Connection(path)
    own.execute("begin immediate")
    hub.publish_elsewhere(TOPIC)

    assert await is_locked_out()
    own.execute("rollback")
    assert not await is_locked_out()
    own.close()
