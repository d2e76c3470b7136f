"""Does the lock of a worker on SQLite last exactly as long as its process?"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from windlass.model.run import WorkerId
from windlass.model.worker import LockKind
from windlass.store.sqlite.locks import FileLocks

A, B = WorkerId("wrk_a"), WorkerId("wrk_b")

HOLDER = """
import asyncio, os, signal, sys
from windlass.store.sqlite.locks import FileLocks

async def hold() -> None:
    locks = FileLocks(sys.argv[1])
    await locks.take("wrk_a")
    {after}
    print("held", flush=True)
    sys.stdin.read()

asyncio.run(hold())
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "windlass.db"
    path.touch()
    return path


def files(database: Path) -> list[str]:
    return sorted(path.name for path in database.parent.iterdir())


def holder(database: Path, *, after: str = "") -> subprocess.Popen[str]:
    """A process that holds the lock of worker a until it is killed."""
    script = HOLDER.replace("{after}", after)
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def forking_holder(database: Path, *, told: int) -> subprocess.Popen[str]:
    """The same with a child of its own, whose number it writes to `told`."""
    fork = f"os.fork() or (os.write({told}, str(os.getpid()).encode()), signal.pause())"
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", HOLDER.replace("{after}", fork), str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=[told],
        text=True,
    )


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


async def test_a_lock_that_is_held_cannot_be_seized(database: Path) -> None:
    one, other = FileLocks(str(database)), FileLocks(str(database))

    assert await one.take(A) is LockKind.FILE
    assert await one.take(A) is LockKind.FILE

    assert not await other.seize(A)
    assert not await one.seize(A)
    assert files(database) == ["windlass.db", "windlass.db-wrk_a.lock"]
    await one.close()


async def test_leaving_in_order_leaves_no_file(database: Path) -> None:
    one, other = FileLocks(str(database)), FileLocks(str(database))
    await one.take(A)
    await one.take(B)

    await one.release(A, for_good=True)
    assert files(database) == ["windlass.db", "windlass.db-wrk_b.lock"]
    await one.release(B, for_good=True)

    assert files(database) == ["windlass.db"]
    assert not await other.seize(A)  # what is missing proves nothing


async def test_closing_without_a_goodbye_leaves_a_file_that_others_find_free(database: Path) -> None:
    one, other = FileLocks(str(database)), FileLocks(str(database))
    await one.take(A)

    await one.close()

    assert files(database) == ["windlass.db", "windlass.db-wrk_a.lock"]
    assert await other.seize(A)
    await other.close()


async def test_what_nobody_knows_and_nobody_holds_is_swept_away(database: Path) -> None:
    dead, alive, prober = (FileLocks(str(database)) for _ in range(3))
    for worker in (A, B):
        await dead.take(worker)
    dead.kill()
    await alive.take(WorkerId("wrk_c"))
    (database.parent / "windlass.db-other.lock").touch()

    await prober.sweep({B})

    assert files(database) == [
        "windlass.db",
        "windlass.db-other.lock",
        "windlass.db-wrk_b.lock",
        "windlass.db-wrk_c.lock",
    ]
    await alive.close()


async def test_whoever_may_open_the_database_may_see_that_a_worker_is_dead(database: Path) -> None:
    os.chmod(database, 0o664)
    locks = FileLocks(str(database))
    await locks.take(A)

    assert (database.parent / "windlass.db-wrk_a.lock").stat().st_mode & 0o777 == 0o664
    await locks.close()


def test_a_child_that_leaves_in_order_does_not_take_its_parents_lock_along(database: Path) -> None:
    locks, prober = FileLocks(str(database)), FileLocks(str(database))
    asyncio.run(locks.take(A))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if child == 0:
        try:
            asyncio.run(locks.release(A, for_good=True))
        finally:
            os._exit(0)
    os.waitpid(child, 0)

    assert files(database) == ["windlass.db", "windlass.db-wrk_a.lock"]
    assert not asyncio.run(prober.seize(A))
    asyncio.run(locks.close())


@pytest.mark.parametrize("sign", ["SIGKILL", "SIGTERM", "SIGSEGV"])
async def test_the_end_of_a_process_frees_its_lock_however_it_ends(database: Path, sign: str) -> None:
    process = holder(database)
    locks = FileLocks(str(database))
    assert not await locks.seize(A)

    process.send_signal(getattr(signal, sign))
    process.communicate()

    assert await locks.seize(A)
    assert files(database) == ["windlass.db", "windlass.db-wrk_a.lock"]
    await locks.release(A, for_good=True)
    assert files(database) == ["windlass.db"]


async def test_a_process_that_is_only_stopped_still_holds_its_lock(database: Path) -> None:
    process = holder(database)
    process.send_signal(signal.SIGSTOP)
    try:
        assert not await FileLocks(str(database)).seize(A)
    finally:
        kill(process)


async def test_a_forked_child_does_not_keep_the_lock_of_its_parent_alive(database: Path) -> None:
    reader, writer = os.pipe()
    process = forking_holder(database, told=writer)
    child = int(os.read(reader, 20))
    try:
        locks = FileLocks(str(database))
        assert not await locks.seize(A)  # the child has closed its copy, the parent has not
        kill(process)

        assert await locks.seize(A)
        await locks.close()
    finally:
        os.kill(child, 9)
        os.close(reader)
        os.close(writer)


async def test_one_of_many_seizes_a_free_lock(database: Path) -> None:
    kill(holder(database))
    probers = [FileLocks(str(database)) for _ in range(3)]

    assert [await prober.seize(A) for prober in probers] == [True, False, False]

    await probers[0].release(A, for_good=False)  # it could not bury the dead: the next one may
    assert [await prober.seize(A) for prober in probers[1:]] == [True, False]
    await probers[1].release(A, for_good=True)
    assert not await probers[2].seize(A)


async def test_a_lock_is_found_under_any_name_of_the_database(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.symlink(database, tmp_path / "link.db")
    one = FileLocks(str(tmp_path / "link.db"))
    await one.take(A)
    monkeypatch.chdir(tmp_path)

    other = FileLocks("windlass.db")
    monkeypatch.chdir("/")

    assert not await other.seize(A)
    one.kill()
    assert await other.seize(A)
    await other.close()


async def test_a_worker_that_cannot_have_a_lock_works_without(tmp_path: Path) -> None:
    locks = FileLocks(str(tmp_path / "missing" / "windlass.db"))

    assert await locks.take(A) is None
    await locks.release(A, for_good=True)


async def test_an_id_that_is_a_path_names_no_file(database: Path) -> None:
    (database.parent / "windlass.db-").mkdir()
    (database.parent / "victim.lock").touch()

    assert not await FileLocks(str(database)).seize(WorkerId("/../victim"))
    assert (database.parent / "victim.lock").exists()


async def test_a_lock_whose_file_was_removed_is_made_anew(database: Path) -> None:
    locks, prober = FileLocks(str(database)), FileLocks(str(database))
    await locks.take(A)
    os.unlink(database.parent / "windlass.db-wrk_a.lock")

    assert await locks.take(A) is LockKind.FILE

    assert files(database) == ["windlass.db", "windlass.db-wrk_a.lock"]
    assert not await prober.seize(A)
    await locks.close()
