"""A call that gets no answer is asked again, and what it waits by itself is no failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from windlass.api.grpc.channel import GIVE_UP_AFTER, Channel, Target
from windlass.errors import NotAuthenticated, Unavailable
from windlass.model.time import SECOND, Duration
from windlass.testing.clock import FakeClock
from windlass.v1 import workflow_pb2
from windlass.v1.model_pb2 import RUN_STATUS_COMPLETED

WAIT_FOR = Duration(20 * SECOND)


class Hanging:
    """A server that lets time pass and then hangs up, so many times; then it answers."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.asked = clock, 0
        self.hangs_up, self.after = 0, Duration(0)
        self.status = grpc.StatusCode.UNAVAILABLE

    async def answer(self, data: bytes, context: Any) -> bytes:
        self.asked += 1
        if self.asked <= self.hangs_up:
            self.clock.advance(self.after)
            await context.abort(self.status, "gone")
        return workflow_pb2.Outcome(status=RUN_STATUS_COMPLETED).SerializeToString()


@pytest.fixture
def hanging(clock: FakeClock) -> Hanging:
    return Hanging(clock)


@pytest.fixture
async def channel(clock: FakeClock, hanging: Hanging) -> AsyncIterator[Channel]:
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(hanging.answer)
    service = grpc.method_handlers_generic_handler("windlass.v1.WorkflowService", {"WaitForResult": handler})
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    asking = Channel([Target(f"127.0.0.1:{port}", None)], token=None, clock=clock)
    yield asking
    await asking.close()
    await server.stop(None)


async def ask(channel: Channel, clock: FakeClock, *, wait_for: Duration) -> Any:
    asking = asyncio.ensure_future(
        channel.ask(
            "WorkflowService", "WaitForResult", lambda is_again: workflow_pb2.WaitForResultRequest(), wait_for=wait_for
        )
    )
    while not asking.done():  # the pauses between two tries are on the clock of the test
        await asyncio.wait([asking], timeout=0.02)
        clock.advance("100ms")
    return await asking


async def test_a_long_call_that_is_cut_off_at_its_end_is_asked_again(
    channel: Channel, clock: FakeClock, hanging: Hanging
) -> None:
    hanging.hangs_up, hanging.after = 1, Duration(WAIT_FOR - SECOND)

    assert (await ask(channel, clock, wait_for=WAIT_FOR)).status == RUN_STATUS_COMPLETED
    assert hanging.asked == 2


async def test_a_call_that_is_never_answered_is_given_up(channel: Channel, clock: FakeClock, hanging: Hanging) -> None:
    hanging.hangs_up, hanging.after = 100, GIVE_UP_AFTER

    with pytest.raises(Unavailable, match=r"does not answer.*See that it runs"):
        await ask(channel, clock, wait_for=Duration(0))

    assert hanging.asked == 1


async def test_who_has_no_token_hears_that_one_is_wanted(channel: Channel, clock: FakeClock, hanging: Hanging) -> None:
    hanging.hangs_up, hanging.status = 1, grpc.StatusCode.UNAUTHENTICATED

    with pytest.raises(NotAuthenticated, match="none is set: set WINDLASS_TOKEN"):
        await ask(channel, clock, wait_for=Duration(0))
