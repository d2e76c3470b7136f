"""Signals, firings and work items for the tests of their rules."""

from __future__ import annotations

from typing import Any

from windlass.model.item import Item, ItemId, ItemStatus, Task, TaskId, TaskStatus
from windlass.model.run import LogEntry
from windlass.model.signal import (
    Action,
    FiringId,
    FiringRow,
    FiringStatus,
    Signal,
    SignalId,
    SignalStatus,
    Trigger,
    TriggerKind,
)
from windlass.model.time import HOUR, SECOND, Duration, Instant

NOON = Instant(1_796_126_400 * SECOND)  # 2026-12-01 12:00 UTC
LATER = Instant(NOON + HOUR)
RUN = "run_" + "0" * 26
ITEM = ItemId("itm_" + "0" * 26)
SIGNAL = SignalId("sig_" + "0" * 26)

ON_ITEM = Trigger(kind=TriggerKind.ITEM, subject=ITEM, to=("blocked", "done"))
ON_ANY_ITEM = Trigger(kind=TriggerKind.ITEM, subject="*", to=("blocked", "done"))
ON_RUN = Trigger(kind=TriggerKind.RUN, subject=RUN, to=("failed",))
ON_WORKFLOW = Trigger(kind=TriggerKind.WORKFLOW, subject="order", to=("failed",))
AT_NOON = Trigger(kind=TriggerKind.TIME, at=NOON)
HOURLY = Trigger(kind=TriggerKind.TIME, every=Duration(HOUR))


def signal(trigger: Trigger = ON_ITEM, **fields: Any) -> Signal:
    values: dict[str, Any] = {
        "namespace": "default",
        "id": SIGNAL,
        "key": None,
        "trigger": trigger,
        "action": Action(),
        "payload": None,
        "repeats": False,
        "status": SignalStatus.ARMED,
        "reason": None,
        "fired": 0,
        "last_fired_at": None,
        "available_at": None,
        "declared_in": None,
        "is_declared": False,
        "armed_xid": 5,
        "armed_seq": 50,
        "changed_by": None,
        "created_at": NOON,
        "changed_at": NOON,
    }
    return Signal(**(values | fields))


def firing(**fields: Any) -> FiringRow:
    """One that a coordinator has just claimed for the first time."""
    values: dict[str, Any] = {
        "namespace": "default",
        "id": FiringId(f"{SIGNAL}.77"),
        "signal_id": SIGNAL,
        "cause": "77",
        "subject_kind": "item",
        "subject_id": ITEM,
        "from_status": "doing",
        "to_status": "blocked",
        "happened_at": NOON,
        "status": FiringStatus.RUNNING,
        "available_at": NOON,
        "token": 1,
        "worker": "wrk_1",
        "attempt": 1,
        "error": None,
        "depth": 0,
        "run_id": None,
        "task_id": None,
        "created_at": NOON,
        "ended_at": None,
    }
    return FiringRow(**(values | fields))


def entry(to: str = "blocked", **fields: Any) -> LogEntry:
    values: dict[str, Any] = {
        "seq": 77,
        "namespace": "default",
        "subject_kind": "item",
        "subject_id": ITEM,
        "from_status": "doing",
        "to_status": to,
        "cause": "move",
        "at": NOON,
    }
    return LogEntry(**(values | fields))


def item(status: ItemStatus = ItemStatus.BACKLOG, **fields: Any) -> Item:
    values: dict[str, Any] = {
        "namespace": "default",
        "id": ITEM,
        "title": "Ship it",
        "status": status,
        "priority": 0,
        "data": None,
        "key": None,
        "created_at": NOON,
        "changed_at": NOON,
    }
    return Item(**(values | fields))


def task(status: TaskStatus = TaskStatus.QUEUED) -> Task:
    return Task(
        namespace="default",
        id=TaskId("tsk_" + "0" * 26),
        item_id=ITEM,
        title="Look at it",
        status=status,
        data=None,
        firing_id=None,
        created_at=NOON,
    )
