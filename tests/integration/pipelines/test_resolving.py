"""What may a person say about an effect of which nobody knows whether it happened, and what follows from it?"""

from __future__ import annotations

from typing import Any

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness
from tests.integration.pipelines.till import Order, Receipt, Till, World, refusal, until_declared
from windlass.errors import InvalidInput, NotFound, WrongState
from windlass.model.access import ACTING, Actor
from windlass.model.effect import Effect, Resolution
from windlass.model.pipeline_commands import ResolveEffect
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # the same over the wire is in tests/integration/server

UNKNOWN = windlass.Unknown()


async def in_doubt(harness: Harness, *, has_reconcile: bool = False, answers: int = 6) -> Till:
    """A pipeline that waits for a person to say whether its effect happened."""
    till = await Till(harness, has_reconcile=has_reconcile).deployed()
    till.world.plan(charge=ConnectionError("reset"), reconcile=[UNKNOWN] * answers)
    await till.settle("a")
    while (due := await till.due_in()) is not None:
        await till.advance(f"{due:g}s")
    assert await till.standing() == ("attention", "indeterminate")
    return till


@pytest.mark.spec("pipelines:74", "pipelines:81", "pipelines:100", "invariants:I-38")
async def test_it_happened_goes_on_with_the_result_that_was_given(harness: Harness) -> None:
    till = await in_doubt(harness)
    said = await till.app.pipelines.resolve(
        "payments", "happened", result=Receipt("a", "by hand"), by="ann", note="saw it on the statement"
    )
    await harness.idle()
    first, second = await till.runs()
    view = await till.view(first)

    assert (said.status, said.resolved_by) == ("applied", "ann")
    assert till.world.journal == ["prepare", "mutate", "charge", "next"]
    assert till.world.handed == [(Order("a"), "success", Receipt("a", "by hand"))]
    assert (first.phase, first.status, first.outcome) == ("mutated", "paused:reconciliation", "success")
    assert (first.decided_by, first.note) == ("ann", "saw it on the statement")
    assert (second.retry_of, second.status) == (first.id, "committed")
    assert view.effect is not None
    assert (view.effect.resolution, view.effect.note) == ("happened", "saw it on the statement")
    assert (await till.view(second)).result == view.result
    assert await till.events() == {"a": ("consumed", 1)}
    assert await till.standing() == ("idle", None)


async def say_happened(harness: Harness, result: bytes | None, *, by: str = "ann") -> Effect:
    """As `windlass resolve` does, which has no code that would know the type."""
    said = ResolveEffect(namespace="default", subject="payments", resolution=Resolution.HAPPENED, result=result, by=by)
    return await harness.opened.pipeline_control.resolve_effect(said)


@pytest.mark.spec("pipelines:100")
async def test_it_happened_goes_on_without_a_result_where_nobody_knows_that(harness: Harness) -> None:
    till = await in_doubt(harness)
    await till.app.pipelines.resolve("payments", "happened", by="ann")
    await harness.idle()

    assert till.world.handed == [(Order("a"), "success", None)]
    assert await till.events() == {"a": ("consumed", 1)}


@pytest.mark.spec("pipelines:100", "invariants:I-38")
async def test_a_result_that_nobody_can_read_is_said_again_until_what_follows_has_gone_well(harness: Harness) -> None:
    till = await in_doubt(harness)
    await say_happened(harness, b'{"no": 1}')
    await harness.idle()
    assert await till.standing() == ("attention", "logic")
    assert "windlass resolve payments --happened" in str((await till.runs())[-1].failure)
    await till.app.pipelines.retry("payments")
    await harness.idle()
    with pytest.raises(WrongState):
        await till.app.pipelines.resolve("payments", "did_not_happen", by="bob")
    said = await say_happened(harness, harness.app._codec.encode(Receipt("a", "by hand")), by="bob")
    await harness.idle()

    assert (said.status, said.resolved_by) == ("applied", "bob")
    assert till.world.handed == [(Order("a"), "success", Receipt("a", "by hand"))]
    assert till.world.count("charge") == 1
    with pytest.raises(WrongState):
        await say_happened(harness, b"1")


@pytest.mark.spec("pipelines:73", "pipelines:81", "pipelines:100", "invariants:I-39")
async def test_it_did_not_happen_begins_anew_under_the_same_key(harness: Harness) -> None:
    till = await in_doubt(harness)
    said = await till.app.pipelines.resolve("payments", "did_not_happen", by="ann")
    await harness.idle()
    first, second = await till.runs()

    assert (said.status, said.resolved_by) == ("failed", "ann")
    assert till.world.journal == ["prepare", "mutate", "charge", "prepare", "mutate", "charge", "next"]
    assert len(set(till.world.keys)) == 1
    assert (first.phase, first.outcome, first.decided_by) == ("mutating", "failure", "ann")
    assert (second.retry_of, second.status) == (first.id, "committed")
    assert await till.events() == {"a": ("consumed", 2)}


@pytest.mark.spec("pipelines:81", "pipelines:100")
async def test_to_skip_it_goes_on_without_and_its_events_are_skipped(harness: Harness) -> None:
    till = await in_doubt(harness)
    said = await till.app.pipelines.resolve("payments", "skip", by="ann")
    await harness.idle()
    first, second = await till.runs()

    assert (said.status, said.resolved_by) == ("failed", "ann")
    assert till.world.handed == [(Order("a"), "skipped", None)]
    assert till.world.count("charge") == 1
    assert (first.outcome, second.outcome, second.status) == ("skipped", "skipped", "committed")
    assert await till.events() == {"a": ("skipped", 1)}


@pytest.mark.spec("pipelines:100")
async def test_to_try_again_asks_reconcile_once_more_and_counts_anew(harness: Harness) -> None:
    till = await in_doubt(harness, has_reconcile=True)
    till.world.plan(reconcile=[UNKNOWN, windlass.Happened(Receipt("a", "found"))])
    said = await till.app.pipelines.resolve("payments", "try_again", by="ann")
    await harness.idle()
    assert said.status == "needs_reconcile"
    assert till.world.count("reconcile") == 7
    assert await till.standing() == ("reconciling", None)
    assert await till.due_in() == 20
    await till.advance("20s")

    assert till.world.handed == [(Order("a"), "success", Receipt("a", "found"))]
    assert till.world.count("charge") == 1


async def test_to_try_again_takes_somebody_who_can_be_asked(harness: Harness) -> None:
    till = await in_doubt(harness)
    with pytest.raises(WrongState, match=r"without reconcile=.*--happened"):
        await till.app.pipelines.resolve("payments", "try_again")

    assert await till.standing() == ("attention", "indeterminate")


@pytest.mark.spec("pipelines:100")
async def test_a_person_need_not_wait_for_reconcile(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(charge=ConnectionError("reset"), reconcile=UNKNOWN)
    await till.settle("a")
    assert await till.standing() == ("reconciling", None)
    await till.app.pipelines.resolve("payments", "happened", result=Receipt("a", "by hand"))
    await harness.idle()

    assert till.world.noted == ["a"]
    assert till.world.count("reconcile") == 1


@pytest.mark.spec("pipelines:100")
@pytest.mark.parametrize("second", ["happened", "did_not_happen", "skip", "try_again"])
async def test_what_was_said_once_is_said_for_good(harness: Harness, second: Any) -> None:
    till = await in_doubt(harness)
    await till.app.pipelines.resolve("payments", "happened", result=Receipt("a", "by hand"), by="ann")
    await harness.idle()
    with pytest.raises(WrongState, match="one with an effect of which nobody knows"):
        await till.app.pipelines.resolve("payments", second, by="bob")

    assert await till.events() == {"a": ("consumed", 1)}


async def test_the_same_word_again_is_a_repeat_and_another_one_is_refused_until_it_is_taken_up(
    idle_harness: Harness,
) -> None:
    till = Till(idle_harness, has_reconcile=False)
    till.world.plan(charge=ConnectionError("reset"))
    async with till.app.worker():
        await until_declared(idle_harness, "payments")
        await till.publish("a")
        await till.until_stopped("paused:reconciliation")
    said = await till.app.pipelines.resolve("payments", "happened", result=Receipt("a"), by="ann")

    assert await till.app.pipelines.resolve("payments", "happened", result=Receipt("a"), by="ann") == said
    await till.app.pipelines.resolve("payments", "happened", result=Receipt("b"), by="ann")
    view = await till.view((await till.runs())[-1])
    assert view.effect is not None and b'"b"' in (view.effect.result or b"") and view.result == view.effect.result
    with pytest.raises(WrongState):
        await till.app.pipelines.resolve("payments", "did_not_happen", by="bob")
    assert [run.outcome for run in await till.runs()][-1] == "success"


async def test_nothing_is_said_about_an_effect_that_somebody_may_be_inside_of(
    open_shared: OpenHarness, gate: Gate
) -> None:
    world = World()
    till = await Till.restarted(open_shared, world, has_reconcile=False)
    world.plan(charge=gate)
    await till.publish("a")
    await gate.reached()
    with pytest.raises(WrongState):
        await till.app.pipelines.resolve("payments", "did_not_happen")
    gate.open()
    await till.harness.idle()

    assert world.noted == ["a"]


async def test_where_nothing_is_in_doubt_there_is_nothing_to_say(harness: Harness) -> None:
    till = await Till(harness).deployed()
    with pytest.raises(WrongState, match="'payments' is idle; one with an effect of which nobody knows"):
        await till.app.pipelines.resolve("payments", "did_not_happen")
    till.world.plan(charge=refusal("auth"))
    await till.settle("a")
    with pytest.raises(WrongState, match=r"held \(auth\)"):
        await till.app.pipelines.resolve("payments", "happened", result=Receipt("a"))
    with pytest.raises(NotFound, match=r"paymemts.*payments"):
        await till.app.pipelines.resolve("paymemts", "skip")

    assert await till.path() == [("mutating", "paused:approval")]


async def test_what_makes_no_sense_is_refused_before_anything_is_asked(harness: Harness) -> None:
    till = await in_doubt(harness)
    with pytest.raises(InvalidInput, match="one of 'happened', 'did_not_happen', 'skip', 'try_again'"):
        await till.app.pipelines.resolve("payments", "perhaps")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match='result goes with "happened"') as refused:
        await till.app.pipelines.resolve("payments", "skip", result=Receipt("a"))
    assert refused.value.path == "result"
    with pytest.raises(InvalidInput, match="Effect 'charge'"):
        await till.app.pipelines.resolve("payments", "happened", result=7)
    with pytest.raises(InvalidInput, match="by"):
        await till.app.pipelines.resolve("payments", "skip", by="x" * 300)

    assert await till.standing() == ("attention", "indeterminate")
    for said in (till.app.pipelines.resume("payments"), till.app.pipelines.retry("payments")):
        with pytest.raises(WrongState, match="windlass resolve payments"):
            await said


@pytest.mark.spec("security:98", "pipelines:70")
async def test_no_door_leads_back_to_the_start_of_an_attempt_whose_effect_has_happened(harness: Harness) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=[refusal("logic")] * 2)
    await till.settle("a")
    assert await till.path() == [("emitting", "failed:logic")]

    for resolution in ("did_not_happen", "try_again", "skip"):
        with pytest.raises(WrongState):
            await till.app.pipelines.resolve("payments", resolution)
    with pytest.raises(WrongState):
        await till.app.pipelines.reject("payments", release=True)
    skipped = await till.app.pipelines.skip_event("payments", till.orders, "a")
    assert (skipped.skipped, skipped.aborted, skipped.finishing) == (0, None, 1)
    await till.publish("a")  # once more: it is recognised
    await till.app.pipelines.retry("payments")
    await harness.idle()
    await till.app.pipelines.resume("payments")
    await harness.idle()

    assert till.world.journal == ["prepare", "mutate", "charge", "next", "next", "next"]
    assert await till.events() == {"a": ("consumed", 1)}


@pytest.mark.spec("pipelines:81")
async def test_next_that_fails_behind_a_skip_is_tried_again_and_told_the_same(harness: Harness) -> None:
    till = await in_doubt(harness)
    till.world.plan(next=refusal("transient"))
    await till.app.pipelines.resolve("payments", "skip", by="ann")
    await harness.idle()
    assert await till.standing() == ("backoff", None)
    await till.advance("10s")

    assert till.world.handed == [(Order("a"), "skipped", None)] * 2
    assert await till.events() == {"a": ("skipped", 1)}


@pytest.mark.in_process
@pytest.mark.spec("pipelines:81", "pipelines:99")
async def test_what_people_do_to_a_pipeline_is_on_the_audit_and_what_comes_to_nothing_is_not(
    harness: Harness,
) -> None:
    till = await in_doubt(harness)
    token = ACTING.set(Actor(key="key_ann", request_id="req-1"))
    try:
        with pytest.raises(WrongState):
            await till.app.pipelines.approve("payments")
        await till.app.pipelines.resolve("payments", "happened", result=Receipt("a"), by="ann")
        await harness.idle()
        with pytest.raises(WrongState):
            await till.app.pipelines.resolve("payments", "skip", by="bob")
        await till.app.pipelines.pause("payments")
        await till.app.pipelines.pause("payments")
        await till.app.pipelines.resume("payments")
    finally:
        ACTING.reset(token)
    rows = await harness.opened.engine.parts.store.read(
        "audit", lambda tx: tx.audit.list("default", before=None, limit=50)
    )
    noted = [(row.action, row.subject, row.actor, row.before, row.after) for row in rows]

    assert sorted(noted) == [
        ("pause_pipeline", "payments", "key_ann", "idle", "paused"),
        ("resolve_effect", "payments", "key_ann", "attention", "charge: happened"),
        ("resume_pipeline", "payments", "key_ann", "idle", "resumed"),
    ]
