"""How one call of the wire is described: a row of a table, from which the server answers and which tests walk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from msgspec import Struct

from windlass.api.admission import Caller
from windlass.api.grpc.mirror import Mirror, mirror
from windlass.api.service import Service
from windlass.runtime import Clock, Ids
from windlass.v1 import (
    admin_pb2,
    graph_pb2,
    namespace_pb2,
    pipeline_pb2,
    schedule_pb2,
    signal_pb2,
    worker_pb2,
    workflow_pb2,
)

T = TypeVar("T")

LARGEST_REQUEST, LARGEST_ANSWER = 4 * 1024 * 1024, 16 * 1024 * 1024  # what each side takes
FILLED_REQUEST = 3 * 1024 * 1024  # how full a client makes one that it puts together
PAGE_BYTES = 8 * 1024 * 1024  # of one answer, about; a single item may be larger
PAGE_ITEMS = 1_000

SERVICES: dict[str, ServiceDescriptor] = {
    descriptor.name: descriptor
    for file in (
        workflow_pb2,
        worker_pb2,
        schedule_pb2,
        graph_pb2,
        pipeline_pb2,
        signal_pb2,
        namespace_pb2,
        admin_pb2,
    )
    for descriptor in file.DESCRIPTOR.services_by_name.values()
}


class Call(NamedTuple):
    """What a call is answered with: the doors of this server, and who asks."""

    service: Service
    caller: Caller
    clock: Clock
    ids: Ids

    @property
    def namespace(self) -> str:
        return self.caller.namespace


class Row(NamedTuple):
    """One method: which operation it is, what it takes, and how it is answered."""

    service: str
    name: str
    operation: str
    request: type[Struct]
    answer: type[Struct] | None  # none: the handler makes the message itself
    handle: Callable[[Call, Any], Awaitable[Any]]
    is_long: bool = False  # it waits for something, and is asked again: it may be cut short at any time
    renamed: tuple[tuple[str, str], ...] = ()

    @property
    def descriptor(self) -> MethodDescriptor:
        return SERVICES[self.service].methods_by_name[self.name]

    @property
    def path(self) -> str:
        return f"/windlass.v1.{self.service}/{self.name}"

    @property
    def request_mirror(self) -> Mirror:
        if self.renamed:
            return Mirror(self.request, self.descriptor.input_type, renamed=dict(self.renamed))
        return mirror(self.request, self.descriptor.input_type)

    @property
    def answer_mirror(self) -> Mirror | None:
        return None if self.answer is None else mirror(self.answer, self.descriptor.output_type)


def to_bytes(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data


def page(items: Sequence[T], size: Callable[[T], int], *, room: int = PAGE_BYTES) -> tuple[tuple[T, ...], bool]:
    """As many of the items as fit into one answer, at least one; and whether there are more."""
    total = 0
    for number, item in enumerate(items):
        total += size(item)
        if number and (total > room or number >= PAGE_ITEMS):
            return tuple(items[:number]), True
    return tuple(items), False
