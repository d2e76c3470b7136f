"""A walk over every route: without a key, with the wrong role, with a key of another namespace. All are refused."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.server.site import DEFAULT, Site, error_of
from windlass.api.operations import OPERATIONS
from windlass.model.access import Role
from windlass.model.namespace import CreateNamespace
from windlass.server.http.calls import Kind, Row
from windlass.server.http.table import PUBLIC, ROWS

RUN, WORKER, KEY = "run_" + "0" * 26, "wrk_" + "0" * 26, "key_" + "0" * 26
HANDLER_RUN, INPUT = "hrn_" + "0" * 26, "inp_" + "0" * 26
ITEM, TASK, SIGNAL = "itm_" + "0" * 26, "tsk_" + "0" * 26, "sig_" + "0" * 26
GUARDED = [row for row in ROWS if row.operation is not None]
NOT_OVER_HTTP = {  # what only a worker asks for, or a program that has the code, over gRPC
    "register_worker", "heartbeat", "deregister_worker", "listen", "claim_runs", "begin_steps", "complete_steps",
    "suspend_run", "finish_runs", "hold_run", "release_run", "renew_claim", "renew_claims", "look_at_claims",
    "send_to_child", "cancel_child", "drain_self", "read_history", "add_jobs", "read_needs", "reflect",
    "claim_pipelines", "read_events", "reserve_events", "begin_effect", "apply_effect", "commit_handler",
    "stop_handler", "reconcile_effect", "fail_effect", "fix_handler", "renew_pipeline", "release_pipeline",
    "declare_pipelines", "declare_signals",
}  # fmt: skip


def path_of(row: Row, namespace: str = "default") -> str:
    ids = {"run_id": RUN, "worker_id": WORKER, "key_id": KEY, "handler_run_id": HANDLER_RUN, "input_id": INPUT}
    ids |= {"item_id": ITEM, "task_id": TASK, "signal_id": SIGNAL}
    return row.path.format(**ids, namespace=namespace, name="nightly", topic="order.paid")


async def ask(client: httpx.AsyncClient, row: Row, namespace: str = "default", **more: Any) -> httpx.Response:
    body = {} if row.body is None else {"json": {}}
    return await client.request(row.method, path_of(row, namespace), **body, **more)


def test_every_operation_has_a_route_and_every_route_an_operation() -> None:
    asked_for = {row.operation for row in ROWS if row.operation is not None}

    assert asked_for <= set(OPERATIONS)
    assert set(OPERATIONS) - asked_for - NOT_OVER_HTTP == set()
    assert set(PUBLIC) == {"/healthz", "/readyz"}
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert len({(row.method, row.path) for row in ROWS}) == len(ROWS)


@pytest.mark.spec("security:S-04")
async def test_without_a_key_every_route_is_shut(memory_site: Site) -> None:
    for number, row in enumerate(GUARDED):
        if number % 15 == 0:
            memory_site.clock.advance("1m")  # type: ignore[attr-defined]  # else the throttle would answer
        answer = await ask(memory_site.asker(), row)
        assert (answer.status_code, error_of(answer)["code"]) == (401, "not_authenticated"), row.path
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header",
    [
        "Basic YTpi", "Bearer", "Bearer ", "bearer wl_x", "Bearer wl_" + "0" * 26 + "_" + "A" * 43, "wl_x",
        "Bearer " + "x" * 5_000,
    ],
)  # fmt: skip
@pytest.mark.spec("security:90", "security:S-16")
async def test_what_is_no_token_of_ours_does_not_open(memory_site: Site, header: str) -> None:
    answer = await memory_site.asker(authorization=header).get(f"{DEFAULT}/runs")
    without = await memory_site.asker().get(f"{DEFAULT}/runs")

    assert answer.status_code == 401
    assert error_of(answer)["message"] == error_of(without)["message"]


@pytest.mark.spec("security:90")
async def test_two_authorizations_or_one_in_other_letters_do_not_open(memory_site: Site) -> None:
    token = await memory_site.token(Role.CLIENT)
    good = ("authorization", f"Bearer {token}")
    client = memory_site.asker()

    assert (await client.get(f"{DEFAULT}/runs", headers=[good])).status_code == 200
    assert (await client.get(f"{DEFAULT}/runs", headers=[good, good])).status_code == 401
    strange = [(b"authorization", f"Bearer {token}é".encode())]
    assert (await client.get(f"{DEFAULT}/runs", headers=strange)).status_code == 401


@pytest.mark.spec("security:S-07", "security:S-08")
async def test_every_role_reaches_what_the_table_says_and_nothing_else(memory_site: Site) -> None:
    for role in Role:
        client = await memory_site.client(role, namespace="*")
        for row in GUARDED:
            if row.kind is Kind.STREAM:
                continue  # it would not end
            answer = await ask(client, row)
            is_allowed = role in OPERATIONS[str(row.operation)].roles
            assert (answer.status_code == 403) is not is_allowed, (role, row.path, answer.text)
            if not is_allowed:
                assert error_of(answer)["code"] == "forbidden"
            assert answer.status_code < 500, (row.path, answer.text)


@pytest.mark.spec("security:S-09", "invariants:I-58")
async def test_a_key_of_another_namespace_learns_nothing(site: Site) -> None:
    await site.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    run_id = await site.start(await site.client(Role.CLIENT), key="secret-key")
    stranger = await site.client(Role.ADMIN, namespace="other")

    for row in GUARDED:
        if "{namespace}" not in row.path:
            continue
        there = await ask(stranger, row, "default")
        nowhere = await ask(stranger, row, "never-was")
        told = [error_of(answer) | {"request_id": ""} for answer in (there, nowhere)]
        assert (there.status_code, told[0]) == (nowhere.status_code, told[1]), row.path
        assert there.status_code == 403
    # The id of a run of somebody else reads like one that nobody has.
    known = await stranger.get(f"/v1/namespaces/other/runs/{run_id}")
    unknown = await stranger.get(f"/v1/namespaces/other/runs/{RUN}")
    assert known.status_code == unknown.status_code == 404
    assert error_of(known)["message"].replace(run_id, RUN) == error_of(unknown)["message"]
    found = await stranger.get("/v1/namespaces/other/runs/by-key", params={"key": "secret-key"})
    assert found.status_code == 404
    assert (await stranger.get("/v1/namespaces/other/runs")).json()["runs"] == []
    entries = (await stranger.get("/v1/namespaces/other/feed")).json()["entries"]
    assert [entry["entry"]["subject_kind"] for entry in entries] == ["namespace"]  # its own creation


@pytest.mark.spec("security:S-05", "security:S-39")
async def test_only_the_exact_paths_of_health_are_public(memory_site: Site) -> None:
    client = memory_site.asker()
    for path in ("/healthz", "/readyz"):
        good, head = await client.get(path), await client.head(path)
        assert (good.status_code, head.status_code, head.content) == (200, 200, b"")
        assert set(good.json()) == {"status"}
        assert (await client.post(path, json={})).status_code == 405
    traps = (
        "/api/runs/healthz", "/healthz/../v1/server", "//healthz", "/HEALTHZ", "/v1/server;healthz", "/healthz.",
        "/healthz%2f", "/%68ealthz", "/healthz/", "/healthz%00", "/./healthz", "/v1/%2e%2e/healthz", "/healthz%252f",
    )  # fmt: skip
    for path in traps:
        assert await memory_site.raw(path.encode()) in (401, 404), path


async def test_a_server_that_stops_is_not_ready(memory_site: Site) -> None:
    client = memory_site.asker()
    memory_site.health.stop()

    answer = await client.get("/readyz")

    assert (answer.status_code, answer.json()) == (503, {"status": "not_ready"})
    assert (await client.get("/healthz")).status_code == 200


@pytest.mark.spec("security:S-06")
async def test_a_revoked_key_is_out(memory_site: Site) -> None:
    client = await memory_site.client(Role.VIEWER)
    (key,) = await memory_site.opened.access.list_keys("default")
    assert (await client.get(f"{DEFAULT}/runs")).status_code == 200

    await memory_site.opened.access.revoke_key(key.id)
    memory_site.clock.advance("5s")  # type: ignore[attr-defined]

    assert (await client.get(f"{DEFAULT}/runs")).status_code == 401


async def test_a_disabled_namespace_is_read_and_not_changed(memory_site: Site) -> None:
    admin = await memory_site.client(Role.ADMIN, namespace="*")
    client = await memory_site.client(Role.CLIENT)
    assert (await admin.post("/v1/namespaces/default/disable", json={})).json()["is_enabled"] is False

    refused = await client.post(f"{DEFAULT}/runs", json={"workflow": "order", "allow_unknown": True})

    assert (refused.status_code, error_of(refused)["code"]) == (409, "wrong_state")
    assert (await client.get(f"{DEFAULT}/runs")).status_code == 200
