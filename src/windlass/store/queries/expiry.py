"""Which runs are not over although their time is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.run import RunId, RunKind
from windlass.model.time import Duration
from windlass.store.rows import RUN_KIND

if TYPE_CHECKING:
    from windlass.store.base import Connection


class LateRun(Struct, frozen=True, kw_only=True):
    namespace: str
    id: RunId
    parent: RunId | None
    schedule: str | None
    kind: RunKind = RunKind.WORKFLOW

    @property
    def graph(self) -> RunId | None:
        """Of a job: what it belongs to."""
        return self.parent if self.kind.is_job else None


class ExpiryQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def late(self, *, late_for: Duration, limit: int) -> list[LateRun]:
        """Runs whose time was over that long ago and that nobody holds, the latest first, of every namespace."""
        rows = await self._connection.all("late_runs", late_for=late_for, limit=limit)
        return [
            LateRun(namespace=row[0], id=row[1], parent=row[2], schedule=row[3], kind=RUN_KIND[row[4]]) for row in rows
        ]
