"""What happens to events that a person lets go of, wherever they are?"""

from __future__ import annotations

import asyncio

import pytest

import windlass
from tests.integration.conftest import AnswerLost, Gate, OpenHarness, eventually
from tests.integration.pipelines.test_inputs import paid, publish
from tests.integration.pipelines.till import Order, Receipt, Till, refusal
from windlass.engine.coordinator.prune import Prune
from windlass.errors import NotFound, WrongState
from windlass.model.time import DAY, Duration
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # what people ask of pipelines over the wire is in tests/integration/server


async def test_what_is_pending_is_skipped_and_never_looked_at(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    await publish(till, "a", "pi_1")
    await publish(till, "b", "pi_1")
    await publish(till, "c", "pi_2")
    said = await till.app.pipelines.skip_input("payments", paid("pi_1"), by="ann")
    await till.app.pipelines.resume("payments")
    await harness.idle()

    assert (said.skipped, said.aborted, said.finishing) == (2, None, 0)
    assert await till.events() == {"a": ("skipped", 1), "b": ("skipped", 1), "c": ("consumed", 1)}
    assert till.world.noted == ["c"]
    rows = {row.id: row.status for row in await till.app.pipelines.inputs("payments")}
    assert rows == {"pi_1": "skipped", "pi_2": "done"}


async def test_what_was_skipped_is_told_though_the_first_answer_of_the_store_was_lost(
    open_harness: OpenHarness, gate: Gate
) -> None:
    hooks = AnswerLost("skip_input")
    harness = await open_harness(hooks=hooks)
    till = await Till(harness).deployed()
    till.world.plan(mutate=gate)
    await publish(till, "a", "pi_1")
    await gate.reached()
    run = await till.until_active("prepared")
    await publish(till, "b", "pi_1")
    hooks.is_armed = True
    asking = asyncio.create_task(till.app.pipelines.skip_input("payments", paid("pi_1"), by="ann"))

    async def is_told() -> bool:
        harness.clock.advance("100ms")
        return asking.done()

    await eventually(is_told, what="it is asked again")
    gate.open()
    said = await asking
    assert (said.skipped, said.aborted, said.finishing) == (2, run.id, 0)


async def test_one_event_may_be_let_go_of(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    await till.publish("a", "b")
    said = await till.app.pipelines.skip_event("payments", till.orders, "a")
    await till.app.pipelines.resume("payments")
    await harness.idle()

    assert said.skipped == 1
    assert till.world.noted == ["b"]


async def test_an_attempt_that_has_done_nothing_yet_is_ended_and_its_other_events_go_back(
    harness: Harness, gate: Gate
) -> None:
    till = await Till(harness, batch=2).deployed()
    till.world.plan(mutate=gate)
    await till.app.pipelines.pause("payments")
    await publish(till, "a", "pi_1")
    await publish(till, "b", "pi_2")
    await till.app.pipelines.resume("payments")
    await gate.reached()
    run = await till.until_active("prepared")
    said = await till.app.pipelines.skip_input("payments", paid("pi_1"), by="ann")
    gate.open()
    await harness.idle()
    first, second = await till.runs()

    assert (said.skipped, said.aborted) == (1, run.id)
    assert (first.phase, first.status, first.decided_by) == ("prepared", "crashed", "ann")
    assert [item.id for item in second.reserved] == ["b"]
    assert await till.events() == {"a": ("skipped", 2), "b": ("consumed", 2)}
    assert till.world.count("charge") == 1
    assert till.world.noted == ["b"]


async def test_what_waits_for_an_approval_may_be_let_go_of(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await publish(till, "a", "pi_1")
    await harness.idle()
    (run,) = await till.runs()
    said = await till.app.pipelines.skip_input("payments", paid("pi_1"))
    await harness.idle()

    assert (said.skipped, said.aborted) == (1, run.id)
    assert await till.standing() == ("idle", None)
    assert (await till.events())["a"][0] == "skipped"
    assert till.world.count("mutate") == 0


async def test_an_event_that_goes_while_it_is_chosen_is_no_fault_of_the_code(harness: Harness, gate: Gate) -> None:
    till = await Till(harness).deployed()

    async def slowly(ctx: windlass.PrepareContext) -> windlass.Reserve:
        found = await ctx.peek(till.orders)
        await gate.wait()
        return windlass.Reserve(found, data=found[0].payload)

    till.world.plan(prepare=[slowly])
    await till.publish("a")
    await gate.reached()
    await till.app.pipelines.skip_event("payments", till.orders, "a")
    gate.open()
    await harness.idle()

    assert await till.path() == [("committed", "committed")]
    assert await till.events() == {"a": ("skipped", 1)}
    assert till.world.count("prepare") == 2
    assert till.world.count("charge") == 0


async def test_an_event_that_is_replaced_while_it_is_chosen_is_chosen_again(harness: Harness, gate: Gate) -> None:
    till = await Till(harness).deployed()

    async def slowly(ctx: windlass.PrepareContext) -> windlass.Reserve:
        found = await ctx.peek(till.orders)
        await gate.wait()
        return windlass.Reserve(found, data=found[0].payload)

    till.world.plan(prepare=[slowly])
    await till.publish("a")
    await gate.reached()
    await till.app.publish(till.orders, Order("a", 8), id="a")
    gate.open()
    await harness.idle()

    assert till.world.handed[0] == (Order("a", 8), "success", Receipt("a", till.world.keys[0]))
    assert till.world.count("charge") == 1
    assert till.world.count("prepare") >= 2


async def test_behind_the_effect_the_attempt_goes_on_to_its_end(harness: Harness, gate: Gate) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=gate)
    await publish(till, "a", "pi_1")
    await gate.reached()
    await till.until_active("mutated")
    said = await till.app.pipelines.skip_input("payments", paid("pi_1"))
    gate.open()
    await harness.idle()

    assert (said.skipped, said.aborted, said.finishing) == (0, None, 1)
    assert await till.events() == {"a": ("consumed", 1)}
    assert await till.path() == [("committed", "committed")]


async def test_a_next_that_failed_behind_its_effect_is_still_tried_again(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=refusal("transient"))
    await publish(till, "a", "pi_1")
    await harness.idle()
    said = await till.app.pipelines.skip_input("payments", paid("pi_1"))
    await till.advance("10s")

    assert said.finishing == 1
    assert await till.events() == {"a": ("consumed", 1)}


@pytest.mark.parametrize("is_active", [True, False])
async def test_an_effect_in_doubt_is_for_a_person_to_decide_first(
    harness: Harness, gate: Gate, is_active: bool
) -> None:
    till = await Till(harness, has_reconcile=False).deployed()
    till.world.plan(charge=gate if is_active else ConnectionError("reset"))
    await publish(till, "a", "pi_1")
    if is_active:
        await gate.reached()
    else:
        await harness.idle()
    with pytest.raises(WrongState, match="Ask again" if is_active else "windlass resolve payments"):
        await till.app.pipelines.skip_input("payments", paid("pi_1"))
    assert await till.events() == {"a": ("reserved", 1)}
    gate.open()
    await harness.idle()


async def test_an_effect_that_was_refused_did_not_happen_and_its_event_may_go(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=refusal("permission"))
    await publish(till, "a", "pi_1")
    await harness.idle()
    (run,) = await till.runs()
    said = await till.app.pipelines.skip_input("payments", paid("pi_1"))
    await harness.idle()

    assert (said.skipped, said.aborted) == (1, run.id)
    assert await till.standing() == ("idle", None)
    assert till.world.count("charge") == 1


async def test_what_failed_ahead_of_its_effect_may_go_and_the_retry_finds_nothing(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(mutate=refusal("logic"))
    await publish(till, "a", "pi_1")
    await harness.idle()
    said = await till.app.pipelines.skip_input("payments", paid("pi_1"))
    await till.app.pipelines.retry("payments")
    await harness.idle()

    assert said.skipped == 1
    assert await till.standing() == ("idle", None)
    assert (await till.events())["a"][0] == "skipped"
    assert till.world.count("charge") == 0


async def test_what_is_done_stays_done(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await publish(till, "a", "pi_1")
    await harness.idle()
    said = await till.app.pipelines.skip_input("payments", paid("pi_1"))

    assert (said.skipped, said.aborted, said.finishing) == (0, None, 0)
    assert await till.events() == {"a": ("consumed", 1)}


async def test_publishing_it_again_does_not_bring_back_what_was_let_go_of(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    await till.publish("a")
    await till.app.pipelines.skip_event("payments", till.orders, "a")
    await till.app.pipelines.resume("payments")
    await till.settle("a")

    assert await till.events() == {"a": ("skipped", 1)}
    assert till.world.count("charge") == 0


async def test_what_is_not_there_cannot_be_let_go_of(harness: Harness) -> None:
    till = await Till(harness).deployed()
    with pytest.raises(NotFound, match="Input"):
        await till.app.pipelines.skip_input("payments", paid("pi_0"))
    with pytest.raises(NotFound, match="Event"):
        await till.app.pipelines.skip_event("payments", "order.paid", "nobody")
    with pytest.raises(NotFound, match=r"paymemts.*payments"):
        await till.app.pipelines.skip_event("paymemts", "order.paid", "a")


async def test_what_was_let_go_of_is_removed_when_it_is_old_enough(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause("payments")
    await publish(till, "a", "pi_1")
    await till.app.pipelines.skip_input("payments", paid("pi_1"))
    await till.app.pipelines.resume("payments")
    await till.publish("b")
    await harness.idle()
    harness.clock.advance("2d")

    prune = Prune(harness.opened.engine.parts, keep_for=Duration(DAY), batch=100)
    while await prune.tick():
        continue

    assert await till.events() == {}
    assert await till.app.pipelines.inputs("payments") == []
    assert await till.runs() == []
