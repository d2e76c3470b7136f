"""A handler, its effect and the question about it keep the claim on their pipeline for as long as they may take."""

from __future__ import annotations

import threading

import pytest

import windlass
from tests.integration.conftest import Gate, eventually, row_of
from tests.integration.pipelines.till import Order, Receipt, Till
from tests.programs import passes_to
from windlass.model.pipeline_commands import ListHandlerRuns
from windlass.model.time import MINUTE, SECOND, Duration
from windlass.testing.harness import Harness

TWENTY_MINUTES = Duration(20 * MINUTE)


class Nap(Gate):
    """Code that takes its time, by the clock of the test."""

    def __init__(self, harness: Harness, naps_for: Duration = TWENTY_MINUTES) -> None:
        super().__init__()
        self._harness, self._naps_for = harness, naps_for

    async def wait(self) -> None:
        self.entries += 1
        await self._harness.clock.sleep(self._naps_for)


@pytest.mark.spec("runs:G11", "invariants:I-20")
@pytest.mark.parametrize("phase", ["prepare", "mutate", "next"])
async def test_a_phase_of_twenty_minutes_is_entered_once(harness: Harness, phase: str) -> None:
    till = Till(harness, timeout="30m")
    await till.deployed()
    till.world.plan(**{phase: Nap(harness)})
    await till.publish("a")
    await eventually(lambda: till.world.count(phase) == 1)
    await till.advance("20m")

    assert till.world.journal == ["prepare", "mutate", "charge", "next"]
    assert (await till.path()) == [("committed", "committed")]
    assert (await till.row()).recoveries == 0


@pytest.mark.spec("runs:G11")
async def test_an_effect_of_twenty_minutes_is_called_once(harness: Harness) -> None:
    calls: list[str] = []
    topic = harness.app.topic("order.paid", Order)
    payments = harness.app.pipeline("payments")

    @harness.app.effect(timeout="30m")
    async def charge(order: Order) -> Receipt:
        calls.append(order.id)
        await harness.clock.sleep(TWENTY_MINUTES)
        return Receipt(order.id)

    @payments.consumer(topic)
    class Charge(windlass.Consumer[Order, Receipt]):
        async def mutate(
            self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
        ) -> windlass.Effect[Receipt]:
            return windlass.Effect(charge, prepared.data)

    await harness.idle()
    await harness.app.publish(topic, Order("a"), id="a")
    await eventually(lambda: bool(calls))
    await harness.advance("20m")

    assert calls == ["a"]
    pipelines = harness.opened.pipelines
    (run,) = (await pipelines.list_handler_runs(ListHandlerRuns(namespace="default", pipeline="payments"))).runs
    effect = (await pipelines.get_handler_run("default", run.id)).effect
    assert (run.status, effect is not None) == ("committed", True)
    assert effect is not None
    # The end of the claim under which it began, and its time-out: no renewal has moved that.
    assert effect.reconcile_after == effect.created_at + 300 * SECOND + 30 * MINUTE


@pytest.mark.spec("runs:G11")
async def test_an_effect_of_a_run_of_twenty_minutes_is_called_once(harness: Harness) -> None:
    calls: list[str] = []
    door = threading.Event()

    @harness.app.effect(timeout="30m")
    def charge(order: str) -> str:
        calls.append(order)
        door.wait(20)
        return f"receipt of {order}"

    buy = harness.app.workflow(passes_to(charge))
    handle = await harness.start(buy, "a")
    await eventually(lambda: bool(calls))
    harness.clock.call_later(TWENTY_MINUTES, door.set)
    await harness.advance("20m")

    assert await handle.result() == "receipt of a"
    assert calls == ["a"]
    assert (await row_of(harness, handle)).recoveries == 0


async def test_default_time_outs_do_not_follow_from_the_claim(harness: Harness) -> None:
    """A claim of ten seconds, and a handler that takes three minutes."""
    till = Till(harness, visibility="10s")
    await till.deployed()
    till.world.plan(next=Nap(harness, Duration(3 * MINUTE)))
    await till.publish("a")
    await eventually(lambda: till.world.count("next") == 1)
    await till.advance("3m")

    assert (await till.path()) == [("committed", "committed")]
