"""What the model test stands on: an empty SQLite file and an empty PostgreSQL database for every story."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory import folder_in_memory
from tests.model.subject import Stores, stores_in
from windlass.testing.postgres import PostgresServer


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    with folder_in_memory("model") as folder:
        yield folder


@pytest.fixture(scope="session")
def stores(memory: Path, postgres_server: PostgresServer) -> Iterator[Stores]:
    with stores_in(memory / "both", postgres_server) as found:
        yield found
