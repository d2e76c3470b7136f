"""What pages for people are made from. Reads only, each with a bound on the rows it looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.overview import (
    FoundRun,
    ListSteps,
    OpenApproval,
    RunPreview,
    SentMessage,
    StepPreview,
)
from windlass.model.run import LogEntry, RunId
from windlass.model.signal import Signal
from windlass.model.step import Step
from windlass.model.time import Duration, Instant
from windlass.store.queries.searches import found_run
from windlass.store.rows import RUN_COLUMNS, failure_from_bytes, log_entry_from_row, run_from_row, step_from_row
from windlass.store.signal_rows import signal_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

STEP_COLUMNS = 18


class PageQueries:
    """`PageQueries(tx.connection)` inside `store.read`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def unattended(self, namespace: str, *, span: Duration, looked: int, limit: int) -> list[FoundRun]:
        """Runs of their own that failed within `span` and that nobody has tried again, the newest first."""
        rows = await self._connection.all(
            "unattended_failures", namespace=namespace, span=span, looked=looked, limit=limit
        )
        return [found_run(row) for row in rows]

    async def unattended_until(self, namespace: str, *, looked: int) -> Instant | None:
        """When the last of those was created that the look for them goes through; nothing if there are fewer."""
        row = await self._connection.first("last_unattended_looked_at", namespace=namespace, skipped=looked - 1)
        return None if row is None else Instant(row[0])

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
