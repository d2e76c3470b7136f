"""Floods of one server: messages that never end, connections that say nothing, refusals: its memory, files and log."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx
import pytest

from tests.faults.flood import Flood, resident
from tests.integration.conftest import eventually
from tests.integration.server.frames import HELLO, call, line
from tests.integration.server.process import PATIENCE, ServerProcess
from tests.scale import SCALE
from windlass.server.limits import raise_open_files

CALLS = 60 * SCALE
MEBIBYTE = 1024 * 1024
MOST = 150 * MEBIBYTE
KEPT = 25 * MEBIBYTE  # by the allocator, when all is over
IDLE = 300 * SCALE
SERVER_INFO = "/windlass.v1.AdminService/GetServerInfo"
WAYS = {
    "nobody": ("/windlass.v1.WorkflowService/GetRun", False),
    "nobody, for a method that is none": ("/nothing/Nothing", False),
    "nobody, for the health": ("/grpc.health.v1.Health/Check", False),
    "nobody, for the health as it changes": ("/grpc.health.v1.Health/Watch", False),
    "a key": ("/windlass.v1.WorkflowService/GetRun", True),
    "a key, for the log": ("/windlass.v1.AdminService/FollowFeed", True),
    "a key, for the reflection": ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", True),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path)
    server.until_serving()
    yield server
    server.close()


async def ask(server: ServerProcess, path: str = SERVER_INFO, *, has_key: bool = True) -> bytes:
    """Something of gRPC, over a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.grpc_port}", options=options) as channel:
        metadata = (("authorization", f"Bearer {server.token}"),) if has_key else ()
        answer: bytes = await channel.unary_unary(path)(b"", metadata=metadata, timeout=PATIENCE)
        return answer


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.spec("security:S-13", "security:S-15", "security:89")
async def test_messages_that_never_end_take_little_memory_and_give_it_back(
    server: ServerProcess, way: str, figures: list[str]
) -> None:
    path, has_key = WAYS[way]
    before = resident(server.process.pid)
    metadata = [("authorization", f"Bearer {server.token}")] if has_key else []
    flood = Flood(f"127.0.0.1:{server.grpc_port}", path, metadata=metadata)

    await flood.begin(CALLS, each=300)
    sent = await flood.until_quiet(seconds=0.5)
    held = resident(server.process.pid)
    health = await ask(server, "/grpc.health.v1.Health/Check", has_key=False)
    await flood.end()

    assert held < MOST, f"{before >> 20} → {held >> 20} MiB, of {sent >> 20} MiB sent"
    assert health == b"\x08\x01"  # serving
    assert await ask(server)
    await eventually(lambda: resident(server.process.pid) < before + KEPT, what="the memory is given back")
    after = resident(server.process.pid)
    memory = f"{before >> 20} → {held >> 20} → {after >> 20} MiB of memory"
    figures.append(f"{CALLS} messages without end, of {way}: {memory}")


@pytest.mark.spec("security:S-15")
def test_idle_connections_keep_nobody_out_and_leave_files_to_the_rest(tmp_path: Path, figures: list[str]) -> None:
    """With fewer files than there are connections, and a limit of them that can be raised."""
    raise_open_files()  # of this process, which holds the other ends
    limited = ServerProcess(tmp_path, prefix=("sh", "-c", 'ulimit -Sn 128; ulimit -Hn 256; exec "$@"', "sh"))
    try:
        limited.until_serving()
        pid = limited.process.pid
        soft, hard = Path(f"/proc/{pid}/limits").read_text().partition("open files")[2].split()[:2]
        idle = [socket.create_connection(("127.0.0.1", limited.http_port)) for _ in range(IDLE)]
        idle += [socket.create_connection(("127.0.0.1", limited.grpc_port)) for _ in range(IDLE)]

        answers = [httpx.get(f"{limited.http_url}{path}", timeout=PATIENCE) for path in ("/healthz", "/readyz")]
        with limited.client() as client:
            answers.append(client.get("/v1/namespaces/default/runs"))
        files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        for connection in idle:
            connection.close()

        assert [answer.status_code for answer in answers] == [200, 200, 200]
        assert (soft, hard) == ("256", "256")
        assert files < 200
        asyncio.run(_until_answered(limited))
        assert limited.stderr.count("\n") == 0, limited.stderr
        figures.append(f"{IDLE} idle connections of HTTP and of gRPC each: answered, {files} files of 256")
    finally:
        limited.close()


async def _until_answered(server: ServerProcess) -> None:
    """Its connections of gRPC were all taken, until those who held them left."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await ask(server)
                return
            except grpc.aio.AioRpcError as error:
                assert error.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.spec("security:S-16", "security:90")
async def test_refusals_without_a_key_cost_a_line_a_second_at_most(server: ServerProcess) -> None:
    """Also those of gRPC itself, of paths that are no text: from its version 1.84 on one of them ends the server."""
    began = time.monotonic()
    async with line(f"127.0.0.1:{server.grpc_port}") as somebody:
        await somebody.say(HELLO)
        for number in range(50 * SCALE):
            path = "/\xff\xfe/x" if number % 2 else "/windlass.v1.WorkflowService/GetRun"
            await somebody.say(call(stream=2 * number + 1, path=path))
        await somebody.heard(seconds=0.5)
    async with httpx.AsyncClient(base_url=server.http_url, timeout=PATIENCE) as client:
        for number in range(20 * SCALE):
            token = "nonsense" if number % 2 else f"wl_{'0' * 26}_{'x' * 43}"
            for path in ("/v1/namespaces/default/runs", "/ui/runs", "/nothing"):
                await client.get(path, headers={"authorization": f"Bearer {token}"})

    assert await ask(server)
    assert server.stderr.count("\n") <= time.monotonic() - began + 1, server.stderr[:2_000]
