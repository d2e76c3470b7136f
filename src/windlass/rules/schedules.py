"""Which slots of a schedule are fired, which are let go, and when to look again.

    last_slot                  now - grace              now
───────┼──── missed ────────────────┼──── on time ───────┼──── next
       the catch-up policy decides    fired               available_at

A slot is on time if somebody looks within the grace. What was missed longer ago is up to the catch-up policy. What is
to be fired may still meet a run that is not over: then the overlap policy decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from windlass.errors import WrongState
from windlass.model.schedule import CatchUp, Overlap, Schedule, ScheduleStatus
from windlass.model.time import Duration, Instant
from windlass.rules.slots import count_slots, latest_slots, next_slot

MOST_AT_ONCE = 1_000  # slots decided in one transaction; the rest follows in the next one
MOST_BYTES = 32 * 1024 * 1024  # of input that one transaction writes: every run gets its own
MOST_COUNTED = 1_000  # slots of a cron expression that are let go at once: beyond that nobody counts


class Slot(Struct, frozen=True):
    at: Instant
    is_missed: bool


class Admitted(Struct, frozen=True):
    """A slot that gets its run."""

    at: Instant
    is_queued: bool  # behind the run before it


class Due(Struct, frozen=True, kw_only=True):
    """Slots to be fired, in their order."""

    missed: tuple[Instant, ...] = ()
    on_time: tuple[Instant, ...] = ()
    dropped: int = 0  # missed, and not caught up with
    until: Instant  # everything up to here is decided

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (*(Slot(at, True) for at in self.missed), *(Slot(at, False) for at in self.on_time))


class Admission(StrEnum):
    """What becomes of one slot."""

    FIRE = "fire"
    QUEUE = "queue"  # its run is created, and waits for the one before it
    SKIP = "skip"
    BLOCK = "block"  # neither now nor never: the schedule waits until one of its runs has ended


class Open(Struct, frozen=True, kw_only=True):
    """How many runs of a schedule are not over."""

    admitted: int = 0
    queued: int = 0


def due(schedule: Schedule, *, now: Instant, grace: Duration) -> Due:
    """What to do about everything up to now. Costs as much as what is fired, however much was missed."""
    last = schedule.last_slot
    late_until = Instant(max(last, now - grace))
    on_time = _first_slots(schedule, after=late_until, until=now)
    missed: list[Instant] = []
    if is_behind(schedule, until=late_until):
        missed, on_time = _caught_up(schedule, on_time, late_until=late_until, now=now)
    fired = missed or on_time
    first = Instant(fired[0] - 1) if fired else late_until
    dropped = _count(schedule, until=first) if first > last else 0
    return Due(
        missed=tuple(missed),
        on_time=tuple(on_time),
        dropped=dropped,
        until=fired[-1] if fired else Instant(max(last, now)),
    )


def is_behind(schedule: Schedule, *, until: Instant) -> bool:
    """Has a slot passed that nobody decided on: by then, or while the schedule waited for its own runs?"""
    following = next_slot(schedule.timing, schedule.anchor, after=schedule.last_slot)
    return following is not None and (following <= until or was_woken(schedule))


def _caught_up(
    schedule: Schedule, on_time: list[Instant], *, late_until: Instant, now: Instant
) -> tuple[list[Instant], list[Instant]]:
    """Nobody looked for a while: which slots are still fired, as missed ones and as one that is on time."""
    timing, anchor, last = schedule.timing, schedule.anchor, schedule.last_slot
    if schedule.catch_up is CatchUp.ALL:  # what is on time stands behind what is owed, and is owed with it
        owed = latest_slots(timing, anchor, after=last, until=now, limit=schedule.max_catch_up)
        return owed[: at_once(schedule)], []
    if on_time:  # the newest says all that the others would have said
        return [], latest_slots(timing, anchor, after=late_until, until=now, limit=1)
    wanted = int(schedule.catch_up is CatchUp.LATEST)
    return latest_slots(timing, anchor, after=last, until=late_until, limit=wanted), []


def at_once(schedule: Schedule) -> int:
    """How many slots one transaction decides on."""
    return max(1, min(MOST_AT_ONCE, MOST_BYTES // max(1, len(schedule.input))))


def _count(schedule: Schedule, *, until: Instant) -> int:
    """All of an interval, which takes one division; an expression has to be walked, so that ends somewhere."""
    timing, last = schedule.timing, schedule.last_slot
    most = MOST_COUNTED if timing.every is None else until - last  # slots are further apart than microseconds
    return count_slots(timing, schedule.anchor, after=last, until=until, most=most)


def is_counted_whole(schedule: Schedule, *, dropped: int) -> bool:
    """Is that every slot which one decision let go? Else there may have been more."""
    return schedule.timing.every is not None or dropped < MOST_COUNTED


def was_woken(schedule: Schedule) -> bool:
    """Is it due later than its slot because it waited for its own runs, or was paused?"""
    following = next_slot(schedule.timing, schedule.anchor, after=schedule.last_slot)
    return schedule.available_at is not None and following is not None and schedule.available_at > following


def _first_slots(schedule: Schedule, *, after: Instant, until: Instant) -> list[Instant]:
    """What is on time, the oldest first, as far as one transaction goes."""
    slots: list[Instant] = []
    while len(slots) < at_once(schedule):
        slot = next_slot(schedule.timing, schedule.anchor, after=slots[-1] if slots else after)
        if slot is None or slot > until:
            break
        slots.append(slot)
    return slots


def admit(schedule: Schedule, open: Open, *, is_missed: bool) -> Admission:
    """Decide on one slot, knowing which runs of the schedule are not over."""
    if schedule.overlap is Overlap.ALLOW or open == Open():
        return Admission.FIRE
    # Whoever wants all missed slots to be fired and none to overlap wants them one after the other.
    is_owed = is_missed and schedule.catch_up is CatchUp.ALL
    if schedule.overlap is Overlap.SKIP and not is_owed:
        return Admission.SKIP
    return Admission.BLOCK if open.queued else Admission.QUEUE


def after(open: Open, admission: Admission) -> Open:
    """The same count with the run of this slot in it."""
    if admission is Admission.FIRE:
        return Open(admitted=open.admitted + 1, queued=open.queued)
    return Open(admitted=open.admitted, queued=open.queued + (admission is Admission.QUEUE))


def decide(schedule: Schedule, due: Due, slots: Sequence[Slot], *, open: Open) -> tuple[list[Admitted], Schedule]:
    """Which of these slots get a run, and the schedule behind them."""
    admitted: list[Admitted] = []
    skipped, until, has_to_wait = 0, due.until, False
    for slot in slots:
        admission = admit(schedule, open, is_missed=slot.is_missed)
        if admission is Admission.BLOCK:
            until, has_to_wait = Instant(slot.at - 1), True
            break
        open = after(open, admission)
        if admission is Admission.SKIP:
            skipped += 1
        else:
            admitted.append(Admitted(slot.at, admission is Admission.QUEUE))
    behind = replace(
        schedule, last_slot=until, skipped=schedule.skipped + skipped, dropped=schedule.dropped + due.dropped
    )
    return admitted, replace(behind, available_at=None) if has_to_wait else look_next(behind)


def start_at(schedule: Schedule, slot: Instant, *, now: Instant) -> Instant:
    """When the run of a slot is due: spread by a hash of the slot, the same for whoever fires it, and never past."""
    offset = 0
    if schedule.jitter:
        spread = crc32(f"{schedule.namespace}\0{schedule.name}\0{slot}".encode()) / 2**32
        offset = int(schedule.jitter * spread)
    return Instant(max(now, slot + offset))


def look_next(schedule: Schedule) -> Schedule:
    """The same schedule, due at its next slot."""
    following = next_slot(schedule.timing, schedule.anchor, after=schedule.last_slot)
    if following is None:
        return unreadable(schedule, "it has no further time")
    return replace(schedule, available_at=following)


def unreadable(schedule: Schedule, error: str) -> Schedule:
    """Out of the way until somebody puts it right."""
    return replace(schedule, available_at=None, error=error[:500])


def is_blocked(schedule: Schedule) -> bool:
    """Does it wait for one of its own runs to end?"""
    return schedule.status is ScheduleStatus.ACTIVE and schedule.available_at is None and schedule.error is None


def pause(schedule: Schedule, *, now: Instant, by: str | None, note: str | None) -> Schedule:
    """Fire nothing until it is resumed. One that is paused stays as it is, unless nobody had asked for that."""
    if schedule.paused_at is not None:
        return schedule
    return replace(schedule, status=ScheduleStatus.PAUSED, available_at=None, paused_by=by, note=note, paused_at=now)


def resume(schedule: Schedule, *, now: Instant, backfill: bool) -> Schedule:
    """Go on with the next slot; with `backfill`, what passed meanwhile was missed, and the catch-up policy decides."""
    if not schedule.is_declared:
        raise WrongState(
            "Schedule",
            schedule.name,
            f"paused, because it is no longer declared in {schedule.declared_in}",
            wanted="one that is declared",
            hint="Declare it there again, or delete it.",
        )
    if schedule.status is ScheduleStatus.ACTIVE and schedule.error is None:
        return schedule
    return activated(schedule, last_slot=schedule.last_slot if backfill else now)


def activated(schedule: Schedule, *, last_slot: Instant) -> Schedule:
    return look_next(
        replace(
            schedule,
            status=ScheduleStatus.ACTIVE,
            last_slot=last_slot,
            error=None,
            paused_by=None,
            note=None,
            paused_at=None,
        )
    )


def undeclared(schedule: Schedule) -> Schedule:
    """Its program has started without it."""
    return replace(schedule, status=ScheduleStatus.PAUSED, is_declared=False, available_at=None)


def redefined(was: Schedule, given: Schedule, *, now: Instant) -> Schedule:
    """The definition given, standing where the old one stood.

    With other times nothing of the old ones is fired any more, and what passed is over. A person's pause stays.
    """
    kept = replace(
        given,
        anchor=was.anchor if was.timing == given.timing else given.anchor,
        revision=was.revision + 1,
        fired=was.fired,
        skipped=was.skipped,
        dropped=was.dropped,
        created_at=was.created_at,
        changed_at=now,
        last_slot=was.last_slot if was.timing == given.timing else now,
    )
    if was.paused_at is not None:
        return replace(
            kept,
            status=ScheduleStatus.PAUSED,
            available_at=None,
            paused_by=was.paused_by,
            note=was.note,
            paused_at=was.paused_at,
        )
    # Not declared for a while is paused for a while: what passed meanwhile is over.
    return activated(kept, last_slot=kept.last_slot if was.is_declared else now)


def is_same(was: Schedule, given: Schedule) -> bool:
    """Is this the definition we have? Then its times go on as they are."""
    return _definition(was) == _definition(given) and was.is_declared == given.is_declared


def _definition(schedule: Schedule) -> Sequence[object]:
    return (
        schedule.workflow,
        schedule.version,
        schedule.queue,
        schedule.input_hash,
        schedule.timeout_for,
        schedule.timing,
        schedule.catch_up,
        schedule.max_catch_up,
        schedule.overlap,
        schedule.jitter,
        schedule.declared_in,
    )
