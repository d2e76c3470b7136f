"""Can work items be made, moved and looked at over HTTP, and is what cannot be refused with what can?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.server.signalled import (
    ITEM,
    ITEMS,
    SIGNALS,
    TASK,
    moved,
    new_item,
    new_signal,
    on_item,
    posted,
    read,
)
from tests.integration.server.site import DEFAULT, Site, error_of
from tests.integration.server.test_http_pages import walk
from windlass.model.access import Role
from windlass.model.item import ItemStatus
from windlass.model.namespace import CreateNamespace

DEEP: Any = json.loads("[" * 65 + "]" * 65)


async def test_the_life_of_an_item(site: Site) -> None:
    client = await site.client(Role.CLIENT)

    made = await posted(client, ITEMS, title="a leak", priority=5, data={"floor": -1}, key="leak-1", by="ann")
    assert (made["status"], made["allowed"], made["data"]) == ("backlog", ["ready"], {"floor": -1})
    item = f"{ITEMS}/{made['id']}"
    assert await read(client, item) == made | {"tasks": [], "signals": 0}
    for state in ("ready", "doing"):
        await posted(client, f"{item}/transition", to=state, by="ann", note="go")
    found = await posted(client, f"{item}/transition", to="done", expected="doing", by="bob")
    assert (found["status"], found["allowed"]) == ("done", [])
    assert found["ended_at"] == found["changed_at"]
    log = (await read(client, f"{item}/log"))["entries"]
    assert [(line["from"], line["to"], line["by"], line["note"]) for line in log] == [
        (None, "backlog", "ann", None), ("backlog", "ready", "ann", "go"), ("ready", "doing", "ann", "go"),
        ("doing", "done", "bob", None),
    ]  # fmt: skip
    assert (await client.delete(item, params={"by": "ann"})).json() == {"is_done": True}
    assert (await client.get(item)).status_code == (await client.delete(item)).status_code == 404
    assert len((await read(client, f"{item}/log"))["entries"]) == 5


async def test_the_same_key_is_the_same_item(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    first = await posted(client, ITEMS, title="a leak", key="leak-1")

    again = await posted(client, ITEMS, title="a leak", key="leak-1")
    other = await client.post(ITEMS, json={"title": "a fire", "key": "leak-1"})
    chosen = [await posted(client, ITEMS, title="a flood", item_id=ITEM) for _ in range(2)]

    assert again == first
    assert (other.status_code, error_of(other)["code"]) == (409, "already_exists")
    assert [item["id"] for item in chosen] == [ITEM, ITEM]


async def test_a_move_that_is_not_allowed_is_refused_with_those_that_are(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    item = await new_item(client, "ready")

    skipped = await client.post(f"{ITEMS}/{item}/transition", json={"to": "done"})
    outdated = await client.post(f"{ITEMS}/{item}/transition", json={"to": "cancelled", "expected": "doing"})

    for refused in (skipped, outdated):
        assert (refused.status_code, error_of(refused)["code"]) == (409, "wrong_state")
        assert "doing, cancelled" in error_of(refused)["message"]
    assert (await read(client, f"{ITEMS}/{item}"))["status"] == "ready"


async def test_tasks_are_recorded_and_end_once(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    item = await new_item(client, "ready", "doing")
    first = await posted(client, f"{ITEMS}/{item}/tasks", title="Call the plumber", data=[1], task_id=TASK)
    again = await posted(client, f"{ITEMS}/{item}/tasks", title="Call the plumber", data=[1], task_id=TASK)
    await posted(client, f"{ITEMS}/{item}/tasks", title="Mop up")

    for _ in range(2):
        ended = await posted(client, f"{DEFAULT}/tasks/{TASK}/end", status="completed", by="ann", note="tomorrow")
    otherwise = await client.post(f"{DEFAULT}/tasks/{TASK}/end", json={"status": "failed"})
    await moved(client, item, "done")
    late = await client.post(f"{ITEMS}/{item}/tasks", json={"title": "Dry"})

    assert (first["status"], first["data"], first["firing_id"], again) == ("queued", [1], None, first)
    assert (ended["status"], ended["ended_by"], ended["note"]) == ("completed", "ann", "tomorrow")
    tasks = (await read(client, f"{ITEMS}/{item}"))["tasks"]
    assert [(task["title"], task["status"]) for task in tasks] == [
        ("Call the plumber", "completed"), ("Mop up", "cancelled"),
    ]  # fmt: skip
    assert [answer.status_code for answer in (otherwise, late)] == [409, 409]


@pytest.mark.parametrize(
    ("path", "body", "where", "said"),
    [
        ("items", {}, "", "title"),
        ("items", {"title": ""}, "title", ""),
        ("items", {"title": "a\nb"}, "title", "one line"),
        ("items", {"title": "x", "priority": -1}, "priority", ""),
        ("items", {"title": "x", "status": "done"}, "status", "no such field"),
        ("items", {"title": "x", "item_id": "1"}, "item_id", ""),
        ("items", {"title": "x", "data": DEEP}, "data", "depth"),
        (f"items/{ITEM}/transition", {}, "", "to"),
        (f"items/{ITEM}/transition", {"to": "blokced"}, "to", ", ".join(ItemStatus)),
        (f"items/{ITEM}/transition", {"to": "done", "expected": "DOING"}, "expected", ", ".join(ItemStatus)),
        (f"items/{ITEM}/transition", {"to": ["done"]}, "to", ""),
        (f"items/{ITEM}/tasks", {"title": ""}, "title", ""),
        (f"tasks/{TASK}/end", {"status": "queued"}, "status", "completed, failed, cancelled, skipped"),
        (f"tasks/{TASK}/end", {"status": "over"}, "status", "completed"),
        ("items/itm_1/transition", {"to": "done"}, "item id", "itm_"),
    ],
    ids=range(15),
)
async def test_what_cannot_be_is_refused_and_says_where(
    memory_site: Site, path: str, body: dict[str, Any], where: str, said: str
) -> None:
    client = await memory_site.client(Role.CLIENT)

    answer = await client.post(f"{DEFAULT}/{path}", json=body)

    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_input"), answer.text
    assert error_of(answer)["path"].startswith(where)
    assert said in error_of(answer)["message"]


async def test_what_is_not_there_is_not_found(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    item = f"{ITEMS}/{ITEM}"

    answers = [
        await client.get(item),
        await client.get(f"{item}/log"),
        await client.delete(item),
        await client.post(f"{item}/transition", json={"to": "ready"}),
        await client.post(f"{item}/tasks", json={"title": "x"}),
        await client.post(f"{DEFAULT}/tasks/{TASK}/end", json={"status": "completed"}),
    ]

    assert [(answer.status_code, error_of(answer)["code"]) for answer in answers] == [(404, "not_found")] * 6


async def test_items_are_listed_by_state_and_page_by_page(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    ids = [await new_item(client, title=f"item {number}") for number in range(5)]
    await moved(client, ids[2], "ready")

    pages = await walk(client, ITEMS, items="items", cursor="before", limit=2)
    ready = await read(client, ITEMS, status="ready")

    assert [item["id"] for page in pages for item in page] == ids[::-1]  # type: ignore[index]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [item["id"] for item in ready["items"]] == [ids[2]]
    assert (await client.get(ITEMS, params={"status": "over"})).status_code == 400


async def test_large_items_make_shorter_pages(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    names = [f"item {number}" for number in range(12)]
    for name in names:
        await new_item(client, title=name, data="x" * 1_500_000)

    pages = await walk(client, ITEMS, items="items", cursor="before", limit=50)

    assert [item["title"] for page in pages for item in page] == names[::-1]  # type: ignore[index]
    assert len(pages) > 1


async def test_signals_on_an_item_that_is_deleted_are_resolved(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    item = await new_item(client, "ready")
    signal = await new_signal(client, item, "blocked")
    assert (await read(client, f"{ITEMS}/{item}"))["signals"] == 1

    await client.delete(f"{ITEMS}/{item}")

    found = await read(client, f"{SIGNALS}/{signal}")
    assert (found["status"], found["state"]) == ("resolved", None)
    assert item in found["reason"]


async def test_items_of_another_namespace_are_not_there(memory_site: Site) -> None:
    await memory_site.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    item = await new_item(await memory_site.client(Role.CLIENT))
    stranger, there = await memory_site.client(Role.ADMIN, namespace="other"), "/v1/namespaces/other"

    assert (await stranger.get(f"{there}/items/{item}")).status_code == 404
    assert (await stranger.get(f"{there}/items")).json()["items"] == []
    made = await stranger.post(f"{there}/signals", json={"trigger": on_item(item, "ready")})
    assert (made.status_code, error_of(made)["code"]) == (404, "not_found")
