"""Whether schedules fired what they had to, once and nothing else: invariants I-50 to I-55.

Each function takes evidence and answers with complaints, none if all is well. Which slots there are is found the long
way (tests.invariants.walker). Whoever fires a schedule, changes it, or ends one of its runs holds its row, so the
numbers of the log are the order in which these things happened.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from tests.invariants.evidence import Evidence, Snapshot
from tests.invariants.walker import walk
from windlass.engine.coordinator.fire_schedules import FIRED
from windlass.engine.schedule.noting import BACKFILLED, SUBJECT
from windlass.model.run import RESUMED_BY, Deed, LogEntry, Run, RunStatus
from windlass.model.schedule import CatchUp, Overlap, Schedule, ScheduleStatus
from windlass.model.time import SECOND, Instant
from windlass.rules.schedules import MOST_COUNTED

Name = tuple[str, str]  # namespace and schedule

CREATED, CHANGED, UNDECLARED = "create", "change", "undeclared"  # causes in the log
NOTED_WITHIN = SECOND  # a decision is noted in the transaction that made it, by a statement of its own
SHOWN = 3  # slots in one complaint


class Scene(Struct, frozen=True, kw_only=True):
    """Something that happened to a schedule or to one of its runs, and how the schedule stood behind it."""

    entry: LogEntry
    run: Run | None  # none: it happened to the schedule itself
    definition: Schedule | None  # none: no snapshot shows that revision of it
    is_active: bool
    since: Instant  # no slot up to here may be fired any more

    @property
    def slot(self) -> Instant | None:
        """The slot that was fired here, if this is the first entry of its run."""
        is_fired = self.run is not None and self.entry.from_status is None and self.entry.cause == FIRED
        return self.run.slot if is_fired and self.run is not None else None


def slots_are_fired_once(evidence: Evidence) -> list[str]:
    """I-50: a slot is one run, whoever looked."""
    runs: defaultdict[tuple[str, str, Instant], set[str]] = defaultdict(set)
    for snapshot in evidence.snapshots:
        for run in snapshot.runs.values():
            if run.schedule is not None and run.slot is not None:
                runs[run.namespace, run.schedule, run.slot].add(run.id)
    return [
        f"{schedule}: slot {slot} is {', '.join(sorted(ids))}"
        for (_, schedule, slot), ids in runs.items()
        if len(ids) > 1
    ]


def every_slot_is_accounted_for(evidence: Evidence) -> list[str]:
    """I-51: from its creation on every slot was fired, or skipped, or dropped; and neither without a reason."""
    found: list[str] = []
    scenes = scenes_of(evidence)
    for schedule in evidence.last.schedules:
        told = scenes.get((schedule.namespace, schedule.name), [])
        if schedule.error is None and told:
            found += _unaccounted(schedule, told)
    return found


def slots_are_those_of_the_definition(evidence: Evidence) -> list[str]:
    """I-52: what was fired is a slot of the schedule as it was then, and so is what comes next."""
    found = []
    for (_, name), scenes in scenes_of(evidence).items():
        fired: defaultdict[int, list[Instant]] = defaultdict(list)
        definitions: dict[int, Schedule] = {}
        for scene in scenes:
            if scene.slot is not None and scene.definition is not None:
                fired[scene.definition.revision].append(scene.slot)
                definitions[scene.definition.revision] = scene.definition
        for revision, slots in fired.items():
            there = _walked(definitions[revision], after=min(slots) - 1, until=max(slots))
            found += [f"{name}: fired {slot}, which is no slot of it" for slot in slots if slot not in there]
    for schedule in evidence.last.schedules:
        found += _wrong_next(schedule)
    return found


def nothing_is_fired_that_is_over(evidence: Evidence) -> list[str]:
    """I-53: nothing during a pause, nothing of what passed during one unless it was asked for, nothing of old times."""
    return [
        f"{name}: slot {scene.slot} was fired "
        + ("while it was paused or gone" if not scene.is_active else f"although everything up to {scene.since} is over")
        for (_, name), scenes in scenes_of(evidence).items()
        for scene in scenes
        if scene.slot is not None and (not scene.is_active or scene.slot <= scene.since - NOTED_WITHIN)
    ]


def runs_overlap_where_they_may(evidence: Evidence) -> list[str]:
    """I-54: where runs must not overlap, none is admitted while another is not over, and one waits at most."""
    found = []
    for (_, name), scenes in scenes_of(evidence).items():
        admitted: set[str] = set()
        queued: set[str] = set()
        for scene in scenes:
            if scene.run is None:
                continue
            run_id, status = scene.run.id, RunStatus(scene.entry.to_status)
            may_overlap = scene.definition is None or scene.definition.overlap is Overlap.ALLOW
            if status.is_terminal:
                admitted.discard(run_id)
                queued.discard(run_id)
            elif scene.entry.from_status is None and status is RunStatus.WAITING:
                queued.add(run_id)
                if len(queued) > 1 and not may_overlap:
                    found.append(f"{name}: {', '.join(sorted(queued))} are queued at once")
            elif status is RunStatus.PENDING and run_id not in admitted:
                if admitted and not may_overlap:
                    found.append(f"{name}: {run_id} was admitted while {', '.join(sorted(admitted))} was not over")
                admitted.add(run_id)
                queued.discard(run_id)
    return found


def slots_follow_each_other_whatever_the_clock_does(evidence: Evidence) -> list[str]:
    """I-55: none is fired before its time, and none after a later one, also where the clock was put back."""
    found = []
    for (_, name), scenes in scenes_of(evidence).items():
        last: dict[int | None, Instant] = {}
        for scene in scenes:
            if scene.slot is None or scene.run is None:
                continue
            revision = None if scene.definition is None else scene.definition.revision
            if scene.slot > scene.run.created_at:
                found.append(f"{name}: slot {scene.slot} was fired early, at {scene.run.created_at}")
            if scene.slot <= last.get(revision, -1):
                found.append(f"{name}: slot {scene.slot} was fired after {last[revision]}")
            last[revision] = scene.slot
    return found


# -- what happened to each schedule ----------------------------------------------------------


def scenes_of(evidence: Evidence) -> Mapping[Name, Sequence[Scene]]:
    """The story of each schedule as the last snapshot's log tells it, in order."""
    definitions = _definitions(evidence)
    runs = evidence.last.runs
    told: defaultdict[Name, list[LogEntry]] = defaultdict(list)
    for entry in evidence.last.log:
        run = runs.get(entry.subject_id) if entry.subject_kind == "run" else None
        if entry.subject_kind == SUBJECT:
            told[entry.namespace, entry.subject_id].append(entry)
        elif run is not None and run.schedule is not None:
            told[run.namespace, run.schedule].append(entry)
    return {name: list(_scenes(name, entries, runs, definitions)) for name, entries in told.items()}


def _scenes(
    name: Name,
    entries: Sequence[LogEntry],
    runs: Mapping[str, Run],
    definitions: Mapping[tuple[Name, int, int], Schedule],
) -> Iterator[Scene]:
    made, revision, is_active, is_declared = 0, 0, False, True
    since = Instant(0)
    definition: Schedule | None = None
    for entry in entries:
        if entry.subject_kind == SUBJECT:
            made += entry.cause == CREATED
            revision = 1 if entry.cause == CREATED else revision + (entry.cause == CHANGED)
            before, definition = definition, definitions.get((name, made, revision))
            is_backfill = entry.cause == RESUMED_BY and Deed.from_log(entry.data).note == BACKFILLED
            is_new = entry.cause == CREATED or (entry.cause == RESUMED_BY and not is_backfill)
            is_new |= entry.cause == CHANGED and (not is_declared or _has_other_times(before, definition))
            since = entry.at if is_new else since
            is_active = entry.to_status == ScheduleStatus.ACTIVE
            is_declared = entry.cause in (CREATED, CHANGED) or (is_declared and entry.cause != UNDECLARED)
        yield Scene(
            entry=entry,
            run=runs[entry.subject_id] if entry.subject_kind == "run" else None,
            definition=definition,
            is_active=is_active,
            since=since,
        )


def _definitions(evidence: Evidence) -> Mapping[tuple[Name, int, int], Schedule]:
    """What each schedule was, by how often one of its name was made and by its revision, as far as anybody looked."""
    found = {}
    for snapshot in evidence.snapshots:
        made = _made(snapshot)
        for schedule in snapshot.schedules:
            name = (schedule.namespace, schedule.name)
            found[name, made[name], schedule.revision] = schedule
    return found


def _made(snapshot: Snapshot) -> Counter[Name]:
    return Counter(
        (entry.namespace, entry.subject_id)
        for entry in snapshot.log
        if entry.subject_kind == SUBJECT and entry.cause == CREATED
    )


def _has_other_times(before: Schedule | None, after: Schedule | None) -> bool:
    return before is not None and after is not None and before.timing != after.timing


def _walked(schedule: Schedule, *, after: int, until: int) -> set[Instant]:
    return set(walk(schedule.timing, schedule.anchor, after=Instant(after), until=Instant(until)))


def _unaccounted(schedule: Schedule, told: Sequence[Scene]) -> Iterator[str]:
    born = max(place for place, scene in enumerate(told) if scene.entry.cause == CREATED and scene.run is None)
    scenes = told[born:]
    fired = [scene.slot for scene in scenes if scene.slot is not None]
    if len(fired) != schedule.fired:
        yield f"{schedule.name}: counts {schedule.fired} fired slots, and has runs of {len(fired)}"
    begins = [scene.since for scene in scenes if scene.run is None]
    if max(begins) > begins[0] or any(scene.entry.cause == CHANGED for scene in scenes):
        return  # what had not been looked at when it began anew is not counted
    there = _walked(schedule, after=schedule.created_at, until=schedule.last_slot)
    counted = schedule.fired + schedule.skipped + schedule.dropped
    if counted > len(there) or (counted < len(there) and schedule.dropped < MOST_COUNTED):
        missing = sorted(there - set(fired))[:SHOWN]
        yield f"{schedule.name}: {counted} of {len(there)} slots are accounted for; not fired: {missing} …"
    if schedule.skipped and schedule.overlap is not Overlap.SKIP:
        yield f"{schedule.name}: skipped {schedule.skipped} slots, and overlap is {schedule.overlap}"
    if schedule.dropped and schedule.catch_up is CatchUp.ALL and len(there) <= schedule.max_catch_up:
        yield f"{schedule.name}: dropped {schedule.dropped} slots, and all were to be caught up with"


def _wrong_next(schedule: Schedule) -> Iterator[str]:
    if schedule.available_at is None or schedule.error is not None:
        return
    there = _walked(schedule, after=schedule.last_slot, until=schedule.available_at)
    # One that had to wait for its own runs is looked at again when they have ended, whichever slot that is.
    if not there or (schedule.overlap is Overlap.ALLOW and there != {schedule.available_at}):
        yield f"{schedule.name}: due at {schedule.available_at}, and its slots behind {schedule.last_slot} are {there}"
