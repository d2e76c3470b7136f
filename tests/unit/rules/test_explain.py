"""Does the rule behind `explain` find the right reason, whatever else is true of the run?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.cli.samples import FAILURE, a_log, a_run, a_step, at
from windlass.model.explanation import Explanation, Situation
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import RunStatus, RunView, WorkerId
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.worker import LockKind, Served, Worker
from windlass.rules.explain import Facts, explain

HOLDER = WorkerId("wrk_A")


def a_worker(**changes: Any) -> Worker:
    fields: dict[str, Any] = {
        "namespace": "default",
        "id": HOLDER,
        "host": "alpha",
        "pid": 71,
        "served": (Served("default", "order"),),
        "slots": 2,
        "active": 0,
        "completed": 0,
        "failed": 0,
        "started_at": at(0),
        "seen_at": at(0),
    }
    return Worker(**{**fields, **changes})


def told(
    status: RunStatus,
    *,
    steps: tuple[Step, ...] = (),
    workers: tuple[Worker, ...] = (),
    cause: str = "",
    failure: Failure | None = None,
    now: float = 10,
    known: dict[str, Any] | None = None,
    **run: Any,
) -> Explanation:
    """Explain a run that came into its status at noon; `known` is whatever else the store knows."""
    facts = Facts(
        view=RunView(run=a_run(status, **{"end": None, **run}), failure=failure),
        steps=steps,
        log=tuple(a_log((0, status.value, cause))),
        workers=workers,
        now=at(now),
    )
    return explain(replace(facts, **(known or {})))


@pytest.mark.spec("invariants:I-08")
@pytest.mark.parametrize("status", RunStatus)
@pytest.mark.parametrize("due", [None, -5, 5])
def test_every_status_has_an_explanation(status: RunStatus, due: float | None) -> None:
    found = told(status, available_at=None if due is None else at(10 + due), worker=HOLDER)

    assert found.text.startswith(("It ", "A worker ", "Worker "))
    assert found.title == f"Run {found.run_id} ('order') is {status.value}."
    assert str(found) == f"{found.title} {found.text}"


def test_a_run_that_waits_for_what_no_step_names_says_since_when() -> None:
    found = told(RunStatus.WAITING)

    assert (found.code, found.text) == (
        Situation.WAITING,
        "It has waited since 12:00:00 UTC (10 s) for what it needs, or for an event without a deadline.",
    )


def test_other_endings_are_told_with_their_time() -> None:
    skipped, cancelled = told(RunStatus.SKIPPED, end=4), told(RunStatus.CANCELLED, end=4)

    assert (skipped.code, skipped.text) == ("skipped", "It ended at 12:00:04 UTC, 6 s ago.")
    assert (cancelled.code, cancelled.text) == ("cancelled", "It was cancelled at 12:00:04 UTC, 6 s ago.")


def test_a_wait_of_a_branch_that_was_given_up_is_not_what_wakes_the_run() -> None:
    given_up = a_step("sleep", 0, None, kind=StepKind.SLEEP, status=StepStatus.WAITING, due_at=at(20))
    meant = a_step("charge", 0, 1, status=StepStatus.FAILED, failure=FAILURE, due_at=at(60))

    found = told(RunStatus.PENDING, steps=(given_up, meant), cause="step", available_at=at(60))

    assert (found.code, found.step) == (Situation.BACKING_OFF, "charge")


def test_an_old_wait_is_not_why_a_run_that_was_given_back_rests() -> None:
    slept = a_step("sleep", 0, None, kind=StepKind.SLEEP, status=StepStatus.WAITING, due_at=at(5))

    found = told(RunStatus.PENDING, steps=(slept,), cause="release", available_at=at(15))

    assert (found.code, found.until) == (Situation.GIVEN_BACK, at(15))


def test_a_run_whose_workers_keep_dying_says_so_while_it_waits_and_when_it_is_due() -> None:
    died = "Its workers died 3 times in a row; the last time was noticed at 12:00:00 UTC, 10 s ago. "

    rests = told(RunStatus.PENDING, cause="death", recoveries=3, available_at=at(14))
    due = told(RunStatus.PENDING, cause="death", recoveries=3, available_at=at(4))

    assert (rests.code, rests.until) == (Situation.WORKERS_DYING, at(14))
    assert rests.text == (
        f"{died}It may be what kills them, so it waits longer each time; it goes on at 12:00:14 UTC, in 4 s."
    )
    assert due.code is Situation.NO_WORKER
    assert due.text.startswith(f"{died}It has been due for 6 s. No live worker runs 'order'.")


def test_only_bodies_entered_under_this_claim_are_at_work() -> None:
    before = a_step("pack", 1, None, token=1)
    one, other = a_step("charge", 4, None), a_step("mail", 6, None)
    held: dict[str, Any] = {"available_at": at(300), "worker": HOLDER, "workers": (a_worker(),)}

    alone = told(RunStatus.RUNNING, steps=(before, one), **held)
    both = told(RunStatus.RUNNING, steps=(before, other, one), **held)

    assert alone.text.endswith(" Step 'charge' (attempt 1) has been at work for 6 s.")
    assert both.text.endswith(" 2 steps are at work; step 'charge' (attempt 1) has been at work for 6 s.")
    assert both.step == "charge"


@pytest.mark.parametrize(
    ("lock", "others", "words"),
    [
        (None, (), "Nothing but its silence tells whether it is dead. Its claim lasts until"),
        (LockKind.FILE, (), "the next worker that serves 'order' notices it by its free lock, but none"),
        (
            LockKind.FILE,
            ("order",),
            "noticed within a second or two by its free lock, so it is probably stopped or stuck",
        ),
        (LockKind.SESSION, ("order",), "A dead one would normally be noticed within a second or two by its free lock"),
        (LockKind.SESSION, ("other",), "but none is alive. Start one: windlass worker MODULE:APP"),
    ],
)
def test_what_becomes_of_a_silent_holder_depends_on_its_lock(
    lock: LockKind | None, others: tuple[str, ...], words: str
) -> None:
    beside = tuple(a_worker(id=WorkerId("wrk_B"), seen_at=at(60), served=(Served("default", name),)) for name in others)

    found = told(
        RunStatus.RUNNING,
        workers=(a_worker(lock=lock), *beside),
        worker=HOLDER,
        available_at=at(300),
        now=60,
    )

    assert (found.code, found.worker, found.until) == (Situation.HELD_SILENT, HOLDER, at(300))
    assert "has been silent for 1 min. " in found.text
    assert words in found.text


@pytest.mark.parametrize(
    ("stopped_after", "code", "words"),
    [
        (10, Situation.HELD_STOPPED, "Worker wrk_A on alpha (pid 71), which has stopped, has held it"),
        (40, Situation.HELD_SILENT, "has been silent for 1 min. A dead one would normally be noticed"),
    ],
)
def test_a_holder_that_counts_as_offline_has_said_goodbye_or_was_silent(
    stopped_after: int, code: Situation, words: str
) -> None:
    beside = a_worker(id=WorkerId("wrk_B"), seen_at=at(70))
    holder = a_worker(seen_at=at(10), stopped_at=at(stopped_after), lock=LockKind.FILE)

    found = told(RunStatus.RUNNING, workers=(beside, holder), worker=HOLDER, available_at=at(300), now=70)

    assert found.code is code
    assert words in found.text


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "1 live worker serves it, but it is draining and takes"),
        (2, "2 live workers serve it, but they are draining and take"),
    ],
)
def test_workers_that_drain_take_nothing_new(count: int, words: str) -> None:
    leaving = tuple(a_worker(id=WorkerId(f"wrk_{number}"), is_draining=True) for number in range(count))
    elsewhere = a_worker(id=WorkerId("wrk_B"), served=(Served("slow", "order"),))

    found = told(RunStatus.PENDING, available_at=at(9), workers=(*leaving, elsewhere))

    assert found.code is Situation.NO_WORKER
    assert f"{words} nothing new. Start one: windlass worker MODULE:APP" in found.text


def test_a_worker_that_runs_it_here_counts_before_those_that_run_it_elsewhere() -> None:
    elsewhere = a_worker(id=WorkerId("wrk_B"), served=(Served("slow", "order"), Served("default", "order", "2")))

    assert told(RunStatus.PENDING, available_at=at(9), workers=(elsewhere, a_worker())).code is Situation.DUE
    assert told(RunStatus.PENDING, available_at=at(9), workers=(elsewhere,)).code is Situation.OTHER_QUEUE


def test_a_run_without_a_version_says_so_to_workers_that_have_one() -> None:
    pinned = a_worker(served=(Served("default", "order", "2"), Served("default", "order", "3")))

    found = told(RunStatus.PENDING, available_at=at(9), workers=(pinned,))

    assert found.code is Situation.OTHER_VERSION
    assert "run 'order' with versions '2', '3', but this run wants a workflow without a version." in found.text


def test_a_long_message_is_cut_and_a_sentence_ends_once() -> None:
    def failed(message: str) -> str:
        failure = Failure(kind=FailureKind.LOGIC, type="shop.errors.Closed", message=message)
        return told(RunStatus.FAILED, end=5, failure=failure).text

    assert "with Closed: we are shut. All of it:" in failed("we are\n  shut")
    assert "with Closed: why? All of it:" in failed("why?")
    assert len(failed("x" * 5_000)) < 500


def test_a_time_that_is_far_away_has_its_date() -> None:
    sleep = a_step("sleep", 0, None, kind=StepKind.SLEEP, status=StepStatus.WAITING, due_at=at(86_400))

    found = told(RunStatus.SLEEPING, steps=(sleep,), cause="sleep", available_at=at(86_400))

    assert "it goes on at 2026-01-02 12:00:00 UTC, in 1 d." in found.text
