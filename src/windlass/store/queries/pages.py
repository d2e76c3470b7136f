"""What pages for people are made from. Reads only, each with a bound on the rows it looks at."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from windlass.model.overview import (
    FoundRun,
    ListSteps,
    OpenApproval,
    RunPreview,
    SearchRuns,
    SentMessage,
    StepPreview,
)
from windlass.model.run import LogEntry, RunId, RunStatus
from windlass.model.signal import Signal
from windlass.model.step import Step
from windlass.model.time import Duration, Instant
from windlass.store.queries.run_reads import BEHIND_EVERY_ID
from windlass.store.rows import RUN_COLUMNS, Row, failure_from_bytes, log_entry_from_row, run_from_row, step_from_row
from windlass.store.signal_rows import signal_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

STEP_COLUMNS = 18
LOWERED = {ord(letter): letter.lower() for letter in ascii_uppercase}


class PageQueries:
    """`PageQueries(tx.connection)` inside `store.read`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def search(self, query: SearchRuns, *, looked: int, limit: int) -> list[FoundRun]:
        """Those that fit among the next `looked` runs behind `before`, or of those that failed or are paused."""
        place = {**_filters(query), **_text(query), "looked": looked, "limit": limit}
        if query.status is RunStatus.FAILED:
            rows = await self._connection.all("search_failed_runs", **place)
        elif query.status is RunStatus.PAUSED:
            rows = await self._connection.all("search_paused_runs", **place)
        else:
            rows = await self._connection.all("search_runs", **place, status=query.status)
        return [_found(row) for row in rows]

    async def last_looked_at(self, query: SearchRuns, *, looked: int) -> tuple[RunId, Instant] | None:
        """The last run that a search goes through; nothing if there are fewer."""
        place = {"namespace": query.namespace, "before": _before(query), "skipped": looked - 1}
        if query.status is RunStatus.FAILED:
            row = await self._connection.first("last_failed_looked_at", **place)
        elif query.status is RunStatus.PAUSED:
            row = await self._connection.first("last_paused_looked_at", **place)
        else:
            row = await self._connection.first("last_looked_at", **place)
        return None if row is None else (row[0], row[1])

    async def has_more_live(self, namespace: str, than: int) -> bool:
        """Whether more runs than that are not over."""
        row = await self._connection.first("count_live_runs", namespace=namespace, most=than + 1)
        return row is not None and row[0] > than

    async def search_live(self, query: SearchRuns, *, looked: int, limit: int) -> list[FoundRun]:
        """Of those that are not over, if there are at most `looked`."""
        place = {**_filters(query), **_text(query), "status": query.status, "looked": looked, "limit": limit}
        return [_found(row) for row in await self._connection.all("search_live_runs", **place)]

    async def find(self, query: SearchRuns, *, id: str, key: str) -> list[FoundRun]:
        """By what is meant exactly. The other filters hold for them as well."""
        filters = {name: value for name, value in _filters(query).items() if name != "before"}
        rows = await self._connection.all("find_runs", **filters, status=query.status, id=id, key=key)
        return [_found(row) for row in rows]

    async def unattended(self, namespace: str, *, span: Duration, looked: int, limit: int) -> list[FoundRun]:
        """Runs of their own that failed within `span` and that nobody has tried again, the newest first."""
        rows = await self._connection.all(
            "unattended_failures", namespace=namespace, span=span, looked=looked, limit=limit
        )
        return [_found(row) for row in rows]

    async def approvals(
        self, namespace: str, *, before: tuple[str, str], looked: int
    ) -> tuple[list[OpenApproval], tuple[str, str] | None]:
        """Those that are open among the next `looked`, and from where to look on; nothing if these were all."""
        rows = await self._connection.all(
            "open_approvals", namespace=namespace, before_run=before[0], before_key=before[1], looked=looked
        )
        found = [
            OpenApproval(
                run=run_from_row(row),
                key=row[RUN_COLUMNS],
                title=row[RUN_COLUMNS + 1] or row[RUN_COLUMNS],
                since=row[RUN_COLUMNS + 2],
                due_at=row[RUN_COLUMNS + 3],
            )
            for row in rows
            if row[RUN_COLUMNS + 4]
        ]
        last = (run_from_row(rows[-1]).id, rows[-1][RUN_COLUMNS]) if len(rows) == looked else None
        return found, last

    async def asked(self, namespace: str, run_id: RunId) -> Step | None:
        """What somebody is asked in a run, if anything."""
        row = await self._connection.first("asked_in_run", namespace=namespace, run_id=run_id)
        return None if row is None else step_from_row(row)

    async def stopped_signals(self, namespace: str, *, limit: int) -> list[Signal]:
        rows = await self._connection.all("stopped_signals", namespace=namespace, limit=limit)
        return [signal_from_row(row) for row in rows]

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

    async def steps(self, query: ListSteps, *, most: int, limit: int) -> list[StepPreview]:
        """The latest first."""
        rows = await self._connection.all(
            "preview_steps",
            namespace=query.namespace,
            run_id=query.run_id,
            most=most,
            limit=limit,
            skipped=query.skipped,
        )
        return [StepPreview(step=step_from_row(row), output_size=row[STEP_COLUMNS]) for row in rows]

    async def output(self, namespace: str, run_id: RunId, *, step_key: str, attempt: int) -> bytes | None:
        place = {"namespace": namespace, "run_id": run_id, "step_key": step_key, "attempt": attempt}
        row = await self._connection.first("output_of_step", **place)
        return None if row is None else row[0]

    async def messages(self, namespace: str, run_id: RunId, *, limit: int) -> list[SentMessage]:
        """The newest first."""
        rows = await self._connection.all("last_messages", namespace=namespace, run_id=run_id, limit=limit)
        return [SentMessage(name=row[0], sent_at=row[1], is_received=row[2] is not None) for row in rows]

    async def entries(self, namespace: str, *, kind: str, id: str, most: int, limit: int) -> list[LogEntry]:
        """The newest first."""
        rows = await self._connection.all("last_entries", namespace=namespace, kind=kind, id=id, most=most, limit=limit)
        return [log_entry_from_row(row) for row in rows]


def _found(row: Row) -> FoundRun:
    key, failure = row[RUN_COLUMNS:]
    return FoundRun(run=run_from_row(row), key=key, failure=failure_from_bytes(failure))


def _filters(query: SearchRuns) -> dict[str, Any]:
    return {
        "namespace": query.namespace,
        "before": _before(query),
        "name": query.name,
        "queue": query.queue,
        "created_after": query.created_after,
    }


def _text(query: SearchRuns) -> dict[str, Any]:
    return {"text": None if query.text is None else _pattern(query.text)}


def _before(query: SearchRuns) -> str:
    return BEHIND_EVERY_ID if query.before is None else query.before


def _pattern(text: str) -> str:
    """What LIKE is to find anywhere, with nothing in it that means more than itself. Lowered as a database does it."""
    literal = text.translate(LOWERED).replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"
