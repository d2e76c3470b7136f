"""Pause, resume and delete schedules."""

from __future__ import annotations

import difflib

from windlass.engine.audit import Audit
from windlass.engine.cancel import Ended, cancel_tree, tell_of_end
from windlass.engine.parts import Parts
from windlass.engine.schedule.noting import BACKFILLED, DELETED, noted, noted_end
from windlass.engine.tree import Tree
from windlass.errors import NotFound
from windlass.model.run import CANCELLED_BY, PAUSED_BY, RESUMED_BY, Deed
from windlass.model.schedule import Schedule
from windlass.model.schedule_commands import DeleteSchedule, PauseSchedule, ResumeSchedule
from windlass.notify.local import schedules_topic
from windlass.rules import schedules as rules
from windlass.rules.limits import check_note, check_person
from windlass.rules.schedule_words import in_words
from windlass.store.base import Tx

MOST_CLOSE = 3


async def lock_existing(tx: Tx, namespace: str, name: str) -> Schedule:
    """The schedule under its lock. Raises NotFound with names that look alike."""
    schedule = await tx.schedules.lock(namespace, name)
    if schedule is None:
        raise await not_found(tx, namespace, name)
    return schedule


async def not_found(tx: Tx, namespace: str, name: str) -> NotFound:
    known = [item.name for item in await tx.schedules.list(namespace)]
    close = difflib.get_close_matches(name, known, n=MOST_CLOSE)
    return NotFound("Schedule", name, close=close, hint="" if close else "See: windlass schedules")


async def pause_schedule(parts: Parts, command: PauseSchedule) -> None:
    by, note = check_person(command.by), check_note(command.note)
    audit = Audit.of_caller("pause_schedule")

    async def pause(tx: Tx) -> None:
        was = await lock_existing(tx, command.namespace, command.name)
        paused = rules.pause(was, now=await tx.now(), by=by, note=note)
        if paused != was:
            await tx.schedules.save(paused, was=was)
            await tx.log.append([noted(paused, was=was, cause=PAUSED_BY, deed=Deed(by=by, note=note))])
            await audit.note(tx, was.namespace, subject=was.name, before=was.status, after=paused.status)

    await parts.run_tx("pause_schedule", pause)


async def resume_schedule(parts: Parts, command: ResumeSchedule) -> None:
    by, audit = check_person(command.by), Audit.of_caller("resume_schedule")

    async def resume(tx: Tx) -> None:
        was = await lock_existing(tx, command.namespace, command.name)
        resumed = rules.resume(was, now=await tx.now(), backfill=command.backfill)
        if resumed != was:
            await tx.schedules.save(resumed, was=was)
            deed = Deed(by=by, note=BACKFILLED if command.backfill else None)
            await tx.log.append([noted(resumed, was=was, cause=RESUMED_BY, deed=deed)])
            await audit.note(tx, was.namespace, subject=was.name, before=was.status, after=resumed.status)

    await parts.run_tx("resume_schedule", resume)
    parts.hub.publish(schedules_topic())


async def delete_schedule(parts: Parts, command: DeleteSchedule) -> None:
    by, audit = check_person(command.by), Audit.of_caller("delete_schedule")
    ended: list[Ended] = []
    is_done = False

    async def delete(tx: Tx) -> None:
        nonlocal is_done
        ended.clear()
        if is_done and await tx.schedules.lock(command.namespace, command.name) is None:
            return  # a first try whose answer was lost
        is_done = True
        schedule = await lock_existing(tx, command.namespace, command.name)
        for run in await tx.scheduled.lock_queued(command.namespace, command.name):
            deed = Deed(by=by, note=f"schedule {schedule.name} was deleted")
            ended.append(await cancel_tree(tx, Tree(root=run), cause=CANCELLED_BY, deed=deed))
        await tx.schedules.delete(command.namespace, command.name)
        await tx.log.append([noted_end(schedule, deed=Deed(by=by))])
        await audit.note(tx, schedule.namespace, subject=schedule.name, before=in_words(schedule), after=DELETED)

    await parts.run_tx("delete_schedule", delete)
    for one in ended:
        tell_of_end(parts, one)
