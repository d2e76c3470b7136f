"""What pages for people are made from. Reads only, each with a bound on the rows it looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.overview import FoundRun, OpenApproval, RunPreview, SearchRuns, StepPreview
from windlass.model.run import LogEntry, RunId, RunStatus
from windlass.model.time import Duration, Instant
from windlass.store.queries.run_reads import BEHIND_EVERY_ID
from windlass.store.rows import RUN_COLUMNS, Row, failure_from_bytes, log_entry_from_row, run_from_row, step_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

STEP_COLUMNS = 18


class PageQueries:
    """`PageQueries(tx.connection)` inside `store.read`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def search(self, query: SearchRuns, *, looked: int, limit: int) -> list[FoundRun]:
        """Those that fit among the next `looked` runs behind `before`."""
        filters = {
            "namespace": query.namespace,
            "before": BEHIND_EVERY_ID if query.before is None else query.before,
            "name": query.name,
            "queue": query.queue,
            "created_after": query.created_after,
            "text": None if query.text is None else _pattern(query.text),
            "looked": looked,
            "limit": limit,
        }
        if query.status is RunStatus.FAILED:
            rows = await self._connection.all("search_failed_runs", **filters)
        elif query.status is RunStatus.PAUSED:
            rows = await self._connection.all("search_paused_runs", **filters)
        else:
            rows = await self._connection.all("search_runs", status=query.status, **filters)
        return [_found(row) for row in rows]

    async def last_looked_at(self, query: SearchRuns, *, looked: int) -> tuple[RunId, Instant] | None:
        """The last run that a search goes through; nothing if there are fewer."""
        before = BEHIND_EVERY_ID if query.before is None else query.before
        place = {"namespace": query.namespace, "before": before, "skipped": looked - 1}
        if query.status is RunStatus.FAILED:
            row = await self._connection.first("last_failed_looked_at", **place)
        elif query.status is RunStatus.PAUSED:
            row = await self._connection.first("last_paused_looked_at", **place)
        else:
            row = await self._connection.first("last_looked_at", **place)
        return None if row is None else (row[0], row[1])

    async def unattended(self, namespace: str, *, span: Duration, looked: int, limit: int) -> list[FoundRun]:
        """Runs of their own that failed within `span` and that nobody has tried again, the newest first."""
        rows = await self._connection.all(
            "unattended_failures", namespace=namespace, span=span, looked=looked, limit=limit
        )
        return [_found(row) for row in rows]

    async def approvals(self, namespace: str, *, looked: int, limit: int) -> list[OpenApproval]:
        rows = await self._connection.all("open_approvals", namespace=namespace, looked=looked, limit=limit)
        return [
            OpenApproval(
                run=run_from_row(row),
                key=row[RUN_COLUMNS],
                title=row[RUN_COLUMNS + 1] or row[RUN_COLUMNS],
                since=row[RUN_COLUMNS + 2],
                due_at=row[RUN_COLUMNS + 3],
            )
            for row in rows
        ]

    async def preview(self, namespace: str, id: RunId, *, most: int) -> RunPreview | None:
        row = await self._connection.first("preview_run", namespace=namespace, id=id, most=most)
        if row is None:
            return None
        key, input, input_size, output, output_size, failure = row[RUN_COLUMNS:]
        return RunPreview(
            run=run_from_row(row),
            key=key,
            input=input,
            input_size=input_size,
            output=output,
            output_size=output_size,
            failure=failure_from_bytes(failure),
        )

    async def steps(self, namespace: str, run_id: RunId, *, most: int, limit: int) -> list[StepPreview]:
        rows = await self._connection.all("preview_steps", namespace=namespace, run_id=run_id, most=most, limit=limit)
        return [StepPreview(step=step_from_row(row), output_size=row[STEP_COLUMNS]) for row in rows]

    async def entries(self, namespace: str, *, kind: str, id: str, most: int, limit: int) -> list[LogEntry]:
        """The newest first."""
        rows = await self._connection.all("last_entries", namespace=namespace, kind=kind, id=id, most=most, limit=limit)
        return [log_entry_from_row(row) for row in rows]


def _found(row: Row) -> FoundRun:
    key, failure = row[RUN_COLUMNS:]
    return FoundRun(run=run_from_row(row), key=key, failure=failure_from_bytes(failure))


def _pattern(text: str) -> str:
    """What LIKE is to find anywhere, with nothing in it that means more than itself."""
    literal = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"
