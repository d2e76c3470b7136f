"""Which moves may a work item make, and how does a task end?"""

from __future__ import annotations

import pytest

from tests.unit.rules.signal_values import ITEM, LATER, item, task
from windlass.errors import InvalidInput, WrongState
from windlass.model.item import ItemStatus, TaskStatus
from windlass.rules import items

ALLOWED = {
    ("backlog", "ready"),
    ("ready", "doing"),
    ("ready", "cancelled"),
    ("doing", "ready"),
    ("doing", "blocked"),
    ("doing", "done"),
    ("doing", "failed"),
    ("doing", "cancelled"),
    ("blocked", "ready"),
    ("blocked", "doing"),
    ("blocked", "cancelled"),
}
REFUSED = [(a.value, b.value) for a in ItemStatus for b in ItemStatus if (a.value, b.value) not in ALLOWED]
ENDS = ("completed", "failed", "cancelled", "skipped")


@pytest.mark.parametrize(("before", "after"), sorted(ALLOWED))
def test_a_legal_move_is_made(before: str, after: str) -> None:
    moved = items.transition(item(ItemStatus(before)), ItemStatus(after), now=LATER)

    assert (moved.status.value, moved.changed_at) == (after, LATER)
    assert moved.ended_at == (LATER if after in ("done", "failed", "cancelled") else None)


@pytest.mark.parametrize(("before", "after"), REFUSED)
def test_an_illegal_move_is_refused_with_the_legal_ones(before: str, after: str) -> None:
    legal = [move.value for move in ItemStatus if (before, move.value) in ALLOWED]

    with pytest.raises(WrongState) as refused:
        items.transition(item(ItemStatus(before)), ItemStatus(after), now=LATER)

    hint = f"It may become {', '.join(legal)}." if legal else f"That is for good: {before} items do not move."
    assert hint in str(refused.value)
    assert f"to become {after}" in str(refused.value)


def test_a_move_from_another_state_than_expected_is_refused() -> None:
    doing = item(ItemStatus.DOING)

    with pytest.raises(WrongState, match="It may become ready"):
        items.transition(doing, ItemStatus.DONE, now=LATER, expected=ItemStatus.BLOCKED)

    assert items.transition(doing, ItemStatus.DONE, now=LATER, expected=ItemStatus.DOING).status == "done"


@pytest.mark.parametrize("title", ["", "   ", "two\nlines", "two\rlines", "two\u2028lines", "x" * 201])
def test_a_title_is_one_line_of_at_most_200_characters(title: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        items.check_title(title)

    assert refused.value.path == "title"
    assert items.check_title("x" * 200) == "x" * 200


@pytest.mark.parametrize("priority", [-1, 1_000_001])
def test_a_priority_has_its_limits(priority: int) -> None:
    with pytest.raises(InvalidInput):
        items.check_item_priority(priority)

    assert items.check_item_priority(0) == 0
    assert items.check_item_priority(1_000_000) == 1_000_000


@pytest.mark.parametrize("end", ENDS)
def test_a_task_ends_once_however_often_that_is_said(end: str) -> None:
    ended = items.end_task(task(), TaskStatus(end), now=LATER, by="kim", note="so it went")

    assert (ended.status.value, ended.ended_at, ended.ended_by, ended.note) == (end, LATER, "kim", "so it went")
    assert items.end_task(ended, TaskStatus(end), now=LATER, by="alex", note=None) == ended
    for other in ENDS:
        if other != end:
            with pytest.raises(WrongState):
                items.end_task(ended, TaskStatus(other), now=LATER, by=None, note=None)


def test_a_task_does_not_end_as_queued() -> None:
    with pytest.raises(InvalidInput, match="completed, failed, cancelled, skipped"):
        items.end_task(task(), TaskStatus.QUEUED, now=LATER, by=None, note=None)


def test_the_id_of_the_item_is_in_every_refusal() -> None:
    with pytest.raises(WrongState, match=ITEM):
        items.transition(item(), ItemStatus.DONE, now=LATER)
