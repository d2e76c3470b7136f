"""Producers and consumers around topics, as users declare them. Nothing is written: a worker enters a pipeline.

payments = app.pipeline("payments")
@payments.producer(every="5m", publishes=[orders])   ─► a HandlerDefinition of this pipeline
@payments.consumer(orders, publishes=[done])         ─► another
payments.definition()                                ─► all of them, with a revision that says whether anything changed
"""

from __future__ import annotations

import logging
import types
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, msgpack
from msgspec.structs import replace

from windlass.define.consumer import (
    Consumer,
    Read,
    check_handler,
    read_consumer,
    read_function_over_events,
    read_producer,
)
from windlass.define.decorating import decorate
from windlass.define.handler_code import Source, fingerprint
from windlass.define.handler_definition import HandlerDefinition, PipelineDefinition
from windlass.define.options import DurationLike, shorten
from windlass.define.pipeline_context import NextContext, ProducerContext
from windlass.define.pipeline_options import (
    Hooks,
    check_consumer,
    check_free,
    check_hooks,
    check_lists,
    read_retry,
    warn_of_loop,
)
from windlass.define.pipeline_values import TopicEvent
from windlass.define.retry import Retry
from windlass.define.schedule import read_plan
from windlass.define.topic import Topic
from windlass.errors import AlreadyExists, InvalidInput
from windlass.model.duration import to_duration
from windlass.model.pipeline import HandlerKind, HandlerSpec, PipelineSpec
from windlass.model.schedule import Timing
from windlass.model.time import Duration
from windlass.rules.limits import (
    check_flag,
    check_limit,
    check_name,
    check_pipeline_name,
    check_queue,
    check_visibility,
)

if TYPE_CHECKING:
    from windlass.define.handlers import Handlers

LOGGER = logging.getLogger("windlass")

MOST_EVENTS = 1_000  # of one batch

ProducerFunction = TypeVar("ProducerFunction", bound=Callable[[ProducerContext, Any], Coroutine[Any, Any, Any]])
ConsumerLike = TypeVar(
    "ConsumerLike",
    bound=Callable[[NextContext, list[TopicEvent[Any]]], Coroutine[Any, Any, Any]] | type[Consumer[Any, Any]],
)


class Declared(Struct, frozen=True, kw_only=True):
    definition: HandlerDefinition
    source: Source
    topics: tuple[Topic[Any], ...]  # all that it names


class Pipeline:
    """Producers and consumers that take turns: made by `app.pipeline("payments")`.

    Only one handler of a pipeline is at work at a time; a handler that fails holds the others until it is put right.
    Example::

        payments = app.pipeline("payments")

        @payments.producer(every="5m", publishes=[orders])
        async def poll(ctx: windlass.ProducerContext, state: str | None) -> str: ...

        @payments.consumer(orders)
        async def note(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Order]]) -> None: ...
    """

    def __init__(
        self,
        name: str,
        *,
        handlers: Handlers,
        place: Source,
        hooks: Hooks,
        queue: str = "default",
        retry: Retry | None = None,
        visibility: DurationLike | None = None,
        version: str = "",
    ) -> None:
        self.name = check_pipeline_name(name)
        self.queue = check_queue(queue)
        self.place = place
        self._registered, self._hooks = handlers, check_hooks(hooks, pipeline=self.name)
        self._retry = read_retry(retry, pipeline=self.name)
        self._visibility_for = (
            None if visibility is None else check_visibility(to_duration(visibility, what="visibility"))
        )
        self._version = check_name(version, what="version") if version != "" else ""
        self._handlers: dict[str, Declared] = {}  # in the order they were written
        self._definition: PipelineDefinition | None = None
        self._before: tuple[Declared, ...] = ()  # what the very same code declared, when it was executed before
        replaced = handlers.enter(self)
        if replaced is not None and replaced.place.is_shared(place):
            self._before = tuple(replaced._handlers.values()) or replaced._before

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r})"

    @property
    def is_empty(self) -> bool:
        """Has no handler been declared yet?"""
        return not self._handlers

    def producer(
        self,
        misplaced: None = None,
        /,
        *,
        every: DurationLike | None = None,
        cron: str | None = None,
        tz: str = "UTC",
        publishes: Sequence[Topic[Any]] = (),
        name: str | None = None,
        timeout: DurationLike | None = None,
    ) -> Callable[[ProducerFunction], ProducerFunction]:
        """Declare an `async def` that is called at these times with `ctx` and its last state. Returns it unchanged.

        What it returns is its next state, stored together with what it published; None keeps the one before.
        Example: `@payments.producer(every="5m", publishes=[orders])`
        """
        if misplaced is not None:
            raise InvalidInput(
                f"A producer takes its times by name: @{self.name}.producer(every='5m', publishes=[orders]).",
                reason="invalid_schedule",
                path="every",
            )
        timing = read_plan(cron=cron, every=every, tz=tz).timing
        options = {"publishes": self._topics(publishes, option="publishes"), "timing": timing}
        if not options["publishes"]:
            raise InvalidInput(
                "A producer publishes something: publishes=[orders].", reason="invalid_handler", path="publishes"
            )
        options |= {"name": name, "timeout": timeout}
        decorator: Callable[[ProducerFunction], ProducerFunction] = decorate(self._declare_producer, None, options)
        return decorator

    def consumer(
        self,
        *topics: Topic[Any],
        publishes: Sequence[Topic[Any]] = (),
        batch: int = 1,
        approval: bool = False,
        name: str | None = None,
        timeout: DurationLike | None = None,
    ) -> Callable[[ConsumerLike], ConsumerLike]:
        """Declare who takes the events of these topics: an `async def` over events, or a class. Returns it unchanged.

        The class derives from `windlass.Consumer`, and is made once, without arguments. Unless it has a `prepare` of
        its own, it is given the oldest events, `batch` at a time. With `approval` a person says yes to each.
        Example: `@payments.consumer(orders, publishes=[done])`
        """
        subscribed = self._topics(topics, option="topics")
        if not subscribed:
            raise InvalidInput(
                f"A consumer takes events of at least one topic: @{self.name}.consumer(orders).",
                reason="invalid_handler",
                path="topics",
            )
        check_limit(batch, what="batch", low=1, high=MOST_EVENTS)
        options: dict[str, Any] = {"topics": subscribed, "publishes": self._topics(publishes, option="publishes")}
        options |= {"batch": batch, "needs_approval": check_flag(approval, what="approval")}
        options |= {"name": name, "timeout": timeout}
        decorator: Callable[[ConsumerLike], ConsumerLike] = decorate(self._declare_consumer, None, options)
        return decorator

    def definition(self) -> PipelineDefinition:
        """All that was declared, read once until another handler is. Raises InvalidInput if there is no handler."""
        if self._definition is None:
            if not self._handlers:
                raise InvalidInput(
                    f"Pipeline {self.name!r} ({self.place.location}) has no handlers. "
                    f"Declare one: @{self.name}.consumer(orders).",
                    reason="invalid_pipeline",
                )
            self._definition = PipelineDefinition(
                spec=self._spec(),
                handlers={name: item.definition for name, item in self._handlers.items()},
                topics={topic.name: topic.type for item in self._handlers.values() for topic in item.topics},
                on_logic_error=self._hooks.on_logic_error,
                on_attention=self._hooks.on_attention,
                on_indeterminate=self._hooks.on_indeterminate,
                location=self.place.location,
            )
        return self._definition

    def _spec(self) -> PipelineSpec:
        spec = PipelineSpec(
            name=self.name,
            queue=self.queue,
            revision="",
            handlers=tuple(item.definition.spec for item in self._handlers.values()),
            retry=self._retry,
            visibility_for=self._visibility_for,
            has_fixer=self._hooks.on_logic_error is not None,
        )
        return replace(spec, revision=fingerprint(msgpack.encode(spec), self._version.encode()))

    def _declare_producer(
        self,
        function: object,
        *,
        local: Mapping[str, Any],
        name: str | None,
        publishes: tuple[Topic[Any], ...],
        timing: Timing,
        timeout: DurationLike | None,
    ) -> None:
        plain = check_handler(function, kind="producer")
        assert isinstance(plain, types.FunctionType)
        name = check_name(plain.__name__ if name is None else name, what="handler name")
        read = read_producer(plain, name=name, local=local)
        spec = HandlerSpec(
            name=name,
            kind=HandlerKind.PRODUCER,
            publishes=_names(publishes),
            timing=timing,
            timeout_for=self._timeout_for(timeout),
            code=self._code_of(read.source),
        )
        self._enter(spec, read, publishes)

    def _declare_consumer(
        self,
        handler: object,
        *,
        local: Mapping[str, Any],
        name: str | None,
        topics: tuple[Topic[Any], ...],
        publishes: tuple[Topic[Any], ...],
        batch: int,
        needs_approval: bool,
        timeout: DurationLike | None,
    ) -> None:
        found = check_handler(handler, kind="consumer")
        name = check_name(found.__name__ if name is None else name, what="handler name")
        if isinstance(found, type):
            read = read_consumer(found, name=name, local=local)
        else:
            read = read_function_over_events(found, name=name)
        spec = HandlerSpec(
            name=name,
            kind=HandlerKind.CONSUMER,
            topics=_names(topics),
            publishes=_names(publishes),
            batch=batch,
            prepares=read.prepare is not None,
            mutates=read.mutate is not None,
            emits=read.next is not None,
            needs_approval=needs_approval,
            timeout_for=self._timeout_for(timeout),
            code=self._code_of(read.source),
        )
        check_consumer(spec, location=read.source.location)
        if isinstance(found, type):
            check_lists(spec, read.data_type, topics, location=read.source.location)
        self._enter(spec, read, (*topics, *publishes))

    def _enter(self, spec: HandlerSpec, read: Read, topics: tuple[Topic[Any], ...]) -> None:
        known = self._handlers.get(spec.name)
        if known is not None:
            was = known.definition.spec
            check_free(spec, source=read.source, known=was, known_source=known.source, pipeline=self.name)
        self._check_before(spec, read.source)
        definition = HandlerDefinition(
            spec=spec,
            produce=read.produce,
            prepare=read.prepare,
            mutate=read.mutate,
            next=read.next,
            takes_events=read.takes_events,
            state_type=read.state_type,
            data_type=read.data_type,
            location=read.source.location,
        )
        self._handlers[spec.name] = Declared(definition=definition, source=read.source, topics=topics)
        self._definition = None
        warn_of_loop(spec, pipeline=self.name, location=read.source.location)
        self._registered.changed()

    def _check_before(self, spec: HandlerSpec, source: Source) -> None:
        """Code that is executed twice may say the same again; else handlers of the first time would be gone."""
        before = [item.definition.spec for item in self._before if item.source.is_shared(source)]
        if before and spec not in before:
            raise AlreadyExists(
                f"Pipeline {self.name!r} is made twice by the code at {self.place.location}, with other handlers. Give "
                "each a name of its own, or make it once and add all of them to that.",
                reason="already_registered",
                owner=self.place.location,
            )

    def _code_of(self, source: Source) -> str:
        """Another version is another code of every handler: what they call has changed, which their source hides."""
        return fingerprint(source.code.encode(), self._version.encode()) if self._version else source.code

    def _topics(self, given: object, *, option: str) -> tuple[Topic[Any], ...]:
        if isinstance(given, (str, Topic)) or not isinstance(given, Iterable):
            shown = given.name if isinstance(given, Topic) else shorten(given)
            raise InvalidInput(
                f"{option} takes a list of topics, not {shown}: {option}=[orders].",
                reason="invalid_option",
                path=option,
            )
        found: dict[str, Topic[Any]] = {}
        for item in given:
            if not isinstance(item, (Topic, str)):
                what = getattr(item, "__name__", None) or shorten(item)
                raise InvalidInput(
                    f"{option} of a handler are what app.topic() gave, and {what} is no topic: "
                    f"@{self.name}.consumer(orders, publishes=[done]).",
                    reason="invalid_handler",
                    path=option,
                )
            topic = self._registered.find_topic(item, verb=f"{self.name}.{option}")
            found[topic.name] = topic
        return tuple(found.values())

    def _timeout_for(self, timeout: DurationLike | None) -> Duration | None:
        if timeout is None:
            return None
        found = to_duration(timeout, what="timeout", allow_zero=False)
        if self._visibility_for is not None and found >= self._visibility_for:
            raise InvalidInput(
                f"timeout of a handler must be shorter than the visibility of its pipeline {self.name!r}.",
                reason="invalid_option",
                path="timeout",
            )
        return found


def _names(topics: Iterable[Topic[Any]]) -> tuple[str, ...]:
    return tuple(topic.name for topic in topics)
