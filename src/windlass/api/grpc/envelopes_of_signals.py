"""What stands around commands and answers about work items and signals on the wire."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.item import ItemId, ItemView, TaskId
from windlass.model.signal import Action, SignalId, Trigger


class GetItem(Struct, frozen=True, kw_only=True):
    """With the last of its tasks that is here already."""

    namespace: str
    item_id: ItemId
    after_task: TaskId | None = None


class ItemPart(Struct, frozen=True, kw_only=True):
    view: ItemView
    has_more: bool = False


class OfItemAfter(Struct, frozen=True, kw_only=True):
    namespace: str
    item_id: ItemId
    after: int = 0


class NewSignal(Struct, frozen=True, kw_only=True):
    """CreateSignal, of which nobody may have said what it does."""

    namespace: str
    trigger: Trigger
    action: Action | None = None
    payload: bytes | None = None
    repeats: bool = False
    since_beginning: bool = False
    key: str | None = None
    by: str | None = None
    allow_unknown: bool = False
    signal_id: SignalId | None = None


class OfSignal(Struct, frozen=True, kw_only=True):
    namespace: str
    signal_id: SignalId


class OfSignalAfter(Struct, frozen=True, kw_only=True):
    namespace: str
    signal_id: SignalId
    after: int = 0
