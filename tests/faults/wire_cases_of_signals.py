"""The calls about work items and signals that change something. Part of wire_cases.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from tests.conformance.given import NAMESPACE
from tests.faults.wire_site import Site
from windlass.engine.engine import Engine
from windlass.model.item import (
    AddTask,
    CreateItem,
    DeleteItem,
    EndTask,
    Item,
    ItemStatus,
    Task,
    TaskStatus,
    TransitionItem,
)
from windlass.model.signal import (
    Action,
    ActionKind,
    CreateSignal,
    DeclaredSignal,
    DeclareSignals,
    DeleteSignal,
    Signal,
    SignalVerb,
    SteerSignal,
    Trigger,
    TriggerKind,
    UpdateSignal,
)

ANN = "ann"
PAGE = Action(kind=ActionKind.START, workflow="page", queue="default")
FAILED = Trigger(kind=TriggerKind.WORKFLOW, subject="invoice", to=("failed",))

Case = tuple[Callable[[Engine], Awaitable[Any]], Callable[[Site, Any], Awaitable[Any]]]


async def nothing(engine: Engine) -> None:
    return None


async def item(engine: Engine) -> Item:
    return await engine.items.create_item(CreateItem(namespace=NAMESPACE, title="an item"))


async def task(engine: Engine) -> Task:
    made = await item(engine)
    return await engine.items.add_task(AddTask(namespace=NAMESPACE, item_id=made.id, title="look at it"))


def watching(made: Item) -> CreateSignal:
    trigger = Trigger(kind=TriggerKind.ITEM, subject=made.id, to=("ready",))
    return CreateSignal(namespace=NAMESPACE, trigger=trigger, by=ANN)


async def signal(engine: Engine) -> Signal:
    return (await engine.signals.create_signal(watching(await item(engine)))).signal


async def paused_signal(engine: Engine) -> Signal:
    armed = await signal(engine)
    return (await engine.signals.steer_signal(steering(armed, SignalVerb.PAUSE))).signal


def steering(found: Signal, verb: SignalVerb) -> SteerSignal:
    return SteerSignal(namespace=NAMESPACE, signal_id=found.id, verb=verb, by=ANN)


def declaring(*names: str) -> DeclareSignals:
    said = tuple(DeclaredSignal(name=name, trigger=FAILED, action=PAGE, repeats=False) for name in names)
    return DeclareSignals(namespace=NAMESPACE, program="shop", signals=said)


async def declared(engine: Engine) -> None:
    await engine.signals.declare_signals(declaring("page", "tidy"))


def items(method: str, command: Callable[[Any], Any]) -> Callable[[Site, Any], Awaitable[Any]]:
    return lambda site, ground: getattr(site.remote.items, method)(command(ground))


def signals(method: str, command: Callable[[Any], Any]) -> Callable[[Site, Any], Awaitable[Any]]:
    return lambda site, ground: getattr(site.remote.signals, method)(command(ground))


def moving(made: Item) -> TransitionItem:
    return TransitionItem(namespace=NAMESPACE, item_id=made.id, to=ItemStatus.READY, by=ANN)


def ending(made: Task) -> EndTask:
    return EndTask(namespace=NAMESPACE, task_id=made.id, status=TaskStatus.COMPLETED, by=ANN)


def changing(found: Signal) -> UpdateSignal:
    return UpdateSignal(namespace=NAMESPACE, signal_id=found.id, to=("doing",), by=ANN)


SIGNAL_CASES: dict[str, Case] = {
    "CreateItem": (nothing, items("create_item", lambda _: CreateItem(namespace=NAMESPACE, title="an item", by=ANN))),
    "TransitionItem": (item, items("transition_item", moving)),
    "DeleteItem": (item, items("delete_item", lambda made: DeleteItem(namespace=NAMESPACE, item_id=made.id, by=ANN))),
    "AddTask": (
        item,
        items("add_task", lambda made: AddTask(namespace=NAMESPACE, item_id=made.id, title="look at it", by=ANN)),
    ),
    "EndTask": (task, items("end_task", ending)),
    "CreateSignal": (item, signals("create_signal", watching)),
    "CreateSignal: with a key": (item, signals("create_signal", lambda made: replace(watching(made), key="once"))),
    "UpdateSignal": (signal, signals("update_signal", changing)),
    "SteerSignal": (signal, signals("steer_signal", lambda found: steering(found, SignalVerb.PAUSE))),
    "SteerSignal: resumed": (
        paused_signal,
        signals("steer_signal", lambda found: steering(found, SignalVerb.RESUME)),
    ),
    "SteerSignal: cancelled": (signal, signals("steer_signal", lambda found: steering(found, SignalVerb.CANCEL))),
    "DeleteSignal": (
        signal,
        signals("delete_signal", lambda found: DeleteSignal(namespace=NAMESPACE, signal_id=found.id, by=ANN)),
    ),
    "DeclareSignals": (declared, signals("declare_signals", lambda _: declaring("page"))),
}
