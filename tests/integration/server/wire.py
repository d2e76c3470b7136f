"""A server of gRPC over a real engine, and callers who know it from its .proto alone: good ones and others."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import grpc
from google.protobuf.message_factory import GetMessageClass

from windlass.api.grpc.errors import TRAILER
from windlass.api.grpc.server import GrpcServer, make_server
from windlass.api.grpc.table import SERVICES
from windlass.assembly import Opened
from windlass.model.access import CreateKey, Role
from windlass.rules.access import hash_secret, make_token
from windlass.runtime import Clock, secret_bytes
from windlass.server.gate import Gate
from windlass.v1 import model_pb2, worker_pb2, workflow_pb2
from windlass.v1.model_pb2 import ErrorDetail

Code = grpc.StatusCode
Metadata = Sequence[tuple[str, str | bytes]]

PATIENCE = 20.0
SECOND = 1_000_000
HASH = b"0123456789abcdef"
NOBODY = "run_" + "0" * 26
METHODS = {
    f"/windlass.v1.{service.name}/{method.name}": method for service in SERVICES.values() for method in service.methods
}
# What stands in a stack trace, in a statement or in the path of a file, and in no sentence of ours.
LEAKS = re.compile(
    r"Traceback \(|File \"|line \d+|\.py\b|site-packages|sqlite|asyncpg|\bapsw\b|\bselect\b.*\bfrom\b|\binsert into\b"
    r"|\bupdate\b.*\bset\b|/(?:work|home|usr|tmp|root)/|\b0x[0-9a-f]{6,}",
    re.IGNORECASE,
)


class Refusal(NamedTuple):
    """How a call ended that was not answered."""

    status: grpc.StatusCode
    code: str  # "" where gRPC itself said no
    message: str
    detail: ErrorDetail

    @property
    def told(self) -> tuple[str, str, ErrorDetail]:
        """All that the caller learns, but for the number of the request."""
        detail = ErrorDetail()
        detail.CopyFrom(self.detail)
        detail.request_id = ""
        return self.status.name, self.message, detail


class Caller:
    """Somebody with a connection and, perhaps, a token."""

    def __init__(self, address: str, token: str | None = None, options: Any = ()) -> None:
        self.channel = grpc.aio.insecure_channel(address, options=options)
        self.metadata: Metadata = () if token is None else (("authorization", f"Bearer {token}"),)

    def start(self, path: str, request: Any = None, *, metadata: Metadata | None = None, **options: Any) -> Any:
        """The call itself. `request` is a message, or bytes that are none; left out, an empty one is sent."""
        method = METHODS.get(path)
        answer = None if method is None else GetMessageClass(method.output_type).FromString
        is_stream = method is not None and method.server_streaming
        make = self.channel.unary_stream if is_stream else self.channel.unary_unary
        data = request if isinstance(request, bytes) else b"" if request is None else request.SerializeToString()
        given = self.metadata if metadata is None else metadata
        return make(path, None, answer)(data, metadata=given, timeout=options.pop("timeout", PATIENCE), **options)

    async def ask(self, path: str, request: Any = None, **options: Any) -> Any:
        """The answer; of a stream the first one."""
        call = self.start(path, request, **options)
        if not hasattr(call, "read"):
            return await call
        try:
            return await call.read()
        finally:
            call.cancel()

    async def refusal(self, path: str, request: Any = None, **options: Any) -> Refusal:
        refused = await refusal_of(self.ask(path, request, **options))
        assert refused is not None, f"{path} was answered"
        return refused

    async def tried(self, path: str, request: Any = None) -> Refusal | None:
        """How it was refused, if it was; and nothing in its answer failed for a reason that is not the caller's."""

        async def ask() -> None:
            answer = str(await self.ask(path, request))
            assert 'code: "internal"' not in answer, (path, request, answer)

        return await refusal_of(ask())

    # What a worker and a client say

    async def work(self, method: str, request: Any) -> Any:
        return await self.ask(f"/windlass.v1.WorkerService/{method}", request)

    async def begin_run(self, **fields: Any) -> str:
        run = workflow_pb2.StartRun(**({"name": "order", "queue": "default", "input": b"[1]"} | fields))
        request = workflow_pb2.StartRunRequest(run=run, allow_unknown=True)
        found: str = (await self.ask("/windlass.v1.WorkflowService/StartRun", request)).run_id
        return found

    async def status_of(self, run_id: str) -> int:
        found = await self.ask("/windlass.v1.WorkflowService/GetRun", workflow_pb2.RunRequest(run_id=run_id))
        status: int = found.run.status
        return status


async def refusal_of(call: Awaitable[Any]) -> Refusal | None:
    """How it was refused, once it is certain that nothing was said that is nobody's business."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        trailer: Any = error.trailing_metadata() or ()
        found = [value for key, value in trailer if key == TRAILER]
        detail = ErrorDetail.FromString(found[0]) if found else ErrorDetail()
        message = str(error.details() or "")
        if found:
            assert detail.request_id.startswith("req_"), detail
            assert detail.message == message
        for text in (message, str(detail)):
            assert LEAKS.search(text) is None, text
        assert len(message) < 1_000, message
        return Refusal(error.code(), detail.code, message, detail)
    return None


class Wire:
    """One server of gRPC. `caller` asks it with a key made for that."""

    def __init__(self, opened: Opened, clock: Clock) -> None:
        self.opened, self.clock = opened, clock
        self.gate = Gate(opened.access, opened.namespaces, clock=clock)
        self.server: GrpcServer = make_server(opened, self.gate, clock=clock, host="127.0.0.1", port=0)
        self._stack = AsyncExitStack()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    async def __aenter__(self) -> Wire:
        await self.server.start()
        self._stack.push_async_callback(self.gate.close)
        self._stack.push_async_callback(self.server.stop)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def key(self, *roles: Role, namespace: str = "default", **more: Any) -> tuple[str, str]:
        """A key: its id and its token."""
        secret, id = secret_bytes(), self.opened.ids.key()
        command = CreateKey(
            id=id, namespace=namespace, roles=roles or (Role.ADMIN,), secret_hash=hash_secret(secret), **more
        )
        await self.opened.access.create_key(command)
        return id, make_token(id, secret)

    def asker(self, token: str | None = None, **options: Any) -> Caller:
        given = [(name.replace("__", "."), value) for name, value in options.items()]
        caller = Caller(self.address, token, given)
        self._stack.push_async_callback(caller.channel.close)
        return caller

    async def caller(self, *roles: Role, namespace: str = "default", **more: Any) -> Caller:
        _, token = await self.key(*roles, namespace=namespace, **more)
        return self.asker(token)

    async def is_serving(self) -> bool:
        """Whether somebody new, with a new connection, is still answered."""
        caller = await self.caller(Role.VIEWER)
        info = await caller.ask("/windlass.v1.AdminService/GetServerInfo")
        return bool(info.version)


class WireWorker:
    """A worker that says what a test makes it say. It may hold several runs."""

    def __init__(self, caller: Caller, id: str) -> None:
        self.caller, self.id, self.polls = caller, id, 0
        self.served = [model_pb2.Served(queue="default", name="order")]

    async def register(self) -> None:
        request = worker_pb2.RegisterRequest(id=self.id, host="here", pid=1, served=self.served, slots=10)
        await self.caller.work("Register", request)

    def poll_request(self, **changes: Any) -> Any:
        self.polls += 1
        fields: dict[str, Any] = {
            "worker": self.id, "poll_id": self.polls, "served": self.served, "limit": 10, "visibility_for": 60 * SECOND,
        }  # fmt: skip
        return worker_pb2.PollRequest(**(fields | changes))

    async def poll(self, **changes: Any) -> Any:
        return await self.caller.work("Poll", self.poll_request(**changes))

    async def claim(self, **changes: Any) -> Any:
        (run,) = (await self.poll(**changes)).runs
        return run


def begin(run: Any, key: str = "pack", **changes: Any) -> Any:
    fields: dict[str, Any] = {"run_id": run.run_id, "token": run.token, "key": key, "kind": 1, "attempt": 1}
    fields["input_hash"] = HASH
    return worker_pb2.BeginStepsRequest(steps=[worker_pb2.BeginStep(**(fields | changes))])


def complete(run: Any, key: str = "pack", **changes: Any) -> Any:
    fields: dict[str, Any] = {
        "run_id": run.run_id, "token": run.token, "key": key, "kind": 1, "attempt": 1, "order": 1, "input_hash": HASH,
        "output": b"1",
    }  # fmt: skip
    return worker_pb2.CompleteStepsRequest(steps=[worker_pb2.CompleteStep(**(fields | changes))])


def finish(run: Any, **changes: Any) -> Any:
    fields: dict[str, Any] = {
        "run_id": run.run_id, "token": run.token, "status": model_pb2.RUN_STATUS_COMPLETED, "output": b"1",
    }  # fmt: skip
    return worker_pb2.FinishRunsRequest(runs=[worker_pb2.FinishRun(**(fields | changes))])


def outcome(answer: Any) -> str:
    """Of a call that carried one write."""
    (at,) = answer.at
    if not answer.refused:
        assert at > 0
        return "written"
    (refused,) = answer.refused
    assert (at, refused.index) == (0, 0)
    assert refused.error.request_id.startswith("req_")
    assert LEAKS.search(str(refused.error)) is None
    found: str = refused.error.code
    return found


async def ended_within(seconds: float, call: Awaitable[Any]) -> Refusal:
    refused = await asyncio.wait_for(refusal_of(call), seconds)
    assert refused is not None
    return refused
