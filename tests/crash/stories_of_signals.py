"""The stories about signals: armed, fired, paused, armed anew, changed, deleted; on items, runs, workflows and times.

No coordinator beside the worker: what one does is a part of these stories. What a dead one has claimed comes back after
a minute, so each story waits for that, and goes on as it would have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import windlass
from tests.crash.telling import Declare as DeclareApp
from tests.crash.telling import noted, scenario, until
from tests.lives.journal import Event, read_journal
from tests.lives.life import Drive, Life
from windlass.engine.coordinator.fire_signals import FireSignals
from windlass.model.item import CreateItem, DeleteItem, ItemId, ItemStatus, TransitionItem
from windlass.model.run import RunId
from windlass.model.signal import (
    CLAIM_FOR,
    Action,
    ActionKind,
    CreateSignal,
    DeclaredSignal,
    DeclareSignals,
    DeleteSignal,
    SignalId,
    SignalStatus,
    SignalVerb,
    SteerSignal,
    Trigger,
    TriggerKind,
    UpdateSignal,
)
from windlass.model.time import HOUR, MINUTE, Duration, Instant
from windlass.testing.clock import FakeClock

NAMESPACE = "default"
PROGRAM = "shop.app"
ASKED = "signalling"  # what a client says it does, in the journal
BEGINNING = FakeClock().now()
CLAIMS = Duration(2 * MINUTE)  # the claim of a dead coordinator, and the pauses behind what failed
ROUNDS = 50

TRANSACTIONS = frozenset(
    {
        *("create_signal", "steer_signal", "update_signal", "delete_signal", "declare_signals", "reconcile_signals"),
        *(
            "fire_times",
            "claim_firings",
            "work_firings",
            "fail_firing",
            "create_item",
            "transition_item",
            "delete_item",
        ),
    }
)

READY, DOING, BLOCKED = ItemStatus.READY, ItemStatus.DOING, ItemStatus.BLOCKED
PAGE = Action(kind=ActionKind.START, workflow="page", queue="default")
UNBLOCK = Action(kind=ActionKind.TASK, title="Unblock it")


def story(declare: DeclareApp, **endings: str) -> Callable[[Drive], Drive]:
    settings = {"coordinates": False}
    return scenario(declare, is_told_again=True, settings=settings, endings=endings, claims_last_for=CLAIMS)


def declare_orders(life: Life) -> None:
    @life.app.workflow(name="order")
    async def order(ctx: windlass.Context, item: str) -> None:
        raise ValueError(f"no {item}")

    @life.app.workflow(name="page")
    async def page(ctx: windlass.Context, firing: windlass.Firing) -> str:
        noted(life, ctx, "firing", firing.id)
        return firing.to_status

    life.memory.update(order=order)


class Signalling:
    """A client that goes on after a crash: what it was answered it asks no more, and a deed is known by its id."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._items, self._signals = life._opened.items, life._opened.signals
        lines = read_journal(life.journal.path)
        self._told = {line.key for line in lines if line.event is Event.TOLD and line.what == ASKED}

    async def item(self, key: str, *path: ItemStatus) -> ItemId:
        async def create() -> str:
            return (await self._items.create_item(CreateItem(namespace=NAMESPACE, title="Ship it", key=key))).id

        item_id = ItemId(await self._once(f"create {key}", create))
        for number, to in enumerate(path):
            await self.move(f"{key} {number}", item_id, to)
        return item_id

    async def move(self, deed: str, item_id: ItemId, to: ItemStatus) -> None:
        is_again = self.has_told(deed)
        command = TransitionItem(namespace=NAMESPACE, item_id=item_id, to=to, deed_id=deed, is_again=is_again)
        await self._once(deed, lambda: self._items.transition_item(command))

    async def delete_item(self, deed: str, item_id: ItemId) -> None:
        command = DeleteItem(namespace=NAMESPACE, item_id=item_id, is_again=self.has_told(deed))
        await self._once(deed, lambda: self._items.delete_item(command))

    async def when(self, key: str, kind: TriggerKind, subject: str, *to: str, **fields: Any) -> SignalId:
        trigger = fields.pop("trigger", None) or Trigger(kind=kind, subject=subject, to=tuple(sorted(to)))
        command = CreateSignal(namespace=NAMESPACE, trigger=trigger, key=key, allow_unknown=True, **fields)

        async def create() -> str:
            return (await self._signals.create_signal(command)).signal.id

        return SignalId(await self._once(f"arm {key}", create))

    async def steer(self, deed: str, signal_id: SignalId, verb: SignalVerb) -> None:
        is_again = self.has_told(deed)
        command = SteerSignal(namespace=NAMESPACE, signal_id=signal_id, verb=verb, deed_id=deed, is_again=is_again)
        await self._once(deed, lambda: self._signals.steer_signal(command))

    async def update(self, deed: str, signal_id: SignalId, *to: str) -> None:
        command = UpdateSignal(namespace=NAMESPACE, signal_id=signal_id, to=to)
        await self._once(deed, lambda: self._signals.update_signal(command))

    async def delete(self, deed: str, signal_id: SignalId) -> None:
        command = DeleteSignal(namespace=NAMESPACE, signal_id=signal_id, is_again=self.has_told(deed))
        await self._once(deed, lambda: self._signals.delete_signal(command))

    async def declare(self, deed: str, *names: str) -> None:
        trigger = Trigger(kind=TriggerKind.WORKFLOW, subject="order", to=("failed",))
        signals = tuple(DeclaredSignal(name=name, trigger=trigger, action=PAGE, repeats=False) for name in names)
        command = DeclareSignals(namespace=NAMESPACE, program=PROGRAM, signals=signals)
        await self._once(deed, lambda: self._signals.declare_signals(command))

    def has_told(self, deed: str) -> bool:
        """Has a life before this one been about to do that?"""
        return deed in self._told

    async def status(self, signal_id: SignalId) -> SignalStatus:
        return (await self._signals.get_signal(NAMESPACE, signal_id)).signal.status

    async def _once(self, deed: str, ask: Callable[[], Awaitable[Any]]) -> str:
        """Ask until it is answered, and not a second time in a later life. Answers with what was made."""

        async def answered() -> str:
            made = await ask()
            return made if isinstance(made, str) else "done"

        return await self._life.client._ask(ASKED, "", answered, key=deed) or ""


async def fire(life: Life, *, at: int = 0) -> None:
    """Let a coordinator work whatever has fired by then: also what a dead one has claimed, or what failed."""
    await life.advance(max(0, BEGINNING + at - life.clock.now()))
    parts = life._opened.engine.parts
    coordinator = FireSignals(parts, batch=100, is_enabled=True)
    for _ in range(ROUNDS):
        while (await coordinator.tick()).is_more:
            pass
        await life.settle()
        due_at = await parts.store.read("next", lambda tx: coordinator.next(tx))
        if due_at is None or due_at > life.clock.now() + CLAIM_FOR:
            return
        await life.advance(max(1, due_at - life.clock.now()))
    raise AssertionError(f"something is due at {due_at}, and is not worked")


@story(declare_orders, page="completed")
async def signals_on_an_item(life: Life) -> None:
    ask = Signalling(life)
    item = await ask.item("item", READY, DOING)
    tasks = await ask.when("tasks", TriggerKind.ITEM, item, "blocked", action=UNBLOCK, repeats=True, payload=b'"now"')
    once = await ask.when("once", TriggerKind.ITEM, item, "blocked")
    every = await ask.when("every", TriggerKind.ITEM, "*", "blocked", "done")
    await ask.when("over", TriggerKind.ITEM, item, "done", "failed", "cancelled", action=PAGE)
    await ask.move("first", item, BLOCKED)
    await fire(life)
    await ask.move("back", item, DOING)
    await ask.steer("pause", tasks, SignalVerb.PAUSE)
    await ask.steer("anew", once, SignalVerb.RESUME)
    await ask.move("second", item, BLOCKED)
    await fire(life)
    await ask.steer("resume", tasks, SignalVerb.RESUME)
    await fire(life)
    await ask.update("other states", tasks, "doing")
    await ask.move("back again", item, DOING)
    await fire(life)
    await ask.steer("call off", every, SignalVerb.CANCEL)
    await ask.move("over", item, ItemStatus.DONE)
    await fire(life)
    await ask.delete("forget", tasks)
    await life.hire(slots=1)
    await life.settle()


@story(declare_orders)
async def causes_that_are_too_late(life: Life) -> None:
    """Two causes of which one fires; one that waits when its signal is called off, or goes; one whose item is gone."""
    ask = Signalling(life)
    item = await ask.item("item", READY, DOING)
    gone = await ask.item("gone", READY, DOING)
    await ask.when("once", TriggerKind.ITEM, item, "blocked", action=UNBLOCK)
    called_off = await ask.when("called off", TriggerKind.ITEM, item, "blocked", action=UNBLOCK)
    deleted = await ask.when("deleted", TriggerKind.ITEM, item, "blocked", action=UNBLOCK)
    await ask.when("said", TriggerKind.ITEM, gone, "blocked")
    for number, to in enumerate((BLOCKED, DOING, BLOCKED)):
        await ask.move(f"move {number}", item, to)
        await ask.move(f"move {number} of the other", gone, to)
    await ask.steer("call off", called_off, SignalVerb.CANCEL)
    await ask.delete("forget", deleted)
    await ask.delete_item("remove", gone)
    await fire(life)


@story(declare_orders, order="failed", page="completed")
async def signals_on_runs_that_fail(life: Life) -> None:
    """One on a run, and one that is declared for all of them, taken out of the code, and declared again."""
    ask, order = Signalling(life), life.memory["order"]
    await ask.declare("first", "page-me", "tell-me")
    run = await life.client.start(order, "book", key="book")
    await ask.when("book", TriggerKind.RUN, run.id, "failed", action=PAGE, payload=b'"book"')
    await life.hire(slots=1)
    await until(life, run, "failed")
    await fire(life)
    await ask.declare("less", "tell-me")
    await until(life, await life.client.start(order, "pen", key="pen"), "failed")
    await fire(life)
    await ask.declare("again", "page-me", "tell-me")
    await fire(life)


@story(declare_orders, page="completed")
async def signals_on_times(life: Life) -> None:
    ask = Signalling(life)
    at = Trigger(kind=TriggerKind.TIME, at=Instant(BEGINNING + HOUR))
    every = Trigger(kind=TriggerKind.TIME, every=Duration(17 * MINUTE))
    await ask.when("at", TriggerKind.TIME, "", trigger=at, action=PAGE)
    often = await ask.when("every", TriggerKind.TIME, "", trigger=every, repeats=True)
    await fire(life, at=20 * MINUTE)
    await ask.steer("pause", often, SignalVerb.PAUSE)
    await fire(life, at=HOUR)
    await ask.steer("resume", often, SignalVerb.RESUME)
    await fire(life, at=90 * MINUTE)
    await ask.steer("call off", often, SignalVerb.CANCEL)
    await life.hire(slots=1)
    await life.settle()


@contextmanager
def broken(life: Life) -> Iterator[None]:
    """A store in which nothing can be worked: not what was asked for is wrong, but something in here."""
    store: Any = life._opened.engine.parts.store
    whole = store.run_tx

    async def run_tx(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "work_firings":
            raise RuntimeError("no")
        return await whole(name, *arguments, **options)

    store.run_tx = run_tx
    try:
        yield
    finally:
        store.run_tx = whole


@story(declare_orders, page="completed")
async def firings_that_cannot_be_worked(life: Life) -> None:
    """One that fails again and again, until somebody has had a look; one whose event nobody can receive any more."""
    ask, order = Signalling(life), life.memory["order"]
    run = await life.client.start(order, "book", key="book")
    send = Action(kind=ActionKind.SEND, run_id=RunId(run.id), event="paid", payload_hash=b"")
    item = await ask.item("item", READY, DOING)
    page = await ask.when("page", TriggerKind.ITEM, item, "blocked", action=PAGE, payload=b'"broken"')
    late = await ask.when("late", TriggerKind.ITEM, item, "blocked", action=send)
    await life.hire(slots=1)
    await until(life, run, "failed")
    await ask.move("block", item, BLOCKED)
    if not ask.has_told("have a look"):
        with broken(life):
            while await ask.status(page) is SignalStatus.ARMED:
                await fire(life)
    await ask.steer("have a look", page, SignalVerb.RESUME)
    await fire(life)
    await ask.steer("give it up", late, SignalVerb.CANCEL)
    await life.settle()
