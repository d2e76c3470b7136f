"""Effects that were cut short, stalled or overtaken: is nothing about them believed, and none called, too early?"""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack
from typing import Any

import pytest

import windlass
from tests.integration.conftest import (
    PATIENCE,
    Gate,
    OpenHarness,
    eventually,
    row_of,
    until_path,
    until_recorded,
)
from tests.integration.pipelines.shop import DID_NOT, HAPPENED, Shop, ledger
from tests.integration.pipelines.test_edges_of_claims import Doubling
from tests.integration.pipelines.till import Receipt, pass_time, until_declared
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline_work import BegunKind, FailEffect, ReconcileEffect, Verdict
from windlass.model.run import RunId
from windlass.testing.harness import Harness
from windlass.worker.worker import FEWEST_THREADS


async def test_an_effect_that_passes_its_time_out_is_asked_about(harness: Harness, gate: Gate) -> None:
    shop = Shop(harness)
    shop.world.plan(charge=gate, reconcile=HAPPENED)
    handle = await shop.app.start(shop.buy, "a")
    await gate.reached()
    await pass_time(harness, "60s")
    await gate.left()

    assert await handle.result() == Receipt("a", "found")


async def test_what_was_cut_short_may_happen_yet_and_is_not_called_again_before_that_is_over(
    harness: Harness, gate: Gate
) -> None:
    """As a thread that goes on behind a task that was cancelled, or a request that is out."""
    shop = Shop(harness)
    shop.world.plan(charge=gate, reconcile=[DID_NOT, HAPPENED])
    handle = await shop.app.start(shop.buy, "a")
    await gate.reached()
    began_at = harness.clock.now()
    await pass_time(harness, "60s")
    await gate.left()
    await harness.idle()
    (effect,) = await ledger(harness, handle)
    assert (shop.world.count("reconcile"), effect.status) == (1, "needs_reconcile")
    assert effect.next_at == effect.reconcile_after >= began_at + 360_000_000  # its claim, and its time-out
    await harness.advance("10m")

    assert await handle.result() == Receipt("a", "found")
    assert (shop.world.count("charge"), shop.world.count("reconcile")) == (1, 2)


@pytest.mark.parametrize("result", [object(), 7], ids=["object", "number"])
async def test_an_effect_whose_result_cannot_be_kept_has_happened_all_the_same(harness: Harness, result: Any) -> None:
    shop = Shop(harness, has_reconcile=False)
    shop.world.plan(charge=result)
    handle = await shop.app.start(shop.buy, "a")
    await until_path(harness, handle, "paused")

    (effect,) = await shop.app.pipelines.open_effects()
    assert effect.status == "indeterminate"
    assert shop.world.count("charge") == 1


@pytest.mark.parametrize("has_reconcile", [True, False])
async def test_a_worker_that_stops_inside_of_an_effect_says_so_and_nobody_waits_for_its_claim(
    idle_harness: Harness, gate: Gate, has_reconcile: bool
) -> None:
    shop = Shop(idle_harness, has_reconcile=has_reconcile)
    shop.world.plan(charge=gate, reconcile=HAPPENED)
    async with shop.app.worker():
        handle = await shop.app.start(shop.buy, "a")
        await gate.reached()

    (effect,) = await ledger(idle_harness, handle)
    assert effect.status == ("needs_reconcile" if has_reconcile else "indeterminate")
    assert effect.failure is not None and effect.failure.type == "Stopped"
    if not has_reconcile:
        await shop.app.pipelines.resolve(handle.id, "happened", result=Receipt("a", "found"))
    async with shop.app.worker():
        await pass_time(idle_harness, "11s")
        assert await handle.result() == Receipt("a", "found")

    assert (shop.world.count("charge"), gate.cancelled) == (1, 1)


@pytest.mark.parametrize("in_pipeline", [False, True])
async def test_reconcile_is_asked_with_the_arguments_as_they_were_written(harness: Harness, in_pipeline: bool) -> None:
    app, asked = harness.app, list[list[int]]()
    numbers = app.topic("numbers", list[int])

    def find(items: list[int]) -> windlass.Happened[int]:
        asked.append(items)
        return windlass.Happened(len(items))

    @app.effect(reconcile=find)
    async def send(items: list[int]) -> int:
        items.clear()
        raise ConnectionError("reset")

    @app.workflow
    async def mail(ctx: windlass.Context) -> int:
        return await ctx.step(send, [1, 2, 3])

    class Send(windlass.Consumer[list[int], int]):
        async def mutate(
            self, ctx: windlass.MutateContext, prepared: windlass.Prepared[list[int]]
        ) -> windlass.Effect[int]:
            return windlass.Effect(send, prepared.data)

    if in_pipeline:
        app.pipeline("mail").consumer(numbers)(Send)
        await until_declared(harness, "mail")
        await app.publish(numbers, [1, 2, 3], id="a")
    else:
        await app.start(mail)
    await harness.idle()

    assert asked == [[1, 2, 3]]


async def test_an_effect_that_needs_a_thread_is_begun_when_there_is_one(open_harness: OpenHarness) -> None:
    """Else it could be called when others are sure already that nobody is inside."""
    harness = await open_harness(has_worker=False)
    is_free, calls = threading.Event(), list[int]()

    @harness.app.effect(timeout="1h")
    def send(number: int) -> int:
        calls.append(number)
        is_free.wait(PATIENCE)
        return number

    @harness.app.workflow
    async def mail(ctx: windlass.Context) -> list[int]:
        return await asyncio.gather(*(ctx.step(send, number, key=str(number)) for number in range(FEWEST_THREADS + 9)))

    async with harness.app.worker(slots=1):
        handle = await harness.app.start(mail)
        await eventually(lambda: len(calls) == FEWEST_THREADS, what="all threads are taken")
        begun = await ledger(harness, handle)
        is_free.set()

        assert await handle.result() == [*range(FEWEST_THREADS + 9)]
    assert len(begun) == FEWEST_THREADS


class Stubborn(Gate):
    """Code that does not let itself be stopped."""

    async def wait(self) -> None:
        self.entries += 1
        self._news.set()
        while not self._open.is_set():
            try:
                await self._open.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                self._news.set()


async def test_an_effect_that_holds_out_against_the_stop_of_its_worker_is_asked_about_when_it_must_be_over(
    idle_harness: Harness,
) -> None:
    shop, gate = Shop(idle_harness), Stubborn()
    shop.world.plan(charge=gate, reconcile=HAPPENED)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(shop.app.worker())
        handle = await shop.app.start(shop.buy, "a")
        await gate.reached()
        leaving = asyncio.create_task(stack.aclose())
        await gate.left()
        await until_path(idle_harness, handle, "pending")
        (effect,) = await ledger(idle_harness, handle)
        gate.open()
        await leaving

    assert (effect.status, effect.failure) == ("in_flight", None)
    assert effect.reconcile_after > idle_harness.clock.now()
    assert (await ledger(idle_harness, handle))[0].status == "in_flight"


async def test_a_reconcile_whose_answer_no_door_takes_was_asked_in_vain(open_harness: OpenHarness) -> None:
    harness = await open_harness(codec=Doubling())
    shop = Shop(harness)
    large = windlass.Happened(Receipt("a", "x" * 1_900_000))
    shop.world.plan(charge=ConnectionError("reset"), reconcile=[large] * 6)
    handle = await shop.app.start(shop.buy, "a")
    await harness.idle()
    is_taken = await handle.status() == "completed"  # in process; a server takes less
    for _ in range(0 if is_taken else 12):
        await harness.advance("5m")

    assert shop.world.count("charge") == 1
    assert shop.world.count("reconcile") == (1 if is_taken else 6)
    assert await handle.status() == ("completed" if is_taken else "paused")


def late_word(handle: windlass.Handle[Any], verdict: Verdict, *, token: int) -> FailEffect:
    """About the first call: a request that stood still at one server while the worker asked another one again."""
    failure = Failure(kind=FailureKind.INDETERMINATE, type="ConnectionError", message="reset")
    return FailEffect(
        namespace="default",
        run_id=RunId(handle.id),
        token=token,
        step_key="charge",
        attempt=1,
        verdict=verdict,
        failure=failure,
    )


@pytest.mark.parametrize("verdict", list(Verdict))
async def test_a_word_about_a_call_that_comes_behind_its_result_changes_nothing(
    harness: Harness, gate: Gate, verdict: Verdict
) -> None:
    shop = Shop(harness)
    shop.world.plan(pack=gate)
    handle = await shop.app.start(shop.buy, "a")
    await gate.reached()
    await until_recorded(harness, handle, "charge")
    before, token = await ledger(harness, handle), (await row_of(harness, handle)).token

    begun = await harness.opened.engine.work.fail_effect(late_word(handle, verdict, token=token))
    gate.open()

    assert begun.kind is BegunKind.APPLIED
    assert await ledger(harness, handle) == before
    assert await handle.result() == Receipt("a", shop.world.keys[0])


@pytest.mark.parametrize("verdict", list(Verdict))
async def test_a_word_about_a_call_that_comes_behind_the_next_call_changes_nothing(
    harness: Harness, gate: Gate, verdict: Verdict
) -> None:
    shop = Shop(harness)
    shop.world.plan(charge=[ConnectionError("reset"), gate], reconcile=DID_NOT)
    handle = await shop.app.start(shop.buy, "a")
    await harness.idle()
    harness.clock.advance("1m")
    await gate.reached()
    before, token = await ledger(harness, handle), (await row_of(harness, handle)).token
    assert [(effect.attempt, effect.status) for effect in before] == [(2, "in_flight")]

    await harness.opened.engine.work.fail_effect(late_word(handle, verdict, token=token))
    found = ReconcileEffect(
        namespace="default",
        subject=handle.id,
        token=token,
        run_id=handle.id,
        step_key="charge",
        attempt=1,
        did_not_happen=True,
    )
    await harness.opened.engine.work.reconcile_effect(found)

    assert await ledger(harness, handle) == before
    gate.open()
    assert await handle.result() == Receipt("a", shop.world.keys[1])
