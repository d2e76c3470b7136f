"""Messages of gRPC on their way: who sends them is known before, each has its time, and no key takes all the turns."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tests.integration.conftest import eventually
from tests.integration.server.frames import DATA, END_HEADERS, END_STREAM, HEADERS, HELLO, Line, block, frame, line
from tests.integration.server.wire import Code, Wire
from windlass.api.grpc.reading import Reading
from windlass.model.access import Role
from windlass.model.time import SECOND, Duration
from windlass.testing.clock import FakeClock

LISTING = "/windlass.v1.WorkflowService/ListRuns"
HALF = b"\x00" + (2).to_bytes(4, "big") + b"\x0a"  # of a message of two bytes, one
REST = b"\x00"
SHORT = Duration(SECOND // 10)


async def begin(somebody: Line, token: str) -> None:
    """A call whose message has begun."""
    head = frame(
        HEADERS, flags=END_HEADERS, stream=1, payload=block(("authorization", f"Bearer {token}"), path=LISTING)
    )
    await somebody.say(HELLO + head + frame(DATA, stream=1, payload=HALF))


async def finish(somebody: Line) -> int | None:
    await somebody.say(frame(DATA, flags=END_STREAM, stream=1, payload=REST))
    return await somebody.status()


def read(wire: Wire) -> int:
    return wire.server.reading.total


@pytest.mark.spec("security:89", "security:90")
async def test_who_may_not_ask_is_refused_before_their_message_is_there(memory_wire: Wire) -> None:
    _, of_worker = await memory_wire.key(Role.WORKER)
    for token, expected in (("nonsense", Code.UNAUTHENTICATED), (of_worker, Code.PERMISSION_DENIED)):
        async with line(memory_wire.address) as somebody:
            await begin(somebody, token)
            assert await somebody.status() == expected.value[0]
    assert read(memory_wire) == 0


@pytest.mark.spec("security:S-15", "security:89")
async def test_a_message_that_does_not_come_in_time_is_not_waited_for(memory_wire: Wire) -> None:
    memory_wire.server.reading = Reading(message_within=SHORT)
    _, token = await memory_wire.key(Role.CLIENT)

    async with line(memory_wire.address) as somebody:
        await begin(somebody, token)
        assert await somebody.status() == Code.RESOURCE_EXHAUSTED.value[0]
    assert read(memory_wire) == 0


async def test_a_message_that_comes_in_pieces_is_read(memory_wire: Wire) -> None:
    _, token = await memory_wire.key(Role.CLIENT)

    async with line(memory_wire.address) as somebody:
        await begin(somebody, token)
        await eventually(lambda: read(memory_wire) == 1, what="the message is read")
        assert await finish(somebody) == 0
    assert read(memory_wire) == 0


@pytest.mark.spec("security:S-15")
async def test_one_key_never_takes_all_turns_and_its_own_calls_wait_for_theirs(memory_wire: Wire) -> None:
    memory_wire.server.reading = Reading(most=2, of_one=1)
    _, token = await memory_wire.key(Role.CLIENT)
    async with AsyncExitStack() as stack:
        first, second, third = [await stack.enter_async_context(line(memory_wire.address)) for _ in range(3)]
        for somebody in (first, second, third):
            await begin(somebody, token)
            await eventually(lambda: read(memory_wire) == 1, what="the first message is read")

        other = await memory_wire.caller(Role.CLIENT)
        assert await other.ask(LISTING) is not None
        third.writer.transport.abort()  # while it waits: its turn is nobody's
        assert await finish(first) == 0
        assert await finish(second) == 0
    assert await memory_wire.is_serving()
    assert read(memory_wire) == 0


@pytest.mark.spec("security:S-15")
async def test_a_caller_that_leaves_in_the_middle_of_a_message_gives_its_turn_to_the_next(memory_wire: Wire) -> None:
    memory_wire.server.reading = Reading(most=1, of_one=1)
    _, token = await memory_wire.key(Role.CLIENT)
    _, token_of_other = await memory_wire.key(Role.CLIENT)
    async with line(memory_wire.address) as first, line(memory_wire.address) as second:
        await begin(first, token)
        await eventually(lambda: read(memory_wire) == 1, what="the first message is read")
        await begin(second, token_of_other)

        first.writer.transport.abort()

        assert await finish(second) == 0


@pytest.mark.spec("security:S-06")
async def test_a_key_that_is_revoked_while_its_message_comes_is_refused(memory_wire: Wire, clock: FakeClock) -> None:
    key, token = await memory_wire.key(Role.CLIENT)

    async with line(memory_wire.address) as somebody:
        await begin(somebody, token)
        await eventually(lambda: read(memory_wire) == 1, what="the message is read")
        await memory_wire.opened.access.revoke_key(key)
        clock.advance("3s")
        assert await finish(somebody) == Code.UNAUTHENTICATED.value[0]


@pytest.mark.spec("security:S-15")
async def test_those_who_ask_for_the_health_and_say_no_more_keep_nobody_from_asking(memory_wire: Wire) -> None:
    path = "/grpc.health.v1.Health/Check"
    async with line(memory_wire.address) as somebody:
        await somebody.say(HELLO)
        for stream in range(1, 101, 2):
            head = frame(HEADERS, flags=END_HEADERS, stream=stream, payload=block(path=path))
            await somebody.say(head + frame(DATA, stream=stream, payload=HALF))

        answers = await asyncio.gather(*(memory_wire.asker().ask(path, b"") for _ in range(30)))

    assert set(answers) == {b"\x08\x01"}
