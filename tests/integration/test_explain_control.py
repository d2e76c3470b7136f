"""Does a run that a person has paused, cancelled or tried again say who did it, when and why, and what undoes it?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import ByHand, Gate, OpenHarness, until_recorded
from tests.integration.test_explain import explained, order_of, register
from tests.programs import asks, runs, sleeps, steps
from windlass import Context, StepError
from windlass.client.handle import Handle
from windlass.model.commands import SetGate
from windlass.model.gate import GateKind
from windlass.testing.harness import Harness

pytestmark = pytest.mark.spec("invariants:I-08")  # nothing waits without saying for what


async def close(harness: Harness, kind: GateKind, name: str, *, by: str | None = None, note: str | None = None) -> None:
    command = SetGate(namespace="default", kind=kind, name=name, is_paused=True, by=by, note=note)
    await harness.opened.control.set_gate(command)


async def packing(harness: Harness, gate: Gate) -> Handle[Any]:
    """Start a run and wait until its only step is seen at work."""

    async def pack() -> None:
        await gate.wait()

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await ctx.step(pack)
        await ctx.sleep("1h")

    handle = await harness.start(order)
    await gate.reached()
    harness.clock.advance("100ms")
    await until_recorded(harness, handle, "pack")
    return handle


# Paused


@pytest.mark.parametrize(
    ("by", "note", "told"),
    [
        ("ann", "count the\nstock", 'by ann since 00:00:10 UTC (1 min 30 s): "count the stock".'),
        ("ann", None, "by ann since 00:00:10 UTC (1 min 30 s)."),
        (None, None, "since 00:00:10 UTC (1 min 30 s)."),
    ],
)
async def test_a_run_that_a_person_has_paused(
    open_shared: OpenHarness, by: str | None, note: str | None, told: str
) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    harness.clock.advance("10s")
    await handle.pause(by=by, note=note)
    harness.clock.advance("90s")

    found = await explained(harness, handle)

    assert found.text == f"It has been paused {told} Let it go on: windlass resume {handle.id}"
    assert (found.code, found.brief) == ("paused", "paused by ann" if by else "paused")


async def test_a_run_that_is_to_be_paused_once_its_worker_comes_to_that(open_shared: OpenHarness, gate: Gate) -> None:
    harness = await open_shared()
    handle = await packing(harness, gate)
    (worker,) = await harness.opened.runs.list_workers("default")
    harness.clock.advance("9900ms")
    await handle.pause(by="ann", note="count the stock")
    harness.clock.advance("20s")

    found = await explained(harness, handle)
    gate.open()
    await harness.until(handle, "paused")
    after = await explained(harness, handle)

    assert found.text == (
        f"It is at work: worker {worker.id} on {worker.host} (pid {worker.pid}) has held it since 00:00:00 UTC (30 s); "
        "its claim lasts until 00:05:00 UTC (4 min 30 s left). Step 'pack' (attempt 1) has been at work for 29 s. "
        'ann asked at 00:00:10 UTC, 20 s ago, for it to be paused ("count the stock"): nothing new of it is begun, and '
        f"it is paused as soon as what is at work has ended. Let it go on after all: windlass resume {handle.id}"
    )
    assert (found.code, found.step, found.brief) == ("pausing", "pack", "to be paused by ann")
    assert after.text == (
        'It has been paused by ann since 00:00:30 UTC (0 s): "count the stock". '
        f"Let it go on: windlass resume {handle.id}"
    )


async def test_whoever_paused_a_run_before_it_was_resumed_is_forgotten(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    await handle.pause(by="ann", note="count the stock")
    await handle.resume(by="bob")
    await handle.pause()

    found = await explained(harness, handle)

    assert found.text == (f"It has been paused since 00:00:00 UTC (0 s). Let it go on: windlass resume {handle.id}")


async def test_a_decision_about_a_paused_run_does_not_change_who_paused_it_and_when(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    ship = harness.app.workflow(asks("Ship it?"))
    handle = await harness.start(ship)
    await harness.idle()
    await handle.pause(by="ann")
    harness.clock.advance("10s")
    await handle.approve(by="bob")

    found = await explained(harness, handle)

    assert found.text.startswith("It has been paused by ann since 00:00:00 UTC (10 s). ")


async def test_a_paused_run_whose_time_is_over_says_what_becomes_of_it(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness, timeout="1m")
    await handle.pause(by="ann")
    before = await explained(harness, handle)
    harness.clock.advance("70s")

    found = await explained(harness, handle)

    assert "(0 s). It must end by 00:01:00 UTC (1 min left). Let it go on: " in before.text
    assert " Its time-out passed at 00:01:00 UTC, 10 s ago: let go on, it ends as failed. Let it go on: " in found.text
    assert found.code == "paused"


# Behind a closed gate


@pytest.mark.parametrize(
    ("kind", "name", "command"),
    [
        (GateKind.QUEUE, "default", "windlass resume --queue default"),
        (GateKind.WORKFLOW, "order", "windlass resume --workflow order"),
        (GateKind.NAMESPACE, "default", "windlass resume --all"),
    ],
)
async def test_a_run_that_is_due_behind_a_closed_gate(
    open_shared: OpenHarness, kind: GateKind, name: str, command: str
) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    await register(ByHand(harness))
    await close(harness, kind, name, by="ann", note="the printer is broken")
    harness.clock.advance("20s")

    found = await explained(harness, handle)

    assert found.text == (
        f"It has been due for 20 s. {kind.value.capitalize()} {name!r} has been paused by ann since 00:00:00 UTC "
        f'(20 s): "the printer is broken", and no worker takes it before that ends. '
        f"Let {kind.value} {name!r} go on: {command}"
    )
    assert (found.code, found.brief) == ("gate_closed", f"{kind.value} {name!r} is paused")


async def test_every_closed_gate_in_front_of_a_run_is_named(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    await close(harness, GateKind.QUEUE, "default", by="ann")
    await close(harness, GateKind.WORKFLOW, "order")
    await close(harness, GateKind.QUEUE, "elsewhere")

    found = await explained(harness, handle)

    assert found.text == (
        "It has been due for 0 s. Queue 'default' has been paused by ann since 00:00:00 UTC (0 s), and no worker takes "
        "it before that ends. Workflow 'order' has been paused too since 00:00:00 UTC (0 s). "
        "Let queue 'default' go on: windlass resume --queue default, "
        "and let workflow 'order' go on: windlass resume --workflow order"
    )


async def test_a_run_that_is_not_due_says_that_it_will_not_be_taken(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness, delay="1h")
    await close(harness, GateKind.QUEUE, "default", by="ann")

    found = await explained(harness, handle)

    assert found.code == "starts_later"
    assert found.text == (
        "It was started to begin later: at 01:00:00 UTC, in 1 h. No worker is needed before. "
        "Queue 'default' has been paused by ann since 00:00:00 UTC (0 s), and no worker takes it before that ends. "
        "Let queue 'default' go on: windlass resume --queue default"
    )


# Over


async def test_a_run_that_was_cancelled_and_its_child(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    parcel = harness.app.workflow(sleeps("1h"))
    order = harness.app.workflow(runs(parcel))
    handle = await harness.start(order)
    await harness.idle()
    (step,) = await harness.steps(handle)
    await handle.cancel(by="bob", note="the customer called")
    harness.clock.advance("6s")

    found, child = await explained(harness, handle), await explained(harness, harness.app.handle(step.awaits or ""))

    assert (found.code, found.text) == (
        "cancelled",
        'It was cancelled by bob at 00:00:00 UTC, 6 s ago: "the customer called".',
    )
    assert (child.code, child.text) == (
        "cancelled",
        f"It was cancelled by bob at 00:00:00 UTC, 6 s ago, with its parent {handle.id}.",
    )


async def test_a_run_that_is_tried_again_names_the_run_that_does(open_shared: OpenHarness) -> None:
    harness = await open_shared()

    async def ship() -> None:
        raise StepError("no stock", kind="logic")

    order = harness.app.workflow(steps(ship))
    handle = await harness.start(order)
    await harness.idle()
    again = await handle.retry(by="cy")
    await harness.idle()

    found = await explained(harness, handle)

    assert found.text == (
        "It failed at 00:00:00 UTC, 0 s ago, in step 'ship' after 1 attempt, with StepError: no stock. "
        f"It is tried again as {again.id}. All of it: windlass show {handle.id}"
    )


async def test_a_paused_run_that_is_tried_again_was_ended_for_that(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    await handle.pause(by="ann")
    again = await handle.retry(by="cy")

    found = await explained(harness, handle)

    assert found.text == (
        f"It was cancelled by cy at 00:00:00 UTC, 0 s ago, to be tried again. It is tried again as {again.id}."
    )
