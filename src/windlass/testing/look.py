"""What of a program is at work or due, as its harness sees it in the store."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from windlass.app import App
from windlass.embedded import Embedded
from windlass.model.page import ListRuns
from windlass.model.pipeline import PipelineStatus
from windlass.model.run import Run, RunStatus
from windlass.model.signal import FiringStatus, ListFirings
from windlass.model.time import Instant
from windlass.model.worker import ServedPipeline
from windlass.store.base import Tx


class Times(Struct, frozen=True, kw_only=True):
    """What a coordinator has to do now, or "", and how long until it has something to do by the clock."""

    due: str
    delay: int | None
    has_schedules: bool  # that are active


async def look_at_times(app: App, opened: Embedded) -> Times:
    """Schedules that are due, and what signals have fired that is not done yet."""

    async def look(tx: Tx) -> Times:
        now, active = await tx.now(), [item.status for item in await tx.schedules.list(app._namespace)]
        due = "schedules that are due" if await tx.schedules.due(limit=1) else ""
        if not due and await _has_fired(tx, app):
            due = "signals that have fired"
        times = [await tx.schedules.next(after=now), await tx.watch.next() if app._settings.signals_enabled else None]
        delays = [at - now for at in times if at is not None and at > now]
        return Times(due=due, delay=min(delays, default=None), has_schedules="active" in active)

    return await opened.engine.parts.store.read("next_schedule", look)


async def _has_fired(tx: Tx, app: App) -> bool:
    """Is there something that a coordinator has to work, or is at?"""
    if not app._settings.signals_enabled:
        return False
    due_at, worked = await tx.watch.next(), ListFirings(namespace=app._namespace, status=FiringStatus.RUNNING, limit=1)
    return (due_at is not None and due_at <= await tx.now()) or bool(await tx.firings.list(worked))


async def look_at_pipelines(app: App, opened: Embedded, *, queues: Iterable[str]) -> tuple[str, int | None]:
    """A pipeline that is claimed or due, or "", and how long until the next one is."""
    served = set(app._registry.handlers.served_pipelines(queues))
    if not served:
        return "", None

    async def look(tx: Tx) -> tuple[str, int | None]:
        now, delays = await tx.now(), list[int]()
        for item in await tx.pipelines.list(app._namespace):
            if ServedPipeline(item.queue, item.name, item.revision) not in served or item.available_at is None:
                continue
            if item.status is PipelineStatus.RUNNING or item.available_at <= now:
                return item.name, 0
            delays.append(item.available_at - now)
        return "", min(delays, default=None)

    return await opened.engine.parts.store.read("look_at_pipelines", look)


async def look_at_runs(app: App, opened: Embedded, *, queues: Iterable[str]) -> tuple[list[Run], int | None]:
    """A run that is claimed, if there is one, and how long until the next one is due, or one is about to be started."""
    served = app._registry.served(queues)
    claimed = ListRuns(namespace=app._namespace, status=RunStatus.RUNNING, limit=1)

    async def look(tx: Tx) -> tuple[list[Run], Instant | None, Instant]:
        now = await tx.now()
        # What a signal has fired is a run soon: one snapshot for both, or it is neither between two looks.
        due_at = now if await _has_fired(tx, app) else await tx.runs.next_due(namespace=app._namespace, served=served)
        return await tx.runs.list(claimed), due_at, now

    running, due_at, now = await opened.engine.parts.store.read("next_due", look)
    return running, None if due_at is None else max(0, due_at - now)
