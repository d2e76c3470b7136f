"""Can a person see how pipelines stand, say what they wait to be told, and learn what became of what came in?"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import windlass
from tests.integration.cli.scene import Scene
from tests.integration.conftest import eventually
from tests.programs import returns
from windlass.model.feed import ReadFeed
from windlass.model.pipeline import PipelineStatus
from windlass.model.pipeline_commands import ListEvents
from windlass.model.run import Deed
from windlass.testing.harness import Harness


class Bank:
    """The outside world of the pipelines here."""

    def __init__(self) -> None:
        self.is_lost = False  # the answer never arrives
        self.refusal: Exception | None = None
        self.charged: list[int] = []


def declare(harness: Harness, bank: Bank, *, approval: bool) -> None:
    """A shop that is asked for orders every five minutes, and a bank that is asked to charge them."""
    app = harness.app
    orders, payments = app.topic("orders", dict), app.pipeline("payments")

    @app.effect
    def charge_card(order: int) -> str:
        if bank.refusal is not None:
            raise bank.refusal
        bank.charged.append(order)
        if bank.is_lost:
            raise ConnectionError("the line went dead")
        return f"ch_{order}"

    @payments.producer(every="5m", publishes=[orders])
    async def poll(ctx: windlass.ProducerContext, state: int | None) -> int:
        number = (state or 6) + 1
        came = ctx.input("shop", "order", str(number), title=f"Order {number} of Ann")
        ctx.publish(orders, {"id": number}, id=str(number), input=came)
        return number

    declare_consumers(app, payments, charge_card, approval=approval)


def declare_consumers(app: windlass.App, payments: windlass.Pipeline, charge_card: Any, *, approval: bool) -> None:
    orders, receipts = app.topic("orders", dict), app.topic("receipts", dict)

    @payments.consumer(orders, publishes=[receipts], approval=approval)
    class charge(windlass.Consumer[dict[str, int], str]):
        async def prepare(self, ctx: windlass.PrepareContext, state: None) -> windlass.Reserve | windlass.Idle:
            found = await ctx.peek(orders, limit=1)
            if not found:
                return windlass.Idle()
            number = found[0].payload["id"]
            return windlass.Reserve(found, data=found[0].payload, title=f"Charge order {number}")

        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[dict[str, int]]) -> Any:
            return windlass.Effect(charge_card, prepared.data["id"])

        async def next(
            self, ctx: windlass.NextContext, prepared: windlass.Prepared[dict[str, int]], result: str | None
        ) -> None:
            for event in prepared.events:
                ctx.publish(receipts, {"charge": result}, id=event.id)

    @payments.consumer(receipts)
    async def file(ctx: windlass.NextContext, events: list[windlass.TopicEvent[dict[str, Any]]]) -> None: ...


def play(scene: Scene, bank: Bank | None = None, *, approval: bool = False) -> list[int]:
    """Let a worker do what there is to do, and answer with the orders that were charged meanwhile."""
    bank = bank or Bank()

    async def go_on() -> None:
        harness = Harness(scene.url, clock=scene.clock)
        declare(harness, bank, approval=approval)
        async with harness:
            await harness.idle()
            await eventually(lambda: _is_at_rest(harness))

    asyncio.run(go_on())
    return bank.charged


async def _is_at_rest(harness: Harness) -> bool:
    view = (await harness.opened.pipelines.get_pipeline("default", "payments")).view
    due_at = view.pipeline.available_at
    return view.pipeline.status is not PipelineStatus.RUNNING and (due_at is None or due_at > view.now)


def lose_an_answer(scene: Scene) -> None:
    """Nobody knows whether order 7 was charged, and nobody can be inside the call any more."""
    bank = Bank()
    bank.is_lost = True
    play(scene, bank)
    scene.clock.advance("10m")


def a_refusal(refusal: Exception) -> Bank:
    bank = Bank()
    bank.refusal = refusal
    return bank


@pytest.mark.spec("pipelines:113", "pipelines:115", "pipelines:116", "pipelines:117")
def test_each_pipeline_is_a_line_with_what_it_waits_for(either: Scene) -> None:
    play(either)

    (record,) = either.json("pipelines")["pipelines"]
    assert (record["name"], record["status"], record["schedule"]) == ("payments", "Idle", "Checks every 5 minutes")
    assert (record["next_check"], record["pending"]) == ("2026-01-01T00:05:00.000000Z", None)
    lately = ["Handled 1 event · 0 s ago", "Charge order 7 · 0 s ago", "Found 1 event · 0 s ago"]
    assert record["activity"] == lately

    head, row = either.shown("pipelines").splitlines()
    assert head.split() == ["name", "status", "schedule", "next", "check", "pending", "issue"]
    assert row.startswith("payments  · Idle  Checks every 5 minutes  in 5 min")
    assert row.endswith(f"no worker is there for it: windlass --url {either.url} worker MODULE:APP")


def test_a_database_without_pipelines_says_how_to_have_one(scene: Scene) -> None:
    scene.shown("migrate")
    assert "No pipelines yet" in scene.shown("pipelines")
    assert "No topics yet" in scene.shown("topics")
    assert scene.json("pipelines") == {"pipelines": []}


def test_a_pipeline_has_a_page_and_each_of_its_attempts_too(either: Scene) -> None:
    play(either)

    page = either.shown("show", "payments", "--runs")
    assert "  charge  events in orders" in page
    assert "Lately\n  Handled 1 event · 0 s ago\n  Charge order 7 · 0 s ago\n  Found 1 event · 0 s ago\n" in page
    record = either.json("show", "payments", "--runs")
    assert [run["handler"] for run in record["runs"]][:3] == ["file", "charge", "poll"]
    charge = record["runs"][1]
    assert f"  {charge['id']}  charge  committed, 0 s ago\n    Charge order 7" in page

    attempt = either.shown("show", charge["id"])
    assert attempt.startswith("committed  charge of payments\n  Charge order 7\n")
    assert "\n  orders 7  consumed  {'id': 7}\n" in attempt
    assert "\n  effect charge_card  applied" in attempt
    assert "\nPublished\n  receipts 7  consumed  {'charge': 'ch_7'}\n" in attempt
    story = either.json("show", charge["id"])
    assert (story["phase"], story["outcome"], story["effect"]["result"]) == ("committed", "success", "ch_7")


def test_what_became_of_an_input_is_drawn(either: Scene) -> None:
    play(either)

    (listed,) = either.json("inputs", "payments")["inputs"]
    assert (listed["external_id"], listed["title"], listed["status"]) == ("7", "Order 7 of Ann", "done")
    lines = either.shown("inputs", "payments", "7").splitlines()
    assert lines[0] == "done  Order 7 of Ann"
    assert [line.lstrip(" │├└─").split("  ")[0] for line in lines[2:]] == [
        "orders 7",
        "charge",
        "effect charge_card",
        "receipts 7",
        "file",
    ]
    assert either.shown("inputs", "payments", listed["id"][:12]).splitlines() == lines
    assert either.json("inputs", "payments", "7")["input"] == listed
    assert "shop order 7" in either.shown("inputs", "payments", "--status", "done")
    assert either.shown("inputs", "payments", "--status", "pending") == "No inputs match.\n"
    assert either.refused("inputs", "payments", "77").startswith("input '77' does not exist. Did you mean '7'?")


def test_topics_say_who_publishes_who_takes_and_what_waits(scene: Scene) -> None:
    play(scene)
    assert scene.shown("topics").splitlines() == [
        "topic     published by     taken by         pending  reserved",
        "orders    payments.poll    payments.charge",
        "receipts  payments.charge  payments.file",
    ]
    scene.shown("publish", "orders", '{"id": 9}', "--id", "9")
    assert scene.json("topics")["topics"][0]["pending"] == {"payments": 1}


def test_an_event_is_published_once_by_its_id(either: Scene) -> None:
    play(either)

    assert either.shown("publish", "orders", '{"id": 9}', "--id", "9") == "orders 9 published to 1 pipeline.\n"
    again = either.json("publish", "orders", '{"id": 9}', "--id", "9")
    assert again == {"topic": "orders", "id": "9", "pipelines": 1, "is_repeat": True}
    assert play(either) == [9]


def test_a_topic_that_nobody_takes_from_is_a_mistake(scene: Scene) -> None:
    play(scene)
    said = scene.refused("publish", "order", "1", "--id", "1")
    assert said == "No pipeline takes from topic 'order': nothing was published. Did you mean 'orders'?"


@pytest.mark.spec("pipelines:114", "pipelines:118")
def test_an_approval_is_given_by_the_name_of_the_pipeline(either: Scene) -> None:
    play(either, approval=True)
    (record,) = either.json("pipelines")["pipelines"]
    assert (record["status"], record["needs"]) == ("Needs attention", "approval")
    assert record["issue"].startswith("Waiting for you to approve: Charge order 7. Decide: windlass")

    said = either.shown("approve", "payments", "--by", "ann")

    assert said == "'Charge order 7' of pipeline payments approved by ann.\n"
    assert play(either, approval=True) == [7]


@pytest.mark.parametrize(("options", "events"), [([], "are skipped"), (["--release"], "go back")])
def test_a_rejection_skips_or_gives_back(scene: Scene, options: list[str], events: str) -> None:
    play(scene, approval=True)
    said = scene.shown("reject", "payments", "--by", "bob", "--note", "no", *options)
    assert said == f"'Charge order 7' of pipeline payments rejected by bob; its events {events}.\n"


def test_nothing_to_approve_is_said_in_a_line(scene: Scene) -> None:
    play(scene)
    assert "payments" in scene.refused("approve", "payments")
    assert "payments" in scene.refused("resolve", "payments", "--happened")
    assert "payments" in scene.refused("retry", "payments")


def test_an_effect_of_which_nobody_knows_is_resolved_by_a_person(either: Scene) -> None:
    lose_an_answer(either)
    (record,) = either.json("pipelines")["pipelines"]
    assert record["issue"].startswith("Nobody knows whether 'charge_card' happened. Find out, and say so: windlass")
    assert "windlass" in either.refused("run-now", "payments")

    said = either.shown("resolve", "payments", "--happened", '"ch_7"', "--by", "ann", "--note", "seen it")

    assert said == "'charge_card' of payments happened; what follows it goes on.\n"
    assert 7 not in play(either)
    story = either.json("show", record["run"]["id"])
    assert (story["decided_by"], story["effect"]["status"], story["effect"]["result"]) == ("ann", "applied", "ch_7")
    assert "effect charge_card  applied (happened, by ann)" in either.shown("show", record["run"]["id"])


@pytest.mark.parametrize(
    ("option", "said", "is_charged"),
    [
        ("--did-not-happen", "did not happen; it is tried again", True),
        ("--skip", "is skipped; what follows goes on without it", False),
    ],
)
def test_each_answer_leads_on(scene: Scene, option: str, said: str, is_charged: bool) -> None:
    lose_an_answer(scene)
    assert scene.shown("resolve", "payments", option) == f"'charge_card' of payments {said}.\n"
    assert (7 in play(scene)) is is_charged
    assert scene.json("show", "payments")["status"] == "Idle"


def test_one_answer_at_a_time(scene: Scene) -> None:
    lose_an_answer(scene)
    for options in ([], ["--skip", "--try-again"]):
        assert "Say one of these" in scene.refused("resolve", "payments", *options, exit_code=2)
    assert "--step is for runs" in scene.refused("resolve", "payments", "--skip", "--step", "x", exit_code=2)
    assert "in front of --happened" in scene.refused("resolve", "--happened", "payments", exit_code=2)


@pytest.mark.spec("pipelines:114")
def test_what_failed_is_named_and_tried_again(scene: Scene) -> None:
    play(scene, a_refusal(windlass.StepError("no such card", kind="logic")))
    (record,) = scene.json("pipelines")["pipelines"]
    assert record["issue"].startswith("'charge' failed: StepError: no such card. Deploy a fix, or try it again:")

    assert scene.shown("retry", "payments") == "Pipeline payments tries 'charge' again now; it is Idle.\n"

    assert play(scene) == [7]
    assert "--from is for runs" in scene.refused("retry", "payments", "--from", "x", exit_code=2)


def test_what_is_tried_again_while_it_is_paused_waits_until_it_is_resumed(scene: Scene) -> None:
    play(scene, a_refusal(windlass.StepError("no such card", kind="logic")))
    scene.shown("pause", "payments", "--by", "ann")

    said = " ".join(scene.shown("retry", "payments").split())

    assert said.startswith("Pipeline payments tries 'charge' again once it is resumed: windlass")
    assert said.endswith("resume payments")
    assert play(scene) == []
    scene.shown("resume", "payments", "--by", "bob", "--note", "the card is known now")
    assert play(scene) == [7]
    assert Deed(by="bob", note="the card is known now") in deeds(scene)


def deeds(scene: Scene) -> list[Deed]:
    """What people did, as the log keeps it."""

    async def look(harness: Harness) -> list[Deed]:
        query = ReadFeed(namespace="default", subject_kind="pipeline", subject_id="payments", limit=500)
        return [Deed.from_log(item.entry.data) for item in (await harness.opened.feed.read_feed(query)).entries]

    return scene.play(look)


def test_what_passes_by_itself_is_idle(scene: Scene) -> None:
    play(scene, a_refusal(windlass.StepError("come back later", did_not_happen=True)))
    (record,) = scene.json("pipelines")["pipelines"]
    assert record["status"] == "Idle"
    assert record["issue"].startswith("retrying in 10 s: StepError in 'charge'")
    assert "It is tried again at 00:00:10 UTC, in 10 s" in " ".join(scene.shown("explain", "payments").split())
    refused = " ".join(scene.refused("run-now", "payments").split())
    assert refused.startswith("Pipeline 'payments' is retrying what failed;")


def test_a_pipeline_is_paused_and_goes_on(either: Scene) -> None:
    play(either)

    said = either.shown("pause", "payments", "--by", "ann", "--note", "audit")

    assert said.startswith("Pipeline payments is paused: nothing of it begins until it is resumed. Then: windlass")
    record = either.json("show", "payments")
    assert (record["status"], record["issue"]) == ("Stopped", 'Paused by ann, 0 s ago: "audit"')
    assert "paused" in either.refused("run-now", "payments")
    assert either.shown("pause", "payments").startswith("Pipeline payments was paused before by ann.")
    assert either.shown("resume", "payments") == "Pipeline payments goes on; it is Idle.\n"
    assert either.shown("resume", "payments") == "Pipeline payments was not paused; it is Idle.\n"


def test_run_now_lets_it_check_before_its_time(either: Scene) -> None:
    play(either)
    assert either.shown("run-now", "payments") == "Pipeline payments checks now: poll.\n"
    assert play(either) == [8]


def test_an_input_nobody_wants_is_let_go(scene: Scene) -> None:
    play(scene, approval=True)
    said = scene.shown("skip", "payments", "--input", "7", "--by", "ann")
    assert said.startswith("1 event of pipeline payments skipped.")
    (listed,) = scene.json("inputs", "payments")["inputs"]
    assert listed["status"] == "skipped"
    scene.shown("publish", "orders", '{"id": 9}', "--id", "9")
    assert scene.json("skip", "payments", "--topic", "orders", "--event", "9")["skipped"] == 1
    assert "Name what to skip" in scene.refused("skip", "payments", exit_code=2)
    assert "Name what to skip" in scene.refused("skip", "payments", "--topic", "orders", exit_code=2)


def test_what_is_done_or_rejected_cannot_be_let_go_of_any_more(scene: Scene) -> None:
    play(scene, approval=True)
    scene.shown("reject", "payments")
    said = " ".join(scene.shown("skip", "payments", "--input", "7").split())
    told = "what was to be done about it is done, or was rejected, and that is brought to its end."
    assert said == f"1 event of pipeline payments is not skipped: {told}"


def test_a_payload_may_be_left_out_and_an_empty_one_is_a_slip(scene: Scene) -> None:
    play(scene, approval=True)
    scene.shown("publish", "orders", "--id", "9")
    assert "'' is no JSON" in scene.refused("publish", "orders", "", "--id", "10", exit_code=2)
    scene.shown("publish", "orders", '""', "--id", "11")

    assert [payload for payload in payloads(scene) if payload != {"id": 7}] == [None, ""]


def payloads(scene: Scene) -> list[Any]:
    """Of all events, in the order they came."""

    async def look(harness: Harness) -> list[Any]:
        query = ListEvents(namespace="default", pipeline="payments", topic="orders")
        events = (await harness.opened.pipelines.list_events(query)).events
        return [json.loads(event.payload) for event in events]

    return scene.play(look)


def test_explain_says_what_an_idle_pipeline_waits_for(either: Scene) -> None:
    play(either)
    told = " ".join(either.shown("explain", "payments").split())
    assert told.startswith("· Idle payments Nothing has been due since 00:00:00 UTC")
    assert "'poll' begins at 00:05:00 UTC, in 5 min." in told
    assert "No live worker serves this revision of it: windlass --url" in told
    record = either.json("explain", "payments")
    assert (record["pipeline"], record["status"], record["code"]) == ("payments", "Idle", "idle")


def test_a_paused_queue_is_named(scene: Scene) -> None:
    play(scene)
    scene.shown("pause", "--queue", "default", "--by", "ann")
    scene.shown("run-now", "payments")
    record = scene.json("explain", "payments")
    assert record["code"] == "gate_closed"
    assert "Queue 'default' has been paused by ann" in record["text"]


@pytest.mark.parametrize(
    "command",
    [
        ["show"],
        ["explain"],
        ["pause"],
        ["resume"],
        ["retry"],
        ["approve"],
        ["reject"],
        ["run-now"],
        ["inputs"],
    ],
)
def test_a_pipeline_that_does_not_exist_has_a_neighbour(scene: Scene, command: list[str]) -> None:
    play(scene)
    said = scene.refused(*command, "paymnets")
    assert said.startswith("pipeline 'paymnets' does not exist. Did you mean 'payments'?")


def test_what_is_for_runs_only_is_refused(scene: Scene) -> None:
    play(scene)
    assert "--if-fails is for graphs" in scene.refused("show", "payments", "--if-fails", "x", exit_code=2)
    assert "--step is for runs" in scene.refused("approve", "payments", "--step", "x", exit_code=2)
    assert "begins with run_" in scene.refused("show", "a b", exit_code=2)


def test_a_run_is_still_a_run(scene: Scene) -> None:
    async def story(harness: Harness) -> str:
        order = harness.app.workflow(returns("done"))
        handle = await harness.start(order)
        await harness.idle()
        return handle.id

    run_id = scene.play(story)
    assert scene.json("show", run_id)["id"] == run_id
    assert scene.json("show", run_id.removeprefix("run_"))["id"] == run_id
    assert "--runs is for pipelines" in scene.refused("show", run_id, "--runs", exit_code=2)
    assert "--release is for pipelines" in scene.refused("reject", run_id, "--release", exit_code=2)
    assert "--note is not kept of a run" in scene.refused("resume", run_id, "--note", "x", exit_code=2)
    assert "does not exist" in scene.refused("show", "hrn_" + run_id.removeprefix("run_"))


def test_everything_has_json(scene: Scene) -> None:
    play(scene)
    for command in (["pause", "payments"], ["resume", "payments"], ["run-now", "payments"], ["show", "payments"]):
        assert json.loads(scene.shown(*command, "--json"))["name"] == "payments"
