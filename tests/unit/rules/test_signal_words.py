"""What a signal watches and does, as people read it."""

from __future__ import annotations

import pytest

from tests.unit.rules import signal_values
from tests.unit.rules.signal_values import ITEM, RUN
from windlass.model.run import RunId
from windlass.model.signal import ANY, Action, ActionKind, Signal, Trigger, TriggerKind
from windlass.model.time import HOUR, SECOND, Duration, Instant
from windlass.rules.signal_words import does, how_often, in_words, watched

NINE = Instant(1_796_115_600 * SECOND)  # 2026-12-01 09:00 UTC
PAGE = Action(kind=ActionKind.START, workflow="page_on_call", queue="default")


def signal(trigger: Trigger, action: Action = PAGE, *, repeats: bool = False) -> Signal:
    return signal_values.signal(trigger, action=action, repeats=repeats, is_declared=True)


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (Trigger(kind=TriggerKind.RUN, subject=RUN, to=("failed",)), f"when run {RUN} enters failed"),
        (Trigger(kind=TriggerKind.JOB, subject=RUN, to=("failed",)), f"when job {RUN} enters failed"),
        (Trigger(kind=TriggerKind.GRAPH, subject=RUN, to=("failed",)), f"when graph {RUN} enters failed"),
        (
            Trigger(kind=TriggerKind.ITEM, subject=ITEM, to=("blocked", "cancelled", "failed")),
            f"when item {ITEM} enters blocked, cancelled or failed",
        ),
        (Trigger(kind=TriggerKind.ITEM, subject=ANY, to=("blocked", "done")), "when any item enters blocked or done"),
        (
            Trigger(kind=TriggerKind.PIPELINE, subject="payments", to=("attention",)),
            "when pipeline 'payments' enters attention",
        ),
        (Trigger(kind=TriggerKind.WORKFLOW, subject="order", to=("failed",)), "when a run of 'order' enters failed"),
        (Trigger(kind=TriggerKind.TIME, at=NINE), "at 2026-12-01 09:00 UTC"),
        (Trigger(kind=TriggerKind.TIME, at=Instant(NINE + SECOND)), "at 2026-12-01 09:00:01 UTC"),
        (Trigger(kind=TriggerKind.TIME, every=Duration(HOUR)), "after 1 h"),
    ],
)
def test_what_it_watches(trigger: Trigger, words: str) -> None:
    assert watched(signal(trigger)) == words


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (PAGE, "start 'page_on_call'"),
        (Action(kind=ActionKind.START, workflow="page", queue="ops"), "start 'page' in queue 'ops'"),
        (Action(kind=ActionKind.SEND, run_id=RunId(RUN), event="paid"), f"send 'paid' to {RUN}"),
        (Action(kind=ActionKind.TASK, title="Unblock it"), "add the task 'Unblock it'"),
        (Action(kind=ActionKind.TASK, title="\x1b[31mred"), "add the task '\\x1b[31mred'"),
        (Action(), "only say so"),
    ],
)
def test_what_it_does(action: Action, words: str) -> None:
    assert does(signal(Trigger(kind=TriggerKind.TIME, at=NINE), action)) == words


def test_once_of_many_is_once_for_each_of_them() -> None:
    trigger = Trigger(kind=TriggerKind.WORKFLOW, subject="order", to=("failed",))
    any_item = Trigger(kind=TriggerKind.ITEM, subject=ANY, to=("done",))

    assert how_often(signal(trigger)) == "once for each run"
    assert how_often(signal(any_item)) == "once for each item"
    assert how_often(signal(trigger, repeats=True)) == "each time"
    assert how_often(signal(Trigger(kind=TriggerKind.RUN, subject=RUN, to=("failed",)))) == "once"


def test_all_of_it_is_one_line() -> None:
    failing = Trigger(kind=TriggerKind.RUN, subject=RUN, to=("failed",))

    assert in_words(signal(failing)) == f"when run {RUN} enters failed, start 'page_on_call', once"
    hourly = Trigger(kind=TriggerKind.TIME, every=Duration(HOUR))
    assert in_words(signal(hourly, repeats=True)) == "every 1 h, start 'page_on_call'"
