"""Fire schedules: start a run for every slot that is due, and move on to the next.

look ──► which are due?              one read, of every namespace
     ──► which of their slots?       computed outside any transaction: that may take a while
     ──► one transaction each        the schedule under its lock, unless it was changed or fired meanwhile;
                                     its runs, its counts and its next time together

One that cannot be computed is put aside with the reason, and the others go on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from windlass.engine.parts import Parts
from windlass.engine.schedule.release import Released, look_at_queue, tell_of_release
from windlass.errors import Unavailable, WindlassError
from windlass.model.run import RunId
from windlass.model.schedule import Schedule
from windlass.model.time import SECOND, Duration, Instant
from windlass.notify.local import queue_topic
from windlass.rules import schedules as rules
from windlass.rules.schedules import Admitted, Slot
from windlass.store.base import Tx
from windlass.store.queries.scheduled import SlotRun

LOGGER = logging.getLogger("windlass.coordinator")

FIRED = "schedule"  # cause in the log


class Looked(Struct, frozen=True, kw_only=True):
    """What one pass has done."""

    at: Instant  # when it looked
    left: Instant | None = None  # since when the first is due that was seen and could not be fired now
    fired: int = 0
    is_more: bool = False  # there is more to do at once


class Fired(Struct, frozen=True, kw_only=True):
    runs: tuple[SlotRun, ...] = ()
    dropped: int = 0
    has_moved: bool = False  # its slots were decided on, whatever became of them
    is_more: bool = False
    released: Released = Released()


async def tick(parts: Parts, *, grace: Duration, batch: int) -> Looked:
    """One pass over what is due; each schedule by itself."""

    async def look(tx: Tx) -> tuple[list[Schedule], Instant]:
        return await tx.schedules.due(limit=batch), await tx.now()

    due, now = await parts.store.read("due_schedules", look)
    fired, moved, is_more, left = 0, 0, len(due) == batch, list[Instant | None]()
    for schedule in due:
        try:
            done = await _fire_one(parts, schedule, now=now, grace=grace)
        except Unavailable as error:  # of this one, or of the whole store: then that is raised here
            await parts.store.read("is_there", lambda tx: tx.now(), single=True)
            LOGGER.warning("Schedule %r cannot be fired now: %s", schedule.name, error, extra=_about(schedule))
            left.append(schedule.available_at)
            continue
        except Exception as error:  # a zone that is gone, a row that was written by hand: the others go on
            await _put_aside(parts, schedule, error)
            moved += 1
            continue
        fired += len(done.runs)
        moved += done.has_moved
        is_more = is_more or done.is_more
        if not done.has_moved:
            left.append(schedule.available_at)
    # Else the same ones would be looked at again, and nothing come of it.
    return Looked(at=now, left=min(filter(None, left), default=None), fired=fired, is_more=is_more and moved > 0)


async def _fire_one(parts: Parts, schedule: Schedule, *, now: Instant, grace: Duration) -> Fired:
    due = rules.due(schedule, now=now, grace=grace)
    # Made before the transaction: a second try creates the same runs.
    ids = {slot.at: RunId(parts.ids.run()) for slot in due.slots}

    tried: list[tuple[Schedule, Fired]] = []

    async def fire(tx: Tx) -> Fired:
        locked = await tx.schedules.lock_if_free(schedule.namespace, schedule.name)
        if locked is None or await _is_disabled(tx, schedule.namespace):
            return Fired()  # somebody else is at it; or it waits until its namespace is enabled
        if not _is_as_seen(locked, schedule):
            # Changed by somebody else, and the next look tells; or by a try of ours whose answer was lost.
            return next((done for left, done in tried if _is_as_seen(locked, left)), Fired())
        open, released = await look_at_queue(tx, locked)
        left = await _without_fired(tx, locked, due.slots)
        admitted, after = rules.decide(locked, due, left, open=open)
        at = await tx.now()
        runs = [_run(locked, slot, id=ids[slot.at], now=at) for slot in admitted]
        created = await tx.scheduled.create_runs(runs) if runs else {}
        after = replace(after, fired=after.fired + len(created))
        is_saved = await tx.schedules.save(after, was=locked)
        assert is_saved, "the row is locked here"
        done = Fired(
            runs=tuple(runs[ordinal] for ordinal in sorted(created)),
            dropped=due.dropped,
            has_moved=True,
            is_more=after.available_at is not None and after.available_at <= now,
            released=released,
        )
        tried.append((after, done))
        return done

    done = await parts.run_tx("fire_schedule", fire)
    _tell(parts, schedule, done, now=now)
    return done


async def _is_disabled(tx: Tx, namespace: str) -> bool:
    """Read behind the lock that whoever disables a namespace takes: from its commit on nothing is fired."""
    await tx.gates.share(namespace, served=())
    found = await tx.namespaces.load(namespace)
    return found is not None and not found.is_enabled


def _about(schedule: Schedule) -> dict[str, str]:
    """What a record of the log is about."""
    return {"namespace": schedule.namespace, "schedule": schedule.name}


def _is_as_seen(locked: Schedule, seen: Schedule) -> bool:
    return (locked.revision, locked.last_slot, locked.available_at) == (
        seen.revision,
        seen.last_slot,
        seen.available_at,
    )


async def _without_fired(tx: Tx, schedule: Schedule, slots: Sequence[Slot]) -> Sequence[Slot]:
    """Those that have no run. Some do after the clock was put back; nothing may be decided because of them."""
    if not slots:
        return slots
    first, last = slots[0].at, slots[-1].at
    fired = await tx.scheduled.fired_slots(schedule.namespace, schedule.name, first=first, last=last)
    return [slot for slot in slots if slot.at not in fired]


def _run(schedule: Schedule, slot: Admitted, *, id: RunId, now: Instant) -> SlotRun:
    return SlotRun(
        namespace=schedule.namespace,
        id=id,
        name=schedule.workflow,
        version=schedule.version,
        queue=schedule.queue,
        input=schedule.input,
        at=rules.start_at(schedule, slot.at, now=now),
        timeout_for=schedule.timeout_for,
        unmet=int(slot.is_queued),
        schedule=schedule.name,
        slot=slot.at,
        scheduled_at=slot.at,
        cause=FIRED,
    )


async def _put_aside(parts: Parts, schedule: Schedule, error: Exception) -> None:
    is_ours = not isinstance(error, WindlassError)
    text = "Schedule %r is put aside: %s. Correct it, or delete it."
    told = str(error).rstrip(".")
    LOGGER.error(text, schedule.name, told, exc_info=error if is_ours else None, extra=_about(schedule))

    async def save(tx: Tx) -> None:
        locked = await tx.schedules.lock(schedule.namespace, schedule.name)
        if locked is not None and _is_as_seen(locked, schedule):
            await tx.schedules.save(rules.unreadable(locked, str(error) or type(error).__name__), was=locked)

    await parts.run_tx("put_schedule_aside", save)


def _tell(parts: Parts, schedule: Schedule, done: Fired, *, now: Instant) -> None:
    if done.runs:
        parts.hub.publish(queue_topic(schedule.namespace, schedule.queue))
    tell_of_release(parts, done.released)
    if parts.observer is not None:
        for run in done.runs:
            late_for = Duration(now - (run.slot or now))
            parts.observer.schedule_fired(namespace=schedule.namespace, schedule=schedule.name, late_for=late_for)
    if done.dropped:
        _tell_of_dropped(schedule, done)
    elif done.runs:
        fired, late = len(done.runs), (now - (done.runs[0].slot or now)) / SECOND
        about = {**_about(schedule), "count": fired}
        LOGGER.debug("Schedule %r fired %d, the first %.3f s late", schedule.name, fired, late, extra=about)


def _tell_of_dropped(schedule: Schedule, done: Fired) -> None:
    many = "" if rules.is_counted_whole(schedule, dropped=done.dropped) else "at least "
    times = "1 time is" if done.dropped == 1 else f"{many}{done.dropped} times are"
    fired, catch_up, about = len(done.runs), schedule.catch_up.value, {**_about(schedule), "count": done.dropped}
    if rules.was_woken(schedule):  # what it asked for: no reason to warn anybody at each of its runs
        text = "Schedule %r waited: %s dropped (catch_up=%r), %d fired."
        LOGGER.info(text, schedule.name, times, catch_up, fired, extra=about)
        return
    text = "Schedule %r was not looked at for a while: %s dropped (catch_up=%r), %d fired."
    LOGGER.warning(text, schedule.name, times, catch_up, fired, extra=about)
