"""Do processes that work on one database at once keep out of each other's way? Workers here, clients there.

Nothing is killed: what is tried is what happens between two transactions of another process.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.invariants.evidence import Snapshot
from tests.invariants.processes import Crowd, judge_crowd
from tests.lives.clients import DONE
from tests.lives.journal import Event, Line
from tests.lives.shared_journal import read_shared_journal
from tests.processes.beside import LATE, NEVER, PARTS, TURNS, claimers
from tests.processes.children import Child, Nursery, until
from tests.processes.database import Database
from tests.scale import SCALE
from windlass.codec import Codec
from windlass.model.run import GONE, RunStatus

LISTENERS = 200 * SCALE
KILLED = 50 * SCALE
CANCELLED = 100 * SCALE
TOGGLED = 100 * SCALE
PARENTS = 25 * SCALE
CODEC = Codec()


class Town:
    """A database with workers and clients around it, until they have come to an end."""

    def __init__(self, database: Database, nursery: Nursery, folder: Path) -> None:
        self._database, self._nursery = database, nursery
        self._journal = folder / "journal"
        self._journal.touch()
        self.killed: set[int] = set()
        self.last: Snapshot
        self.lines: tuple[Line, ...]

    def start(self, entry: str, **arguments: Any) -> Child:
        return self._nursery.start(entry, url=self._database.url, journal=self._journal, **arguments)

    def heard(self) -> int:
        """How many answers clients have got so far."""
        return sum(line.event is Event.HEARD for line in read_shared_journal(self._journal))

    def claimers(self) -> set[str]:
        return claimers(self._journal)

    def kill(self, worker: Child) -> None:
        assert worker.end(signal.SIGKILL) == -signal.SIGKILL
        self.killed.add(worker.number)

    @contextmanager
    def workers(self, number: int) -> Iterator[list[Child]]:
        """Workers for as long as the block lasts, and then until every run has ended."""
        workers = [self.start("serve") for _ in range(number)]
        until(lambda: len(self._database.look().workers) == number, what="workers that are ready")
        yield workers
        until(lambda: all(run.status.is_terminal for run in self._database.runs()), what="the end of every run")
        living = [worker for worker in workers if worker.number not in self.killed]
        for worker in living:
            worker.send(signal.SIGTERM)
        assert [worker.wait() for worker in living] == [0] * len(living)
        self.last, self.lines = self._database.look(life=2**31), read_shared_journal(self._journal)

    def complaints(self) -> list[str]:
        return judge_crowd(Crowd(snapshots=(self.last,), lines=self.lines, killed=frozenset(self.killed)))

    def results(self, name: str) -> list[Any]:
        """What the runs of a workflow returned, in the order of what they were given."""
        found = []
        for run in self.last.runs.values():
            payload = self.last.payloads[run.id]
            if run.name == name and payload.output is not None:
                found.append((given(run.id, self.last), CODEC.decode(payload.output)))
        return [output for _, output in sorted(found)]


def given(run_id: str, snapshot: Snapshot) -> int:
    (number,) = CODEC.decode(snapshot.payloads[run_id].input, tuple[int])
    return number


@pytest.fixture
def town(database: Database, nursery: Nursery, folder: Path) -> Town:
    return Town(database, nursery, folder)


@pytest.mark.spec("invariants:I-56", "invariants:I-57")
def test_events_that_race_with_parking_are_received_once_and_in_order(town: Town, figures: list[str]) -> None:
    """Two clients start the same runs under the same keys and send the same events: of each pair one is a repeat."""
    with town.workers(1):
        clients = [town.start("send", runs=LISTENERS) for _ in range(2)]
        assert [client.wait() for client in clients] == [0, 0]

    assert town.complaints() == []
    assert town.results("listener") == [[0, 1, 2]] * LISTENERS
    assert Counter(message.taken_by is None for message in town.last.messages) == {False: 3 * LISTENERS}
    heard = Counter(line.outcome for line in town.lines if line.event is Event.HEARD)
    assert heard == {DONE: 3 * LISTENERS, "repeated": 3 * LISTENERS}
    parked = sum(entry.to_status == RunStatus.WAITING for entry in town.last.log)
    figures.append(f"events: {3 * LISTENERS} sent twice by two processes to runs that parked {parked} times")
    assert parked > 0  # else it would have proved nothing


@pytest.mark.spec("invariants:I-17", "invariants:I-57")
def test_events_are_received_once_also_by_runs_whose_worker_is_killed(town: Town, figures: list[str]) -> None:
    with town.workers(2) as workers:
        clients = [town.start("send", runs=KILLED) for _ in range(2)]
        until(lambda: town.heard() > 2 * KILLED, what="a third of the answers")
        town.kill(workers[0])
        assert [client.wait() for client in clients] == [0, 0]

    assert town.complaints() == []
    assert town.results("listener") == [[0, 1, 2]] * KILLED
    taken = sum(entry.cause in GONE for entry in town.last.log)
    figures.append(f"events: {3 * KILLED} sent twice while a worker was killed; {taken} runs were taken from it")


@pytest.mark.spec("invariants:I-13")
def test_a_run_that_is_cancelled_while_it_ends_is_one_or_the_other(town: Town, figures: list[str]) -> None:
    with town.workers(1):
        clients = [town.start("cancel", runs=CANCELLED) for _ in range(2)]
        assert [client.wait() for client in clients] == [0, 0]

    assert town.complaints() == []
    told = Counter(line.run_id for line in town.lines if (line.event, line.outcome) == (Event.HEARD, DONE))
    ended = Counter(run.status for run in town.last.runs.values())
    for run in town.last.runs.values():
        assert told[run.id] == (run.status is RunStatus.CANCELLED), run
    figures.append(f"cancel: of {CANCELLED} runs {ended[RunStatus.CANCELLED]} cancelled, each by one of two processes")
    assert set(ended) == {RunStatus.CANCELLED, RunStatus.COMPLETED}
    assert ended.total() == CANCELLED
    for run in town.last.runs.values():
        item = given(run.id, town.last)
        assert (item % NEVER, run.status) != (0, RunStatus.COMPLETED)
        assert (item % NEVER, run.status) != (LATE, RunStatus.CANCELLED)


@pytest.mark.spec("invariants:I-24")
def test_a_queue_that_is_paused_and_resumed_under_load_loses_nothing(town: Town, figures: list[str]) -> None:
    with town.workers(2):
        clients = [town.start("toggle", runs=TOGGLED) for _ in range(2)]
        assert [client.wait() for client in clients] == [0, 0]
        first, second = [client.number * TOGGLED + 2 for client in clients]  # each has its own, and they are counted up

    assert town.complaints() == []
    assert town.last.gates == ()
    assert town.results("counter") == [*range(first, first + TOGGLED), *range(second, second + TOGGLED)]
    closings = sum(entry.subject_kind == "gate" and entry.to_status == "paused" for entry in town.last.log)
    figures.append(f"pause: {closings} closings of a queue, {2 * TOGGLED} runs beside them")
    assert TURNS <= closings <= 2 * TURNS


@pytest.mark.spec("invariants:I-14")
def test_children_that_end_on_two_workers_at_once_wake_their_parent(town: Town, figures: list[str]) -> None:
    with town.workers(2):
        assert town.start("families", runs=PARENTS).wait() == 0

    assert town.complaints() == []
    counted = [[*range(item + 1, item + 1 + PARTS), 1, 2] for item in range(PARENTS)]
    assert town.results("parent") == counted
    assert len(town.last.runs) == PARENTS * (1 + PARTS + 2)
    holders = town.claimers()
    woken = sum(entry.cause == "child" and entry.from_status == "waiting" for entry in town.last.log)
    figures.append(f"children: {PARENTS * (PARTS + 2)} on {len(holders)} workers woke {PARENTS} parents {woken} times")
    assert len(holders) == 2
