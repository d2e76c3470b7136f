"""The doors that askers go through: each opens the database at the first await, and is then always the same.

To go through a door that only steers may migrate the database. The others are also for callers that only read, so they
open what is up to date and refuse the rest; a method behind them that changes something awaits `to_change` first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from windlass.api.service import Control, Graphs, PipelineControl, Pipelines, Runs, Schedules, Service
from windlass.api.signal_service import Items, Signals


class Services:
    def __init__(self, open: Callable[[], Awaitable[Service]], *, look: Callable[[], Awaitable[Service]]) -> None:
        self._open, self._look = open, look

    async def to_change(self) -> None:
        """Open the database, and migrate it if it has to be."""
        await self._open()

    async def runs(self) -> Runs:
        return (await self._look()).runs

    async def control(self) -> Control:
        return (await self._open()).control

    async def graphs(self) -> Graphs:
        return (await self._look()).graphs

    async def schedules(self) -> Schedules:
        return (await self._look()).schedules

    async def pipelines(self) -> Pipelines:
        return (await self._look()).pipelines

    async def pipeline_control(self) -> PipelineControl:
        return (await self._open()).pipeline_control

    async def items(self) -> Items:
        return (await self._look()).items

    async def signals(self) -> Signals:
        return (await self._look()).signals
