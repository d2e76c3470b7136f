"""How rows about work items, signals and firings become values, and values rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from windlass.errors import StoreRefused
from windlass.model.item import Item, ItemStatus, Task, TaskStatus
from windlass.model.signal import (
    Action,
    FiringId,
    FiringRow,
    FiringStatus,
    Signal,
    SignalNews,
    SignalStatus,
    Trigger,
    TriggerKind,
)
from windlass.store.rows import Known, Row

ITEM_STATUS, TASK_STATUS = Known(ItemStatus), Known(TaskStatus)
SIGNAL_STATUS, FIRING_STATUS, TRIGGER_KIND = Known(SignalStatus), Known(FiringStatus), Known(TriggerKind)


@lru_cache(maxsize=16_384)
def _action(data: bytes) -> Action:
    try:
        return msgspec.json.decode(data, type=Action)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreRefused(f"The database holds a value that cannot be read ({error}). See: windlass doctor") from None


def is_action(data: bytes) -> bool:
    """Can it be read?"""
    try:
        return _action(data) is not None
    except StoreRefused:
        return False


def item_from_row(row: Row) -> Item:
    return Item(
        namespace=row[0],
        id=row[1],
        title=row[2],
        status=ITEM_STATUS[row[3]],
        priority=row[4],
        data=row[5],
        key=row[6],
        created_at=row[7],
        changed_at=row[8],
        ended_at=row[9],
    )


def task_from_row(row: Row) -> Task:
    return Task(
        namespace=row[0],
        id=row[1],
        item_id=row[2],
        title=row[3],
        status=TASK_STATUS[row[4]],
        data=row[5],
        firing_id=row[6],
        created_at=row[7],
        ended_at=row[8],
        ended_by=row[9],
        note=row[10],
    )


def states_to_text(states: tuple[str, ...]) -> str:
    """Between commas, so that one is found in it as it is."""
    return f",{','.join(states)}," if states else ","


def states_from_text(text: str) -> tuple[str, ...]:
    return tuple(state for state in text.split(",") if state)


def signal_from_row(row: Row) -> Signal:
    trigger = Trigger(
        kind=TRIGGER_KIND[row[3]],
        subject=row[4],
        to=states_from_text(row[5]),
        at=row[6],
        every=row[7],
    )
    return Signal(
        namespace=row[0],
        id=row[1],
        key=row[2],
        trigger=trigger,
        action=_action(row[8]),
        payload=row[9],
        repeats=bool(row[10]),
        status=SIGNAL_STATUS[row[11]],
        reason=row[12],
        fired=row[13],
        last_fired_at=row[14],
        available_at=row[15],
        declared_in=row[16],
        is_declared=bool(row[17]),
        armed_xid=row[18],
        armed_seq=row[19],
        changed_by=row[20],
        created_at=row[21],
        changed_at=row[22],
    )


class SignalValues:
    """The columns of a signal."""

    def __init__(self, signal: Signal) -> None:
        trigger = signal.trigger
        self.namespace, self.id, self.key = signal.namespace, signal.id, signal.key
        self.kind, self.subject_kind, self.subject = trigger.kind, trigger.kind.subject_kind, trigger.subject
        self.enters, self.at, self.every_for = states_to_text(trigger.to), trigger.at, trigger.every
        self.action, self.payload = msgspec.json.encode(signal.action), signal.payload
        self.repeats, self.status, self.is_live = int(signal.repeats), signal.status, int(signal.status.is_live)
        self.reason, self.fired, self.last_fired_at = signal.reason, signal.fired, signal.last_fired_at
        self.available_at, self.declared_in = signal.available_at, signal.declared_in
        self.is_declared = int(signal.is_declared)
        self.armed_xid, self.armed_seq = signal.armed_xid, signal.armed_seq
        self.changed_by, self.created_at, self.changed_at = signal.changed_by, signal.created_at, signal.changed_at


def firing_id(signal_id: str, cause: str) -> FiringId:
    return FiringId(f"{signal_id}.{cause}")


def firing_from_row(row: Row) -> FiringRow:
    return FiringRow(
        namespace=row[0],
        id=firing_id(row[1], row[2]),
        signal_id=row[1],
        cause=row[2],
        subject_kind=row[3],
        subject_id=row[4],
        from_status=row[5],
        to_status=row[6],
        happened_at=row[7],
        status=FIRING_STATUS[row[8]],
        available_at=row[9],
        token=row[10],
        worker=row[11],
        attempt=row[12],
        error=row[13],
        depth=row[14],
        run_id=row[15],
        task_id=row[16],
        created_at=row[17],
        ended_at=row[18],
    )


def news_to_bytes(news: SignalNews) -> bytes | None:
    """What an entry in the log about a signal says beside its states; nothing if there is nothing to say."""
    return None if news == SignalNews() else msgspec.json.encode(news)


def columns_of(value: Any) -> dict[str, Any]:
    """The fields of a struct, as parameters of a query."""
    return {name: getattr(value, name) for name in value.__struct_fields__}
