"""Does the explanation of a signal say what is so, and what to do?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rules.signal_values import (
    AT_NOON,
    HOURLY,
    ITEM,
    LATER,
    NOON,
    ON_ITEM,
    ON_RUN,
    ON_WORKFLOW,
    RUN,
    SIGNAL,
    firing,
    signal,
)
from windlass.model.explanation import Explanation, Situation
from windlass.model.item import TaskId
from windlass.model.run import RunId
from windlass.model.signal import FiringStatus, SignalStatus, Trigger
from windlass.model.time import HOUR, MINUTE, SECOND, Instant
from windlass.rules.explain.signal import STATUSES, SignalFacts, explain_signal

RESUME = f"windlass signals resume {SIGNAL}"
DOES = f"When item {ITEM} enters blocked or done, only say so, once."


def explained(trigger: Trigger = ON_ITEM, *, of: dict[str, Any] | None = None, **facts: Any) -> Explanation:
    return explain_signal(SignalFacts(signal=signal(trigger, **(of or {})), now=LATER, **facts))


@pytest.mark.parametrize("status", list(SignalStatus))
def test_every_status_has_an_explanation_that_names_it(status: SignalStatus) -> None:
    told = explained(of={"status": status}, state="doing")

    assert (told.signal, told.brief, told.status) == (SIGNAL, status, STATUSES[status])
    assert told.text.startswith(DOES)


def test_an_armed_one_says_what_its_subject_is_in() -> None:
    told = explained(state="doing")

    assert told.code is Situation.ARMED
    assert told.text == f"{DOES} Item {ITEM} is doing, and has not entered blocked or done since."


def test_an_armed_one_says_that_its_subject_is_gone() -> None:
    assert f"Item {ITEM} is gone" in explained().text


def test_one_whose_subject_is_over_will_never_fire() -> None:
    told = explained(ON_RUN, state="completed", retried_as=RunId("run_again"))

    assert told.code is Situation.NEVER
    assert f"It will never fire: run {RUN} is completed, for good." in told.text
    assert "It was tried again as run_again: watch that." in told.text
    assert "tried again" not in explained(ON_RUN, state="completed").text


def test_one_that_watches_many_says_since_when() -> None:
    assert "It watches since 2026-12-01 12:00:00 UTC." in explained(ON_WORKFLOW).text


@pytest.mark.parametrize(
    ("trigger", "left"), [(HOURLY, "It comes in 30 m"), (AT_NOON, "At 2026-12-01 12:00 UTC, only say so.")]
)
def test_a_time_says_when_it_comes(trigger: Trigger, left: str) -> None:
    told = explained(trigger, of={"available_at": Instant(LATER + HOUR // 2), "repeats": trigger is HOURLY})

    assert (told.code, told.until) == (Situation.ARMED, LATER + HOUR // 2)
    assert left in told.text


def test_one_that_is_about_to_act_says_because_of_what() -> None:
    due = firing(status=FiringStatus.QUEUED, available_at=Instant(LATER))

    told = explained(state="blocked", due=due, queued=1)

    assert told.code is Situation.FIRING
    assert f"It has fired because of {ITEM} (blocked), and that is not done yet." in told.text
    assert "A coordinator takes it up within seconds." in told.text


def test_one_that_nobody_works_says_so() -> None:
    due = firing(status=FiringStatus.QUEUED, available_at=Instant(LATER - MINUTE))

    told = explained(state="blocked", due=due, queued=1)

    assert "Nobody has taken it up for 1 m" in told.text
    assert "start a worker or a server, and see WINDLASS_SIGNALS_ENABLED" in told.text


def test_one_whose_attempt_failed_says_why_and_when_it_is_tried_again() -> None:
    due = firing(status=FiringStatus.QUEUED, attempt=2, error="reset", available_at=Instant(LATER + 2 * SECOND))

    told = explained(state="blocked", due=due, queued=1)

    assert "Attempt 2 failed: reset. It is tried again in 2 s." in told.text


def test_one_that_gave_up_says_why_and_how_to_go_on() -> None:
    told = explained(of={"status": SignalStatus.PAUSED, "reason": "no such run."}, failed=1, queued=3)

    assert told.code is Situation.GAVE_UP
    assert "It was paused 1 h ago because a firing failed for good: no such run." in told.text
    assert told.text.endswith(f"Put that right, then: {RESUME}")


@pytest.mark.parametrize(("queued", "count"), [(0, "No firing waits"), (1, "1 firing waits"), (7, "7 firings wait")])
def test_a_paused_one_says_by_whom_and_how_many_wait(queued: int, count: str) -> None:
    of = {"status": SignalStatus.PAUSED, "changed_by": "kim", "reason": "lunch"}

    told = explained(of=of, queued=queued)

    assert told.code is Situation.PAUSED
    assert f"It was paused 1 h ago by kim: lunch. {count} until it is resumed: {RESUME}" in told.text


@pytest.mark.parametrize(
    ("did", "text"),
    [
        ({"run_id": RunId("run_new")}, " It led to run_new."),
        ({"task_id": TaskId("tsk_new")}, " It added tsk_new."),
        ({}, ""),
    ],
)
def test_one_that_has_fired_says_what_it_did(did: dict[str, Any], text: str) -> None:
    of = {"status": SignalStatus.FIRED, "fired": 1, "last_fired_at": NOON}

    told = explained(of=of, last=firing(status=FiringStatus.DONE, **did))

    assert told.code is Situation.FIRED
    assert told.text == f"{DOES} It has fired once, last 1 h ago.{text} To wait for it once more: {RESUME}"


def test_one_that_has_fired_often_says_how_often() -> None:
    assert "It has fired 3 times" in explained(of={"fired": 3, "repeats": True}, state="ready").text


def test_one_that_is_over_says_why() -> None:
    resolved = explained(of={"status": SignalStatus.RESOLVED, "reason": "item itm_1 was deleted"})
    cancelled = explained(of={"status": SignalStatus.CANCELLED, "changed_by": "kim", "reason": "enough"})

    assert resolved.code is Situation.NEVER
    assert "It ended 1 h ago: item itm_1 was deleted." in resolved.text
    assert cancelled.code is Situation.CANCELLED
    assert "It was cancelled 1 h ago by kim: enough." in cancelled.text
