"""Which work items there are, and what is to be done about them."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING

from windlass.model.item import Item, ItemId, ItemStatus, ListItems, Task, TaskId
from windlass.store.signal_rows import columns_of, item_from_row, task_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection

LAST_ID = "~"  # behind every id


class ItemQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def insert(self, item: Item) -> bool:
        """False: there is one of that id or key."""
        return await self._connection.run("insert_item", **columns_of(item)) == 1

    async def load(self, namespace: str, id: ItemId) -> Item | None:
        row = await self._connection.first("load_item", namespace=namespace, id=id)
        return None if row is None else item_from_row(row)

    async def lock(self, namespace: str, id: ItemId) -> Item | None:
        """Load, and keep away whoever moves or watches it. Comes before any lock on a signal."""
        row = await self._connection.first("lock_item", namespace=namespace, id=id)
        return None if row is None else item_from_row(row)

    async def by_key(self, namespace: str, key: str) -> Item | None:
        row = await self._connection.first("item_by_key", namespace=namespace, key=key)
        return None if row is None else item_from_row(row)

    async def list(self, query: ListItems) -> builtins.list[Item]:
        before = query.before or LAST_ID
        if query.status is None:
            rows = await self._connection.all("list_items", namespace=query.namespace, before=before, limit=query.limit)
        else:
            rows = await self._connection.all(
                "list_items_of_status",
                namespace=query.namespace,
                status=query.status,
                before=before,
                limit=query.limit,
            )
        return [item_from_row(row) for row in rows]

    async def move(self, item: Item, *, was: ItemStatus) -> bool:
        """Compare-and-set on the state it was decided on."""
        changed = await self._connection.run(
            "move_item",
            namespace=item.namespace,
            id=item.id,
            status=item.status,
            changed_at=item.changed_at,
            ended_at=item.ended_at,
            was=was,
        )
        return changed == 1

    async def delete(self, namespace: str, id: ItemId) -> None:
        """With its tasks."""
        await self._connection.run("delete_tasks_of_item", namespace=namespace, item_id=id)
        await self._connection.run("delete_item", namespace=namespace, id=id)


class TaskQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def insert(self, tasks: Sequence[Task]) -> None:
        """An id that exists is a repeat."""
        await self._connection.batch("insert_tasks", tasks)

    async def load(self, namespace: str, id: TaskId) -> Task | None:
        row = await self._connection.first("load_task", namespace=namespace, id=id)
        return None if row is None else task_from_row(row)

    async def of_item(self, namespace: str, item_id: ItemId, *, limit: int) -> list[Task]:
        """The newest of them, oldest first."""
        rows = await self._connection.all("tasks_of_item", namespace=namespace, item_id=item_id, limit=limit)
        return [task_from_row(row) for row in reversed(rows)]

    async def count_open(self, namespace: str, item_id: ItemId) -> int:
        row = await self._connection.first("count_open_tasks", namespace=namespace, item_id=item_id)
        return 0 if row is None else int(row[0])

    async def end(self, task: Task) -> bool:
        """False: it was over before."""
        changed = await self._connection.run(
            "end_task",
            namespace=task.namespace,
            id=task.id,
            status=task.status,
            ended_at=task.ended_at,
            ended_by=task.ended_by,
            note=task.note,
        )
        return changed == 1

    async def cancel_of(self, namespace: str, item_id: ItemId, *, by: str | None, note: str) -> int:
        """What is still to be done about an item that is over."""
        return await self._connection.run(
            "cancel_tasks_of_item", namespace=namespace, item_id=item_id, ended_by=by, note=note
        )
