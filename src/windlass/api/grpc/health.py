"""The standard health service: whether this server takes calls, for load balancers and whoever else asks.

A server whose store does not answer does not serve, and one that stops says so before it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from typing import Any, Protocol

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2

from windlass.api.grpc.reading import OpenReading
from windlass.api.grpc.table import to_bytes
from windlass.errors import Busy
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock

LOOK_EVERY = Duration(2 * SECOND)
MOST_WATCHERS = 200
PACE = SystemClock()  # a matter of real time, also under a test's clock
Status = health_pb2.HealthCheckResponse.ServingStatus
SERVING, NOT_SERVING, UNKNOWN = Status.SERVING, Status.NOT_SERVING, Status.SERVICE_UNKNOWN


class Ready(Protocol):
    async def is_ready(self) -> bool: ...


class HealthService:
    """For everybody, without a token: it says nothing but yes or no."""

    def __init__(self, names: Collection[str], ready: Ready | None) -> None:
        self._names, self._ready = frozenset(names), ready
        self._leaving = asyncio.Event()
        self._reading = OpenReading()
        self._watching: dict[object, None] = {}  # the oldest first

    def handlers(self) -> dict[str, Any]:
        """By path, as of streams: gRPC reads the message of a unary call before it asks us anything."""
        unary, stream = grpc.stream_unary_rpc_method_handler, grpc.stream_stream_rpc_method_handler
        return {
            f"/{health.SERVICE_NAME}/Check": unary(self._check, None, to_bytes),
            f"/{health.SERVICE_NAME}/List": unary(self._list, None, to_bytes),
            f"/{health.SERVICE_NAME}/Watch": stream(self._watch, None, to_bytes),
        }

    def leave(self) -> None:
        self._leaving.set()

    async def _check(self, _: Any, context: Any) -> Any:
        request = await self._read(health_pb2.HealthCheckRequest, context)
        if request.service not in self._names:
            await context.abort(grpc.StatusCode.NOT_FOUND, "There is no such service here.")
        return health_pb2.HealthCheckResponse(status=await self._status())

    async def _list(self, _: Any, context: Any) -> Any:
        await self._read(health_pb2.HealthListRequest, context)
        status = await self._status()
        return health_pb2.HealthListResponse(
            statuses={name: health_pb2.HealthCheckResponse(status=status) for name in self._names}
        )

    async def _watch(self, _: Any, context: Any) -> AsyncIterator[Any]:
        """Each change; the last one when this server goes, so that nobody holds it back by watching it."""
        request = await self._read(health_pb2.HealthCheckRequest, context)
        is_known, said, watcher = request.service in self._names, None, object()
        if len(self._watching) >= MOST_WATCHERS:
            del self._watching[next(iter(self._watching))]
        self._watching[watcher] = None
        try:
            while watcher in self._watching:
                status = await self._status() if is_known else UNKNOWN
                if status != said:
                    yield health_pb2.HealthCheckResponse(status=status)
                    said = status
                if self._leaving.is_set():
                    return
                await self._until_leaving()
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many watch: those who came first go first.")
        finally:
            self._watching.pop(watcher, None)

    async def _read(self, message: Any, context: Any) -> Any:
        try:
            data = await self._reading.message(context)
        except Busy as error:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        try:
            return message.FromString(data)
        except (DecodeError, TypeError):
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The request cannot be read.")

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
