"""What fault tests stand on: small disks, and a PostgreSQL server that may be maltreated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.disk import Disk, small_disk
from windlass.testing.postgres import PostgresServer


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path / "disk", megabytes=8) as disk:
        yield disk


@pytest.fixture(scope="session")
def own_server() -> Iterator[PostgresServer]:
    """Not the one the other tests share: this one is restarted under its clients, and refuses some of them."""
    with PostgresServer() as server:
        yield server
