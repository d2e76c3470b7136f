"""Which schedules there are, and the runs they have started."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from windlass.model.run import Run, RunId, RunStatus
from windlass.model.schedule import Schedule
from windlass.model.time import Duration, Instant
from windlass.store.rows import run_from_row, schedule_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

MOST_OPEN = 100  # runs of one schedule that are looked at: what is decided depends on the first few only


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


class ScheduleQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def insert(self, schedule: Schedule) -> bool:
        """False: there is one of that name."""
        return await self._connection.run("insert_schedule", **_values(schedule)) == 1

    async def save(self, schedule: Schedule, *, was: Schedule) -> bool:
        """Compare-and-set on the revision and the slot it was decided on."""
        values = _values(schedule)
        del values["created_at"]
        changed = await self._connection.run(
            "save_schedule", **values, was_revision=was.revision, was_last_slot=was.last_slot
        )
        return changed == 1

    async def load(self, namespace: str, name: str) -> Schedule | None:
        row = await self._connection.first("load_schedule", namespace=namespace, name=name)
        return None if row is None else schedule_from_row(row)

    async def lock(self, namespace: str, name: str, *, only_if_free: bool = False) -> Schedule | None:
        """Load, and keep away whoever fires or changes it, or ends one of its runs. Comes before any lock on a run."""
        query = "lock_free_schedule" if only_if_free else "lock_schedule"
        row = await self._connection.first(query, namespace=namespace, name=name)
        return None if row is None else schedule_from_row(row)

    async def list(self, namespace: str) -> builtins.list[Schedule]:
        return [schedule_from_row(row) for row in await self._connection.all("list_schedules", namespace=namespace)]

    async def due(self, *, limit: int) -> builtins.list[Schedule]:
        """Of every namespace, the most urgent first."""
        return [schedule_from_row(row) for row in await self._connection.all("due_schedules", limit=limit)]

    async def next(self, *, after: Instant) -> Instant | None:
        """When the next one is due that was not due at that instant."""
        row = await self._connection.first("next_schedule", after=after)
        return None if row is None else row[0]

    async def of_program(self, namespace: str, program: str) -> builtins.list[Schedule]:
        rows = await self._connection.all("schedules_of_program", namespace=namespace, program=program)
        return [schedule_from_row(row) for row in rows]

    async def delete(self, namespace: str, name: str) -> None:
        await self._connection.run("delete_schedule", namespace=namespace, name=name)

    async def create_runs(self, rows: Sequence[SlotRun]) -> Mapping[int, Instant]:
        """Insert runs with payload and log row. An ordinal that is missing from the answer was fired before."""
        return await self._connection.batch("create_slot_runs", rows)

    async def open_runs(self, namespace: str, schedule: str) -> builtins.list[OpenRun]:
        """Runs that are not over, the oldest first."""
        rows = await self._connection.all(
            "open_runs_of_schedule", namespace=namespace, schedule=schedule, limit=MOST_OPEN
        )
        return [OpenRun(row[0], bool(row[1])) for row in rows]

    async def lock_queued(self, namespace: str, schedule: str) -> builtins.list[Run]:
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


def _values(schedule: Schedule) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(schedule, name) for name in schedule.__struct_fields__ if name != "timing"}
    timing = schedule.timing
    return {
        **values,
        "is_declared": int(schedule.is_declared),
        "cron": timing.cron,
        "every_for": timing.every,
        "tz": timing.tz,
    }
