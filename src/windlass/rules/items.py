"""Which moves a work item may make, and what is accepted of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from windlass.errors import InvalidInput, WrongState
from windlass.model.item import Item, ItemStatus, Task, TaskStatus
from windlass.model.time import Instant
from windlass.rules.limits import MAX_TITLE, check_limit, check_note

HIGHEST_ITEM_PRIORITY = 1_000_000
MOST_TASKS = 1_000  # open ones, of one item

MOVES: Mapping[ItemStatus, frozenset[ItemStatus]] = {
    ItemStatus.BACKLOG: frozenset({ItemStatus.READY}),
    ItemStatus.READY: frozenset({ItemStatus.DOING, ItemStatus.CANCELLED}),
    ItemStatus.DOING: frozenset(
        {ItemStatus.READY, ItemStatus.BLOCKED, ItemStatus.DONE, ItemStatus.FAILED, ItemStatus.CANCELLED}
    ),
    ItemStatus.BLOCKED: frozenset({ItemStatus.READY, ItemStatus.DOING, ItemStatus.CANCELLED}),
    ItemStatus.DONE: frozenset(),
    ItemStatus.FAILED: frozenset(),
    ItemStatus.CANCELLED: frozenset(),
}


def check_title(title: str, *, what: str = "title") -> str:
    """One line for people: 1 to 200 characters."""
    text = check_note(title, what=what, longest=MAX_TITLE)
    if text is None or not text.strip():
        raise InvalidInput(f"Invalid {what} '': it is empty.", reason="invalid_text", path=what)
    if any(character in text for character in "\r\n\u2028\u2029"):
        raise InvalidInput(f"Invalid {what} {text[:60]!r}: one line was expected.", reason="invalid_text", path=what)
    return text


def check_item_priority(priority: int) -> int:
    return check_limit(priority, what="priority", low=0, high=HIGHEST_ITEM_PRIORITY)


def transition(item: Item, to: ItemStatus, *, now: Instant, expected: ItemStatus | None = None) -> Item:
    """The item in its next state. Raises WrongState, naming the moves that are allowed."""
    if expected is not None and item.status is not expected:
        raise WrongState("Item", item.id, item.status, wanted=expected, hint=_allowed(item.status))
    if to not in MOVES[item.status]:
        raise WrongState("Item", item.id, item.status, wanted=_sources(to), hint=_allowed(item.status))
    return replace(item, status=to, changed_at=now, ended_at=now if to.is_terminal else None)


def _sources(to: ItemStatus) -> str:
    sources = [status.value for status, moves in MOVES.items() if to in moves]
    return f"to become {to.value}, {' or '.join(sources) or 'none'}"


def _allowed(status: ItemStatus) -> str:
    moves = [move.value for move in ItemStatus if move in MOVES[status]]
    return f"It may become {', '.join(moves)}." if moves else f"That is for good: {status.value} items do not move."


def end_task(task: Task, status: TaskStatus, *, now: Instant, by: str | None, note: str | None) -> Task:
    """The task as it ended. Raises WrongState if it ended otherwise before."""
    if status is TaskStatus.QUEUED:
        ends = ", ".join(end.value for end in TaskStatus if end.is_terminal)
        raise InvalidInput(f"A task ends as one of {ends}.", reason="invalid_status", path="status")
    if task.status is status:
        return task
    if task.status.is_terminal:
        raise WrongState("Task", task.id, task.status, wanted="one that is queued")
    return replace(task, status=status, ended_at=now, ended_by=by, note=note)
