"""What crash tests stand on: places on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.places import Places, postgres_places, sqlite_places
from tests.memory import folder_in_memory
from windlass.testing.postgres import PostgresServer


@pytest.fixture(scope="session")
def crash_folder() -> Iterator[Path]:
    with folder_in_memory("crash") as folder:
        yield folder


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
