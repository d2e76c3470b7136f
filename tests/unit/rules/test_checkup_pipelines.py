"""Does a check-up warn of pipelines that nobody executes, that wait for a person, and whose inputs are old?"""

from __future__ import annotations

from typing import Any

from tests.integration.cli.pipeline_samples import RUN, a_pipeline
from tests.integration.cli.samples import at
from windlass.model.checkup import Check, Grade, PipelineState
from windlass.model.pipeline import Issue, Pipeline, PipelineStatus
from windlass.model.run import WorkerId
from windlass.rules import checkup

NOW = at(0)


def judged(*pipelines: Pipeline, unheard: tuple[str, ...] = (), **fields: Any) -> Check:
    states = [PipelineState(pipeline=item, **({"is_served": True} | fields)) for item in pipelines]
    return checkup.pipelines(states, unheard=unheard, now=NOW)


def test_none_is_fine() -> None:
    assert judged() == Check(name="pipelines", grade=Grade.GOOD, text="there are none")


def test_those_that_go_on_are_counted() -> None:
    check = judged(a_pipeline(), a_pipeline(is_paused=True, available_at=None), a_pipeline(available_at=at(-59)))

    assert (check.grade, check.text, check.details) == (Grade.GOOD, "3 declared, 1 paused", ())


def test_one_that_nobody_begins_is_late_and_says_what_to_start() -> None:
    due = a_pipeline(available_at=at(-120))

    unserved, busy = judged(due, is_served=False), judged(due)

    assert (unserved.grade, unserved.text) == (Grade.WARNING, "1 declared; 1 needs a look")
    assert unserved.details == (
        "'payments' has been due since 11:58:00 UTC (2 min), and nobody has begun: start a worker of shop:app, as it "
        "was declared last",
    )
    assert busy.details[0].endswith("and nobody has begun; its workers are busy: see windlass workers")


def test_one_whose_worker_is_gone_is_named_with_it() -> None:
    left = a_pipeline(PipelineStatus.RUNNING, worker=WorkerId("wrk_1"), available_at=at(-120), run_id=RUN)

    assert (
        judged(left, is_served=False)
        .details[0]
        .startswith("'payments' was left by worker wrk_1, and nobody has taken it over since 11:58:00 UTC (2 min)")
    )


def test_nobody_is_to_begin_what_is_behind_a_closed_gate() -> None:
    assert judged(a_pipeline(available_at=at(-120)), is_closed=True).grade is Grade.GOOD


def test_one_that_has_waited_for_a_person_for_an_hour_is_named_with_why() -> None:
    held = a_pipeline(PipelineStatus.ATTENTION, issue=Issue.CRASH_LOOP, available_at=None, run_id=RUN)

    def waiting(for_seconds: int, *, is_paused: bool = False) -> Check:
        changed = {"changed_at": at(-for_seconds), "is_paused": is_paused}
        return judged(a_pipeline(**{name: getattr(held, name) for name in held.__struct_fields__} | changed))

    assert waiting(3600).grade is Grade.GOOD
    assert waiting(7200, is_paused=True).grade is Grade.GOOD
    assert waiting(7200).details == (
        "'payments' has waited for a person since 10:00:00 UTC (2 h) (crash loop): windlass explain payments",
    )


def test_old_inputs_are_counted() -> None:
    assert judged(a_pipeline(), stale=1).details == (
        "1 input has waited in 'payments' for more than a week: windlass inputs payments",
    )
    assert judged(a_pipeline(), stale=1200).details[0].startswith("1,200 inputs have waited")


def test_one_whose_code_is_gone_while_it_was_at_something_is_named() -> None:
    gone = a_pipeline(is_declared=False, available_at=None)

    assert judged(gone).grade is Grade.GOOD
    assert judged(a_pipeline(is_declared=False, available_at=None, run_id=RUN)).details == (
        "'payments' is no longer declared in shop:app, and was at something: declare it again",
    )


def test_a_topic_without_subscribers_is_a_note() -> None:
    check = judged(a_pipeline(), unheard=("receipts", "refunds (north)"))

    assert check.grade is Grade.GOOD
    assert check.details == (
        "topic receipts is published, and nobody subscribes to it",
        "topic refunds (north) is published, and nobody subscribes to it",
    )
