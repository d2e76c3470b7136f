"""Does the judge of several processes find what is wrong, and nothing else?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.invariants import stories, test_control_checkers
from tests.invariants.evidence import Evidence, Snapshot
from tests.invariants.processes import ALONE, TOGETHER, Crowd, count_bodies, judge_crowd
from tests.lives.journal import Event, Line
from tests.lives.journalled_work import CLAIM_LOST, OK
from tests.lives.shared_journal import SharedJournal, read_shared_journal
from windlass.model.run import LogEntry
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.runtime import SystemClock

RUN = "run_1"
LASTS_FOR = Duration(10)  # a claim, so that the next one may follow in the log
FOR_EVER = 3_600 * SECOND
# What the judge answers for: whatever else leaves its tables, none of these does.
NUMBERS = (1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 24, 57, 65)
JUDGED = {"events", *(f"I-{number:02}" for number in NUMBERS)}
OF_CONTROL = (
    "an end is accepted after the cancel",
    "a result that is not the child's",
    "a claim behind a closed gate",
    "a cancel that left no trace",
    "two events in one wait",
)


def line(event: Event, life: int, **fields: Any) -> Line:
    return Line(event=event, life=life, at=0, **{"run_id": RUN, **fields})


def claimed(life: int, token: int) -> Line:
    return line(Event.CLAIMED, life, run_id="", value=[[RUN, token]])


def entered(life: int) -> Line:
    return line(Event.ENTERED, life, key="pack", idempotency_key=f"{RUN}/pack")


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
    *lines: Line,
    steps: tuple[Step, ...] = (),
    log: tuple[LogEntry, ...] = (),
    killed: frozenset[int] = frozenset(),
    lasts_for: Duration = LASTS_FOR,
) -> Crowd:
    last = Snapshot(at=Instant(0), life=0, steps=steps, log=log)
    return Crowd(snapshots=(last,), lines=lines, killed=killed, visibility_for=lasts_for)


def write(event: Event, life: int, token: int, **fields: Any) -> Line:
    return line(event, life, token=token, **{"who": "worker", "what": "complete_step", "key": "pack", **fields})


def told(evidence: Evidence) -> Crowd:
    """A story of one process after the other, as that of a crowd."""
    return Crowd(
        snapshots=evidence.snapshots,
        lines=evidence.lines,
        killed=frozenset({1}),
        visibility_for=evidence.visibility_for,
        max_recoveries=evidence.max_recoveries,
        retry_limits=evidence.retry_limits,
    )


RECOVERED = replace(
    stories.DIED.rows[0], run=replace(stories.DIED.rows[0].run, token=2, attempts=2, worker=stories.SECOND_WORKER)
)
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
    "a beginning that is refused because its body has ended": crowd(
        *(claimed(1, 1), write(Event.SENT, 1, 1, what="begin_step"), write(Event.SENT, 1, 1)),
        *(write(Event.ANSWERED, 1, 1, outcome=OK), write(Event.ANSWERED, 1, 1, what="begin_step", outcome=CLAIM_LOST)),
        *(write(Event.SENT, 1, 1, what="finish_run", key=""),),
    ),
    "a story of one process after the other": told(stories.HEALTHY),
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
    "a step that is completed twice": (
        "I-02",
        told(stories.ending_with(steps=(*stories.ENDED.steps, replace(stories.PRICED, attempt=2, order=7)))),
    ),
    "a replay that sees another value": ("I-06", told(stories.with_line_changed(9, value="v"))),
    "a sleep that ends early": ("I-07", told(stories.with_line_changed(11, at=stories.NOON + 1))),
    "a sleep that begins anew": (
        "I-07",
        told(
            stories.ending_with(
                steps=(
                    *(stories.PRICED, stories.FAILED, stories.GIVEN_UP),
                    replace(stories.WOKEN, due_at=Instant(stories.LATER)),
                )
            )
        ),
    ),
    "a run that nobody comes for": (
        "I-08",
        told(
            replace(
                stories.HEALTHY,
                lines=stories.LINES[:8],
                snapshots=(replace(stories.DIED, at=Instant(stories.NOON + FOR_EVER)),),
            )
        ),
    ),
    "an end that changes": (
        "I-09",
        told(
            replace(
                stories.HEALTHY,
                snapshots=(
                    *stories.HEALTHY.snapshots,
                    replace(stories.ENDED, payload_rows=(stories.payload(output=b"1"),)),
                ),
            )
        ),
    ),
    "a status that the log does not know of": ("I-10", told(stories.ending_with(log=stories.ENDED.log[:-1]))),
    "a log that is rewritten": (
        "I-10",
        told(
            stories.ending_with(
                log=(replace(stories.ENDED.log[0], at=Instant(stories.NOON - 1)), *stories.ENDED.log[1:])
            )
        ),
    ),
    "an input that changes": ("I-11", told(stories.ending_with(payload_rows=(stories.payload(input=b"[2]"),)))),
    "a key without a run": (
        "I-12",
        told(stories.ending_with(keys=(stories.KEY, replace(stories.KEY, key="l", run_id="run_2")))),
    ),
    "a claim that is not counted": ("I-15", told(stories.ending_with_run(attempts=2))),
    "a crash loop that goes on": (
        "I-15",
        told(
            replace(
                stories.HEALTHY,
                max_recoveries=0,
                lines=stories.LINES[:9],
                snapshots=(replace(stories.DIED, rows=(RECOVERED,), log=stories.ENDED.log[:3]),),
            )
        ),
    ),
    "attempts that go back": ("I-15", told(stories.dying_with_run(attempts=4))),
    "a retry that begins early": ("I-16", told(stories.with_line_changed(16, at=stories.LATER))),
    "a step that is tried too often": ("I-16", told(replace(stories.HEALTHY, retry_limits={"charge": 1}))),
    "a token that goes back": ("I-17", told(stories.dying_with_run(token=4))),
    "a token that is given twice": ("I-17", crowd(claimed(1, 1), claimed(2, 1))),
    "a worker that writes again after it lost its claim": (
        "I-19",
        crowd(
            *(claimed(1, 1), claimed(2, 2), write(Event.SENT, 1, 1), write(Event.ANSWERED, 1, 1, outcome=CLAIM_LOST)),
            *(write(Event.SENT, 1, 1), write(Event.ANSWERED, 1, 1, outcome=CLAIM_LOST)),
        ),
    ),
    "a claim that is taken over early": (
        "I-21",
        told(stories.dying_with_run(available_at=Instant(stories.LATER + 1))),
    ),
    "a claim that is recovered before it can have ended": (
        "I-21",
        crowd(claimed(1, 1), claimed(2, 2), log=history("claim", "recover"), lasts_for=Duration(LASTS_FOR + 1)),
    ),
    "a damaged page on the way": (
        "I-65",
        told(
            replace(
                stories.HEALTHY,
                snapshots=(replace(stories.DIED, damage=("page 3 is never used",)), stories.ENDED),
            )
        ),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_may_happen_is_not_complained_about(name: str) -> None:
    assert judge_crowd(RIGHT[name]) == []


for spoilt in OF_CONTROL:
    WRONG[spoilt] = (test_control_checkers.SPOILT[spoilt][0], told(test_control_checkers.SPOILT[spoilt][1]))


@pytest.mark.parametrize("name", WRONG)
def test_what_must_not_happen_is_found(name: str) -> None:
    number, judged = WRONG[name]

    found = judge_crowd(judged)

    assert found
    assert {text.split()[0] for text in found} == {number}


def test_something_is_wrong_once_for_every_number() -> None:
    assert {number for number, _ in WRONG.values()} == ALONE.keys() | TOGETHER.keys() == JUDGED


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
