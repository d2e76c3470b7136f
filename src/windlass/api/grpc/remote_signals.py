"""The doors Items and Signals, at the other end of the wire.

Whatever is not answered is asked again, and has the effect of one call: what is created has an id that is chosen here,
moves and deeds have an id by which a repeat is known, and to change, declare or end what is so already changes nothing.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from windlass.api.grpc import envelopes as of
from windlass.api.grpc import envelopes_of_signals as of_signals
from windlass.api.grpc.asking import Asker
from windlass.api.grpc.channel import Channel
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
    TaskId,
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
from windlass.rules.triggers import check_states
from windlass.runtime import Ids

SERVICE = "SignalService"


class RemoteItems:
    def __init__(self, channel: Channel, *, ids: Ids) -> None:
        self._asker, self._ids = Asker(channel, SERVICE), ids

    async def create_item(self, command: CreateItem) -> Item:
        # Chosen here: asked again after a lost answer, it is the same item.
        named = command if command.item_id is not None else replace(command, item_id=ItemId(self._ids.item()))
        found: Item = await self._asker.ask("CreateItem", named, Item)
        return found

    async def get_item(self, namespace: str, item_id: ItemId) -> ItemView:
        """In as many parts as it takes: the first has what the item carries, and each some of its tasks."""
        asked = of_signals.GetItem(namespace=namespace, item_id=item_id)
        first: ItemView | None = None
        tasks: list[Task] = []
        while True:
            part: of_signals.ItemPart = await self._asker.ask("GetItem", asked, of_signals.ItemPart)
            first = first or part.view
            tasks.extend(part.view.tasks)
            if not part.has_more:
                return replace(first, tasks=tuple(tasks))
            asked = replace(asked, after_task=tasks[-1].id)

    async def list_items(self, query: ListItems) -> ItemPage:
        found: ItemPage = await self._asker.ask("ListItems", query, ItemPage)
        return found

    async def read_item_log(self, namespace: str, item_id: ItemId) -> tuple[LogEntry, ...]:
        return await _whole_log(
            self._asker, "ReadItemLog", of_signals.OfItemAfter(namespace=namespace, item_id=item_id)
        )

    async def transition_item(self, command: TransitionItem) -> Item:
        named = command if command.deed_id else replace(command, deed_id=self._ids.request())
        found: Item = await self._asker.ask("TransitionItem", named, Item)
        return found

    async def delete_item(self, command: DeleteItem) -> None:
        await self._asker.ask("DeleteItem", command, of.Nothing)

    async def add_task(self, command: AddTask) -> Task:
        named = command if command.task_id is not None else replace(command, task_id=TaskId(self._ids.task()))
        found: Task = await self._asker.ask("AddTask", named, Task)
        return found

    async def end_task(self, command: EndTask) -> Task:
        found: Task = await self._asker.ask("EndTask", command, Task)
        return found


class RemoteSignals:
    def __init__(self, channel: Channel, *, ids: Ids) -> None:
        self._asker, self._ids = Asker(channel, SERVICE), ids

    async def create_signal(self, command: CreateSignal) -> SignalView:
        id = command.signal_id or SignalId(self._ids.signal())

        def again(view: SignalView) -> SignalView:
            # Found by its key, it may be somebody else's; under this id it is what the lost call has made.
            return replace(view, has_changed=True) if view.signal.id == id else view

        named = replace(command, signal_id=id)
        found: SignalView = await self._asker.ask("CreateSignal", named, SignalView, again=again)
        return found

    async def get_signal(self, namespace: str, signal_id: SignalId) -> SignalView:
        asked = of_signals.OfSignal(namespace=namespace, signal_id=signal_id)
        found: SignalView = await self._asker.ask("GetSignal", asked, SignalView)
        return found

    async def list_signals(self, query: ListSignals) -> SignalPage:
        found: SignalPage = await self._asker.ask("ListSignals", query, SignalPage)
        return found

    async def read_signal_log(self, namespace: str, signal_id: SignalId) -> tuple[LogEntry, ...]:
        asked = of_signals.OfSignalAfter(namespace=namespace, signal_id=signal_id)
        return await _whole_log(self._asker, "ReadSignalLog", asked)

    async def update_signal(self, command: UpdateSignal) -> SignalView:
        if command.to is not None and not command.to:
            # The wire cannot say that there are none: there it means that they stay. So it is refused here.
            watched = (await self.get_signal(command.namespace, command.signal_id)).signal.trigger
            check_states(watched.kind, command.to)
        found: SignalView = await self._asker.ask("UpdateSignal", command, SignalView, again=_changed)
        return found

    async def steer_signal(self, command: SteerSignal) -> SignalView:
        named = command if command.deed_id else replace(command, deed_id=self._ids.request())
        found: SignalView = await self._asker.ask("SteerSignal", named, SignalView, again=_changed)
        return found

    async def delete_signal(self, command: DeleteSignal) -> None:
        await self._asker.ask("DeleteSignal", command, of.Nothing)

    async def declare_signals(self, command: DeclareSignals) -> None:
        await self._asker.ask("DeclareSignals", command, of.Nothing)

    async def list_firings(self, query: ListFirings) -> FiringPage:
        found: FiringPage = await self._asker.ask("ListFirings", query, FiringPage)
        return found

    async def explain_signal(self, namespace: str, signal_id: SignalId) -> Explanation:
        asked = of_signals.OfSignal(namespace=namespace, signal_id=signal_id)
        found: Explanation = await self._asker.ask("ExplainSignal", asked, Explanation)
        return found


def _changed(view: SignalView) -> SignalView:
    """Of a call that was asked again: what it found done was done by itself, as far as anyone can tell."""
    return replace(view, has_changed=True)


async def _whole_log(asker: Asker, method: str, asked: Any) -> tuple[LogEntry, ...]:
    found: list[LogEntry] = []
    while True:
        part: of.LogEntries = await asker.ask(method, asked, of.LogEntries)
        found.extend(part.entries)
        if not part.has_more:
            return tuple(found)
        asked = replace(asked, after=found[-1].seq)
