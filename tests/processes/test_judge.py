"""Does the judge of several processes find what is wrong, and nothing else?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from windlass.model.run import LogEntry
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import Instant
from windlass.runtime import SystemClock
from windlass.testing.check_processes import TOGETHER, Crowd, count_bodies
from windlass.testing.evidence import Snapshot
from windlass.testing.journal import Event, Line
from windlass.testing.journalled_work import CLAIM_LOST, OK
from windlass.testing.processes import SharedJournal, read_shared_journal

RUN = "run_1"


def line(event: Event, life: int, **fields: Any) -> Line:
    return Line(event=event, life=life, at=0, **{"run_id": RUN, **fields})


def claimed(life: int, token: int) -> Line:
    return line(Event.CLAIMED, life, run_id="", value=[[RUN, token]])


def entered(life: int) -> Line:
    return line(Event.ENTERED, life, key="pack")


def step(token: int, *, status: StepStatus = StepStatus.COMPLETED, attempt: int = 1, at: int = 5) -> Step:
    is_done = status is StepStatus.COMPLETED
    return Step(
        namespace="default",
        run_id=RUN,
        key="pack",
        attempt=attempt,
        kind=StepKind.STEP,
        status=status,
        order=0 if is_done else None,
        token=token,
        failures=0,
        input_hash=b"",
        output=b"1" if is_done else None,
        failure=None,
        due_at=None if is_done else Instant(7),
        started_at=Instant(0),
        finished_at=Instant(at),
    )


def history(*causes: str) -> tuple[LogEntry, ...]:
    """A log in which each claim stands at ten times its place."""
    return tuple(
        LogEntry(
            seq=place,
            namespace="default",
            subject_kind="run",
            subject_id=RUN,
            from_status=None,
            to_status="running" if cause in ("claim", "recover") else "pending",
            cause=cause,
            at=Instant(place * 10),
        )
        for place, cause in enumerate(causes)
    )


def crowd(
    *lines: Line, steps: tuple[Step, ...] = (), log: tuple[LogEntry, ...] = (), killed: frozenset[int] = frozenset()
) -> Crowd:
    last = Snapshot(at=Instant(0), life=0, steps=steps, log=log)
    return Crowd(snapshots=(last,), lines=lines, killed=killed)


def write(event: Event, life: int, token: int, **fields: Any) -> Line:
    return line(event, life, token=token, what="complete_step", key="pack", **fields)


RIGHT = {
    "a body that a killed process did not finish": crowd(
        *(claimed(1, 1), entered(1), claimed(2, 2), entered(2)),
        steps=(step(2, at=25),),
        log=history("claim", "death", "claim"),
        killed=frozenset({1}),
    ),
    "a body that failed and was tried again under the same claim": crowd(
        *(claimed(1, 1), entered(1), entered(1)),
        steps=(step(1, status=StepStatus.FAILED), step(1, attempt=2)),
        log=history("claim"),
    ),
    "a worker that lost its claim enters what others have done": crowd(
        *(claimed(1, 1), claimed(2, 2), entered(2), entered(1)),
        steps=(step(2, at=25),),
        log=history("claim", "recover"),
    ),
    "an answer that is noted late": crowd(
        *(claimed(1, 1), write(Event.SENT, 1, 1), claimed(2, 2), write(Event.ANSWERED, 1, 1, outcome=OK)),
    ),
    "a stale write that is refused": crowd(
        *(claimed(1, 1), claimed(2, 2), write(Event.SENT, 1, 1), write(Event.ANSWERED, 1, 1, outcome=CLAIM_LOST)),
    ),
}
WRONG = {
    "a step that is run again after it was done": (
        "I-01",
        crowd(
            *(claimed(1, 1), entered(1), claimed(2, 2), entered(2)), steps=(step(1),), log=history("claim", "recover")
        ),
    ),
    "a result that is not the stored one": (
        "I-01",
        crowd(claimed(1, 1), line(Event.DELIVERED, 1, key="pack", value=2), steps=(step(1),), log=history("claim")),
    ),
    "a body that is entered twice for no reason": (
        "I-03",
        crowd(*(claimed(1, 1), entered(1), entered(1)), steps=(step(1),), log=history("claim", "recover")),
    ),
    "a body without a claim": ("I-03", crowd(entered(1), log=history("claim"))),
    "a living process that is declared dead": (
        "I-17",
        crowd(claimed(1, 1), claimed(2, 2), log=history("claim", "death", "claim"), killed=frozenset({2})),
    ),
    "a stale write that is taken": (
        "I-18",
        crowd(*(claimed(1, 1), claimed(2, 2), write(Event.SENT, 1, 1), write(Event.ANSWERED, 1, 1, outcome=OK))),
    ),
    "a result that was written under an old token": (
        "I-18",
        crowd(claimed(1, 1), entered(1), steps=(step(1, at=15),), log=history("claim", "recover")),
    ),
}


def complaints(judged: Crowd) -> list[str]:
    return [f"{number} {text}" for number, check in TOGETHER.items() for text in check(judged)]


@pytest.mark.parametrize("name", RIGHT)
def test_what_may_happen_is_not_complained_about(name: str) -> None:
    assert complaints(RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_must_not_happen_is_found(name: str) -> None:
    number, judged = WRONG[name]

    found = complaints(judged)

    assert found
    assert {text.split()[0] for text in found} == {number}


def test_bodies_are_counted_with_their_reasons() -> None:
    bodies = count_bodies(RIGHT["a body that a killed process did not finish"])

    assert (bodies.started, bodies.committed, bodies.repeated) == (2, 1, 1)
    assert (bodies.after_lost_claims, bodies.after_failures, bodies.unexplained) == (1, 0, 0)


def test_a_line_that_was_torn_by_a_death_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    one, other = (SharedJournal(path, number=number, clock=SystemClock()) for number in (1, 2))
    one.write(Event.ASKED, what="parcel")
    with path.open("ab") as file:
        file.write(b'\n{"event":"acked","li')  # the first process dies here
    other.write(Event.ASKED, what="parcel")
    one.close()
    other.close()

    assert [(line.event, line.life) for line in read_shared_journal(path)] == [(Event.ASKED, 1), (Event.ASKED, 2)]
