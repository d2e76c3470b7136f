"""The handlers that tests of pipelines are made of: each notes what it was given, and may stand still at a gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import windlass
from tests.integration.conftest import Gate

Choose = Callable[[list[windlass.TopicEvent[int]]], windlass.Reserve | windlass.Idle]


def add_producer(
    pipeline: windlass.Pipeline,
    topic: windlass.Topic[int],
    ran: list[str],
    name: str = "poll",
    *,
    gate: Gate | None = None,
    is_silent: bool = False,
    **timing: Any,
) -> None:
    """It counts, and publishes the number."""

    @pipeline.producer(publishes=[topic], name=name, **timing)
    async def produce(ctx: windlass.ProducerContext, state: int | None) -> int:
        ran.append(name)
        if gate is not None:
            await gate.wait()
        number = (state or 0) + 1
        if not is_silent:
            ctx.publish(topic, number, id=f"{name}-{number}")
        return number


def add_taker(
    pipeline: windlass.Pipeline,
    topic: windlass.Topic[int],
    ran: list[str],
    name: str = "take",
    *,
    gate: Gate | None = None,
    batch: int = 1,
) -> None:
    """A function over events: it notes its own name and their ids."""

    @pipeline.consumer(topic, name=name, batch=batch)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        ran.append(" ".join([name, *(event.id for event in events)]))
        if gate is not None:
            await gate.wait()


class Chooser:
    """A consumer that chooses by what the test says, and notes what it saw, took and kept."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.saw: list[list[str]] = []  # by each `prepare`
        self.states: list[int | None] = []  # given to each `prepare`
        self.took: list[list[str]] = []  # by each `next`
        self.payloads: list[list[int]] = []
        self.outcomes: list[str | None] = []
        self.prepare_gate: Gate | None = None
        self.next_gate: Gate | None = None
        self.error: Exception | None = None  # raised by `prepare`, once

    def add_to(self, pipeline: windlass.Pipeline, *topics: windlass.Topic[int], name: str = "choose") -> None:
        chooser = self

        @pipeline.consumer(*topics, name=name)
        class Choosing(windlass.Consumer[Any, None]):
            async def prepare(
                self, ctx: windlass.PrepareContext, state: int | None
            ) -> windlass.Reserve | windlass.Idle:
                found = [event for topic in topics for event in await ctx.peek(topic)]
                chooser.saw.append([event.id for event in found])
                chooser.states.append(state)
                if chooser.prepare_gate is not None:
                    await chooser.prepare_gate.wait()
                if chooser.error is not None:
                    error, chooser.error = chooser.error, None
                    raise error
                return chooser.choose(found)

            async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[Any], result: None) -> int:
                chooser.took.append([event.id for event in prepared.events])
                chooser.payloads.append([event.payload for event in prepared.events])
                chooser.outcomes.append(prepared.outcome)
                if chooser.next_gate is not None:
                    await chooser.next_gate.wait()
                return len(chooser.took)


def everything(found: list[windlass.TopicEvent[int]]) -> windlass.Reserve | windlass.Idle:
    return windlass.Reserve(found)


def nothing(found: list[windlass.TopicEvent[int]]) -> windlass.Reserve | windlass.Idle:
    return windlass.Idle()


def oldest(found: list[windlass.TopicEvent[int]]) -> windlass.Reserve | windlass.Idle:
    return windlass.Reserve(found[:1])
