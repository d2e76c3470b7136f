"""Do two coordinators that are killed over and over fire whatever a thousand items do, each of it once?

    one process      moves the items, at random
    two others       work what that fires, and kill themselves at every hook of their transactions
    the test         pauses, resumes, re-arms and changes signals meanwhile, and lets time go on

What should have fired is computed from the log alone, by what it says of items and of signals.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.integration.signals.racing import new_run
from tests.invariants.checkers import CHECKERS
from tests.invariants.evidence import Evidence, Snapshot, WatchedRows
from tests.processes.children import Child, Nursery, until
from tests.processes.coordinating import SharedClock
from tests.processes.database import Database
from tests.processes.signalling import BLOCKED, DOING, NAMESPACE, READY, opened
from tests.scale import SCALE
from windlass.embedded import Embedded
from windlass.errors import WrongState
from windlass.model.feed import Place
from windlass.model.item import CreateItem, ItemId, TransitionItem
from windlass.model.run import LogEntry, RunId
from windlass.model.signal import (
    ANY,
    CLAIM_FOR,
    FIRED,
    UPDATED,
    Action,
    ActionKind,
    CreateSignal,
    FiringStatus,
    Signal,
    SignalId,
    SignalStatus,
    SignalVerb,
    SteerSignal,
    Trigger,
    TriggerKind,
    UpdateSignal,
)
from windlass.model.time import SECOND, Duration, Instant
from windlass.store.base import Tx
from windlass.store.queries.checks import CheckQueries
from windlass.store.queries.signal_checks import SignalChecks
from windlass.testing.clock import FakeClock

ITEMS = 1_000 * SCALE
RUNS = 600 * SCALE
AT_ONCE = 16  # of what is made before the beginning
DEEDS = 20  # about signals, between two deaths
TIMES = 10  # the most hooks of one kind that a coordinator passes before it dies at the next
MOVES_OF_CLOCK = 3  # while they are killed: nothing is claimed so often that it is given up
DEATHS = 4 * SCALE  # at each hook
KILLED_IN = ("reconcile_signals", "fire_times", "claim_firings", "work_firings")
MOMENTS = ("before begin", "before commit", "after commit")
CHECKED = ("I-46", "I-47", "I-48", "I-49", "effects of signals", "examined log", "tokens of firings", "fired and lost")
ACTIONS = (
    Action(kind=ActionKind.TASK, title="Follow up"),
    Action(kind=ActionKind.START, workflow="page", queue="default"),
    Action(),
)
States = dict[SignalId, list[tuple[str, ...]]]  # what each signal has waited for, the first first
Said = dict[SignalId, tuple[str | None, bool]]  # where its subject stood when it was armed, and whether that was meant
LIVE = (SignalStatus.ARMED, SignalStatus.PAUSED)


class Site:
    """The test's own place at the database."""

    def __init__(self, engine: Embedded, runner: asyncio.Runner, clock: SharedClock) -> None:
        self._engine, self._runner, self.clock = engine, runner, clock
        self.signals: list[SignalId] = []
        self.states: States = {}
        self.said: Said = {}
        self.items: list[ItemId] = []
        self.deeds: Counter[str] = Counter()

    def furnish(self) -> None:
        self._runner.run(self._furnish())

    async def _furnish(self) -> None:
        numbers = iter(range(ITEMS))

        async def make() -> None:
            for number in numbers:
                await self._make(number)

        await asyncio.gather(*(make() for _ in range(AT_ONCE)))
        await self._arm(Trigger(kind=TriggerKind.ITEM, subject=ANY, to=("blocked",)), Action(), repeats=False)
        every = Trigger(kind=TriggerKind.TIME, every=Duration(10 * SECOND))
        for _ in range(5):
            await self._arm(every, ACTIONS[1], repeats=True)

    async def _make(self, number: int) -> None:
        """One item in progress, with a signal."""
        items = self._engine.items
        item = await items.create_item(CreateItem(namespace=NAMESPACE, title="Ship it"))
        for to in (READY, DOING):
            await items.transition_item(TransitionItem(namespace=NAMESPACE, item_id=item.id, to=to))
        trigger = Trigger(kind=TriggerKind.ITEM, subject=item.id, to=(str(BLOCKED),))
        self.items.append(item.id)
        self.signals.append(await self._arm(trigger, ACTIONS[number % len(ACTIONS)], repeats=number % 2 == 0))

    async def _arm(self, trigger: Trigger, action: Action, *, repeats: bool) -> SignalId:
        command = CreateSignal(
            namespace=NAMESPACE, trigger=trigger, action=action, repeats=repeats, allow_unknown=True, payload=b"1"
        )
        view = await self._engine.signals.create_signal(command)
        self.states[view.signal.id], self.said[view.signal.id] = [trigger.to], (view.state, view.already)
        return view.signal.id

    def arm_more(self, chance: random.Random) -> None:
        """Watch a few of the items by one more signal, while they move."""
        for item_id in chance.sample(self.items, DEEDS):
            trigger = Trigger(kind=TriggerKind.ITEM, subject=item_id, to=(str(BLOCKED), str(DOING)))
            self._runner.run(self._arm(trigger, ACTIONS[0], repeats=chance.random() < 0.5))

    def meddle(self, chance: random.Random) -> None:
        """Do something about a few signals, whatever they stand in."""
        fired = [row.id for row in self.look().watched.signal_rows if row.status is SignalStatus.FIRED]
        for signal_id in chance.sample(self.signals, DEEDS) + chance.sample(fired, min(DEEDS, len(fired))):
            try:
                self._runner.run(self._meddle(signal_id, chance))
            except WrongState:
                self.deeds["too late"] += 1  # it has fired meanwhile

    async def _meddle(self, signal_id: SignalId, chance: random.Random) -> None:
        status = (await self._engine.signals.get_signal(NAMESPACE, signal_id)).signal.status
        if status in LIVE and chance.random() < 0.3:
            to = tuple(sorted(str(state) for state in chance.sample([READY, DOING, BLOCKED], 2)))
            command = UpdateSignal(namespace=NAMESPACE, signal_id=signal_id, to=to)
            if (await self._engine.signals.update_signal(command)).has_changed:
                self.states[signal_id].append(to)
                self.deeds["changed"] += 1
        elif status is SignalStatus.ARMED:
            await self._steer(signal_id, SignalVerb.PAUSE)
        else:
            self.deeds["armed anew"] += status is SignalStatus.FIRED
            await self._steer(signal_id, SignalVerb.RESUME)

    async def _steer(self, signal_id: SignalId, verb: SignalVerb) -> None:
        await self._engine.signals.steer_signal(SteerSignal(namespace=NAMESPACE, signal_id=signal_id, verb=verb))
        self.deeds[verb] += 1

    def resume_all(self) -> None:
        """Nothing stays paused: whatever happened during a pause is to be worked."""
        for found in self.look().watched.signal_rows:
            if found.status is SignalStatus.PAUSED:
                self._runner.run(self._steer(found.id, SignalVerb.RESUME))

    def start_runs(self) -> list[RunId]:
        """The first that is claimed first."""

        async def start() -> list[RunId]:
            return [await new_run(self._engine.engine) for _ in range(RUNS)]

        return self._runner.run(start())

    def has_ended(self, run_id: RunId) -> bool:
        return self._runner.run(self._engine.runs.get_run(NAMESPACE, run_id)).run.status.is_terminal

    def watch_runs(self, runs: Sequence[RunId]) -> dict[RunId, SignalId]:
        """Arm a signal on each of them, one after the other, whatever becomes of them meanwhile."""
        triggers = {id: Trigger(kind=TriggerKind.RUN, subject=id, to=("failed",)) for id in runs}
        return {id: self._runner.run(self._arm(it, Action(), repeats=False)) for id, it in triggers.items()}

    def pass_time(self, duration: int = CLAIM_FOR + SECOND) -> None:
        """What the dead have claimed comes back."""
        self.clock.move(self.clock.now() + duration)

    def is_at_rest(self) -> bool:
        return all(row.status.is_over for row in self.look().watched.firing_rows)

    def look(self) -> Snapshot:
        """Only what this is about: there is much of the rest."""

        async def read(tx: Tx) -> Snapshot:
            checks, signals = CheckQueries(tx.connection), SignalChecks(tx.connection)
            watched = WatchedRows(
                items=tuple(await signals.items()),
                tasks=tuple(await signals.tasks()),
                signal_rows=tuple(await signals.signals()),
                firing_rows=tuple(await signals.firings()),
                cursors=await signals.cursors(),
                places=await signals.places(),
            )
            rows, payloads = tuple(await checks.runs()), tuple(await checks.payloads())
            return Snapshot(
                at=Instant(self.clock.now()),
                life=1,
                rows=rows,
                payload_rows=payloads,
                log=tuple(await checks.log()),
                watched=watched,
                inconsistencies=tuple(await checks.inconsistencies()),
            )

        return self._runner.run(self._engine.engine.parts.store.read("look", read))


@contextmanager
def open_site(url: str, clock: SharedClock, path: Path) -> Iterator[Site]:
    with asyncio.Runner() as runner:
        engine = runner.run(opened(url, str(path)))
        try:
            yield Site(engine, runner, clock)
        finally:
            runner.run(engine.close())


@pytest.mark.spec(
    "invariants:I-46", "invariants:I-47", "invariants:I-48", "invariants:I-49", "signals:47", "signals:49"
)
def test_killed_coordinators_fire_exactly_what_a_thousand_items_do(
    database: Database, nursery: Nursery, folder: Path, figures: list[str]
) -> None:
    chance, begun_at = random.Random(f"signals on {database.name}"), time.monotonic()
    path = folder / "clock"
    clock = SharedClock.make(path, now=FakeClock().now())

    def start(transaction: str = "", moment: str = "", time: int = 0) -> Child:
        where = {"transaction": transaction, "moment": moment, "time": time}
        return nursery.start("fire_signals", url=database.url, clock=path, **where)

    with open_site(database.url, clock, path) as site:
        site.furnish()
        mover = nursery.start("move_items", url=database.url, clock=path)
        points = list(product(KILLED_IN, MOMENTS)) * DEATHS
        chance.shuffle(points)
        pairs = list(zip(points[::2], points[1::2], strict=True))
        for number, pair in enumerate(pairs):
            doomed = [start(*point, chance.randint(1, TIMES)) for point in pair]
            site.arm_more(chance)
            site.meddle(chance)
            assert [each.wait() for each in doomed] == [-signal.SIGKILL] * 2, [each.complaints for each in doomed]
            if number in {len(pairs) * part // (MOVES_OF_CLOCK + 1) for part in range(1, MOVES_OF_CLOCK + 1)}:
                site.pass_time()
        assert mover.end(signal.SIGTERM) == 0, mover.complaints
        site.resume_all()
        survivors = [start(), start()]
        site.pass_time()
        until(site.is_at_rest, what="everything that fired is worked")
        assert [each.end(signal.SIGTERM) for each in survivors] == [0, 0]
        last = site.look()

    recovered = sum(row.attempt > 1 for row in last.watched.firing_rows)
    figures.append(
        f"{database.name:10}  {ITEMS} items, {moves(last)} moves: {len(last.watched.firing_rows)} firings by two "
        f"coordinators, {len(points)} of them killed, {recovered} taken over; "
        f"{', '.join(f'{count} {deed}' for deed, count in sorted(site.deeds.items()))}; "
        f"{time.monotonic() - begun_at:.0f} s"
    )
    assert wrong_firings(last, site.states) == {}
    assert wrong_answers(last, site.said, site.states) == {}
    assert wrong_effects(last) == []
    assert [text for number in CHECKED for text in CHECKERS[number](Evidence(snapshots=(last,)))] == []
    assert last.inconsistencies == ()
    assert {"pause", "resume", "changed", "armed anew"} <= site.deeds.keys()
    assert recovered > 0


@pytest.mark.spec("invariants:I-49")
def test_of_runs_that_fail_in_another_process_each_fires_or_is_said_to_have_failed_before(
    database: Database, nursery: Nursery, folder: Path, figures: list[str]
) -> None:
    chance, path = random.Random("ends"), folder / "clock"
    with open_site(database.url, SharedClock.make(path, now=FakeClock().now()), path) as site:
        runs = site.start_runs()
        children = [nursery.start("fail_runs", url=database.url, clock=path) for _ in range(2)]
        until(lambda: site.has_ended(runs[0]), what="the first run has failed")
        seen = site.watch_runs([runs[0], *chance.sample(runs[1:], RUNS // 2)])
        assert [child.wait() for child in children] == [0, 0], [child.complaints for child in children]
        last = site.look()

    late = sum(is_already for _, is_already in site.said.values())
    figures.append(f"{database.name:10}  {len(seen)} signals armed while their runs failed: {late} were too late")
    assert wrong_answers(last, site.said, site.states) == {}
    fired = Counter(row.subject_id for row in last.watched.firing_rows)
    ended = {run_id: site.said[signal_id][1] for run_id, signal_id in seen.items()}
    assert {run_id: fired[run_id] for run_id in seen} == {run_id: int(not late) for run_id, late in ended.items()}
    assert 0 < late < len(seen)


# What the log says should have fired


@dataclass
class Period:
    """From where a signal was armed to where it fired for good: what it waited for, and between which numbers."""

    pieces: list[tuple[int, float, tuple[str, ...]]] = field(default_factory=list)
    has_fired: bool = False

    def covers(self, entry: LogEntry) -> bool:
        return any(begin < entry.seq < end and entry.to_status in states for begin, end, states in self.pieces)


def periods_of(story: Sequence[LogEntry], states: Sequence[tuple[str, ...]]) -> list[Period]:
    waits_for, found, begin = iter(states), list[Period](), 0
    current = next(waits_for)
    for entry in story:
        if entry.cause == "create" or (entry.cause, entry.from_status) == ("resume", SignalStatus.FIRED):
            found.append(Period())
            begin = entry.seq
        elif entry.cause == UPDATED:
            found[-1].pieces.append((begin, entry.seq, current))
            begin, current = entry.seq, next(waits_for)
        elif entry.cause == FIRED and entry.to_status == SignalStatus.FIRED:
            found[-1].pieces.append((begin, entry.seq, current))
            found[-1].has_fired = True
    if not found[-1].has_fired:
        found[-1].pieces.append((begin, float("inf"), current))
    return found


def wrong_firings(last: Snapshot, states: States) -> dict[str, Any]:
    """Signals with causes that have no firing, two, or one that they should not have; or that did not fire for them."""
    entries: defaultdict[str, list[LogEntry]] = defaultdict(list)
    for entry in sorted(last.log, key=lambda entry: entry.seq):
        entries[entry.subject_id].append(entry)
    rows: defaultdict[str, list[tuple[int, FiringStatus]]] = defaultdict(list)
    for row in last.watched.firing_rows:
        rows[row.signal_id].append((int(row.cause), row.status))
    found: dict[str, Any] = {}
    for watching in last.watched.signal_rows:
        if watching.trigger.kind is TriggerKind.TIME:
            continue
        if watching.trigger.subject == ANY:
            wrong = _of_pattern(watching, last, rows[watching.id])
        else:
            periods = periods_of(entries[watching.id], states[watching.id])
            wrong = _of_one(watching, periods, entries[watching.trigger.subject], rows[watching.id])
        if any(wrong.values()):
            found[watching.id] = wrong
    return found


def _of_one(
    watching: Signal, periods: list[Period], moved: list[LogEntry], rows: list[tuple[int, FiringStatus]]
) -> dict[str, Any]:
    causes, ends = Counter(cause for cause, _ in rows), Counter(status for _, status in rows)
    wanted = [{entry.seq for entry in moved if period.covers(entry)} for period in periods]
    every = {cause for some in wanted for cause in some}
    fired = sum(period.has_fired for period in periods)
    due = len(every) if watching.repeats else sum(bool(some) for some in wanted)
    # A move that was on its way when the signal fired may have seen it armed: its firing comes too late.
    late = causes.keys() - every
    is_late = {cause for cause, status in rows if status is FiringStatus.SUPERSEDED}
    return {
        "missing": sorted(every - causes.keys()),
        "unasked for": sorted(late if watching.repeats else late - is_late),
        "twice": [cause for cause, times in causes.items() if times > 1],
        "not done": [] if ends[FiringStatus.DONE] == due else [ends, due],
        "not fired": [] if watching.repeats or fired == due else [fired, due],
        "not worked": sorted(set(ends) - {FiringStatus.DONE, FiringStatus.SUPERSEDED}),
    }


def _of_pattern(watching: Signal, last: Snapshot, rows: list[tuple[int, FiringStatus]]) -> dict[str, Any]:
    """Whatever stands behind it in the feed; done once for each item."""
    armed = Place(watching.armed_xid, watching.armed_seq)
    meant = [entry for entry in last.log if entry.subject_kind == "item" and entry.to_status in watching.trigger.to]
    wanted = {entry.seq: entry.subject_id for entry in meant if last.watched.places[entry.seq] > armed}
    causes = Counter(cause for cause, _ in rows)
    subjects = {entry.seq: entry.subject_id for entry in meant}
    done = Counter(subjects.get(cause, "") for cause, status in rows if status is FiringStatus.DONE)
    return {
        "missing": sorted(wanted.keys() - causes.keys()),
        "unasked for": sorted(causes.keys() - subjects.keys()),
        "twice": [cause for cause, times in causes.items() if times > 1],
        "not done": sorted(set(wanted.values()) - done.keys()),
        "done twice": [subject for subject, times in done.items() if times > 1],
    }


def wrong_answers(last: Snapshot, said: Said, states: States) -> dict[str, Any]:
    """Signals of which it was said, when they were armed, that their items stood elsewhere than they did."""
    entries: defaultdict[str, list[LogEntry]] = defaultdict(list)
    for entry in last.log:
        entries[entry.subject_id].append(entry)
    found: dict[str, Any] = {}
    for watching in last.watched.signal_rows:
        if watching.trigger.kind is TriggerKind.TIME or watching.trigger.subject == ANY:
            continue
        (armed,) = (entry.seq for entry in entries[watching.id] if entry.cause == "create")
        before = max((entry for entry in entries[watching.trigger.subject] if entry.seq < armed), key=lambda it: it.seq)
        answer = (before.to_status, before.to_status in states[watching.id][0])
        if said[watching.id] != answer:
            found[watching.id] = (said[watching.id], answer)
    return found


def wrong_effects(last: Snapshot) -> list[str]:
    """Firings that are done without having done it once, or without having told of it; and the reverse."""
    watched = last.watched
    tasks = Counter(task.firing_id for task in watched.tasks)
    runs: Counter[str | None] = Counter(row.run_id for row in watched.firing_rows if row.run_id is not None)
    told = {news.firing_id: news for _, news in last.announcements}
    found = []
    for row in watched.firing_rows:
        is_done, kind = row.status is FiringStatus.DONE, watched.signals[row.signal_id].action.kind
        added, begun = tasks[row.id], int(row.run_id in last.runs and runs[row.run_id] == 1)
        if (added, begun) != (int(is_done and kind is ActionKind.TASK), int(is_done and kind is ActionKind.START)):
            found.append(f"{row.id} is {row.status}: {added} tasks, {begun} runs, and is to {kind}")
        news, ids = told.get(row.id), (row.subject_id, row.run_id, row.task_id)
        if is_done != (news is not None):
            found.append(f"{row.id} is {row.status}, and {'not ' if news is None else ''}announced")
        elif news is not None and (news.subject_id, news.run_id, news.task_id) != ids:
            found.append(f"{row.id} is announced as {news}")
    unknown = len(last.runs) - len(runs)
    return found + ([f"{unknown} runs that nothing has fired"] if unknown else [])


def moves(last: Snapshot) -> int:
    return sum(entry.subject_kind == "item" and entry.cause == "move" for entry in last.log)
