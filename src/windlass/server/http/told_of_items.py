"""What is answered about work items and their tasks. Part of `told`."""

from __future__ import annotations

from datetime import datetime

from windlass.model.item import ItemStatus, TaskStatus
from windlass.server.http.told import Payload, Told


class TaskDetail(Told, frozen=True, kw_only=True):
    id: str
    item_id: str
    title: str
    status: TaskStatus
    data: Payload
    firing_id: str | None  # that added it; null: a person or a program
    created_at: datetime
    ended_at: datetime | None
    ended_by: str | None
    note: str | None


class ItemSummary(Told, frozen=True, kw_only=True):
    namespace: str
    id: str
    title: str
    status: ItemStatus
    allowed: list[ItemStatus]  # where it may go from here
    priority: int
    data: Payload
    key: str | None
    created_at: datetime
    changed_at: datetime
    ended_at: datetime | None


class ItemDetail(ItemSummary, frozen=True, kw_only=True):
    tasks: list[TaskDetail]  # the oldest first
    signals: int  # that watch it


class ItemsAnswer(Told, frozen=True, kw_only=True):
    items: list[ItemSummary]  # the newest first
    next: str | None  # pass as `before`; null on the last page
