"""Health and reflection, asked by the clients that everybody uses for them."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from tests.integration.server.wire import Code, Wire, refusal_of
from windlass.api.grpc.table import SERVICES
from windlass.model.access import Role
from windlass.model.time import SECOND, Duration

NAMES = {f"windlass.v1.{name}" for name in SERVICES}
STATUS = health_pb2.HealthCheckResponse


def asked_for(service: str = "") -> Any:
    return health_pb2.HealthCheckRequest(service=service)


@pytest.mark.spec("security:S-39")
async def test_health_is_told_to_everybody_and_says_no_more_than_that(memory_wire: Wire) -> None:
    stub = health_pb2_grpc.HealthStub(memory_wire.asker().channel)

    for service in ("", *NAMES):
        assert await stub.Check(asked_for(service)) == STATUS(status=STATUS.SERVING)
    refused = await refusal_of(stub.Check(asked_for("windlass.v1.Nothing")))
    assert refused is not None
    assert refused.status is Code.NOT_FOUND
    watching = stub.Watch(asked_for("windlass.v1.Nothing"))
    assert (await watching.read()).status == STATUS.SERVICE_UNKNOWN
    watching.cancel()


async def test_those_who_watch_hear_that_a_server_leaves_before_it_does(memory_wire: Wire) -> None:
    stub = health_pb2_grpc.HealthStub(memory_wire.asker().channel)
    watches = [stub.Watch(asked_for(service)) for service in ("", "windlass.v1.WorkerService")]
    assert [(await watch.read()).status for watch in watches] == [STATUS.SERVING] * 2

    leaving = asyncio.ensure_future(memory_wire.server.drain(Duration(10 * SECOND)))

    assert [(await watch.read()).status for watch in watches] == [STATUS.NOT_SERVING] * 2
    for watch in watches:
        watch.cancel()
    await leaving
    refused = await refusal_of(stub.Check(asked_for(), timeout=30))
    assert refused is not None
    assert refused.status is Code.UNAVAILABLE


def listing() -> Any:
    return reflection_pb2.ServerReflectionRequest(list_services="")


@pytest.mark.spec("security:S-26", "security:S-04")
async def test_reflection_is_for_whoever_has_a_key(memory_wire: Wire) -> None:
    for metadata in ((), (("authorization", "Bearer wl_nonsense"),)):
        stub = reflection_pb2_grpc.ServerReflectionStub(memory_wire.asker().channel)
        # Nothing is sent: a request that meets the refusal on its way is INTERNAL to the client of grpc.aio.
        refused = await refusal_of(stub.ServerReflectionInfo(metadata=metadata).read())
        assert refused is not None
        assert (refused.status, refused.code) == (Code.UNAUTHENTICATED, "not_authenticated")
    for role in Role:
        caller = await memory_wire.caller(role)
        stub = reflection_pb2_grpc.ServerReflectionStub(caller.channel)
        call = stub.ServerReflectionInfo(iter([listing()]), metadata=caller.metadata)
        names = {service.name for service in (await call.read()).list_services_response.service}
        assert names == NAMES | {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}


async def test_a_client_that_has_only_the_address_and_a_key_learns_how_to_call(memory_wire: Wire) -> None:
    _, token = await memory_wire.key(Role.CLIENT)

    def ask() -> tuple[set[str], Any]:
        """As a tool does that knows nothing of us: descriptors from the server, messages from those."""
        with grpc.insecure_channel(memory_wire.address) as plain:
            channel = grpc.intercept_channel(plain, _WithToken(token))
            database = ProtoReflectionDescriptorDatabase(channel)
            pool = DescriptorPool(database)
            found = set(database.get_services())
            method = pool.FindServiceByName("windlass.v1.AdminService").FindMethodByName("GetServerInfo")
            call = channel.unary_unary(
                "/windlass.v1.AdminService/GetServerInfo",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=GetMessageClass(method.output_type).FromString,
            )
            return found, call(GetMessageClass(method.input_type)(), timeout=30)

    found, info = await asyncio.to_thread(ask)

    assert found >= NAMES
    assert (info.api_version, set(info.features)) == ("v1", set(SERVICES))


async def test_every_file_of_the_wire_can_be_asked_for(memory_wire: Wire) -> None:
    caller = await memory_wire.caller(Role.WORKER)
    stub = reflection_pb2_grpc.ServerReflectionStub(caller.channel)
    requests = [reflection_pb2.ServerReflectionRequest(file_containing_symbol=name) for name in sorted(NAMES)]
    requests.append(reflection_pb2.ServerReflectionRequest(file_by_filename="../../etc/passwd"))
    call = stub.ServerReflectionInfo(iter(requests), metadata=caller.metadata)
    answers = [await call.read() for _ in requests]

    *good, strange = answers
    files = {
        FileDescriptorProto.FromString(data).name
        for answer in good
        for data in answer.file_descriptor_response.file_descriptor_proto
    }
    assert {f"windlass/v1/{name}.proto" for name in ("workflow", "worker", "schedule", "namespace", "admin")} <= files
    assert strange.error_response.error_code == Code.NOT_FOUND.value[0]


@pytest.mark.spec("security:S-06")
async def test_a_revoked_key_asks_no_more_over_a_reflection_that_is_open(memory_wire: Wire) -> None:
    key, token = await memory_wire.key(Role.CLIENT)
    caller = memory_wire.asker(token)
    stub = reflection_pb2_grpc.ServerReflectionStub(caller.channel)
    call = stub.ServerReflectionInfo(metadata=caller.metadata)
    await call.write(listing())
    assert (await call.read()).list_services_response.service

    await memory_wire.opened.access.revoke_key(key)
    memory_wire.clock.advance("5s")  # type: ignore[attr-defined]

    await call.write(listing())
    refused = await refusal_of(call.read())
    assert refused is not None
    assert (refused.status, refused.code) == (Code.UNAUTHENTICATED, "not_authenticated")


class _WithToken(grpc.StreamStreamClientInterceptor, grpc.UnaryUnaryClientInterceptor):  # type: ignore[type-arg,misc]
    def __init__(self, token: str) -> None:
        self._metadata = (("authorization", f"Bearer {token}"),)

    def _with_token(self, details: Any) -> Any:
        return details._replace(metadata=self._metadata)

    def intercept_stream_stream(self, continuation: Any, details: Any, requests: Any) -> Any:
        return continuation(self._with_token(details), requests)

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        return continuation(self._with_token(details), request)
