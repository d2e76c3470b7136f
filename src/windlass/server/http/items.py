"""Routes for those who keep work items and their tasks."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeVar

from msgspec import UNSET

from windlass.api.checks import check
from windlass.api.grpc.table import page
from windlass.errors import InvalidInput
from windlass.model.duration import from_instant, shown
from windlass.model.item import (
    AddTask,
    CreateItem,
    DeleteItem,
    EndTask,
    Item,
    ItemId,
    ItemStatus,
    ListItems,
    Task,
    TaskId,
    TaskStatus,
    TransitionItem,
)
from windlass.rules.items import MOVES
from windlass.rules.limits import check_item_id, check_task_id
from windlass.server.http import asked_of_signals as asked
from windlass.server.http import telling, told
from windlass.server.http import told_of_items as told_of
from windlass.server.http.asked import PersonQuery
from windlass.server.http.calls import NAMESPACE, Call, Row
from windlass.server.http.telling import moment, payload

S = TypeVar("S", bound=StrEnum)

ITEMS = f"{NAMESPACE}/items"
ITEM = f"{ITEMS}/{{item_id}}"
LEAST_SIZE = 1_000  # of what stands around its data


async def create_item(call: Call) -> told_of.ItemSummary:
    wanted: asked.ItemRequest = call.body
    command = CreateItem(
        namespace=call.namespace,
        title=wanted.title,
        priority=wanted.priority,
        data=encoded(call, wanted.data, what="data"),
        key=wanted.key,
        by=wanted.by,
        item_id=None if wanted.item_id is None else ItemId(wanted.item_id),
    )
    return item(await call.service.items.create_item(check(command)))


async def list_items(call: Call) -> told_of.ItemsAnswer:
    query: asked.ItemsQuery = call.query
    command = ListItems(namespace=call.namespace, status=query.status, before=query.before, limit=query.limit)
    found = await call.service.items.list_items(check(command))
    items, has_more = page(found.items, _size)  # large ones make a shorter page
    return told_of.ItemsAnswer(items=[item(row) for row in items], next=items[-1].id if has_more else found.next)


async def get_item(call: Call) -> told_of.ItemDetail:
    found = await call.service.items.get_item(call.namespace, _id(call))
    return told_of.ItemDetail(
        **_item_fields(found.item), tasks=[task(row) for row in found.tasks], signals=found.signals
    )


async def read_item_log(call: Call) -> told.LogAnswer:
    entries = await call.service.items.read_item_log(call.namespace, _id(call))
    return told.LogAnswer(entries=[telling.entry(entry) for entry in entries])


async def transition_item(call: Call) -> told_of.ItemSummary:
    wanted: asked.TransitionRequest = call.body
    command = TransitionItem(
        namespace=call.namespace,
        item_id=_id(call),
        to=known(ItemStatus, wanted.to, what="to"),
        expected=None if wanted.expected is None else known(ItemStatus, wanted.expected, what="expected"),
        by=wanted.by,
        note=wanted.note,
    )
    return item(await call.service.items.transition_item(check(command)))


async def delete_item(call: Call) -> told.DoneAnswer:
    command = DeleteItem(namespace=call.namespace, item_id=_id(call), by=call.query.by)
    await call.service.items.delete_item(check(command))
    return told.DoneAnswer(is_done=True)


async def add_task(call: Call) -> told_of.TaskDetail:
    wanted: asked.TaskRequest = call.body
    command = AddTask(
        namespace=call.namespace,
        item_id=_id(call),
        title=wanted.title,
        data=encoded(call, wanted.data, what="data"),
        by=wanted.by,
        task_id=None if wanted.task_id is None else TaskId(wanted.task_id),
    )
    return task(await call.service.items.add_task(check(command)))


async def end_task(call: Call) -> told_of.TaskDetail:
    wanted: asked.EndTaskRequest = call.body
    command = EndTask(
        namespace=call.namespace,
        task_id=TaskId(check_task_id(call.path["task_id"])),
        status=known(TaskStatus, wanted.status, what="status"),
        by=wanted.by,
        note=wanted.note,
    )
    return task(await call.service.items.end_task(check(command)))


def _id(call: Call) -> ItemId:
    return ItemId(check_item_id(call.path["item_id"]))


def known(kind: type[S], text: str, *, what: str) -> S:
    """The state of that name. Raises InvalidInput with those there are."""
    try:
        return kind(text)
    except ValueError:
        names = ", ".join(member.value for member in kind)
        message = f"Invalid {what} {shown(text)}: one of {names} was expected."
        raise InvalidInput(message, reason="invalid_status", path=what) from None


def encoded(call: Call, value: Any, *, what: str) -> bytes | None:
    """None where nothing was given; null is something."""
    if value is UNSET:
        return None
    try:
        return call.site.codec.encode(value)
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}", reason=error.reason, path=error.path.replace("$", what, 1)) from None


# From what the door answers to what is told


def _size(row: Item) -> int:
    return LEAST_SIZE + len(row.data or b"")


def item(value: Item) -> told_of.ItemSummary:
    return told_of.ItemSummary(**_item_fields(value))


def _item_fields(value: Item) -> dict[str, Any]:
    return {
        "namespace": value.namespace,
        "id": value.id,
        "title": value.title,
        "status": value.status,
        "allowed": [status for status in ItemStatus if status in MOVES[value.status]],
        "priority": value.priority,
        "data": payload(value.data),
        "key": value.key,
        "created_at": from_instant(value.created_at),
        "changed_at": from_instant(value.changed_at),
        "ended_at": moment(value.ended_at),
    }


def task(value: Task) -> told_of.TaskDetail:
    return told_of.TaskDetail(
        id=value.id,
        item_id=value.item_id,
        title=value.title,
        status=value.status,
        data=payload(value.data),
        firing_id=value.firing_id,
        created_at=from_instant(value.created_at),
        ended_at=moment(value.ended_at),
        ended_by=value.ended_by,
        note=value.note,
    )


ROWS = (
    Row(
        method="POST",
        path=ITEMS,
        operation="create_item",
        op="work.create",
        summary="Make a work item, in the backlog. The same key with the same title and data is the same item.",
        handler=create_item,
        body=asked.ItemRequest,
        answer=told_of.ItemSummary,
    ),
    Row(
        method="GET",
        path=ITEMS,
        operation="list_items",
        op="work.list",
        summary="List work items, the newest first, page by page.",
        handler=list_items,
        query=asked.ItemsQuery,
        answer=told_of.ItemsAnswer,
    ),
    Row(
        method="GET",
        path=ITEM,
        operation="get_item",
        op="work.get",
        summary="A work item with its tasks, and how many signals watch it.",
        handler=get_item,
        answer=told_of.ItemDetail,
    ),
    Row(
        method="DELETE",
        path=ITEM,
        operation="delete_item",
        op="work.delete",
        summary="Forget a work item and its tasks. Signals on it are resolved; its log stays.",
        handler=delete_item,
        query=PersonQuery,
        answer=told.DoneAnswer,
    ),
    Row(
        method="POST",
        path=f"{ITEM}/transition",
        operation="transition_item",
        op="work.transition",
        summary="Move a work item to another state. A move that is not allowed is refused with those that are.",
        handler=transition_item,
        body=asked.TransitionRequest,
        answer=told_of.ItemSummary,
    ),
    Row(
        method="GET",
        path=f"{ITEM}/log",
        operation="read_item_log",
        op="work.log",
        summary="What became of a work item, the oldest first, also of one that is deleted.",
        handler=read_item_log,
        answer=told.LogAnswer,
    ),
    Row(
        method="POST",
        path=f"{ITEM}/tasks",
        operation="add_task",
        op="work.task.add",
        summary="Record something to be done about a work item that is not over.",
        handler=add_task,
        body=asked.TaskRequest,
        answer=told_of.TaskDetail,
    ),
    Row(
        method="POST",
        path=f"{NAMESPACE}/tasks/{{task_id}}/end",
        operation="end_task",
        op="work.task.end",
        summary="Say how a task ended. The same end again is a repeat.",
        handler=end_task,
        body=asked.EndTaskRequest,
        answer=told_of.TaskDetail,
    ),
)
