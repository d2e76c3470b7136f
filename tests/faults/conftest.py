"""What fault tests stand on: small disks, and a PostgreSQL server that may be maltreated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.disk import Disk, small_disk
from windlass.testing.postgres import PostgresServer


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there can be one: for files that outlive processes, and never the machine."""
    shared = Path("/dev/shm")
    with TemporaryDirectory(dir=shared if shared.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path / "disk", megabytes=8) as disk:
        yield disk


@pytest.fixture(scope="session")
def own_server() -> Iterator[PostgresServer]:
    """Not the one the other tests share: this one is restarted under its clients, and refuses some of them."""
    with PostgresServer() as server:
        yield server
