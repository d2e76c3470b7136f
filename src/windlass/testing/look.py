"""What of a program is at work or due, as its harness sees it in the store."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.app import App
from windlass.embedded import Embedded
from windlass.model.page import ListRuns
from windlass.model.pipeline import PipelineStatus
from windlass.model.run import Run, RunStatus
from windlass.model.time import Instant
from windlass.model.worker import ServedPipeline
from windlass.store.base import Tx


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
    """A run that is claimed, if there is one, and how long until the next one is due."""
    served = app._registry.served(queues)
    claimed = ListRuns(namespace=app._namespace, status=RunStatus.RUNNING, limit=1)

    async def look(tx: Tx) -> tuple[list[Run], Instant | None, Instant]:
        due_at = await tx.runs.next_due(namespace=app._namespace, served=served)
        return await tx.runs.list(claimed), due_at, await tx.now()

    running, due_at, now = await opened.engine.parts.store.read("next_due", look)
    return running, None if due_at is None else max(0, due_at - now)
