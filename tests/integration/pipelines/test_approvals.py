"""What does a person approve, what follows a yes and a no, and who may say it twice?"""

from __future__ import annotations

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness
from tests.integration.pipelines.till import Order, Receipt, Till, World, until_declared
from windlass.errors import NotFound, WrongState
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # the same over the wire is in tests/integration/server


@pytest.mark.spec("pipelines:63", "pipelines:67", "pipelines:99", "pipelines:107")
async def test_what_was_prepared_waits_for_a_person_with_its_events_reserved(harness: Harness) -> None:
    world = World()
    till = await Till(harness, world, approval=True, on_attention=world.told.append).deployed()
    await till.settle("a", "b")
    (run,) = await till.runs()

    assert (run.phase, run.status, run.title, run.failure) == ("prepared", "paused:approval", "Charge a", None)
    assert world.journal == ["prepare"]
    assert await till.standing() == ("attention", "approval")
    assert await till.events() == {"a": ("reserved", 1), "b": ("pending", 1)}
    assert [(it.issue, it.phase, it.status, it.run_id) for it in world.told] == [
        ("approval", "prepared", "paused:approval", run.id)
    ]
    await till.advance("30d")
    assert world.journal == ["prepare"]
    assert await till.standing() == ("attention", "approval")


@pytest.mark.spec("pipelines:64", "pipelines:99")
async def test_a_yes_resumes_the_same_attempt_with_what_was_approved(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")
    (waiting,) = await till.runs()
    await till.app.publish(till.orders, Order("a", 1_000_000), id="a")  # later than what is approved
    await till.app.pipelines.approve("payments", run_id=waiting.id, by="ann", note="fine")
    await harness.idle()
    (run,) = await till.runs()

    assert (run.id, run.status, run.attempt) == (waiting.id, "committed", 1)
    assert (run.decided_by, run.note) == ("ann", "fine")
    assert till.world.journal == ["prepare", "mutate", "charge", "next"]
    assert till.world.handed == [(Order("a"), "success", Receipt("a", till.world.keys[0]))]
    assert await till.events() == {"a": ("consumed", 1)}


@pytest.mark.spec("pipelines:99")
async def test_a_no_skips_the_events_and_next_is_told(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")
    await till.app.pipelines.reject("payments", by="bob", note="too dear")
    await harness.idle()
    first, second = await till.runs()

    assert till.world.journal == ["prepare", "next"]
    assert till.world.handed == [(Order("a"), "skipped", None)]
    assert (first.outcome, first.decided_by, first.note) == ("skipped", "bob", "too dear")
    assert (second.retry_of, second.status, second.outcome) == (first.id, "committed", "skipped")
    assert await till.events() == {"a": ("skipped", 1)}
    assert await till.standing() == ("idle", None)


@pytest.mark.spec("pipelines:99")
async def test_a_no_may_give_the_events_back_which_are_looked_at_when_there_is_news(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")
    await till.app.pipelines.reject("payments", release=True, by="bob")
    await harness.idle()

    assert await till.events() == {"a": ("pending", 2)}
    assert till.world.journal == ["prepare"]
    assert await till.standing() == ("idle", None)
    await till.settle("b")
    (_, second) = await till.runs()
    assert (second.status, [item.id for item in second.reserved]) == ("paused:approval", ["a"])


@pytest.mark.spec("pipelines:24", "pipelines:99")
async def test_events_that_a_no_gives_back_stand_behind_the_others_and_each_is_asked_for_once(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a", "b")
    assert await _asked(till) == ["a"]
    for released, following in [("a", ["b"]), ("b", None)]:
        await till.app.pipelines.reject("payments", release=True, by="bob")
        await harness.idle()
        assert await _asked(till) == following, released
    assert await till.standing() == ("idle", None)
    assert await till.events() == {"a": ("pending", 2), "b": ("pending", 2)}
    await till.settle("c")
    asked = []
    while (found := await _asked(till)) is not None:
        asked += found
        await till.app.pipelines.reject("payments", release=True, by="bob")
        await harness.idle()

    assert asked == ["a", "b", "c"]
    assert till.world.count("prepare") == 5


async def _asked(till: Till) -> list[str] | None:
    """Which events wait for a person, if any do."""
    if await till.standing() != ("attention", "approval"):
        return None
    return [item.id for item in (await till.runs())[-1].reserved]


@pytest.mark.spec("pipelines:24", "pipelines:99")
async def test_code_that_insists_on_events_that_a_no_gave_back_is_not_asked_in_a_loop(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()

    async def insist(ctx: windlass.PrepareContext) -> windlass.Reserve:
        (event,) = [event for event in await ctx.peek(till.orders) if event.id == "a"]
        return windlass.Reserve([event], data=event.payload)

    till.world.plan(prepare=[insist] * 9)
    await till.settle("a", "b")
    for following in (["a"], None):  # it looks again because of the other event, and then has seen everything
        await till.app.pipelines.reject("payments", release=True, by="bob")
        await harness.idle()
        assert await _asked(till) == following
    assert await till.events() == {"a": ("pending", 3), "b": ("pending", 1)}


@pytest.mark.spec("pipelines:99")
async def test_events_that_the_engine_reserves_wait_for_a_person_as_well(harness: Harness) -> None:
    app, seen = harness.app, list[list[str]]()
    orders = app.topic("order.paid", Order)
    careful = app.pipeline("careful")

    @careful.consumer(orders, batch=2, approval=True)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Order]]) -> None:
        seen.append([event.id for event in events])

    await until_declared(harness, "careful")
    await app.pipelines.pause("careful")
    for id in ("a", "b", "c"):
        await app.publish(orders, Order(id), id=id)
    await app.pipelines.resume("careful")
    await harness.idle()
    assert seen == []
    await app.pipelines.approve("careful")
    await harness.idle()
    assert seen == [["a", "b"]]
    await app.pipelines.approve("careful")
    await harness.idle()
    assert seen == [["a", "b"], ["c"]]


@pytest.mark.spec("pipelines:99")
async def test_a_function_is_not_called_with_events_that_a_person_rejected(harness: Harness) -> None:
    app, seen = harness.app, list[list[str]]()
    orders, done = app.topic("order.paid", Order), app.topic("done", str)
    careful = app.pipeline("careful")

    @careful.consumer(orders, approval=True, publishes=[done])
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Order]]) -> None:
        seen.append([event.id for event in events])

    await until_declared(harness, "careful")
    await app.publish(orders, Order("a"), id="a")
    await harness.idle()
    await app.pipelines.reject("careful", by="ann")
    await harness.idle()

    assert seen == []
    (run,) = (await app.pipelines.runs("careful"))[:1]
    assert (run.status, run.outcome, run.decided_by) == ("committed", "skipped", "ann")
    await app.publish(orders, Order("b"), id="b")
    await harness.idle()
    await app.pipelines.approve("careful", by="ann")
    await harness.idle()
    assert seen == [["b"]]


@pytest.mark.spec("pipelines:99")
async def test_what_was_rejected_holds_nobody_up_though_its_code_is_gone(open_shared: OpenHarness) -> None:
    world = World()
    till = await Till.restarted(open_shared, world, approval=True)
    await till.settle("a")
    assert await till.standing() == ("attention", "approval")
    await till.harness.aclose()
    app, seen = windlass.App(), list[str]()
    others = app.topic("other", str)

    @app.pipeline("payments").consumer(others)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None:
        seen.extend(event.id for event in events)

    harness = await open_shared(app=app)
    await app.pipelines.reject("payments", by="ann")
    await app.publish(others, "x", id="x")
    await harness.idle()

    assert seen == ["x"]
    rejected = [run for run in await app.pipelines.runs("payments") if run.handler == "Charge"]
    assert ("committed", "skipped") in [(run.status, run.outcome) for run in rejected]


@pytest.mark.spec("pipelines:99")
async def test_a_decision_is_made_once(idle_harness: Harness) -> None:
    till = Till(idle_harness, approval=True)
    async with till.app.worker():
        await until_declared(idle_harness, "payments")
        await till.publish("a")
        run = await till.until_stopped("paused:approval")
    # Nobody is at work any more, so that what was decided is not taken up.
    await till.app.pipelines.approve("payments", by="ann")
    before = await till.runs()
    await till.app.pipelines.approve("payments", by="ann")
    await till.app.pipelines.approve("payments", run_id=run.id, by="ann")
    for said in (
        till.app.pipelines.reject("payments", by="ann"),
        till.app.pipelines.approve("payments", by="bob"),
        till.app.pipelines.approve("payments", run_id="hrn_" + "0" * 26, by="ann"),
    ):
        with pytest.raises(WrongState, match="waits for an approval"):
            await said
    assert await till.runs() == before


async def test_a_decision_about_another_attempt_changes_nothing(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")
    with pytest.raises(WrongState, match="waits for an approval"):
        await till.app.pipelines.approve("payments", run_id="hrn_" + "0" * 26)

    assert await till.path() == [("prepared", "paused:approval")]


async def test_where_nothing_waits_there_is_nothing_to_decide(harness: Harness) -> None:
    till = await Till(harness).deployed()

    with pytest.raises(WrongState, match="'payments' is idle; one that waits for an approval was expected"):
        await till.app.pipelines.approve("payments")
    with pytest.raises(WrongState, match="waits for an approval"):
        await till.app.pipelines.reject("payments")
    with pytest.raises(NotFound, match="payment") as missing:
        await till.app.pipelines.approve("paymemts")
    assert "payments" in str(missing.value)


@pytest.mark.spec("pipelines:99")
async def test_resuming_and_retrying_are_no_decision(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")

    for said in (till.app.pipelines.resume("payments"), till.app.pipelines.retry("payments")):
        with pytest.raises(WrongState, match="windlass approve payments"):
            await said
    assert await till.path() == [("prepared", "paused:approval")]


async def test_a_person_who_approves_while_it_is_paused_is_heard_when_it_is_resumed(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")
    await till.app.pipelines.pause("payments")
    await till.app.pipelines.approve("payments", by="ann")
    await harness.idle()
    assert till.world.journal == ["prepare"]
    await till.app.pipelines.resume("payments")
    await harness.idle()

    assert till.world.noted == ["a"]


@pytest.mark.spec("pipelines:89", "pipelines:99")
async def test_a_death_behind_a_yes_asks_again_for_what_is_prepared_anew(harness: Harness, gate: Gate) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")
    till.world.plan(mutate=gate)
    await till.app.pipelines.approve("payments", by="ann")
    await gate.reached()
    harness.crash()
    await harness.idle()

    assert await till.path() == [("prepared", "crashed"), ("prepared", "paused:approval")]
    assert till.world.count("charge") == 0
    await till.app.pipelines.approve("payments", by="ann")
    await harness.idle()
    assert till.world.noted == ["a"]


@pytest.mark.spec("pipelines:99")
async def test_what_waits_for_a_person_outlives_a_restart(open_shared: OpenHarness) -> None:
    world = World()
    till = await Till.restarted(open_shared, world, approval=True)
    await till.settle("a")
    await till.harness.aclose()

    till = await Till.restarted(open_shared, world, approval=True)
    await till.app.pipelines.approve("payments")
    await till.harness.idle()
    assert world.noted == ["a"]
    assert world.count("charge") == 1
