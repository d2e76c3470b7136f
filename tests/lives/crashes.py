"""Is anything lost or done twice if we die *here*? Every hook point of a scenario is tried, one by one.

    dry run            find the points: K of them
    each point k       fresh database ─► story, killed at k ─► what was claimed is still held, the dead write nothing
                       ─► a new process on the same database, past the end of the claims, finishes everything
                       ─► every checker is asked
    pairs (k, j)       killed once more, at point j of the recovery

All of it in one process: a death is played by the store (`Store.kill`), which neither commits nor answers any more.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from tests.invariants.checkers import judge
from tests.invariants.evidence import Evidence, Snapshot
from tests.lives.faults import Faults, Moment, Point
from tests.lives.journal import Event, Journal, read_journal
from tests.lives.life import Drive, Life, lost_starts
from windlass.model.pipeline import PipelineStatus
from windlass.model.run import RunStatus, WorkerId
from windlass.model.time import SECOND, Duration, Instant
from windlass.settings import Settings
from windlass.testing.clock import FakeClock

VISIBILITY = Duration(30 * SECOND)
SETTINGS = Settings(
    visibility_for=VISIBILITY,
    poll_for=Duration(5 * SECOND),
    grace_for=Duration(6 * SECOND),
    probe_for=Duration(0),  # the dead are not noticed: what they held comes back when their claims have run out
)
NOTICED_AFTER = SECOND  # between a death and the next process
HANG_UP_TURNS = 3  # of the loop, for its sockets to be closed: an operating system does that for the dead


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A story about one feature: what is declared, and what happens to it."""

    name: str
    declare: Callable[[Life], None]
    drive: Drive
    settings: Settings = SETTINGS
    retry_limits: Mapping[str, int] = field(default_factory=dict)
    claims_last_for: Duration = VISIBILITY  # the longest of them
    endings: Mapping[str, str] = field(default_factory=dict)  # workflow: how its runs must end, whatever happens
    is_told_again: bool = False  # its clients are started anew after a crash, and go on where they got no answer

    def drive_of(self, life: int) -> Drive:
        """What happens in the first life, and in those after it."""
        return self.drive if life == 1 or self.is_told_again else recover

    def other_endings(self, last: Snapshot) -> list[str]:
        """Runs that ended in another way than their story says."""
        retried = {run.retry_of for run in last.runs.values()}  # those have ended once, and end anew
        return [
            f"{run.id}: {run.name} ended as {run.status}, not as {self.endings[run.name]}"
            for run in last.runs.values()
            if run.name in self.endings and run.status != self.endings[run.name] and run.id not in retried
        ]

    def bound_for(self, story_for: int) -> Duration:
        """Within what time everything must be over once faults have ended, if the story itself takes that long."""
        return Duration(story_for + self.claims_last_for + 2 * self.settings.poll_for + NOTICED_AFTER)


class Place(Protocol):
    """Where a story takes place: an empty database, and a way to look at it from outside."""

    url: str
    folder: Path

    def look(self, *, at: int, life: int, is_judged: bool = True) -> Snapshot: ...

    def look_at_death(self, *, at: int, life: int) -> Snapshot:
        """Look once nothing is on its way any more: what was sent before the death may still be carried out."""
        ...


@dataclass(kw_only=True)
class Case:
    """What came of one story."""

    points: list[list[Point]] = field(default_factory=list)  # of each life
    crashes: list[Point] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    evidence: Evidence
    lasted_for: int = 0  # of the last life


def play(
    scenario: Scenario,
    place: Place,
    *,
    crash_at: Sequence[Point] = (),
    bound_for: int | None = None,
    has_wakeups: bool = True,
) -> Case:
    """Tell the story, dying once at each point of `crash_at`, one life each, then finish it and judge."""
    journal = Journal(place.folder / "journal")
    now, healed_at = FakeClock().now(), None
    case = Case(evidence=Evidence(snapshots=()))
    snapshots: list[Snapshot] = []
    holders: set[WorkerId] = set()
    try:
        for number, k in enumerate([*crash_at, None]):
            clock = FakeClock(start_at=now)
            drive = scenario.drive_of(number + 1)
            died = _live(scenario, place, journal, clock, drive=drive, crash_at=k, has_wakeups=has_wakeups)
            case.points.append(died.points)
            snapshots += [*died.seen, died.left]
            case.lasted_for = clock.now() - now
            case.complaints += died.complaints
            holders |= died.holders
            if died.point is not None:
                case.complaints += not_held(died.point, holders, snapshots[-1])
            else:
                if k is not None:
                    case.complaints.append(f"{k}: never reached in life {number + 1}")
                break
            case.crashes.append(died.point)
            now = clock.now() + NOTICED_AFTER
            healed_at = Instant(now)
    finally:
        journal.close()
    case.evidence = Evidence(
        snapshots=tuple(snapshots),
        lines=read_journal(journal.path),
        visibility_for=scenario.settings.visibility_for,
        poll_for=scenario.settings.poll_for,
        max_recoveries=scenario.settings.max_recoveries,
        retry_limits=scenario.retry_limits,
        keep_for=scenario.settings.keep_for,
        healed_at=None if bound_for is None else healed_at,
        bound_for=Duration(bound_for or 0),
    )
    case.complaints += judge(case.evidence) + scenario.other_endings(case.evidence.last)
    return case


@dataclass(kw_only=True)
class Died:
    """How a life ended: at a point, or in order."""

    point: Point | None
    points: list[Point]
    holders: set[WorkerId]
    left: Snapshot  # what it left behind
    seen: list[Snapshot] = field(default_factory=list)  # how it stood when the story looked at it
    complaints: list[str] = field(default_factory=list)


def _live(
    scenario: Scenario,
    place: Place,
    journal: Journal,
    clock: FakeClock,
    *,
    drive: Drive,
    crash_at: Point | None,
    has_wakeups: bool,
) -> Died:
    """Play one process on a loop of its own. If it dies, its loop is left as it stands, looked at, and taken away."""
    journal.begin_life(clock)
    runner, dead = asyncio.Runner(), asyncio.Event()
    loop = runner.get_loop()

    def on_crash(point: Point) -> None:
        journal.write(Event.CRASHED, what=str(point))
        journal.end_life()
        loop.call_soon_threadsafe(dead.set)

    faults = Faults(crash_at=crash_at, on_crash=on_crash)
    life = Life(place.url, journal, settings=scenario.settings, clock=clock, faults=faults)
    scenario.declare(life)
    try:
        runner.run(_until_dead(life, drive, dead, has_wakeups=has_wakeups))
        journal.end_life()
        look = place.look if faults.crashed is None else place.look_at_death
        left = look(at=clock.now(), life=journal.life)
    finally:
        _take_away(runner, life)
    died = Died(point=faults.crashed, points=faults.points, holders=life.holders, left=left, seen=life.seen)
    rows = replace(left, inconsistencies=(), damage=())  # to see that they are the same still is half the price
    if place.look(at=clock.now(), life=journal.life, is_judged=False) != rows:
        died.complaints.append(f"{faults.crashed}: something was written after the end")
    return died


def _take_away(runner: asyncio.Runner, life: Life) -> None:
    with warnings.catch_warnings():
        # Tasks that had not begun yet never will.
        warnings.filterwarnings("ignore", message="coroutine .* was never awaited", category=RuntimeWarning)
        runner.run(life.abandon())
    runner.close()


async def _until_dead(life: Life, drive: Drive, dead: asyncio.Event, *, has_wakeups: bool) -> None:
    async def tell() -> None:
        await life.open(has_wakeups=has_wakeups)
        await drive(life)
        await life.finish()

    story, death = asyncio.create_task(tell()), asyncio.create_task(dead.wait())
    await asyncio.wait([story, death], return_when=asyncio.FIRST_COMPLETED)
    if not dead.is_set():
        death.cancel()
        await story
        return
    for _ in range(HANG_UP_TURNS):
        await asyncio.sleep(0)


async def recover(life: Life) -> None:
    """A new process: it waits for what the dead one still holds, and clients ask again where they got no answer."""
    await life.hire()
    await life.settle()
    await life.ask_again(lost_starts(read_journal(life.journal.path)))


def not_held(point: Point, holders: set[WorkerId], snapshot: Snapshot) -> list[str]:
    """A process that is killed releases nothing: what it had claimed is running, under its name and its token."""
    claimed = [run for run in snapshot.runs.values() if snapshot.histories[run.id][-1].to_status == RunStatus.RUNNING]
    found = [
        f"{point}: {run.id} was claimed, and is not held by the dead worker any more"
        for run in claimed
        if run.status is not RunStatus.RUNNING
        or run.worker not in holders
        or run.token != len(snapshot.claims[run.id])
        or run.available_at is None
    ]
    found += [
        f"{point}: {pipeline.name} is at work, and is not held by the dead worker any more"
        for pipeline in snapshot.piped.pipelines.values()
        if pipeline.status is PipelineStatus.RUNNING and pipeline.worker not in holders
    ]
    is_claim = point.moment is Moment.AFTER_COMMIT and point.transaction == "claim_runs"
    # A claim that was told of work may come too late and find none. Then it has written nothing.
    has_claimed = any(entry.cause in ("claim", "recover") for entry in snapshot.log[-1:])
    if is_claim and has_claimed and not claimed:
        found.append(f"{point}: nothing is held after a claim")
    return found
