"""The doors to work items and signals: what people and programs may ask about them. Part of api/service.py."""

from __future__ import annotations

from typing import Protocol

from windlass.model.explanation import Explanation
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
from windlass.model.signal import (
    CreateSignal,
    DeclareSignals,
    DeleteSignal,
    FiringPage,
    ListFirings,
    ListSignals,
    SignalId,
    SignalPage,
    SignalView,
    SteerSignal,
    UpdateSignal,
)


class Items(Protocol):
    """For those who keep work items. A call repeated after a lost answer has the effect of one."""

    async def create_item(self, command: CreateItem) -> Item:
        """In the backlog, or the one its key belongs to. Raises AlreadyExists if that is another one."""
        ...

    async def get_item(self, namespace: str, item_id: ItemId) -> ItemView: ...

    async def list_items(self, query: ListItems) -> ItemPage: ...

    async def read_item_log(self, namespace: str, item_id: ItemId) -> tuple[LogEntry, ...]:
        """What became of it, oldest first; also of one that is deleted."""
        ...

    async def transition_item(self, command: TransitionItem) -> Item:
        """Raises WrongState for a move that is not allowed, naming those that are. Its end cancels its open tasks."""
        ...

    async def delete_item(self, command: DeleteItem) -> None:
        """With its tasks. Live signals on it are resolved, and say why; the log stays."""
        ...

    async def add_task(self, command: AddTask) -> Task: ...

    async def end_task(self, command: EndTask) -> Task: ...


class Signals(Protocol):
    """For those who say what to do when. A call repeated after a lost answer has the effect of one."""

    async def create_signal(self, command: CreateSignal) -> SignalView:
        """Arm it, or answer with the one its key belongs to. Raises AlreadyExists if that is another one."""
        ...

    async def get_signal(self, namespace: str, signal_id: SignalId) -> SignalView: ...

    async def list_signals(self, query: ListSignals) -> SignalPage: ...

    async def read_signal_log(self, namespace: str, signal_id: SignalId) -> tuple[LogEntry, ...]: ...

    async def update_signal(self, command: UpdateSignal) -> SignalView:
        """Raises WrongState if it is over."""
        ...

    async def steer_signal(self, command: SteerSignal) -> SignalView:
        """Pause, resume or cancel. Raises WrongState where its state does not allow it."""
        ...

    async def delete_signal(self, command: DeleteSignal) -> None: ...

    async def declare_signals(self, command: DeclareSignals) -> None:
        """Enter what the code of a program says."""
        ...

    async def list_firings(self, query: ListFirings) -> FiringPage: ...

    async def explain_signal(self, namespace: str, signal_id: SignalId) -> Explanation:
        """Why it has not fired, or what became of it: what it waits for, and what it would take."""
        ...
