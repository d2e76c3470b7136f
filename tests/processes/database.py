"""A database that other processes work on, and a look at it from outside."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from tests.invariants.evidence import Snapshot, take_snapshot
from windlass.model.run import Run
from windlass.runtime import SystemClock
from windlass.store.base import Tx
from windlass.store.postgres.store import PostgresStore
from windlass.store.queries.checks import CheckQueries
from windlass.store.sqlite.store import SqliteStore


class Database:
    """Opened, and so migrated, before anyone else comes."""

    def __init__(self, name: str, url: str) -> None:
        self.name, self.url = name, url
        self._clock = SystemClock()
        self._runner = asyncio.Runner()
        is_file = name == "sqlite"
        self._store = SqliteStore(url, clock=self._clock) if is_file else PostgresStore(url)

    def __enter__(self) -> Self:
        self._runner.run(self._store.open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._store.close())
        self._runner.close()

    def look(self, *, life: int = 0) -> Snapshot:
        return self._runner.run(take_snapshot(self._store, at=self._clock.now(), life=life))

    def runs(self) -> list[Run]:
        async def read(tx: Tx) -> list[Run]:
            return [row.run for row in await CheckQueries(tx.connection).runs()]

        return self._runner.run(self._store.read("every_run", read))
