"""The server's side of the wire: every call passes the gate, is read, answered, and told what went wrong.

    call ─► who asks, and may they? ─► message → struct ─► the row's handler ─► struct → message
               the one gate              InvalidInput       the doors

Only health checks are answered to everybody. What is not in the table cannot be reached.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection, reflection_pb2
from msgspec.structs import replace

from windlass.api.admission import Admission, Caller
from windlass.api.grpc import (
    methods_of_graphs,
    methods_of_others,
    methods_of_pipeline_work,
    methods_of_pipelines,
    methods_of_runs,
    methods_of_signals,
    methods_of_work,
)
from windlass.api.grpc.errors import TRAILER, status_of, to_detail
from windlass.api.grpc.health import HealthService, Ready
from windlass.api.grpc.patience import NO_MORE, Followers, Patience
from windlass.api.grpc.queues import KnownQueues
from windlass.api.grpc.reading import Reading
from windlass.api.grpc.table import LARGEST_ANSWER, LARGEST_REQUEST, SERVICES, Call, Row, to_bytes
from windlass.api.lanes import KnownLanes
from windlass.api.log_rate import OneLineASecond
from windlass.api.operations import OPERATIONS
from windlass.api.service import Service
from windlass.api.starts import Starts
from windlass.errors import InvalidInput, NotAuthenticated, WindlassError
from windlass.model.access import ACTING
from windlass.model.feed import FeedPage, ReadFeed
from windlass.model.time import SECOND, Duration
from windlass.runtime import Clock, Ids

LOGGER = logging.getLogger("windlass.server.grpc")

# What gRPC itself says of calls: anybody can cause it, with a path that is no text and seventeen lines for each.
logging.getLogger("grpc._cython.cygrpc").addFilter(OneLineASecond())

LARGEST_METADATA = 8 * 1024
MOST_STREAMS = 500  # of one connection: what a client asks beyond that waits there, and polls are long
MOST_CONNECTIONS = 2_000
IDLE_FOR, HANDSHAKE_WITHIN = Duration(300 * SECOND), Duration(10 * SECOND)  # of a connection
MILLISECOND = SECOND // 1_000
ONLY_IDENTITY = 1  # of the compressions: a small request must not become a large one
FEED_WAIT_FOR = Duration(15 * SECOND)
NAMES = tuple(f"windlass.v1.{name}" for name in SERVICES)
HEALTH, REFLECTION = health.SERVICE_NAME, reflection.SERVICE_NAME
REFLECTING = f"/{REFLECTION}/ServerReflectionInfo"
# What no message says and every call from afar means.
AROUND: Mapping[str, Any] = {"is_remote": True, "knows_family": False}

Context = Any  # of grpc.aio; its stubs and its class disagree about parameters


class Served(Service, Protocol):
    @property
    def ids(self) -> Ids: ...


def make_server(
    service: Served,
    admission: Admission,
    *,
    clock: Clock,
    host: str,
    port: int,
    tls: tuple[bytes, bytes] | None = None,
    ready: Ready | None = None,
    connections: int = MOST_CONNECTIONS,
) -> GrpcServer:
    """`tls` is a private key and a certificate chain, as PEM; `ready` knows whether the store answers."""
    credentials = None if tls is None else grpc.ssl_server_credentials([tls])
    address = _address(host, port)
    return GrpcServer(
        service,
        admission,
        clock=clock,
        address=address,
        credentials=credentials,
        ready=ready,
        connections=connections,
    )


def rows(starts: Starts) -> list[Row]:
    """All that can be called."""
    work = (*methods_of_work.ROWS, *methods_of_pipeline_work.ROWS)
    others = (*methods_of_graphs.ROWS, *methods_of_pipelines.ROWS, *methods_of_others.ROWS)
    return [*methods_of_runs.rows(starts), *work, *methods_of_signals.rows(starts), *others]


class GrpcServer:
    """Listens, answers, and on its way out lets go of those who wait."""

    def __init__(
        self,
        service: Served,
        admission: Admission,
        *,
        clock: Clock,
        address: str,
        credentials: grpc.ServerCredentials | None = None,
        ready: Ready | None = None,
        connections: int = MOST_CONNECTIONS,
    ) -> None:
        self._service, self.admission, self._clock, self.ids = service, admission, clock, service.ids
        self._address, self._credentials, self._connections = address, credentials, connections
        starts = Starts(service.runs, KnownLanes(service.runs, service.schedules, clock=clock))
        self.rows = rows(starts)
        self._port = 0
        self._patience = Patience(admission)
        self._followers = Followers()
        self.reading = Reading()
        self._questions = Reading(most=4, of_one=2)  # to the reflection: a stream may be silent between them
        self._queues = KnownQueues(service.runs, service.pipelines, clock=clock)
        self._health = HealthService(["", *NAMES], ready)
        self._reflection: Any = reflection.ReflectionServicer([*NAMES, HEALTH, REFLECTION])
        self._server: grpc.aio.Server | None = None

    @property
    def port(self) -> int:
        return self._port

    async def start(self) -> None:
        """Listen. Raises InvalidInput if somebody else does already."""
        self._patience.begin()
        server = grpc.aio.server(options=_options(self._connections), compression=None)
        server.add_generic_rpc_handlers((self._methods(),))
        try:
            if self._credentials is None:
                self._port = server.add_insecure_port(self._address)
            else:
                self._port = server.add_secure_port(self._address, self._credentials)
        except RuntimeError:
            text = f"{self._address} cannot be listened on: somebody else does, or it is no address of this machine."
            raise InvalidInput(text, reason="invalid_config", path="server.grpc_port") from None
        await server.start()
        self._server = server

    async def drain(self, grace_for: Duration) -> None:
        """Say that this server goes, send those who wait to another one, and let calls end within the grace."""
        if self._server is None:
            return
        self._health.leave()
        self._patience.end()
        await self._server.stop(grace_for / SECOND)

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    def _methods(self) -> _Methods:
        methods = {row.path: self._handler(row) for row in self.rows} | self._health.handlers()
        methods[REFLECTING] = grpc.stream_stream_rpc_method_handler(self._reflect, None, to_bytes)
        return _Methods(methods, grpc.stream_unary_rpc_method_handler(self._refuse_unknown))

    def _handler(self, row: Row) -> Any:
        # Read by hand, and as if it were a stream: gRPC reads the message of a unary call before it asks us anything.
        mirror = row.request_mirror
        if row.descriptor.server_streaming:
            return grpc.stream_stream_rpc_method_handler(self._follow(row), None, to_bytes)
        answer = row.answer_mirror

        async def answered(_: Any, context: Context) -> Any:
            request_id = self.ids.request()
            try:
                caller, request = await self._ask(row, context, request_id)
                asked = mirror.to_struct(request, AROUND)
                if row.service == methods_of_work.SERVICE:
                    await self._queues.check(caller, asked)
                work = row.handle(Call(self._service, caller, self._clock, self.ids), asked)
                found = await (self._patience.patiently(work, caller) if row.is_long else work)
                return found if answer is None else answer.to_message(found)
            except WindlassError as error:
                await _refuse(context, error, request_id)
            except Exception as error:
                LOGGER.exception("%s failed (%s)", row.name, request_id)
                await _refuse(context, error, request_id)

        return grpc.stream_unary_rpc_method_handler(answered, None, to_bytes)

    def _follow(self, row: Row) -> Callable[[Any, Context], AsyncIterator[Any]]:
        """The log as it grows: each page as a message, and a page without entries now and then, as a sign of life."""
        mirror, answer = row.request_mirror, row.answer_mirror
        assert answer is not None

        async def follow(_: Any, context: Context) -> AsyncIterator[Any]:
            request_id = self.ids.request()
            try:
                caller, request = await self._ask(row, context, request_id)
                asked: ReadFeed = mirror.to_struct(request, AROUND)
                with self._followers.one_more(caller.key):
                    async for found in self._pages(row, caller, asked):
                        with self._patience.sending(caller):
                            yield answer.to_message(found)
            except WindlassError as error:
                await _refuse(context, error, request_id)
            except Exception as error:
                LOGGER.exception("%s failed (%s)", row.name, request_id)
                await _refuse(context, error, request_id)

        return follow

    async def _pages(self, row: Row, caller: Caller, asked: ReadFeed) -> AsyncIterator[FeedPage]:
        call = Call(self._service, caller, self._clock, self.ids)
        while True:
            found: FeedPage = await row.handle(call, asked)
            await self._check_again(caller)  # who is never kept waiting is never looked at there
            yield found
            asked = replace(asked, cursor=found.cursor)
            if not found.has_more:
                news = self._service.feed.wait_for_news(asked.namespace, FEED_WAIT_FOR, found.cursor)
                await self._patience.patiently(news, caller)

    async def _ask(self, row: Row, context: Context, request_id: str) -> tuple[Caller, Any]:
        """Who asks, and only then for what. From here on the request speaks of the namespace in which they may act."""
        caller = await self._recognize(row.operation, context, request_id)
        request = _parsed(row.request_mirror.message, await self.reading.message(context, caller.key))
        named = getattr(request, "namespace", None)
        caller = await self.admission.let_in(caller, named)
        if request is None:
            raise InvalidInput("The request cannot be read: it is no message of this kind.", path="request")
        if named is not None and OPERATIONS[row.operation].of_namespace:
            request.namespace = caller.namespace
        ACTING.set(caller.actor)
        return caller, request

    async def _reflect(self, _: Any, context: Context) -> AsyncIterator[Any]:
        """For those with a key. A stream may stay open: each question comes in time, from somebody who is let in."""
        request_id = self.ids.request()
        try:
            caller = await self._recognize("reflect", context, request_id)
            while (data := await self._questions.message(context, caller.key)) is not None:
                await self._check_again(caller)
                question = reflection_pb2.ServerReflectionRequest.FromString(data)
                for answer in self._reflection.ServerReflectionInfo(iter((question,)), context):
                    yield answer
        except WindlassError as error:
            await _refuse(context, error, request_id)
        except DecodeError:
            await _refuse(context, InvalidInput("The question cannot be read.", path="request"), request_id)

    async def _refuse_unknown(self, _: Any, context: Context) -> None:
        """What is in no table: only those with a key hear that."""
        request_id = self.ids.request()
        try:
            await self._recognize("reflect", context, request_id)
        except WindlassError as error:
            await _refuse(context, error, request_id)
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "There is no such method.")

    async def _recognize(self, operation: str, context: Context, request_id: str) -> Caller:
        token = token_of(context.invocation_metadata())
        return await self.admission.recognize(token, operation, peer=context.peer(), request_id=request_id)

    async def _check_again(self, caller: Caller) -> None:
        if not await self.admission.still_admitted(caller):
            raise NotAuthenticated(NO_MORE)


class _Methods(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # it takes none when it runs
    """Each method by its path, and what is answered to all others."""

    def __init__(self, methods: Mapping[str, Any], others: Any) -> None:
        self._methods, self._others = methods, others

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        return self._methods.get(details.method, self._others)


def token_of(metadata: Any) -> str | None:
    """The token of a call. Two of them, or another scheme, are none."""
    found = [value for key, value in metadata or () if key == "authorization"]
    if len(found) != 1 or not isinstance(found[0], str):
        return None
    scheme, _, token = found[0].partition(" ")
    return token if scheme.lower() == "bearer" and token else None


def _parsed(message: Any, data: bytes | None) -> Any:
    """The message, or nothing: whoever sent what cannot be read hears that only if they may ask at all."""
    if data is None:
        return None
    try:
        return message.FromString(data)
    except DecodeError:
        return None


async def _refuse(context: Context, error: Exception, request_id: str) -> None:
    """Raises, as gRPC ends a call that way."""
    detail = to_detail(error, request_id=request_id)
    trailer = ((TRAILER, detail.SerializeToString()),)
    await context.abort(status_of(detail), detail.message, trailer)


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _options(connections: int) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", LARGEST_REQUEST),
        ("grpc.max_send_message_length", LARGEST_ANSWER),
        ("grpc.max_metadata_size", LARGEST_METADATA),
        ("grpc.absolute_max_metadata_size", 2 * LARGEST_METADATA),
        ("grpc.max_concurrent_streams", MOST_STREAMS),
        ("grpc.max_allowed_incoming_connections", connections),
        ("grpc.max_connection_idle_ms", IDLE_FOR // MILLISECOND),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_WITHIN // MILLISECOND),
        ("grpc.http2.bdp_probe", 0),  # or a message that nobody reads may grow far beyond 64 KiB
        ("grpc.compression_enabled_algorithms_bitset", ONLY_IDENTITY),
        ("grpc.so_reuseport", 0),  # a second server on the same port is a mistake
        ("grpc.keepalive_time_ms", 20_000),  # a peer that is gone without a word is noticed
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
    ]
