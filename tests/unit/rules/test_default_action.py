"""What does a signal do that was not told what to do?"""

from __future__ import annotations

import pytest

from windlass.model.item import ItemStatus
from windlass.model.signal import ANY, Action, ActionKind, Trigger, TriggerKind
from windlass.rules.triggers import check_action, check_trigger, default_action

ITEM = "itm_" + "0" * 26


def test_a_signal_on_an_item_asks_for_a_follow_up() -> None:
    trigger = Trigger(kind=TriggerKind.ITEM, subject=ITEM, to=("done", "blocked", "done"))

    action = default_action(trigger)

    assert action == Action(kind=ActionKind.TASK, title="Follow up: it entered blocked or done")
    assert default_action(check_trigger(trigger)) == action


def test_a_signal_on_all_items_names_none_of_them() -> None:
    trigger = Trigger(kind=TriggerKind.ITEM, subject=ANY, to=("failed",))

    assert default_action(trigger).title == "Follow up: it entered failed"


def test_the_longest_follow_up_is_accepted() -> None:
    trigger = Trigger(kind=TriggerKind.ITEM, subject=ITEM, to=tuple(ItemStatus))

    assert check_action(default_action(trigger), trigger, repeats=True).kind is ActionKind.TASK


@pytest.mark.parametrize("kind", [kind for kind in TriggerKind if kind is not TriggerKind.ITEM])
def test_all_else_is_only_announced(kind: TriggerKind) -> None:
    assert default_action(Trigger(kind=kind, subject="x", to=("failed",))) == Action()
