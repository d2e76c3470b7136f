"""The standard health service: whether this server takes calls, for load balancers and whoever else asks.

A server whose store does not answer does not serve, and one that stops says so before it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from typing import Any, Protocol

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock

LOOK_EVERY = Duration(2 * SECOND)
PACE = SystemClock()  # a matter of real time, also under a test's clock
Status = health_pb2.HealthCheckResponse.ServingStatus
SERVING, NOT_SERVING, UNKNOWN = Status.SERVING, Status.NOT_SERVING, Status.SERVICE_UNKNOWN


class Ready(Protocol):
    async def is_ready(self) -> bool: ...


class HealthService(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # it has no types
    """For everybody, without a token: it says nothing but yes or no."""

    def __init__(self, names: Collection[str], ready: Ready | None) -> None:
        self._names, self._ready = frozenset(names), ready
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        self._leaving.set()

    async def Check(self, request: Any, context: Any) -> Any:
        if request.service not in self._names:
            await context.abort(grpc.StatusCode.NOT_FOUND, "There is no such service here.")
        return health_pb2.HealthCheckResponse(status=await self._status())

    async def List(self, request: Any, context: Any) -> Any:
        status = await self._status()
        return health_pb2.HealthListResponse(
            statuses={name: health_pb2.HealthCheckResponse(status=status) for name in self._names}
        )

    async def Watch(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Each change; the last one when this server goes, so that nobody holds it back by watching it."""
        is_known, said = request.service in self._names, None
        while True:
            status = await self._status() if is_known else UNKNOWN
            if status != said:
                yield health_pb2.HealthCheckResponse(status=status)
                said = status
            if self._leaving.is_set():
                return
            await self._until_leaving()

    async def _status(self) -> Any:
        if self._leaving.is_set():
            return NOT_SERVING
        return SERVING if self._ready is None or await self._ready.is_ready() else NOT_SERVING

    async def _until_leaving(self) -> None:
        """Until this server goes, or it is time to look again."""
        waits = [asyncio.ensure_future(self._leaving.wait()), asyncio.ensure_future(PACE.sleep(LOOK_EVERY))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
