"""What becomes of an attempt whose worker dies or stalls, in each of its phases?"""

from __future__ import annotations

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.integration.pipelines.till import Order, Receipt, Till, World, pass_time
from windlass.testing.harness import Harness

HAPPENED = windlass.Happened(Receipt("a", "found"))


@pytest.mark.spec("pipelines:87", "pipelines:88", "pipelines:89", "pipelines:92")
@pytest.mark.parametrize(("code", "phase"), [("prepare", "preparing"), ("mutate", "prepared")])
async def test_a_death_ahead_of_the_effect_costs_one_attempt_and_begins_anew(
    harness: Harness, gate: Gate, code: str, phase: str
) -> None:
    till = await Till(harness).deployed()
    till.world.plan(**{code: gate})
    await till.publish("a")
    await gate.reached()
    await till.until_active(phase)
    harness.crash()
    await harness.idle()
    first, second = await till.runs()

    assert (first.phase, first.status) == (phase, "crashed")
    assert (second.retry_of, second.attempt, second.status) == (first.id, 2, "committed")
    assert till.world.count("prepare") == 2
    assert till.world.count("charge") == 1
    assert await till.events() == {"a": ("consumed", 1 if code == "prepare" else 2)}


@pytest.mark.spec("pipelines:87", "pipelines:88", "pipelines:90", "pipelines:92", "invariants:I-39")
@pytest.mark.parametrize("has_happened", [True, False])
async def test_a_death_inside_of_the_effect_is_followed_by_reconciliation(
    harness: Harness, gate: Gate, has_happened: bool
) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=gate, reconcile=HAPPENED if has_happened else windlass.DidNotHappen())
    await till.publish("a")
    await gate.reached()
    harness.crash()
    await harness.idle()
    crashed, doubtful, last = await till.runs()

    assert (crashed.phase, crashed.status) == ("mutating", "crashed")
    assert (doubtful.retry_of, doubtful.status) == (crashed.id, "paused:reconciliation")
    assert (last.retry_of, last.status, last.attempt) == (doubtful.id, "committed", 3)
    if has_happened:
        assert till.world.journal == ["prepare", "mutate", "charge", "reconcile", "next"]
        assert till.world.handed == [(Order("a"), "success", Receipt("a", "found"))]
        assert (await till.view(crashed)).data == (await till.view(doubtful)).data == (await till.view(last)).data
    else:
        assert till.world.count("prepare") == till.world.count("charge") == 2
        assert len(set(till.world.keys)) == 1
    assert till.world.asked == till.world.keys[:1]


@pytest.mark.spec("pipelines:90", "pipelines:107")
async def test_a_death_inside_of_an_effect_that_nobody_can_ask_about_is_for_a_person(
    harness: Harness, gate: Gate
) -> None:
    told: list[windlass.Problem] = []
    till = await Till(harness, has_reconcile=False, on_attention=told.append).deployed()
    till.world.plan(charge=gate)
    await till.publish("a")
    await gate.reached()
    harness.crash()
    await harness.idle()

    assert [(problem.issue, problem.status) for problem in told] == [("indeterminate", "paused:reconciliation")]
    assert await till.path() == [("mutating", "crashed"), ("mutating", "paused:reconciliation")]
    assert await till.standing() == ("attention", "indeterminate")
    assert await till.events() == {"a": ("reserved", 1)}
    await till.app.pipelines.resolve("payments", "happened", result=Receipt("a", "by hand"), by="ann")
    await harness.idle()
    assert till.world.handed == [(Order("a"), "success", Receipt("a", "by hand"))]


@pytest.mark.spec("pipelines:74", "pipelines:87", "pipelines:88", "pipelines:91", "pipelines:92", "invariants:I-38")
async def test_a_death_behind_the_effect_goes_on_with_what_it_returned(harness: Harness, gate: Gate) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=gate)
    await till.publish("a")
    await gate.reached()
    await till.until_active("mutated")
    harness.crash()
    await harness.idle()
    first, second = await till.runs()
    before, after = await till.view(first), await till.view(second)

    assert (first.phase, first.status) == ("mutated", "crashed")
    assert (second.retry_of, second.status) == (first.id, "committed")
    assert till.world.journal == ["prepare", "mutate", "charge", "next", "next"]
    assert (before.data, before.result) == (after.data, after.result)
    assert till.world.handed == [(Order("a"), "success", Receipt("a", till.world.keys[0]))] * 2
    assert till.world.noted == ["a"]
    assert await till.events() == {"a": ("consumed", 1)}


@pytest.mark.spec("pipelines:88", "pipelines:92")
async def test_a_producer_that_dies_with_its_worker_begins_anew(harness: Harness, gate: Gate) -> None:
    app, world = harness.app, World()
    numbers = app.topic("number", int)
    counting = app.pipeline("counting")
    world.plan(poll=gate)

    @counting.producer(every="1h", publishes=[numbers])
    async def poll(ctx: windlass.ProducerContext, state: int | None) -> int:
        world.states.append(state)
        ctx.publish(numbers, 1, id="1")
        await world.act("poll")
        return 1

    await gate.reached()
    harness.crash()
    await harness.idle()
    second, first = await app.pipelines.runs("counting")

    assert (first.phase, first.status) == ("executing", "crashed")
    assert (second.retry_of, second.status) == (first.id, "committed")
    assert world.states == [None, None]


@pytest.mark.spec("pipelines:90", "invariants:I-39")
async def test_nobody_asks_about_an_effect_while_a_worker_that_stalled_may_be_inside(
    open_shared: OpenHarness, gate: Gate
) -> None:
    world = World()
    first = await Till.restarted(open_shared, world)
    world.plan(charge=gate, reconcile=HAPPENED)
    await first.publish("a")
    await gate.reached()
    second = await Till.restarted(open_shared, world, is_beside=True)
    await pass_time(first.harness, "300s")  # the claim has run out
    await gate.left()

    async def is_taken_over() -> bool:
        return [run.status for run in await second.runs()][-1:] == ["paused:reconciliation"]

    await eventually(is_taken_over, what="another worker has taken over")
    assert world.count("reconcile") == 0
    assert await second.due_in() == 60  # the time-out of the effect
    await second.advance("60s")
    assert world.count("reconcile") == 1
    assert world.count("charge") == 1
    assert world.noted == ["a"]


@pytest.mark.spec("pipelines:102", "pipelines:109")
async def test_a_handler_that_takes_every_worker_down_is_for_a_person(harness: Harness) -> None:
    told: list[windlass.Problem] = []
    till = await Till(harness, on_attention=told.append).deployed()
    gates = [Gate() for _ in range(20)]
    till.world.plan(prepare=[*gates])
    await till.publish("a")
    deaths = 0
    while await till.standing() != ("attention", "crash_loop"):
        await gates[deaths].reached()
        harness.crash()
        await harness._settle_takeovers()
        deaths += 1

        async def has_begun_again(deaths: int = deaths) -> bool:
            return gates[deaths].entries > 0 or (await till.standing())[0] == "attention"

        await eventually(has_begun_again, what="it is tried again, or for a person")

    assert [run.status for run in await till.runs()] == ["crashed"] * deaths
    assert await till.events() == {"a": ("pending", 1)}
    await eventually(lambda: len(told) > 0, what="people are told")
    assert [(problem.issue, problem.handler, problem.attempt) for problem in told] == [("crash_loop", "Charge", deaths)]
    assert told[0].failure is not None and f"lost {deaths} times" in told[0].failure.message
    till.world.plans.clear()
    await till.app.pipelines.resume("payments")
    await harness.idle()
    assert till.world.noted == ["a"]
