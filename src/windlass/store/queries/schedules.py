"""Which schedules there are, and the runs they have started."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from windlass.model.schedule import Schedule
from windlass.model.time import Instant
from windlass.store.rows import schedule_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


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

    async def lock(self, namespace: str, name: str) -> Schedule | None:
        """Load, and keep away whoever fires or changes it, or ends one of its runs. Comes before any lock on a run."""
        row = await self._connection.first("lock_schedule", namespace=namespace, name=name)
        return None if row is None else schedule_from_row(row)

    async def lock_if_free(self, namespace: str, name: str) -> Schedule | None:
        """The same, unless somebody else is at it."""
        row = await self._connection.first("lock_free_schedule", namespace=namespace, name=name)
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
