"""Is a file that may only be read, read: all that was committed, nothing else, and with nothing left beside it?

Two ways to have one as root: a program that obeys modes, and a folder that is mounted a second time, for reading only.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

import windlass
from tests.faults.disk import read_only_view
from tests.faults.modes import obeys_modes
from tests.faults.test_refused_files import execute, execute_and_crash
from tests.faults.test_refused_files import windlass as type_command
from tests.integration import test_reading as client
from tests.invariants.test_inconsistencies import tell
from windlass.errors import NotAllowed, NotFound, ResultTimeout, StoreRefused, Unavailable, WrongState
from windlass.model.item import Item
from windlass.runtime import SystemClock
from windlass.store.base import Tx
from windlass.store.queries.signal_checks import SignalChecks
from windlass.store.sqlite.reader import SqliteReader
from windlass.testing.clock import FakeClock

PATIENCE = 120.0
REFUSED = "is read-only. Make the file and its folder writable, or choose another."


async def order(ctx: windlass.Context, id: str) -> str:
    return await ctx.step(str.upper, id)


async def fill(path: Path) -> None:
    """Something of each kind."""
    await tell(str(path))
    app = windlass.App(path, _clock=FakeClock())
    declared = app.workflow(order)
    async with app:
        await app.items.create("Move the server")
        await app.when(declared, enters="failed")
        await app.schedules.create(declared, "7", name="daily", every=timedelta(hours=1))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "shop.db"
    asyncio.run(fill(path))
    return path


@pytest.fixture
def folder(tmp_path: Path, filled: Path) -> Iterator[Path]:
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(filled, folder / "shop.db")
    yield folder
    folder.chmod(0o755)


@pytest.fixture
def view(folder: Path, tmp_path: Path) -> Iterator[Path]:
    with read_only_view(folder, tmp_path / "view") as view:
        yield view / "shop.db"


@pytest.fixture
async def writing(folder: Path) -> AsyncIterator[windlass.App]:
    async with windlass.App(folder / "shop.db") as app:
        app.workflow(order)
        yield app


def forbid(folder: Path, what: str) -> None:
    if what != "folder":
        (folder / "shop.db").chmod(0o444)
    if what != "file":
        folder.chmod(0o555)


def look(path: Path, *, before: Callable[[], None] | None = None) -> dict[str, list[Any]]:
    """What every command answers that only reads."""
    command = [sys.executable, "-m", "tests.faults.looking", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, preexec_fn=before)
    assert done.returncode == 0, done.stderr
    answers: dict[str, list[Any]] = json.loads(done.stdout)
    return answers


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("what", ["file", "folder", "file-and-folder"])
def test_every_reading_command_answers_as_if_the_file_could_be_written(folder: Path, what: str) -> None:
    expected = look(folder / "shop.db")
    before = contents(folder)
    forbid(folder, what)

    answers = look(folder / "shop.db", before=obeys_modes)

    told, _ = answers.pop("doctor"), expected.pop("doctor")
    assert answers == expected
    assert {answer[0] for name, answer in answers.items()} == {0}, answers
    assert contents(folder) == before
    assert told[0] == 0
    assert "! access       the file or its folder is read-only here: it can be read, but no" in told[1]
    assert "durability   nothing is written here" in told[1]
    assert told[1].endswith("The database is in order; 1 warning does not count against it.\n")


@pytest.mark.parametrize("what", ["file", "folder", "file-and-folder"])
@pytest.mark.parametrize("words", [["pause", "--queue", "mail"], ["server"], ["migrate"]], ids=lambda words: words[0])
def test_what_would_write_is_refused_and_leaves_nothing(folder: Path, what: str, words: list[str]) -> None:
    if words == ["migrate"]:
        execute(folder / "shop.db", "update meta set value = '1' where key = 'schema_version'")
    before = contents(folder)
    forbid(folder, what)

    result = type_command(*words, "--url", str(folder / "shop.db"), before=obeys_modes)

    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1), result
    assert "read-only" in result.stderr and "writable" in result.stderr
    assert contents(folder) == before


def leave(folder: Path) -> None:
    """A file as a process leaves it that dies: what it wrote last stands in the journal, and the index beside it."""
    database = apsw.Connection(str(folder / "shop.db"))
    database.execute("update items set title = 'Written last'")
    for name in ("shop.db", "shop.db-wal", "shop.db-shm"):
        shutil.copy(folder / name, folder / f"left-{name}")
    database.close()
    for name in ("shop.db", "shop.db-wal", "shop.db-shm"):
        os.replace(folder / f"left-{name}", folder / name)


@pytest.mark.parametrize("what", ["file", "file-and-folder"])  # in a folder alone, both journals may be written
def test_what_a_crash_left_in_the_journal_is_read(folder: Path, what: str) -> None:
    leave(folder)
    before = contents(folder)
    forbid(folder, what)

    result = type_command("items", "--url", str(folder / "shop.db"), before=obeys_modes)

    assert (result.returncode, result.stderr) == (0, ""), result
    assert "Written last" in result.stdout
    assert contents(folder) == before


@pytest.mark.parametrize("command", ["items", "doctor"])
@pytest.mark.parametrize("what", ["file", "folder", "file-and-folder"])
def test_a_journal_that_cannot_be_read_is_told_and_not_passed_over(folder: Path, what: str, command: str) -> None:
    execute_and_crash(folder / "shop.db", "insert into meta values ('note', 'x')")
    (folder / "shop.db-shm").unlink(missing_ok=True)
    before = contents(folder)
    forbid(folder, what)

    result = type_command(command, "--url", str(folder / "shop.db"), before=obeys_modes)

    told = " ".join((result.stdout + result.stderr).split())
    assert result.returncode == 1
    assert "what was written last stands in its journal, shop.db-wal." in told
    assert "copy both files to a folder of yours, and look at the copy" in told
    assert contents(folder) == before


async def test_an_app_reads_all_that_another_process_commits(view: Path, writing: windlass.App) -> None:
    reading = windlass.App(view)
    declared = reading.workflow(order)

    async with reading:
        handle = await writing.start(order, "7", key="order-7")
        first = await reading.handle(declared, key="order-7").status()
        await handle.cancel()
        second = await reading.handle(declared, key="order-7").status()

    assert (first, second) == ("pending", "cancelled")


async def test_an_app_reads_a_file_that_is_opened_and_closed_meanwhile(view: Path, folder: Path) -> None:
    reading, seen = windlass.App(view), list[str]()
    declared = reading.workflow(order)

    async with reading:
        before = len(await reading.items.list())
        for number in range(3):
            async with windlass.App(folder / "shop.db") as writing:
                writing.workflow(order)
                await writing.items.create(f"Item {number}")
                handle = await writing.start(order, "7", key=f"order-{number}")
                seen.append(await reading.handle(declared, key=f"order-{number}").status())
            # Closed in order, it has no journal any more.
            seen.append(await reading.handle(handle.id).status())
        after = len(await reading.items.list())

    assert seen == ["pending"] * 6
    assert after == before + 3


async def test_what_changes_while_it_is_read_is_read_again(view: Path, folder: Path) -> None:
    reader, titles = SqliteReader(str(view), clock=SystemClock()), list[list[Item]]()
    reader.open()

    async def read_title(tx: Tx) -> str:
        titles.append(await SignalChecks(tx.connection).items())
        if len(titles) == 1:
            execute(folder / "shop.db", "update items set title = 'changed'")
        return titles[-1][0].title

    title = await reader.read("read_title", read_title)
    reader.close()

    assert ([items[0].title for items in titles], title) == (["Move the server", "changed"], "changed")


async def test_a_file_that_changes_all_the_time_is_told(view: Path, folder: Path) -> None:
    reader, times = SqliteReader(str(view), clock=SystemClock()), list[int]()
    reader.open()

    async def change(tx: Tx) -> None:
        times.append(await tx.now())
        execute(folder / "shop.db", f"update items set title = '{len(times)}'")

    with pytest.raises(Unavailable, match="changes while it is read"):
        await reader.read("change", change)
    reader.close()

    assert len(times) == 10


async def test_an_app_is_refused_what_would_change_something(view: Path) -> None:
    app = windlass.App(view)
    declared = app.workflow(order)

    async with app:
        with pytest.raises(StoreRefused, match=REFUSED):
            await app.start(declared, "7")
        with pytest.raises(StoreRefused, match=REFUSED):
            async with app.worker():
                raise AssertionError("it works")
        items = await app.items.list()

    assert [item.title for item in items] == ["Move the server"]


@pytest.mark.parametrize("name", client.READING)
async def test_every_method_that_reads_works(view: Path, folder: Path, name: str) -> None:
    program = client.Program(str(view))
    method = getattr(client.held(name, program, program.app), name.partition(".")[2])

    async with program.app:
        try:
            await method(*client.READING[name])
        except (NotFound, WrongState, NotAllowed, ResultTimeout) as error:  # of most there is nothing to be read
            assert "read-only" not in str(error)

    assert os.listdir(folder) == ["shop.db"]


async def test_an_older_schema_that_cannot_be_written_is_told_as_both(view: Path, folder: Path) -> None:
    execute(folder / "shop.db", "update meta set value = '1' where key = 'schema_version'")
    app = windlass.App(view)

    with pytest.raises(StoreRefused, match="has schema 1, and this Windlass needs"):
        await app.items.list()
    with pytest.raises(StoreRefused, match=r"has schema 1, .* and the file is read-only"):
        await app.items.create("Move the server")
    await app.aclose()

    assert os.listdir(folder) == ["shop.db"]
