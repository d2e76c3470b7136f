"""Work items, signals and firings that the suite begins with, and the calls it repeats about them."""

from __future__ import annotations

from typing import Any

from tests.conformance.given import NAMESPACE
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.engine.engine import Engine
from windlass.model.item import CreateItem, Item, ItemStatus, Task, TransitionItem
from windlass.model.run import LogEntry, RunId
from windlass.model.signal import (
    ANY,
    Action,
    ActionKind,
    CreateSignal,
    FiringRow,
    Signal,
    SignalVerb,
    SignalView,
    SteerSignal,
    Trigger,
    TriggerKind,
)
from windlass.model.time import HOUR
from windlass.store.queries.signal_checks import SignalChecks

# How an item comes into each of its states.
WAYS: dict[str, tuple[str, ...]] = {
    "backlog": (),
    "ready": ("ready",),
    "doing": ("ready", "doing"),
    "blocked": ("ready", "doing", "blocked"),
    "done": ("ready", "doing", "done"),
    "failed": ("ready", "doing", "failed"),
    "cancelled": ("ready", "cancelled"),
}
NOTHING = Action()
FOLLOW_UP = Action(kind=ActionKind.TASK, title="Look at it")
STARTS = Action(kind=ActionKind.START, workflow="page", queue="billing")


# What is watched, and done


def on_item(item: Item | str, *to: str) -> Trigger:
    return Trigger(kind=TriggerKind.ITEM, subject=item if isinstance(item, str) else item.id, to=to)


def on_any_item(*to: str) -> Trigger:
    return on_item(ANY, *to)


def on_run(run_id: str, *to: str, kind: TriggerKind = TriggerKind.RUN) -> Trigger:
    return Trigger(kind=kind, subject=run_id, to=to)


def on_workflow(name: str, *to: str) -> Trigger:
    return Trigger(kind=TriggerKind.WORKFLOW, subject=name, to=to)


def sends(run_id: str, event: str = "news") -> Action:
    return Action(kind=ActionKind.SEND, run_id=RunId(run_id), event=event)


# What people and programs do


async def new_item(engine: Engine, *, state: str = "backlog", namespace: str = NAMESPACE, **fields: Any) -> Item:
    command = CreateItem(**({"namespace": namespace, "title": "Ship it"} | fields))
    return await move(engine, await engine.items.create_item(command), *WAYS[state])


async def move(engine: Engine, item: Item, *to: str) -> Item:
    for state in to:
        item = await engine.items.transition_item(
            TransitionItem(namespace=item.namespace, item_id=item.id, to=ItemStatus(state))
        )
    return item


def watching(trigger: Trigger, action: Action = NOTHING, **fields: Any) -> CreateSignal:
    values: dict[str, Any] = {"namespace": NAMESPACE, "trigger": trigger, "action": action, "allow_unknown": True}
    return CreateSignal(**(values | fields))


async def watch(engine: Engine, trigger: Trigger, action: Action = NOTHING, **fields: Any) -> Signal:
    return (await engine.signals.create_signal(watching(trigger, action, **fields))).signal


async def steer(engine: Engine, signal: Signal, verb: str, **fields: Any) -> SignalView:
    command = SteerSignal(namespace=signal.namespace, signal_id=signal.id, verb=SignalVerb(verb), **fields)
    return await engine.signals.steer_signal(command)


def coordinator(engine: Engine, **settings: Any) -> Coordinator:
    return Coordinator(engine.parts, CoordinatorSettings(**({"interval_for": HOUR} | settings)))


async def fire(engine: Engine, **settings: Any) -> None:
    """What a coordinator does until it has nothing more to do."""
    at_work = coordinator(engine, **settings)
    while await at_work.tick():
        pass


# What stands there


async def seen(engine: Engine, signal: Signal) -> Signal:
    return (await engine.signals.get_signal(signal.namespace, signal.id)).signal


async def firings(engine: Engine, signal: Signal | None = None) -> list[FiringRow]:
    """Of one signal, or of all of every namespace, in the order of their causes."""
    rows = await engine.parts.store.read("firings", lambda tx: SignalChecks(tx.connection).firings())
    own = [row for row in rows if signal is None or row.signal_id == signal.id]
    return sorted(own, key=lambda row: (int(row.cause), row.signal_id))


async def entered(engine: Engine, signal: Signal | None = None) -> list[tuple[str, str]]:
    """Which subject entered which state, as firings tell it."""
    return [(row.subject_id, row.to_status) for row in await firings(engine, signal)]


async def standing(engine: Engine, signal: Signal) -> list[str]:
    return [row.status.value for row in await firings(engine, signal)]


async def tasks_of(engine: Engine, item: Item) -> tuple[Task, ...]:
    return (await engine.items.get_item(item.namespace, item.id)).tasks


async def log_of(engine: Engine, signal: Signal) -> list[tuple[str | None, str, str]]:
    """What happened to a signal: from, to, cause."""
    entries = await engine.signals.read_signal_log(signal.namespace, signal.id)
    return [(entry.from_status, entry.to_status, entry.cause) for entry in entries]


async def entries_of(engine: Engine, kind: str, id: str, *, namespace: str = NAMESPACE) -> list[LogEntry]:
    return await engine.parts.store.read("log", lambda tx: tx.log.of_subject(namespace, kind=kind, id=id))


def id_of(signal: Signal, entry: LogEntry) -> str:
    """Of the firing that this entry is the cause of."""
    return f"{signal.id}.{entry.seq}"
