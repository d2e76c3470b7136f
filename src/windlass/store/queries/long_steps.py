"""Which bodies are at work for long, and how long the same steps took before: bounded reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from windlass.model.run import Run, RunId
from windlass.model.time import Duration, Instant
from windlass.store.rows import RUN_COLUMNS, run_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class RunningStep(NamedTuple):
    run: Run
    start_key: str | None
    step: str
    started_at: Instant


class LongStepQueries:
    """`LongStepQueries(tx.connection)` inside `store.read`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def running(self, namespace: str, *, span: Duration, looked: int, limit: int) -> list[RunningStep]:
        """Bodies at work for longer than `span`, the longest first."""
        rows = await self._connection.all(
            "long_running_steps", namespace=namespace, span=span, looked=looked, limit=limit
        )
        return [RunningStep(run_from_row(row), *row[RUN_COLUMNS : RUN_COLUMNS + 3]) for row in rows]

    async def durations_in_run(self, namespace: str, run_id: RunId, *, keys: Sequence[str]) -> list[Duration]:
        if not keys:
            return []
        rows = await self._connection.all("durations_in_run", namespace=namespace, run_id=run_id, keys=list(keys))
        return [Duration(row[0]) for row in rows]

    async def durations_in_ended_runs(
        self, namespace: str, *, name: str, key: str, looked: int, limit: int
    ) -> list[Duration]:
        rows = await self._connection.all(
            "durations_in_ended_runs", namespace=namespace, name=name, key=key, looked=looked, limit=limit
        )
        return [Duration(row[0]) for row in rows]
