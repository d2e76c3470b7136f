"""The `ctx` of each phase of a handler: what it publishes is kept here, and stored when its handler is committed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from windlass.codec import Codec
from windlass.define.input import Input, check_input
from windlass.define.pipeline_context import (
    HandlerContext,
    MutateContext,
    NextContext,
    PrepareContext,
    ProducerContext,
)
from windlass.define.pipeline_values import TopicEvent
from windlass.define.topic import Topic, check_topic, read_topics
from windlass.errors import InvalidInput, NotAllowed
from windlass.model.duration import from_instant
from windlass.model.pipeline import EventRow, HandlerSpec, InputId, NewEvent, NewInput
from windlass.model.pipeline_work import Task
from windlass.model.time import Instant
from windlass.rules.limits import check_key, check_limit
from windlass.runtime import Clock

if TYPE_CHECKING:
    from windlass.define.handler_definition import PipelineDefinition

LOGGER = logging.getLogger("windlass.pipeline")
MOST_PEEKED = 1_000
MOST_PUBLISHED = 10_000  # by one handler: they are one transaction

ReadRows = Callable[[str, tuple[str, ...] | None, int], Awaitable[tuple[EventRow, ...]]]


class HandlerLog(logging.LoggerAdapter[logging.Logger]):
    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        about = self.extra or {}
        kwargs["extra"] = {**about, **(kwargs.get("extra") or {})}
        return f"[{about['run']}] {msg}", kwargs


class _Handled(HandlerContext):
    """What the contexts of all phases have. Refuses every call once its phase is over."""

    def __init__(self, task: Task, definition: PipelineDefinition, *, codec: Codec, clock: Clock) -> None:
        self.run_id, self.handler, self.attempt = task.run_id, task.handler, task.attempt
        self.pipeline = definition.spec.name
        self.log = HandlerLog(LOGGER, {"run": task.run_id, "pipeline": self.pipeline, "handler": task.handler})
        self._codec, self._clock, self._topics = codec, clock, definition.topics
        self._spec: HandlerSpec = definition.handlers[task.handler].spec
        self._is_over = False

    def now(self) -> datetime:
        self._check_open("now")
        return from_instant(Instant(self._clock.now()))

    def close(self) -> None:
        self._is_over = True

    def _check_open(self, verb: str) -> None:
        if self._is_over:
            raise NotAllowed(
                f"ctx.{verb}() was called when its phase of handler {self.handler!r} was over. "
                "Await everything that a handler begins before it returns."
            )


class _Publishing(_Handled):
    def __init__(self, task: Task, definition: PipelineDefinition, *, codec: Codec, clock: Clock) -> None:
        super().__init__(task, definition, codec=codec, clock=clock)
        self.events: dict[tuple[str, str], NewEvent] = {}
        self.inputs: dict[InputId, NewInput] = {}

    def _publish(self, topics: object, payload: Any, id: object, causes: tuple[InputId, ...]) -> None:
        self._check_open("publish")
        checked = check_key(id, what="id of the event")  # type: ignore[arg-type]
        found = read_topics(topics, verb="ctx.publish")
        if len(self.events) + len(found) > MOST_PUBLISHED:
            text = f"Handler {self.handler!r} publishes more than {MOST_PUBLISHED:,} events at once; publish in parts."
            raise InvalidInput(text, reason="too_many", path="topic")
        encoded = {}
        for topic in found:
            if topic.name not in self._spec.publishes:
                raise self._undeclared(topic)
            encoded[topic.name] = self._encode(topic, payload)
        for name, data in encoded.items():
            self.events[name, checked] = NewEvent(topic=name, id=checked, payload=data, causes=causes)

    def _encode(self, topic: Topic[Any], payload: Any) -> bytes:
        call = f"ctx.publish({topic.name})"
        self._codec.check_arguments((payload,), (self._topics.get(topic.name, topic.type),), ("payload",), what=call)
        return self._codec.encode(payload)

    def _undeclared(self, topic: Topic[Any]) -> InvalidInput:
        declared = ", ".join(map(repr, self._spec.publishes)) or "none"
        return InvalidInput(
            f"Handler {self.handler!r} publishes to {topic.name!r}, and has not declared that: "
            f"add it to publishes=[…], which has {declared}.",
            reason="undeclared_topic",
            path="topic",
        )


class ProducerRunContext(_Publishing, ProducerContext):
    def __init__(self, task: Task, definition: PipelineDefinition, *, codec: Codec, clock: Clock) -> None:
        super().__init__(task, definition, codec=codec, clock=clock)
        due_at = Instant(clock.now()) if task.scheduled_at is None else task.scheduled_at
        self.scheduled_at = from_instant(due_at)

    def input(self, source: str, type: str, id: str, /, *, title: str = "") -> Input:
        self._check_open("input")
        entered = Input(source, type, id, title=title)
        self.inputs.setdefault(entered.input_id, entered.new())
        return entered

    def publish(
        self, topic: Topic[Any] | Sequence[Topic[Any]], payload: Any, /, *, id: str, input: Input | None = None
    ) -> None:
        cause = check_input(input, verb="ctx.publish")
        self._publish(topic, payload, id, () if cause is None else (cause.input_id,))
        if cause is not None:
            self.inputs.setdefault(cause.input_id, cause.new())


class PrepareRunContext(_Handled, PrepareContext):
    _read: ReadRows

    def reading(self, read: ReadRows) -> PrepareRunContext:
        """This context, which looks at events in this way."""
        self._read = read
        return self

    async def peek(self, topic: Topic[Any], /, *, limit: int = 100) -> list[TopicEvent[Any]]:
        asked = self._subscribed(topic, "peek")
        return await self._look(asked, None, check_limit(limit, what="limit", low=1, high=MOST_PEEKED))

    async def get(self, topic: Topic[Any], ids: Sequence[str], /) -> list[TopicEvent[Any]]:
        asked = self._subscribed(topic, "get")
        if isinstance(ids, str) or not isinstance(ids, Sequence):
            text = f"ctx.get() takes a list of ids, not {type(ids).__name__}: await ctx.get(orders, [id])."
            raise InvalidInput(text, reason="invalid_argument", path="ids")
        check_limit(len(ids), what="number of ids", low=0, high=MOST_PEEKED)
        checked = tuple(check_key(id, what="id of the event") for id in ids)
        return await self._look(asked, checked, max(1, len(checked))) if checked else []

    async def _look(self, topic: Topic[Any], ids: tuple[str, ...] | None, limit: int) -> list[TopicEvent[Any]]:
        rows = await self._read(topic.name, ids, limit)
        self._check_open("peek" if ids is None else "get")
        return [read_event(row, self._topics.get(row.topic, Any), self._codec) for row in rows]

    def _subscribed(self, topic: object, verb: str) -> Topic[Any]:
        self._check_open(verb)
        asked = check_topic(topic, verb=f"ctx.{verb}")
        if asked.name not in self._spec.topics:
            raise InvalidInput(
                f"Consumer {self.handler!r} looks at {asked.name!r}, and is no consumer of that: "
                f"it has {', '.join(map(repr, self._spec.topics))}.",
                reason="undeclared_topic",
                path="topic",
            )
        return asked


class MutateRunContext(_Handled, MutateContext):
    pass


class NextRunContext(_Publishing, NextContext):
    def publish(self, topic: Topic[Any] | Sequence[Topic[Any]], payload: Any, /, *, id: str) -> None:
        self._publish(topic, payload, id, ())


def read_event(row: EventRow, type: Any, codec: Codec) -> TopicEvent[Any]:
    """An event as handlers get it. Raises InvalidInput for a payload that is not of the type its topic has now."""
    try:
        payload = codec.decode(row.payload, type)
    except InvalidInput as refused:
        text = f"Event {row.id!r} of topic {row.topic!r} is not what the topic declares: {refused}"
        raise InvalidInput(text, reason="wrong_event", path=refused.path) from None
    return TopicEvent(
        topic=row.topic,
        id=row.id,
        payload=payload,
        attempt=row.attempt,
        created_at=from_instant(row.created_at),
        version=row.version,
    )
