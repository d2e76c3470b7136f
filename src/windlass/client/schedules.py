"""Ask about schedules: make them, look at them, pause, resume and trigger them."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple, Unpack

from msgspec import Struct

from windlass.api.service import Schedules as Service
from windlass.client.handle import Door, Handle
from windlass.client.inside import refuse_inside_a_workflow
from windlass.define.context import Context
from windlass.define.options import refuse_unknown_options
from windlass.define.schedule import ScheduleOptions, read_plan, schedule_command
from windlass.model.duration import from_instant
from windlass.model.schedule import ScheduleView
from windlass.model.schedule_commands import DeleteSchedule, PauseSchedule, ResumeSchedule, TriggerSchedule
from windlass.model.time import Instant
from windlass.rules.limits import check_name, check_note, check_person
from windlass.rules.schedule_words import times, why_not

R = TypeVar("R")
Ts = TypeVarTuple("Ts")

OPTIONS = ("name", "replace", *ScheduleOptions.__annotations__)


class ScheduleInfo(Struct, frozen=True, kw_only=True):
    """A schedule as it stands. `print(info.next)` shows when it fires next, `info.why` why it does not."""

    name: str
    workflow: str
    queue: str
    times: str  # in words: "every 10 minutes", "at 09:00 every day (Europe/Rome)"
    cron: str | None
    every: timedelta | None
    tz: str
    catch_up: str
    max_catch_up: int
    overlap: str
    jitter: timedelta
    status: str  # "active" or "paused"
    why: str | None  # what keeps it from firing: paused, no longer declared, blocked, not readable
    next: tuple[datetime, ...]  # in UTC; empty while it does not fire
    last_slot: datetime | None  # every time up to this one is done with
    last_run: str | None
    active: tuple[str, ...]  # ids of its runs that are not over
    queued: tuple[str, ...]  # of those that wait for one of them
    fired: int
    skipped: int  # times that met a run which was not over
    dropped: int  # times that passed while nobody looked, and were not caught up with
    declared_in: str | None  # the program whose code declares it


class Schedules:
    """`app.schedules`: what is not declared in code, and what is done about both kinds. `app.sync.schedules` blocks.

    Example: `await app.schedules.create(report, "eu", name="eu", cron="0 9 * * *", tz="Europe/Rome")`
    """

    def __init__(self, door: Door, service: Callable[[], Awaitable[Service]]) -> None:
        self._door, self._service = door, service

    async def create(
        self,
        fn: Callable[[Context, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        name: str | None = None,
        replace: bool = False,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduleInfo:
        """Start runs of `fn(*args)` at these times, until it is paused or deleted. The same again changes nothing.

        Raises AlreadyExists if the name belongs to another definition, unless `replace=True`; one declared in code is
        changed there.
        """
        service = await self._asked("create", changes=True)
        refuse_unknown_options(options, verb="schedules.create", function=fn, args=args, allowed=OPTIONS)
        definition = self._door.registry.find_workflow(fn, verb="app.schedules.create")
        plan = read_plan(**options)
        command = schedule_command(
            definition.name if name is None else name,
            definition,
            args,
            plan,
            namespace=self._door.namespace,
            codec=self._door.codec,
            may_replace=replace,
        )
        return _info(await service.put_schedule(command))

    async def get(self, name: str, /) -> ScheduleInfo:
        """Where it stands. Raises NotFound."""
        service = await self._asked("get")
        return _info(await service.get_schedule(self._door.namespace, _checked(name)))

    async def list(self) -> builtins.list[ScheduleInfo]:
        """All of them, by name."""
        service = await self._asked("list")
        return [_info(view) for view in await service.list_schedules(self._door.namespace)]

    async def pause(self, name: str, /, *, by: str | None = None, note: str | None = None) -> ScheduleInfo:
        """Fire nothing until it is resumed. Runs that were started go on. Harmless if it is paused."""
        service = await self._asked("pause", changes=True)
        by, note = check_person(by), check_note(note)
        command = PauseSchedule(namespace=self._door.namespace, name=_checked(name), by=by, note=note)
        return _info(await service.pause_schedule(command))

    async def resume(self, name: str, /, *, backfill: bool = False, by: str | None = None) -> ScheduleInfo:
        """Go on with the next time. With `backfill`, `catch_up` decides on those that passed meanwhile."""
        service = await self._asked("resume", changes=True)
        by = check_person(by)
        command = ResumeSchedule(namespace=self._door.namespace, name=_checked(name), backfill=backfill, by=by)
        return _info(await service.resume_schedule(command))

    async def trigger(self, name: str, /, *, by: str | None = None) -> Handle[Any]:
        """Start a run of it now, also while it is paused. Raises WrongState if it does not overlap and is busy."""
        service = await self._asked("trigger", changes=True)
        command = TriggerSchedule(namespace=self._door.namespace, name=_checked(name), by=check_person(by))
        started = await service.trigger_schedule(command)
        return Handle(self._door, run_id=started.run_id, is_known=True)

    async def delete(self, name: str, /, *, by: str | None = None) -> None:
        """Forget it. Its runs stay, except one that waits for another of them. Raises NotFound."""
        service = await self._asked("delete", changes=True)
        await service.delete_schedule(
            DeleteSchedule(namespace=self._door.namespace, name=_checked(name), by=check_person(by))
        )

    async def _asked(self, verb: str, *, changes: bool = False) -> Service:
        refuse_inside_a_workflow(verb, verb=f"app.schedules.{verb}()")
        if changes:
            await self._door.to_change()
        return await self._service()


def _checked(name: str) -> str:
    return check_name(name, what="schedule name")


def _info(view: ScheduleView) -> ScheduleInfo:
    schedule = view.schedule
    every = schedule.timing.every
    return ScheduleInfo(
        name=schedule.name,
        workflow=schedule.workflow,
        queue=schedule.queue,
        times=times(schedule.timing),
        cron=schedule.timing.cron,
        every=None if every is None else timedelta(microseconds=every),
        tz=schedule.timing.tz,
        catch_up=schedule.catch_up.value,
        max_catch_up=schedule.max_catch_up,
        overlap=schedule.overlap.value,
        jitter=timedelta(microseconds=schedule.jitter),
        status=schedule.status.value,
        why=why_not(view),
        next=tuple(from_instant(Instant(slot)) for slot in view.next),
        last_slot=None if schedule.fired == 0 else from_instant(schedule.last_slot),
        last_run=view.last_run,
        active=view.active,
        queued=view.queued,
        fired=schedule.fired,
        skipped=schedule.skipped,
        dropped=schedule.dropped,
        declared_in=schedule.declared_in,
    )
