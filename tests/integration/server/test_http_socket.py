"""The WebSocket: requests and events in frames, each through the gate, and every misuse with an end that says why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import jsonschema_rs
import pytest
from websockets.exceptions import InvalidStatus

from tests.integration.conftest import eventually
from tests.integration.server.live import Talker, listening, talking
from tests.integration.server.site import DEFAULT, Site, prune
from windlass.api.operations import OPERATIONS
from windlass.model.access import Role
from windlass.model.namespace import CreateNamespace
from windlass.server.http.ops import OPS
from windlass.testing.clock import FakeClock

RUN = "run_" + "0" * 26


@pytest.fixture
async def port(site: Site) -> AsyncIterator[int]:
    async with listening(site) as port:
        yield port


@pytest.fixture
async def memory_port(memory_site: Site) -> AsyncIterator[int]:
    async with listening(memory_site) as port:
        yield port


@pytest.fixture
async def talker(memory_site: Site, memory_port: int) -> AsyncIterator[Talker]:
    async with talking(memory_port, await memory_site.token(Role.CLIENT)) as talker:
        yield talker


async def test_requests_are_answered_and_events_come_in_between(site: Site, port: int) -> None:
    client = await site.client(Role.CLIENT)
    runs = [await site.start(client, args=[number]) for number in range(3)]
    async with talking(port, await site.token(Role.VIEWER)) as talker:
        assert (await talker.ask("ping"))["result"] == {"pong": True}
        subscribed = await talker.ask("feed.subscribe")
        events = await talker.events(3)
        runs.append(await site.start(client))
        site.clock.advance("3s")  # type: ignore[attr-defined]
        events += await talker.events(1)
        found = await talker.ask("runs.get", run_id=runs[0])
        listed = await talker.ask("runs.list", limit=2)
        missing = await talker.ask("runs.get", run_id=RUN)
        await check_frames(site, talker)

    assert subscribed["ok"] is True
    assert [event["entry"]["subject_id"] for event in events] == runs
    assert {event["subscription"] for event in events} == {subscribed["id"]}
    assert (found["result"]["id"], found["result"]["input"]) == (runs[0], {"$tuple": [0]})
    assert [run["id"] for run in listed["result"]["runs"]] == runs[:1:-1]
    assert (missing["ok"], missing["error"]["code"]) == (False, "not_found")


async def check_frames(site: Site, talker: Talker) -> None:
    """Every frame that came is as the published schema says."""
    schema = (await (await site.client(Role.VIEWER)).get("/v1/socket/schema")).json()
    received = jsonschema_rs.validator_for({"$defs": schema["$defs"], **schema["received"]})
    for frame in talker.frames:
        received.validate(frame)
        if frame.get("ok") and "pong" not in frame["result"] and "subscription" not in frame["result"]:
            kinds = [op["result"] for op in schema["ops"].values()]
            assert any(jsonschema_rs.is_valid({"$defs": schema["$defs"], **kind}, frame["result"]) for kind in kinds)
    assert not received.is_valid({"id": "1", "ok": True})


async def test_a_subscription_goes_on_where_another_one_ended(site: Site, port: int) -> None:
    client, token = await site.client(Role.CLIENT), await site.token(Role.VIEWER)
    runs = [await site.start(client) for _ in range(5)]
    async with talking(port, token) as talker:
        await talker.send("feed.subscribe", "a")
        assert (await talker.frame())["id"] == "a"  # the answer comes in front of its events
        first = await talker.events(2)
    async with talking(port, token) as talker:
        await talker.send("feed.subscribe", "b", cursor=first[-1]["cursor"])
        rest = await talker.events(3)
        ended = await talker.ask("feed.unsubscribe", subscription="b")
        again = await talker.ask("feed.unsubscribe", subscription="b")
        await site.start(client)
        site.clock.advance("3s")  # type: ignore[attr-defined]
        assert (await talker.ask("ping"))["ok"] is True
        assert not [frame for frame in talker.frames[5:] if "event" in frame]

    assert [event["entry"]["subject_id"] for event in [*first, *rest]] == runs
    assert (ended["result"], again["result"]) == ({"is_ended": True}, {"is_ended": False})


@pytest.mark.spec("security:S-04", "security:S-07")
async def test_every_op_passes_the_gate(memory_site: Site, memory_port: int) -> None:
    assert all(op.operation in OPERATIONS for op in OPS.values())
    async with talking(memory_port, await memory_site.token(Role.WORKER)) as talker:
        for name, op in OPS.items():
            answer = await talker.ask(name)
            is_allowed = Role.WORKER in OPERATIONS[op.operation].roles
            assert (answer.get("error", {}).get("code") == "forbidden") is not is_allowed, name
    for token in (None, "wl_" + "0" * 26 + "_" + "A" * 43):
        with pytest.raises(InvalidStatus) as refused:
            async with talking(memory_port, token):
                pass
        assert refused.value.response.status_code == 401
        assert json.loads(refused.value.response.body or b"")["error"]["code"] == "not_authenticated"


@pytest.mark.spec("security:S-09", "invariants:I-58")
async def test_a_socket_stays_in_its_namespace(memory_site: Site, memory_port: int) -> None:
    await memory_site.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    run_id = await memory_site.start(await memory_site.client(Role.CLIENT))
    token = await memory_site.token(Role.ADMIN, namespace="other")
    with pytest.raises(InvalidStatus) as refused:
        async with talking(memory_port, token):
            pass
    assert refused.value.response.status_code == 403
    async with talking(memory_port, token, namespace="other") as talker:
        there, nowhere = await talker.ask("runs.get", run_id=run_id), await talker.ask("runs.get", run_id=RUN)
        named = await talker.ask("runs.list", namespace="default")
        assert (await talker.ask("runs.list"))["result"]["runs"] == []

    assert there["error"]["message"].replace(run_id, RUN) == nowhere["error"]["message"]
    assert named["error"]["code"] == "invalid_input"


@pytest.mark.spec("security:S-17", "security:S-18")
async def test_a_page_of_somebody_else_gets_no_socket(memory_site: Site, memory_port: int) -> None:
    token = await memory_site.token(Role.ADMIN)
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{memory_port}.evil.example"):
        with pytest.raises(InvalidStatus) as refused:
            async with talking(memory_port, token, origin=origin):
                pass
        assert refused.value.response.status_code == 403
    async with talking(memory_port, token, origin=f"http://127.0.0.1:{memory_port}") as talker:
        assert (await talker.ask("ping"))["ok"] is True


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\x00\x01", 1003),
        ("{", 1007),
        ("", 1007),
        ("NaN", 1007),
        ('{"id": "1", "id": "1", "op": "ping"}', 1007),
        ("[" * 100_000, 1007),
        ('{"id": "1", "op": "ping", "params": ' + '{"a":' * 90 + "1" + "}" * 91, 1007),
        ("x" * (1024 * 1024 + 1), 1009),
    ],
    ids=["binary", "half", "empty", "NaN", "twice", "deep", "deep-params", "large"],
)
@pytest.mark.spec("security:96", "security:S-13")
async def test_what_is_no_frame_ends_the_socket(talker: Talker, frame: str | bytes, code: int) -> None:
    await talker.connection.send(frame)

    assert await talker.closed() == code


@pytest.mark.parametrize(
    ("frame", "code", "id"),
    [
        ({"id": "1", "op": "drop.tables"}, "not_found", "1"),
        ({"id": "1"}, "invalid_input", "1"),
        ({"op": "ping"}, "invalid_input", ""),
        ({"id": 5, "op": "ping"}, "invalid_input", ""),
        ({"id": "x" * 101, "op": "ping"}, "invalid_input", ""),
        ({"id": "1", "op": "ping", "params": []}, "invalid_input", "1"),
        ({"id": "1", "op": "ping", "token": "x"}, "invalid_input", "1"),
        ({"id": "1", "op": "ping", "params": {"a": 1}}, "invalid_input", "1"),
        ({"id": "1", "op": "runs.get"}, "invalid_input", "1"),
        ({"id": "1", "op": "runs.get", "params": {"run_id": 5}}, "invalid_input", "1"),
        ({"id": "1", "op": "runs.get", "params": {"run_id": "run_x"}}, "invalid_input", "1"),
        ({"id": "1", "op": "runs.list", "params": {"limit": 501}}, "invalid_input", "1"),
        ({"id": "1", "op": "runs.list", "params": {"limit": "5"}}, "invalid_input", "1"),
        ({"id": "1", "op": "feed.subscribe", "params": {"cursor": "future"}}, "invalid_input", "1"),
        ([], "invalid_input", ""),
        ("text", "invalid_input", ""),
    ],
    ids=str,
)
@pytest.mark.spec("security:96")
async def test_a_request_that_cannot_be_is_answered_and_the_socket_goes_on(
    talker: Talker, frame: Any, code: str, id: str
) -> None:
    await talker.connection.send(json.dumps(frame))
    refused = await talker.frame()

    assert (refused["id"], refused["ok"], refused["error"]["code"]) == (id, False, code)
    assert (await talker.ask("ping"))["ok"] is True


@pytest.mark.spec("security:96", "security:S-15")
async def test_subscriptions_are_limited_and_their_ids_unique(talker: Talker) -> None:
    for number in range(100):
        assert (await talker.ask("feed.subscribe"))["ok"] is True, number
    too_many = await talker.ask("feed.subscribe")
    await talker.ask("feed.unsubscribe", subscription="1")
    await talker.send("feed.subscribe", "2")
    twice = await talker.frame()

    assert too_many["error"]["code"] == "busy"
    assert twice["error"]["code"] == "already_exists"
    assert (await talker.ask("feed.subscribe"))["ok"] is True


async def test_a_subscription_whose_log_is_gone_says_so(memory_site: Site, talker: Talker, clock: FakeClock) -> None:
    client = await memory_site.client(Role.CLIENT)
    beginning = (await client.get(f"{DEFAULT}/feed", params={"cursor": "now"})).json()["cursor"]
    run_id = await memory_site.start(client)
    await client.post(f"{DEFAULT}/runs/{run_id}/cancel", json={})
    await prune(memory_site.opened.engine, clock)

    answer = await talker.ask("feed.subscribe", cursor=beginning)

    assert answer["error"]["code"] == "cursor_expired"
    assert (await talker.ask("feed.subscribe"))["ok"] is True


@pytest.mark.spec("security:S-06", "security:S-18")
async def test_a_revoked_key_ends_its_socket_within_seconds(
    memory_site: Site, memory_port: int, clock: FakeClock
) -> None:
    async with talking(memory_port, await memory_site.token(Role.VIEWER)) as talker:
        assert (await talker.ask("ping"))["ok"] is True
        (key,) = await memory_site.opened.access.list_keys("default")
        await memory_site.opened.access.revoke_key(key.id)
        closing = asyncio.ensure_future(talker.closed())
        for _ in range(5):  # and not a second more, however long it takes the machine
            clock.advance("1s")
            await asyncio.wait([closing], timeout=0.5)

        assert await closing == 1008


async def test_a_socket_ends_when_the_server_stops(memory_site: Site, talker: Talker) -> None:
    assert (await talker.ask("ping"))["ok"] is True
    memory_site.health.stop()

    assert await talker.closed() == 1012


@pytest.mark.spec("security:96", "security:S-15")
async def test_a_reader_that_does_not_read_is_cut_off(memory_site: Site, memory_port: int) -> None:
    client, token = await memory_site.client(Role.CLIENT), await memory_site.token(Role.VIEWER)
    run_id = await memory_site.start(client, args=["x" * 1_000_000])
    held = memory_site.app._site._streams  # type: ignore[attr-defined]
    reader, writer = await asyncio.open_connection("127.0.0.1", memory_port, limit=2**12)
    head = (
        f"GET {DEFAULT}/socket HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    writer.write(head.encode())
    await reader.readuntil(b"\r\n\r\n")
    for number in range(30):  # a megabyte each, and nobody takes them
        writer.write(masked({"id": str(number), "op": "runs.get", "params": {"run_id": run_id}}))

    await eventually(lambda: sum(held.values()) == 1, what="the socket is there")
    await eventually(lambda: not held, what="it is cut off")
    assert (await client.get(f"{DEFAULT}/runs/{run_id}/log")).status_code == 200
    writer.transport.abort()


def masked(frame: dict[str, Any]) -> bytes:
    """A text frame as a client sends it, with a mask of zeros."""
    data = json.dumps(frame).encode()
    length = bytes([0x80 | len(data)]) if len(data) <= 125 else b"\xfe" + len(data).to_bytes(2, "big")
    return b"\x81" + length + b"\0\0\0\0" + data


async def test_many_requests_at_once_are_answered_or_told_to_wait(memory_site: Site, talker: Talker) -> None:
    client = await memory_site.client(Role.CLIENT)
    run_id = await memory_site.start(client)
    for number in range(40):
        await talker.send("runs.result", f"w{number}", run_id=run_id, wait_secs=60)
    refused = [await talker.frame() for _ in range(24)]
    await client.post(f"{DEFAULT}/runs/{run_id}/cancel", json={})
    answered = [await talker.frame() for _ in range(16)]

    assert {frame["error"]["code"] for frame in refused} == {"busy"}
    assert {frame["result"]["status"] for frame in answered} == {"cancelled"}
