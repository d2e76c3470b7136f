"""Where a measurement takes place: an empty database of its own, on the store that is asked for, removed afterwards."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from bench.targets import POSTGRESQL, STORES
from windlass.testing.postgres import PostgresServer

# Half a million rows and their indexes are to be found in memory, as on any server that has them.
POSTGRES_SETTINGS = {"shared_buffers": "512MB"}


class Databases:
    """A durable PostgreSQL and a folder for SQLite, while the block lasts."""

    def __init__(self) -> None:
        self._server = PostgresServer(durable=True, settings=POSTGRES_SETTINGS)
        self._folder = tempfile.TemporaryDirectory(prefix="windlass-bench-")
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._folder.cleanup()

    @property
    def postgres_version(self) -> str:
        return self._server.version

    @contextmanager
    def fresh(self, store: str) -> Iterator[str]:
        """The URL of a database that nobody has used."""
        assert store in STORES
        if store == POSTGRESQL:
            url = self._server.create_database()
            try:
                yield url
            finally:
                self._server.drop_database(url)
            return
        path = Path(self._folder.name) / f"{next(self._numbers)}.db"
        try:
            yield str(path)
        finally:
            for left in path.parent.glob(f"{path.name}*"):
                left.unlink()
