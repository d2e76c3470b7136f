"""The doors that askers go through: each opens the database at the first await, and is then always the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from windlass.api.service import Control, Graphs, PipelineControl, Pipelines, Runs, Schedules, Service
from windlass.api.signal_service import Items, Signals


class Services:
    def __init__(self, open: Callable[[], Awaitable[Service]]) -> None:
        self._open = open

    async def runs(self) -> Runs:
        return (await self._open()).runs

    async def control(self) -> Control:
        return (await self._open()).control

    async def graphs(self) -> Graphs:
        return (await self._open()).graphs

    async def schedules(self) -> Schedules:
        return (await self._open()).schedules

    async def pipelines(self) -> Pipelines:
        return (await self._open()).pipelines

    async def pipeline_control(self) -> PipelineControl:
        return (await self._open()).pipeline_control

    async def items(self) -> Items:
        return (await self._open()).items

    async def signals(self) -> Signals:
        return (await self._open()).signals
