"""Is a program at rest: nothing at work, and nothing due? And if it is, when does it go on?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.model.run import Run
from windlass.testing.look import look_at_pipelines, look_at_runs, look_at_times

if TYPE_CHECKING:
    from windlass.testing.harness import Harness


class Rest:
    """What a harness knows of its workers and its store."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    async def busy(self) -> str:
        """What is going on, in words; nothing if all is at rest."""
        if (busy := self.at_work()) or not self._harness._has_worker:
            return busy
        if due := (await self.next_slot())[0]:  # before the runs: what it fires is one of them
            return due
        if name := (await self._look_at_pipelines())[0]:
            return f"pipeline {name}"
        # A claim that is committed and on its way to the worker shows only in the store. One snapshot for both
        # questions: between two reads a run that was due may become one that runs.
        running, delay = await self.look()
        if running:
            return f"{running[0].name} {running[0].id}, claimed"
        # Once more: what came meanwhile may be at rest in the store before its worker has left it.
        return "runs that are due" if delay == 0 else self.at_work()

    def at_work(self) -> str:
        """What workers and writes are at."""
        parts, workers = self._harness.opened.engine.parts, self._harness.app._workers
        if parts.batcher.is_busy or parts.background:
            return "writes on their way"
        found = (execution.claimed for worker in workers for execution in worker.executions)
        handled = [name for worker in workers for name in worker.handled]
        return ", ".join([f"{claimed.name} {claimed.run_id}" for claimed in found] + handled)

    async def look(self) -> tuple[list[Run], int | None]:
        """A run that is claimed, if there is one, and how long until the next one is due."""
        harness = self._harness
        return await look_at_runs(harness.app, harness.opened, queues=harness._queues)

    async def next_slot(self) -> tuple[str, int | None]:
        """What a coordinator has to do now, and how long until it has, or a pipeline, or a run one may wait for."""
        harness = self._harness
        if not harness._has_worker or not harness.app._settings.coordinates:
            return "", None
        found = await look_at_times(harness.app, harness.opened)
        delays = [found.delay, (await self.look())[1] if found.has_schedules else None]
        delays.append((await self._look_at_pipelines())[1])
        return found.due, min(filter(None, delays), default=None)

    async def _look_at_pipelines(self) -> tuple[str, int | None]:
        harness = self._harness
        return await look_at_pipelines(harness.app, harness.opened, queues=harness._queues)
