"""Work items and signals for code that does not await: every method is made from the one that is awaited."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from windlass.client.inside import refuse_inside_a_workflow
from windlass.client.items import Item, Items
from windlass.client.portal import Portal
from windlass.client.signals import Signal, Signals
from windlass.define.signal import EveryItem

P = ParamSpec("P")
T = TypeVar("T")
Held = TypeVar("Held", Item, Items, Signal, Signals)
Held_co = TypeVar("Held_co", covariant=True)


class Holder(Protocol[Held_co]):
    """What holds something whose methods are awaited."""

    @property
    def _inner(self) -> Held_co: ...

    @property
    def _portal(self) -> Portal: ...


@overload
def _blocking(
    method: Callable[Concatenate[Held, P], Coroutine[Any, Any, Item]],
) -> Callable[Concatenate[Holder[Held], P], SyncItem]: ...


@overload
def _blocking(
    method: Callable[Concatenate[Held, P], Coroutine[Any, Any, Signal]],
) -> Callable[Concatenate[Holder[Held], P], SyncSignal]: ...


@overload
def _blocking(
    method: Callable[Concatenate[Held, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Holder[Held], P], T]: ...


def _blocking(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    @functools.wraps(method)
    def ask(holder: Holder[Any], /, *args: Any, **options: Any) -> Any:
        owner, _, name = method.__qualname__.rpartition(".")
        verb = f"{name}() of a {owner} of app.sync"
        refuse_inside_a_workflow(f"{name} of {owner}", verb=verb)
        portal, inner = holder._portal, holder._inner
        instead = f"await {owner.lower()}.{name}(…) of the app itself"
        return held(portal.call(lambda: method(inner, *args, **options), verb=verb, instead=instead), portal)

    return ask


class SyncItem(EveryItem):
    """A work item, held by blocking code: an Item whose methods answer instead of being awaited."""

    def __init__(self, item: Item, portal: Portal) -> None:
        self._inner, self._portal = item, portal

    @property
    def id(self) -> str:
        return self._inner.id

    def __repr__(self) -> str:
        return f"Sync{self._inner!r}"

    info = _blocking(Item.info)
    status = _blocking(Item.status)
    move = _blocking(Item.move)
    tasks = _blocking(Item.tasks)
    add_task = _blocking(Item.add_task)
    end_task = _blocking(Item.end_task)
    history = _blocking(Item.history)
    delete = _blocking(Item.delete)

    def _item_id(self) -> str:
        return self._inner._item_id()


class SyncItems(EveryItem):
    """`app.sync.items`: the same as `app.items`, for code that does not await."""

    def __init__(self, items: Items, portal: Portal) -> None:
        self._inner, self._portal = items, portal

    create = _blocking(Items.create)
    get = _blocking(Items.get)
    list = _blocking(Items.list)
    end_task = _blocking(Items.end_task)


class SyncSignal:
    """A signal, held by blocking code: a Signal whose methods answer instead of being awaited."""

    def __init__(self, signal: Signal, portal: Portal) -> None:
        self._inner, self._portal = signal, portal

    @property
    def id(self) -> str:
        return self._inner.id

    @property
    def already(self) -> bool:
        """Was the subject in one of the states when this was armed?"""
        return self._inner.already

    def __repr__(self) -> str:
        return f"Sync{self._inner!r}"

    info = _blocking(Signal.info)
    status = _blocking(Signal.status)
    explain = _blocking(Signal.explain)
    firings = _blocking(Signal.firings)
    pause = _blocking(Signal.pause)
    resume = _blocking(Signal.resume)
    cancel = _blocking(Signal.cancel)
    update = _blocking(Signal.update)
    delete = _blocking(Signal.delete)


class SyncSignals:
    """`app.sync.signals`: the same as `app.signals`, for code that does not await."""

    def __init__(self, signals: Signals, portal: Portal) -> None:
        self._inner, self._portal = signals, portal

    get = _blocking(Signals.get)
    list = _blocking(Signals.list)
    firings = _blocking(Signals.firings)


def held(answer: Any, portal: Portal) -> Any:
    """What blocking code is given in place of what would be awaited."""
    if isinstance(answer, Item):
        return SyncItem(answer, portal)
    return SyncSignal(answer, portal) if isinstance(answer, Signal) else answer
