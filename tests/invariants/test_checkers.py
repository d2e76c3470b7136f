"""Does every checker complain about the one thing it is there for, and about nothing else?"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.invariants import (
    test_control_checkers,
    test_graph_checkers,
    test_piped_row_checkers,
    test_pipeline_checkers,
    test_retention_checker,
    test_schedule_checkers,
    test_signal_checkers,
)
from tests.invariants.checkers import CHECKERS, judge, stores_agree
from tests.invariants.evidence import Evidence
from tests.invariants.stories import (
    DIED,
    ENDED,
    FAILED,
    FIRST,
    GIVEN_UP,
    HEALTHY,
    KEY,
    LATER,
    LINES,
    NOON,
    OFFLINE,
    PRICED,
    RUN,
    SECOND_WORKER,
    SLEEP,
    WOKEN,
    body,
    codec,
    dying_with_run,
    ending_with,
    ending_with_run,
    line,
    log,
    payload,
    run,
    step,
    with_line_changed,
    with_lines,
)
from tests.lives.journal import Event
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import RunId, RunStatus
from windlass.model.step import StepKind, StepStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.store.queries.checks import Inconsistency, RunRow


def test_a_story_without_fault_meets_no_complaint() -> None:
    assert judge(HEALTHY) == []


def complaints(number: str, evidence: Evidence) -> list[str]:
    return CHECKERS[number](evidence)


LOSER = line(Event.ANSWERED, who="worker", what="complete_step", token=1, outcome="claim_lost", at=LATER, life=2)
MISMATCH = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message="other input", step="price")


def paused(failure: Failure | None, *, token: int = 1) -> Evidence:
    """The run met a mismatch under its second claim, and is held for a person."""
    held = run(RunStatus.PAUSED, token=2, attempts=2)
    entries = (*ENDED.log[:3], log(4, "running", "paused", "mismatch", at=LATER))
    snapshot = replace(
        ENDED,
        rows=(RunRow(run=held, result_hash=None),),
        payload_rows=(payload(failure=failure),),
        steps=(replace(PRICED, token=token), SLEEP),
        log=entries,
    )
    return replace(HEALTHY, snapshots=(DIED, snapshot), lines=LINES[:8])


def released(available_at: int) -> Evidence:
    """The run was given back by its worker."""
    row = RunRow(run=run(RunStatus.PENDING, available_at=Instant(available_at)), result_hash=None)
    entries = (*DIED.log, log(3, "running", "pending", "release", at=LATER))
    return replace(HEALTHY, snapshots=(replace(DIED, rows=(row,), log=entries),), lines=LINES[:8])


def ranked(*, claimed_first: str) -> Evidence:
    """Two runs were due, the second more urgent."""
    high = RunId("run_2")
    rows = tuple(
        RunRow(run=replace(ENDED.rows[0].run, id=run_id, priority=priority, token=1, attempts=1), result_hash=b"")
        for run_id, priority in ((RUN, 0), (high, 5))
    )
    order = [RUN, high] if claimed_first == RUN else [high, RUN]
    entries = [log(1, None, "pending", "start"), log(2, None, "pending", "start", run_id=high)]
    entries += [log(3 + place, "pending", "running", "claim", run_id=run_id) for place, run_id in enumerate(order)]
    payloads = (payload(), payload(run_id=high, start_key=None, input=codec.encode(("lamp",))))
    return Evidence(snapshots=(replace(ENDED, rows=rows, log=tuple(entries), payload_rows=payloads),))


SPOILT: dict[str, tuple[str, Evidence]] = {
    "a completed step is entered in a later life": ("I-01", with_lines(body(Event.ENTERED, "price", life=2))),
    "a step is entered again after its result was used": (
        "I-01",
        with_lines(body(Event.ENTERED, "price"), before=Event.CRASHED),
    ),
    "a replay gets another output": ("I-01", with_line_changed(10, value=5)),
    "a recorded output is replaced": (
        "I-01",
        ending_with(steps=(replace(PRICED, output=codec.encode(5)), WOKEN, FAILED, GIVEN_UP)),
    ),
    "a step is completed twice": (
        "I-02",
        ending_with(steps=(*ENDED.steps, replace(PRICED, attempt=2, order=7))),
    ),
    "one key stands for two calls": (
        "I-02",
        ending_with(steps=(PRICED, WOKEN, FAILED, replace(GIVEN_UP, input_hash=b"other"))),
    ),
    "an idempotency key changes": ("I-02", with_line_changed(4, idempotency_key="other")),
    "a body runs without a reason": (
        "I-03",
        with_lines(body(Event.ENTERED, "price"), body(Event.ENTERED, "price"), before=Event.CRASHED),
    ),
    "a step that failed for good is entered again": (
        "I-04",
        replace(
            with_lines(body(Event.ENTERED, "charge", attempt=3, life=3)),
            snapshots=(DIED, ENDED, replace(ENDED, life=3)),
        ),
    ),
    "a replay raises another error": ("I-04", with_line_changed(17, value=["Refused", "no", None])),
    "a mismatch writes a step": ("I-05", paused(MISMATCH, token=2)),
    "a mismatch does not say what it is about": ("I-05", paused(replace(MISMATCH, step=""))),
    "a replay sees another value": ("I-06", with_line_changed(9, value="v")),
    "a sleep ends early": ("I-07", with_line_changed(11, at=NOON + SECOND)),
    "a crash starts a sleep anew": (
        "I-07",
        ending_with(steps=(PRICED, replace(WOKEN, due_at=Instant(LATER)), FAILED, GIVEN_UP)),
    ),
    "an accepted run is gone": ("I-08", ending_with(rows=(), log=())),
    "nobody comes for a run": (
        "I-08",
        ending_with_run(status=RunStatus.RUNNING, available_at=Instant(NOON - 60 * SECOND), finished_at=None),
    ),
    "a run is paused without a reason": ("I-08", paused(None)),
    "a run ends too late": ("I-08", replace(HEALTHY, bound_for=Duration(5 * SECOND))),
    "the end of a run changes": (
        "I-09",
        replace(HEALTHY, snapshots=(DIED, ENDED, replace(ENDED, payload_rows=(payload(output=codec.encode("paid")),)))),
    ),
    "a run leaves its end": (
        "I-09",
        ending_with(log=(*ENDED.log, log(7, "completed", "pending", "resume", at=LATER + SECOND))),
    ),
    "a status change is not in the log": ("I-10", ending_with(log=ENDED.log[:-1])),
    "a status change cannot be": (
        "I-10",
        ending_with(log=(*ENDED.log[:-1], log(6, "running", "skipped", "finish", at=LATER + SECOND))),
    ),
    "the log has a gap": ("I-10", ending_with(log=(*ENDED.log[:3], *ENDED.log[4:]))),
    "the log goes back": ("I-10", ending_with(log=(*ENDED.log[:-1], replace(ENDED.log[-1], seq=5)))),
    "the log is rewritten": (
        "I-10",
        ending_with(log=(replace(ENDED.log[0], at=Instant(NOON - 1)), *ENDED.log[1:])),
    ),
    "an input changes": (
        "I-11",
        ending_with(payload_rows=(payload(input=codec.encode(("lamp",)), output=codec.encode("refused")),)),
    ),
    "an acknowledged run is lost": ("I-12", replace(HEALTHY, snapshots=(replace(DIED, rows=(), keys=()),))),
    "a start creates two runs": (
        "I-12",
        ending_with(
            rows=(*ENDED.rows, replace(ENDED.rows[0], run=replace(ENDED.rows[0].run, id=RunId("run_2")))),
            payload_rows=(*ENDED.payload_rows, payload(run_id="run_2")),
        ),
    ),
    "a start leaves a key without a run": ("I-12", ending_with(keys=(KEY, replace(KEY, key="l", run_id="run_2")))),
    "a claim is not counted": ("I-15", ending_with_run(attempts=2)),
    "attempts go back": ("I-15", dying_with_run(attempts=4)),
    "a crash loop goes on": (
        "I-15",
        replace(
            HEALTHY,
            max_recoveries=0,
            snapshots=(
                replace(
                    ENDED,
                    rows=(RunRow(run=run(RunStatus.RUNNING, token=2, attempts=2), result_hash=None),),
                    log=ENDED.log[:3],
                ),
            ),
        ),
    ),
    "a run ends as a crash loop without one": (
        "I-15",
        ending_with(
            payload_rows=(payload(failure=replace(OFFLINE, kind=FailureKind.CRASH_LOOP)),),
        ),
    ),
    "a body of a recovered run is entered unseen": (
        "I-15",
        with_lines(body(Event.ENTERED, "pack", at=LATER, life=2), before=Event.WOKE),
    ),
    "a retry begins early": ("I-16", with_line_changed(16, at=LATER)),
    "a step is tried too often": ("I-16", replace(HEALTHY, retry_limits={"charge": 1})),
    "a failure for good is tried again": (
        "I-16",
        ending_with(
            steps=(
                PRICED,
                WOKEN,
                FAILED,
                replace(GIVEN_UP, order=None, due_at=Instant(LATER + 2 * SECOND)),
            )
        ),
    ),
    "a claim keeps the token of the one before": ("I-17", ending_with_run(token=2)),
    "a token goes back": ("I-17", dying_with_run(token=4)),
    "a run that is over is held": ("I-17", ending_with_run(worker=FIRST)),
    "a token is given twice": ("I-17", with_line_changed(15, value=[[RUN, 2]])),
    "a write under an old token is accepted": (
        "I-18",
        with_lines(replace(LOSER, outcome="ok"), before=Event.STOPPING),
    ),
    "a write under an old token is refused for the wrong reason": (
        "I-18",
        with_lines(replace(LOSER, outcome="AttributeError"), before=Event.STOPPING),
    ),
    "a holder that let go writes again": (
        "I-18",
        with_lines(
            line(Event.ANSWERED, who="worker", what="release_run", token=3, outcome="ok", life=2),
            line(Event.ANSWERED, who="worker", what="complete_step", token=3, outcome="ok", life=2),
        ),
    ),
    "a parked run is written again": (
        "I-18",
        with_lines(
            line(Event.ANSWERED, who="worker", what="suspend_run", token=3, outcome="parked", life=2),
            line(Event.ANSWERED, who="worker", what="suspend_run", token=3, outcome="ok", life=2),
        ),
    ),
    "a step is written under an old token": (
        "I-18",
        ending_with(steps=(replace(PRICED, finished_at=Instant(LATER + 1)), WOKEN, FAILED, GIVEN_UP)),
    ),
    "a worker that lost its claim writes again": (
        "I-19",
        with_lines(LOSER, replace(LOSER, event=Event.SENT, outcome=""), before=Event.STOPPING),
    ),
    "a lost claim comes back": (
        "I-19",
        with_lines(LOSER, line(Event.CLAIMED, run_id="", value=[[RUN, 1]], life=2), before=Event.STOPPING),
    ),
    "a claim is longer than its holder asked for": (
        "I-20",
        dying_with_run(available_at=Instant(NOON + 40 * SECOND)),
    ),
    "a renewal shortens a claim": (
        "I-20",
        with_lines(
            line(Event.ANSWERED, who="worker", what="renew_claim", token=1, renew_for=60 * SECOND, outcome="ok"),
            before=Event.CRASHED,
        ),
    ),
    "a claim is taken over early": (
        "I-21",
        dying_with_run(available_at=Instant(LATER + SECOND)),
    ),
    "a claim is recovered before it can have ended": (
        "I-21",
        ending_with(log=(*ENDED.log[:2], replace(ENDED.log[2], at=Instant(NOON + SECOND)), *ENDED.log[3:])),
    ),
    "time goes back": ("I-21", ending_with(log=(*ENDED.log[:-1], replace(ENDED.log[-1], at=Instant(NOON))))),
    "the less urgent run goes first": ("I-23", ranked(claimed_first=RUN)),
    "a stopping worker claims": (
        "I-25",
        with_lines(line(Event.CLAIMED, who=SECOND_WORKER, value=[[RUN, 4]], life=2), before=Event.STOPPED),
    ),
    "a stopped worker still holds a run": (
        "I-25",
        ending_with_run(status=RunStatus.RUNNING, worker=SECOND_WORKER),
    ),
    "a released run must wait": ("I-25", released(available_at=LATER + SECOND)),
    "a release counts as a crash": (
        "I-25",
        ending_with(
            log=(
                *ENDED.log[:3],
                replace(ENDED.log[3], cause="release"),
                replace(ENDED.log[4], cause="recover"),
                ENDED.log[5],
            )
        ),
    ),
    "a page of the file is damaged": ("I-65", ending_with(damage=("page 3 is never used",))),
    "two rows contradict each other": (
        "I-65",
        ending_with(inconsistencies=(Inconsistency(rule="a run has no log", namespace="default", subject=RUN),)),
    ),
}


@pytest.mark.parametrize(("number", "evidence"), SPOILT.values(), ids=SPOILT.keys())
def test_a_spoilt_story_meets_the_complaint(number: str, evidence: Evidence) -> None:
    assert complaints(number, evidence) != []


def test_every_checker_has_been_spoilt() -> None:
    stories = (
        SPOILT,
        test_control_checkers.SPOILT,
        test_graph_checkers.SPOILT,
        test_retention_checker.SPOILT,
        test_schedule_checkers.SPOILT,
        test_signal_checkers.SPOILT,
    )

    by_rows = {f"{number} by rows" for number, *_ in test_piped_row_checkers.SPOILT.values()}
    of_pipelines = {number for number, *_ in test_pipeline_checkers.SPOILT.values()}

    assert {number for spoilt in stories for number, _ in spoilt.values()} | by_rows | of_pipelines == set(CHECKERS)


def test_stories_that_are_in_order_are_left_in_peace() -> None:
    """The same stories as above without the flaw: else a checker that always complains would pass."""
    assert judge(paused(MISMATCH)) == []
    assert judge(released(available_at=LATER)) == []
    assert complaints("I-23", ranked(claimed_first="run_2")) == []
    assert complaints("I-19", with_lines(LOSER, before=Event.STOPPING)) == []
    assert complaints("I-18", with_lines(LOSER, before=Event.STOPPING)) == []


def test_a_renewal_that_was_granted_explains_a_longer_claim() -> None:
    renewed = line(Event.ANSWERED, who="worker", what="renew_claim", token=1, renew_for=60 * SECOND, outcome="ok")
    lasting = dying_with_run(available_at=Instant(NOON + 60 * SECOND))

    assert complaints("I-20", replace(lasting, lines=(*LINES[:7], renewed, *LINES[7:]))) == []


@pytest.mark.spec("invariants:I-60")
@pytest.mark.parametrize(
    "other",
    [
        replace(ENDED, steps=ENDED.steps[1:]),
        replace(ENDED, rows=()),
        replace(ENDED, keys=()),
        replace(ENDED, log=ENDED.log[:-1]),
        replace(ENDED, payload_rows=(payload(output=b"1"),)),
        replace(ENDED, steps=(*ENDED.steps[:-1], replace(GIVEN_UP, failures=3))),
    ],
    ids=["step", "run", "key", "log", "output", "count"],
)
def test_two_databases_that_differ_are_found(other: object) -> None:
    assert stores_agree(ENDED, other) != []  # type: ignore[arg-type]


def test_two_databases_that_differ_in_ids_and_numbers_only_agree() -> None:
    other_id = RunId("run_9")
    other = replace(
        ENDED,
        rows=tuple(replace(row, run=replace(row.run, id=other_id)) for row in ENDED.rows),
        payload_rows=tuple(replace(row, run_id=other_id) for row in ENDED.payload_rows),
        steps=tuple(replace(row, run_id=other_id) for row in ENDED.steps),
        keys=tuple(replace(row, run_id=other_id) for row in ENDED.keys),
        log=tuple(replace(row, subject_id=other_id, seq=row.seq + 40) for row in ENDED.log),
    )

    assert stores_agree(ENDED, other) == []


def test_an_open_sleep_is_not_taken_for_a_step_that_ended() -> None:
    waiting = step("sleep", StepStatus.WAITING, kind=StepKind.SLEEP, due_at=Instant(NOON), finished_at=None)

    assert complaints("I-01", replace(HEALTHY, snapshots=(replace(DIED, steps=(PRICED, waiting)), ENDED))) == []
