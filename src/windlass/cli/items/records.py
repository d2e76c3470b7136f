"""What `--json` answers about work items."""

from __future__ import annotations

from typing import Any

from windlass.cli.records import instant, payload
from windlass.model.item import Item, ItemView, Task


def item(value: Item) -> dict[str, Any]:
    return {
        "id": value.id,
        "namespace": value.namespace,
        "title": value.title,
        "status": value.status.value,
        "priority": value.priority,
        "key": value.key,
        "data": payload(value.data),
        "created_at": instant(value.created_at),
        "changed_at": instant(value.changed_at),
        "ended_at": instant(value.ended_at),
    }


def view(value: ItemView) -> dict[str, Any]:
    return {**item(value.item), "open_tasks": open_tasks(value), "live_signals": value.signals}


def open_tasks(value: ItemView) -> int:
    return sum(not task.status.is_terminal for task in value.tasks)


def task(value: Task) -> dict[str, Any]:
    return {
        "id": value.id,
        "item": value.item_id,
        "title": value.title,
        "status": value.status.value,
        "data": payload(value.data),
        "firing": value.firing_id,
        "created_at": instant(value.created_at),
        "ended_at": instant(value.ended_at),
        "ended_by": value.ended_by,
        "note": value.note,
    }
