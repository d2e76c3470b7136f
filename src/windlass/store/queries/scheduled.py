"""The runs that schedules have started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.run import Run, RunId, RunStatus
from windlass.model.time import Duration, Instant
from windlass.store.rows import run_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

MOST_OPEN = 100  # runs of one schedule that are looked at, of either kind: what is decided depends on the first few


class SlotRun(Struct, frozen=True, kw_only=True):
    """A run of a schedule to create: due at `at`, or with `unmet` waiting for the one before it."""

    namespace: str
    id: RunId
    name: str
    version: str
    queue: str
    input: bytes
    at: Instant
    timeout_for: Duration | None
    unmet: int
    schedule: str
    slot: Instant | None
    scheduled_at: Instant
    cause: str
    data: bytes | None = None


class OpenRun(Struct, frozen=True):
    id: RunId
    is_queued: bool


class ScheduledQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create_runs(self, rows: Sequence[SlotRun]) -> Mapping[int, Instant]:
        """Insert runs with payload and log row. An ordinal that is missing from the answer was fired before."""
        return await self._connection.batch("create_slot_runs", rows)

    async def fired_slots(self, namespace: str, schedule: str, *, first: Instant, last: Instant) -> set[Instant]:
        """Those from one to another that have a run: none, unless the clock was put back."""
        rows = await self._connection.all("fired_slots", namespace=namespace, schedule=schedule, first=first, last=last)
        return {Instant(row[0]) for row in rows}

    async def open_runs(self, namespace: str, schedule: str) -> list[OpenRun]:
        """Runs that are not over: those admitted, then those queued, the oldest first."""
        rows = await self._connection.all(
            "open_runs_of_schedule", namespace=namespace, schedule=schedule, limit=MOST_OPEN
        )
        return [OpenRun(row[0], bool(row[1])) for row in rows]

    async def lock_queued(self, namespace: str, schedule: str) -> list[Run]:
        """Runs that wait for one before them, the oldest first, held against every other writer."""
        rows = await self._connection.all("lock_queued_runs", namespace=namespace, schedule=schedule, limit=MOST_OPEN)
        return [run_from_row(row) for row in rows]

    async def release(self, run: Run, *, status: RunStatus, due_at: Instant) -> None:
        """Let a run go on that waited for the one before it; a paused one when it is resumed."""
        await self._connection.run(
            "release_queued_run",
            namespace=run.namespace,
            id=run.id,
            status=status,
            available_at=None if status is RunStatus.PAUSED else due_at,
            due_at=due_at,
        )

    async def last_run(self, namespace: str, schedule: str) -> RunId | None:
        row = await self._connection.first("last_run_of_schedule", namespace=namespace, schedule=schedule)
        return None if row is None else RunId(row[0])
