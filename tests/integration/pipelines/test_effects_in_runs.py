"""Effects as steps of runs: is the ledger the same, and does a run ask, wait and go on as a pipeline does?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

import windlass
from tests.integration.conftest import (
    Gate,
    OpenHarness,
    eventually,
    path_of,
    row_of,
    until_path,
)
from tests.integration.pipelines.shop import DID_NOT, HAPPENED, UNKNOWN, Shop, ledger
from tests.integration.pipelines.till import Receipt, World, pass_time, refusal
from windlass.errors import InvalidInput, WrongState
from windlass.model.effect import Resolution
from windlass.model.pipeline_commands import ResolveEffect
from windlass.testing.harness import Harness


@pytest.mark.spec("pipelines:81")
@pytest.mark.parametrize(
    "error", [ConnectionError("reset"), refusal("transient"), refusal("internal"), refusal("indeterminate")], ids=str
)
async def test_a_step_that_may_have_happened_is_asked_about_and_not_called_again(
    harness: Harness, error: Exception
) -> None:
    shop = Shop(harness)
    shop.world.plan(charge=error, reconcile=HAPPENED)
    handle = await shop.app.start(shop.buy, "a")

    assert await handle.result() == Receipt("a", "found")
    assert shop.world.journal == ["charge", "reconcile", "pack"]
    assert shop.world.asked == shop.world.keys
    (effect,) = await ledger(harness, handle)
    assert (effect.status, effect.step_key, effect.subject) == ("applied", "charge", handle.id)
    assert (effect.idempotency_key, effect.resolved_by) == (shop.world.keys[0], "reconcile")


@pytest.mark.spec("pipelines:81")
async def test_a_step_that_did_not_happen_is_a_failed_attempt_and_tried_again_under_the_same_key(
    harness: Harness,
) -> None:
    shop = Shop(harness)
    shop.world.plan(charge=ConnectionError("reset"), reconcile=DID_NOT)
    handle = await shop.app.start(shop.buy, "a")
    await harness.idle()
    assert shop.world.journal == ["charge", "reconcile"]
    await harness.advance("1m")
    receipt = await handle.result()

    assert shop.world.journal == ["charge", "reconcile", "charge", "pack"]
    assert len(set(shop.world.keys)) == 1
    assert receipt == Receipt("a", shop.world.keys[0])
    assert [step.attempt for step in await harness.steps(handle) if step.key == "charge"] == [1, 2]


@pytest.mark.spec("pipelines:81")
@pytest.mark.parametrize("kind", ["logic", "auth", "permission"])
async def test_a_step_that_was_refused_fails_as_any_step_and_nobody_is_asked(harness: Harness, kind: str) -> None:
    shop = Shop(harness)
    shop.world.plan(charge=[refusal(kind), refusal(kind)])
    handle = await shop.app.start(shop.buy, "a")
    await harness.idle()
    await harness.advance("1m")

    with pytest.raises(windlass.RunFailed):
        await handle.result()
    assert shop.world.count("reconcile") == 0
    assert {effect.status for effect in await ledger(harness, handle)} == {"failed"}


@pytest.mark.spec("pipelines:100")
async def test_reconcile_is_asked_again_in_the_background_and_then_a_person_is(harness: Harness) -> None:
    shop = Shop(harness)
    shop.world.plan(charge=ConnectionError("reset"), reconcile=[UNKNOWN] * 6)
    handle = await shop.app.start(shop.buy, "a")
    await harness.idle()
    for number, delay in enumerate(["10s", "20s", "40s", "80s", "160s"], start=1):
        assert shop.world.count("reconcile") == number
        await harness.advance(delay)
    await harness.idle()

    assert (await path_of(harness, handle))[-1] == "paused"
    assert shop.world.journal == ["charge", *["reconcile"] * 6]
    (effect,) = await shop.app.pipelines.open_effects()
    assert (effect.status, effect.subject) == ("indeterminate", handle.id)
    assert f"windlass resolve {handle.id}" in await handle.explain()


@pytest.mark.spec("pipelines:90", "invariants:I-39")
@pytest.mark.parametrize("has_happened", [True, False])
async def test_a_death_inside_of_the_effect_is_asked_about_by_the_next_claim(
    harness: Harness, gate: Gate, has_happened: bool
) -> None:
    shop = Shop(harness)
    shop.world.plan(charge=gate, reconcile=HAPPENED if has_happened else DID_NOT)
    handle = await shop.app.start(shop.buy, "a")
    await gate.reached()
    harness.crash()
    await harness.idle()
    await harness.advance("1m")
    receipt = await handle.result()

    if has_happened:
        assert shop.world.journal == ["charge", "reconcile", "pack"]
        assert receipt == Receipt("a", "found")
    else:
        assert shop.world.journal == ["charge", "reconcile", "charge", "pack"]
        assert len(set(shop.world.keys)) == 1
    assert shop.world.asked == shop.world.keys[:1]


async def test_a_death_between_the_call_and_its_completion_is_asked_about(harness: Harness) -> None:
    shop = Shop(harness)
    shop.world.plan(reconcile=HAPPENED)
    harness.crash(before="charge")
    handle = await shop.app.start(shop.buy, "a")

    assert await handle.result() == Receipt("a", "found")
    assert shop.world.journal == ["charge", "reconcile", "pack"]


async def test_a_death_behind_the_completion_calls_and_asks_nobody(harness: Harness) -> None:
    shop = Shop(harness)
    harness.crash(after="charge")
    handle = await shop.app.start(shop.buy, "a")

    assert await handle.result() == Receipt("a", shop.world.keys[0])
    assert shop.world.journal == ["charge", "pack"]


@pytest.mark.spec("pipelines:90", "invariants:I-39")
async def test_nobody_asks_while_a_worker_that_stalled_may_be_inside(open_shared: OpenHarness, gate: Gate) -> None:
    world = World()

    async def open() -> tuple[Harness, Shop]:
        shop = Shop(windlass.App("sqlite:///:memory:"), world)
        return await open_shared(app=shop.app), shop

    first, shop = await open()
    world.plan(charge=gate, reconcile=HAPPENED)
    handle = await first.app.start(shop.buy, "a")
    await gate.reached()
    second, _ = await open()
    await pass_time(first, "300s")  # the claim has run out
    await gate.left()

    async def is_taken_over() -> bool:
        row = await row_of(second, handle)
        return row.token == 2 and row.status != "running"

    await eventually(is_taken_over, what="another worker has taken over, and waits")
    assert world.count("reconcile") == 0
    await second.advance("60s")  # the time-out of the effect

    assert await handle.result() == Receipt("a", "found")
    assert world.journal == ["charge", "reconcile", "pack"]


@pytest.mark.spec("pipelines:100")
@pytest.mark.parametrize("word", ["happened", "did_not_happen"])
async def test_a_person_says_what_happened_and_the_run_goes_on(harness: Harness, word: Any) -> None:
    shop = Shop(harness, has_reconcile=False)
    shop.world.plan(charge=ConnectionError("reset"))
    handle = await shop.app.start(shop.buy, "a")
    await until_path(harness, handle, "paused")
    result: dict[str, Any] = {"result": Receipt("a", "by hand")} if word == "happened" else {}
    said = await shop.app.pipelines.resolve(handle.id, word, by="ann", note="looked", **result)
    await harness.idle()
    await harness.advance("1m")
    receipt = await handle.result()

    assert said.resolved_by == "ann"
    assert shop.world.count("charge") == (1 if word == "happened" else 2)
    assert receipt == Receipt("a", "by hand" if word == "happened" else shop.world.keys[0])
    assert len(set(shop.world.keys)) == 1
    with pytest.raises(WrongState):
        await shop.app.pipelines.resolve(handle.id, "skip", by="bob")


@pytest.mark.spec("pipelines:100", "invariants:I-38")
async def test_a_result_that_does_not_fit_is_said_again_and_the_effect_is_not_called_again(harness: Harness) -> None:
    shop = Shop(harness, has_reconcile=False)
    shop.world.plan(charge=ConnectionError("reset"))
    handle = await shop.app.start(shop.buy, "a")
    await until_path(harness, handle, "paused")
    said = ResolveEffect(namespace="default", subject=handle.id, resolution=Resolution.HAPPENED, by="ann")
    await harness.opened.pipeline_control.resolve_effect(said)  # as a command line does, which knows no types
    await harness.idle()
    assert f"windlass resolve {handle.id} --happened RESULT" in await handle.explain()
    right = replace(said, result=shop.app._codec.encode(Receipt("a", "by hand")))
    await harness.opened.pipeline_control.resolve_effect(right)

    assert await handle.result() == Receipt("a", "by hand")
    assert shop.world.count("charge") == 1
    assert (await harness.opened.pipeline_control.resolve_effect(right)).result == right.result  # the same word again
    with pytest.raises(WrongState):  # the run has gone on with what was said
        await harness.opened.pipeline_control.resolve_effect(said)


@pytest.mark.spec("pipelines:100")
async def test_a_step_that_a_person_skips_returns_nothing_where_the_code_can_take_that(harness: Harness) -> None:
    app = harness.app

    @app.effect
    async def tell(text: str) -> str | None:
        raise ConnectionError("reset")

    @app.workflow
    async def greet(ctx: windlass.Context) -> str:
        return f"told: {await ctx.step(tell, 'hello')}"

    handle = await app.start(greet)
    await until_path(harness, handle, "paused")
    await app.pipelines.resolve(handle.id, "skip", by="ann")

    assert await handle.result() == "told: None"


async def test_a_step_that_a_person_skips_fails_where_the_code_needs_its_result(harness: Harness) -> None:
    shop = Shop(harness, has_reconcile=False)
    shop.world.plan(charge=ConnectionError("reset"))
    handle = await shop.app.start(shop.buy, "a")
    await until_path(harness, handle, "paused")
    await shop.app.pipelines.resolve(handle.id, "skip", by="ann")

    with pytest.raises(windlass.RunFailed, match="go on without effect 'charge'"):
        await handle.result()
    assert shop.world.count("charge") == 1


@pytest.mark.spec("pipelines:100")
async def test_a_person_may_have_reconcile_asked_once_more(harness: Harness) -> None:
    shop = Shop(harness)
    shop.world.plan(charge=ConnectionError("reset"), reconcile=[UNKNOWN] * 6)
    handle = await shop.app.start(shop.buy, "a")
    await harness.idle()
    for delay in ("10s", "20s", "40s", "80s", "160s"):
        await harness.advance(delay)
    await until_path(harness, handle, "paused")
    shop.world.plans["reconcile"] = [HAPPENED]
    await shop.app.pipelines.resolve(handle.id, "try_again", by="ann")

    assert await handle.result() == Receipt("a", "found")
    assert shop.world.count("charge") == 1


async def test_of_several_steps_in_doubt_one_is_named(harness: Harness) -> None:
    app, world = harness.app, World()
    world.plan(charge=[ConnectionError("reset"), ConnectionError("reset")])

    @app.effect
    async def charge(id: str) -> str:
        await world.act("charge")
        return id

    @app.workflow
    async def buy(ctx: windlass.Context) -> list[str]:
        return await ctx.map(charge, ["a", "b"], key=str)

    handle = await app.start(buy)
    await until_path(harness, handle, "paused")
    assert sorted(str(effect.step) for effect in await app.pipelines.open_effects()) == ["charge:a", "charge:b"]
    with pytest.raises(InvalidInput, match="name one with --step"):
        await app.pipelines.resolve(handle.id, "happened", result="x")
    await app.pipelines.resolve(handle.id, "happened", result="A", step="charge:a")
    await until_path(harness, handle, "paused", times=2)
    await app.pipelines.resolve(handle.id, "happened", result="B", step="charge:b")

    assert await handle.result() == ["A", "B"]


async def test_an_effect_that_needs_a_person_stops_no_other_of_its_run(harness: Harness, gate: Gate) -> None:
    app, world = harness.app, World()
    world.plan(tell=ConnectionError("reset"), charge=gate)

    @app.effect
    async def tell(id: str) -> str:
        await world.act("tell")
        return id

    @app.effect
    async def charge(id: str) -> str:
        await world.act("charge")
        return id

    @app.workflow
    async def buy(ctx: windlass.Context) -> list[str]:
        return [*await asyncio.gather(ctx.step(charge, "a"), ctx.step(tell, "b"))]

    async def stands() -> dict[str, str]:
        return {effect.name: effect.status.value for effect in await ledger(harness, handle)}

    async def is_in_doubt() -> bool:
        return (await stands()).get("tell") == "indeterminate"

    handle = await app.start(buy)
    await gate.reached()
    await eventually(is_in_doubt, what="nobody knows about the one")
    gate.open()
    await until_path(harness, handle, "paused")
    assert await stands() == {"charge": "applied", "tell": "indeterminate"}
    await app.pipelines.resolve(handle.id, "happened", result="b", by="ann")

    assert await handle.result() == ["a", "b"]
    assert sorted(world.journal) == ["charge", "tell"]


async def test_where_nothing_is_in_doubt_there_is_nothing_to_say(harness: Harness) -> None:
    shop = Shop(harness)
    handle = await shop.app.start(shop.buy, "a")
    await handle.result()

    with pytest.raises(WrongState, match="sure about its effects"):
        await shop.app.pipelines.resolve(handle.id, "happened", result=Receipt("a"))
    with pytest.raises(windlass.NotFound):
        await shop.app.pipelines.resolve("run_" + "0" * 26, "skip")


async def test_a_retry_of_the_run_is_handed_what_is_open_and_asks_under_the_same_key(harness: Harness) -> None:
    shop = Shop(harness, has_reconcile=False)
    shop.world.plan(charge=ConnectionError("reset"))
    handle = await shop.app.start(shop.buy, "a")
    await until_path(harness, handle, "paused")
    await handle.cancel()
    again = await handle.retry()
    await until_path(harness, again, "paused")
    (effect,) = await shop.app.pipelines.open_effects()

    assert (effect.subject, effect.idempotency_key) == (again.id, shop.world.keys[0])
    assert shop.world.count("charge") == 1
    await shop.app.pipelines.resolve(again.id, "did_not_happen")
    await harness.idle()
    await harness.advance("1m")
    assert await again.result() == Receipt("a", shop.world.keys[0])
    assert len(set(shop.world.keys)) == 1
    assert shop.world.count("charge") == 2


async def test_a_retry_of_the_run_keeps_what_happened(harness: Harness) -> None:
    shop = Shop(harness)
    shop.world.plan(pack=refusal("logic"))
    handle = await shop.app.start(shop.buy, "a")
    with pytest.raises(windlass.RunFailed):
        await handle.result()
    again = await handle.retry()

    assert await again.result() == Receipt("a", shop.world.keys[0])
    assert shop.world.journal == ["charge", "pack", "pack"]
