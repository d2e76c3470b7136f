"""Can runs be started, looked at and steered over HTTP, just as in process?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.conftest import PATIENCE, OpenHarness
from tests.integration.server.site import DEFAULT, Site, error_of
from windlass import Context
from windlass.model.access import Role
from windlass.model.run import RunId
from windlass.model.worker import Served
from windlass.testing.harness import Harness

ARGS: list[Any] = [1, "a", None, 2.5, True, [1, [2]], {"b": {"$tuple": [1]}}, 2**63]


async def test_a_run_is_started_and_read_back(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    await site.serve()

    started = await client.post(f"{DEFAULT}/runs", json={"workflow": "order", "args": [7, "x"], "key": "k-1"})
    run_id = started.json()["run_id"]
    found = (await client.get(f"{DEFAULT}/runs/{run_id}")).json()

    assert started.status_code == 200
    assert started.json() == {"run_id": run_id, "is_repeat": False}
    assert (found["id"], found["workflow"], found["status"], found["key"]) == (run_id, "order", "pending", "k-1")
    assert found["input"] == {"$tuple": [7, "x"]}
    assert found["created_at"].endswith("Z")
    assert (await client.get(f"{DEFAULT}/runs/by-key", params={"key": "k-1"})).json()["id"] == run_id
    assert (await client.get(f"{DEFAULT}/runs")).json()["runs"][0]["id"] == run_id
    log = (await client.get(f"{DEFAULT}/runs/{run_id}/log")).json()["entries"]
    assert [(entry["from"], entry["to"]) for entry in log] == [(None, "pending")]
    assert (await client.get(f"{DEFAULT}/runs/{run_id}/explanation")).json()["code"] == "due"
    assert (await client.get(f"{DEFAULT}/runs/{run_id}/steps")).json() == {"steps": []}
    assert (await client.get(f"{DEFAULT}/runs/{run_id}/messages")).json() == {"messages": []}


async def test_the_same_key_is_the_same_run_and_other_input_is_refused(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    first = await site.start(client, key="k", args=[{"a": 1, "b": 2}])
    body = {"workflow": "order", "key": "k", "allow_unknown": True}

    same = await client.post(f"{DEFAULT}/runs", json=body | {"args": [{"b": 2, "a": 1}]})
    other = await client.post(f"{DEFAULT}/runs", json=body | {"args": [{"a": 2}]})

    assert same.json() == {"run_id": first, "is_repeat": True}
    assert (other.status_code, error_of(other)["reason"]) == (409, "idempotency_conflict")
    assert first in error_of(other)["message"]


async def test_an_id_may_be_chosen_and_is_the_same_run_when_asked_again(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    run_id = site.opened.ids.run()

    assert await site.start(client, run_id=run_id, args=[1]) == run_id
    again = await client.post(
        f"{DEFAULT}/runs", json={"workflow": "order", "allow_unknown": True, "run_id": run_id, "args": [1]}
    )
    other = await client.post(
        f"{DEFAULT}/runs", json={"workflow": "order", "allow_unknown": True, "run_id": run_id, "args": [2]}
    )

    assert again.json()["run_id"] == run_id
    assert other.status_code == 409


@pytest.mark.parametrize("value", ARGS, ids=repr)
async def test_arguments_are_stored_as_the_client_in_python_stores_them(memory_harness: Harness, value: Any) -> None:
    @memory_harness.app.workflow
    async def order(ctx: Context, what: Any, number: int) -> None: ...

    site = Site(memory_harness.opened, memory_harness.clock)
    client = await site.client(Role.CLIENT)
    in_process = await memory_harness.start(order, value, 7, key="same")
    over_http = await client.post(f"{DEFAULT}/runs", json={"workflow": "order", "args": [value, 7], "key": "same"})
    alone = await site.start(client, args=[value, 7])

    # A start is recognised by the hash of its arguments, so that is the same too.
    assert over_http.json() == {"run_id": in_process.id, "is_repeat": True}
    views = [await site.opened.runs.get_run("default", RunId(id)) for id in (in_process.id, alone)]
    assert views[0].input == views[1].input
    await site.close()


async def test_many_are_started_together_and_each_stands_for_itself(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    await site.start(client, key="taken", args=[1])
    runs = [{"workflow": "order", "allow_unknown": True, "args": [n], "key": f"n{n}"} for n in range(998)]
    runs += [{"workflow": "order", "allow_unknown": True, "args": [2], "key": "taken"}]
    runs += [{"workflow": "order", "allow_unknown": True}]

    answer = await client.post(f"{DEFAULT}/runs/batch", json={"runs": runs})
    results = answer.json()["results"]

    assert (answer.status_code, len(results)) == (200, 1_000)
    assert [item["error"] is None for item in results] == [True] * 998 + [False, True]
    assert results[998]["error"]["reason"] == "idempotency_conflict"


async def test_of_many_none_is_stored_if_one_is_wrong(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    good = {"workflow": "order", "allow_unknown": True}

    wrong = await client.post(f"{DEFAULT}/runs/batch", json={"runs": [good, good | {"priority": 11}]})
    also_wrong = await client.post(f"{DEFAULT}/runs/batch", json={"runs": [good, good | {"workflow": "a/b"}]})
    too_many = await client.post(f"{DEFAULT}/runs/batch", json={"runs": [good] * 1_001})

    assert (wrong.status_code, error_of(wrong)["path"]) == (400, "runs[1].priority")
    assert (also_wrong.status_code, error_of(also_wrong)["path"]) == (400, "runs[1].workflow")
    assert (too_many.status_code, error_of(too_many)["path"]) == (400, "runs")
    assert (await client.get(f"{DEFAULT}/runs")).json()["runs"] == []


async def test_many_starts_are_judged_by_one_look(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    looks: list[str] = []
    listed = memory_site.opened.runs.list_workers

    async def counted(namespace: str, *rest: Any) -> Any:
        looks.append(namespace)
        return await listed(namespace, *rest)

    memory_site.opened.runs.list_workers = counted  # type: ignore[method-assign]
    runs = [{"workflow": f"new{number}", "allow_unknown": True} for number in range(100)]
    started = await client.post(f"{DEFAULT}/runs/batch", json={"runs": runs})
    unknown = await client.post(f"{DEFAULT}/runs/batch", json={"runs": [*runs, {"workflow": "new_one"}]})

    assert started.status_code == 200
    assert (unknown.status_code, "runs[100]" in error_of(unknown)["message"]) == (404, True)
    assert len(looks) == 2


@pytest.mark.spec("security:9", "security:S-11")
async def test_a_workflow_nobody_knows_is_not_queued_for_ever(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    await site.serve(Served("mail", "order_book", "2"))

    async def start(**body: Any) -> Any:
        return await client.post(f"{DEFAULT}/runs", json=body)

    unknown = await start(workflow="order_bok")
    hostile = [await start(workflow=name) for name in ("os:system", "__init__")]
    queue = await start(workflow="order_book", queue="mial", version="2")
    meant = await start(workflow="brand_new", allow_unknown=True)
    known = await start(workflow="order_book")
    again = await start(workflow="brand_new")  # a run of it is on record

    assert (unknown.status_code, error_of(unknown)["code"]) == (404, "not_found")
    assert "Did you mean 'order_book'?" in error_of(unknown)["message"]
    assert [answer.status_code for answer in hostile] == [404, 404]
    assert (queue.status_code, "Did you mean 'mail'?" in error_of(queue)["message"]) == (404, True)
    assert (meant.status_code, known.status_code, again.status_code) == (200, 200, 200)
    run = (await client.get(f"{DEFAULT}/runs/{known.json()['run_id']}")).json()
    assert (run["queue"], run["version"]) == ("mail", "2")  # where it is served


async def test_a_workflow_served_in_several_places_needs_its_queue(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    await memory_site.serve(Served("mail", "order"), Served("post", "order"))

    answer = await client.post(f"{DEFAULT}/runs", json={"workflow": "order"})
    named = await client.post(f"{DEFAULT}/runs", json={"workflow": "order", "queue": "post"})

    assert (answer.status_code, error_of(answer)["reason"]) == (400, "ambiguous_queue")
    assert named.status_code == 200


async def test_a_result_is_waited_for(open_shared: OpenHarness) -> None:
    harness = await open_shared()

    @harness.app.workflow
    async def order(ctx: Context, number: int) -> dict[str, int]:
        if number < 0:
            raise ValueError("negative")
        return {"twice": 2 * number}

    site = Site(harness.opened, harness.clock)
    client = await site.client(Role.CLIENT)
    good, bad = await site.start(client, args=[4]), await site.start(client, args=[-1])
    result = (await client.get(f"{DEFAULT}/runs/{good}/result", params={"wait_secs": 10})).json()
    failed = (await client.get(f"{DEFAULT}/runs/{bad}/result", params={"wait_secs": 10})).json()

    assert result == {"status": "completed", "is_final": True, "output": {"twice": 8}, "failure": None}
    assert (failed["status"], failed["failure"]["type"], failed["failure"]["message"]) == (
        "failed", "ValueError", "negative",
    )  # fmt: skip
    await site.close()


async def test_who_waits_for_a_result_is_answered_when_the_server_stops(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    run_id = await memory_site.start(client)
    asking = asyncio.ensure_future(client.get(f"{DEFAULT}/runs/{run_id}/result", params={"wait_secs": 60}))
    await asyncio.sleep(0.01)
    assert not asking.done()
    memory_site.health.stop()

    assert (await asking).json()["status"] == "pending"


@pytest.mark.spec("security:S-06")
@pytest.mark.parametrize("path", ["runs/{run_id}/result", "feed"])
async def test_who_waits_with_a_key_that_is_revoked_is_sent_away(memory_site: Site, path: str) -> None:
    client, site = await memory_site.client(Role.CLIENT), memory_site
    run_id = await site.start(client)
    cursor = (await client.get(f"{DEFAULT}/feed")).json()["cursor"]
    params = {"wait_secs": "60"} | ({"cursor": cursor} if path == "feed" else {})
    asking = asyncio.ensure_future(client.get(f"{DEFAULT}/{path.format(run_id=run_id)}", params=params))
    await asyncio.sleep(0.01)
    (key,) = await site.opened.access.list_keys("default")
    await site.opened.access.revoke_key(key.id)
    for _ in range(5):  # and not a second more, however long it takes the machine
        site.clock.advance("1s")  # type: ignore[attr-defined]
        await asyncio.wait([asking], timeout=0.5)

    assert (await asyncio.wait_for(asking, PATIENCE)).status_code == 401


@pytest.mark.spec("security:97")
async def test_runs_are_steered_and_repeats_are_harmless(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    run_id = await site.start(client)
    run = f"{DEFAULT}/runs/{run_id}"

    assert (await client.post(f"{run}/pause", json={"by": "ann", "note": "wait"})).json() == {"status": "paused"}
    assert (await client.post(f"{run}/pause", json={})).json() == {"status": "paused"}
    assert (await client.post(f"{run}/resume", json={})).json()["status"] == "pending"
    again = await client.post(f"{run}/resume", json={})
    assert (again.status_code, error_of(again)["code"]) == (409, "wrong_state")
    sent = await client.post(f"{run}/events", json={"event": "paid", "payload": {"eur": 5}, "id": "m-1"})
    repeat = await client.post(f"{run}/events", json={"event": "paid", "payload": {"eur": 5}, "id": "m-1"})
    assert (sent.json(), repeat.json()) == ({"id": "m-1", "is_repeat": False}, {"id": "m-1", "is_repeat": True})
    conflict = await client.post(f"{run}/events", json={"event": "paid", "payload": 6, "id": "m-1"})
    assert (conflict.status_code, error_of(conflict)["reason"]) == (409, "message_conflict")
    (message,) = (await client.get(f"{run}/messages")).json()["messages"]
    assert (message["name"], message["payload"], message["received_by"]) == ("paid", {"eur": 5}, None)
    nothing = await client.post(f"{run}/decision", json={"is_approved": True})
    assert nothing.status_code == 409
    cancelled = (await client.post(f"{run}/cancel", json={"by": "ann"})).json()
    assert cancelled == {"status": "cancelled", "is_done": True, "children": []}
    assert (await client.post(f"{run}/cancel", json={})).json()["is_done"] is False
    retried = (await client.post(f"{run}/retry", json={})).json()
    assert retried["is_repeat"] is False
    assert (await client.post(f"{run}/retry", json={})).json() == {"run_id": retried["run_id"], "is_repeat": True}
    assert (await client.get(f"{DEFAULT}/runs/{retried['run_id']}")).json()["retry_of"] == run_id


async def test_queues_gates_workers_and_cursors(site: Site) -> None:
    client = await site.client(Role.OPERATOR)
    worker = await site.serve()
    await site.start(client)

    assert [queue["name"] for queue in (await client.get(f"{DEFAULT}/queues")).json()["queues"]] == ["default"]
    gate = {"kind": "queue", "name": "default", "is_paused": True, "by": "ann"}
    assert (await client.put(f"{DEFAULT}/gates", json=gate)).json()["paused_by"] == "ann"
    assert [gate["name"] for gate in (await client.get(f"{DEFAULT}/gates")).json()["gates"]] == ["default"]
    (found,) = (await client.get(f"{DEFAULT}/workers")).json()["workers"]
    assert (found["id"], found["status"], found["serves"][0]["workflow"]) == (worker, "online", "order")
    drained = await client.post(f"{DEFAULT}/workers/{worker}/drain", json={"by": "ann"})
    assert drained.json()["is_draining"] is True
    assert (await client.put(f"{DEFAULT}/cursors/export", json={"seq": 5})).json() == {"name": "export", "seq": 5}
    assert (await client.put(f"{DEFAULT}/cursors/export", json={"seq": 3})).json()["seq"] == 5
    assert (await client.delete(f"{DEFAULT}/cursors/export")).json() == {"is_dropped": True}
    assert (await client.delete(f"{DEFAULT}/cursors/export")).json() == {"is_dropped": False}
