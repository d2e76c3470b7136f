"""Can pipelines be published to, looked at and steered over HTTP and over a WebSocket?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

import windlass
from tests.integration.conftest import OpenHarness, eventually
from tests.integration.server.live import listening, talking
from tests.integration.server.site import DEFAULT, Site, error_of
from tests.integration.server.test_http_pages import walk
from windlass.model.access import Role
from windlass.model.namespace import CreateNamespace
from windlass.testing.harness import Harness

PAYMENTS = f"{DEFAULT}/pipelines/payments"
ORDERS = f"{DEFAULT}/topics/order.paid/events"
INPUT = {"source": "shop", "type": "order", "id": "o-1", "title": "Order 1"}
ATTEMPT, NO_INPUT = "hrn_" + "0" * 26, "inp_" + "0" * 26


class Shop:
    """A pipeline that charges orders, and the site beside it."""

    def __init__(self, harness: Harness, site: Site, client: httpx.AsyncClient) -> None:
        self.harness, self.site, self.client = harness, site, client
        self.errors: list[Exception] = []

    def declare(self, **options: Any) -> None:
        app, shop = self.harness.app, self
        orders, done = app.topic("order.paid", dict), app.topic("receipt", str)
        pipeline = app.pipeline("payments")

        @app.effect
        async def charge_card(order: dict[str, Any]) -> str:
            if shop.errors:
                raise shop.errors.pop(0)
            return f"paid {order['sum']}"

        @pipeline.producer(every="1h", publishes=[orders])
        async def poll(ctx: windlass.ProducerContext, state: Any) -> Any:
            return (state or 0) + 1

        @pipeline.consumer(orders, publishes=[done], **options)
        class Charge(windlass.Consumer[dict, str]):  # type: ignore[type-arg]
            async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Any]) -> Any:
                return windlass.Effect(charge_card, prepared.data, title="Charge the card")

            async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[Any], result: Any) -> None:
                if result is not None:
                    ctx.publish(done, result, id="r")

    async def known(self) -> None:
        async def is_known() -> bool:
            return (await self.client.get(PAYMENTS)).status_code == 200

        await eventually(is_known, what="the pipeline is declared")

    async def publish(self, id: str = "o-1", **more: Any) -> dict[str, Any]:
        await self.known()
        answer = await self.client.post(ORDERS, json={"id": id, "payload": {"sum": 7}} | more)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def get(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.client.get(PAYMENTS)).json()
        return found

    async def until(self, what: str, **wanted: Any) -> dict[str, Any]:
        """The newest attempt of the consumer, once it is so."""
        found: list[dict[str, Any]] = []

        async def is_so() -> bool:
            runs = (await self.client.get(f"{PAYMENTS}/runs", params={"handler": "Charge"})).json()["runs"]
            found[:] = [run for run in runs[:1] if all(run[name] == value for name, value in wanted.items())]
            return bool(found)

        await eventually(is_so, what=what)
        return found[0]


@pytest.fixture
async def shop(open_shared: OpenHarness) -> AsyncIterator[Shop]:
    harness = await open_shared()
    site = Site(harness.opened, harness.clock)
    yield Shop(harness, site, await site.client(Role.OPERATOR))
    await site.close()


async def test_an_event_is_published_charged_and_traced(shop: Shop) -> None:
    shop.declare()
    assert await shop.publish(input=INPUT) == {"id": "o-1", "pipelines": 1, "is_repeat": False}
    run = await shop.until("it is charged", status="committed")

    detail = (await shop.client.get(f"{PAYMENTS}/runs/{run['id']}")).json()
    assert (detail["phase"], detail["outcome"], detail["result"]) == ("committed", "success", "paid 7")
    assert (detail["effect"]["name"], detail["effect"]["status"]) == ("charge_card", "applied")
    assert [(item["id"], item["payload"]) for item in detail["events"]] == [("o-1", {"sum": 7})]
    assert detail["chain"] == [run["id"]]
    (listed,) = (await shop.client.get(f"{PAYMENTS}/inputs")).json()["inputs"]
    assert (listed["source"], listed["external_id"], listed["status"]) == ("shop", "o-1", "done")
    traced = (await shop.client.get(f"{PAYMENTS}/inputs/{listed['id']}")).json()
    assert (traced["input"], [item["topic"] for item in traced["events"]]) == (listed, ["order.paid"])
    assert [item["name"] for item in traced["effects"]] == ["charge_card"]
    (event,) = (await shop.client.get(f"{PAYMENTS}/events", params={"status": "consumed"})).json()["events"]
    assert (event["id"], event["causes"]) == ("o-1", [listed["id"]])
    assert (await shop.client.get(f"{PAYMENTS}/events", params={"status": "pending"})).json()["events"] == []
    topics = {item["name"]: item for item in (await shop.client.get(f"{DEFAULT}/topics")).json()["topics"]}
    assert {use["handler"]: use["is_subscribed"] for use in topics["order.paid"]["uses"]} == {
        "Charge": True, "poll": False,
    }  # fmt: skip
    assert [item["name"] for item in (await shop.client.get(f"{DEFAULT}/pipelines")).json()["pipelines"]] == [
        "payments"
    ]


async def test_many_are_published_at_once_and_listed_page_by_page(shop: Shop) -> None:
    shop.declare()
    await shop.known()
    await shop.client.post(f"{PAYMENTS}/pause", json={"by": "ann"})
    events = [{"id": f"o-{number}", "payload": {"sum": number}} for number in range(5)]

    answer = (await shop.client.post(f"{ORDERS}/batch", json={"events": events})).json()
    again = (await shop.client.post(f"{ORDERS}/batch", json={"events": events[:1]})).json()

    assert [item["pipelines"] for item in answer["results"]] == [1] * 5
    assert again["results"] == [{"id": "o-0", "pipelines": 1, "is_repeat": True, "error": None}]
    pages = await walk(shop.client, f"{PAYMENTS}/events", items="events", cursor="after", limit=2)
    assert [item["id"] for page in pages for item in page] == [f"o-{n}" for n in range(5)]  # type: ignore[index]
    assert [len(page) for page in pages] == [2, 2, 1]


async def test_it_is_paused_explained_resumed_and_run_now(shop: Shop) -> None:
    shop.declare()
    await shop.known()

    paused = (await shop.client.post(f"{PAYMENTS}/pause", json={"by": "ann", "note": "stocktaking"})).json()
    assert (paused["is_paused"], paused["paused_by"], paused["note"]) == (True, "ann", "stocktaking")
    told = (await shop.client.get(f"{PAYMENTS}/explanation")).json()
    assert told["pipeline"] == "payments"
    assert "ann" in told["text"]
    refused = await shop.client.post(f"{PAYMENTS}/run-now", json={})
    assert (refused.status_code, error_of(refused)["code"]) == (409, "wrong_state")
    assert (await shop.client.post(f"{PAYMENTS}/resume", json={})).json()["is_paused"] is False

    async def has_polled() -> bool:
        runs = (await shop.client.get(f"{PAYMENTS}/runs", params={"handler": "poll"})).json()["runs"]
        return len(runs) == 1 and runs[0]["status"] == "committed" and (await shop.get())["status"] == "idle"

    await eventually(has_polled, what="the producer has run")
    answer = await shop.client.post(f"{PAYMENTS}/run-now", json={"by": "ann"})
    assert answer.status_code == 200

    async def has_polled_again() -> bool:
        runs = (await shop.client.get(f"{PAYMENTS}/runs", params={"handler": "poll"})).json()["runs"]
        return [run["status"] for run in runs] == ["committed", "committed"]

    await eventually(has_polled_again, what="it has run once more")


async def test_what_needs_approval_is_approved_or_rejected(shop: Shop) -> None:
    shop.declare(approval=True)
    await shop.publish("o-1")
    waiting = await shop.until("it waits for a person", status="paused:approval")

    assert (await shop.get())["issue"] == "approval"
    stale = await shop.client.post(f"{PAYMENTS}/approve", json={"run_id": ATTEMPT})
    assert stale.status_code == 409
    await shop.client.post(f"{PAYMENTS}/approve", json={"run_id": waiting["id"], "by": "ann"})
    approved = await shop.until("it is charged", status="committed", id=waiting["id"])
    assert (approved["outcome"], approved["decided_by"]) == ("success", "ann")

    await shop.publish("o-2")
    await shop.until("the next one waits", status="paused:approval")
    answer = await shop.client.post(f"{PAYMENTS}/reject", json={"by": "bob", "note": "no"})
    assert answer.status_code == 200, answer.text
    rejected = await shop.until("it was let go of", status="committed", decided_by="bob")
    assert rejected["outcome"] == "skipped"


async def test_an_effect_of_which_nobody_knows_is_resolved(shop: Shop) -> None:
    shop.declare()
    shop.errors = [OSError("the line went dead")]
    await shop.publish()
    await shop.until("nobody knows", status="paused:reconciliation")

    (found,) = (await shop.client.get(f"{DEFAULT}/effects")).json()["effects"]
    assert (found["subject"], found["title"], found["status"]) == ("payments", "Charge the card", "indeterminate")
    shop.harness.clock.advance("1h")  # until nobody can be inside any more
    body = {"resolution": "happened", "result": "paid by hand", "by": "ann"}
    resolved = await shop.client.post(f"{PAYMENTS}/resolve", json=body)
    assert resolved.status_code == 200, resolved.text
    assert (resolved.json()["status"], resolved.json()["resolved_by"]) == ("applied", "ann")
    run = await shop.until("it goes on", status="committed")
    assert (await shop.client.get(f"{PAYMENTS}/runs/{run['id']}")).json()["result"] == "paid by hand"
    again = await shop.client.post(f"{PAYMENTS}/resolve", json={"resolution": "skip"})
    assert again.status_code == 409


async def test_an_input_is_skipped(shop: Shop) -> None:
    shop.declare()
    await shop.known()
    await shop.client.post(f"{PAYMENTS}/pause", json={})
    await shop.publish(input=INPUT)
    await shop.publish("o-2")
    (listed,) = (await shop.client.get(f"{PAYMENTS}/inputs", params={"status": "pending"})).json()["inputs"]

    skipped = (await shop.client.post(f"{PAYMENTS}/skip", json={"input": listed["id"], "by": "ann"})).json()
    one = (await shop.client.post(f"{PAYMENTS}/skip", json={"topic": "order.paid", "event": "o-2"})).json()

    assert skipped == one == {"skipped": 1, "aborted": None, "finishing": 0}
    (listed,) = (await shop.client.get(f"{PAYMENTS}/inputs")).json()["inputs"]
    assert (listed["status"], listed["skipped_by"]) == ("skipped", "ann")


async def test_over_a_websocket_it_is_the_same(shop: Shop) -> None:
    shop.declare()
    await shop.publish(input=INPUT)
    run = await shop.until("it is charged", status="committed")
    (input,) = (await shop.client.get(f"{PAYMENTS}/inputs")).json()["inputs"]
    ways: dict[str, tuple[dict[str, Any], str]] = {
        "pipelines.list": ({}, f"{DEFAULT}/pipelines"),
        "pipelines.get": ({"name": "payments"}, PAYMENTS),
        "pipelines.runs": ({"name": "payments"}, f"{PAYMENTS}/runs"),
        "pipelines.run": ({"name": "payments", "handler_run_id": run["id"]}, f"{PAYMENTS}/runs/{run['id']}"),
        "pipelines.events": ({"name": "payments"}, f"{PAYMENTS}/events"),
        "pipelines.inputs": ({"name": "payments"}, f"{PAYMENTS}/inputs"),
        "pipelines.trace": ({"name": "payments", "input_id": input["id"]}, f"{PAYMENTS}/inputs/{input['id']}"),
        "topics.list": ({}, f"{DEFAULT}/topics"),
        "effects.list": ({}, f"{DEFAULT}/effects"),
    }

    async with listening(shop.site) as port, talking(port, await shop.site.token(Role.VIEWER)) as talker:
        for op, (params, path) in ways.items():
            told = (await talker.ask(op, **params))["result"]
            assert told == (await shop.client.get(path)).json(), op
        told = (await talker.ask("pipelines.explain", name="payments"))["result"]

    assert told["code"] == "idle"


# What is refused


@pytest.mark.spec("invariants:I-58", "security:S-09")
async def test_a_pipeline_of_somebody_else_reads_like_one_that_nobody_has(shop: Shop) -> None:
    shop.declare()
    await shop.publish(input=INPUT)
    run = await shop.until("it is charged", status="committed")
    await shop.site.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    stranger = await shop.site.client(Role.OPERATOR, namespace="other")
    other = "/v1/namespaces/other/pipelines"

    for path in ("", "/explanation", "/runs", f"/runs/{run['id']}", "/events", "/inputs"):
        theirs, nobodys = await stranger.get(f"{other}/payments{path}"), await stranger.get(f"{other}/nopipeln{path}")
        assert (theirs.status_code, nobodys.status_code) == (404, 404), path
        assert error_of(theirs)["message"].replace("payments", "nopipeln") == error_of(nobodys)["message"]
    assert (await stranger.get(other)).json() == {"pipelines": []}
    published = await stranger.post("/v1/namespaces/other/topics/order.paid/events", json={"id": "o-1", "payload": 1})
    assert published.json()["pipelines"] == 0
    elsewhere = await shop.client.get(f"{DEFAULT}/pipelines/other/runs/{run['id']}")
    assert elsewhere.status_code == 404


@pytest.mark.parametrize(
    ("path", "params", "where"),
    [
        ("/pipelines/a%20b", {}, "pipeline"),
        ("/pipelines/p/runs", {"limit": "0"}, "limit"),
        ("/pipelines/p/runs", {"before": "x"}, "before"),
        ("/pipelines/p/runs/run_1", {}, "handler run id"),
        ("/pipelines/p/events", {"status": "gone"}, "status"),
        ("/pipelines/p/events", {"after": "-1"}, "after"),
        ("/pipelines/p/events", {"topic": "a/b"}, "topic"),
        ("/pipelines/p/inputs", {"before": "yesterday"}, "before"),
        ("/pipelines/p/inputs/inp_1", {}, "input id"),
        ("/pipelines", {"limit": "1"}, "limit"),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_its_path(
    memory_site: Site, path: str, params: dict[str, str], where: str
) -> None:
    client = await memory_site.client(Role.VIEWER)

    answer = await client.get(DEFAULT + path, params=params)

    assert (answer.status_code, error_of(answer)["path"]) == (400, where), answer.text


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/topics/a%20b/events", {"id": "1"}, "topic"),
        ("/topics/t/events", {"id": ""}, "id"),
        ("/topics/t/events", {"id": "a\nb"}, "event id"),
        ("/topics/t/events", {"topic": "t"}, "topic"),
        ("/topics/t/events", {"input": {"source": "a b", "type": "t", "id": "1"}}, "source"),
        ("/topics/t/events/batch", {"events": []}, "events"),
        ("/topics/t/events/batch", {"events": [{}, {"id": " "}]}, "events[1].event id"),
        ("/pipelines/p/approve", {"run_id": "x"}, "run_id"),
        ("/pipelines/p/approve", {"releases": True}, "releases"),
        ("/pipelines/p/resolve", {}, ""),
        ("/pipelines/p/resolve", {"resolution": "perhaps"}, "resolution"),
        ("/pipelines/p/resolve", {"resolution": "skip", "result": 1}, "resolution"),
        ("/pipelines/p/skip", {}, "input"),
        ("/pipelines/p/skip", {"input": NO_INPUT, "topic": "t", "event": "1"}, "input"),
        ("/pipelines/p/skip", {"topic": "t"}, "input"),
        ("/pipelines/p/pause", {"by": ""}, "by"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_its_path(
    memory_site: Site, path: str, body: dict[str, Any], where: str
) -> None:
    client = await memory_site.client(Role.OPERATOR)

    answer = await client.post(DEFAULT + path, json=body)

    assert (answer.status_code, error_of(answer)["path"]) == (400, where), answer.text
