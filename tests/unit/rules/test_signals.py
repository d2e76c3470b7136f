"""Which signals count, who fires, who is too late, and when is it tried again?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.rules.signal_values import (
    AT_NOON,
    HOURLY,
    ITEM,
    LATER,
    NOON,
    ON_ANY_ITEM,
    ON_ITEM,
    ON_RUN,
    ON_WORKFLOW,
    RUN,
    entry,
    firing,
    signal,
)
from windlass.errors import NotFound, Unavailable, WrongState
from windlass.model.feed import Place
from windlass.model.run import RunStatus
from windlass.model.signal import CLAIM_FOR, FiringStatus, Signal, SignalStatus, Trigger, TriggerKind
from windlass.model.time import HOUR, MINUTE, SECOND, Instant
from windlass.rules import signals as rules
from windlass.rules.retries import JITTER, backoff

BEHIND = Place(6, 77)  # where its arming lies behind
STATUSES = [status.value for status in SignalStatus]


# Moves


def steered(was: Signal, to: str) -> Signal:
    steps: dict[str, Callable[[], Signal]] = {
        "armed": lambda: rules.armed(was, now=LATER, by="kim"),
        "paused": lambda: rules.paused(was, now=LATER, by="kim", reason="lunch"),
        "cancelled": lambda: rules.cancelled(was, now=LATER, by="kim", reason="enough"),
        "resolved": lambda: rules.resolved(was, now=LATER, reason="gone"),
    }
    return steps[to]()


LEGAL = {
    ("armed", "paused"),
    ("armed", "cancelled"),
    ("armed", "resolved"),
    ("paused", "armed"),
    ("paused", "cancelled"),
    ("paused", "resolved"),
    ("fired", "armed"),
}
SAME = {("armed", "armed"), ("paused", "paused"), ("cancelled", "cancelled")}
TARGETS = ("armed", "paused", "cancelled", "resolved")


@pytest.mark.parametrize(("before", "after"), sorted(LEGAL))
def test_a_legal_move_is_made(before: str, after: str) -> None:
    moved = steered(signal(status=SignalStatus(before), available_at=None), after)

    assert (moved.status.value, moved.changed_at) == (after, LATER)
    assert moved.changed_by == (None if after == "resolved" else "kim")
    assert moved.reason == {"armed": None, "paused": "lunch", "cancelled": "enough", "resolved": "gone"}[after]


@pytest.mark.parametrize(("before", "after"), sorted(SAME))
def test_what_is_so_already_stays_as_it_is(before: str, after: str) -> None:
    was = signal(status=SignalStatus(before))

    assert steered(was, after) is was


@pytest.mark.parametrize(
    ("before", "after"),
    [(before, after) for before in STATUSES for after in TARGETS if (before, after) not in LEGAL | SAME],
)
def test_an_illegal_move_is_refused(before: str, after: str) -> None:
    with pytest.raises(WrongState) as refused:
        steered(signal(status=SignalStatus(before)), after)

    is_for_good = before in ("resolved", "cancelled")
    assert ("create another one" in str(refused.value)) == is_for_good


@pytest.mark.parametrize("status", STATUSES)
def test_only_what_is_armed_or_paused_is_live(status: str) -> None:
    assert SignalStatus(status).is_live == (status in ("armed", "paused"))


# What counts


@pytest.mark.parametrize("status", STATUSES)
def test_a_transition_counts_for_live_signals_only(status: str) -> None:
    was = signal(status=SignalStatus(status))

    assert rules.matches(was, entry(), BEHIND) == was.status.is_live


@pytest.mark.spec("signals:32")
@pytest.mark.parametrize(
    ("place", "counts"),
    [
        (Place(4, 99), False),
        (Place(5, 49), False),
        (Place(5, 50), False),
        (Place(5, 51), True),
        (Place(6, 10), True),
    ],
)
def test_only_what_lies_behind_the_arming_counts(place: Place, counts: bool) -> None:
    assert rules.matches(signal(), entry(), place) == counts


@pytest.mark.parametrize(
    ("trigger", "about", "name", "is_meant"),
    [
        (ON_ITEM, {}, None, True),
        (ON_ITEM, {"to_status": "done"}, None, True),
        (ON_ITEM, {"to_status": "failed"}, None, False),
        (ON_ITEM, {"subject_id": "itm_other"}, None, False),
        (ON_ITEM, {"subject_kind": "run"}, None, False),
        (ON_ANY_ITEM, {"subject_id": "itm_other"}, None, True),
        (ON_ANY_ITEM, {"subject_kind": "run"}, None, False),
        (ON_RUN, {"subject_kind": "run", "subject_id": RUN, "to_status": "failed"}, "order", True),
        (ON_RUN, {"subject_kind": "item", "subject_id": RUN, "to_status": "failed"}, None, False),
        (ON_WORKFLOW, {"subject_kind": "run", "subject_id": RUN, "to_status": "failed"}, "order", True),
        (ON_WORKFLOW, {"subject_kind": "run", "subject_id": RUN, "to_status": "failed"}, "other", False),
        (ON_WORKFLOW, {"subject_kind": "run", "subject_id": RUN, "to_status": "completed"}, "order", False),
        (ON_WORKFLOW, {"subject_kind": "pipeline", "subject_id": "order", "to_status": "failed"}, "order", False),
        (HOURLY, {}, None, False),
    ],
)
def test_an_entry_is_meant_by_subject_and_state(
    trigger: Trigger, about: dict[str, Any], name: str | None, is_meant: bool
) -> None:
    assert rules.is_meant(trigger, replace(entry(), **about), name=name) == is_meant


@pytest.mark.parametrize("kind", [TriggerKind.RUN, TriggerKind.JOB, TriggerKind.GRAPH, TriggerKind.WORKFLOW])
@pytest.mark.parametrize("status", list(RunStatus))
def test_runs_leave_no_state_in_which_they_are_over(kind: TriggerKind, status: RunStatus) -> None:
    assert rules.is_over_for_good(kind, status) == status.is_terminal


def test_pipelines_leave_every_state_and_items_all_but_three() -> None:
    assert not rules.is_over_for_good(TriggerKind.PIPELINE, "paused")
    over = ["backlog", "ready", "doing", "blocked", "done", "failed", "cancelled"]
    assert [state for state in over if rules.is_over_for_good(TriggerKind.ITEM, state)] == over[-3:]


@pytest.mark.parametrize(
    ("trigger", "is_pattern"),
    [(ON_ITEM, False), (ON_ANY_ITEM, True), (ON_RUN, False), (ON_WORKFLOW, True), (HOURLY, False)],
)
def test_patterns_watch_more_than_one_subject(trigger: Trigger, is_pattern: bool) -> None:
    assert rules.is_pattern(trigger) == is_pattern


# Times


@pytest.mark.spec("signals:15")
def test_a_time_that_is_armed_knows_when_it_comes() -> None:
    assert rules.first_time(AT_NOON, now=LATER) == NOON
    assert rules.first_time(HOURLY, now=NOON) == NOON + HOUR
    assert rules.first_time(ON_ITEM, now=NOON) is None


@pytest.mark.spec("signals:15")
@pytest.mark.parametrize(
    ("late", "next"),
    [(0, 1), (1, 1), (HOUR - 1, 1), (HOUR, 2), (HOUR + 1, 2), (1000 * HOUR + 7, 1001), (-5 * MINUTE, 1)],
)
def test_what_passed_while_nobody_looked_is_one_firing(late: int, next: int) -> None:
    hourly = signal(HOURLY, repeats=True, available_at=NOON)

    assert rules.next_time(hourly, now=Instant(NOON + late)) == NOON + next * HOUR


def test_what_comes_once_has_no_next_time() -> None:
    assert rules.next_time(signal(AT_NOON, available_at=NOON), now=LATER) is None
    assert rules.next_time(signal(HOURLY, available_at=NOON), now=LATER) is None
    assert rules.next_time(signal(HOURLY, repeats=True), now=LATER) is None


def test_a_pause_stops_the_clock_and_arming_starts_it() -> None:
    paused = rules.paused(signal(HOURLY, repeats=True, available_at=NOON), now=NOON, by=None, reason=None)

    assert paused.available_at is None
    assert rules.armed(paused, now=LATER, by=None).available_at == LATER + HOUR


def test_a_point_in_time_comes_after_a_pause_unless_it_has_come_before() -> None:
    paused = signal(AT_NOON, status=SignalStatus.PAUSED)

    assert rules.armed(paused, now=LATER, by=None).available_at == NOON
    with pytest.raises(WrongState, match="A point in time comes once"):
        rules.armed(replace(paused, fired=1), now=LATER, by=None)


def test_a_time_that_comes_once_has_come_when_it_has_fired() -> None:
    fired = rules.fired(signal(HOURLY, available_at=LATER), now=NOON)

    assert (fired.status, fired.available_at) == ("fired", None)
    assert rules.fired(signal(HOURLY, repeats=True, available_at=LATER), now=NOON).available_at == LATER


# What becomes of a firing


def judged(of: Signal | None, *, has_fired: bool = False, depth: int = 0, **fields: Any) -> rules.Verdict:
    return rules.judged(firing(**fields), of, has_fired=has_fired, depth=depth, now=LATER)


def test_a_claim_has_a_token_and_counts_as_an_attempt() -> None:
    claimed = rules.claimed(
        firing(status=FiringStatus.QUEUED, worker=None, attempt=2, token=7), worker="wrk_2", now=NOON
    )

    assert (claimed.status, claimed.worker, claimed.token, claimed.attempt) == ("running", "wrk_2", 8, 3)
    assert claimed.available_at == NOON + CLAIM_FOR == NOON + MINUTE


@pytest.mark.spec("signals:10", "signals:40", "signals:42")
def test_an_armed_signal_fires_once() -> None:
    verdict = judged(signal(), error="reset")

    assert verdict.acts
    assert verdict.signal is not None
    assert (verdict.signal.status, verdict.signal.fired, verdict.signal.last_fired_at) == ("fired", 1, LATER)
    done = verdict.firing
    assert (done.status, done.error, done.worker, done.available_at, done.ended_at) == ("done", None, None, None, LATER)


@pytest.mark.parametrize(
    ("trigger", "fields"),
    [(ON_ITEM, {"repeats": True}), (ON_WORKFLOW, {}), (ON_ANY_ITEM, {}), (ON_WORKFLOW, {"repeats": True})],
)
def test_one_that_repeats_or_watches_many_stays_armed_and_counts(trigger: Trigger, fields: dict[str, Any]) -> None:
    verdict = judged(signal(trigger, fired=6, **fields))

    assert verdict.acts
    assert verdict.signal is not None
    assert (verdict.signal.status, verdict.signal.fired) == ("armed", 7)


@pytest.mark.spec("signals:39")
@pytest.mark.parametrize("status", ["fired", "cancelled"])
def test_a_firing_whose_signal_is_over_is_superseded(status: str) -> None:
    verdict = judged(signal(status=SignalStatus(status)))

    assert not verdict.acts
    assert verdict.signal is None
    assert (verdict.firing.status, verdict.firing.error) == ("superseded", f"its signal is {status}")


def test_a_firing_whose_signal_is_deleted_is_superseded() -> None:
    verdict = judged(None)

    assert (verdict.acts, verdict.firing.status, verdict.firing.ended_at) == (False, "superseded", LATER)


@pytest.mark.parametrize("trigger", [ON_WORKFLOW, ON_ANY_ITEM])
def test_once_of_many_is_once_for_each(trigger: Trigger) -> None:
    assert judged(signal(trigger), has_fired=True).firing.status == "superseded"
    assert judged(signal(trigger, repeats=True), has_fired=True).acts


def test_a_firing_whose_signal_is_paused_waits_and_that_was_no_attempt() -> None:
    verdict = judged(signal(status=SignalStatus.PAUSED), attempt=3)

    held = verdict.firing
    assert (verdict.acts, verdict.signal) == (False, None)
    assert (held.status, held.available_at, held.worker, held.attempt, held.ended_at) == ("queued", None, None, 2, None)


def test_what_happened_before_the_subject_was_gone_still_counts() -> None:
    verdict = judged(signal(status=SignalStatus.RESOLVED))

    assert verdict.acts
    assert verdict.signal is not None
    assert (verdict.signal.status, verdict.signal.fired) == ("resolved", 1)
    assert judged(verdict.signal).firing.status == "superseded"


def test_what_fired_before_a_signal_was_armed_anew_does_not_keep_its_last_firing() -> None:
    fired_before = signal(fired=1, last_fired_at=NOON)

    gone = rules.resolved(fired_before, now=NOON, reason="gone")

    verdict = judged(gone)
    assert verdict.acts
    assert verdict.signal is not None
    assert judged(verdict.signal).firing.status == "superseded"


def test_whoever_dies_at_every_attempt_is_not_followed_for_ever() -> None:
    assert judged(signal(), attempt=5).acts

    verdict = judged(signal(), attempt=6)

    assert not verdict.acts
    assert verdict.firing.status == "failed"
    assert "gave up after 5 attempts" in (verdict.firing.error or "")
    assert verdict.signal is not None
    assert (verdict.signal.status, verdict.signal.reason) == ("paused", verdict.firing.error)


def test_a_chain_of_ten_is_cut() -> None:
    assert judged(signal(), depth=9).firing.depth == 9

    verdict = judged(signal(), depth=10)

    assert (verdict.acts, verdict.firing.status) == (False, "failed")
    assert "a chain of 10 signals" in (verdict.firing.error or "")
    assert verdict.signal is not None
    assert verdict.signal.status == "paused"


# Trying again


@pytest.mark.spec("signals:27", "signals:36", "signals:50")
@pytest.mark.parametrize(("attempt", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8)])
@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
def test_a_failed_attempt_is_followed_by_a_longer_delay(attempt: int, seconds: int, jitter: float) -> None:
    failed = rules.failed(firing(attempt=attempt), Unavailable("reset"), now=LATER, jitter=jitter)

    assert (failed.status, failed.worker, failed.error, failed.ended_at) == ("queued", None, "reset", None)
    assert failed.available_at == LATER + int(seconds * SECOND * (1 + JITTER * jitter))
    assert failed.token == 1


@pytest.mark.spec("signals:50")
def test_after_five_attempts_it_has_failed() -> None:
    failed = rules.failed(firing(attempt=5), ZeroDivisionError(), now=LATER, jitter=0)

    assert (failed.status, failed.available_at, failed.worker, failed.ended_at) == ("failed", None, None, LATER)
    assert failed.error == "ZeroDivisionError"


def test_no_delay_is_longer_than_a_minute() -> None:
    assert backoff(rules.RETRY, failures=7, jitter=0) == 60 * SECOND
    assert backoff(rules.RETRY, failures=400, jitter=0) == 60 * SECOND


@pytest.mark.parametrize("error", [NotFound("item", ITEM), WrongState("Run", RUN, "completed", wanted="another")])
def test_what_is_refused_for_good_is_not_tried_again(error: Exception) -> None:
    failed = rules.failed(firing(attempt=1), error, now=LATER, jitter=0)

    assert (failed.status, failed.error) == ("failed", str(error))


def test_a_long_error_is_cut() -> None:
    failed = rules.failed(firing(), ValueError("x" * 10_000), now=LATER, jitter=0)

    assert failed.error == "x" * rules.MAX_ERROR


@pytest.mark.parametrize("status", STATUSES)
def test_a_firing_that_failed_pauses_a_signal_that_is_armed(status: str) -> None:
    after = rules.gave_up(signal(status=SignalStatus(status)), "no", now=LATER)

    assert (after.status == "paused") == (status in ("armed", "paused"))
    assert after.reason == ("no" if status == "armed" else None)
