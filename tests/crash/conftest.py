"""What crash tests stand on: places on both databases."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.places import Places, postgres_places, sqlite_places
from windlass.testing.postgres import PostgresServer

# Killing a process loses no page of a file, so a file in memory is as good as one on disk, and much faster.
MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def crash_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="windlass-crash-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def sqlite(crash_folder: Path) -> Iterator[Places]:
    folder = crash_folder / "sqlite"
    folder.mkdir()
    with sqlite_places(folder) as places:
        yield places


@pytest.fixture(scope="session")
def postgresql(postgres_server: PostgresServer, crash_folder: Path) -> Iterator[Places]:
    folder = crash_folder / "postgresql"
    folder.mkdir()
    with postgres_places(postgres_server.create_database(), folder) as places:
        yield places


@pytest.fixture(params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest) -> Places:
    found: Places = request.getfixturevalue(request.param)
    return found
