"""api.service.Schedules, in process."""

from __future__ import annotations

from windlass.engine.again import until_answered
from windlass.engine.parts import Parts
from windlass.engine.schedule import put, steer, trigger
from windlass.engine.schedule.noting import SUBJECT
from windlass.errors import InvalidInput
from windlass.model.commands import Started
from windlass.model.run import LogEntry
from windlass.model.schedule import Schedule, ScheduleStatus, ScheduleView
from windlass.model.schedule_commands import (
    Declare,
    DeleteSchedule,
    PauseSchedule,
    PutSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.model.time import Instant
from windlass.rules.slots import upcoming
from windlass.store.base import Tx

SHOWN = 3  # next times of one schedule


class EngineSchedules:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def declare(self, command: Declare) -> None:
        await put.declare(self._parts, command)

    async def put_schedule(self, command: PutSchedule) -> ScheduleView:
        await put.put_schedule(self._parts, command)
        return await self.get_schedule(command.namespace, command.name)

    async def get_schedule(self, namespace: str, name: str) -> ScheduleView:
        async def look(tx: Tx) -> ScheduleView:
            schedule = await tx.schedules.load(namespace, name)
            if schedule is None:
                raise await steer.not_found(tx, namespace, name)
            return await _view(tx, schedule)

        return await until_answered(self._parts.clock, lambda: self._parts.store.read("get_schedule", look))

    async def list_schedules(self, namespace: str) -> tuple[ScheduleView, ...]:
        async def look(tx: Tx) -> tuple[ScheduleView, ...]:
            return tuple([await _view(tx, schedule) for schedule in await tx.schedules.list(namespace)])

        return await until_answered(self._parts.clock, lambda: self._parts.store.read("list_schedules", look))

    async def read_schedule_log(self, namespace: str, name: str) -> tuple[LogEntry, ...]:
        return tuple(
            await until_answered(
                self._parts.clock,
                lambda: self._parts.store.read(
                    "read_log", lambda tx: tx.log.of_subject(namespace, kind=SUBJECT, id=name), single=True
                ),
            )
        )

    async def pause_schedule(self, command: PauseSchedule) -> ScheduleView:
        await steer.pause_schedule(self._parts, command)
        return await self.get_schedule(command.namespace, command.name)

    async def resume_schedule(self, command: ResumeSchedule) -> ScheduleView:
        await steer.resume_schedule(self._parts, command)
        return await self.get_schedule(command.namespace, command.name)

    async def trigger_schedule(self, command: TriggerSchedule) -> Started:
        return await trigger.trigger_schedule(self._parts, command)

    async def delete_schedule(self, command: DeleteSchedule) -> None:
        await steer.delete_schedule(self._parts, command)


async def _view(tx: Tx, schedule: Schedule) -> ScheduleView:
    open = await tx.scheduled.open_runs(schedule.namespace, schedule.name)
    return ScheduleView(
        schedule=schedule,
        next=_next(schedule),
        active=tuple(run.id for run in open if not run.is_queued),
        queued=tuple(run.id for run in open if run.is_queued),
        last_run=await tx.scheduled.last_run(schedule.namespace, schedule.name),
    )


def _next(schedule: Schedule) -> tuple[Instant, ...]:
    """What it will fire, if nothing changes: nothing while it is paused or cannot be read."""
    if schedule.status is ScheduleStatus.PAUSED or schedule.error is not None:
        return ()
    try:
        return tuple(upcoming(schedule.timing, schedule.anchor, after=schedule.last_slot, count=SHOWN))
    except InvalidInput:  # a zone that is gone: nobody has looked at it since
        return ()
