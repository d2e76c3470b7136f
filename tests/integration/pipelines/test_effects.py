"""What becomes of an effect that did not return: is it asked about, who is asked, and when?"""

from __future__ import annotations

from typing import Any

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness
from tests.integration.pipelines.till import Order, Receipt, Till, World, pass_time, refusal, until_declared
from windlass.testing.harness import Harness

UNSURE = [
    ConnectionError("reset by peer"),
    refusal("transient"),
    refusal("timeout"),
    refusal("internal"),
    refusal("indeterminate"),
    refusal("logic", did_not_happen=False),
]
HAPPENED, DID_NOT, UNKNOWN = windlass.Happened(Receipt("a", "found")), windlass.DidNotHappen(), windlass.Unknown()


@pytest.mark.spec("pipelines:81", "pipelines:100", "security:74")
@pytest.mark.parametrize("error", UNSURE, ids=lambda error: getattr(error, "kind", "untyped"))
async def test_whatever_leaves_it_open_is_asked_about_at_once_and_under_the_same_key(
    harness: Harness, error: Exception
) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=error, reconcile=HAPPENED)
    await till.settle("a")
    (run,) = await till.runs()
    view = await till.view(run)

    assert till.world.journal == ["prepare", "mutate", "charge", "reconcile", "next"]
    assert till.world.asked == till.world.keys
    assert (run.status, run.outcome) == ("committed", "success")
    assert till.world.handed == [(Order("a"), "success", Receipt("a", "found"))]
    assert view.effect is not None
    assert (view.effect.status, view.effect.resolved_by) == ("applied", "reconcile")


@pytest.mark.spec("pipelines:81")
async def test_the_ledger_says_who_found_it_also_where_it_is_written_before_next_is_over(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=[ConnectionError("reset"), None], reconcile=HAPPENED)
    till.world.plan(next=[refusal("transient"), None, refusal("transient")])
    await till.settle("a", "b")
    await till.advance("10s")
    await till.advance("10s")
    found = [(await till.view(run)).effect for run in await till.runs()]

    assert [(effect.status, effect.resolved_by) for effect in found if effect is not None] == [
        ("applied", "reconcile"),
        ("applied", "call"),
    ]


@pytest.mark.spec("pipelines:73", "pipelines:77", "invariants:I-39")
async def test_what_did_not_happen_is_tried_again_after_a_while_under_the_same_key(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=ConnectionError("reset"), reconcile=DID_NOT)
    await till.settle("a")
    (run,) = await till.runs()
    assert (run.phase, run.status, run.outcome) == ("mutating", "paused:transient", "failure")
    effect = (await till.view(run)).effect
    assert effect is not None and (effect.status, effect.resolved_by) == ("failed", "reconcile")
    assert await till.events() == {"a": ("pending", 2)}
    assert await till.due_in() == 10
    await till.advance("10s")

    assert till.world.journal == ["prepare", "mutate", "charge", "reconcile", "prepare", "mutate", "charge", "next"]
    assert len(till.world.keys) == 2
    assert len(set(till.world.keys)) == 1
    first, second = await till.runs()
    assert (second.retry_of, second.status) == (first.id, "committed")


@pytest.mark.spec("pipelines:81", "pipelines:107", "security:74")
@pytest.mark.parametrize("answer", [UNKNOWN, OSError("away"), None, "yes", windlass.Happened(7)], ids=str)
async def test_who_does_not_know_holds_the_pipeline_and_everything_stays_as_it_is(
    harness: Harness, answer: Any
) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=ConnectionError("reset"), reconcile=[answer, HAPPENED])
    await till.settle("a", "b")
    (run,) = await till.runs()
    view = await till.view(run)

    assert (run.phase, run.status, run.outcome) == ("mutating", "paused:reconciliation", None)
    assert await till.events() == {"a": ("reserved", 1), "b": ("pending", 1)}
    assert await till.standing() == ("reconciling", None)
    assert await till.due_in() == 10
    assert view.effect is not None and view.effect.status == "needs_reconcile"
    assert [effect.name for effect in await till.app.pipelines.open_effects()] == ["charge"]
    await till.advance("10s")
    assert till.world.noted == ["a", "b"]
    assert till.world.count("charge") == 2
    assert await till.app.pipelines.open_effects() == []


@pytest.mark.spec("pipelines:81")
async def test_a_reconcile_that_takes_longer_than_half_a_minute_does_not_know(harness: Harness, gate: Gate) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=ConnectionError("reset"), reconcile=gate)
    await till.publish("a")
    await gate.reached()
    await pass_time(harness, "30s")
    await gate.left()
    await harness.idle()

    assert await till.path() == [("mutating", "paused:reconciliation")]
    assert await till.standing() == ("reconciling", None)


@pytest.mark.spec("pipelines:81")
async def test_an_effect_that_passes_its_time_out_is_asked_about(harness: Harness, gate: Gate) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=gate, reconcile=HAPPENED)
    await till.publish("a")
    await gate.reached()
    await pass_time(harness, "60s")
    await gate.left()
    await harness.idle()

    assert till.world.journal == ["prepare", "mutate", "charge", "reconcile", "next"]
    assert await till.path() == [("committed", "committed")]


@pytest.mark.spec("pipelines:81", "pipelines:100")
async def test_reconcile_is_asked_five_times_more_and_then_a_person_is(harness: Harness) -> None:
    world = World()
    till = await Till(harness, world, on_indeterminate=world.told.append).deployed()
    till.world.plan(charge=ConnectionError("reset"), reconcile=[UNKNOWN] * 6)
    await till.settle("a")
    delays = []
    while (due := await till.due_in()) is not None:
        delays.append(due)
        await till.advance(f"{due:g}s")

    assert delays == [10, 20, 40, 80, 160]
    assert till.world.count("reconcile") == 6
    assert await till.standing() == ("attention", "indeterminate")
    assert await till.path() == [("mutating", "paused:reconciliation")]
    assert [(it.issue, it.phase, it.status) for it in world.told] == [
        ("indeterminate", "mutating", "paused:reconciliation")
    ]
    assert await till.events() == {"a": ("reserved", 1)}
    await till.advance("10d")
    assert till.world.count("reconcile") == 6


@pytest.mark.spec("pipelines:81", "pipelines:100", "pipelines:74", "invariants:I-38")
async def test_what_is_found_later_to_have_happened_goes_on_behind_the_effect(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=ConnectionError("reset"), reconcile=[UNKNOWN, UNKNOWN, HAPPENED])
    await till.settle("a")
    await till.advance("30s")
    first, second = await till.runs()
    before, after = await till.view(first), await till.view(second)

    assert till.world.journal == ["prepare", "mutate", "charge", "reconcile", "reconcile", "reconcile", "next"]
    assert (first.phase, first.status, first.outcome) == ("mutated", "paused:reconciliation", "success")
    assert (second.retry_of, second.status, second.outcome) == (first.id, "committed", "success")
    assert before.data == after.data is not None
    assert before.result == after.result is not None
    assert before.effect is not None
    assert (before.effect.status, before.effect.resolved_by) == ("applied", "reconcile")
    assert till.world.handed == [(Order("a"), "success", Receipt("a", "found"))]
    assert await till.events() == {"a": ("consumed", 1)}


@pytest.mark.spec("pipelines:81", "pipelines:73", "invariants:I-39")
async def test_what_is_found_later_not_to_have_happened_begins_anew(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=ConnectionError("reset"), reconcile=[UNKNOWN, DID_NOT])
    await till.settle("a")
    await till.advance("10s")
    assert (await till.standing(), await till.due_in()) == (("backoff", None), 10)
    await till.advance("10s")
    first, second = await till.runs()

    assert (first.phase, first.status, first.outcome) == ("mutating", "paused:transient", "failure")
    assert (second.retry_of, second.status) == (first.id, "committed")
    assert till.world.count("prepare") == 2
    assert len(set(till.world.keys)) == 1
    assert await till.events() == {"a": ("consumed", 2)}


@pytest.mark.spec("pipelines:81")
async def test_what_never_happens_is_not_tried_for_ever_however_late_that_is_known(harness: Harness) -> None:
    told: list[windlass.Problem] = []
    till = await Till(harness, on_attention=told.append).deployed()
    till.world.plan(charge=[ConnectionError("reset")] * 20, reconcile=[UNKNOWN, DID_NOT] * 20)
    await till.settle("a")
    while (due := await till.due_in()) is not None:
        await till.advance(f"{due:g}s")

    assert await till.standing() == ("attention", "exhausted")
    assert till.world.count("charge") == 6
    assert [problem.issue for problem in told] == ["exhausted"]
    assert await till.events() == {"a": ("pending", 7)}


@pytest.mark.spec("pipelines:81", "pipelines:89")
async def test_what_was_cut_short_may_happen_yet_and_is_not_called_again_before_that_is_over(
    harness: Harness, gate: Gate
) -> None:
    """As a thread that goes on behind a task that was cancelled, or a request that is out."""
    till = await Till(harness).deployed()
    till.world.plan(charge=gate, reconcile=[DID_NOT, DID_NOT, HAPPENED])
    await till.publish("a")
    await gate.reached()
    await pass_time(harness, "60s")
    await gate.left()
    await harness.idle()
    assert (till.world.count("reconcile"), await till.due_in()) == (1, 10)
    await till.advance("10s")
    assert till.world.count("reconcile") == 2
    due = await till.due_in()
    assert due is not None and due >= 60, "when its claim is over, and its time-out"
    await till.advance(f"{due:g}s")

    assert till.world.count("charge") == 1
    assert till.world.handed[-1] == (Order("a"), "success", Receipt("a", "found"))


@pytest.mark.spec("pipelines:81")
async def test_questions_that_are_to_be_asked_outlive_a_restart(open_shared: OpenHarness) -> None:
    world = World()
    till = await Till.restarted(open_shared, world)
    world.plan(charge=ConnectionError("reset"), reconcile=[UNKNOWN, UNKNOWN, HAPPENED])
    await till.settle("a")
    await till.advance("10s")
    assert await till.due_in() == 20
    await till.harness.aclose()

    till = await Till.restarted(open_shared, world)
    assert await till.due_in() == 20
    await till.advance("20s")
    assert world.handed[-1] == (Order("a"), "success", Receipt("a", "found"))
    assert world.count("charge") == 1


@pytest.mark.spec("pipelines:81", "pipelines:107")
async def test_without_reconcile_a_person_is_needed_at_once_and_the_repair_is_never_asked(harness: Harness) -> None:
    world = World()
    till = await Till(
        harness, world, has_reconcile=False, on_logic_error=world.told.append, on_attention=world.told.append
    ).deployed()
    world.plan(charge=ConnectionError("reset"))
    await till.settle("a")
    (effect,) = await till.app.pipelines.open_effects()

    assert await till.standing() == ("attention", "indeterminate")
    assert await till.path() == [("mutating", "paused:reconciliation")]
    assert (effect.status, effect.subject, effect.idempotency_key) == ("indeterminate", "payments", world.keys[0])
    assert [problem.issue for problem in world.told] == ["indeterminate"]
    await till.advance("30d")
    assert world.journal == ["prepare", "mutate", "charge"]


@pytest.mark.spec("pipelines:68", "security:74")
@pytest.mark.parametrize("result", [object(), 7, {"order": 1}], ids=["object", "number", "other"])
async def test_an_effect_whose_result_cannot_be_kept_has_happened_all_the_same(harness: Harness, result: Any) -> None:
    till = await Till(harness, has_reconcile=False).deployed()
    till.world.plan(charge=result)
    await till.settle("a")
    (run,) = await till.runs()

    assert (run.phase, run.status) == ("mutating", "paused:reconciliation")
    assert run.failure is not None and run.failure.kind == "indeterminate"
    assert "charge" in run.failure.message
    assert await till.events() == {"a": ("reserved", 1)}


async def test_no_effect_is_an_answer_too_and_its_event_is_consumed(harness: Harness) -> None:
    app, got = harness.app, list[Any]()
    orders = app.topic("order.paid", Order)
    quiet = app.pipeline("quiet")

    @quiet.consumer(orders)
    class Look(windlass.Consumer[Order, Receipt]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]) -> None:
            return None

        async def next(
            self, ctx: windlass.NextContext, prepared: windlass.Prepared[Order], result: Receipt | None
        ) -> None:
            got.append((prepared.outcome, result))

    await until_declared(harness, "quiet")
    await app.publish(orders, Order("a"), id="a")
    await harness.idle()
    (run,) = await app.pipelines.runs("quiet")

    assert got == [("none", None)]
    assert (run.phase, run.status, run.outcome) == ("committed", "committed", "none")


async def test_the_key_of_an_effect_is_its_own_or_the_same_for_every_attempt_at_the_same_events(
    harness: Harness,
) -> None:
    app, keys = harness.app, list[str]()
    orders = app.topic("order.paid", Order)
    keyed = app.pipeline("keyed")

    @app.effect(key=lambda order: f"order-{order.id}")
    def charge(order: Order) -> None:
        keys.append(windlass.current_step().idempotency_key)
        if len(keys) == 1:
            raise refusal("transient", did_not_happen=True)

    @keyed.consumer(orders)
    class Charge(windlass.Consumer[Order, None]):
        async def mutate(
            self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
        ) -> windlass.Effect[None]:
            return windlass.Effect(charge, prepared.data)

    await until_declared(harness, "keyed")
    await app.publish(orders, Order("a"), id="1")
    await harness.idle()
    await harness.advance("10s")

    assert keys == ["order-a", "order-a"]


@pytest.mark.spec("pipelines:104", "pipelines:107")
async def test_other_pipelines_go_on_while_one_is_held(harness: Harness) -> None:
    till = await Till(harness, has_reconcile=False).deployed()
    till.world.plan(charge=ConnectionError("reset"))
    await till.settle("a")
    await till.app.publish(till.done, Receipt("x"), id="x")
    await till.settle("b")

    assert till.world.noted == ["x"]
    assert len(await till.runs()) == 1


async def test_long_names_do_not_make_a_key_that_no_door_takes(harness: Harness) -> None:
    app, keys = harness.app, list[str]()
    orders = app.topic("order.paid", Order)
    long = app.pipeline("p" * 180)

    @app.effect(name="e" * 180)
    async def charge(order: Order) -> None:
        keys.append(windlass.current_step().idempotency_key)

    @long.consumer(orders, name="h" * 180)
    class Charge(windlass.Consumer[Order, None]):
        async def mutate(
            self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
        ) -> windlass.Effect[None]:
            return windlass.Effect(charge, prepared.data)

    @app.workflow
    async def buy(ctx: windlass.Context) -> None:
        await ctx.step(charge, Order("b"), key="k" * 180)

    await until_declared(harness, "p" * 180)
    await app.publish(orders, Order("a"), id="a")
    await harness.idle()
    await (await app.start(buy)).result()

    assert len(set(keys)) == len(keys) == 2
