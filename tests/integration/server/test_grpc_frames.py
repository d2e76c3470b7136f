"""Bytes on the port of gRPC that are no calls, or calls that never end: the server goes on serving everybody else."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.integration.server.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GET_RUN,
    HEADERS,
    HELLO,
    PING,
    PREFACE,
    RESET,
    SETTINGS,
    WINDOW,
    block,
    call,
    frame,
    line,
    tls_hello,
)
from tests.integration.server.wire import Code, Wire
from windlass.model.access import Role

RNG = random.Random(7_420)
LISTING = "/windlass.v1.WorkflowService/ListRuns"
NONSENSE = {
    "nothing": b"",
    "noise": RNG.randbytes(5_000),
    "zeros": b"\x00" * 100_000,
    "HTTP/1.1": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an upgrade": b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
    "an endless line": b"GET /" + b"a" * 200_000,
    "TLS": tls_hello(),
    "half a preface": PREFACE[:10],
    "a preface and noise": PREFACE + RNG.randbytes(2_000),
    "settings of a wrong size": PREFACE + frame(SETTINGS, payload=b"12345"),
    "a frame that is too large": HELLO + b"\xff\xff\xff\x00\x00" + b"\x00" * 4 + b"x" * 100_000,
    "data for nobody": HELLO + frame(DATA, stream=0, payload=b"x") + frame(DATA, stream=99, payload=b"x" * 1_000),
    "a window of nothing": HELLO + frame(WINDOW, payload=bytes(4)),
    "a window too wide": HELLO + frame(WINDOW, payload=b"\x7f\xff\xff\xff") * 3,
    "headers that cannot be read": HELLO + frame(HEADERS, flags=END_HEADERS, stream=1, payload=b"\xff" * 50),
    "headers on an even stream": HELLO + frame(HEADERS, flags=END_HEADERS, stream=2, payload=block()),
    "more of no headers": HELLO + frame(CONTINUATION, flags=END_HEADERS, stream=1, payload=block()),
    "a kind nobody knows": HELLO + frame(200, payload=b"x" * 100),
    "many pings": HELLO + frame(PING, payload=bytes(8)) * 5_000,
    "many settings": HELLO + frame(SETTINGS) * 5_000,
}


@pytest.mark.spec("security:89", "security:S-15")
async def test_nonsense_on_the_port_disturbs_nobody_else(memory_wire: Wire) -> None:
    caller = await memory_wire.caller(Role.CLIENT)
    await caller.ask(LISTING)

    for what, data in NONSENSE.items():
        async with line(memory_wire.address) as somebody:
            await somebody.say(data)
            await somebody.heard(seconds=0.05)
            assert await caller.ask(LISTING) is not None, what
    assert await memory_wire.is_serving()


@pytest.mark.spec("security:89")
async def test_whoever_speaks_http_1_hears_no_secret_and_no_version(memory_wire: Wire) -> None:
    async with line(memory_wire.address) as somebody:
        await somebody.say(NONSENSE["HTTP/1.1"])
        heard = await somebody.heard(seconds=0.3)

    assert b"windlass" not in heard.lower()
    assert b"Traceback" not in heard


@pytest.mark.spec("security:S-15", "security:89")
async def test_streams_that_are_left_half_open_keep_nobody_out(memory_wire: Wire) -> None:
    """Headers without an end, calls without a message, messages that stop in the middle: hundreds, from ten lines."""
    _, token = await memory_wire.key(Role.CLIENT)
    bearer = ("authorization", f"Bearer {token}")
    streams = range(1, 101, 2)
    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(_half_open(memory_wire, bearer, streams, kind=number % 3))
    assert await memory_wire.is_serving()


async def _half_open(wire: Wire, bearer: tuple[str, str], streams: range, *, kind: int) -> None:
    async with line(wire.address) as somebody:
        await somebody.say(HELLO)
        for stream in streams:
            if kind == 0:
                await somebody.say(frame(HEADERS, stream=stream, payload=block(bearer)[:20]))
                break  # nothing else may follow but the rest
            await somebody.say(frame(HEADERS, flags=END_HEADERS, stream=stream, payload=block(bearer)))
            if kind == 1:  # of a hundred bytes, ten
                part = b"\x00" + (100).to_bytes(4, "big") + b"x" * 10
                await somebody.say(frame(DATA, stream=stream, payload=part))
        assert await wire.is_serving()


@pytest.mark.spec("security:S-15")
async def test_calls_that_are_taken_back_at_once_do_not_pile_up(memory_wire: Wire) -> None:
    _, token = await memory_wire.key(Role.CLIENT)
    bearer = ("authorization", f"Bearer {token}")
    async with line(memory_wire.address) as somebody:
        await somebody.say(HELLO)
        for stream in range(1, 6_001, 2):
            whole = call(bearer, stream=stream)
            await somebody.say(whole + frame(RESET, stream=stream, payload=(8).to_bytes(4, "big")))
    assert await memory_wire.is_serving()


@pytest.mark.spec("security:S-13", "security:S-15")
async def test_headers_without_end_are_cut_off(memory_wire: Wire) -> None:
    async with line(memory_wire.address) as somebody:
        await somebody.say(HELLO + frame(HEADERS, stream=1, payload=block()))
        more = b"\x00\x01x" + b"\x7f\x81\x7d" + b"y" * 16_128
        for _ in range(500):  # eight megabytes of them
            await somebody.say(frame(CONTINUATION, stream=1, payload=more[: 3 + 3 + 16_000]))
        heard = await somebody.heard(seconds=0.5)
    assert b"Traceback" not in heard
    assert await memory_wire.is_serving()


@pytest.mark.spec("security:89")
@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        (b"\x00\xff\xff\xff\xff", Code.RESOURCE_EXHAUSTED),  # four gigabytes are to come
        (b"\x00" + (5 * 1024 * 1024).to_bytes(4, "big"), Code.RESOURCE_EXHAUSTED),
        (b"\x01\x00\x00\x00\x02xx", None),  # compressed, it says, and not with what
        (b"\x07\x00\x00\x00\x02xx", None),  # no such mark
    ],
)
async def test_a_message_that_says_it_is_strange_is_not_waited_for(
    memory_wire: Wire, prefix: bytes, expected: Code | None
) -> None:
    _, token = await memory_wire.key(Role.CLIENT)
    async with line(memory_wire.address) as somebody:
        head = frame(HEADERS, flags=END_HEADERS, stream=1, payload=block(("authorization", f"Bearer {token}")))
        await somebody.say(HELLO + head + frame(DATA, flags=END_STREAM, stream=1, payload=prefix))
        status = await somebody.status()
    assert status not in (None, 0)
    if expected is not None:
        assert status == expected.value[0]
    assert await memory_wire.is_serving()


@pytest.mark.spec("security:90")
async def test_a_header_in_other_letters_or_said_twice_opens_nothing(memory_wire: Wire) -> None:
    _, token = await memory_wire.key(Role.CLIENT)
    good = ("authorization", f"Bearer {token}")
    path = "/windlass.v1.AdminService/GetServerInfo"
    strange: list[list[tuple[str, str | bytes]]] = [
        [("authorization", f"Bearer {token}".encode() + "é".encode())],
        [("authorization", "Bearer ".encode("utf-16"))],
        [("authorization", f"Bearer {token}\x00")],
        [("authorization", f"Bearer {token}\r\nx: y")],
        [("Authorization", f"Bearer {token}")],
        [good, good],
        [good, ("authorization", "Bearer x")],
        [("authorization", "Bearer x"), good],
        [("authorization", f"Bearer {token},Bearer {token}")],
        [("authorization", f"Bearer  {token}")],
        [("authorization", f"Bearer\t{token}")],
    ]

    async with line(memory_wire.address) as somebody:
        await somebody.say(HELLO + call(good, path=path))
        assert await somebody.status() == 0
    for headers in strange:
        async with line(memory_wire.address) as somebody:
            await somebody.say(HELLO + call(*headers, path=path))
            assert await somebody.status(seconds=1.0) != 0, headers
    assert await memory_wire.is_serving()


@pytest.mark.spec("security:S-04")
async def test_only_calls_of_grpc_are_calls(memory_wire: Wire) -> None:
    _, token = await memory_wire.key(Role.CLIENT)
    bearer = ("authorization", f"Bearer {token}")
    for kind in ("application/json", "text/html", "application/grpc-web", ""):
        headers = block(bearer).replace(b"\x10application/grpc", bytes([len(kind)]) + kind.encode())
        async with line(memory_wire.address) as somebody:
            head = frame(HEADERS, flags=END_HEADERS, stream=1, payload=headers)
            await somebody.say(HELLO + head + frame(DATA, flags=END_STREAM, stream=1, payload=bytes(5)))
            assert await somebody.status(seconds=0.5) != 0, kind
    async with line(memory_wire.address) as somebody:  # a GET is no call either
        head = block(bearer, path=GET_RUN).replace(b"\x04POST", b"\x03GET")
        await somebody.say(HELLO + frame(HEADERS, flags=END_HEADERS | END_STREAM, stream=1, payload=head))
        assert await somebody.status(seconds=0.5) != 0
    assert await memory_wire.is_serving()
