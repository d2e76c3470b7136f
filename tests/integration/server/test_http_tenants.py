"""Schedules, namespaces, keys, the audit and the server itself over HTTP."""

from __future__ import annotations

import hashlib

import httpx
import pytest

from tests.integration.server.site import DEFAULT, Site, error_of
from windlass.model.access import Role
from windlass.rules.access import make_token
from windlass.runtime import secret_bytes


async def test_a_schedule_lives_and_dies(site: Site) -> None:
    client = await site.client(Role.OPERATOR)
    await site.serve()
    schedules = f"{DEFAULT}/schedules"
    body = {"workflow": "order", "args": [1], "cron": "0 9 * * *", "tz": "Europe/Rome", "by": "ann"}

    made = await client.post(schedules, json=body | {"name": "nightly"})
    same = await client.post(schedules, json=body | {"name": "nightly"})
    other = await client.post(schedules, json=body | {"name": "nightly", "cron": "0 8 * * *"})
    replaced = await client.put(f"{schedules}/nightly", json=body | {"cron": "0 8 * * *", "jitter_secs": 60})

    assert (made.status_code, made.json()["times"]) == (200, "at 09:00 every day (Europe/Rome)")
    assert made.json()["input"] == {"$tuple": [1]}
    assert (same.status_code, other.status_code) == (200, 409)
    assert (replaced.json()["revision"], replaced.json()["jitter_secs"]) == (made.json()["revision"] + 1, 60)
    assert (await client.post(f"{schedules}/nightly/pause", json={"note": "x"})).json()["status"] == "paused"
    assert (await client.post(f"{schedules}/nightly/resume", json={})).json()["status"] == "active"
    chosen = {"run_id": site.opened.ids.run()}
    started = (await client.post(f"{schedules}/nightly/trigger", json=chosen)).json()["run_id"]
    again = await client.post(f"{schedules}/nightly/trigger", json=chosen)
    assert (started, again.json()["run_id"]) == (chosen["run_id"], chosen["run_id"])
    runs = (await client.get(f"{DEFAULT}/runs", params={"schedule": "nightly"})).json()["runs"]
    assert [run["id"] for run in runs] == [started]
    assert [item["name"] for item in (await client.get(schedules)).json()["schedules"]] == ["nightly"]
    assert (await client.get(f"{schedules}/nightly")).json()["active"] == [started]
    assert (await client.delete(f"{schedules}/nightly", params={"by": "ann"})).json() == {"is_done": True}
    assert (await client.get(f"{schedules}/nightly")).status_code == 404
    log = (await client.get(f"{schedules}/nightly/log")).json()["entries"]
    assert log[-1]["by"] == "ann"


async def test_a_program_declares_its_schedules(site: Site) -> None:
    client = await site.client(Role.OPERATOR)
    body = {
        "program": "shop",
        "schedules": [{"name": "a", "workflow": "order", "every_secs": 60}],
        "keep_secs": {"order": 3600, "other": None},
    }

    assert (await client.put(f"{DEFAULT}/declarations", json=body)).json() == {"is_done": True}
    assert (await client.get(f"{DEFAULT}/schedules/a")).json()["declared_in"] == "shop"
    assert (await client.put(f"{DEFAULT}/declarations", json={"program": "shop"})).status_code == 200
    assert (await client.get(f"{DEFAULT}/schedules/a")).json()["is_declared"] is False


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "invalid_schedule"),
        ({"cron": "* * * * *", "every_secs": 60}, "invalid_schedule"),
        ({"cron": "61 * * * *"}, "invalid_cron"),
        ({"cron": "0 0 30 2 *"}, "invalid_cron"),
        ({"every_secs": 0.001}, "invalid_schedule"),
        ({"every_secs": 60, "tz": "Mars/Phobos"}, "unknown_time_zone"),
        ({"every_secs": 60, "jitter_secs": 61}, "invalid_schedule"),
        ({"every_secs": 60, "max_catch_up": 0}, "invalid_input"),
        ({"every_secs": 60, "overlap": "sometimes"}, "invalid_input"),
        ({"every_secs": 60, "workflow": "a/b"}, "invalid_name"),
    ],
)
@pytest.mark.spec("security:52", "security:53", "security:58", "security:60")
async def test_a_schedule_that_cannot_be(memory_site: Site, changes: dict[str, object], reason: str) -> None:
    client = await memory_site.client(Role.OPERATOR)

    answer = await client.put(f"{DEFAULT}/schedules/x", json={"workflow": "order"} | changes)

    assert (answer.status_code, error_of(answer)["reason"]) == (400, reason)
    assert (await client.get(f"{DEFAULT}/schedules")).json()["schedules"] == []


async def make_key(admin: httpx.AsyncClient, site: Site, **body: object) -> tuple[httpx.Response, str]:
    """As a client makes one: the secret never leaves it."""
    secret, id = secret_bytes(), site.opened.ids.key()
    wanted = {"id": id, "namespace": "shop", "roles": ["client"], "secret_sha256": hashlib.sha256(secret).hexdigest()}
    return await admin.post("/v1/keys", json=wanted | body), make_token(id, secret)


@pytest.mark.spec("security:S-06", "security:S-32")
async def test_tenants_and_their_keys(site: Site) -> None:
    admin = await site.client(Role.ADMIN, namespace="*")
    made = await admin.post("/v1/namespaces", json={"name": "shop", "note": "ours"})
    assert (made.status_code, made.json()["note"]) == (200, "ours")
    assert "shop" in [item["name"] for item in (await admin.get("/v1/namespaces")).json()["namespaces"]]

    answer, token = await make_key(admin, site)
    key = answer.json()
    client = site.asker(token)

    assert (key["namespace"], key["roles"], "secret" in answer.text) == ("shop", ["client"], False)
    info = (await client.get("/v1/server")).json()
    assert (info["namespace"], info["key"], info["roles"]) == ("shop", key["id"], ["client"])
    assert (await client.get("/v1/namespaces/shop")).json()["is_enabled"] is True
    assert [item["id"] for item in (await admin.get("/v1/keys", params={"namespace": "shop"})).json()["keys"]] == [
        key["id"]
    ]
    revoked = await admin.post(f"/v1/keys/{key['id']}/revoke", json={"by": "ann"})
    assert revoked.json()["revoked_at"] is not None
    audit = (await admin.get("/v1/namespaces/shop/audit")).json()["entries"]
    assert "revoke_key" in [entry["action"] for entry in audit]
    assert (await admin.delete("/v1/namespaces/shop")).status_code == 409  # not disabled
    assert (await admin.post("/v1/namespaces/shop/disable", json={})).json()["is_enabled"] is False
    assert (await admin.post("/v1/namespaces/shop/enable", json={})).json()["is_enabled"] is True
    await admin.post("/v1/namespaces/shop/disable", json={})
    assert (await admin.delete("/v1/namespaces/shop")).json() == {"is_done": True}
    site.clock.advance("5s")  # type: ignore[attr-defined]  # what the gate has looked up is believed for 2 s
    assert (await admin.get("/v1/namespaces/shop/audit")).status_code == 404


@pytest.mark.spec("security:S-32")
async def test_what_is_done_stands_in_the_audit_under_the_key_that_did_it(site: Site) -> None:
    operator = await site.client(Role.OPERATOR)
    key = (await operator.get("/v1/server")).json()["key"]
    run_id = await site.start(operator)

    done = await operator.post(f"{DEFAULT}/runs/{run_id}/cancel", json={"by": "somebody else"})
    await operator.post(f"{DEFAULT}/runs/{run_id}/cancel", json={})
    entries = (await operator.get(f"{DEFAULT}/audit")).json()["entries"]
    (entry,) = [entry for entry in entries if entry["action"] != "create_key"]
    forged = await operator.post(f"{DEFAULT}/runs/{run_id}/cancel", json={"actor": "root", "at": 5})

    assert (entry["actor"], entry["action"], entry["subject"]) == (key, "cancel_run", run_id)
    assert entry["request_id"] == done.headers["x-request-id"]
    assert forged.status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"id": "key_1"}, {"roles": []}, {"roles": ["root"]}, {"secret_sha256": "00"}, {"queues": ["mail"]},
        {"namespace": "never-was"}, {"expires_secs": 0}, {"namespace": "a b"},
    ],
)  # fmt: skip
async def test_a_key_that_cannot_be(memory_site: Site, body: dict[str, object]) -> None:
    admin = await memory_site.client(Role.ADMIN, namespace="*")
    await admin.post("/v1/namespaces", json={"name": "shop"})

    answer, _ = await make_key(admin, memory_site, **body)

    assert answer.status_code in (400, 404)
    assert (await admin.get("/v1/keys", params={"namespace": "shop"})).json()["keys"] == []


async def test_the_server_says_how_its_database_is(site: Site) -> None:
    admin = await site.client(Role.ADMIN, namespace="*")

    checkup = (await admin.get("/v1/checkup")).json()

    assert checkup["is_sound"] is True
    assert {check["grade"] for check in checkup["checks"]} <= {"good", "warning", "skipped"}


async def test_metrics_are_for_those_who_may_read_all(memory_site: Site) -> None:
    site = Site(memory_site.opened, memory_site.clock, read_metrics=lambda: b"# HELP x\n")

    assert (await (await site.client(Role.VIEWER)).get("/metrics")).status_code == 403
    answer = await (await site.client(Role.VIEWER, namespace="*")).get("/metrics")
    assert (answer.status_code, answer.text) == (200, "# HELP x\n")
    assert answer.headers["content-type"].startswith("text/plain")
    assert (await (await memory_site.client(Role.VIEWER, namespace="*")).get("/metrics")).status_code == 409
