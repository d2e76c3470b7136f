"""Is a file that is no database of ours refused in one clear line, and left exactly as it was?"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from tests.faults.disk import Disk
from tests.faults.modes import obeys_modes
from windlass.cli.main import cli
from windlass.errors import StoreRefused
from windlass.runtime import SystemClock
from windlass.store.sqlite.store import SqliteStore

PATIENCE = 60.0
PAGE = 4096
COMMANDS = (["runs"], ["migrate"], ["migrate", "--check"])
LOOKING = (["doctor"], ["migrate", "--check"])


async def make(path: Path, *, is_crashed: bool = False) -> None:
    """A database of ours, closed in order or left behind by a process that died."""
    store = SqliteStore(str(path), clock=SystemClock())
    await store.open()
    if is_crashed:
        store.kill()
    else:
        await store.close()


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def execute(path: Path, text: str) -> None:
    database = apsw.Connection(str(path))
    database.execute(text)
    database.close()


def execute_and_crash(path: Path, text: str) -> None:
    """What it wrote stands in the journal only."""
    database = apsw.Connection(str(path))
    database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    database.execute(text)
    database.close()


def make_newer_and_crash(path: Path) -> None:
    """What says that it is newer stands in the journal only."""
    execute_and_crash(path, "update meta set value = '999' where key = 'schema_version'")


def be_foreign(path: Path) -> None:
    path.unlink()
    execute(path, "create table customers (id integer primary key, name text); insert into customers values (1, 'x')")


def be_foreign_in_use(path: Path) -> None:
    """Another application's file, with a journal that its owner has not yet brought in."""
    path.unlink()
    database = apsw.Connection(str(path))
    database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    database.execute("pragma journal_mode = wal").fetchall()
    database.execute("create table customers (id integer primary key, name text)")
    database.close()


def be_foreign_after_a_crash(path: Path, *, number: int = 0) -> None:
    """Another application's file, half of a transaction in it, and the journal that undoes it."""
    path.unlink()
    execute(path, f"pragma application_id = {number}; create table customers (name text)")
    database = apsw.Connection(str(path))
    database.execute("pragma cache_size = 1")  # so that changed pages are written before the commit
    database.execute("begin")
    database.executemany("insert into customers values (?1)", [("x" * 1_000,)] * 100)
    journal = journal_of(path)
    left = {file: file.read_bytes() for file in (path, journal)}
    database.execute("rollback")
    database.close()
    for file, content in left.items():
        file.write_bytes(content)


def be_foreign_and_emptied(path: Path) -> None:
    be_foreign_after_a_crash(path)
    os.truncate(path, 0)


def be_foreign_and_half_made(path: Path) -> None:
    """Its first transaction was not finished: there is nothing yet to be told by."""
    be_foreign_after_a_crash(path)
    overwrite(journal_of(path), 16, bytes(4))


def be_text_beside_a_journal(path: Path) -> None:
    be_foreign_after_a_crash(path)
    be_text(path)


def journal_of(path: Path) -> Path:
    return path.with_name(path.name + "-journal")


def be_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "kept").write_text("kept")


def be_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def be_a_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/null")


def be_cut(size: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, size)


def be_text(path: Path) -> None:
    path.write_text("# Notes\n" * 1000)


SPOILT: dict[str, tuple[Callable[[Path], None], str]] = {
    "text": (be_text, "is not a database"),
    "a header without its first word": (lambda path: overwrite(path, 0, b"\xff"), "is not a database"),
    "a header with another page size": (lambda path: overwrite(path, 16, b"\x03\x03"), "is not a database"),
    "a header of an unknown format": (lambda path: overwrite(path, 19, b"\x09"), "is not a database"),
    "a header of another application": (lambda path: overwrite(path, 68, b"ABCD"), "belongs to another application"),
    "a first page that is none": (lambda path: overwrite(path, 100, b"\xff" * 8), "is damaged"),
    "a first page of zeros": (lambda path: overwrite(path, 100, bytes(PAGE - 100)), "another application|is damaged"),
    "cut within the header": (be_cut(50), "is damaged"),
    "cut within the first page": (be_cut(1_000), "is not a database|is damaged"),
    "cut after the first page": (be_cut(PAGE), "is damaged"),
    "cut within a later page": (be_cut(5 * PAGE + 7), "is damaged"),
    "a newer schema": (lambda path: execute(path, "update meta set value = '999' where key = 'schema_version'"), "999"),
    "a newer schema in the journal": (make_newer_and_crash, "has schema 999.*upgrade Windlass"),
    "another application's tables": (be_foreign, "belongs to another application"),
    "another application's file in use": (be_foreign_in_use, "belongs to another application"),
    "another application's file after a crash": (be_foreign_after_a_crash, "belongs to another application"),
    "a numbered application's file after a crash": (
        lambda path: be_foreign_after_a_crash(path, number=7),
        "belongs to another application",
    ),
    "another application's file, emptied": (be_foreign_and_emptied, "belongs to another application"),
    "another application's file, half made": (be_foreign_and_half_made, "belongs to another application"),
    "text beside a journal": (be_text_beside_a_journal, "is not a database"),
    "a folder": (be_a_folder, "it is a folder"),
    "a pipe": (be_a_pipe, "it is a device or a pipe"),
    "a device": (be_a_device, "it is a device or a pipe"),
}
every_spoilt_file = pytest.mark.parametrize("name", SPOILT, ids=lambda name: name.replace(" ", "-"))


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and its bytes, but for the index of a journal, which is made by whoever looks into one."""
    files = [path for path in folder.rglob("*") if not path.name.endswith("-shm")]
    return {path.name: path.read_bytes() if path.is_file() else None for path in files}


def windlass(*arguments: str, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "windlass", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, preexec_fn=before
    )  # fmt: skip


@pytest.mark.spec("invariants:I-62")
@every_spoilt_file
async def test_what_is_no_database_of_ours_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / "windlass.db"
    await make(path)
    spoil, reason = SPOILT[name]
    spoil(path)
    before = contents(tmp_path)

    store = SqliteStore(str(path), clock=SystemClock())
    with pytest.raises(StoreRefused, match=reason) as refusal:
        await store.open()

    assert str(path) in str(refusal.value) and "\n" not in str(refusal.value)
    assert contents(tmp_path) == before


@pytest.mark.spec("invariants:I-62")
def test_every_command_refuses_them_too(tmp_path: Path, figures: list[str]) -> None:
    tried = refused = 0
    for place, (name, (spoil, _)) in enumerate(SPOILT.items()):
        folder = tmp_path / str(place)
        folder.mkdir()
        path = folder / "windlass.db"
        asyncio.run(make(path))
        spoil(path)
        before = contents(folder)
        for command in COMMANDS:
            result = CliRunner().invoke(cli, [*command, "--url", str(path)])

            assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1), (name, result.output)
            assert "bug in Windlass" not in result.stderr
            assert contents(folder) == before, (name, command)
            refused += 1
        result = CliRunner().invoke(cli, ["doctor", "--url", str(path)])

        assert (result.exit_code, result.stderr) == (1, ""), (name, result.output)
        assert contents(folder) == before, (name, "doctor")
        refused, tried = refused + 1, tried + len(COMMANDS) + 1
    figures.append(
        f"{'sqlite':10}  {len(SPOILT)} spoilt, newer and foreign files: {refused} of {tried} commands refused"
    )


@pytest.mark.parametrize("number", [0, 7])
def test_the_crashed_files_above_are_changed_by_whoever_opens_them(tmp_path: Path, number: int) -> None:
    path = tmp_path / "windlass.db"
    path.touch()
    be_foreign_after_a_crash(path, number=number)
    before = contents(tmp_path)

    execute(path, "select count(*) from customers")

    assert contents(tmp_path) != before


@pytest.mark.spec("invariants:I-62")
@pytest.mark.parametrize("name", ["a newer schema", "a pipe"], ids=lambda name: name.replace(" ", "-"))
async def test_a_process_that_refuses_exits_with_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / "windlass.db"
    await make(path)
    SPOILT[name][0](path)

    result = windlass("runs", "--url", str(path))

    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1), result


@pytest.mark.spec("invariants:I-62")
async def test_an_empty_file_is_new_and_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    path.touch()

    await make(path)

    assert path.stat().st_size > 0


def leave_empty(path: Path) -> None:
    """What the first write of a new database leaves, which makes it WAL: a journal that says "it was empty"."""
    path.touch()
    header = bytes.fromhex("d9d505f920a163d7 00000000 12345678 00000000 00000200 00001000")
    journal_of(path).write_bytes(header.ljust(512, b"\0"))


def leave_one_page(path: Path) -> None:
    database = apsw.Connection(str(path))
    database.execute("pragma journal_mode = wal").fetchall()
    content = path.read_bytes()
    database.close()
    leave_empty(path)
    path.write_bytes(content)


def leave_all_in_the_journal(path: Path) -> None:
    asyncio.run(make(path, is_crashed=True))
    assert path.stat().st_size == PAGE and path.read_bytes()[68:72] == bytes(4)


@pytest.mark.spec("invariants:I-63")
@pytest.mark.parametrize("leave", [leave_empty, leave_one_page, leave_all_in_the_journal])
def test_a_file_of_ours_whose_creator_died_is_only_looked_at_and_then_opened(
    tmp_path: Path, leave: Callable[[Path], None]
) -> None:
    path = tmp_path / "windlass.db"
    leave(path)
    before = contents(tmp_path)

    for command in LOOKING:
        result = CliRunner().invoke(cli, [*command, "--url", str(path)])
        assert "another application" not in result.output and "bug in" not in result.output, result.output
        assert contents(tmp_path) == before, command

    asyncio.run(make(path))
    assert CliRunner().invoke(cli, ["doctor", "--url", str(path)]).exit_code == 0
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.spec("invariants:I-62")
@pytest.mark.parametrize("name", ["windlass.db", "link.db"])
async def test_only_looking_at_what_a_crash_left_changes_nothing(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    await make(folder / "windlass.db")
    execute_and_crash(folder / "windlass.db", "insert into meta values ('note', 'x')")
    (tmp_path / "link.db").symlink_to(folder / "windlass.db")
    path = tmp_path / "link.db" if name == "link.db" else folder / "windlass.db"
    before = contents(folder)

    for command in LOOKING:
        result = await asyncio.to_thread(CliRunner().invoke, cli, [*command, "--url", str(path)])
        assert result.exit_code == 0, result.output
        assert contents(folder) == before, command

    assert len(before) == 2 and all(before.values())


@pytest.mark.spec("invariants:I-62")
async def test_only_looking_leaves_no_journals_behind(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    await make(path)

    for command in LOOKING:
        result = await asyncio.to_thread(CliRunner().invoke, cli, [*command, "--url", str(path)])
        assert result.exit_code == 0, result.output

    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.spec("invariants:I-61", "invariants:I-62")
@pytest.mark.parametrize("what", ["file", "folder"])
async def test_a_mode_that_forbids_writing_is_told_to_a_command_that_would_write(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "windlass.db"
    await make(path)
    before = contents(folder)
    (path if what == "file" else folder).chmod(0o444 if what == "file" else 0o555)

    result = windlass("pause", "--queue", "mail", "--url", str(path), before=obeys_modes)
    folder.chmod(0o755)

    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1), result
    assert "is read-only" in result.stderr
    assert contents(folder) == before


@pytest.mark.spec("invariants:I-61", "invariants:I-62")
@pytest.mark.parametrize("is_crashed", [False, True], ids=["closed-in-order", "left-by-a-crash"])
async def test_a_read_only_disk_is_told_and_used_again_when_it_is_not(disk: Disk, is_crashed: bool) -> None:
    await make(disk.database, is_crashed=is_crashed)
    before = contents(disk.folder)
    disk.remount("ro")

    result = windlass("pause", "--queue", "mail", "--url", str(disk.database))
    read = windlass("queues", "--url", str(disk.database))

    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1), result
    assert "is read-only" in result.stderr
    assert (read.returncode, read.stderr) == (0, "")
    assert read.stdout.startswith("No queues yet")
    assert contents(disk.folder) == before
    disk.remount("rw")
    again = await asyncio.to_thread(CliRunner().invoke, cli, ["pause", "--queue", "mail", "--url", str(disk.database)])
    assert again.exit_code == 0, again.output
