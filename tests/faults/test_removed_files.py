"""A file that is removed, or replaced by another one, while it is open: nothing is written to what nobody can find."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

import windlass
from tests.faults.migrating import open_and_close
from tests.integration.server.process import free_ports
from windlass.cli.main import cli
from windlass.errors import StoreRefused
from windlass.runtime import SystemClock
from windlass.store.base import Tx
from windlass.store.sqlite.store import SqliteStore

PATIENCE = 60.0
REMOVED = "was removed while it was open. What is written now would be lost, so nothing is"
REPLACED = "was replaced by another file while it was open. What is written now would be lost, so nothing is"

SHOP = """
import asyncio, pathlib, windlass

app = windlass.App("shop.db")

@app.workflow
async def order(ctx: windlass.Context, id: str) -> str:
    pathlib.Path(f"claimed-{id}").touch()
    await ctx.sleep("1h")
    return id

@app.workflow
async def pack(ctx: windlass.Context, id: str) -> str:
    return await ctx.step(wait_long, id)

@app.step
async def wait_long(id: str) -> str:
    pathlib.Path(f"begun-{id}").touch()
    try:
        await asyncio.sleep(600)
    finally:
        pathlib.Path(f"stopped-{id}").touch()
    return id

if __name__ == "__main__":
    app.serve()
"""


def remove(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


def remove_folder(path: Path) -> None:
    shutil.move(path.parent, path.parent.with_name("elsewhere"))


def replace(path: Path) -> None:
    """Another database of ours is moved into its place, as when a backup is restored under a worker."""
    other = path.with_name("backup.db")
    open_and_close(str(other))
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    os.replace(other, path)


WAYS: dict[str, tuple[Callable[[Path], None], str]] = {
    "removed": (remove, REMOVED),
    "moved away with its folder": (remove_folder, REMOVED),
    "replaced": (replace, REPLACED),
}
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.replace(" ", "-"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    return folder


def begin(folder: Path, *words: str) -> subprocess.Popen[str]:
    grpc, http = map(str, free_ports(2))
    ports = {"WINDLASS_SERVER_GRPC_PORT": grpc, "WINDLASS_SERVER_HTTP_PORT": http}
    return subprocess.Popen(
        [sys.executable, *words], cwd=folder, env={**os.environ, **ports},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def start(folder: Path, workflow: str, id: str) -> None:
    command = [sys.executable, "-m", "windlass", "start", "shop:app", workflow, id]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=PATIENCE)


def until(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert process.poll() is None and time.monotonic() < deadline, path
        time.sleep(0.05)


PROGRAMS = {
    "windlass worker": ("-m", "windlass", "worker", "shop:app"),
    "windlass dev": ("-m", "windlass", "dev", "shop:app"),
    "app.serve": ("shop.py",),
}


@every_way
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_worker_says_so_and_exits_with_an_error(folder: Path, way: str, program: str) -> None:
    begin_to_move, told = WAYS[way]
    process = begin(folder, *PROGRAMS[program])
    try:
        start(folder, "pack", "1")
        until(folder / "begun-1", process)
        begin_to_move(folder / "shop.db")
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()

    assert process.returncode == 1, said
    assert program == "app.serve" or "Traceback" not in said, said
    assert said.rstrip().splitlines()[-1].endswith(f"{told}: see that the right file is there, and start again."), said
    assert [line for line in said.splitlines() if "stops, and drops what it executes" in line and told in line]
    left = folder if folder.exists() else folder.with_name("elsewhere")
    assert (left / "stopped-1").exists()  # written where the process stands, wherever that is by now


def test_nothing_is_claimed_of_the_file_that_took_its_place(folder: Path) -> None:
    process = begin(folder, *PROGRAMS["windlass worker"])
    try:
        start(folder, "order", "1")
        until(folder / "claimed-1", process)
        other = folder / "other"
        other.mkdir()
        shutil.copy(folder / "shop.py", other)
        start(other, "order", "2")
        remove(folder / "shop.db")
        os.replace(other / "shop.db", folder / "shop.db")
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()

    assert process.returncode == 1
    assert not (folder / "claimed-2").exists()
    database = apsw.Connection(str(folder / "shop.db"))
    assert database.execute("select status, attempts from runs").fetchall() == [("pending", 0)]
    assert database.execute("select count(*) from workers").fetchall() == [(0,)]
    database.close()


def test_a_worker_that_is_told_to_stop_all_the_same_leaves_at_once(folder: Path) -> None:
    process = begin(folder, *PROGRAMS["windlass worker"])
    try:
        start(folder, "pack", "1")
        until(folder / "begun-1", process)
        remove(folder / "shop.db")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()

    assert process.returncode == 1, said


@every_way
async def test_a_worker_in_a_program_stops_and_the_end_of_its_block_raises(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    app, begun, stopped = windlass.App(folder / "shop.db"), asyncio.Event(), asyncio.Event()

    @app.step
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    @app.workflow
    async def pack(ctx: windlass.Context) -> None:
        await ctx.step(wait)

    begin_to_move, told = WAYS[way]
    with pytest.raises(StoreRefused, match=told):
        async with app, app.worker():
            handle = await app.start(pack)
            async with asyncio.timeout(PATIENCE):
                await begun.wait()
                await asyncio.to_thread(begin_to_move, folder / "shop.db")
                with pytest.raises(StoreRefused, match=told):
                    await handle.result()
                await stopped.wait()


@every_way
async def test_nothing_is_written_and_nothing_is_read(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    app = windlass.App(folder / "shop.db")

    @app.workflow
    async def pack(ctx: windlass.Context) -> None: ...

    begin_to_move, told = WAYS[way]
    async with app:
        handle = await app.start(pack)
        await asyncio.to_thread(begin_to_move, folder / "shop.db")

        for ask in (lambda: app.start(pack), handle.cancel, handle.status, app.items.list):
            with pytest.raises(StoreRefused, match=told):
                await ask()


async def test_a_file_that_cannot_be_looked_at_is_not_taken_for_removed(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "shop.db"), clock=SystemClock())
    await store.open()

    async def count(tx: Tx) -> int:
        return len(await tx.connection.all("every_run"))

    (tmp_path / "shop.db").rename(tmp_path / "aside.db")
    (tmp_path / "shop.db").symlink_to(tmp_path / "shop.db")  # a loop: not "no such file"
    found = await store.read("count", count)
    (tmp_path / "shop.db").unlink()
    (tmp_path / "aside.db").rename(tmp_path / "shop.db")
    again = await store.read("count", count)
    await store.close()

    assert (found, again) == (0, 0)


async def test_what_was_moved_and_came_back_is_used_again(tmp_path: Path) -> None:
    app = windlass.App(tmp_path / "shop.db")

    async with app:
        await app.items.create("Move the server")
        (tmp_path / "shop.db").rename(tmp_path / "aside.db")
        with pytest.raises(StoreRefused, match=REMOVED):
            await app.items.list()
        (tmp_path / "aside.db").rename(tmp_path / "shop.db")
        items = await app.items.list()

    assert [item.title for item in items] == ["Move the server"]


def test_doctor_tells_a_file_that_was_removed_from_one_that_never_was(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    open_and_close(str(path))
    database = apsw.Connection(str(path))
    database.execute("update meta set value = value")  # so that there is a journal
    path.unlink()

    removed = CliRunner(env={"COLUMNS": "500"}).invoke(cli, ["doctor", "--url", str(path)])
    never = CliRunner(env={"COLUMNS": "500"}).invoke(cli, ["doctor", "--url", str(tmp_path / "never.db")])
    database.close()

    assert (removed.exit_code, never.exit_code) == (1, 1)
    assert f"{path} was removed: what belongs to it is still beside it (shop.db-wal, shop.db-shm)." in removed.stdout
    assert "Restore it from a backup" in removed.stdout
    assert "never.db does not exist: name another with --url, or create it: windlass" in " ".join(never.stdout.split())


def test_doctor_names_the_locks_of_workers_beside_a_file_that_was_removed(folder: Path) -> None:
    process = begin(folder, *PROGRAMS["windlass worker"])
    try:
        start(folder, "pack", "1")
        until(folder / "begun-1", process)
        remove(folder / "shop.db")
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()

    result = CliRunner(env={"COLUMNS": "500"}).invoke(cli, ["doctor", "--url", str(folder / "shop.db")])

    assert result.exit_code == 1
    assert "shop.db was removed: what belongs to it is still beside it (shop.db-wrk_" in result.stdout
