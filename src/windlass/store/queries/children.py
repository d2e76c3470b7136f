"""What may be asked about the children of a run, and how runs are ended together with the one that started them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from windlass.model.commands import Outcome
from windlass.model.run import Run, RunId, RunKind
from windlass.store.rows import RUN_KIND, outcome_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class ChildQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def following(self, namespace: str, *, parents: Sequence[RunId]) -> dict[RunId, RunKind]:
        """The children of these runs that end with them and have not ended yet, and what they are; no deeper."""
        rows = await self._connection.all("following_children", namespace=namespace, parents=parents)
        return {row[0]: RUN_KIND[row[1]] for row in rows}

    async def own(self, run: Run, *, ids: Collection[RunId]) -> set[RunId]:
        """Those of these runs that this one has started, or one that it tries again."""
        rows = await self._connection.all("own_children", ids=list(ids), **_family(run))
        return {row[0] for row in rows}

    async def outcomes(self, run: Run, *, ids: Sequence[RunId]) -> dict[RunId, Outcome]:
        """Where they stand, with their result or failure if they have one. What is no child of this run is missing."""
        rows = await self._connection.all("outcomes_of_children", ids=ids, **_family(run))
        return {row[0]: outcome_from_row(row) for row in rows}

    async def end(self, runs: Sequence[Run]) -> None:
        """Write the end of runs that this transaction has locked. A map has thousands of children: all in one go."""
        await self._connection.batch("end_runs", runs)


def _family(run: Run) -> dict[str, str]:
    return {"namespace": run.namespace, "parent": run.id, "origin": run.origin or run.id}
