"""SignalService: how each of its calls is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict, replace

from windlass.api.checks import check
from windlass.api.checks_of_signals import check_watched
from windlass.api.grpc import envelopes as of
from windlass.api.grpc import envelopes_of_signals as of_signals
from windlass.api.grpc.table import PAGE_BYTES, Call, Row, page
from windlass.api.starts import Starts
from windlass.model.explanation import Explanation
from windlass.model.item import (
    AddTask,
    CreateItem,
    DeleteItem,
    EndTask,
    Item,
    ItemPage,
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
    Signal,
    SignalPage,
    SignalView,
    SteerSignal,
    UpdateSignal,
)
from windlass.rules.limits import check_item_id, check_limit, check_signal_id, check_task_id
from windlass.rules.triggers import default_action

SERVICE = "SignalService"
DEFAULT_PAGE = 50
LAST_SEQ = 2**63 - 1
LEAST_SIZE = 1_000  # of what stands around payloads


def rows(starts: Starts) -> list[Row]:
    """Where an action starts a workflow, the same object says where that is served as for every start."""

    async def create_signal(call: Call, asked: of_signals.NewSignal) -> SignalView:
        action = default_action(check_watched(asked.trigger)) if asked.action is None else asked.action
        command = CreateSignal(**(asdict(asked) | {"action": action}))
        return await call.service.signals.create_signal(check(await starts.complete(command)))

    return [Row(SERVICE, "CreateSignal", "create_signal", of_signals.NewSignal, SignalView, create_signal), *ROWS]


# Work items


async def _create_item(call: Call, asked: CreateItem) -> Item:
    return await call.service.items.create_item(check(asked))


async def _get_item(call: Call, asked: of_signals.GetItem) -> of_signals.ItemPart:
    """Tasks that do not fit into one answer come in several: the item in each, what it carries in the first."""
    check_item_id(asked.item_id)
    if asked.after_task is not None:
        check_task_id(asked.after_task, what="after_task")
    view = await call.service.items.get_item(asked.namespace, asked.item_id)
    item = view.item if asked.after_task is None else replace(view.item, data=None)
    left = _behind(view.tasks, asked.after_task)
    tasks, has_more = page(left, _size_of_task, room=max(1, PAGE_BYTES - _size_of_item(item)))
    return of_signals.ItemPart(view=replace(view, item=item, tasks=tasks), has_more=has_more)


def _behind(tasks: Sequence[Task], last: TaskId | None) -> Sequence[Task]:
    """By its id, not by how many there were: one that is added meanwhile must not move the others."""
    places = [place for place, task in enumerate(tasks) if task.id == last]
    return tasks[places[0] + 1 :] if places else tasks


async def _list_items(call: Call, asked: ListItems) -> ItemPage:
    found = await call.service.items.list_items(check(_limited(asked)))
    items, has_more = page(found.items, _size_of_item)
    return ItemPage(items=items, next=items[-1].id) if has_more else found


def _limited(asked: Any) -> Any:
    return asked if asked.limit else replace(asked, limit=DEFAULT_PAGE)


def _size_of_item(item: Item) -> int:
    return LEAST_SIZE + len(item.data or b"")


def _size_of_task(task: Task) -> int:
    return LEAST_SIZE + len(task.data or b"") + len(task.note or "")


async def _read_item_log(call: Call, asked: of_signals.OfItemAfter) -> of.LogEntries:
    check_item_id(asked.item_id)
    return _entries(await call.service.items.read_item_log(asked.namespace, asked.item_id), after=asked.after)


def _entries(found: Sequence[LogEntry], *, after: int) -> of.LogEntries:
    check_limit(after, what="after", low=0, high=LAST_SEQ)
    left = [entry for entry in found if entry.seq > after]
    entries, has_more = page(left, lambda entry: LEAST_SIZE + len(entry.data or b""))
    return of.LogEntries(entries=entries, has_more=has_more)


async def _transition_item(call: Call, asked: TransitionItem) -> Item:
    return await call.service.items.transition_item(check(asked))


async def _delete_item(call: Call, asked: DeleteItem) -> of.Nothing:
    await call.service.items.delete_item(check(asked))
    return of.Nothing()


async def _add_task(call: Call, asked: AddTask) -> Task:
    return await call.service.items.add_task(check(asked))


async def _end_task(call: Call, asked: EndTask) -> Task:
    return await call.service.items.end_task(check(asked))


# Signals


async def _get_signal(call: Call, asked: of_signals.OfSignal) -> SignalView:
    check_signal_id(asked.signal_id)
    return await call.service.signals.get_signal(asked.namespace, asked.signal_id)


async def _list_signals(call: Call, asked: ListSignals) -> SignalPage:
    found = await call.service.signals.list_signals(check(_limited(asked)))
    signals, has_more = page(found.signals, _size_of_signal)
    return SignalPage(signals=signals, next=signals[-1].id) if has_more else found


def _size_of_signal(signal: Signal) -> int:
    return LEAST_SIZE + len(signal.payload or b"") + len(signal.action.input or b"")


async def _read_signal_log(call: Call, asked: of_signals.OfSignalAfter) -> of.LogEntries:
    check_signal_id(asked.signal_id)
    return _entries(await call.service.signals.read_signal_log(asked.namespace, asked.signal_id), after=asked.after)


async def _update_signal(call: Call, asked: UpdateSignal) -> SignalView:
    return await call.service.signals.update_signal(check(asked))


async def _steer_signal(call: Call, asked: SteerSignal) -> SignalView:
    return await call.service.signals.steer_signal(check(asked))


async def _delete_signal(call: Call, asked: DeleteSignal) -> of.Nothing:
    await call.service.signals.delete_signal(check(asked))
    return of.Nothing()


async def _declare_signals(call: Call, asked: DeclareSignals) -> of.Nothing:
    await call.service.signals.declare_signals(check(asked))
    return of.Nothing()


async def _list_firings(call: Call, asked: ListFirings) -> FiringPage:
    """They carry no payloads: a whole page fits into an answer."""
    return await call.service.signals.list_firings(check(_limited(asked)))


async def _explain_signal(call: Call, asked: of_signals.OfSignal) -> Explanation:
    check_signal_id(asked.signal_id)
    return await call.service.signals.explain_signal(asked.namespace, asked.signal_id)


ROWS = [
    Row(SERVICE, "CreateItem", "create_item", CreateItem, Item, _create_item),
    Row(SERVICE, "GetItem", "get_item", of_signals.GetItem, of_signals.ItemPart, _get_item),
    Row(SERVICE, "ListItems", "list_items", ListItems, ItemPage, _list_items),
    Row(SERVICE, "ReadItemLog", "read_item_log", of_signals.OfItemAfter, of.LogEntries, _read_item_log),
    Row(SERVICE, "TransitionItem", "transition_item", TransitionItem, Item, _transition_item),
    Row(SERVICE, "DeleteItem", "delete_item", DeleteItem, of.Nothing, _delete_item),
    Row(SERVICE, "AddTask", "add_task", AddTask, Task, _add_task),
    Row(SERVICE, "EndTask", "end_task", EndTask, Task, _end_task),
    Row(SERVICE, "GetSignal", "get_signal", of_signals.OfSignal, SignalView, _get_signal),
    Row(SERVICE, "ListSignals", "list_signals", ListSignals, SignalPage, _list_signals),
    Row(SERVICE, "ReadSignalLog", "read_signal_log", of_signals.OfSignalAfter, of.LogEntries, _read_signal_log),
    Row(SERVICE, "UpdateSignal", "update_signal", UpdateSignal, SignalView, _update_signal),
    Row(SERVICE, "SteerSignal", "steer_signal", SteerSignal, SignalView, _steer_signal),
    Row(SERVICE, "DeleteSignal", "delete_signal", DeleteSignal, of.Nothing, _delete_signal),
    Row(SERVICE, "DeclareSignals", "declare_signals", DeclareSignals, of.Nothing, _declare_signals),
    Row(SERVICE, "ListFirings", "list_firings", ListFirings, FiringPage, _list_firings),
    Row(SERVICE, "ExplainSignal", "explain_signal", of_signals.OfSignal, Explanation, _explain_signal),
]
