"""How fast are pipelines? One case in a process of its own: `python -m bench.pipeline_cases CASE --db URL [--size N]`.

    phases     one pipeline, one event at a time, through all phases with a ledgered effect; from the worker's start.
               The oldest event is reserved by the engine, as where a consumer has no `prepare`
    chosen     the same, with a `prepare` that looks for the event and reserves it
    many       `phases` in fifty pipelines at once
    batch      one function over events, a hundred at a time
    publish    events published from outside, a thousand calls in flight
    beside     `phases`, with 10,000 idle pipelines and 1,000,000 consumed events in the same database

The database is used as it is; one line of JSON, like the programs it is measured beside.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

from bench.peers.protocol import Answer, answer
from bench.pipeline_load import load_others
from windlass import process
from windlass.app import App
from windlass.bench.durable import read_back
from windlass.bench.workloads import SLOTS
from windlass.define.consumer import Consumer
from windlass.define.effect import Effect
from windlass.define.pipeline_context import MutateContext, NextContext, PrepareContext
from windlass.define.pipeline_values import Idle, Prepared, Reserve, TopicEvent
from windlass.settings import Settings

PIPELINES = 50
IN_FLIGHT = 1_000
IDLE, CONSUMED = 10_000, 1_000_000


class Counter:
    """Until so many have been committed."""

    def __init__(self, wanted: int) -> None:
        self.left, self.is_done = wanted, asyncio.Event()

    def count(self, number: int = 1) -> None:
        self.left -= number
        if self.left <= 0:
            self.is_done.set()


def _declare(app: App, name: str, counter: Counter, *, chooses: bool) -> Any:
    """A consumer with an effect that does nothing, and code behind it."""
    orders = app.topic(f"orders.{name}", int)

    @app.effect(name=f"charge.{name}")
    async def charge(number: int) -> int:
        return number

    class Charge(Consumer[int, int]):
        async def mutate(self, ctx: MutateContext, prepared: Prepared[int]) -> Effect[int]:
            return Effect(charge, prepared.data)

        async def next(self, ctx: NextContext, prepared: Prepared[int], result: int | None) -> None:
            if result is not None:
                counter.count()

    class Chosen(Charge):
        async def prepare(self, ctx: PrepareContext, state: None) -> Reserve | Idle:
            events = await ctx.peek(orders, limit=1)
            return Reserve(events, data=events[0].payload) if events else Idle()

    app.pipeline(name).consumer(orders)(Chosen if chooses else Charge)
    return orders


async def phases(url: str, size: int) -> Answer:
    return await _consumed(url, ["one"], size)


async def chosen(url: str, size: int) -> Answer:
    return await _consumed(url, ["one"], size, chooses=True)


async def many(url: str, size: int) -> Answer:
    return await _consumed(url, [f"p{number:02}" for number in range(PIPELINES)], size)


async def _consumed(
    url: str, names: list[str], size: int, *, chooses: bool = False, before: Callable[[App], Any] | None = None
) -> Answer:
    """From the start of the worker until the last event is through. What is waiting was published before."""
    counter = Counter(size)
    app = App(url, settings=Settings())
    topics = [_declare(app, name, counter, chooses=chooses) for name in names]
    async with app:
        if before is not None:
            await before(app)
        await _enter(app)
        each = size // len(names)
        for topic in topics:
            await app.publish_many(topic, [(str(number), number) for number in range(each)])
        began, used = time.perf_counter(), time.process_time()
        async with app.worker(slots=SLOTS):
            await counter.is_done.wait()
            passed, processor = time.perf_counter() - began, time.process_time() - used
        figures = {"runs_per_second": size / passed, "cpu_us": 1e6 * processor / size}
        return Answer(figures, await read_back(app))


async def _enter(app: App) -> None:
    """Declare the pipelines without a worker, so that events find them."""
    async with app.worker(slots=1):
        pass


async def batch(url: str, size: int) -> Answer:
    counter = Counter(size)
    app = App(url, settings=Settings())
    orders = app.topic("orders", int)
    pipeline = app.pipeline("batched")

    @pipeline.consumer(orders, batch=100)
    async def add(ctx: NextContext, events: list[TopicEvent[int]]) -> None:
        counter.count(len(events))

    async with app:
        await _enter(app)
        for first in range(0, size, IN_FLIGHT):
            await app.publish_many(orders, [(str(number), number) for number in range(first, first + IN_FLIGHT)])
        began = time.perf_counter()
        async with app.worker(slots=SLOTS):
            await counter.is_done.wait()
            passed = time.perf_counter() - began
        return Answer({"events_per_second": size / passed}, await read_back(app))


async def publish(url: str, size: int) -> Answer:
    app = App(url, settings=Settings())
    orders = app.topic("orders", int)
    pipeline = app.pipeline("published")

    @pipeline.consumer(orders, batch=100)
    async def nobody(ctx: NextContext, events: list[TopicEvent[int]]) -> None: ...

    async with app:
        await _enter(app)
        began = time.perf_counter()
        for first in range(0, size, IN_FLIGHT):
            numbers = range(first, min(size, first + IN_FLIGHT))
            await app.publish_many(orders, [(str(number), number) for number in numbers])
        passed = time.perf_counter() - began
        return Answer({"events_per_second": size / passed}, await read_back(app))


async def beside(url: str, size: int) -> Answer:
    """The same work twice: alone, and then beside what others have left."""

    async def load(app: App) -> None:
        await load_others(app, url, pipelines=IDLE, events=CONSUMED)

    return await _consumed(url, ["one"], size, before=load)


def _case(function: Callable[[str, int], Coroutine[Any, Any, Answer]]) -> Callable[[str, int], Answer]:
    return lambda url, size: process.run(function(url, size))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    cases = {"phases": phases, "chosen": chosen, "many": many, "batch": batch, "publish": publish, "beside": beside}
    answer({name: _case(function) for name, function in cases.items()}, size=2_000)
