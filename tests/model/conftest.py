"""What the model test stands on: an empty SQLite file and an empty PostgreSQL database for every story."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model.subject import Stores, stores_in
from windlass.testing.postgres import PostgresServer

# Killing a process loses no page of a file, so a file in memory is as good as one on disk, and much faster.
MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="windlass-model-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def stores(memory: Path, postgres_server: PostgresServer) -> Iterator[Stores]:
    with stores_in(memory / "both", postgres_server) as found:
        yield found
