"""Can signals be made, steered and looked at over HTTP, do they do what they say, and is what cannot be refused?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.server.signalled import (
    FIRINGS,
    ITEM,
    ITEMS,
    RUN,
    SIGNAL,
    SIGNALS,
    fire,
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
from windlass.model.run import RunStatus
from windlass.model.signal import TriggerKind
from windlass.model.worker import Served

STATES, RUN_STATES, KINDS = ", ".join(ItemStatus), ", ".join(RunStatus), ", ".join(TriggerKind)
HOURLY = {"kind": "time", "every_secs": 3600}


def on_run(run: str, *to: str) -> dict[str, Any]:
    return {"kind": "run.status.transition", "run_id": run, "to": list(to)}


def on_pipeline(name: str, *to: str) -> dict[str, Any]:
    return {"kind": "pipeline.status.transition", "pipeline": name, "to": list(to)}


@pytest.mark.spec("signals:45")
async def test_a_signal_starts_a_workflow_where_it_is_served(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    await site.serve(Served("ops", "page", "2"))
    item = await new_item(client, "ready", "doing")

    made = await posted(
        client, SIGNALS, trigger=on_item(item, "failed", "blocked"), action={"start": {"workflow": "page"}},
        payload={"team": "ops"}, key="page-ops", by="ann",
    )  # fmt: skip
    await moved(client, item, "blocked")
    assert await fire(site) == 1

    assert made["trigger"] == on_item(item, "blocked", "failed")
    assert made["action"] == {
        "start": {"workflow": "page", "version": "2", "queue": "ops", "timeout_secs": None},
    }  # fmt: skip
    assert (made["status"], made["state"], made["already"], made["fired"]) == ("armed", "doing", False, 0)
    found = await read(client, f"{SIGNALS}/{made['id']}")
    assert (found["status"], found["state"], found["fired"], found["queued"]) == ("fired", "blocked", 1, 0)
    (firing,) = (await read(client, FIRINGS, signal_id=made["id"], status="done"))["firings"]
    assert (firing["subject_id"], firing["from_status"], firing["to_status"]) == (item, "doing", "blocked")
    run = await read(client, f"{DEFAULT}/runs/{firing['run_id']}")
    assert (run["workflow"], run["version"], run["queue"]) == ("page", "2", "ops")
    (given,) = run["input"]["$tuple"]
    assert (given["firing_id"], given["to_status"], given["payload"]) == (firing["id"], "blocked", {"team": "ops"})
    log = (await read(client, f"{SIGNALS}/{made['id']}/log"))["entries"]
    assert [(line["cause"], line["to"], line["firing_id"], line["run_id"]) for line in log] == [
        ("create", "armed", None, None), ("fire", "fired", firing["id"], firing["run_id"]),
    ]  # fmt: skip
    assert log[0]["by"] == "ann"


async def test_a_signal_on_an_item_that_says_no_action_records_a_task(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    item = await new_item(client, "ready", "doing")
    made = await posted(client, SIGNALS, trigger=on_item(item, "blocked"))
    silent = await posted(client, SIGNALS, trigger=on_item(item, "blocked"), action={})

    await moved(client, item, "blocked")
    assert await fire(site) == 2

    title = "Follow up: it entered blocked"
    assert (made["action"], silent["action"]) == ({"task": {"title": title}}, {})
    (task,) = (await read(client, f"{ITEMS}/{item}"))["tasks"]
    assert (task["title"], task["status"]) == (title, "queued")
    (firing,) = (await read(client, FIRINGS, signal_id=made["id"]))["firings"]
    assert (task["firing_id"], firing["task_id"]) == (firing["id"], task["id"])


async def test_a_signal_sends_its_payload_or_the_firing_to_a_run(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    item, run = await new_item(client), await site.start(client)
    action = {"send": {"run_id": run, "event": "moved"}}
    await new_signal(client, item, "ready", action=action, payload={"to": ["ready"]})
    await new_signal(client, item, "doing", action=action)

    for state in ("ready", "doing"):
        await moved(client, item, state)
        await fire(site)

    messages = (await read(client, f"{DEFAULT}/runs/{run}/messages"))["messages"]
    assert [message["name"] for message in messages] == ["moved", "moved"]
    assert messages[0]["payload"] == {"to": ["ready"]}
    assert (messages[1]["payload"]["subject_id"], messages[1]["payload"]["payload"]) == (item, None)


async def test_runs_workflows_and_times_are_watched_too(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    await site.serve()
    run = await site.start(client)
    triggers = [
        on_run(run, "cancelled"),
        {"kind": "workflow.status.transition", "workflow": "order", "to": ["cancelled", "failed"]},
        {"kind": "time", "at": "2026-01-01T02:00:00+01:00"},
        HOURLY,
    ]
    made = [await posted(client, SIGNALS, trigger=trigger, repeats=False) for trigger in triggers]

    await posted(client, f"{DEFAULT}/runs/{run}/cancel")
    await fire(site)

    assert [signal["trigger"] for signal in made] == [
        triggers[0], triggers[1], {"kind": "time", "at": "2026-01-01T01:00:00Z"}, triggers[3],
    ]  # fmt: skip
    assert [signal["next_at"] is None for signal in made] == [True, True, False, False]
    found = [await read(client, f"{SIGNALS}/{signal['id']}") for signal in made]
    assert [signal["fired"] for signal in found] == [1, 1, 0, 0]


async def test_a_signal_is_changed_paused_resumed_and_called_off(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    item = await new_item(client, "ready", "doing")
    signal = f"{SIGNALS}/{await new_signal(client, item, 'blocked', payload=1)}"

    changed = await posted(client, f"{signal}/update", to=["done", "blocked"], payload=None, repeats=True, by="ann")
    again = await posted(client, f"{signal}/update", to=["blocked", "done"])
    paused = await posted(client, f"{signal}/pause", by="bob", note="too loud")
    await moved(client, item, "blocked", "doing")
    assert await fire(site) == 0
    waiting = await read(client, signal)
    resumed = await posted(client, f"{signal}/resume")
    assert await fire(site) == 1
    told = await read(client, f"{signal}/explanation")
    cancelled = await posted(client, f"{signal}/cancel")
    late = await client.post(f"{signal}/resume", json={})
    deleted = (await client.delete(signal)).json()

    assert (changed["trigger"]["to"], changed["repeats"], changed["has_changed"]) == (["blocked", "done"], True, True)
    assert (changed["payload"], again["has_changed"]) == (None, False)
    assert (paused["status"], paused["reason"], paused["changed_by"]) == ("paused", "too loud", "bob")
    assert waiting["queued"] == 1
    assert resumed["status"] == "armed"
    assert told["signal_id"] == signal.rpartition("/")[2]
    assert told["text"]
    assert cancelled["status"] == "cancelled"
    assert late.status_code == 409
    assert deleted == {"is_done": True}
    assert (await client.get(signal)).status_code == 404
    causes = [line["cause"] for line in (await read(client, f"{signal}/log"))["entries"]]
    assert causes == ["create", "update", "pause", "resume", "fire", "cancel", "delete"]


async def test_the_same_key_is_the_same_signal(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    item = await new_item(client)
    first = await posted(client, SIGNALS, trigger=on_item(item, "ready", "done"), key="k", payload=[1])

    again = await posted(client, SIGNALS, trigger=on_item(item, "done", "ready", "done"), key="k", payload=[1])
    other = await client.post(SIGNALS, json={"trigger": on_item(item, "done"), "key": "k", "payload": [1]})

    assert (again["id"], first["has_changed"], again["has_changed"]) == (first["id"], True, False)
    assert (other.status_code, error_of(other)["code"]) == (409, "already_exists")


async def test_what_happened_before_counts_only_if_it_should(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    item = await new_item(client, "ready", "doing")

    late = await posted(client, SIGNALS, trigger=on_item(item, "doing"))
    early = await posted(client, SIGNALS, trigger=on_item(item, "doing"), since_beginning=True)

    assert (late["already"], late["queued"], early["already"], early["queued"]) == (True, 0, False, 1)
    assert await fire(site) == 1


@pytest.mark.parametrize(
    ("body", "where", "said"),
    [
        ({}, "", "trigger"),
        ({"trigger": {}}, "trigger", "kind"),
        ({"trigger": {"kind": "work_item.status.tranistion"}}, "trigger.kind", KINDS),
        ({"trigger": {"kind": "approval"}}, "trigger.kind", KINDS),
        ({"trigger": {"kind": 5}}, "trigger.kind", ""),
        ({"trigger": "work_item.status.transition"}, "trigger", ""),
        ({"trigger": on_item(ITEM)}, "trigger.to", STATES),
        ({"trigger": {"kind": "work_item.status.transition", "item_id": ITEM}}, "trigger.to", STATES),
        ({"trigger": on_item(ITEM, "blocked", "blokced")}, "trigger.to", STATES),
        ({"trigger": on_item(ITEM, *["done"] * 21)}, "trigger.to", ""),
        ({"trigger": on_item(ITEM, "x" * 51)}, "trigger.to", ""),
        ({"trigger": on_item(ITEM, "blocked") | {"to": "blocked"}}, "trigger.to", ""),
        ({"trigger": on_item("itm_1", "blocked")}, "trigger.item_id", ""),
        ({"trigger": {"kind": "work_item.status.transition", "to": ["done"]}}, "trigger.item_id", "watched"),
        ({"trigger": on_item(ITEM, "blocked") | {"run_id": RUN}}, "trigger.run_id", "item_id and to"),
        ({"trigger": on_item(ITEM, "blocked") | {"guard": "1"}}, "trigger.guard", "no such field"),
        ({"trigger": on_run(RUN, "done")}, "trigger.to", RUN_STATES),
        ({"trigger": on_pipeline("a/b", "attention")}, "trigger.pipeline", "allowed characters"),
        ({"trigger": on_pipeline("payments", "done")}, "trigger.to", "states are"),
        ({"trigger": {"kind": "time"}}, "trigger.at", "one of"),
        ({"trigger": {"kind": "time", "at": "2026-01-01T00:00:00"}}, "trigger.at", ""),
        ({"trigger": {"kind": "time", "every_secs": 0.5}}, "trigger.every_secs", ""),
        ({"trigger": {"kind": "time", "every_secs": 60, "to": ["done"]}}, "trigger.to", "at and every_secs"),
        ({"trigger": {"kind": "time", "every_secs": 60, "at": "2030-01-01T00:00:00Z"}}, "trigger.at", "one of"),
        ({"trigger": {"kind": "time", "at": "2030-01-01T00:00:00Z"}, "repeats": True}, "repeats", ""),
        ({"action": {"start": {}}}, "action.start", "workflow"),
        ({"action": {"start": {"workflow": "a b"}}}, "action.start.workflow", "allowed characters"),
        ({"action": {"start": {"workflow": "page", "queue": "a b"}}}, "action.start.queue", "allowed characters"),
        ({"action": {"start": {"workflow": "page", "args": {}}}}, "action.start.args", ""),
        ({"action": {"start": {"workflow": "page"}, "task": {"title": "x"}}}, "action", "one thing"),
        ({"action": {"task": {"title": "a\nb"}}}, "action.task.title", "one line"),
        ({"action": {"send": {"run_id": RUN, "event": "a b"}}}, "action.send.event", ""),
        ({"action": {"send": {"run_id": "run_1", "event": "a"}}}, "action.send.run_id", ""),
        ({"action": {"call": {}}}, "action.call", "no such field"),
        ({"trigger": HOURLY, "action": {"task": {"title": "x"}}}, "action.task.title", "item"),
        ({"status": "fired"}, "status", "no such field"),
        ({"repeats": 1}, "repeats", ""),
    ],
)
@pytest.mark.spec("security:79", "signals:12", "signals:13", "signals:23")
async def test_a_trigger_that_cannot_be_is_refused_with_what_can(
    memory_site: Site, body: dict[str, Any], where: str, said: str
) -> None:
    client = await memory_site.client(Role.CLIENT)
    item = await new_item(client)
    given = body if "trigger" in body or not body else {"trigger": on_item(item, "done"), **body}

    answer = await client.post(SIGNALS, json=given)

    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_input"), answer.text
    assert error_of(answer)["path"].startswith(where), error_of(answer)
    assert said in error_of(answer)["message"]
    assert (await read(client, SIGNALS))["signals"] == []


@pytest.mark.spec("security:79")
async def test_what_only_the_database_can_tell_is_refused_with_its_path(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    run = await memory_site.start(client)

    no_job = await client.post(SIGNALS, json={"trigger": on_run(run, "failed") | {"kind": "job.status.transition"}})
    no_past = await client.post(SIGNALS, json={"trigger": HOURLY, "since_beginning": True})

    assert [answer.status_code for answer in (no_job, no_past)] == [400, 400]
    assert error_of(no_job)["path"] == "trigger.run_id"
    assert error_of(no_past)["path"] == "since_beginning"


@pytest.mark.spec("security:79")
async def test_a_change_that_cannot_be_is_refused(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    signal = f"{SIGNALS}/{await new_signal(client, await new_item(client), 'done')}"

    answers = [await client.post(f"{signal}/update", json=body) for body in ({}, {"to": []}, {"to": ["over"]})]
    times = await posted(client, SIGNALS, trigger={"kind": "time", "every_secs": 60})
    answers.append(await client.post(f"{SIGNALS}/{times['id']}/update", json={"to": ["done"]}))

    assert [answer.status_code for answer in answers] == [400] * 4
    assert [error_of(answer)["path"] for answer in answers] == ["", "to", "to", "to"]
    assert all(STATES in error_of(answer)["message"] for answer in answers[1:3])


@pytest.mark.spec("security:80", "security:81")
async def test_what_is_not_there_cannot_be_watched_nor_sent_to(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    await memory_site.serve(Served("default", "page"))
    item, over = await new_item(client), await memory_site.start(client)
    await posted(client, f"{DEFAULT}/runs/{over}/cancel")
    start = {"start": {"workflow": "pgae"}}

    missing = [
        await client.post(SIGNALS, json={"trigger": on_item(ITEM, "done")}),
        await client.post(SIGNALS, json={"trigger": on_pipeline("payments", "attention")}),
        await client.post(SIGNALS, json={"trigger": on_run(RUN, "failed")}),
        await client.post(SIGNALS, json={"trigger": on_item(item, "done"), "action": start}),
        await client.post(
            SIGNALS, json={"trigger": on_item(item, "done"), "action": {"send": {"run_id": RUN, "event": "x"}}}
        ),
        await client.get(f"{SIGNALS}/{SIGNAL}"),
        await client.get(f"{SIGNALS}/{SIGNAL}/log"),
        await client.get(f"{SIGNALS}/{SIGNAL}/explanation"),
        await client.post(f"{SIGNALS}/{SIGNAL}/pause", json={}),
        await client.delete(f"{SIGNALS}/{SIGNAL}"),
    ]
    ended = await client.post(
        SIGNALS, json={"trigger": on_item(item, "done"), "action": {"send": {"run_id": over, "event": "x"}}}
    )
    vouched = await posted(client, SIGNALS, trigger=on_item(item, "done"), action=start, allow_unknown=True)

    assert [(answer.status_code, error_of(answer)["code"]) for answer in missing] == [(404, "not_found")] * 10
    assert "'page'" in error_of(missing[3])["message"]
    assert ended.status_code == 409
    assert vouched["action"]["start"]["queue"] == "default"


@pytest.mark.spec("security:80")
async def test_a_signal_on_what_is_over_says_that_it_will_never_fire(memory_site: Site) -> None:
    client = await memory_site.client(Role.CLIENT)
    item = await new_item(client, "ready", "cancelled")

    made = await posted(client, SIGNALS, trigger=on_item(item, "done"))

    assert (made["status"], made["state"]) == ("resolved", "cancelled")
    assert item in made["reason"]


async def test_signals_and_firings_are_listed_page_by_page(site: Site) -> None:
    client = await site.client(Role.CLIENT)
    item, other = await new_item(client), await new_item(client)
    ids = [await new_signal(client, item, "ready") for _ in range(5)]
    elsewhere = await new_signal(client, other, "ready")
    await posted(client, f"{SIGNALS}/{ids[0]}/cancel")
    await moved(client, item, "ready")
    assert await fire(site) == 4

    pages = await walk(client, SIGNALS, items="signals", cursor="before", limit=4)
    firings = await walk(client, FIRINGS, items="firings", cursor="before", limit=3)
    on_one = (await read(client, SIGNALS, subject_kind="item", subject=other))["signals"]
    armed = (await read(client, SIGNALS, status="armed"))["signals"]

    assert [signal["id"] for page in pages for signal in page] == [elsewhere, *ids[::-1]]  # type: ignore[index]
    assert {firing["signal_id"] for page in firings for firing in page} == set(ids[1:])  # type: ignore[index]
    assert [len(page) for page in firings] == [3, 1]
    assert [signal["id"] for signal in on_one] == [signal["id"] for signal in armed] == [elsewhere]
    for params in ({"subject": other}, {"subject_kind": "approval"}, {"status": "over"}, {"before": "x"}):
        assert (await client.get(SIGNALS, params=params)).status_code == 400, params
    for params in ({"signal_id": "x"}, {"status": "over"}, {"before": "x"}):
        assert (await client.get(FIRINGS, params=params)).status_code == 400, params
