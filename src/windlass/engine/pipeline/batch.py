"""The operations of holders of pipelines, and publishing: many of them in one transaction.

Each is decided by itself, under the locks of all pipelines that any of them concerns, which are taken first and in the
order of names. One that refuses has written nothing, and its neighbours are none the worse for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windlass.engine.parts import Parts
from windlass.engine.pipeline.attempts import Attempts
from windlass.engine.pipeline.commit import commit_handler
from windlass.engine.pipeline.desk import Desk, open_desk
from windlass.engine.pipeline.effects import apply_effect, begin_effect, reconcile_effect
from windlass.engine.pipeline.publish import Outgoing, Subscribers, publish
from windlass.engine.pipeline.reserve import reserve_events
from windlass.engine.pipeline.stop import fix_handler, stop_handler
from windlass.engine.pipeline.waking import wake_all
from windlass.errors import WindlassError
from windlass.model.pipeline import NewEvent
from windlass.model.pipeline_commands import Publish, Published
from windlass.model.pipeline_work import (
    ApplyEffect,
    BeginEffect,
    CommitHandler,
    FixHandler,
    ReconcileEffect,
    ReserveEvents,
    StopHandler,
)
from windlass.store.base import Tx


class _Waking:
    """Tells, after the commit, whoever waits for what became due in it. One batch of a kind is written at a time."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._woken: set[tuple[str, str]] = set()

    def prepare(self, items: Sequence[Any]) -> None:
        self._woken = set()  # and not with each try: one whose answer was lost has woken somebody, too

    def is_single(self, items: Sequence[Any]) -> bool:
        return False

    def after_commit(self, items: Sequence[Any], outcomes: Sequence[Any]) -> None:
        woken, self._woken = self._woken, set()
        wake_all(self._parts, woken)

    def after_failure(self, items: Sequence[Any]) -> None:
        return None


class HandlerOperations(_Waking):
    """What holders of pipelines write: T1 to T6, and T9."""

    def order(self, item: Any) -> Any:
        return item.namespace, pipeline_of(item)

    async def write(self, tx: Tx, items: Sequence[Any]) -> Sequence[Any]:
        outcomes: list[Any] = [None] * len(items)
        for namespace in sorted({item.namespace for item in items}):
            own = [(ordinal, item) for ordinal, item in enumerate(items) if item.namespace == namespace]
            topics = {event.topic for _, item in own if isinstance(item, CommitHandler) for event in item.events}
            subscribers: Subscribers = {}
            if topics:
                subscribers = await tx.handlers.subscribers(namespace, topics=topics)
            names = {pipeline_of(item) for _, item in own}.union(*subscribers.values())
            desk = await open_desk(tx, namespace, names=names, run_ids=[item.run_id for _, item in own])
            attempts = Attempts(desk, self._parts.ids)
            for ordinal, item in own:
                try:
                    outcomes[ordinal] = await _operate(desk, attempts, item, subscribers)
                except WindlassError as refused:
                    outcomes[ordinal] = refused
            await desk.save()
            self._woken |= desk.woken
        return outcomes


def pipeline_of(item: Any) -> str:
    name: str = item.subject if isinstance(item, BeginEffect | ReconcileEffect) else item.pipeline
    return name


async def _operate(desk: Desk, attempts: Attempts, item: Any, subscribers: Subscribers) -> Any:
    match item:
        case ReserveEvents():
            return await reserve_events(desk, item)
        case BeginEffect():
            return await begin_effect(desk, item)
        case ApplyEffect():
            return await apply_effect(desk, item)
        case CommitHandler():
            return await commit_handler(desk, attempts, item, subscribers=subscribers)
        case StopHandler():
            return await stop_handler(desk, item)
        case ReconcileEffect():
            return await reconcile_effect(desk, attempts, item)
        case FixHandler():
            return await fix_handler(desk, item)
    raise TypeError(f"{type(item).__name__} is no operation of a handler")


class PublishEvents(_Waking):
    """Events from outside of any pipeline."""

    def order(self, item: Publish) -> Any:
        return item.namespace, item.topic

    async def write(self, tx: Tx, items: Sequence[Publish]) -> Sequence[Any]:
        outcomes: list[Any] = [None] * len(items)
        for namespace in sorted({item.namespace for item in items}):
            own = [(ordinal, item) for ordinal, item in enumerate(items) if item.namespace == namespace]
            subscribers = await tx.handlers.subscribers(namespace, topics={item.topic for _, item in own})
            desk = await open_desk(tx, namespace, names=set().union(*subscribers.values()))
            outgoing = [Outgoing(event=_event(item)) for _, item in own]
            inputs = [item.input for _, item in own if item.input is not None]
            fresh = await publish(desk, outgoing, subscribers=subscribers, inputs=inputs)
            await desk.save()
            self._woken |= desk.woken
            for ordinal, item in own:
                is_new = (item.topic, item.id) in fresh
                fresh.discard((item.topic, item.id))  # published twice in one batch, it is a repeat the second time
                count = len(subscribers[item.topic])
                outcomes[ordinal] = Published(pipelines=count, is_repeat=bool(count) and not is_new)
        return outcomes


def _event(item: Publish) -> NewEvent:
    causes = () if item.input is None else (item.input.id,)
    return NewEvent(topic=item.topic, id=item.id, payload=item.payload, causes=causes)
