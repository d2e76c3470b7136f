"""What a work item is: something people or programs work on, in states that signals can watch, with its tasks.

backlog ─► ready ─► doing ─► done · failed · cancelled        the last three are for good
             ▲ ▲      │ ▲
             │ └──────┘ │        doing goes back to ready, and blocked to ready or doing
             └─ blocked ┘        ready, doing and blocked may be cancelled
"""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

from msgspec import Struct

from windlass.model.time import Instant

ItemId = NewType("ItemId", str)  # "itm_" and 26 characters, sortable by creation
TaskId = NewType("TaskId", str)  # "tsk_" and 26 characters


class ItemStatus(StrEnum):
    BACKLOG = "backlog"
    READY = "ready"
    DOING = "doing"
    BLOCKED = "blocked"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL_ITEMS


TERMINAL_ITEMS = frozenset({ItemStatus.DONE, ItemStatus.FAILED, ItemStatus.CANCELLED})


class TaskStatus(StrEnum):
    """Windlass records tasks and does not execute them: whoever does them says how that ended."""

    QUEUED = "queued"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"

    @property
    def is_terminal(self) -> bool:
        return self is not TaskStatus.QUEUED


class Item(Struct, frozen=True, kw_only=True):
    """A row of `items`."""

    namespace: str
    id: ItemId
    title: str
    status: ItemStatus
    priority: int  # 0 or more; what that means is up to whoever works on it
    data: bytes | None  # whatever belongs to it, encoded
    key: str | None  # the same key again is the same item
    created_at: Instant
    changed_at: Instant  # of its status
    ended_at: Instant | None = None


class Task(Struct, frozen=True, kw_only=True):
    """A row of `tasks`: something to be done about an item."""

    namespace: str
    id: TaskId
    item_id: ItemId
    title: str
    status: TaskStatus
    data: bytes | None  # what a signal carried, or whoever added it
    firing_id: str | None  # that added it; none: a person or a program
    created_at: Instant
    ended_at: Instant | None = None
    ended_by: str | None = None
    note: str | None = None


class CreateItem(Struct, frozen=True, kw_only=True):
    """Raises AlreadyExists if the key belongs to an item with another title, priority or data."""

    namespace: str
    title: str
    priority: int = 0
    data: bytes | None = None
    key: str | None = None
    by: str | None = None
    item_id: ItemId | None = None  # chosen by whoever asks from afar: asked again after a lost answer, it is the same


class TransitionItem(Struct, frozen=True, kw_only=True):
    namespace: str
    item_id: ItemId
    to: ItemStatus
    expected: ItemStatus | None = None  # refused if it is in another state by now; none: whatever it is in
    by: str | None = None
    note: str | None = None
    deed_id: str = ""  # chosen by whoever asks from afar: by it the same call is known after a lost answer
    is_again: bool = False  # the answer to the same call was lost


class DeleteItem(Struct, frozen=True, kw_only=True):
    namespace: str
    item_id: ItemId
    by: str | None = None
    is_again: bool = False


class AddTask(Struct, frozen=True, kw_only=True):
    """Refused for an item that is over; what a signal adds is not."""

    namespace: str
    item_id: ItemId
    title: str
    data: bytes | None = None
    by: str | None = None
    task_id: TaskId | None = None  # chosen by whoever asks from afar


class EndTask(Struct, frozen=True, kw_only=True):
    """The same end again is a repeat; another one is WrongState."""

    namespace: str
    task_id: TaskId
    status: TaskStatus
    by: str | None = None
    note: str | None = None


class ListItems(Struct, frozen=True, kw_only=True):
    """Newest first."""

    namespace: str
    status: ItemStatus | None = None
    before: str | None = None  # the id of the last item of the page before
    limit: int = 50


class ItemPage(Struct, frozen=True, kw_only=True):
    items: tuple[Item, ...]
    next: str | None


class ItemView(Struct, frozen=True, kw_only=True):
    """An item with its tasks, oldest first, and how many live signals watch it."""

    item: Item
    tasks: tuple[Task, ...] = ()
    signals: int = 0
