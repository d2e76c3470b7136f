"""Is everything that travels over a WebSocket about work items and signals as its published schema says?

A contract: every request that is sent and every frame that comes back is held against the schemas the server hands out.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jsonschema_rs
import pytest

from tests.integration.server.live import Talker, listening, talking
from tests.integration.server.signalled import (
    ITEM,
    RUN,
    SIGNAL,
    SIGNALS,
    TASK,
    fire,
    moved,
    new_item,
    new_signal,
    on_item,
    posted,
    read,
)
from tests.integration.server.site import Site
from windlass.model.access import Role
from windlass.model.namespace import CreateNamespace
from windlass.model.worker import Served
from windlass.server.http.ops import OPS

FAMILY = sorted(name for name in OPS if name.startswith("work."))
FIRED = "work.signal.fired"


class Contract:
    """What `/v1/socket/schema` says of each op and each event."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._defs, self.ops, self.events = schema["$defs"], schema["ops"], schema["events"]
        self._sent, self._received = self._of(schema["sent"]), self._of(schema["received"])

    def _of(self, part: dict[str, Any]) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for({"$defs": self._defs, **part})

    def is_accepted(self, op: str, params: dict[str, Any]) -> bool:
        return self._of(self.ops[op]["params"]).is_valid(params)

    def check(self, talker: Talker) -> None:
        """Requests that were refused as they stand are not: their params are no params."""
        asked = {frame["id"]: frame["op"] for frame in talker.sent}
        refused = {frame["id"] for frame in talker.frames if frame.get("ok") is False}
        for frame in talker.sent:
            self._sent.validate(frame)
            if frame["id"] not in refused:
                self._of(self.ops[frame["op"]]["params"]).validate(frame["params"])
        for frame in talker.frames:
            self._received.validate(frame)
            if "event" in frame:
                self.check_event(frame)
            elif frame["ok"]:
                result = self.ops[asked[frame["id"]]]["result"]
                self._of(result).validate(frame["result"])
                assert set(frame["result"]) <= self._names(result)

    def check_event(self, frame: dict[str, Any], name: str | None = None) -> None:
        schema = self.events[name or frame["event"]]
        self._of(schema).validate(frame)
        assert set(frame) == self._names(schema)

    def _names(self, schema: dict[str, Any]) -> set[str]:
        return set(self._defs[schema["$ref"].rpartition("/")[2]]["properties"])


@pytest.fixture
async def port(site: Site) -> AsyncIterator[int]:
    async with listening(site) as port:
        yield port


@pytest.fixture
async def memory_port(memory_site: Site) -> AsyncIterator[int]:
    async with listening(memory_site) as port:
        yield port


@asynccontextmanager
async def contracted(site: Site, port: int, *roles: Role, **more: Any) -> AsyncIterator[Talker]:
    """A conversation that is held against its schemas at the end."""
    contract = await contract_of(site)
    async with talking(port, await site.token(*(roles or (Role.OPERATOR,)), **more), **more) as talker:
        yield talker
    contract.check(talker)


async def contract_of(site: Site) -> Contract:
    return Contract(await read(await site.client(Role.VIEWER), "/v1/socket/schema"))


async def asked(talker: Talker, op: str, **params: Any) -> dict[str, Any]:
    frame = await talker.ask(op, **params)
    assert frame["ok"], frame
    found: dict[str, Any] = frame["result"]
    return found


async def events(site: Site, talker: Talker, count: int) -> list[dict[str, Any]]:
    """The first ones, also those that came between answers; while time goes by."""
    while len(found := [frame for frame in talker.frames if "event" in frame]) < count:
        coming = asyncio.ensure_future(talker.frame())
        while not coming.done():
            site.clock.advance("1s")  # type: ignore[attr-defined]
            await asyncio.wait([coming], timeout=0.01)
        await coming
    return found


@pytest.mark.spec("signals:3", "signals:43", "signals:44", "signals:46", "signals:55")
async def test_an_item_and_a_signal_made_over_the_socket_and_the_event_as_its_schema_says(
    site: Site, port: int
) -> None:
    async with contracted(site, port) as talker:
        subscribed = await asked(talker, "work.subscribe", cursor="now")
        item = (await asked(talker, "work.create", title="a leak", data={"floor": -1}))["id"]
        made = await asked(talker, "work.signal.create", trigger=on_item(item, "blocked"), by="ann")
        for state in ("ready", "doing", "blocked"):
            await asked(talker, "work.transition", item_id=item, to=state)
        assert await fire(site) == 1
        created, fired = await events(site, talker, 2)
        found = await asked(talker, "work.signal.get", signal_id=made["id"])
        (task,) = (await asked(talker, "work.get", item_id=item))["tasks"]

    signal = made["id"]
    assert (found["status"], found["fired"]) == ("fired", 1)
    assert created["event"] == "work.signal.created"
    assert created["payload"] == {
        "namespace": "default", "signal_id": signal, "status": "armed", "from_status": None, "cause": "create",
        "by": "ann", "note": None,
    }  # fmt: skip
    firing = task["firing_id"]
    assert (fired["event"], fired["event_id"]) == (FIRED, f"{FIRED}:{firing}")
    assert firing.startswith(f"{signal}.")
    assert fired["payload"] == {
        "namespace": "default", "signal_id": signal, "firing_id": firing, "subject_kind": "item", "subject_id": item,
        "from_status": "doing", "to_status": "blocked", "task_id": task["id"],
    }  # fmt: skip
    assert {event["subscription"] for event in (created, fired)} == {subscribed["subscription"]}


@pytest.mark.spec("signals:45")
async def test_the_event_names_the_run_that_was_started(memory_site: Site, memory_port: int) -> None:
    await memory_site.serve(Served("default", "page"))
    client = await memory_site.client(Role.CLIENT)
    item = await new_item(client)
    async with contracted(memory_site, memory_port) as talker:
        await asked(talker, "work.subscribe", cursor="now")
        start = {"start": {"workflow": "page", "args": [1]}}
        made = await asked(talker, "work.signal.create", trigger=on_item(item, "ready"), action=start)
        await moved(client, item, "ready")
        await fire(memory_site)
        _, fired = await events(memory_site, talker, 2)
        (firing,) = (await asked(talker, "work.firings.list", signal_id=made["id"]))["firings"]

    assert made["action"]["start"]["args"] == {"$tuple": [1]}
    assert fired["payload"]["run_id"] == firing["run_id"] is not None
    assert "task_id" not in fired["payload"]


@pytest.mark.spec("signals:2", "signals:3")
async def test_an_event_is_the_same_each_time_it_comes(site: Site, port: int) -> None:
    """Also to those who were not there, and to those who come again with what they had."""
    client = await site.client(Role.CLIENT)
    item = await new_item(client)
    signal = await new_signal(client, item, "ready", "doing", repeats=True)
    await moved(client, item, "ready", "doing")
    await fire(site)
    await posted(client, f"{SIGNALS}/{signal}/pause", by="bob", note="enough")
    await client.delete(f"{SIGNALS}/{signal}")

    async with contracted(site, port) as talker:
        await talker.send("work.subscribe", "a")
        await talker.send("work.subscribe", "b", signal_id=signal)
        both = await events(site, talker, 10)
        ended = await asked(talker, "work.unsubscribe", subscription="a")
    first = [event for event in both if event["subscription"] == "a"]
    second = [event for event in both if event["subscription"] == "b"]
    async with contracted(site, port) as talker:
        await talker.send("work.subscribe", "c", cursor=first[1]["cursor"])
        rest = await events(site, talker, 3)

    assert ended == {"is_ended": True}
    assert [event["event"].rpartition(".")[2] for event in first] == ["created", "fired", "fired", "updated", "updated"]
    assert [event["payload"].get("cause") for event in first] == ["create", None, None, "pause", "delete"]
    assert len({event["event_id"] for event in first}) == 5
    for one, other in zip([*first, *first[2:]], [*second, *rest], strict=True):
        assert one | {"subscription": ""} == other | {"subscription": ""}
    assert (first[3]["payload"]["by"], first[3]["payload"]["note"]) == ("bob", "enough")
    assert first[4]["payload"]["status"] == "deleted"


@pytest.mark.spec("signals:46", "security:S-07", "security:S-09")
async def test_only_operators_of_the_namespace_are_told(memory_site: Site, memory_port: int) -> None:
    await memory_site.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    item = await new_item(await memory_site.client(Role.CLIENT))
    await new_signal(await memory_site.client(Role.CLIENT), item, "ready")
    for role in (Role.VIEWER, Role.CLIENT, Role.WORKER):
        async with contracted(memory_site, memory_port, role) as talker:
            refused = await talker.ask("work.subscribe")
            assert refused["error"]["code"] == "forbidden", role
            assert (await talker.ask("ping"))["ok"] is True
    async with contracted(memory_site, memory_port, Role.OPERATOR, namespace="other") as talker:
        assert (await asked(talker, "work.subscribe"))["subscription"]
        missing = await talker.ask("work.signal.create", trigger=on_item(item, "ready"))
        memory_site.clock.advance("3s")  # type: ignore[attr-defined]
        await asked(talker, "ping")

    assert missing["error"]["code"] == "not_found"
    assert not [frame for frame in talker.frames if "event" in frame]


async def test_every_op_of_the_family_answers_as_its_schema_says(site: Site, port: int) -> None:
    async with contracted(site, port, Role.OPERATOR) as talker:
        await asked(talker, "work.subscribe", cursor="now")
        item = (await asked(talker, "work.create", title="a leak", priority=3, key="k", by="ann", item_id=ITEM))["id"]
        await asked(talker, "work.list", status="backlog", limit=1)
        await asked(talker, "work.transition", item_id=item, to="ready", expected="backlog", by="ann", note="go")
        await asked(talker, "work.task.add", item_id=item, title="Mop up", data=None, task_id=TASK)
        await asked(talker, "work.task.end", task_id=TASK, status="skipped", note="dry")
        await asked(talker, "work.get", item_id=item)
        await asked(talker, "work.log", item_id=item)
        signal = (await asked(talker, "work.signal.create", trigger=on_item(item, "doing"), signal_id=SIGNAL))["id"]
        await asked(talker, "work.signal.list", subject_kind="item", subject=item, status="armed")
        await asked(talker, "work.signal.update", signal_id=signal, to=["doing", "done"], payload=[1], repeats=True)
        await asked(talker, "work.signal.pause", signal_id=signal, note="wait")
        await asked(talker, "work.signal.resume", signal_id=signal)
        await asked(talker, "work.transition", item_id=item, to="doing")
        await fire(site)
        await asked(talker, "work.firings.list", signal_id=signal, status="done")
        for op in ("get", "log", "explain", "cancel", "delete"):
            await asked(talker, f"work.signal.{op}", signal_id=signal)
        await asked(talker, "work.delete", item_id=item, by="ann")
        await asked(talker, "work.unsubscribe", subscription="1")

    assert sorted({frame["op"] for frame in talker.sent}) == FAMILY


@pytest.mark.parametrize(
    ("op", "params", "path", "said"),
    [
        ("work.create", {}, "", "title"),
        ("work.create", {"title": "x", "namespace": "other"}, "namespace", "no such field"),
        ("work.get", {}, "item_id", ""),
        ("work.get", {"item_id": 5}, "item_id", ""),
        ("work.get", {"item_id": "itm_1"}, "item id", "itm_"),
        ("work.list", {"status": "over"}, "status", ""),
        ("work.list", {"limit": 0}, "limit", ""),
        ("work.transition", {"item_id": ITEM}, "", "to"),
        ("work.transition", {"item_id": ITEM, "to": "over"}, "to", "backlog, ready, doing"),
        ("work.task.end", {"task_id": TASK, "status": "queued"}, "status", "completed"),
        ("work.signal.create", {"trigger": {"kind": "approval"}}, "trigger.kind", "work_item.status.transition"),
        ("work.signal.create", {"trigger": on_item(ITEM)}, "trigger.to", "backlog, ready, doing"),
        ("work.signal.create", {"trigger": on_item(ITEM, "done"), "guard": 1}, "guard", "no such field"),
        ("work.signal.update", {"signal_id": SIGNAL, "to": "done"}, "to", ""),
        ("work.signal.list", {"subject_kind": "approval"}, "subject_kind", "pipeline"),
        ("work.subscribe", {"cursor": "future"}, "cursor", ""),
        ("work.subscribe", {"subject_kind": "run"}, "subject_kind", "no such field"),
        ("work.subscribe", {"signal_id": RUN}, "signal_id", ""),
    ],
)
@pytest.mark.spec("security:79", "security:96")
async def test_a_frame_that_is_refused_is_answered_with_its_id_and_the_socket_goes_on(
    memory_site: Site, memory_port: int, op: str, params: dict[str, Any], path: str, said: str
) -> None:
    async with contracted(memory_site, memory_port) as talker:
        await talker.send(op, "mine", **params)
        refused = await talker.frame()
        assert (refused["id"], refused["ok"], refused["error"]["code"]) == ("mine", False, "invalid_input")
        assert refused["error"]["path"] == path
        assert said in refused["error"]["message"]
        assert (await talker.ask("ping"))["ok"] is True


@pytest.mark.parametrize("id", [{}, {"id": 5}, {"id": "x" * 101}], ids=["none", "number", "long"])
async def test_a_frame_without_an_id_is_answered_without_one(memory_site: Site, memory_port: int, id: Any) -> None:
    async with contracted(memory_site, memory_port) as talker:
        await talker.connection.send(json.dumps({"op": "work.list", **id}))
        refused = await talker.frame()
        assert (refused["id"], refused["error"]["code"]) == ("", "invalid_input")
        assert (await talker.ask("work.list"))["ok"] is True


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ('{"id": "1", "op": "work.create", "params": {"title": "x"}', 1007),
        ('{"id": "1", "op": "work.create", "params": {"title": "x", "title": "y"}}', 1007),
        ('{"id": "1", "op": "work.create", "params": {"title": "x", "data": NaN}}', 1007),
        (json.dumps({"id": "1", "op": "work.create", "params": {"title": "x", "data": "x" * 1024 * 1024}}), 1009),
    ],
    ids=["half", "twice", "NaN", "large"],
)
@pytest.mark.spec("security:96")
async def test_what_is_no_frame_ends_the_socket_and_does_nothing(
    memory_site: Site, memory_port: int, frame: str, code: int
) -> None:
    async with contracted(memory_site, memory_port) as talker:
        await talker.connection.send(frame)
        assert await talker.closed() == code

    assert (await read(await memory_site.client(Role.VIEWER), "/v1/namespaces/default/items"))["items"] == []


async def test_the_schemas_refuse_what_the_server_refuses(memory_site: Site) -> None:
    contract = await contract_of(memory_site)
    good = {"trigger": on_item(ITEM, "done"), "action": {"task": {"title": "x"}}, "payload": None}
    fired = {
        "event": FIRED, "event_id": f"{FIRED}:{SIGNAL}.5", "subscription": "1", "cursor": "f1.x",
        "occurred_at": "2026-01-01T00:00:00Z",
        "payload": {
            "namespace": "default", "signal_id": SIGNAL, "firing_id": f"{SIGNAL}.5", "subject_kind": "item",
            "subject_id": ITEM, "from_status": "doing", "to_status": "blocked",
        },
    }  # fmt: skip

    assert contract.is_accepted("work.signal.create", good)
    assert not contract.is_accepted("work.signal.create", {**good, "trigger": {"kind": "approval"}})
    assert not contract.is_accepted("work.signal.create", {**good, "trigger": on_item(ITEM)})
    assert not contract.is_accepted("work.signal.create", {**good, "guard": 1})
    assert contract.is_accepted("work.transition", {"item_id": ITEM, "to": "done"})
    assert not contract.is_accepted("work.transition", {"to": "done"})
    assert not contract.is_accepted("work.transition", {"item_id": ITEM, "to": "over"})
    assert {"log", "ended", FIRED, "work.signal.created", "work.signal.updated"} == set(contract.events)
    contract.check_event(fired)
    for missing in ("event", "event_id", "cursor", "payload"):
        with pytest.raises(jsonschema_rs.ValidationError):
            contract.check_event({name: value for name, value in fired.items() if name != missing}, FIRED)
