"""Give every subscribing pipeline its own event, in the transaction that publishes it.

Whoever publishes holds the locks of all pipelines concerned: numbers are taken, and news are told, under them. So what
a consumer has seen can never pass an event that commits later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from windlass.engine.pipeline.desk import Desk
from windlass.model.pipeline import (
    EventRow,
    EventStatus,
    HandlerRunId,
    InputId,
    NewEvent,
    NewInput,
)
from windlass.rules import pipelines as rules
from windlass.store.pipeline_rows import causes_to_text
from windlass.store.queries.events import StoredEvent

Subscribers = Mapping[str, Collection[str]]  # pipelines, by topic
OVER = (EventStatus.CONSUMED, EventStatus.SKIPPED)


class Outgoing(Struct, frozen=True, kw_only=True):
    """An event on its way: published by an attempt, or from outside."""

    event: NewEvent
    by: HandlerRunId | None = None


async def publish(
    desk: Desk, outgoing: Sequence[Outgoing], *, subscribers: Subscribers, inputs: Sequence[NewInput]
) -> set[tuple[str, str]]:
    """Write events into the pipelines that subscribe to their topics. Answers with (topic, id) of those new to one."""
    by_place: dict[tuple[str, str], dict[str, Outgoing]] = {}
    for item in outgoing:  # of several with one id the last counts
        for pipeline in subscribers.get(item.event.topic, ()):
            items = by_place.setdefault((pipeline, item.event.topic), {})
            former = items.get(item.event.id)
            items[item.event.id] = item if former is None else _keep_causes(former.event.causes, item)
    fresh: set[tuple[str, str]] = set()
    told: dict[str, set[str]] = {}
    for (pipeline, topic), items in sorted(by_place.items()):
        if pipeline not in desk.pipelines:  # declared, or subscribed, since it was looked for: not yet there for us
            continue
        new, has_news, causes = await _write(desk, pipeline, topic, items)
        fresh.update((topic, id) for id in new)
        if has_news:
            told.setdefault(pipeline, set()).add(topic)
        await _enter_inputs(desk, pipeline, [item for item in inputs if item.id in causes])
    for pipeline, topics in told.items():
        await _tell(desk, pipeline, frozenset(topics))
    return fresh


async def _write(
    desk: Desk, pipeline: str, topic: str, items: Mapping[str, Outgoing]
) -> tuple[list[str], bool, set[InputId]]:
    """The ids that are new, whether there is something to look at, and what has caused these events."""
    known = await desk.tx.events.known(desk.namespace, pipeline=pipeline, topic=topic, ids=list(items))
    seq, new, changed, moved = desk.pipelines[pipeline].seq, [], [], []
    has_news, causes = False, set[InputId]()
    for id, published in items.items():
        was = known.get(id)
        item = published if was is None else _again(was, published)
        causes.update(item.event.causes)
        if was is not None and not _differs(was, item.event):
            continue
        seq += 1
        stored = _stored(desk.namespace, pipeline, item, seq=seq)
        if was is None:
            new.append((stored, item))
        else:
            changed.append(stored)
            moved += [(stored, item)] if was.causes != item.event.causes else []
        # Of a reserved one it is news too: should it go back, somebody has to look at what it has become.
        has_news = has_news or was is None or was.status in (EventStatus.PENDING, EventStatus.RESERVED)
    if new:
        await desk.tx.events.insert([stored for stored, _ in new])
        await _link(desk, new, anew=False)
    if changed:
        await desk.tx.events.replace(changed)
        await _link(desk, moved, anew=True)
    if new or changed:
        desk.put(replace(desk.pipelines[pipeline], seq=seq))
        desk.forget_ages(pipeline, topic)
    return [stored.id for stored, _ in new], has_news, causes


def _again(was: EventRow, item: Outgoing) -> Outgoing:
    """An event that is known, published once more. What it has led to is done: that keeps the inputs it had."""
    if was.status in OVER:
        return replace(item, event=replace(item.event, causes=was.causes))
    return _keep_causes(was.causes, item)


def _keep_causes(former: tuple[InputId, ...], item: Outgoing) -> Outgoing:
    """Whoever names no input says nothing about it: that is no reason to forget the one that was named."""
    return item if item.event.causes else replace(item, event=replace(item.event, causes=former))


def _differs(was: EventRow, event: NewEvent) -> bool:
    # Of a reserved one we see the payload that is pinned, which need not be the last that was published.
    is_pinned = was.status is EventStatus.RESERVED
    return is_pinned or was.payload != event.payload or was.causes != event.causes


async def _link(desk: Desk, written: Sequence[tuple[StoredEvent, Outgoing]], *, anew: bool) -> None:
    if any(anew or item.event.causes for _, item in written):
        events, causes = [stored for stored, _ in written], [item.event.causes for _, item in written]
        await desk.tx.inputs.link(events, causes, anew=anew)


async def _enter_inputs(desk: Desk, pipeline: str, inputs: Sequence[NewInput]) -> None:
    if inputs:
        await desk.tx.inputs.enter(desk.namespace, pipeline=pipeline, inputs=inputs)


async def _tell(desk: Desk, pipeline: str, topics: frozenset[str]) -> None:
    """There is news for the consumers of these topics; the pipeline is due if nothing else holds it."""
    seq = desk.pipelines[pipeline].seq
    for handler in await desk.roster.of(pipeline):
        desk.roster.put(rules.has_news(handler, topics=topics, seq=seq))
    found = desk.pipelines[pipeline]
    if rules.is_moved_by_news(found):
        handlers = await desk.roster.of(pipeline)
        moved = rules.moved_by_news(found, handlers, run=desk.current(found), now=desk.now)
        desk.put(moved)
        desk.wake(moved)


def _stored(namespace: str, pipeline: str, item: Outgoing, *, seq: int) -> StoredEvent:
    return StoredEvent(
        namespace=namespace,
        pipeline=pipeline,
        topic=item.event.topic,
        id=item.event.id,
        seq=seq,
        version=seq,
        payload=item.event.payload,
        created_by=item.by,
        causes=causes_to_text(item.event.causes),
    )


def causes_of(events: Sequence[EventRow]) -> tuple[InputId, ...]:
    """Every input behind these events, each once: what they lead to has the same."""
    return tuple(dict.fromkeys(input for event in events for input in event.causes))
