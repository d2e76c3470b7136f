"""What may be asked about runs without changing them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from windlass.model.commands import Outcome
from windlass.model.failure import Unretrieved
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunId, RunStatus, RunView, WorkerId
from windlass.model.time import Instant
from windlass.model.worker import Served
from windlass.store.rows import RUN_STATUS, outcome_from_row, run_from_row, view_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

BEHIND_EVERY_ID = "~"  # ids are letters, digits and underscores, compared by code point


class Ending(Struct, frozen=True, kw_only=True):
    """Where a run stands, for telling a repeat from a lost claim."""

    status: RunStatus
    token: int
    result_hash: bytes | None


class Standing(Struct, frozen=True, kw_only=True):
    """Where a run stands, for whoever holds it."""

    status: RunStatus
    token: int
    is_held: bool  # a person wants it paused
    has_news: bool  # something has come that it waits for


class Relatives(Struct, frozen=True):
    parent: RunId | None = None
    schedule: str | None = None
    job: str | None = None  # its name, where the parent is a graph


class RunReads:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def look(self, *, namespace: str, served: Sequence[Served]) -> tuple[Instant | None, Instant]:
        """The earliest due time among what is served and behind no closed gate, and the time of the look."""
        row = await self._connection.first("next_due_run", namespace=namespace, served=served_to_json(served))
        assert row is not None  # an aggregate has an answer
        return row[0], row[1]

    async def next_due(self, *, namespace: str, served: Sequence[Served]) -> Instant | None:
        """The earliest due time: now or before means there is work."""
        due_at, _ = await self.look(namespace=namespace, served=served)
        return due_at

    async def load(self, namespace: str, id: RunId) -> Run | None:
        row = await self._connection.first("load_run", namespace=namespace, id=id)
        return None if row is None else run_from_row(row)

    async def slots_in_use(self, namespace: str, *, worker: WorkerId) -> int:
        """How many runs and pipelines a worker holds now; its own count is as old as its last sign of life."""
        row = await self._connection.first("slots_in_use", namespace=namespace, id=worker)
        return 0 if row is None else int(row[0])

    async def endings(self, namespace: str, ids: Sequence[RunId]) -> dict[RunId, Ending]:
        rows = await self._connection.all("endings_of_runs", namespace=namespace, ids=ids)
        return {row[0]: Ending(status=RUN_STATUS[row[1]], token=row[2], result_hash=row[3]) for row in rows}

    async def relatives(self, namespace: str, ids: Sequence[RunId]) -> dict[RunId, Relatives]:
        """Whom the end of each run may concern."""
        rows = await self._connection.all("relatives_of_runs", namespace=namespace, ids=ids)
        return {row[0]: Relatives(row[1], row[2], row[3]) for row in rows}

    async def children(self, namespace: str, *, parent: RunId) -> dict[str, RunId]:
        """The runs that a run has started, by the step that did."""
        rows = await self._connection.all("children_of_run", namespace=namespace, parent=parent)
        return {row[1]: row[0] for row in rows}

    async def standings(self, namespace: str, ids: Sequence[RunId]) -> dict[RunId, Standing]:
        """What a holder should know about its claims. Unknown ids are missing."""
        rows = await self._connection.all("standings_of_runs", namespace=namespace, ids=ids)
        return {
            row[0]: Standing(status=RUN_STATUS[row[1]], token=row[2], is_held=bool(row[3]), has_news=bool(row[4]))
            for row in rows
        }

    async def outcomes(self, namespace: str, ids: Sequence[RunId]) -> dict[RunId, Outcome]:
        """Where runs stand, with their result or failure if they have one. Unknown ids are missing."""
        rows = await self._connection.all("outcomes_of_runs", namespace=namespace, ids=ids)
        return {row[0]: outcome_from_row(row) for row in rows}

    async def view(self, namespace: str, id: RunId) -> RunView | None:
        row = await self._connection.first("view_run", namespace=namespace, id=id)
        return None if row is None else view_from_row(row)

    async def unretrieved(self, namespace: str, id: RunId) -> Unretrieved | None:
        """What was said last of errors that no task has retrieved, under whichever claim."""
        row = await self._connection.first("unretrieved_of_run", namespace=namespace, id=id)
        return None if row is None or row[0] is None else msgspec.json.decode(row[0], type=Unretrieved)

    async def list(self, query: ListRuns) -> builtins.list[Run]:
        """One page, newest first."""
        filters = {
            "namespace": query.namespace,
            "before": BEHIND_EVERY_ID if query.before is None else query.before,
            "status": query.status,
            "name": query.name,
            "queue": query.queue,
            "created_after": query.created_after,
            "limit": query.limit,
        }
        if query.schedule is not None:
            rows = await self._connection.all(
                "list_runs_of_schedule", schedule=query.schedule, parent=query.parent, **filters
            )
        elif query.parent is not None:
            rows = await self._connection.all("list_children", parent=query.parent, **filters)
        else:
            rows = await self._connection.all("list_runs", **filters)
        return [run_from_row(row) for row in rows]


def served_to_json(served: Sequence[Served], *, claim_for: Callable[[str], int] = lambda name: 0) -> str:
    lanes = sorted({(item.queue, item.name, item.version, claim_for(item.name)) for item in served})
    return msgspec.json.encode(lanes).decode()
