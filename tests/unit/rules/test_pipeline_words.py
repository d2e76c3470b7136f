"""Do people read in their own words how a pipeline stands, what it waits for, and what it has done?"""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.cli.pipeline_samples import (
    CHARGE,
    POLL,
    RUN,
    TIMED_OUT,
    WORKER,
    a_handler,
    a_pipeline,
    a_view,
    an_attempt,
    an_effect,
    committed,
    needing,
)
from tests.integration.cli.samples import at
from windlass.model.effect import EffectStatus
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline import EffectOutcome, HandlerStatus, Issue, Phase, PipelineStatus
from windlass.model.pipeline_commands import PipelineView
from windlass.model.schedule import Timing
from windlass.rules.pipeline_words import summary

REFUSED = Failure(kind=FailureKind.AUTH, type="shop.Expired", message="the token of the bank has expired")
BROKEN = Failure(kind=FailureKind.LOGIC, type="builtins.KeyError", message="'id'")
LATER = a_pipeline(PipelineStatus.BACKOFF, run_id=RUN, available_at=at(40), failures=2)
UNSURE = a_pipeline(PipelineStatus.RECONCILING, run_id=RUN, available_at=at(20))


def told(view: PipelineView) -> tuple[str, str]:
    found = summary(view)
    return found.status, found.issue


@pytest.mark.spec("pipelines:113")
@pytest.mark.parametrize(
    ("status", "changes", "word"),
    [
        (PipelineStatus.RUNNING, {}, "Running"),
        (PipelineStatus.RUNNING, {"is_paused": True}, "Running"),
        (PipelineStatus.IDLE, {}, "Idle"),
        (PipelineStatus.BACKOFF, {}, "Idle"),
        (PipelineStatus.RECONCILING, {}, "Idle"),
        (PipelineStatus.FIXING, {}, "Idle"),
        (PipelineStatus.ATTENTION, {"issue": Issue.LOGIC}, "Needs attention"),
        (PipelineStatus.ATTENTION, {"issue": Issue.LOGIC, "is_paused": True}, "Stopped"),
        (PipelineStatus.IDLE, {"is_paused": True}, "Stopped"),
        (PipelineStatus.BACKOFF, {"is_paused": True}, "Stopped"),
        (PipelineStatus.IDLE, {"is_declared": False}, "Stopped"),
    ],
)
def test_four_words_say_how_it_stands(status: PipelineStatus, changes: dict[str, Any], word: str) -> None:
    assert summary(a_view(a_pipeline(status, **changes))).status == word


@pytest.mark.spec("pipelines:114")
def test_what_passes_by_itself_is_idle_with_what_goes_on_beside_it() -> None:
    paused = HandlerStatus.PAUSED_TRANSIENT
    assert told(a_view(LATER, run=an_attempt("poll", status=paused, failure=TIMED_OUT))) == (
        "Idle",
        "retrying in 40 s: TimeoutError in 'poll'",
    )
    assert told(a_view(UNSURE, run=an_attempt(), effect=an_effect(EffectStatus.NEEDS_RECONCILE))) == (
        "Idle",
        "finding out whether 'charge_card' happened; next look in 20 s",
    )
    assert told(a_view(a_pipeline(PipelineStatus.FIXING), run=an_attempt(failure=BROKEN))) == (
        "Idle",
        "repair in progress",
    )
    assert told(a_view()) == ("Idle", "")


@pytest.mark.spec("pipelines:114")
@pytest.mark.parametrize(
    ("view", "issue"),
    [
        (
            needing(Issue.APPROVAL),
            "Waiting for you to approve: charge. Decide: windlass approve payments, or windlass reject payments",
        ),
        (
            needing(Issue.AUTH, failure=REFUSED),
            "Waiting for you to sign in again: the token of the bank has expired. Then: windlass resume payments",
        ),
        (
            needing(Issue.PERMISSION, failure=replace(REFUSED, message="no access to refunds")),
            "Waiting for you to grant a permission: no access to refunds. Then: windlass resume payments",
        ),
        (
            needing(Issue.LOGIC, failure=BROKEN),
            "'charge' failed: KeyError: 'id'. Deploy a fix, or try it again: windlass retry payments",
        ),
        (
            needing(Issue.INDETERMINATE, effect=an_effect(EffectStatus.INDETERMINATE)),
            "Nobody knows whether 'charge_card' happened. Find out, and say so: "
            "windlass resolve payments (--happened | --did-not-happen | --skip)",
        ),
        (
            needing(Issue.INTERNAL, failure=replace(BROKEN, message="disk")),
            "A fault outside of its code stopped 'charge': KeyError: disk. "
            "Once that is put right: windlass retry payments",
        ),
    ],
)
def test_each_issue_says_what_a_person_is_to_do(view: PipelineView, issue: str) -> None:
    assert told(view) == ("Needs attention", issue)


def test_what_nobody_can_know_yet_is_not_asked_for() -> None:
    view = needing(Issue.INDETERMINATE, effect=an_effect(EffectStatus.INDETERMINATE, reconcile_after=at(360)))
    assert told(view)[1].startswith(
        "Nobody knows whether 'charge_card' happened, and whoever called it may be at it for 6 min more. "
        "After that find out, and say so: windlass resolve payments"
    )


def test_an_approval_has_the_title_its_code_gave_it_and_a_long_message_is_cut() -> None:
    view = needing(Issue.APPROVAL)
    assert view.run is not None
    assert "approve: Charge Ann 12 euro?" in told(replace(view, run=replace(view.run, title="Charge Ann\n12 euro?")))[1]
    assert len(told(needing(Issue.LOGIC, failure=replace(BROKEN, message="x" * 5_000)))[1]) < 400


def test_what_was_tried_often_enough_says_how_often() -> None:
    view = needing(Issue.EXHAUSTED, failure=TIMED_OUT)
    assert told(replace(view, pipeline=replace(view.pipeline, failures=6)))[1] == (
        "'charge' failed 6 times in a row, at last with TimeoutError: gateway timed out. "
        "Once that is put right: windlass retry payments"
    )
    view = needing(Issue.CRASH_LOOP)
    assert told(replace(view, pipeline=replace(view.pipeline, recoveries=5)))[1] == (
        "5 workers in a row disappeared while at 'charge'. "
        "Look at their memory and their logs, then: windlass retry payments"
    )


def test_who_stopped_it_is_said_with_what_it_needs_besides() -> None:
    held: dict[str, Any] = {"is_paused": True, "paused_by": "ann", "paused_at": at(-120), "note": "audit"}
    assert told(a_view(a_pipeline(**held))) == ("Stopped", 'Paused by ann, 2 min ago: "audit"')
    assert told(a_view(a_pipeline(PipelineStatus.RUNNING, **held)))[1] == (
        'stops when this is done: Paused by ann, 2 min ago: "audit"'
    )
    view = needing(Issue.AUTH, failure=REFUSED)
    assert told(replace(view, pipeline=replace(view.pipeline, is_paused=True)))[1].startswith(
        "Paused. Waiting for you to sign in again"
    )
    assert told(a_view(a_pipeline(is_declared=False)))[1] == ("No longer declared in shop:app: declare it there again")


def test_an_idle_pipeline_that_no_worker_serves_says_so() -> None:
    assert told(a_view(workers=0)) == ("Idle", "no worker is there for it: windlass worker MODULE:APP")
    assert told(needing(Issue.APPROVAL, workers=0))[1].startswith("Waiting for you")


@pytest.mark.spec("pipelines:115")
def test_the_schedule_is_in_words_with_the_next_check() -> None:
    found = summary(a_view())
    assert (found.schedule, found.next_check) == ("Checks every 5 minutes", at(300))

    daily = replace(POLL, name="report", timing=Timing(cron="0 9 * * *", tz="Europe/Rome"))
    found = summary(a_view(handlers=(a_handler(POLL), a_handler(daily, next_at=at(30)))))
    assert (found.schedule, found.next_check) == (
        "Checks every 5 minutes and at 09:00 every day (Europe/Rome)",
        at(30),
    )

    broken = replace(POLL, timing=Timing(cron="never", tz="UTC"))
    assert summary(a_view(handlers=(a_handler(broken),))).schedule == "Checks never (UTC)"
    assert summary(a_view(handlers=(a_handler(CHARGE),))).schedule == "When events arrive"
    assert summary(a_view(handlers=(a_handler(POLL, is_declared=False),))).schedule == "Not scheduled"


@pytest.mark.spec("pipelines:115")
def test_the_next_check_is_one_that_will_be_made() -> None:
    assert summary(a_view(handlers=(a_handler(POLL, is_queued=True),))).next_check == at(0)
    assert summary(a_view(a_pipeline(is_paused=True))).next_check is None
    assert summary(needing(Issue.LOGIC, failure=BROKEN)).next_check is None
    assert summary(a_view(handlers=(a_handler(POLL, is_declared=False, next_at=at(5)),))).next_check is None


@pytest.mark.spec("pipelines:116")
def test_recent_activity_is_what_its_code_said_it_did() -> None:
    lately = (
        committed("Charged order 7", ago=180),
        committed("Charge order 8", ago=7200, outcome=EffectOutcome.SKIPPED),
        committed("", ago=7260),
    )
    assert summary(a_view(activity=lately)).activity == (
        "Charged order 7 · 3 min ago",
        "Skipped: Charge order 8 · 2 h ago",
        "charge · 2 h 1 min ago",
    )


@pytest.mark.spec("pipelines:117")
def test_pending_work_is_counted_and_what_is_stale_is_mentioned() -> None:
    handlers = (a_handler(POLL), a_handler(CHARGE, pending=12), a_handler(replace(CHARGE, name="mail"), pending=12))
    assert summary(a_view(inputs_pending=3, handlers=handlers)).pending == "3 inputs pending, 12 events waiting"
    assert summary(a_view()).pending == ""
    stale = summary(a_view(inputs_pending=3, inputs_stale=2))
    assert stale.pending == "3 inputs pending (2 for more than 7 d)"
    assert stale.issue == "2 inputs have been pending for more than 7 d: windlass inputs payments"


@pytest.mark.spec("pipelines:118")
@pytest.mark.parametrize(
    "view",
    [
        a_view(inputs_pending=3, handlers=(a_handler(POLL), a_handler(CHARGE, pending=2))),
        a_view(LATER, run=an_attempt(failure=TIMED_OUT, attempt=2)),
        a_view(UNSURE, run=an_attempt(phase=Phase.MUTATING), effect=an_effect(EffectStatus.NEEDS_RECONCILE)),
        a_view(a_pipeline(PipelineStatus.RUNNING, worker=WORKER), run=an_attempt(phase=Phase.EMITTING)),
        a_view(activity=(committed("Charged order 7", ago=60),)),
        *(needing(issue, failure=BROKEN, effect=an_effect()) for issue in Issue),
    ],
)
def test_nothing_of_how_it_is_made_is_in_the_words(view: PipelineView) -> None:
    found = summary(view)
    text = " ".join([found.status, found.issue, found.schedule, found.pending, *found.activity])
    inside = re.compile(
        r"hrn_|wrk_|handler|phase|topic|orders|attempt|retry_of|chain|producer|consumer|prepar|mutat|emit"
    )
    assert inside.findall(text) == []


def test_a_time_that_has_passed_is_now() -> None:
    late = replace(LATER, available_at=at(-1))
    assert told(a_view(late, run=an_attempt("poll", failure=TIMED_OUT)))[1].startswith("retrying now: ")
    assert told(a_view(replace(late, available_at=None)))[1].startswith("retrying now: a failure in")
