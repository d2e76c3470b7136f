"""What does a deploy change about a pipeline, and what does a mere restart leave as it was?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.cli.pipeline_samples import CHARGE, POLL, RUN, a_handler, a_pipeline, an_attempt
from tests.integration.cli.samples import at
from windlass.model.pipeline import (
    EffectOutcome,
    Handler,
    HandlerSpec,
    HandlerStatus,
    Issue,
    Phase,
    PipelineSpec,
    PipelineStatus,
)
from windlass.model.schedule import Timing
from windlass.model.time import MINUTE, Duration
from windlass.rules import declared as rules

NOW = at(0)


def spec(*handlers: HandlerSpec, **changes: Any) -> PipelineSpec:
    return PipelineSpec(name="payments", queue="default", revision="r2", handlers=handlers, **changes)


def known(of: HandlerSpec, **changes: Any) -> Handler:
    return a_handler(of, **changes).handler


def declared(before: list[Handler], *specs: HandlerSpec) -> dict[str, Handler]:
    return {item.name: item for item in rules.declared_handlers("default", spec(*specs), before, now=NOW)}


@pytest.mark.spec("pipelines:52", "pipelines:53", "pipelines:146")
def test_what_is_new_begins_at_once() -> None:
    found = declared([], POLL, CHARGE)

    assert (found["poll"].next_at, found["poll"].is_dirty) == (NOW, False)
    assert (found["charge"].is_dirty, found["charge"].wake_at) == (True, None)
    assert [found[name].position for name in ("poll", "charge")] == [0, 1]


def test_a_restart_changes_nothing_but_the_order() -> None:
    before = [known(POLL, next_at=at(60)), known(CHARGE, position=1, news=9, seen=9, wake_at=at(30))]

    found = declared(before, CHARGE, POLL)

    assert found["poll"] == replace(before[0], position=1)
    assert found["charge"] == replace(before[1], position=0)


@pytest.mark.parametrize("change", [{"code": "other"}, {"timing": Timing(every=Duration(MINUTE))}])
def test_a_changed_producer_is_due_now(change: dict[str, Any]) -> None:
    found = declared([known(POLL, next_at=at(60), has_state=True)], replace(POLL, **change))

    assert (found["poll"].next_at, found["poll"].has_state) == (NOW, True)


def test_a_changed_consumer_looks_again_and_keeps_its_wake_and_its_news() -> None:
    before = known(CHARGE, news=9, seen=9, wake_at=at(30), has_state=True)

    found = declared([before], replace(CHARGE, topics=("orders", "refunds")))["charge"]

    assert found.is_dirty
    assert (found.news, found.wake_at, found.has_state) == (9, at(30), True)


def test_what_is_gone_stays_and_is_never_due() -> None:
    before = [known(POLL, is_queued=True), known(CHARGE, news=9, wake_at=at(30))]

    found = declared(before, CHARGE)

    assert (found["poll"].is_declared, found["poll"].is_queued) == (False, False)
    assert found["charge"].is_declared


def test_what_comes_back_begins_at_once() -> None:
    found = declared([known(CHARGE, news=9, seen=9, is_declared=False)], CHARGE)["charge"]

    assert found.is_declared and found.is_dirty


def test_other_code_is_a_change_and_another_place_is_none() -> None:
    before = {"poll": known(POLL), "charge": known(CHARGE, position=1), "note": known(replace(CHARGE, name="note"))}

    after = declared([*before.values()], replace(CHARGE, code="other"), POLL)

    assert rules.changed_handlers([*after.values()], before=before) == {"charge"}


def test_a_pipeline_that_is_redefined_stays_where_it_stands() -> None:
    was = a_pipeline(PipelineStatus.BACKOFF, failures=2, seq=40, is_declared=False, run_id=RUN)

    found = rules.redefined(was, spec(POLL, has_fixer=True), program="other:app")

    assert (found.revision, found.has_fixer, found.declared_in, found.is_declared) == ("r2", True, "other:app", True)
    assert (found.status, found.failures, found.seq, found.run_id) == (PipelineStatus.BACKOFF, 2, 40, RUN)


def test_a_new_pipeline_waits_for_nothing() -> None:
    found = rules.new_pipeline("default", spec(POLL), program="shop:app", now=NOW)

    assert (found.status, found.token, found.seq, found.is_paused) == (PipelineStatus.IDLE, 0, 0, False)


# Is it the fix?


FAILED = an_attempt(status=HandlerStatus.FAILED_LOGIC)


@pytest.mark.spec("pipelines:83", "pipelines:101")
@pytest.mark.parametrize(
    ("pipeline", "run", "changed", "wanted"),
    [
        (a_pipeline(PipelineStatus.FIXING), FAILED, {"charge"}, True),
        (a_pipeline(PipelineStatus.ATTENTION, issue=Issue.LOGIC), FAILED, {"charge"}, True),
        (a_pipeline(PipelineStatus.ATTENTION, issue=Issue.LOGIC), FAILED, {"poll"}, False),
        (a_pipeline(PipelineStatus.ATTENTION, issue=Issue.AUTH), FAILED, {"charge"}, False),
        (a_pipeline(PipelineStatus.BACKOFF), FAILED, {"charge"}, False),
        (a_pipeline(PipelineStatus.FIXING), None, {"charge"}, False),
        (
            a_pipeline(PipelineStatus.ATTENTION, issue=Issue.LOGIC),
            replace(FAILED, status=HandlerStatus.FAILED_INTERNAL),
            {"charge"},
            False,
        ),
    ],
)
def test_other_code_of_the_handler_that_failed_is_the_fix(
    pipeline: Any, run: Any, changed: set[str], wanted: bool
) -> None:
    assert rules.is_fix(pipeline, run, changed=frozenset(changed)) is wanted


# What becomes of an attempt whose code is gone


def lost(status: HandlerStatus, **changes: Any) -> Any:
    held = a_pipeline(PipelineStatus.ATTENTION, issue=Issue.LOGIC, run_id=RUN)
    run = an_attempt(status=status, **changes)
    return rules.without_lost(held, run, gone=frozenset({"charge"}), now=NOW)


@pytest.mark.parametrize(
    "status", [HandlerStatus.FAILED_LOGIC, HandlerStatus.FAILED_INTERNAL, HandlerStatus.PAUSED_TRANSIENT]
)
def test_an_attempt_that_has_done_nothing_goes_with_its_code(status: HandlerStatus) -> None:
    found = lost(status)

    assert (found.run_id, found.status, found.issue) == (None, PipelineStatus.IDLE, None)


@pytest.mark.parametrize(
    ("status", "changes"),
    [
        (HandlerStatus.ACTIVE, {}),
        (HandlerStatus.PAUSED_APPROVAL, {}),
        (HandlerStatus.PAUSED_RECONCILIATION, {"phase": Phase.MUTATING}),
        (HandlerStatus.FAILED_LOGIC, {"phase": Phase.EMITTING, "outcome": EffectOutcome.SUCCESS}),
        (HandlerStatus.PAUSED_TRANSIENT, {"phase": Phase.MUTATED, "outcome": EffectOutcome.SKIPPED}),
    ],
)
def test_an_attempt_that_has_done_something_or_may_have_holds_the_pipeline(
    status: HandlerStatus, changes: dict[str, Any]
) -> None:
    assert lost(status, **changes).run_id == RUN
