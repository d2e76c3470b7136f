"""What tests with real processes stand on: a folder, a database on each store with a way to look at it, a nursery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.places import Places, postgres_places, sqlite_places
from tests.memory import folder_in_memory
from tests.processes.children import Nursery, open_nursery
from tests.processes.database import Database
from windlass.testing.postgres import PostgresServer


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_in_memory("processes") as folder:
        yield folder


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
