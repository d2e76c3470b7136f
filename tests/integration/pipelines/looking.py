"""What tests of pipelines look at: where handlers, events and attempts stand, and whether anything is left to do."""

from __future__ import annotations

import asyncio
from datetime import datetime

from tests.integration.conftest import eventually
from tests.integration.wires import at_rest
from windlass.client.pipeline_infos import HandlerRunInfo
from windlass.model.duration import from_instant
from windlass.model.pipeline import EventRow, Handler, Pipeline, PipelineStatus
from windlass.model.pipeline_commands import ListEvents, PipelineView
from windlass.model.time import Instant
from windlass.store.base import Tx
from windlass.testing.harness import Harness


async def look(harness: Harness, pipeline: str) -> PipelineView:
    return (await harness.opened.pipelines.get_pipeline("default", pipeline)).view


async def handler_of(harness: Harness, pipeline: str, name: str) -> Handler:
    view = await look(harness, pipeline)
    return next(item.handler for item in view.handlers if item.handler.name == name)


async def dirty(harness: Harness, pipeline: str) -> set[str]:
    """The consumers that have something to look at."""
    return {item.handler.name for item in (await look(harness, pipeline)).handlers if item.handler.is_dirty}


async def queued(harness: Harness, pipeline: str) -> set[str]:
    """The producers whose time has come, or that somebody asked for."""
    view = await look(harness, pipeline)
    return {
        item.handler.name
        for item in view.handlers
        if item.handler.is_queued or (item.handler.next_at is not None and item.handler.next_at <= view.now)
    }


async def wakes(harness: Harness, pipeline: str) -> dict[str, datetime]:
    """When consumers want to be woken, of those that do."""
    found = [item.handler for item in (await look(harness, pipeline)).handlers]
    return {item.name: from_instant(item.wake_at) for item in found if item.wake_at is not None}


async def events(harness: Harness, pipeline: str, topic: str | None = None) -> list[EventRow]:
    """In the order they were published."""
    query = ListEvents(namespace="default", pipeline=pipeline, topic=topic, limit=500)
    return [*(await harness.opened.pipelines.list_events(query)).events]


async def stands(harness: Harness, pipeline: str, topic: str | None = None) -> dict[str, str]:
    """The status of events, by their ids."""
    return {event.id: event.status.value for event in await events(harness, pipeline, topic)}


async def attempts(harness: Harness, pipeline: str, handler: str | None = None) -> list[HandlerRunInfo]:
    """The oldest first."""
    return (await harness.app.pipelines.runs(pipeline, handler=handler, limit=500))[::-1]


async def until_quiet(harness: Harness) -> None:
    """Wait, with the clock standing still, until no handler of any pipeline of this app is at work, or due."""
    store = harness.opened.engine.parts.store

    async def look_at_all(tx: Tx) -> tuple[dict[str, Pipeline], Instant]:
        return {item.name: item for item in await tx.pipelines.list("default")}, await tx.now()

    async def is_quiet() -> bool:
        found, now = await store.read("look_at_all", look_at_all)
        for name, definition in harness.app._registry.handlers.pipelines.items():
            pipeline = found.get(name)
            if pipeline is None or not pipeline.is_declared or pipeline.revision != definition.spec.revision:
                return False  # not entered yet
            is_due = pipeline.available_at is not None and pipeline.available_at <= now
            if pipeline.status is PipelineStatus.RUNNING or is_due:
                return False
        return True

    await eventually(is_quiet, what="nothing is at work, and nothing is due")


async def until_stands(harness: Harness, pipeline: str, **wanted: str) -> None:
    """Wait, with the clock standing still, until events stand as they should, by their ids."""

    async def is_so() -> bool:
        return wanted.items() <= (await stands(harness, pipeline)).items()

    await eventually(is_so, what=f"{wanted} in {pipeline}")


async def pass_time(harness: Harness, duration: str) -> None:
    """Let time pass, and everything happen when it is due."""
    await at_rest()
    await harness.advance(duration)
    await until_quiet(harness)


async def jump(harness: Harness, duration: str) -> None:
    """Let time pass at once, as for a machine that was asleep, also while a handler is at work. Waits for nothing."""
    await at_rest()
    harness.clock.advance(duration)
    await asyncio.sleep(0)


async def cut_off(harness: Harness) -> None:
    """End this process, as it were, while a handler is at work: it is stopped once the grace of its worker is over."""
    closing = asyncio.ensure_future(harness.aclose())
    while not closing.done():
        await asyncio.wait([closing], timeout=0.01)
        if not closing.done():
            harness.clock.advance("1s")
    await closing


def time_of(harness: Harness) -> datetime:
    return from_instant(Instant(harness.clock.now()))
