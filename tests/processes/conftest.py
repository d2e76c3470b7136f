"""What tests with real processes stand on: a folder, a database on each store with a way to look at it, a nursery."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.places import Places, postgres_places, sqlite_places
from tests.processes.children import Nursery, open_nursery
from tests.processes.database import Database
from windlass.testing.postgres import PostgresServer

# Killing a process loses no page of a file, so a file in memory is as good as one on disk, and much faster.
MEMORY = Path("/dev/shm")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="windlass-processes-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, folder: Path) -> Iterator[Database]:
    is_file = request.param == "sqlite"
    url = str(folder / "windlass.db") if is_file else request.getfixturevalue("postgres_url")
    with Database(request.param, url) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, folder: Path) -> Iterator[Places]:
    if request.param == "sqlite":
        with sqlite_places(folder) as places:
            yield places
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        with postgres_places(server.create_database(), folder) as places:
            yield places


@pytest.fixture
def nursery(folder: Path) -> Iterator[Nursery]:
    with open_nursery(folder) as nursery:
        yield nursery
