"""Does a run end when its time is over, whatever it does then, and not before?"""

from __future__ import annotations

import pytest

from tests.integration.conftest import ByHand, Gate, row_of
from tests.programs import nothing, sleeps, steps
from windlass import Context, InvalidInput, Retry, RunFailed
from windlass.testing.harness import Harness

SECOND, HOUR = 1_000_000, 3_600_000_000


async def failure_of(handle: object) -> str:
    with pytest.raises(RunFailed) as failed:
        await handle.result()  # type: ignore[attr-defined]
    assert failed.value.kind == "timeout"
    return str(failed.value)


@pytest.mark.parametrize("wait", ["sleep", "event", "approval", "child"])
async def test_whatever_a_run_waits_for_it_fails_when_its_time_is_over(harness: Harness, wait: str) -> None:
    replied = harness.app.event("replied", str)
    napping = harness.app.workflow(sleeps("7d"))

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        waits = {
            "sleep": lambda: ctx.sleep("7d"),
            "event": lambda: ctx.receive(replied),
            "approval": lambda: ctx.approval("Ship?"),
            "child": lambda: ctx.run(napping),
        }
        await waits[wait]()

    handle = await harness.start(order, timeout="2h")
    await harness.idle()
    run = await row_of(harness, handle)
    assert run.expires_at == run.available_at == harness.clock.now() + 2 * HOUR
    await harness.advance(2 * HOUR - 1)
    assert not (await handle.status()).is_terminal
    await harness.advance(1)

    assert "TimeoutError: The run did not end within its time-out" in await failure_of(handle)


async def test_a_body_at_work_is_stopped_when_the_time_of_its_run_is_over(harness: Harness, gate: Gate) -> None:
    order = harness.app.workflow(timeout="1m")(steps(gate.wait))
    handle = await harness.start(order)
    await gate.reached()
    harness.clock.advance("59s")
    await harness.until(handle, "running")
    harness.clock.advance("1s")

    await failure_of(handle)
    await gate.left()


async def test_a_run_that_expired_before_anyone_came_is_never_entered(idle_harness: Harness) -> None:
    harness, entered = idle_harness, list[str]()

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        entered.append(ctx.run_id)

    handle = await harness.start(order, timeout="1h")
    harness.clock.advance("1h")
    async with harness.app.worker():
        await failure_of(handle)
    assert entered == []


async def test_the_time_counts_from_when_the_run_is_due(harness: Harness) -> None:
    order = harness.app.workflow(sleeps("30m", then="in time"))
    handle = await harness.start(order, delay="2h", timeout="1h")
    await harness.advance("2h")
    await harness.advance("30m")

    assert await handle.result() == "in time"


async def test_a_start_may_say_otherwise_than_the_workflow(harness: Harness) -> None:
    order = harness.app.workflow(timeout="1h")(sleeps("7d"))
    own, other = await harness.start(order), await harness.start(order, timeout="2h")
    await harness.idle()
    await harness.advance("1h")
    await failure_of(own)
    assert await other.status() == "sleeping"


async def test_a_claim_never_outlasts_its_run(idle_harness: Harness) -> None:
    """Whoever takes the run over when its holder is silent finds it at the end of its time, and not later."""
    harness = idle_harness
    order = harness.app.workflow(name="order")(nothing)
    handle = await harness.start(order, timeout="1m")
    worker = ByHand(harness)
    run = await worker.claim_one()
    assert run.expires_in == 60 * SECOND
    ends_at = harness.clock.now() + 60 * SECOND
    assert (await row_of(harness, handle)).available_at == ends_at
    await worker.work.renew_claim(worker.claim_of(run))
    await worker.work.complete_step(worker.completion(run, renew_for=worker.claim_of(run).visibility_for))
    assert (await row_of(harness, handle)).available_at == ends_at
    harness.clock.advance("1m")
    assert await ByHand(harness, "B").claim() == []

    await failure_of(handle)


async def test_a_retry_waits_no_longer_than_the_run_may_last(harness: Harness) -> None:
    async def broken() -> None:
        raise OSError("not now")

    order = harness.app.workflow(steps(broken, retry=Retry(5, initial="1d", max_delay="1d")))
    handle = await harness.start(order, timeout="1h")
    await harness.idle()
    await harness.advance("1h")

    await failure_of(handle)


@pytest.mark.parametrize("time", [0, -1, "x", True, "11y", float("inf")])
async def test_times_that_cannot_be_are_refused_before_anything_is_written(harness: Harness, time: object) -> None:
    order = harness.app.workflow(nothing)

    with pytest.raises(InvalidInput, match="timeout"):
        await harness.start(order, timeout=time)
    with pytest.raises(InvalidInput, match="timeout"):
        harness.app.workflow(timeout=time, name="other")(order)  # type: ignore[call-overload]
