"""Start a run of a schedule now, because somebody asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.engine.schedule.release import Released, look_at_queue, tell_of_release
from windlass.engine.schedule.steer import lock_existing
from windlass.errors import WrongState
from windlass.model.commands import Started
from windlass.model.run import Deed, RunId
from windlass.model.schedule import Overlap, Schedule
from windlass.model.schedule_commands import TriggerSchedule
from windlass.notify.local import queue_topic
from windlass.rules import schedules as rules
from windlass.rules.limits import check_person
from windlass.store.base import Tx
from windlass.store.queries.scheduled import OpenRun, SlotRun
from windlass.store.rows import deed_to_bytes

TRIGGERED = "trigger"  # cause in the log


async def trigger_schedule(parts: Parts, command: TriggerSchedule) -> Started:
    audit, deed = Audit.of_caller("trigger_schedule"), Deed(by=check_person(command.by))
    run_id = command.run_id or RunId(parts.ids.run())  # outside: a second try must know what the first has written

    async def trigger(tx: Tx) -> tuple[Schedule, Released]:
        schedule = await lock_existing(tx, command.namespace, command.name)
        if await tx.runs.load(command.namespace, id=run_id) is not None:
            return schedule, Released()
        open, released = await look_at_queue(tx, schedule)
        admission = rules.admit(schedule, open, is_missed=False)
        if admission not in (rules.Admission.FIRE, rules.Admission.QUEUE):
            raise WrongState(
                "Schedule",
                schedule.name,
                f"busy with {(await open_runs(tx, schedule))[-1].id}",
                wanted="one with room for another run",
                hint=_why_not(schedule),
            )
        now = await tx.now()
        await tx.scheduled.create_runs(
            [
                SlotRun(
                    namespace=schedule.namespace,
                    id=run_id,
                    name=schedule.workflow,
                    version=schedule.version,
                    queue=schedule.queue,
                    input=schedule.input,
                    at=now,
                    timeout_for=schedule.timeout_for,
                    unmet=int(admission is rules.Admission.QUEUE),
                    schedule=schedule.name,
                    slot=None,
                    scheduled_at=now,
                    cause=TRIGGERED,
                    data=deed_to_bytes(deed),
                )
            ]
        )
        await audit.note(tx, schedule.namespace, subject=schedule.name, after=f"started {run_id}")
        return schedule, released

    schedule, released = await parts.run_tx("trigger_schedule", trigger)
    parts.hub.publish(queue_topic(schedule.namespace, schedule.queue))
    tell_of_release(parts, released)
    return Started(run_id=run_id, is_repeat=False)


async def open_runs(tx: Tx, schedule: Schedule) -> Sequence[OpenRun]:
    """Its runs that are not over, if they matter."""
    if schedule.overlap is Overlap.ALLOW:
        return ()
    return await tx.scheduled.open_runs(schedule.namespace, schedule.name)


def _why_not(schedule: Schedule) -> str:
    if schedule.overlap is Overlap.QUEUE:
        return "There is no room in its queue: one run of it may wait for another (overlap='queue'), and one does."
    return "Its runs do not overlap (overlap='skip')."
