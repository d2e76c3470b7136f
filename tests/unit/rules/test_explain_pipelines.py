"""Does the rule behind `explain` say what a pipeline waits for, who holds it, and what it would take?"""

from __future__ import annotations

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
    needing,
)
from tests.integration.cli.samples import at
from windlass.model.effect import EffectStatus
from windlass.model.explanation import Explanation, Situation
from windlass.model.gate import Gate, GateKind
from windlass.model.pipeline import EffectOutcome, HandlerStatus, Issue, Phase, PipelineStatus, Reservation
from windlass.model.pipeline_commands import PipelineView
from windlass.model.run import RunStatus
from windlass.rules.explain.pipeline import explain


def told(view: PipelineView, *gates: Gate) -> Explanation:
    return explain(view, gates=gates)


def closed(kind: GateKind, name: str, *, namespace: str = "default") -> Gate:
    return Gate(namespace=namespace, kind=kind, name=name, is_paused=True, paused_by="ann", paused_at=at(-60))


def test_who_holds_it_is_named_with_what_is_at_work() -> None:
    running = a_pipeline(PipelineStatus.RUNNING, worker=WORKER, run_id=RUN, available_at=at(240))
    run = an_attempt(phase=Phase.MUTATING, title="Charge order 7", attempt=2)

    found = told(a_view(running, run=run, effect=an_effect()))

    assert (found.code, found.status, found.worker, found.step) == (
        Situation.HELD,
        RunStatus.RUNNING,
        WORKER,
        "charge",
    )
    assert (found.since, found.until) == (at(-60), at(240))
    assert found.text == (
        f"It is at work: worker {WORKER} has held it since 11:59:00 UTC (1 min); its claim lasts until 12:04:00 UTC "
        "(4 min left). It executes 'charge' ('Charge order 7'), attempt 2, mutating, at effect 'charge_card' "
        "(in_flight), since 11:59:30 UTC (30 s)."
    )
    assert str(found).startswith("Pipeline 'payments' is running. It is at work")


def test_one_that_is_to_stop_says_so_while_it_works() -> None:
    running = a_pipeline(PipelineStatus.RUNNING, worker=WORKER, available_at=at(240), is_paused=True, paused_by="bob")
    found = told(a_view(running))
    assert found.code is Situation.PAUSING
    assert found.text.endswith(
        "It has not begun anything yet. It stops when this is done: Paused by bob. "
        "Take that back: windlass resume payments"
    )


def test_a_claim_that_ended_waits_for_another_worker() -> None:
    found = told(a_view(a_pipeline(PipelineStatus.RUNNING, worker=WORKER, available_at=at(-5)), workers=0))
    assert found.code is Situation.CLAIM_ENDED
    assert "its claim ended at 11:59:55 UTC, 5 s ago" in found.text
    assert found.text.endswith("No live worker serves this revision of it: windlass worker MODULE:APP.")


def test_events_that_were_looked_at_and_not_taken_say_when_it_looks_again() -> None:
    handlers = (a_handler(POLL), a_handler(CHARGE, pending=2, wake_at=at(3600)))
    found = told(a_view(handlers=handlers))
    assert (found.code, found.status, found.until) == (Situation.IDLE, RunStatus.WAITING, at(300))
    assert found.text == (
        "Nothing has been due since 11:59:00 UTC (1 min). 'poll' begins at 12:05:00 UTC, in 5 min. "
        "'charge' looked at the 2 events that wait in 'orders' (the oldest for 2 min) and took none; "
        "it begins at a newer event, or at 13:00:00 UTC, in 1 h."
    )


def test_one_that_has_no_events_waits_for_the_next() -> None:
    assert told(a_view(handlers=(a_handler(CHARGE),))).text.endswith("'charge' begins at the next event in 'orders'.")


@pytest.mark.parametrize(
    ("gates", "workers", "code"),
    [
        ((), 0, Situation.NO_WORKER),
        ((), 2, Situation.DUE),
        ((closed(GateKind.QUEUE, "default"),), 2, Situation.GATE_CLOSED),
        ((closed(GateKind.NAMESPACE, "default"),), 0, Situation.GATE_CLOSED),
        ((closed(GateKind.QUEUE, "slow"), closed(GateKind.WORKFLOW, "payments")), 2, Situation.DUE),
        ((closed(GateKind.QUEUE, "default", namespace="other"),), 2, Situation.DUE),
    ],
)
def test_what_is_due_says_why_nobody_takes_it(gates: tuple[Gate, ...], workers: int, code: Situation) -> None:
    view = a_view(
        a_pipeline(available_at=at(-30)), handlers=(a_handler(POLL), a_handler(CHARGE, news=3)), workers=workers
    )
    assert told(view, *gates).code is code


def test_a_paused_queue_and_a_missing_worker_are_both_named() -> None:
    view = a_view(a_pipeline(available_at=at(-30)), handlers=(a_handler(CHARGE, news=3),), workers=0)
    assert told(view, closed(GateKind.QUEUE, "default")).text == (
        "It has been due since 11:59:30 UTC (30 s) for 'charge'. "
        "Queue 'default' has been paused by ann since 11:59:00 UTC (1 min), and no worker takes it before that ends. "
        "No live worker serves this revision of it: windlass worker MODULE:APP. "
        "Let queue 'default' go on: windlass resume --queue default"
    )


@pytest.mark.parametrize(
    ("outdated", "who"), [(1, "1 live worker leaves it alone"), (2, "2 live workers leave it alone")]
)
def test_workers_that_are_there_and_leave_it_alone_are_explained(outdated: int, who: str) -> None:
    view = a_view(a_pipeline(available_at=at(-30)), handlers=(a_handler(CHARGE, news=3),), workers=0, outdated=outdated)

    found = told(view)

    assert found.code is Situation.NO_WORKER
    assert f"{who}, because other code of it was declared since. Start the one whose code is meant" in found.text


def test_a_back_off_says_when_it_is_tried_again_and_how_to_be_sooner() -> None:
    pipeline = a_pipeline(PipelineStatus.BACKOFF, run_id=RUN, available_at=at(40), failures=2)
    found = told(a_view(pipeline, run=an_attempt("poll", failure=TIMED_OUT)))
    assert (found.code, found.status, found.until) == (Situation.BACKING_OFF, RunStatus.SLEEPING, at(40))
    assert found.text == (
        "'poll' failed at 11:59:00 UTC, 1 min ago, with TimeoutError: gateway timed out. It is tried again at "
        "12:00:40 UTC, in 40 s; that was failure 2 of at most 6 in a row. Nothing else of it begins before. "
        "Sooner: windlass retry payments"
    )


def test_an_effect_that_may_have_happened_says_when_it_is_asked_about() -> None:
    pipeline = a_pipeline(PipelineStatus.RECONCILING, run_id=RUN, available_at=at(20))
    effect = an_effect(EffectStatus.NEEDS_RECONCILE, asked=2)
    found = told(a_view(pipeline, run=an_attempt(phase=Phase.MUTATING), effect=effect))
    assert found.code is Situation.RECONCILING
    assert "whether effect 'charge_card' happened" in found.text
    assert "Its `reconcile` is asked at 12:00:20 UTC, in 20 s. It was asked 2 times before." in found.text


def test_an_effect_that_nobody_can_be_asked_about_says_that_a_person_will_be() -> None:
    pipeline = a_pipeline(PipelineStatus.RECONCILING, run_id=RUN, available_at=at(-1))
    effect = an_effect(has_reconcile=False, next_at=None)
    found = told(a_view(pipeline, run=an_attempt(phase=Phase.MUTATING), effect=effect))
    assert "It has no `reconcile`: a person is asked for by the next worker. Nothing else" in found.text


def test_a_reconcile_that_fails_is_told_with_what_it_failed_of() -> None:
    pipeline = a_pipeline(PipelineStatus.RECONCILING, run_id=RUN, available_at=at(20))
    effect = an_effect(EffectStatus.NEEDS_RECONCILE, asked=1, failure=TIMED_OUT)
    found = told(a_view(pipeline, run=an_attempt(phase=Phase.MUTATING), effect=effect))
    assert "It was asked 1 time before. Known so far: TimeoutError: gateway timed out. Nothing else" in found.text


def test_a_wake_that_is_no_time_is_told_to_whoever_wonders_why_nobody_looks() -> None:
    last = replace(an_attempt(), warning="wake_at 'soon' is no time.")
    view = a_view(handlers=(replace(a_handler(CHARGE, pending=2), last_run=last),))
    assert told(view).text.endswith("it begins at a newer event. It was warned: wake_at 'soon' is no time.")


@pytest.mark.parametrize(("phase", "holds"), [(Phase.PREPARED, False), (Phase.EMITTING, True)])
def test_events_that_went_back_are_not_said_to_be_held(phase: Phase, holds: bool) -> None:
    view = needing(Issue.LOGIC, failure=TIMED_OUT)
    assert view.run is not None
    outcome = EffectOutcome.NONE if holds else None
    reserved = (Reservation(topic="orders", id="7"),)
    run = replace(view.run, phase=phase, status=HandlerStatus.FAILED_LOGIC, outcome=outcome, reserved=reserved)
    found = told(replace(view, run=run))
    assert (" and holds 1 event" in found.text) is holds


def test_a_repair_is_told() -> None:
    pipeline = a_pipeline(PipelineStatus.FIXING, run_id=RUN, available_at=at(-1))
    found = told(a_view(pipeline, run=an_attempt(failure=TIMED_OUT)))
    assert found.code is Situation.REPAIRING
    assert "Its `on_logic_error` is asked by the next worker." in found.text


@pytest.mark.parametrize("issue", Issue)
def test_what_a_person_is_needed_for_has_the_place_and_the_command(issue: Issue) -> None:
    found = told(needing(issue, failure=TIMED_OUT, effect=an_effect(EffectStatus.INDETERMINATE)))
    codes = {
        Issue.APPROVAL: Situation.WAITING_FOR_APPROVAL,
        Issue.INDETERMINATE: Situation.INDETERMINATE,
        Issue.CRASH_LOOP: Situation.CRASH_LOOP,
    }
    assert (found.code, found.status) == (codes.get(issue, Situation.NEEDS_PERSON), RunStatus.PAUSED)
    assert f"{RUN} ('charge', attempt 1) stopped at" in found.text
    assert " payments" in found.text.rpartition("windlass ")[2]


def test_an_approval_in_full() -> None:
    assert told(needing(Issue.APPROVAL, inputs_pending=1)).text == (
        "Waiting for you to approve: charge. So it has been since 11:59:00 UTC (1 min), and nothing else of it begins "
        f"meanwhile: {RUN} ('charge', attempt 1) stopped at 'prepared' and holds 1 event. "
        "Meanwhile: 1 input pending. Decide: windlass approve payments, or windlass reject payments"
    )


def test_one_that_a_person_stopped_names_them_and_what_it_needs_besides() -> None:
    held = {"is_paused": True, "paused_by": "ann", "paused_at": at(-120), "note": "audit"}
    view = needing(Issue.LOGIC, failure=TIMED_OUT)
    found = told(replace(view, pipeline=replace(view.pipeline, **held)))
    assert (found.code, found.status) == (Situation.PAUSED, RunStatus.PAUSED)
    assert found.text == (
        'It has been paused by ann since 11:58:00 UTC (2 min): "audit", and begins nothing. '
        "Besides: 'charge' failed: TimeoutError: gateway timed out. "
        "Let it go on: windlass resume payments, and deploy a fix, or try it again: windlass retry payments"
    )


def test_one_whose_code_is_gone_says_where_it_was() -> None:
    found = told(a_view(a_pipeline(is_declared=False), inputs_pending=2))
    assert (found.code, found.status) == (Situation.UNDECLARED, RunStatus.PAUSED)
    assert found.text == (
        "Program 'shop:app' has started without declaring it, so nothing of it is begun since 11:59:00 UTC (1 min). "
        "Its events and states are kept. Declare it there again, and it goes on. Meanwhile: 2 inputs pending."
    )
