"""A caller that takes nothing of its answer does not keep it, and the memory it needs, for ever."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.integration.conftest import eventually
from tests.integration.server.live import connect_narrowly
from tests.integration.server.site import DEFAULT, Site
from windlass.model.access import Role
from windlass.model.time import Duration
from windlass.server.web import TAKEN_WITHIN, WebListener
from windlass.testing.clock import FakeClock

SOCKET = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.mark.parametrize("kind", ["answers", "socket"])
@pytest.mark.spec("security:S-15")
async def test_who_takes_nothing_is_cut_off_and_who_takes_slowly_is_not(
    memory_site: Site, clock: FakeClock, kind: str
) -> None:
    site = Site(memory_site.opened, clock, patience=60.0)  # so that nobody is faster than the connection itself
    token = await site.token(Role.CLIENT)
    run_id = await site.start(site.asker(token), args=["x" * 1_900_000])
    listener = WebListener(site.app, host="127.0.0.1", port=0, tls=None, clock=clock)
    await listener.start()
    connections = listener._server.server_state.connections
    reader, writer = await connect_narrowly(listener.port, limit=2**12)
    head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
    if kind == "answers":
        writer.write(f"GET {DEFAULT}/runs/{run_id} HTTP/1.1\r\n{head}\r\n".encode() * 20)
    else:
        writer.write(f"GET {DEFAULT}/socket HTTP/1.1\r\n{head}{SOCKET}\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        frame = json.dumps({"id": "1", "op": "runs.get", "params": {"run_id": run_id}}).encode()
        writer.write((b"\x81" + bytes([0x80 | len(frame)]) + b"\0\0\0\0" + frame) * 20)

    def held() -> int:
        return max((connection.transport.get_write_buffer_size() for connection in connections), default=0)

    await eventually(lambda: held() > 100_000, what="answers that nobody takes")
    await settled(held)
    for _ in range(2):  # a little of it each time
        before = held()
        while held() >= before > 0:
            await reader.read(2**16)
            await asyncio.sleep(0.001)
        clock.advance(TAKEN_WITHIN // 2)
        assert connections
        await settled(held)

    async def is_gone() -> bool:
        """And then nothing, as long as it may take, and again: what the system still takes counts as taken."""
        clock.advance(TAKEN_WITHIN)
        await settled(held)
        return not connections

    await eventually(is_gone, what="the connection is gone")
    writer.transport.abort()
    await listener.drain(Duration(0))
    await listener.stop()
    await site.close()


async def settled(held: object) -> None:
    """Until nothing more fits into what the system keeps for it."""
    assert callable(held)
    last = -1
    while held() != last:
        last = held()
        await asyncio.sleep(0.05)
