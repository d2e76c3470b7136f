"""When a run of a schedule has ended: let the one behind it go on, and the schedule too if it waited for that.

Whoever ends such a run locks its schedule before it locks the run. Whoever fires the schedule holds the same lock, so
it either sees the run open, and the end then sees what it has queued, or it sees the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from windlass.engine.parts import Parts
from windlass.model.run import Run, RunStatus
from windlass.model.schedule import Overlap, Schedule
from windlass.model.time import Instant
from windlass.notify.local import queue_topic, schedules_topic
from windlass.rules import schedules as rules
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.queries.scheduled import OpenRun

TURN = "turn"  # cause in the log: the run before it is over


class Released(Struct, frozen=True, kw_only=True):
    """What goes on, to be told of after the commit."""

    runs: tuple[Run, ...] = ()
    is_unblocked: bool = False


async def lock_schedules(tx: Tx, wanted: Iterable[tuple[str, str | None]]) -> list[Schedule]:
    """The schedules of these runs, given as namespace and name, in one order for everybody. One deleted is left out."""
    names = sorted({(namespace, name) for namespace, name in wanted if name is not None})
    found = [await tx.schedules.lock(namespace, name) for namespace, name in names]
    return [schedule for schedule in found if schedule is not None]


async def release_next(tx: Tx, schedules: Sequence[Schedule], *, now: Instant) -> Released:
    """Runs of these schedules, locked here, have just ended."""
    released: list[Run] = []
    is_unblocked = False
    for schedule in schedules:
        if schedule.overlap is Overlap.ALLOW:
            continue  # nothing waits
        open = await tx.scheduled.open_runs(schedule.namespace, schedule.name)
        queued = [run for run in open if run.is_queued]
        if queued and len(queued) == len(open):
            released += await _release(tx, schedule, now=now, limit=1)
            queued = queued[1:]
        if rules.is_blocked(schedule) and not queued:
            is_unblocked = await tx.schedules.save(replace(schedule, available_at=now), was=schedule) or is_unblocked
    return Released(runs=tuple(released), is_unblocked=is_unblocked)


async def look_at_queue(tx: Tx, schedule: Schedule) -> tuple[rules.Open, Released]:
    """Its runs that are not over, if they matter.

    A run that ended while there was no row to lock, because the schedule was deleted and made anew, could not let the
    one behind it go on: that is made up for here.
    """
    if schedule.overlap is Overlap.ALLOW:
        return rules.Open(), Released()
    open = count(await tx.scheduled.open_runs(schedule.namespace, schedule.name))
    if open.admitted or not open.queued:
        return open, Released()
    released = await release_next(tx, [schedule], now=await tx.now())
    return count(await tx.scheduled.open_runs(schedule.namespace, schedule.name)), released


def count(open: Sequence[OpenRun]) -> rules.Open:
    queued = sum(run.is_queued for run in open)
    return rules.Open(admitted=len(open) - queued, queued=queued)


async def release_all(tx: Tx, schedule: Schedule, *, now: Instant) -> Released:
    """Its runs need not wait for each other any more."""
    return Released(runs=tuple(await _release(tx, schedule, now=now)))


async def _release(tx: Tx, schedule: Schedule, *, now: Instant, limit: int | None = None) -> list[Run]:
    waiting = (await tx.scheduled.lock_queued(schedule.namespace, schedule.name))[:limit]
    for run in waiting:
        is_waiting = run.status is RunStatus.WAITING  # else it is paused, and goes on when it is resumed
        due_at = Instant(max(now, run.starts_at or now))
        await tx.scheduled.release(run, status=RunStatus.PENDING if is_waiting else run.status, due_at=due_at)
        if is_waiting:
            await tx.log.append([_noted(run)])
    return waiting


def _noted(run: Run) -> NewLogEntry:
    return NewLogEntry(
        namespace=run.namespace,
        subject_kind="run",
        subject_id=run.id,
        from_status=run.status,
        to_status=RunStatus.PENDING,
        cause=TURN,
    )


def tell_of_release(parts: Parts, released: Released) -> None:
    """After the commit."""
    for namespace, queue in sorted({(run.namespace, run.queue) for run in released.runs}):
        parts.hub.publish(queue_topic(namespace, queue))
    if released.is_unblocked:
        parts.hub.publish(schedules_topic())
