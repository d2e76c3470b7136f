"""Does a pipeline stay sound where deploys, lost answers and gone code meet attempts that are at work?"""

from __future__ import annotations

import asyncio

import pytest

import windlass
from tests.integration.conftest import AnswerLost, Gate, OpenHarness, eventually
from tests.integration.pipelines.handlers import Chooser, add_producer, add_taker, everything, nothing
from tests.integration.pipelines.looking import (
    attempts,
    handler_of,
    jump,
    look,
    stands,
    until_quiet,
)
from tests.integration.pipelines.till import NAME, Order, Receipt, Till, World, refusal
from tests.programs import passes_to, returns
from tests.scale import SCALE
from windlass import App, Topic
from windlass.errors import Unavailable
from windlass.store.base import NoHooks
from windlass.testing.harness import Harness


class Program:
    """One version of a program: an app with the pipeline "desk"."""

    def __init__(self) -> None:
        self.app, self.ran = App(), list[str]()
        self.topic: Topic[int] = self.app.topic("number", int)
        self.other: Topic[int] = self.app.topic("other", int)
        self.pipeline = self.app.pipeline("desk")

    async def run(self, opened: OpenHarness) -> Harness:
        harness = await opened(app=self.app)
        await until_quiet(harness)
        return harness


# --- code that is gone ------------------------------------------------------------------------------------------------


async def test_a_wake_of_code_that_chose_does_not_keep_code_awake_that_does_not(open_shared: OpenHarness) -> None:
    before = Program()
    Chooser(lambda found: windlass.Idle(wake_in="1h")).add_to(before.pipeline, before.topic)
    harness = await before.run(open_shared)
    await harness.aclose()

    after = Program()
    add_taker(after.pipeline, after.topic, after.ran, "choose")
    harness = await after.run(open_shared)
    await jump(harness, "2h")
    await until_quiet(harness)

    token = (await look(harness, "desk")).pipeline.token
    assert (await look(harness, "desk")).pipeline.available_at is None
    await harness.app.publish(after.topic, 1, id="a")
    await until_quiet(harness)
    assert after.ran == ["choose a"]
    assert (await look(harness, "desk")).pipeline.token <= token + 2


async def test_an_effect_that_happened_waits_for_its_code_if_that_is_gone(open_shared: OpenHarness) -> None:
    world = World()
    till = await Till.restarted(open_shared, world)
    world.plan(next=refusal("transient"))
    await till.settle("a")
    assert await till.standing() == ("backoff", None)
    await till.harness.aclose()

    app = App()
    pipeline = app.pipeline(NAME)
    orders = app.topic("order.other", int)
    add_taker(pipeline, orders, list[str]())
    harness = await open_shared(app=app)
    harness.clock.advance("1h")
    await harness.idle()
    view = await look(harness, NAME)
    assert (view.pipeline.status, view.pipeline.issue) == ("attention", "logic")
    assert view.run is not None and view.run.failure is not None
    assert "Charge" in view.run.failure.message
    assert len(await attempts(harness, NAME)) <= 4
    assert await stands(harness, NAME) == {"a": "reserved"}
    await harness.aclose()

    till = await Till.restarted(open_shared, world)
    assert world.count("charge") == 1
    assert world.handed[-1][1:] == ("success", Receipt("a", world.keys[0]))
    assert await till.events() == {"a": ("consumed", 1)}


async def test_a_reconcile_that_is_gone_is_asked_in_vain_and_then_a_person_is(open_shared: OpenHarness) -> None:
    world = World()
    till = await Till.restarted(open_shared, world)
    world.plan(charge=ConnectionError("gone"))  # and reconcile does not know
    world.plan(reconcile=windlass.Unknown())
    await till.settle("a")
    assert await till.standing() == ("reconciling", None)
    await till.harness.aclose()

    app = App()
    orders = app.topic("order.paid", int)
    add_taker(app.pipeline(NAME), orders, list[str](), "other")
    harness = await open_shared(app=app)
    for _ in range(6):
        await harness.advance("10m")
    view = await look(harness, NAME)
    assert (view.pipeline.status, view.pipeline.issue) == ("attention", "indeterminate")
    assert view.pipeline.token < 20
    assert await stands(harness, NAME) == {"a": "reserved"}


async def test_what_is_approved_waits_for_its_code_if_that_is_gone(open_shared: OpenHarness) -> None:
    world = World()
    till = await Till.restarted(open_shared, world, approval=True)
    await till.settle("a")
    assert await till.standing() == ("attention", "approval")
    await till.app.pipelines.pause(NAME)
    await till.app.pipelines.approve(NAME, by="ann")
    await till.harness.aclose()

    app = App()
    add_taker(app.pipeline(NAME), app.topic("order.other", int), list[str]())
    harness = await open_shared(app=app)
    await harness.app.pipelines.resume(NAME)
    await harness.idle()
    view = await look(harness, NAME)
    assert (view.pipeline.status, view.pipeline.issue) == ("attention", "logic")
    assert await stands(harness, NAME) == {"a": "pending"}
    await harness.app.pipelines.resume(NAME)  # it is let go: nothing of it has happened
    await harness.idle()
    view = await look(harness, NAME)
    assert (view.pipeline.status, view.pipeline.run_id) == ("idle", None)
    assert world.count("charge") == 0


async def test_a_handler_that_is_taken_away_while_it_is_repaired_holds_nobody(
    open_shared: OpenHarness, gate: Gate
) -> None:
    async def repair(problem: windlass.Problem) -> windlass.Fixed:
        await gate.wait()
        return windlass.Fixed()

    before, broken = Program(), Chooser(everything)
    before.pipeline = before.app.pipeline("mended", on_logic_error=repair)
    broken.add_to(before.pipeline, before.topic)
    old = await open_shared(app=before.app)
    await old.idle()
    broken.error = TypeError("a bug")
    await old.app.publish(before.topic, 1, id="a")
    await gate.reached()

    after = Program()
    add_taker(after.app.pipeline("mended"), after.topic, after.ran)
    new = await open_shared(app=after.app)
    await eventually(lambda: _has(after.ran, "take a"), what="the other one has taken it")
    gate.open()
    await new.idle()
    assert (await look(new, "mended")).pipeline.status == "idle"
    assert after.ran == ["take a"]


async def _has(ran: list[str], item: str) -> bool:
    return item in ran


# --- code that is new while the old is at work ------------------------------------------------------------------------


async def test_old_code_that_fails_behind_a_deploy_is_tried_again_with_the_new(
    open_shared: OpenHarness, gate: Gate
) -> None:
    before, broken = Program(), Chooser(everything)
    broken.add_to(before.pipeline, before.topic)
    old = await before.run(open_shared)
    broken.prepare_gate, broken.error = gate, TypeError("a bug")
    await old.app.publish(before.topic, 1, id="a")
    await gate.reached()

    after = Program()
    add_taker(after.pipeline, after.topic, after.ran, "choose")
    new = await open_shared(app=after.app)
    await asyncio.sleep(0)
    gate.open()
    await until_quiet(new)

    assert (await look(new, "desk")).pipeline.status == "idle"
    assert after.ran == ["choose a"]
    found = {item.id: item for item in await attempts(new, "desk")}
    again = next(item for item in found.values() if item.retry_of is not None)
    assert (found[again.retry_of or ""].status, again.status) == ("failed:logic", "committed")


async def test_changed_code_begins_at_once_though_the_old_was_at_work_when_it_came(
    open_shared: OpenHarness, gate: Gate
) -> None:
    before = Program()
    add_producer(before.pipeline, before.other, before.ran, every="24h", gate=gate, is_silent=True)
    Chooser(nothing).add_to(before.pipeline, before.topic)
    await open_shared(app=before.app)
    await gate.reached()

    after, chooser = Program(), Chooser(nothing)
    add_producer(after.pipeline, after.other, after.ran, every="12h", is_silent=True)
    chooser.add_to(after.pipeline, after.topic)
    new = await open_shared(app=after.app)
    new.clock.advance("1s")
    gate.open()
    await until_quiet(new)

    assert after.ran == ["poll"]
    assert (await handler_of(new, "desk", "poll")).next_at == new.clock.now() + 12 * 3_600_000_000


async def test_a_changed_consumer_looks_at_once_though_the_old_was_at_work_when_it_came(
    open_shared: OpenHarness, gate: Gate
) -> None:
    before, old = Program(), Chooser(nothing)
    old.add_to(before.pipeline, before.topic)
    harness = await before.run(open_shared)
    old.prepare_gate = gate
    await harness.app.publish(before.topic, 1, id="a")
    await gate.reached()

    after = Program()
    add_taker(after.pipeline, after.topic, after.ran, "choose")
    new = await open_shared(app=after.app)
    gate.open()
    await until_quiet(new)
    assert after.ran == ["choose a"]


# --- user code that meets a store which is away -----------------------------------------------------------------------


async def test_a_store_that_is_away_for_the_code_of_a_handler_is_a_failure_that_passes(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=windlass.Unavailable("another store is away"))
    await till.settle("a")

    assert (await till.standing())[0] == "backoff"
    assert [status for _, status in await till.path()] == ["paused:transient"]
    await till.advance("10s")
    assert await till.events() == {"a": ("consumed", 1)}
    assert till.world.count("charge") == 1


# --- publishing -------------------------------------------------------------------------------------------------------


async def test_of_two_that_publish_one_id_at_the_same_time_one_is_told_of_a_repeat(harness: Harness) -> None:
    ran = list[str]()
    topic = harness.app.topic("number", int)
    add_taker(harness.app.pipeline("desk"), topic, ran)
    await until_quiet(harness)
    answers = await asyncio.gather(*(harness.app.publish(topic, 1, id="a") for _ in range(3)))
    await until_quiet(harness)
    assert sorted(answer.is_repeat for answer in answers) == [False, True, True]
    assert ran == ["take a"]


async def test_what_is_published_does_not_send_a_pipeline_that_is_due_to_the_end_of_the_queue(
    idle_harness: Harness,
) -> None:
    harness, ran = idle_harness, list[str]()
    topic = harness.app.topic("number", int)
    add_taker(harness.app.pipeline("desk"), topic, ran)
    await harness.app.publish(topic, 1, id="a")
    due = (await look(harness, "desk")).pipeline.available_at
    harness.clock.advance("1m")
    await harness.app.publish(topic, 2, id="b")
    assert (await look(harness, "desk")).pipeline.available_at == due


@pytest.mark.parametrize("name", ["run_0123456789ABCDEFGHJKMNPQRS"])
async def test_no_pipeline_is_called_like_a_run(name: str) -> None:
    with pytest.raises(windlass.InvalidInput):
        App().pipeline(name)


# --- a repeat after a lost answer -------------------------------------------------------------------------------------


async def _is_idle(till: Till) -> bool:
    return (await till.standing())[0] == "idle"


async def test_a_word_about_one_call_is_never_taken_for_a_word_about_the_next(open_harness: OpenHarness) -> None:
    hooks = AnswerLost("resolve_effect")
    till = await Till(await open_harness(hooks=hooks), has_reconcile=False).deployed()
    till.world.plan(charge=[ConnectionError("gone"), ConnectionError("gone again")])
    await till.settle("a")
    assert await till.standing() == ("attention", "indeterminate")
    hooks.is_armed = True
    saying = asyncio.ensure_future(till.app.pipelines.resolve(NAME, "did_not_happen", by="ann"))
    await eventually(lambda: _is_idle(till), what="it is said")
    await till.publish("b")  # whoever waits for work hears of this

    async def is_in_doubt_again() -> bool:
        return till.world.count("charge") == 2 and await till.standing() == ("attention", "indeterminate")

    await eventually(is_in_doubt_again, what="the second call is in doubt")
    till.harness.clock.advance("1s")
    said = await saying
    await till.harness.idle()

    assert till.world.count("charge") == 2
    assert await till.standing() == ("attention", "indeterminate")
    assert said.status == "failed"


async def test_an_approval_of_one_attempt_is_never_taken_for_that_of_the_next(open_harness: OpenHarness) -> None:
    hooks = AnswerLost("decide_handler")
    till = await Till(await open_harness(hooks=hooks), approval=True).deployed()
    await till.settle("a", "b")
    assert await till.standing() == ("attention", "approval")
    hooks.is_armed = True
    saying = asyncio.ensure_future(till.app.pipelines.approve(NAME, by="ann"))
    await eventually(lambda: _is_idle(till), what="it is approved")
    await till.publish("c")

    async def is_asked_again() -> bool:
        return till.world.count("charge") == 1 and await till.standing() == ("attention", "approval")

    await eventually(is_asked_again, what="the second one waits")
    till.harness.clock.advance("1s")
    await saying
    await till.harness.idle()

    assert till.world.count("charge") == 1
    assert await till.standing() == ("attention", "approval")


async def test_a_word_about_one_call_of_a_run_is_never_taken_for_a_word_about_the_next(
    open_harness: OpenHarness,
) -> None:
    hooks = AnswerLost("resolve_effect")
    harness = await open_harness(hooks=hooks)
    world = World()
    world.plan(charge=[ConnectionError("gone"), ConnectionError("gone again")])

    @harness.app.effect
    async def charge(id: str) -> str:
        await world.act("charge")
        return id

    buy = harness.app.workflow(passes_to(charge))
    other = harness.app.workflow(returns(None))
    handle = await harness.app.start(buy, "a")
    await harness.until(handle, "paused")
    hooks.is_armed = True
    saying = asyncio.ensure_future(harness.app.pipelines.resolve(handle.id, "did_not_happen", by="ann"))

    async def is_in_doubt_again() -> bool:
        if not hooks.is_armed and world.count("charge") == 1:
            await harness.app.start(other)  # whoever waits for work hears of this
        return world.count("charge") == 2 and await handle.status() == "paused"

    await eventually(is_in_doubt_again, what="the second call is in doubt")
    harness.clock.advance("1s")
    said = await saying
    await harness.idle()

    assert (said.status, await handle.status(), world.count("charge")) == ("failed", "paused", 2)


class NthLost(NoHooks):
    """Loses the answer to one transaction of many, after it was committed."""

    def __init__(self, transaction: str) -> None:
        self.transaction, self.left = transaction, -1

    def after_commit(self, name: str) -> None:
        if self.left >= 0 and name == self.transaction:
            self.left -= 1
            if self.left < 0:
                raise Unavailable("The answer was lost.")


@pytest.mark.parametrize("place", range(5) if SCALE > 1 else (0, 1, 3))
@pytest.mark.parametrize("transaction", ["handler_operations", "claim_pipelines"])
@pytest.mark.parametrize("plan", ["slow", "doubt", "did_not", "transient", "approval"])
async def test_no_lost_answer_changes_what_happens(
    open_harness: OpenHarness, transaction: str, place: int, plan: str
) -> None:
    hooks = NthLost(transaction)
    till = await Till(await open_harness(hooks=hooks), approval=plan == "approval").deployed()
    world = till.world
    if plan == "doubt":
        world.plan(charge=ConnectionError("gone"), reconcile=[windlass.Unknown(), windlass.Happened(Receipt("a"))])
    if plan == "did_not":
        world.plan(charge=ConnectionError("gone"), reconcile=[windlass.Unknown(), windlass.DidNotHappen()])
    if plan == "transient":
        world.plan(next=refusal("transient"))
    if plan == "slow":
        world.plan(mutate=_Turns(), next=_Turns())
    hooks.left = place
    await till.publish("a", "b")

    async def is_done() -> bool:
        till.harness.clock.advance("100ms")
        if await till.standing() == ("attention", "approval"):
            await till.app.pipelines.approve(NAME, by="ann")
        return {status for status, _ in (await till.events()).values()} == {"consumed"} and sorted(world.noted) == [
            "a",
            "b",
        ]

    await eventually(is_done, what="both are charged")
    assert world.count("charge") == (3 if plan == "did_not" else 2)
    row = await till.row()
    assert (row.recoveries, row.run_id) == (0, None)
    crashed = [run for run in await till.runs() if run.status == "crashed"]
    assert crashed == []


class _Turns(Gate):
    """Code that takes a few turns of the loop."""

    async def wait(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


# --- more than a server can tell --------------------------------------------------------------------------------------


async def test_more_than_can_be_given_to_whoever_goes_on_is_refused_before_the_effect_is_called(
    harness: Harness,
) -> None:
    till = await Till(harness, batch=5).deployed()
    await till.app.pipelines.pause(NAME)
    for id in "abcde":
        await till.app.publish(till.orders, Order("x" * 1_700_000), id=id)
    await till.app.pipelines.resume(NAME)
    await until_quiet(harness)
    (run,) = await till.runs()

    assert till.world.count("charge") == 0
    assert await till.standing() == ("attention", "logic")
    assert run.failure is not None and "Reserve fewer events at a time" in run.failure.message
    assert {status for status, _ in (await till.events()).values()} == {"pending"}

    till.batch = 2
    await till.app.pipelines.retry(NAME)
    await until_quiet(harness)
    assert {status for status, _ in (await till.events()).values()} == {"consumed"}
