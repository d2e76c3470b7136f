"""A command that only reads never migrates; it says what to run and exits with 1. The others migrate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.cli.every_command import CHANGING, ELSEWHERE, LOOKING, READING, RUN, SERVING, every_command
from tests.integration.cli.scene import Scene
from tests.integration.server.process import free_ports
from tests.older import NEWEST, make_older, schema_of
from windlass.cli.main import cli

PATIENCE = 60.0
SHOP = """
import windlass
app = windlass.App()
@app.workflow
async def order(ctx: windlass.Context, id: str) -> None: ...
"""


@pytest.fixture(params=["disk", "postgres"])
def place(request: pytest.FixtureRequest, folder: Path) -> str:
    return str(folder / "shop.db") if request.param == "disk" else request.getfixturevalue("postgres_url")


def test_every_command_reads_or_changes() -> None:
    known = [*READING, *LOOKING, *CHANGING, *SERVING, *ELSEWHERE]

    assert set(every_command(cli)) == set(known)
    assert len(known) == len(set(known)) + 1  # migrate, which does both


@pytest.mark.parametrize("name", READING)
def test_a_reading_command_says_what_to_run_and_leaves_an_older_schema_alone(old: str, name: str) -> None:
    result = Scene(old).run(*name.split(), *READING[name])

    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1), result.output
    assert f"has schema {NEWEST - 1}, and this Windlass needs {NEWEST}. Reading does not migrate it" in result.stderr
    assert result.stderr.endswith(" migrate\n")
    assert schema_of(old) == NEWEST - 1


@pytest.mark.parametrize("name", LOOKING)
def test_what_looks_at_the_schema_says_that_it_is_behind(old: str, name: str) -> None:
    result = Scene(old).run(*name.split(), *LOOKING[name])

    assert (result.exit_code, result.stderr) == (1, "")
    assert " migrate" in " ".join(result.stdout.split())
    assert schema_of(old) == NEWEST - 1


@pytest.mark.parametrize("name", CHANGING)
def test_a_changing_command_migrates(place: str, module: Path, name: str) -> None:
    module.write_text(SHOP)
    make_older(place)

    result = Scene(place).run(*name.split(), *CHANGING[name])

    assert result.exit_code in (0, 1), result.output  # of most there is nothing to be changed
    assert "migrate" not in result.stderr
    assert schema_of(place) == NEWEST


@pytest.mark.parametrize("name", SERVING)
def test_what_serves_migrates(place: str, folder: Path, name: str) -> None:
    (folder / "shop.py").write_text(SHOP)
    make_older(place)
    grpc, http = map(str, free_ports(2))
    ports = {"WINDLASS_SERVER_GRPC_PORT": grpc, "WINDLASS_SERVER_HTTP_PORT": http}

    with subprocess.Popen(
        [sys.executable, "-m", "windlass", "--url", place, name, *SERVING[name]],
        env={**os.environ, **ports}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while schema_of(place) < NEWEST and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)

    assert schema_of(place) == NEWEST


@pytest.mark.parametrize("name", READING)
def test_a_reading_command_creates_no_tables(postgres_url: str, name: str) -> None:
    told = Scene(postgres_url).refused(*name.split(), *READING[name])

    assert "has no schema yet. Reading does not create one; to do that: windlass --url " in told
    assert schema_of(postgres_url) == 0


def test_a_reading_command_takes_an_empty_file_for_what_it_is(folder: Path) -> None:
    (folder / "shop.db").touch()

    told = Scene("shop.db").refused("runs")

    assert told == (
        "The database shop.db has no schema yet. Reading does not create one; "
        "to do that: windlass --url shop.db migrate"
    )
    assert (folder / "shop.db").stat().st_size == 0


def test_a_database_in_memory_has_nothing_to_show() -> None:
    assert Scene("sqlite:///:memory:").shown("runs") == "No runs yet.\n"


def test_the_oldest_schema_is_read_no_more_than_the_last_one(folder: Path) -> None:
    make_older("shop.db", version=1)
    before = (folder / "shop.db").read_bytes()

    told = Scene("shop.db").refused("show", RUN)

    assert "has schema 1, and" in told
    assert (folder / "shop.db").read_bytes() == before
