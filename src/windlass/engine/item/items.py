"""Work items: binds their operations to the door."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.item import steer, tasks
from windlass.engine.parts import Parts
from windlass.model.item import (
    AddTask,
    CreateItem,
    DeleteItem,
    EndTask,
    Item,
    ItemId,
    ItemPage,
    ItemView,
    ListItems,
    Task,
    TransitionItem,
)
from windlass.model.run import LogEntry
from windlass.store.base import Tx

T = TypeVar("T")

MOST_SHOWN = 1_000  # tasks of one item, the newest


class EngineItems:
    """api.service.Items, in process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def create_item(self, command: CreateItem) -> Item:
        return await steer.create_item(self._parts, command)

    async def get_item(self, namespace: str, item_id: ItemId) -> ItemView:
        async def look(tx: Tx) -> ItemView:
            item = await tx.items.load(namespace, item_id)
            if item is None:
                raise steer.no_item(item_id)
            found = await tx.tasks.of_item(namespace, item_id, limit=MOST_SHOWN)
            live = await tx.signals.on(namespace, subject_kind=steer.SUBJECT, subjects=[item_id])
            return ItemView(item=item, tasks=tuple(found), signals=len(live))

        return await self._read("get_item", look)

    async def list_items(self, query: ListItems) -> ItemPage:
        more = replace(query, limit=query.limit + 1)
        found = await self._read("list_items", lambda tx: tx.items.list(more))
        items = tuple(found[: query.limit])
        return ItemPage(items=items, next=items[-1].id if len(found) > query.limit else None)

    async def read_item_log(self, namespace: str, item_id: ItemId) -> tuple[LogEntry, ...]:
        found = await self._read(
            "read_item_log", lambda tx: tx.log.of_subject(namespace, kind=steer.SUBJECT, id=item_id)
        )
        if not found:
            raise steer.no_item(item_id)
        return tuple(found)

    async def transition_item(self, command: TransitionItem) -> Item:
        return await steer.transition_item(self._parts, command)

    async def delete_item(self, command: DeleteItem) -> None:
        await steer.delete_item(self._parts, command)

    async def add_task(self, command: AddTask) -> Task:
        return await tasks.add_task(self._parts, command)

    async def end_task(self, command: EndTask) -> Task:
        return await tasks.end_task(self._parts, command)

    async def _read(self, name: str, fn: Callable[[Tx], Awaitable[T]]) -> T:
        return await until_answered(self._parts.clock, lambda: self._parts.store.read(name, fn))
