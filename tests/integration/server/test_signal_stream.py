"""Server-sent events about signals: for operators, resumable, the same each time, and over when they should be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.server.live import Follower, following, listening
from tests.integration.server.signalled import RUN, SIGNALS, fire, moved, new_item, new_signal, posted
from tests.integration.server.site import Site, error_of
from windlass.model.access import Role
from windlass.model.namespace import CreateNamespace
from windlass.testing.clock import FakeClock

STREAM = "signals/stream"
FIRED, CREATED, UPDATED = "work.signal.fired", "work.signal.created", "work.signal.updated"


@pytest.fixture
async def port(site: Site) -> AsyncIterator[int]:
    async with listening(site) as port:
        yield port


@pytest.fixture
async def token(site: Site) -> str:
    return await site.token(Role.OPERATOR)


async def told(follower: Follower, count: int, clock: FakeClock) -> list[dict[str, Any]]:
    """The next events about signals, while time goes by. Their name and id are what the data say."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        coming = asyncio.ensure_future(follower.event())
        while not coming.done():
            clock.advance("1s")
            await asyncio.wait([coming], timeout=0.01)
        event = await coming
        assert event, found
        if "event" in event:
            said = json.loads(event["data"])
            assert (said["event"], said["cursor"]) == (event["event"], event["id"])
            found.append(said)
    return found


@pytest.mark.spec("signals:3", "signals:43", "signals:44", "signals:46")
async def test_what_becomes_of_signals_comes_as_it_happens(site: Site, port: int, token: str, clock: FakeClock) -> None:
    client = await site.client(Role.CLIENT)
    item = await new_item(client)
    async with following(port, token, path=STREAM, params={"cursor": "now"}) as follower:
        assert follower.response.headers["content-type"].startswith("text/event-stream")
        signal = await new_signal(client, item, "ready", by="ann")
        (created,) = await told(follower, 1, clock)
        await moved(client, item, "ready")
        await fire(site)
        await posted(client, f"{SIGNALS}/{signal}/resume", by="bob")
        fired, updated = await told(follower, 2, clock)

    assert [event["event"] for event in (created, fired, updated)] == [CREATED, FIRED, UPDATED]
    firing = fired["payload"]["firing_id"]
    assert fired["event_id"] == f"{FIRED}:{firing}"
    assert firing.startswith(f"{signal}.")
    assert (fired["payload"]["signal_id"], fired["payload"]["subject_id"]) == (signal, item)
    assert "run_id" not in fired["payload"]
    assert fired["payload"]["task_id"].startswith("tsk_")
    assert (updated["payload"]["cause"], updated["payload"]["by"]) == ("resume", "bob")
    assert (updated["payload"]["from_status"], updated["payload"]["status"]) == ("fired", "armed")


@pytest.mark.spec("signals:2", "signals:3")
async def test_who_comes_again_goes_on_where_it_was_and_knows_what_it_had(
    site: Site, port: int, token: str, clock: FakeClock
) -> None:
    client = await site.client(Role.CLIENT)
    item = await new_item(client)
    for _ in range(3):
        await new_signal(client, item, "ready")
    await moved(client, item, "ready")
    await fire(site)

    async with following(port, token, path=STREAM) as follower:
        everything = await told(follower, 6, clock)
    cursor = everything[1]["cursor"]
    async with following(port, token, path=STREAM, headers={"last-event-id": cursor}) as follower:
        by_header = await told(follower, 4, clock)
    async with following(port, token, path=STREAM, params={"cursor": cursor}) as follower:
        by_query = await told(follower, 4, clock)
    last = everything[-1]["payload"]["signal_id"]
    async with following(port, token, path=STREAM, params={"signal_id": last}) as follower:
        of_one = await told(follower, 2, clock)

    assert by_header == by_query == everything[2:]
    assert len({event["event_id"] for event in everything}) == 6
    assert of_one == [event for event in everything if event["payload"]["signal_id"] == last]


@pytest.mark.spec("signals:46", "security:S-07", "security:S-09")
async def test_only_operators_of_the_namespace_may_follow(site: Site, port: int, clock: FakeClock) -> None:
    client = await site.client(Role.CLIENT)
    await site.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    await new_signal(client, await new_item(client), "ready")
    for role in (Role.VIEWER, Role.CLIENT, Role.WORKER):
        async with following(port, await site.token(role), path=STREAM) as follower:
            assert follower.response.status_code == 403, role
    stranger = await site.token(Role.OPERATOR, namespace="other")
    async with following(port, stranger, path=STREAM) as follower:
        assert follower.response.status_code == 403
    there = await site.client(Role.CLIENT, namespace="other")
    item = (await posted(there, "/v1/namespaces/other/items", title="x"))["id"]
    trigger = {"kind": "work_item.status.transition", "item_id": item, "to": ["ready"]}
    own = await posted(there, "/v1/namespaces/other/signals", trigger=trigger)
    async with following(port, stranger, namespace="other", path=STREAM) as follower:
        (event,) = await told(follower, 1, clock)

    assert (event["payload"]["signal_id"], event["payload"]["namespace"]) == (own["id"], "other")


async def test_what_cannot_be_followed_is_refused_at_once(memory_site: Site) -> None:
    client = await memory_site.client(Role.OPERATOR)

    for params in ({"cursor": "future"}, {"signal_id": RUN}, {"subject_kind": "run"}):
        answer = await client.get(f"{SIGNALS}/stream", params=params)
        assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_input"), params


@pytest.mark.spec("security:S-06")
async def test_a_revoked_key_ends_its_stream(site: Site, port: int, token: str, clock: FakeClock) -> None:
    async with following(port, token, path=STREAM) as follower:
        assert (await follower.event())["comment"] == "from here on"
        (key,) = await site.opened.access.list_keys("default")
        await site.opened.access.revoke_key(key.id)
        ending = asyncio.ensure_future(follower.event())
        while not ending.done():
            clock.advance("1s")
            await asyncio.wait([ending], timeout=0.01)

        event = await ending
        assert event["event"] == "error"
        assert json.loads(event["data"])["error"]["code"] == "not_authenticated"
