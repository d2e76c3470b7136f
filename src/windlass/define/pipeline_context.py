"""What each phase of a handler may do: the typed surfaces of its `ctx`. The worker's contexts implement them.

    producer   input · publish               an external read is code of yours
    prepare    peek · get                    chooses events; nothing outside is changed
    mutate     nothing                       answers with the one effect, which is called behind it
    next       publish                       behind the effect

They are separate types, so that a type checker refuses `publish()` in `prepare`.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from windlass.define.input import Input
from windlass.define.pipeline_values import (
    Fixed,
    GiveUp,
    Idle,
    Prepared,
    Problem,
    Reserve,
    TopicEvent,
    WakeLike,
)
from windlass.define.topic import Topic

__all__ = [
    "Fixed",
    "GiveUp",
    "HandlerContext",
    "Idle",
    "Input",
    "MutateContext",
    "NextContext",
    "PrepareContext",
    "Prepared",
    "Problem",
    "ProducerContext",
    "Reserve",
    "TopicEvent",
    "WakeLike",
]

T = TypeVar("T")

WHERE = {
    "publish": "a producer, and in next",
    "peek": "prepare",
    "get": "prepare",
    "input": "a producer",
    "scheduled_at": "a producer",
    "step": "a workflow; the one outside effect of a consumer is what its mutate returns",
}


class HandlerContext(ABC):
    """What every handler of a pipeline knows."""

    run_id: str
    """The id of this attempt: "hrn_" and 26 characters."""

    pipeline: str
    """The name of the pipeline."""

    handler: str
    """The name of the handler."""

    attempt: int
    """Which attempt this is, from 1."""

    log: logging.LoggerAdapter[logging.Logger]
    """A logger that adds the id of the attempt."""

    @abstractmethod
    def now(self) -> datetime:
        """The time, in UTC."""

    if not TYPE_CHECKING:  # to a type checker, every context would have every name

        def __getattr__(self, name: str) -> Any:
            if name in WHERE:
                raise AttributeError(
                    f"ctx.{name} is not there in this phase: it is for {WHERE[name]}.", name=name, obj=self
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


class ProducerContext(HandlerContext):
    """The first parameter of a producer. What it publishes is stored together with the state it returns, or not at all.

    Example::

        @payments.producer(every="5m", publishes=[orders])
        async def poll(ctx: windlass.ProducerContext, state: Cursor | None) -> Cursor:
            for order in await fetch(after=state):
                ctx.publish(orders, order, id=order.id, input=ctx.input("shop", "order", order.id))
            return Cursor(order.id)
    """

    scheduled_at: datetime
    """The time it was due, in UTC, however late it began."""

    @abstractmethod
    def input(self, source: str, type: str, id: str, /, *, title: str = "") -> Input:
        """Enter something outside that causes events. The same source, type and id are the same input."""

    @abstractmethod
    def publish(
        self, topic: Topic[T] | Sequence[Topic[T]], payload: T, /, *, id: str, input: Input | None = None
    ) -> None:
        """Publish to a topic, or to several. The same id again replaces the payload. Kept until the handler returns.

        Raises InvalidInput for a topic that is not in `publishes`, or a payload that is not of its type.
        """


class PrepareContext(HandlerContext):
    """The first parameter of `prepare`, which looks at events, and changes nothing."""

    @abstractmethod
    async def peek(self, topic: Topic[T], /, *, limit: int = 100) -> list[TopicEvent[T]]:
        """Pending events of a topic of this consumer, the oldest first; at most 1,000."""

    @abstractmethod
    async def get(self, topic: Topic[T], ids: Sequence[str], /) -> list[TopicEvent[T]]:
        """Events by their ids, however they stand; what is unknown is left out."""


class MutateContext(HandlerContext):
    """The first parameter of `mutate`, which answers with the one outside effect, or with None."""


class NextContext(HandlerContext):
    """The first parameter of `next`, and of a function over events."""

    @abstractmethod
    def publish(self, topic: Topic[T] | Sequence[Topic[T]], payload: T, /, *, id: str) -> None:
        """Publish to a topic, or to several. The same id again replaces the payload. Kept until the handler returns.

        Raises InvalidInput for a topic that is not in `publishes`, or a payload that is not of its type.
        """
