"""Do three coordinators that are killed over and over fire exactly the slots of a year, each of them once?

    January to June      everything that passes is to be caught up with; time goes on while they are at work
    July to December     others beside these, of which some slots are let go: time waits until all have been looked at
    now and then         a schedule with many slots in a day, around the change of the clocks in its zone

What they should have fired is found the long way, by tests.invariants.walker.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.conformance.given import NAMESPACE
from tests.conformance.test_schedules import putting
from tests.invariants.checkers import CHECKERS
from tests.invariants.evidence import Evidence, Snapshot
from tests.invariants.walker import walk
from tests.processes.children import Child, Nursery, until
from tests.processes.coordinating import INTERVAL, SharedClock
from tests.processes.database import Database
from tests.scale import SCALE
from windlass.assembly import open_engine
from windlass.embedded import Embedded
from windlass.model.commands import CancelRun
from windlass.model.run import Run
from windlass.model.schedule import CatchUp, Overlap, Schedule, Timing
from windlass.model.schedule_commands import DeleteSchedule
from windlass.model.time import HOUR, MINUTE, SECOND, Duration, Instant
from windlass.rules.schedules import MOST_COUNTED
from windlass.runtime import system_rng
from windlass.settings import Settings
from windlass.store.base import Tx
from windlass.store.queries.checks import CheckQueries
from windlass.store.queries.scheduled import OpenRun

T = TypeVar("T")

OURS = ("I-50", "I-51", "I-52", "I-53", "I-54", "I-55")
COORDINATORS = 3
STEPS = 30 * SCALE  # of the clock, in each half of the year
KILLS_EVERY = 4  # steps
GRACE = 2 * INTERVAL
PATIENCE = 0.04  # real seconds at most until the clock goes on
OPEN_FOR = 3  # steps after which runs that must not overlap have ended

TIMES = ("30 2 * * *", "0 0 * * *", "15 0 * * *", "45 1 * * *", "30 23 * * *")  # gaps and repeats are around these
RHYTHMS = ("*/15 * * * *", "7,37 * * * *", "0 */2 * * *")


def at(month: int, day: int) -> int:
    return int(datetime(2026, month, day, tzinfo=UTC).timestamp()) * SECOND


BEGINNING, MIDDLE, END = at(1, 1), at(7, 1), at(12, 31)

# Clocks change at midnight, in the night, by half an hour, at quarters past, for a month, or never; in these days.
ZONES = {
    "America/New_York": (at(3, 5), at(3, 11)),
    "America/St_Johns": (at(3, 5), at(3, 11)),
    "Asia/Kathmandu": (at(3, 5), at(3, 11)),
    "Africa/Casablanca": (at(3, 20), at(3, 31)),
    "Asia/Beirut": (at(3, 20), at(3, 31)),
    "Europe/Rome": (at(3, 20), at(3, 31)),
    "America/Santiago": (at(4, 2), at(4, 8)),
    "Australia/Lord_Howe": (at(4, 2), at(4, 8)),
    "Pacific/Chatham": (at(4, 2), at(4, 8)),
    "Africa/Cairo": (at(4, 21), at(4, 27)),
}


@dataclass(kw_only=True)
class Planned:
    """A schedule, while it is there, and what should come of it."""

    name: str
    timing: Timing
    begins_at: int
    ends_at: int = END
    catch_up: CatchUp = CatchUp.ALL
    overlap: Overlap = Overlap.ALLOW
    made: Schedule | None = None
    expected: set[Instant] = field(default_factory=set)
    skipped: int = 0
    dropped: int = 0
    is_open: bool = False

    @cached_property
    def slots(self) -> list[Instant]:
        assert self.made is not None
        return walk(self.timing, self.made.anchor, after=Instant(self.begins_at), until=Instant(self.ends_at))

    def look(self, after: int, until: int) -> None:
        """What whoever looks at that time has to do about what has passed since the last look."""
        slots = self.slots[bisect_right(self.slots, after) : bisect_right(self.slots, until)]
        on_time = [slot for slot in slots if slot > until - GRACE]
        fired = on_time if on_time or self.catch_up is CatchUp.NONE else slots[-1:]
        dropped = len(slots) - len(fired)
        self.dropped += dropped if self.timing.every is not None else min(MOST_COUNTED, dropped)
        for slot in fired:
            if self.is_open:
                self.skipped += 1
                continue
            self.expected.add(slot)
            self.is_open = self.overlap is Overlap.SKIP


def plan() -> list[Planned]:
    """A hundred schedules, ten in each zone."""
    found = []
    for place, (zone, (begins_at, ends_at)) in enumerate(ZONES.items()):
        daily, rhythm = TIMES[place % len(TIMES)], RHYTHMS[place % len(RHYTHMS)]
        for name, timing in {
            "daily": Timing(cron=daily, tz=zone),
            "office": Timing(cron="0 9,17 * * 1-5", tz=zone),
            "weekly": Timing(cron="30 2 * * 0", tz=zone),
            "monthly": Timing(cron="0 0 1 * *", tz=zone),
            "late": Timing(cron="15 0,2 28-31 * 5", tz=zone),
            "elapsed": Timing(every=Duration((10 + place) * HOUR), tz=zone),
            "slow": Timing(every=Duration(36 * HOUR + place * MINUTE), tz=zone),
        }.items():
            found.append(Planned(name=f"{name}-{place}", timing=timing, begins_at=BEGINNING))
        found.append(
            Planned(
                name=f"dense-{place}",
                timing=Timing(cron=rhythm, tz=zone),
                begins_at=begins_at,
                ends_at=ends_at,
            )
        )
        for catch_up in (CatchUp.NONE, CatchUp.LATEST):
            found.append(
                Planned(
                    name=f"{catch_up}-{place}",
                    timing=Timing(cron=daily if catch_up is CatchUp.LATEST and place % 2 else "*/10 * * * *", tz=zone),
                    begins_at=MIDDLE,
                    catch_up=catch_up,
                    overlap=Overlap.SKIP if place % 3 == 0 else Overlap.ALLOW,
                )
            )
    return found


class Year:
    """The test's own place at the database: it makes schedules, moves the clock, and looks at what came of it."""

    def __init__(self, opened: Embedded, runner: asyncio.Runner, clock: SharedClock) -> None:
        self._opened, self._runner, self._clock = opened, runner, clock
        self.planned = plan()
        self._looked_at = BEGINNING
        self._looks = 0

    def make_and_delete(self) -> None:
        """What begins now, and what ends now."""
        now = self._clock.now()
        for each in self.planned:
            if each.begins_at == now:
                each.made = self._run(self._make(each))
            elif each.ends_at == now < END:
                self._run(self._opened.schedules.delete_schedule(DeleteSchedule(namespace=NAMESPACE, name=each.name)))

    def rest(self) -> None:
        """Wait until nothing is due any more, and note what should have come of that."""
        until(lambda: not self._read(lambda tx: tx.schedules.due(limit=1)), what="every slot is looked at")
        now, self._looks = self._clock.now(), self._looks + 1
        for each in self.planned:
            if each.made is not None and each.catch_up is not CatchUp.ALL:
                each.look(self._looked_at, now)
        self._looked_at = now
        if self._looks % OPEN_FOR == 0:
            self._end_runs()

    def evidence(self) -> Evidence:
        """Only what the checkers of schedules ask for: there is much of the rest."""

        async def read(tx: Tx) -> Snapshot:
            checks = CheckQueries(tx.connection)
            return Snapshot(
                at=Instant(self._clock.now()),
                life=1,
                rows=tuple(await checks.runs()),
                log=tuple(await checks.log()),
                schedules=tuple(await checks.schedules()),
                inconsistencies=tuple(await checks.inconsistencies()),
            )

        return Evidence(snapshots=(self._read(read),))

    async def _make(self, each: Planned) -> Schedule:
        command = putting(
            each.name, timing=each.timing, catch_up=each.catch_up, overlap=each.overlap, max_catch_up=10_000
        )
        return (await self._opened.schedules.put_schedule(command)).schedule

    def _end_runs(self) -> None:
        """Those that must not overlap: else no more of them would begin."""
        for each in self.planned:
            if each.is_open:
                (run,) = self._read(partial(_open_runs, name=each.name))
                self._run(self._opened.control.cancel_run(CancelRun(namespace=NAMESPACE, run_id=run.id)))
                each.is_open = False

    def _read(self, look: Callable[[Tx], Awaitable[T]]) -> T:
        return self._run(self._opened.engine.parts.store.read("look", look))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)


async def _open_runs(tx: Tx, *, name: str) -> list[OpenRun]:
    return await tx.scheduled.open_runs(NAMESPACE, name)


@contextmanager
def opened_year(url: str, clock: SharedClock) -> Iterator[Year]:
    with asyncio.Runner() as runner:
        opened = runner.run(open_engine(url, Settings(coordinates=False), clock=clock, rng=system_rng()))
        try:
            yield Year(opened, runner, clock)
        finally:
            runner.run(opened.close())


class Coordinators:
    """Keeps some of them alive, and kills them."""

    def __init__(self, nursery: Nursery, *, url: str, clock: Path, chance: random.Random) -> None:
        self._nursery, self._chance, self._arguments = nursery, chance, {"url": url, "clock": clock}
        self.killed = 0
        self._living = [self._start() for _ in range(COORDINATORS)]

    def strike(self) -> None:
        """Kill one of them, now and then all; others take their places at once."""
        time.sleep(self._chance.uniform(0, PATIENCE))
        is_everyone = self._chance.random() < 0.1
        for place in range(COORDINATORS) if is_everyone else [self._chance.randrange(COORDINATORS)]:
            assert self._living[place].end(signal.SIGKILL) == -signal.SIGKILL, self._living[place].complaints
            self.killed += 1
            self._living[place] = self._start()

    def leave(self) -> None:
        for each in self._living:
            each.send(signal.SIGTERM)
        assert [each.wait() for each in self._living] == [0] * COORDINATORS

    def _start(self) -> Child:
        return self._nursery.start("coordinate", **self._arguments)


def steps(chance: random.Random, start: int, end: int) -> Iterator[int]:
    """From minutes to days, up to the end; half of them to a time at which many are due."""
    mean = (MIDDLE - BEGINNING) / STEPS
    while start < end:
        start = min(end, start + MINUTE + int(chance.expovariate(1 / mean)))
        if chance.random() < 0.5:
            start = min(end, start - start % (5 * MINUTE) + 5 * MINUTE)
        yield start


@pytest.mark.spec("invariants:I-50", "invariants:I-51", "invariants:I-52", "runs:V6")
def test_killed_coordinators_fire_exactly_the_slots_of_a_year(
    database: Database, nursery: Nursery, folder: Path, figures: list[str]
) -> None:
    chance, begun_at = random.Random(f"a year on {database.name}"), time.monotonic()
    clock = SharedClock.make(folder / "clock", now=BEGINNING)
    with opened_year(database.url, clock) as year:
        year.make_and_delete()
        coordinators = Coordinators(nursery, url=database.url, clock=folder / "clock", chance=chance)
        moves = 0
        bounds = sorted({bound for each in year.planned for bound in (each.begins_at, each.ends_at)} - {BEGINNING})
        for bound in bounds:
            for now in steps(chance, clock.now(), bound):
                clock.move(now)
                moves += 1
                if moves % KILLS_EVERY == 0:
                    coordinators.strike()
                if bound > MIDDLE or now == bound:
                    year.rest()
                else:  # they are still at it
                    time.sleep(chance.uniform(0, PATIENCE))
            year.make_and_delete()
        coordinators.leave()
        evidence = year.evidence()

    runs = evidence.last.runs.values()
    figures.append(
        f"{database.name:10}  a year of {len(year.planned)} schedules: {len(runs)} slots fired by {COORDINATORS} "
        f"coordinators, {coordinators.killed} of them killed, in {moves} steps and {time.monotonic() - begun_at:.0f} s"
    )
    assert differences(year.planned, runs) == {}
    assert [text for number in OURS for text in CHECKERS[number](evidence)] == []
    assert evidence.last.inconsistencies == ()
    assert coordinators.killed >= 12
    assert counted(year.planned, evidence.last.schedules) == {}


def differences(planned: list[Planned], runs: Collection[Run]) -> dict[str, Any]:
    """Schedules with slots that are missing, that should not have been fired, or that were fired twice."""
    fired: defaultdict[str | None, Counter[int | None]] = defaultdict(Counter)
    for run in runs:
        fired[run.schedule][run.slot] += 1
    found = {}
    for each in planned:
        if each.catch_up is CatchUp.ALL:
            each.expected = set(each.slots)
        slots = fired.pop(each.name, Counter[int | None]())
        twice = {slot for slot, times in slots.items() if times > 1}
        wrong = (sorted(each.expected - slots.keys()), sorted(slots.keys() - each.expected, key=str), sorted(twice))
        if any(wrong) or not each.expected:
            found[each.name] = wrong
    return {**found, **fired}


def counted(planned: list[Planned], schedules: Iterable[Schedule]) -> dict[str, Any]:
    """Schedules that count otherwise what was fired, skipped and dropped."""
    expected = {each.name: (len(each.expected), each.skipped, each.dropped) for each in planned}
    found = {each.name: (each.fired, each.skipped, each.dropped) for each in schedules}
    return {name: (counts, expected[name]) for name, counts in found.items() if counts != expected[name]}
