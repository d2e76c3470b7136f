"""Is anything lost or done twice while workers and clients are killed, over and over, as processes of their own?"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.invariants.evidence import Snapshot
from tests.invariants.processes import Crowd, count_bodies, judge_crowd
from tests.lives.journal import Event
from tests.lives.shared_journal import read_shared_journal
from tests.processes.children import Child, Nursery, until
from tests.processes.database import Database
from tests.processes.program import FLAKY_LIMIT, MAX_RECOVERIES, SLOTS, start_stalling
from tests.scale import SCALE
from windlass.model.run import GONE, TAKEN, RunStatus
from windlass.model.time import SECOND, Duration

WORKERS = 3
KILLS = 24 * SCALE
MOST_KILLS = 5 * KILLS  # until one of them has struck inside of a body
EVERYONE = 8  # each time after so many kills nobody is left alive
LOOK_AFTER = 6  # kills, to see the database on its way too
SHORTEST, LONGEST = 0.05, 0.3  # seconds between two of them


class Way(NamedTuple):
    """How the runs of the dead come back."""

    name: str
    causes: frozenset[str]  # in the log
    visibility: float  # seconds a claim lasts
    probe: float  # seconds between two looks for dead workers; 0: nobody looks


WAYS = (
    Way("claims run out", TAKEN - GONE, visibility=2.0, probe=0.0),
    Way("deaths are noticed", GONE, visibility=300.0, probe=1.0),  # nobody could wait for the end of such a claim
)


class Nemesis:
    """Keeps some workers and a client alive, and kills them."""

    def __init__(self, nursery: Nursery, database: Database, journal: Path, *, way: Way) -> None:
        self._nursery, self._chance = nursery, random.Random(f"kills on {database.name}")
        self._arguments = {
            "url": database.url,
            "journal": journal,
            "visibility": way.visibility,
            "probe": way.probe,
        }
        self.killed: list[int] = []
        self._workers = [self._start("work") for _ in range(WORKERS)]
        self._client = self._start("ask")

    def strike(self) -> None:
        """Kill a worker, sometimes the client, sometimes all of them; others take their places at once."""
        patience = 1 + len(self.killed) // KILLS  # where nobody lives long enough to begin anything, they live longer
        time.sleep(self._chance.uniform(SHORTEST, LONGEST) * patience)
        if len(self.killed) % EVERYONE == EVERYONE - 1:
            for victim in (*self._workers, self._client):
                self._kill(victim)
            self._workers = [self._start("work") for _ in range(WORKERS)]
            self._client = self._start("ask")
        elif self._chance.random() < 0.2:
            self._kill(self._client)
            self._client = self._start("ask")
        else:
            number = self._chance.randrange(WORKERS)
            self._kill(self._workers[number])
            self._workers[number] = self._start("work")

    def stop_asking(self) -> None:
        """Let the client leave in order. The last one has asked again for what the killed ones never heard of."""
        assert self._client.end(signal.SIGTERM) == 0

    def leave(self) -> None:
        for worker in self._workers:
            worker.send(signal.SIGTERM)
        assert [worker.wait() for worker in self._workers] == [0] * WORKERS

    def _start(self, entry: str) -> Child:
        return self._nursery.start(entry, **self._arguments)

    def _kill(self, victim: Child) -> None:
        assert victim.end(signal.SIGKILL) == -signal.SIGKILL, victim.complaints
        self.killed.append(victim.number)


@pytest.mark.spec("invariants:I-01", "invariants:I-02", "invariants:I-03", "invariants:I-07", "invariants:I-08")
@pytest.mark.spec("invariants:I-09", "invariants:I-10", "invariants:I-12", "invariants:I-16", "invariants:I-17")
@pytest.mark.spec("invariants:I-21", "invariants:I-65")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name.replace(" ", "-"))
def test_killing_processes_loses_nothing_and_repeats_nothing(
    way: Way, database: Database, nursery: Nursery, folder: Path, figures: list[str]
) -> None:
    journal = folder / "journal"
    journal.touch()
    nemesis = Nemesis(nursery, database, journal, way=way)
    snapshots: list[Snapshot] = []
    until(lambda: any(line.event is Event.ACKED for line in read_shared_journal(journal)), what="the first run")

    while len(nemesis.killed) < (KILLS if were_at_work(journal, nemesis.killed) else MOST_KILLS):
        nemesis.strike()
        if len(nemesis.killed) % LOOK_AFTER == 0:
            snapshots.append(database.look())
    nemesis.stop_asking()
    until(lambda: all(run.status.is_terminal for run in database.runs()), what="the end of every run")
    nemesis.leave()

    last = database.look(life=2**31)
    crowd = Crowd(
        snapshots=(*snapshots, last),
        lines=read_shared_journal(journal),
        killed=frozenset(nemesis.killed),
        visibility_for=Duration(round(way.visibility * SECOND)),
        max_recoveries=MAX_RECOVERIES,
        retry_limits={"book": FLAKY_LIMIT},
    )
    figures += describe(f"{database.name:10}  kill -9, {way.name}:", crowd)
    assert judge_crowd(crowd) == []
    assert {run.status for run in last.runs.values()} == {RunStatus.COMPLETED}
    # Else it would have proved nothing: runs were taken from the dead, and bodies repeated because of it.
    taken = {entry.cause for entry in last.log} & TAKEN
    assert taken
    assert taken <= way.causes
    assert count_bodies(crowd).after_lost_claims > 0


@pytest.mark.spec("invariants:I-08", "invariants:I-65")
def test_what_the_dead_held_is_in_order_while_nobody_takes_it(
    database: Database, nursery: Nursery, folder: Path
) -> None:
    journal, gate = folder / "journal", folder / "gate"
    journal.touch()
    common = {"url": database.url, "journal": journal, "gate": gate, "visibility": 300.0, "crowd": 0}

    def at_work(number: int) -> int:
        lines = read_shared_journal(journal)
        return sum(line.event is Event.ENTERED and line.life == number for line in lines)

    # Given a worker without a free slot, and another one that dies with as many runs
    start_stalling(database.url, range(1, 4 * SLOTS, 2))  # odd ones: they wait for the gate
    survivor = nursery.start("stall", **common)
    until(lambda: at_work(survivor.number) == SLOTS, what="the first worker is full")
    victim = nursery.start("stall", **common)
    until(lambda: at_work(victim.number) == SLOTS, what="the second one too")

    victim.end(signal.SIGKILL)
    until(lambda: sum(entry.cause in GONE for entry in database.look().log) == SLOTS, what="its death is noticed")
    seen = database.look()
    gate.touch()
    until(lambda: all(run.status.is_terminal for run in database.runs()), what="the end of every run")
    assert survivor.end(signal.SIGTERM) == 0, survivor.complaints

    assert Counter(run.status for run in seen.runs.values()) == {RunStatus.RUNNING: SLOTS, RunStatus.PENDING: SLOTS}
    assert (seen.inconsistencies, seen.damage) == ((), ())
    crowd = Crowd(
        snapshots=(seen, database.look(life=2**31)),
        lines=read_shared_journal(journal),
        killed=frozenset({victim.number}),
        visibility_for=Duration(300 * SECOND),
        max_recoveries=MAX_RECOVERIES,
    )
    assert judge_crowd(crowd) == []


def were_at_work(journal: Path, killed: list[int]) -> bool:
    """Whether somebody was killed inside of a body: entered, and nothing was said about its run since."""
    entered = set[tuple[int, str]]()
    for line in read_shared_journal(journal):
        if line.event is Event.ENTERED:
            entered.add((line.life, line.run_id))
        elif line.event is Event.SENT and line.what != "begin_step":
            entered.discard((line.life, line.run_id))
    return any(life in killed for life, _ in entered)


def describe(what: str, crowd: Crowd) -> list[str]:
    asked = {str(line.value) for line in crowd.lines if line.event is Event.ASKED}
    acknowledged = {line.run_id for line in crowd.lines if line.event is Event.ACKED}
    lost = acknowledged - crowd.last.runs.keys()
    at_work = crowd.killed & frozenset(crowd.holders.values())
    causes = [entry.cause for entry in crowd.last.log]
    taken = sum(cause in TAKEN for cause in causes)
    bodies = count_bodies(crowd)
    return [
        f"{what} {len(crowd.killed)} processes killed, {len(at_work)} of them after a claim; {taken} claims taken over",
        f"{what} {len(acknowledged)} of {len(asked)} runs asked for acknowledged, {len(crowd.last.runs)} exist, "
        f"{len(lost)} of {len(acknowledged)} lost",
        f"{what} {bodies.started} bodies started, {bodies.committed} committed, {bodies.repeated} repeated: "
        f"{bodies.after_lost_claims} after a lost claim, {bodies.after_failures} after a failure, "
        f"{bodies.unexplained} of {bodies.repeated} unexplained; {len(crowd.refused())} stale writes refused",
    ]
