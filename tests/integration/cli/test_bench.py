"""Does the bench tell what it says, only of durable commits, and leave nothing behind?"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result

from windlass.assembly import open_engine
from windlass.bench import once, scratch
from windlass.bench.cases import CASES
from windlass.bench.durable import BenchFailed
from windlass.cli.main import cli
from windlass.model.page import ListRuns
from windlass.runtime import SystemClock, system_rng
from windlass.settings import Settings, parse_url
from windlass.testing.postgres import PostgresServer

PATIENCE = 60
FIGURES = {
    "raw": {"commits_per_second", "commit_ms", "rows_per_second"},
    "steps": {"steps_per_second", "cpu_us"},
    "drain": {"runs_per_second", "cpu_us"},
    "starts_each": {"starts_per_second", "cpu_us"},
    "starts_batch": {"starts_per_second", "cpu_us"},
    "ten_steps": {"ten_steps_ms", "twelve_commits_ms", "ratio"},
    "first_line": {"local_ms", "claimed_ms"},
    "first_line_across": {"across_ms"},
    "replay": {"replay_ms", "woken_ms"},
}


@pytest.fixture(scope="module")
def durable_server() -> Iterator[PostgresServer]:
    with PostgresServer(durable=True) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, folder: Path) -> str:
    """Where to measure: a folder, or a server."""
    return "." if request.param == "sqlite" else request.getfixturevalue("durable_server").url


@pytest.fixture
def url(place: str) -> Iterator[str]:
    """An empty database."""
    with scratch.database(parse_url(place)) as url:
        yield url


def bench(*args: str) -> Result:
    return CliRunner(env={"COLUMNS": "100"}).invoke(cli, ["bench", *args])


def refused(*args: str, exit_code: int = 1) -> str:
    """The one line that says why nothing is reported."""
    result = bench(*args)
    assert (result.exit_code, result.stdout) == (exit_code, ""), result.output
    assert result.stderr.startswith("windlass: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("windlass: ").rstrip("\n")


def ask(url: str, *statements: str) -> list[str]:
    """Execute them all; the first column of what the last one answers."""

    async def execute() -> list[str]:
        connection = await asyncpg.connect(url, ssl=False)
        try:
            for statement in statements:
                rows = await connection.fetch(statement)
            return [row[0] for row in rows]
        finally:
            await connection.close()

    return asyncio.run(execute())


def left_behind(server: PostgresServer) -> list[str]:
    return ask(server.url, "select datname from pg_database where datname like 'windlass\\_bench\\_%'")


# One case


def test_every_case_is_tried_here() -> None:
    assert FIGURES.keys() == CASES.keys()


@pytest.mark.parametrize("case", FIGURES)
def test_a_case_tells_its_figures_and_how_durable_they_are(case: str, url: str) -> None:
    record = asyncio.run(once.run(case, url, size=3))

    assert record.figures.keys() == FIGURES[case]
    assert all(value > 0 for value in record.figures.values())
    assert {figure.key for figure in CASES[case].figures} <= record.figures.keys()
    expected = (
        {"synchronous": "2", "journal_mode": "wal"}
        if record.store == "sqlite"
        else {"fsync": "on", "synchronous_commit": "on"}
    )
    assert expected.items() <= record.durability.items()


def test_one_half_of_the_first_lines_goes_through_a_claim(url: str) -> None:
    async def births() -> list[str]:
        await once.run("first_line", url, size=10)
        opened = await open_engine(url, Settings(), clock=SystemClock(), rng=system_rng())
        try:
            page = await opened.runs.list_runs(ListRuns(namespace="default", limit=20))  # the newest first
            logs = [await opened.runs.read_log("default", run.id) for run in page.runs]
        finally:
            await opened.close()
        return [entries[0].to_status for entries in reversed(logs)]

    found = asyncio.run(births())

    assert len(found) == 20
    # A worker that is not back at its claim when a run is started gets none handed over: some, not all.
    assert "running" in found[:10]
    assert found[10:] == ["pending"] * 10


def test_a_drain_is_over_with_its_own_runs_whatever_waited_before(url: str) -> None:
    asyncio.run(once.run("starts_batch", url, size=5))

    record = asyncio.run(once.run("drain", url, size=3))

    assert (record.size, record.figures.keys()) == (3, FIGURES["drain"])


def test_a_process_of_its_own_prints_one_line(url: str) -> None:
    record = once.measure("raw", url, size=3)

    assert (record.case, record.size) == ("raw", 3)
    assert record.figures.keys() == FIGURES["raw"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["nothing", "--db", "x.db"], "invalid choice: 'nothing'"),
        (["raw"], "--db"),
        (["raw", "--db", "x.db", "--size", "0"], "0 is not positive"),
        (["raw", "--db", "x.db", "--size", "many"], "invalid"),
    ],
)
def test_a_process_with_wrong_arguments_exits_with_2(args: list[str], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", once.MODULE, *args], capture_output=True, text=True, timeout=PATIENCE, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


# The whole


def test_the_table_has_median_spread_and_the_bare_store(place: str, folder: Path) -> None:
    result = bench("--db", place, "--only", "starts_batch", "--rounds", "1")

    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "1 round," in lines[1]
    assert lines[3].split() == ["figure", "median", "spread", "bare", "store"]
    assert len(lines) == 5, "the bare store is measured, and shown beside only"
    assert "starts, one call" in lines[4]
    assert "/s  [" in lines[4]
    assert lines[4].endswith(" rows/s")
    assert result.stderr == ""
    assert list(folder.iterdir()) == []


def test_the_same_for_programs(place: str) -> None:
    result = bench("--db", place, "--only", "raw", "--rounds", "1", "--json")

    told = json.loads(result.stdout)
    assert told["rounds"] == 1
    assert told["durability"]
    assert [figure["figure"] for figure in told["figures"]] == ["commits_per_second", "rows_per_second"]
    first = told["figures"][0]
    assert first["low"] == first["median"] == first["high"] == first["values"][0]


def test_nothing_is_left_on_the_server(durable_server: PostgresServer) -> None:
    assert bench("--db", durable_server.url, "--only", "raw", "--rounds", "1").exit_code == 0

    assert left_behind(durable_server) == []


def test_a_server_without_fsync_is_refused(postgres_server: PostgresServer) -> None:
    said = refused("--db", postgres_server.url, "--only", "raw")

    assert said == "Commits are not durable here: fsync is off, not on. Nothing is reported."
    assert left_behind(postgres_server) == []


@pytest.mark.parametrize("case", ["raw", "starts_batch"])
def test_a_role_that_does_not_wait_for_the_disk_is_refused(case: str, durable_server: PostgresServer) -> None:
    name = f"hasty_{case}"
    ask(
        durable_server.url,
        f"create role {name} login createdb",
        f"alter role {name} set synchronous_commit = off",
    )
    url = durable_server.url.replace("postgres@", f"{name}@")

    said = refused("--db", url, "--only", case)

    assert said == "Commits are not durable here: synchronous_commit is off, not on. Nothing is reported."
    assert left_behind(durable_server) == []


@pytest.mark.parametrize("case", ["raw", "drain"])
def test_a_database_that_does_not_wait_for_the_disk_is_refused(case: str, durable_server: PostgresServer) -> None:
    url = durable_server.create_database()
    name = url.rpartition("/")[2]
    ask(durable_server.url, f"alter database {name} set synchronous_commit = off")

    with pytest.raises(BenchFailed, match=r"synchronous_commit is off, not on\. Nothing is reported"):
        asyncio.run(once.run(case, url, size=3))

    durable_server.drop_database(url)


@pytest.mark.parametrize("case", ["raw", "drain"])
def test_a_database_in_memory_is_refused(case: str) -> None:
    with pytest.raises(BenchFailed, match="journal_mode is memory, not wal"):
        asyncio.run(once.run(case, ":memory:", size=3))


def test_a_user_who_may_create_no_database_is_told_so(durable_server: PostgresServer) -> None:
    ask(durable_server.url, "create role guest login")
    url = durable_server.url.replace("postgres@", "guest@")

    assert "this user may not create a database to measure in" in refused("--db", url)


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    said = refused("--db", "postgresql://ann:secret@127.0.0.1:1/shop")

    assert "The database shop at 127.0.0.1:1 cannot be opened" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--rounds", "0"], "0 is not in the range 1<=x<=100"),
        (["--only", "everything"], "'everything' is not one of"),
        (["--db", "shop.db"], "'shop.db' is not a folder"),
        (["--db", "mysql://host/x"], "starts with mysql:, which is not known"),
        (["--url", "shop.db"], "leave --url and --namespace out"),
        (["more"], "unexpected extra argument"),
    ],
)
def test_a_wrong_command_line_is_refused(args: list[str], told: str) -> None:
    assert told in refused(*args, exit_code=2)


# Behind it


def test_the_scratch_goes_after_a_failure_too(place: str, folder: Path) -> None:
    def fail() -> None:
        with scratch.database(parse_url(place)) as url:
            once.measure("raw", url, size=1)
            raise BenchFailed("as it may happen")

    with pytest.raises(BenchFailed, match="as it may happen"):
        fail()

    assert list(folder.iterdir()) == []
    if place != ".":
        assert ask(place, "select datname from pg_database where datname like 'windlass\\_bench\\_%'") == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_scratch_goes_when_it_is_stopped(number: signal.Signals, code: int, place: str, folder: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "windlass", "bench", "--db", place]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=slave, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(slave)
        seen = b""
        while b"2 of 27: " not in seen:  # the progress on a terminal
            seen += os.read(master, 65_536)
        process.send_signal(number)
        output, _ = process.communicate(timeout=PATIENCE)
        said = os.read(master, 65_536)

    os.close(master)
    assert (process.returncode, output) == (code, b"")
    assert b"Stopped: nothing is reported, and nothing is left behind." in said
    assert list(folder.iterdir()) == []
    if place != ".":
        assert ask(place, "select datname from pg_database where datname like 'windlass\\_bench\\_%'") == []
