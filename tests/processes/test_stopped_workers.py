"""What can a worker do that stood still for longer than its claims lasted, and then goes on?"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.invariants.processes import Crowd, judge_crowd
from tests.lives.journal import Event, Line
from tests.lives.journalled_work import CLAIM_LOST
from tests.lives.shared_journal import read_shared_journal
from tests.processes.children import Nursery, until
from tests.processes.database import Database
from tests.processes.program import MAX_RECOVERIES, start_stalling
from tests.scale import SCALE
from windlass.model.run import TAKEN, RunStatus
from windlass.model.time import SECOND, Duration

WRITES = ("begin_step", "complete_step", "finish_run")  # before which it stops
RUNS = 2 * len(WRITES)  # half of them are over when the worker goes on, half are in other hands
TIMES = SCALE
SHORT, LONG = 5.0, 300.0  # seconds a claim lasts: the one to run out, and the one of those who take over


@pytest.mark.spec("invariants:I-17", "invariants:I-18", "invariants:I-19", "invariants:I-21", "invariants:I-65")
@pytest.mark.parametrize("time", range(TIMES))
def test_a_worker_that_stood_still_beyond_its_claims_writes_nothing(
    time: int, database: Database, nursery: Nursery, folder: Path, figures: list[str]
) -> None:
    journal, gate = folder / "journal", folder / "gate"
    journal.touch()
    common = {"url": database.url, "journal": journal, "gate": gate}

    def lines(event: Event, number: int) -> list[Line]:
        return [line for line in read_shared_journal(journal) if line.event is event and line.life == number]

    def stale(event: Event) -> list[Line]:
        return [line for line in lines(event, stopped.number) if line.what in WRITES]

    # Given a worker that stops when it is about to write about every run, and another one that takes the runs over
    ids = {id: what for what in WRITES for id in start_stalling(database.url, range(2), what=what)}
    stopped = nursery.start("stall", visibility=SHORT, crowd=RUNS, **common)
    until(lambda: stopped.is_stopped, what="the worker stands still")
    other = nursery.start("stall", visibility=LONG, crowd=0, **common)
    until(lambda: len(lines(Event.ENTERED, other.number)) == RUNS, what="another one is inside every body")
    until(lambda: sum(run.status.is_terminal for run in database.runs()) == RUNS // 2, what="half of them are over")
    before = database.look()

    # When the first one goes on
    stopped.send(signal.SIGCONT)
    until(lambda: len(stale(Event.ANSWERED)) == RUNS, what="its writes are answered")

    # Then each of them was sent, under a token that is old, and refused; nothing of it stands in the store
    after = database.look()
    refused = [line for line in stale(Event.ANSWERED) if line.outcome == CLAIM_LOST]
    for what in WRITES:
        sent, told = ([line.run_id for line in which if line.what == what] for which in (stale(Event.SENT), refused))
        figures.append(f"{database.name:10}  SIGSTOP: {len(told)} of {len(sent)} stale {what} refused")
        assert sorted(told) == sorted(sent) == sorted(id for id in ids if ids[id] == what)
    assert all(line.token < len(after.claims[line.run_id]) == after.runs[line.run_id].token for line in refused)
    assert (after.rows, after.steps, after.payload_rows, after.log) == (
        before.rows,
        before.steps,
        before.payload_rows,
        before.log,
    )

    # … and the other one finishes the rest, while the first one is as good a worker as any
    gate.touch()
    until(lambda: all(run.status.is_terminal for run in database.runs()), what="the end of every run")
    assert other.end(signal.SIGTERM) == 0, other.complaints
    (late,) = start_stalling(database.url, range(-1, 0))
    until(lambda: database.look().runs[late].status.is_terminal, what="a run of the first worker")
    assert stopped.end(signal.SIGTERM) == 0, stopped.complaints
    last = database.look(life=2**31)
    outputs = {run_id: payload.output for run_id, payload in last.payloads.items()}
    assert outputs == {**dict.fromkeys(ids, b"%d" % other.number), late: b"%d" % stopped.number}
    assert {run.status for run in last.runs.values()} == {RunStatus.COMPLETED}
    # Standing still is not death: nobody took the claims before they had run out.
    assert [entry.cause for entry in last.log if entry.cause in TAKEN] == ["recover"] * RUNS
    crowd = Crowd(
        snapshots=(before, after, last),
        lines=read_shared_journal(journal),
        killed=frozenset(),
        visibility_for=Duration(round(SHORT * SECOND)),
        max_recoveries=MAX_RECOVERIES,
    )
    assert judge_crowd(crowd) == []
