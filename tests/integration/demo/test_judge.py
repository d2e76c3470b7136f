"""Does the judge of the demo count right, and notice every way in which something can be lost or done again?"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from windlass.demo.journal import RETURNED, Event, Line
from windlass.demo.judge import Recorded, Verdict, Zero, judge
from windlass.demo.shop import Plan
from windlass.model.run import RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import SECOND, Instant

DEMO, FIRST, SECOND_WORKER = 1, 10, 20  # processes
PLANS = {"order": Plan(RunStatus.COMPLETED, ("pack", "ship")), "refund": Plan(RunStatus.FAILED, ("transfer",))}


def line(event: Event, at: float, pid: int, number: int, **fields: object) -> Line:
    return Line(event=event, pid=pid, number=number, at=round(at * SECOND), **fields)  # type: ignore[arg-type]


def body(
    event: Event, at: float, pid: int, number: int, *, run: str, key: str, attempt: int = 1, outcome: str = ""
) -> Line:
    return line(
        event, at, pid, number, run_id=run, key=key, attempt=attempt, outcome=outcome, idempotency_key=f"{run}/{key}"
    )


def step(
    run: str, key: str, attempt: int, status: StepStatus, *, finished: float | None, due: float | None = None
) -> Step:
    return Step(
        namespace="default",
        run_id=run,
        key=key,
        attempt=attempt,
        kind=StepKind.STEP,
        status=status,
        order=None,
        token=1,
        failures=0,
        input_hash=b"",
        output=None,
        failure=None,
        due_at=None if due is None else Instant(round(due * SECOND)),
        started_at=None,
        finished_at=None if finished is None else Instant(round(finished * SECOND)),
    )


# An order that was cut off in the middle of `ship` by a kill, and a refund that failed at its second attempt.
JOURNAL = (
    line(Event.ACCEPTED, 0.0, DEMO, 1, run_id="run_1"),
    line(Event.ACCEPTED, 0.1, DEMO, 2, run_id="run_2"),
    body(Event.ENTERED, 1.0, FIRST, 1, run="run_1", key="pack"),
    body(Event.LEFT, 1.5, FIRST, 2, run="run_1", key="pack", outcome=RETURNED),
    body(Event.ENTERED, 2.0, FIRST, 3, run="run_1", key="ship"),
    body(Event.ENTERED, 2.1, SECOND_WORKER, 1, run="run_2", key="transfer"),
    body(Event.LEFT, 2.2, SECOND_WORKER, 2, run="run_2", key="transfer", outcome="ConnectionError"),
    line(Event.KILLED, 3.0, DEMO, 3, process=FIRST, lines=3),
    body(Event.ENTERED, 4.0, SECOND_WORKER, 3, run="run_1", key="ship", attempt=2),
    body(Event.LEFT, 4.5, SECOND_WORKER, 4, run="run_1", key="ship", attempt=2, outcome=RETURNED),
    body(Event.ENTERED, 5.0, SECOND_WORKER, 5, run="run_2", key="transfer", attempt=2),
    body(Event.LEFT, 5.1, SECOND_WORKER, 6, run="run_2", key="transfer", attempt=2, outcome="ConnectionError"),
    line(Event.ENDED, 7.0, DEMO, 4, process=SECOND_WORKER, lines=6),
    line(Event.ENDED, 7.1, DEMO, 5, process=DEMO, lines=5),
)
ORDER = Recorded(
    name="order",
    status=RunStatus.COMPLETED,
    steps=(
        step("run_1", "pack", 1, StepStatus.COMPLETED, finished=1.6),
        step("run_1", "ship", 1, StepStatus.RUNNING, finished=None),
        step("run_1", "ship", 2, StepStatus.COMPLETED, finished=4.6),
    ),
)
REFUND = Recorded(
    name="refund",
    status=RunStatus.FAILED,
    steps=(
        step("run_2", "transfer", 1, StepStatus.FAILED, finished=2.3, due=3.3),
        step("run_2", "transfer", 2, StepStatus.FAILED, finished=5.2),
    ),
)
STORE = {"run_1": ORDER, "run_2": REFUND}


def judged(lines: Sequence[Line] = JOURNAL, **changes: Recorded | None) -> Verdict:
    """The verdict on a journal, with some runs of the store replaced, or taken out of it."""
    recorded = {run_id: run for run_id, run in {**STORE, **changes}.items() if run is not None}
    return judge(lines, recorded=recorded, plans=PLANS)


def found(verdict: Verdict) -> list[tuple[Zero, str]]:
    return [(finding.zero, finding.run_id) for finding in verdict.findings]


def test_a_kill_explains_a_repeat_and_everything_else_is_committed() -> None:
    verdict = judged()

    assert (verdict.started, verdict.committed, verdict.interrupted) == (5, 4, 1)
    assert verdict.findings == ()
    assert (verdict.count(Zero.AGAIN), verdict.count(Zero.LOST)) == (0, 0)


@pytest.mark.parametrize("position", range(len(JOURNAL)))
def test_a_journal_that_lacks_any_line_is_not_believed(position: int) -> None:
    verdict = judged(JOURNAL[:position] + JOURNAL[position + 1 :])

    assert verdict.findings != ()


@pytest.mark.parametrize("position", range(len(JOURNAL)))
def test_a_journal_that_has_any_line_twice_is_not_believed(position: int) -> None:
    again = JOURNAL[position]

    assert judged([*JOURNAL, again]).findings != ()
    assert judged([*JOURNAL[:position], again, *JOURNAL[position:]]).findings != ()


def test_numbers_that_no_process_has_given_are_found() -> None:
    moved = [replace(entry, number=9) if (entry.pid, entry.number) == (FIRST, 3) else entry for entry in JOURNAL]

    assert found(judged(moved)) == [(Zero.LOST, ""), (Zero.AGAIN, "")]


def test_a_body_that_is_left_with_another_key_is_found() -> None:
    lines = [replace(entry, idempotency_key="other") if entry is JOURNAL[3] else entry for entry in JOURNAL]

    assert found(judged(lines)) == [(Zero.AGAIN, "run_1")]


def test_the_last_line_of_a_dead_worker_is_missed_though_nothing_else_tells_of_it() -> None:
    # Killed before the store had seen it start: only what was counted after its death tells that there was one.
    unseen = replace(ORDER, steps=tuple(step for step in ORDER.steps if step.status is not StepStatus.RUNNING))
    again = [replace(entry, attempt=1) if entry.key == "ship" else entry for entry in JOURNAL]
    seen = replace(unseen, steps=tuple(replace(step, attempt=1) for step in unseen.steps))

    assert judged(again, run_1=seen).findings == ()
    verdict = judged([entry for entry in again if (entry.pid, entry.number) != (FIRST, 3)], run_1=seen)

    assert found(verdict) == [(Zero.LOST, "")]
    assert "lacks 1 of the 3 lines of process 10" in verdict.findings[0].text


def test_a_worker_that_was_killed_before_its_first_line_is_no_finding() -> None:
    silent = [
        line(Event.KILLED, 6.5, DEMO, 4, process=30),
        *(
            replace(entry, number=entry.number + 1, lines=6 if entry.process == DEMO else entry.lines)
            for entry in JOURNAL[-2:]
        ),
    ]

    assert judged([*JOURNAL[:-2], *silent]).findings == ()
    assert found(judged([*JOURNAL[:-2], *silent[1:]])) == [(Zero.LOST, "")]


@pytest.mark.spec("invariants:I-01")
def test_a_body_entered_after_its_commit_is_found() -> None:
    late = body(Event.ENTERED, 6.0, SECOND_WORKER, 7, run="run_1", key="pack", attempt=2)
    done = body(Event.LEFT, 6.1, SECOND_WORKER, 8, run="run_1", key="pack", attempt=2, outcome=RETURNED)

    assert found(judged([*JOURNAL, late])) == [(Zero.AGAIN, "run_1")]
    assert found(judged([*JOURNAL, late, done])) == [(Zero.AGAIN, "run_1")]
    assert found(judged([*JOURNAL, late, line(Event.KILLED, 7.0, DEMO, 4, process=SECOND_WORKER)])) != []


@pytest.mark.spec("invariants:I-01")
def test_a_store_that_forgot_the_first_commit_does_not_hide_the_second_body() -> None:
    # `pack` was done at 1.5 s, the run went on to `ship` in the same process, and then it is done once more.
    again = [
        body(Event.ENTERED, 4.1, SECOND_WORKER, 7, run="run_1", key="pack", attempt=1),
        body(Event.LEFT, 4.2, SECOND_WORKER, 8, run="run_1", key="pack", attempt=1, outcome=RETURNED),
    ]
    overwritten = replace(ORDER, steps=(replace(ORDER.steps[0], finished_at=Instant(5 * SECOND)), *ORDER.steps[1:]))

    assert found(judged([*JOURNAL, *again], run_1=overwritten)) == [(Zero.AGAIN, "run_1")]


def test_a_body_that_ended_and_was_killed_before_its_commit_is_an_interrupted_one() -> None:
    left = body(Event.LEFT, 2.9, FIRST, 4, run="run_1", key="ship", outcome=RETURNED)
    counted = [replace(entry, lines=4) if entry.event is Event.KILLED else entry for entry in JOURNAL]
    lines = sorted([*counted, left], key=lambda entry: entry.at)

    verdict = judged(lines)

    assert (verdict.started, verdict.committed, verdict.interrupted, verdict.findings) == (5, 4, 1, ())


@pytest.mark.spec("invariants:I-03")
def test_a_repeat_that_no_kill_explains_is_found() -> None:
    lines = [replace(entry, process=99) if entry.event is Event.KILLED else entry for entry in JOURNAL]

    assert found(judged(lines)) == [(Zero.AGAIN, "run_1")]


def test_a_repeat_with_another_key_is_found() -> None:
    lines = [replace(entry, idempotency_key="other") if entry.attempt == 2 else entry for entry in JOURNAL]

    assert found(judged(lines)) == [(Zero.AGAIN, "run_1")]


@pytest.mark.spec("invariants:I-12")
def test_a_run_that_was_accepted_and_is_gone_is_lost() -> None:
    assert (Zero.LOST, "run_2") in found(judged(run_2=None))


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.SLEEPING, RunStatus.PENDING, RunStatus.FAILED])
def test_a_run_that_has_not_ended_as_it_should_is_lost(status: RunStatus) -> None:
    assert found(judged(run_1=replace(ORDER, status=status))) == [(Zero.LOST, "run_1")]


def test_a_run_nobody_was_told_of_is_found() -> None:
    assert found(judged([entry for entry in JOURNAL if entry.number != 1 or entry.pid != DEMO])) == [
        (Zero.LOST, "run_1")
    ]


def test_a_step_that_is_completed_without_a_body_is_a_lie() -> None:
    lines = [entry for entry in JOURNAL if entry.key != "pack"]

    verdict = judged(lines)

    assert found(verdict) == [(Zero.LOST, "run_1")]
    assert (verdict.started, verdict.committed) == (4, 3)


def test_a_completed_run_without_one_of_its_steps_is_found() -> None:
    lines = [entry for entry in JOURNAL if entry.key != "pack"]

    assert found(judged(lines, run_1=replace(ORDER, steps=ORDER.steps[1:]))) == [(Zero.LOST, "run_1")]


def test_a_body_that_was_cut_off_and_never_repeated_is_lost() -> None:
    lines = [entry for entry in JOURNAL if entry.pid != SECOND_WORKER or entry.key != "ship"]
    stuck = replace(ORDER, status=RunStatus.RUNNING, steps=ORDER.steps[:2])

    assert set(found(judged(lines, run_1=stuck))) == {(Zero.LOST, "run_1")}


def test_an_attempt_the_store_saw_and_the_journal_does_not_know_is_found() -> None:
    lines = [entry for entry in JOURNAL if (entry.key, entry.attempt) != ("ship", 1)]

    assert found(judged(lines)) == [(Zero.LOST, "run_1")]
