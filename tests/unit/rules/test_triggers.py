"""What may a signal watch, and what may it do?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.rules.signal_values import AT_NOON, HOURLY, ITEM, NOON, ON_ITEM, ON_RUN, ON_WORKFLOW, RUN
from windlass.errors import InvalidInput
from windlass.model.duration import MAX_DURATION
from windlass.model.run import RunId
from windlass.model.signal import ANY, Action, ActionKind, Trigger, TriggerKind
from windlass.model.time import MILLISECOND, SECOND, Duration
from windlass.rules.limits import MAX_STORED
from windlass.rules.triggers import STATES, check_action, check_states, check_trigger, check_trigger_kind

SUBJECTS = {
    TriggerKind.ITEM: ITEM,
    TriggerKind.RUN: RUN,
    TriggerKind.JOB: RUN,
    TriggerKind.GRAPH: RUN,
    TriggerKind.PIPELINE: "payments",
    TriggerKind.WORKFLOW: "order",
}
START = Action(kind=ActionKind.START, workflow="page", queue="default")
SEND = Action(kind=ActionKind.SEND, run_id=RunId(RUN), event="paid")
TASK = Action(kind=ActionKind.TASK, title="Look at it")


@pytest.mark.spec("signals:12", "signals:13", "signals:23")
@pytest.mark.parametrize("kind", ["approval.resolved", "artifact.created", "task.completed", "run", ""])
def test_a_kind_that_nobody_knows_is_refused_with_those_there_are(kind: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_trigger_kind(kind)

    for known in TriggerKind:
        assert known.value in str(refused.value)
        assert check_trigger_kind(known.value) is known
    assert (refused.value.reason, refused.value.path) == ("invalid_trigger", "kind")


@pytest.mark.spec("signals:21")
@pytest.mark.parametrize("kind", SUBJECTS)
def test_every_state_of_a_subject_can_be_watched_sorted_and_once(kind: TriggerKind) -> None:
    states = [state.value for state in STATES[kind]]

    checked = check_trigger(Trigger(kind=kind, subject=SUBJECTS[kind], to=(*reversed(states), *states)))

    assert checked.to == tuple(sorted(states))


def test_the_trigger_on_an_item_has_the_name_it_is_known_by() -> None:
    assert ON_ITEM.kind == "work_item.status.transition"


@pytest.mark.spec("signals:13", "signals:23")
@pytest.mark.parametrize("kind", SUBJECTS)
@pytest.mark.parametrize("to", [("compleeted",), ("Done",), ("",), ("done,failed",), ()])
def test_a_state_that_there_is_not_is_refused_with_those_there_are(kind: TriggerKind, to: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_trigger(Trigger(kind=kind, subject=SUBJECTS[kind], to=to))

    for state in STATES[kind]:
        assert state.value in str(refused.value)
    assert refused.value.path == "to"


def test_a_slip_of_the_pen_is_met_by_the_state_that_was_meant() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'completed'"):
        check_states(TriggerKind.RUN, ["compleeted"])


@pytest.mark.spec("signals:13", "signals:22")
@pytest.mark.parametrize(
    "trigger",
    [
        replace(ON_ITEM, subject=""),
        replace(ON_ITEM, subject=RUN),
        replace(ON_RUN, subject=""),
        replace(ON_RUN, subject=ITEM),
        replace(ON_RUN, subject=ANY),
        replace(ON_WORKFLOW, subject=""),
        replace(ON_WORKFLOW, subject="a b\n"),
        Trigger(kind=TriggerKind.PIPELINE, subject="", to=("paused",)),
    ],
    ids=str,
)
def test_a_subject_that_cannot_be_one_is_refused(trigger: Trigger) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_trigger(trigger)

    assert refused.value.path == "subject"


def test_all_items_can_be_watched() -> None:
    assert check_trigger(replace(ON_ITEM, subject=ANY)).subject == ANY


@pytest.mark.spec("signals:15")
@pytest.mark.parametrize(
    "trigger",
    [
        Trigger(kind=TriggerKind.TIME),
        replace(AT_NOON, every=Duration(SECOND)),
        replace(AT_NOON, to=("done",)),
        replace(AT_NOON, subject=ITEM),
        replace(HOURLY, every=Duration(SECOND - 1)),
        replace(HOURLY, every=Duration(0)),
        replace(HOURLY, every=Duration(-5)),
        replace(HOURLY, every=Duration(MAX_DURATION + 1)),
        replace(ON_ITEM, at=NOON),
        replace(ON_RUN, every=Duration(SECOND)),
    ],
    ids=str,
)
def test_a_malformed_time_is_refused(trigger: Trigger) -> None:
    with pytest.raises(InvalidInput):
        check_trigger(trigger)


@pytest.mark.spec("signals:15")
@pytest.mark.parametrize("trigger", [AT_NOON, HOURLY, replace(HOURLY, every=MAX_DURATION)], ids=str)
def test_a_time_is_accepted(trigger: Trigger) -> None:
    assert check_trigger(trigger) == trigger


def test_a_time_enters_no_state() -> None:
    with pytest.raises(InvalidInput, match="a time enters no state"):
        check_states(TriggerKind.TIME, ["done"])


@pytest.mark.parametrize(("action", "trigger"), [(START, ON_RUN), (SEND, HOURLY), (TASK, ON_ITEM), (Action(), AT_NOON)])
def test_an_action_is_accepted(action: Action, trigger: Trigger) -> None:
    assert check_action(action, trigger, repeats=False) == action


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        (START, {"workflow": ""}),
        (START, {"queue": "a b"}),
        (START, {"input": bytes(MAX_STORED + 1)}),
        (SEND, {"run_id": None}),
        (SEND, {"run_id": RunId(ITEM)}),
        (SEND, {"event": ""}),
        (TASK, {"title": ""}),
        (TASK, {"title": "two\nlines"}),
    ],
    ids=lambda value: str(next(iter(value))) if isinstance(value, dict) else value.kind,
)
def test_an_action_that_nobody_can_do_is_refused(action: Action, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        check_action(replace(action, **fields), ON_ITEM, repeats=False)


@pytest.mark.parametrize("trigger", [ON_RUN, ON_WORKFLOW, HOURLY, AT_NOON], ids=str)
def test_a_task_needs_an_item(trigger: Trigger) -> None:
    with pytest.raises(InvalidInput, match="only a signal on a work item"):
        check_action(TASK, trigger, repeats=False)


def test_a_point_in_time_does_not_repeat() -> None:
    with pytest.raises(InvalidInput, match="a point in time comes once"):
        check_action(Action(), AT_NOON, repeats=True)

    assert check_action(Action(), HOURLY, repeats=True) == Action()


def test_below_a_second_nobody_looks() -> None:
    with pytest.raises(InvalidInput, match="from 1 s"):
        check_trigger(replace(HOURLY, every=Duration(MILLISECOND)))
