"""Ask about work items: make them, move them from state to state, and keep the tasks that belong to them."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from windlass.api.signal_service import Items as Service
from windlass.client.handle import Door
from windlass.client.inside import refuse_inside_a_workflow
from windlass.codec import Codec
from windlass.define.options import shorten
from windlass.define.signal import EveryItem
from windlass.errors import AlreadyExists, InvalidInput
from windlass.model import item as model
from windlass.model.duration import from_instant
from windlass.model.item import (
    AddTask,
    CreateItem,
    DeleteItem,
    EndTask,
    ItemId,
    ItemStatus,
    ListItems,
    Task,
    TaskId,
    TaskStatus,
    TransitionItem,
)
from windlass.model.run import LogEntry
from windlass.model.time import Instant
from windlass.rules.items import check_item_priority, check_title
from windlass.rules.limits import check_item_id, check_key, check_limit, check_note, check_person, check_task_id

MOST_ROWS = 1_000
PAGE = 500

ItemStatusLike: TypeAlias = Literal["backlog", "ready", "doing", "blocked", "done", "failed", "cancelled"] | ItemStatus
TaskEndLike: TypeAlias = Literal["completed", "failed", "cancelled", "skipped"] | TaskStatus
Member = TypeVar("Member", bound=StrEnum)


class ItemInfo(Struct, frozen=True, kw_only=True):
    """A work item as it stands: `for item in await app.items.list(status="doing"): print(item.title)`."""

    id: str
    title: str
    status: ItemStatus
    priority: int
    data: Any  # as it was given; bytes, if this program cannot read it
    key: str | None
    created_at: datetime  # in UTC, as all times
    changed_at: datetime  # when it came to this status
    ended_at: datetime | None


class TaskInfo(Struct, frozen=True, kw_only=True):
    """A task of a work item as it stands. Nobody executes it: whoever does it says how that ended."""

    id: str
    item_id: str
    title: str
    status: TaskStatus
    data: Any  # what the signal carried, or whoever added it
    firing_id: str | None  # of the signal that added it
    created_at: datetime
    ended_at: datetime | None
    ended_by: str | None
    note: str | None


class ItemChange(Struct, frozen=True, kw_only=True):
    """One step in the life of a work item."""

    at: datetime
    cause: str
    from_status: str | None
    to_status: str
    by: str | None
    note: str | None


class Item(EveryItem):
    """A work item that is held: what people or programs work on, in states that `app.when` can watch.

    The class itself stands for every work item: `@app.on(windlass.Item, enters="blocked")`.
    Example: `item = await app.items.create("Move the server"); await item.move("ready")`
    """

    def __init__(self, items: Items, item_id: ItemId) -> None:
        self._items, self._id = items, item_id

    @property
    def id(self) -> str:
        """ "itm_" and 26 characters."""
        return self._id

    def __repr__(self) -> str:
        return f"Item({self._id!r})"

    async def info(self) -> ItemInfo:
        """Where it stands, and what belongs to it."""
        service = await self._items._asked("info", "item")
        view = await service.get_item(self._items._namespace, self._id)
        return item_info(view.item, self._items._codec)

    async def status(self) -> ItemStatus:
        """Where it stands now: a text such as "doing"."""
        service = await self._items._asked("status", "item")
        return (await service.get_item(self._items._namespace, self._id)).item.status

    async def move(
        self,
        to: ItemStatusLike,
        /,
        *,
        expected: ItemStatusLike | None = None,
        by: str | None = None,
        note: str | None = None,
    ) -> ItemInfo:
        """Bring it to another state. Its last one cancels the tasks that are open.

        Raises WrongState for a move that is not allowed, naming those that are, and if it is no longer in the state
        that was `expected`.
        """
        service = await self._items._asked("move", "item", changes=True)
        command = TransitionItem(
            namespace=self._items._namespace,
            item_id=self._id,
            to=member(ItemStatus, to, what="to"),
            expected=None if expected is None else member(ItemStatus, expected, what="expected"),
            by=check_person(by),
            note=check_note(note),
        )
        return item_info(await service.transition_item(command), self._items._codec)

    async def tasks(self) -> list[TaskInfo]:
        """What is to be done about it, and what was: the oldest first."""
        service = await self._items._asked("tasks", "item")
        view = await service.get_item(self._items._namespace, self._id)
        return [task_info(task, self._items._codec) for task in view.tasks]

    async def add_task(self, title: str, data: Any = None, /, *, by: str | None = None) -> TaskInfo:
        """Note something to be done about it. Raises WrongState if the item is over."""
        service = await self._items._asked("add_task", "item", changes=True)
        command = AddTask(
            namespace=self._items._namespace,
            item_id=self._id,
            title=check_title(title),
            data=None if data is None else self._items._codec.encode(data),
            by=check_person(by),
        )
        return task_info(await service.add_task(command), self._items._codec)

    async def end_task(
        self,
        task: TaskInfo | str,
        status: TaskEndLike = "completed",
        /,
        *,
        by: str | None = None,
        note: str | None = None,
    ) -> TaskInfo:
        """Say how a task ended. The same again is harmless; another end is WrongState."""
        service = await self._items._asked("end_task", "item", changes=True)
        return await self._items._end_task(service, task, status, by=by, note=note)

    async def history(self) -> list[ItemChange]:
        """What became of it, the oldest first; also of one that is deleted."""
        service = await self._items._asked("history", "item")
        return [_change(entry) for entry in await service.read_item_log(self._items._namespace, self._id)]

    async def delete(self, *, by: str | None = None) -> None:
        """Forget it and its tasks. Signals that watch it are resolved, and say why."""
        service = await self._items._asked("delete", "item", changes=True)
        namespace = self._items._namespace
        await service.delete_item(DeleteItem(namespace=namespace, item_id=self._id, by=check_person(by)))

    def _item_id(self) -> str:
        return self._id


class Items(EveryItem):
    """`app.items`: the work items of this App's database. `app.sync.items` blocks.

    Example: `item = await app.items.create("Move the server", priority=2, key="ticket-17")`
    """

    def __init__(self, door: Door, service: Callable[[], Awaitable[Service]]) -> None:
        self._service, self._namespace, self._codec = service, door.namespace, door.codec
        self._to_change = door.to_change

    async def create(
        self, title: str, /, *, priority: int = 0, data: Any = None, key: str | None = None, by: str | None = None
    ) -> Item:
        """Put an item into the backlog. The same `key` with the same content answers with the same item.

        Raises AlreadyExists if the key belongs to another one.
        """
        service = await self._asked("create", changes=True)
        command = CreateItem(
            namespace=self._namespace,
            title=check_title(title),
            priority=check_item_priority(priority),
            data=None if data is None else self._codec.encode(data),
            key=None if key is None else check_key(key, what="key"),
            by=check_person(by),
        )
        try:
            return Item(self, (await service.create_item(command)).id)
        except AlreadyExists as error:
            if not self._codec.is_sealing or not error.owner:
                raise
            # What is sealed twice need not be the same bytes: only who can open it can tell.
            known = (await service.get_item(self._namespace, ItemId(error.owner))).item
            is_same = (known.key, known.title, known.priority) == (command.key, command.title, command.priority)
            if not is_same or readable(known.data, self._codec) != readable(command.data, self._codec):
                raise
            return Item(self, known.id)

    async def get(self, item_id: str, /) -> Item:
        """Hold one that was made before. Raises NotFound."""
        service = await self._asked("get")
        view = await service.get_item(self._namespace, ItemId(check_item_id(item_id)))
        return Item(self, view.item.id)

    async def list(self, *, status: ItemStatusLike | None = None, limit: int = 50) -> builtins.list[ItemInfo]:
        """The newest first."""
        service = await self._asked("list")
        left, before = check_limit(limit, what="limit", low=1, high=MOST_ROWS), None
        wanted = None if status is None else member(ItemStatus, status, what="status")
        found: builtins.list[ItemInfo] = []
        while left > len(found):
            asked = min(PAGE, left - len(found))
            query = ListItems(namespace=self._namespace, status=wanted, before=before, limit=asked)
            page = await service.list_items(query)
            found += [item_info(item, self._codec) for item in page.items]
            before = page.next
            if before is None:
                break
        return found

    async def end_task(
        self,
        task: TaskInfo | str,
        status: TaskEndLike = "completed",
        /,
        *,
        by: str | None = None,
        note: str | None = None,
    ) -> TaskInfo:
        """Say how a task ended, of whatever item. The same again is harmless; another end is WrongState."""
        return await self._end_task(await self._asked("end_task", changes=True), task, status, by=by, note=note)

    async def _end_task(
        self, service: Service, task: TaskInfo | str, status: object, *, by: str | None, note: str | None
    ) -> TaskInfo:
        command = EndTask(
            namespace=self._namespace,
            task_id=TaskId(check_task_id(task.id if isinstance(task, TaskInfo) else task)),
            status=member(TaskStatus, status, what="status"),
            by=check_person(by),
            note=check_note(note),
        )
        return task_info(await service.end_task(command), self._codec)

    async def _asked(self, verb: str, holder: str = "app.items", *, changes: bool = False) -> Service:
        refuse_inside_a_workflow(f"{verb} of an item", verb=f"{holder}.{verb}()")
        if changes:
            await self._to_change()
        return await self._service()


def member(kind: type[Member], value: object, *, what: str) -> Member:
    """Raises InvalidInput with the values that there are."""
    known = [entry.value for entry in kind]
    if isinstance(value, str) and str(value) in known:
        return kind(str(value))
    text = f"{what} must be one of {', '.join(map(repr, known))}, not {shorten(value)}."
    raise InvalidInput(text, reason="invalid_option", path=what)


def item_info(item: model.Item, codec: Codec) -> ItemInfo:
    return ItemInfo(
        id=item.id,
        title=item.title,
        status=item.status,
        priority=item.priority,
        data=readable(item.data, codec),
        key=item.key,
        created_at=from_instant(item.created_at),
        changed_at=from_instant(item.changed_at),
        ended_at=time_of(item.ended_at),
    )


def task_info(task: Task, codec: Codec) -> TaskInfo:
    return TaskInfo(
        id=task.id,
        item_id=task.item_id,
        title=task.title,
        status=task.status,
        data=readable(task.data, codec),
        firing_id=task.firing_id,
        created_at=from_instant(task.created_at),
        ended_at=time_of(task.ended_at),
        ended_by=task.ended_by,
        note=task.note,
    )


def readable(data: bytes | None, codec: Codec) -> Any:
    """What was stored; as bytes where somebody else stored it in a way of their own."""
    if data is None:
        return None
    try:
        return codec.decode(data)
    except InvalidInput:
        return data


def time_of(instant: Instant | None) -> datetime | None:
    return None if instant is None else from_instant(instant)


def _change(entry: LogEntry) -> ItemChange:
    said: dict[str, Any] = msgspec.json.decode(entry.data, type=dict[str, Any]) if entry.data else {}
    return ItemChange(
        at=from_instant(entry.at),
        cause=entry.cause,
        from_status=entry.from_status,
        to_status=entry.to_status,
        by=said.get("by"),
        note=said.get("note"),
    )
