"""What may a person do to a pipeline, as it stands, and what is said where that cannot be?"""

from __future__ import annotations

import pytest

from tests.integration.cli.pipeline_samples import RUN, a_pipeline, an_attempt
from tests.integration.cli.samples import at
from windlass.errors import WrongState
from windlass.model.pipeline import (
    CONSUMER_PHASES,
    EffectOutcome,
    HandlerStatus,
    Issue,
    Phase,
    Pipeline,
    PipelineStatus,
)
from windlass.rules import steered as rules

NOW = at(0)
UNDECIDED = (Issue.APPROVAL, Issue.INDETERMINATE)
PUT_RIGHT = [issue for issue in Issue if issue not in UNDECIDED]


def held(issue: Issue, *, is_paused: bool = False) -> Pipeline:
    return a_pipeline(PipelineStatus.ATTENTION, issue=issue, run_id=RUN, is_paused=is_paused, failures=6)


@pytest.mark.parametrize("issue", PUT_RIGHT)
@pytest.mark.parametrize("is_paused", [True, False])
@pytest.mark.spec("pipelines:99", "pipelines:103")
def test_resume_means_that_it_is_put_right(issue: Issue, is_paused: bool) -> None:
    found = rules.resume(held(issue, is_paused=is_paused), now=NOW)

    assert (found.status, found.issue, found.is_paused, found.failures) == (PipelineStatus.IDLE, None, False, 0)
    assert found.run_id == RUN


@pytest.mark.parametrize("issue", UNDECIDED)
def test_resume_decides_nothing(issue: Issue) -> None:
    with pytest.raises(WrongState, match=f"windlass {'approve' if issue is Issue.APPROVAL else 'resolve'} payments"):
        rules.resume(held(issue), now=NOW)

    paused = rules.resume(held(issue, is_paused=True), now=NOW)
    assert (paused.is_paused, paused.status, paused.issue) == (False, PipelineStatus.ATTENTION, issue)


@pytest.mark.parametrize("status", [status for status in PipelineStatus if status is not PipelineStatus.ATTENTION])
def test_resume_ends_a_pause_and_changes_nothing_else(status: PipelineStatus) -> None:
    was = a_pipeline(status)
    paused = a_pipeline(status, is_paused=True, paused_by="ann", note="lunch", paused_at=at(-60))

    assert rules.resume(paused, now=NOW) == was
    assert rules.resume(was, now=NOW) == was


def test_retry_frees_what_stopped() -> None:
    for status in (PipelineStatus.BACKOFF, PipelineStatus.FIXING):
        found = rules.retry(a_pipeline(status, run_id=RUN, failures=3), an_attempt(), now=NOW)
        assert (found.status, found.failures, found.run_id) == (PipelineStatus.IDLE, 0, RUN)
    for issue in PUT_RIGHT:
        assert rules.retry(held(issue), an_attempt(), now=NOW).status is PipelineStatus.IDLE


def test_retry_again_is_a_repeat() -> None:
    freed = a_pipeline(run_id=RUN)

    assert rules.retry(freed, an_attempt(), now=NOW) == freed


@pytest.mark.parametrize(
    ("pipeline", "match"),
    [
        (a_pipeline(), "windlass run-now payments"),
        (a_pipeline(PipelineStatus.RUNNING, run_id=RUN), "at work"),
        (a_pipeline(PipelineStatus.RECONCILING, run_id=RUN), "finding out whether its effect happened"),
        (held(Issue.APPROVAL), "windlass approve payments"),
        (held(Issue.INDETERMINATE), "windlass resolve payments"),
        (a_pipeline(PipelineStatus.BACKOFF, is_declared=False), "no longer declared"),
    ],
)
def test_retry_is_refused_with_what_to_do(pipeline: Pipeline, match: str) -> None:
    run = None if pipeline.run_id is None else an_attempt()
    with pytest.raises(WrongState, match=match):
        rules.retry(pipeline, run, now=NOW)


@pytest.mark.spec("pipelines:12", "pipelines:97")
@pytest.mark.parametrize(
    ("pipeline", "match"),
    [
        (a_pipeline(is_paused=True), "windlass resume payments"),
        (a_pipeline(PipelineStatus.RUNNING), "at work"),
        (a_pipeline(PipelineStatus.BACKOFF), "windlass retry payments"),
        (a_pipeline(PipelineStatus.RECONCILING), "windlass explain payments"),
        (a_pipeline(PipelineStatus.FIXING), "windlass explain payments"),
        (a_pipeline(run_id=RUN), "about to begin"),
        (held(Issue.LOGIC), "windlass resume payments"),
        (held(Issue.APPROVAL), "windlass approve payments"),
        (held(Issue.INDETERMINATE), "windlass resolve payments"),
        (a_pipeline(is_declared=False), "Declare it again"),
    ],
)
def test_run_now_is_refused_while_anything_holds_it(pipeline: Pipeline, match: str) -> None:
    with pytest.raises(WrongState, match=match):
        rules.check_run_now(pipeline, has_producers=True)


def test_run_now_needs_a_producer() -> None:
    rules.check_run_now(a_pipeline(), has_producers=True)
    with pytest.raises(WrongState, match="windlass publish"):
        rules.check_run_now(a_pipeline(), has_producers=False)


@pytest.mark.parametrize("status", PipelineStatus)
def test_a_pause_lets_nothing_begin_and_what_is_at_work_end(status: PipelineStatus) -> None:
    found = rules.pause(a_pipeline(status), now=NOW, by="ann", note="lunch")

    assert (found.is_paused, found.paused_by, found.note, found.paused_at) == (True, "ann", "lunch", NOW)
    assert (found.status, found.available_at) == (status, at(300) if status is PipelineStatus.RUNNING else None)
    assert rules.pause(found, now=at(9), by="ben", note=None) == found


@pytest.mark.parametrize("phase", CONSUMER_PHASES)
@pytest.mark.parametrize("outcome", [None, *EffectOutcome])
@pytest.mark.parametrize("status", HandlerStatus)
def test_an_attempt_may_be_ended_while_nothing_of_it_has_happened(
    phase: Phase, outcome: EffectOutcome | None, status: HandlerStatus
) -> None:
    run = an_attempt(phase=phase, outcome=outcome, status=status)
    is_open = phase is Phase.MUTATING and outcome is not EffectOutcome.FAILURE
    if is_open or status is HandlerStatus.PAUSED_RECONCILIATION:
        hint = "Ask again" if status is HandlerStatus.ACTIVE else "windlass resolve payments"
        with pytest.raises(WrongState, match=hint):
            rules.may_end(a_pipeline(), run)
    else:
        assert rules.may_end(a_pipeline(), run) is (outcome not in (EffectOutcome.SUCCESS, EffectOutcome.SKIPPED))


@pytest.mark.parametrize("status", PipelineStatus)
def test_whoever_is_at_an_attempt_that_was_ended_has_lost_its_claim(status: PipelineStatus) -> None:
    was = a_pipeline(status, run_id=RUN, failures=3, recoveries=2)
    found = rules.ended(was, now=NOW)

    assert (found.status, found.issue, found.run_id, found.worker) == (PipelineStatus.IDLE, None, None, None)
    assert (found.token, found.failures, found.recoveries) == (was.token + 1, 0, 0)
