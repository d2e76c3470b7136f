"""Which runs end together with the one that started them, and how they are ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windlass.model.run import Run, RunId, RunKind
from windlass.store.rows import RUN_KIND

if TYPE_CHECKING:
    from windlass.store.base import Connection


class ChildQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def following(self, namespace: str, *, parents: Sequence[RunId]) -> dict[RunId, RunKind]:
        """The children of these runs that end with them and have not ended yet, and what they are; no deeper."""
        rows = await self._connection.all("following_children", namespace=namespace, parents=parents)
        return {row[0]: RUN_KIND[row[1]] for row in rows}

    async def end(self, runs: Sequence[Run]) -> None:
        """Write the end of runs that this transaction has locked. A map has thousands of children: all in one go."""
        await self._connection.batch("end_runs", runs)
