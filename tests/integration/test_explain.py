"""Does every run that waits say, in sentences one can act on, what it waits for and what it would take?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.conftest import ByHand, Gate, OpenHarness, eventually, log_of, row_of, until_recorded
from tests.programs import nothing, raises, sleeps, steps
from windlass import NotFound, Retry, StepError
from windlass.client.handle import Handle
from windlass.model.commands import Claim, Heartbeat, HoldRun, ProbeWorkers, RegisterWorker
from windlass.model.duration import between, from_instant
from windlass.model.explanation import Explanation
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import RunId
from windlass.model.time import SECOND, Duration
from windlass.model.worker import LockKind, Served
from windlass.settings import Settings
from windlass.testing.harness import Harness

pytestmark = pytest.mark.spec("invariants:I-08")  # nothing waits without saying for what

START = 'Start one: windlass worker MODULE:APP, or "async with app.worker():".'
LATER = "and then another worker takes it over."


async def explained(harness: Harness, handle: Handle[Any]) -> Explanation:
    """What the door says; the handle says the same."""
    found = await harness.opened.runs.explain_run("default", RunId(handle.id))
    assert await handle.explain() == str(found) == f"{found.title} {found.text}"
    return found


async def order_of(harness: Harness, **options: Any) -> Handle[Any]:
    """Start a run that nobody executes unless the test does."""

    order = harness.app.workflow(name="order", version=options.pop("version", ""))(nothing)
    return await harness.start(order, **options)


async def register(worker: ByHand, *, served: Served | None = None, slots: int = 2) -> LockKind | None:
    """Enter a worker that is never heard of again."""
    served = served or Served("default", "order")
    registered = await worker.work.register_worker(
        RegisterWorker(namespace="default", id=worker.id, host="alpha", pid=71, served=(served,), slots=slots)
    )
    beat = Heartbeat(namespace="default", id=worker.id, active=0, completed=0, failed=0)
    await worker.work.heartbeat(beat)
    return registered.lock


async def busy_worker(harness: Harness, name: str = "A", *, runs: int) -> None:
    """A worker that executes that many others."""
    worker = ByHand(harness, name)
    await register(worker)
    for _ in range(runs):
        await order_of(harness)
        await worker.claim_one()


async def test_a_sleeping_run(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    nap = harness.app.workflow(name="nap")(sleeps("3m"))
    handle = await harness.start(nap)
    await harness.idle()
    await harness.advance("30s")

    found = await explained(harness, handle)

    assert found.title == f"Run {handle.id} ('nap') is sleeping."
    assert found.text == (
        "It has slept since 00:00:00 UTC (30 s) and holds no worker; it goes on at 00:03:00 UTC, in 2 min 30 s."
    )
    assert (found.code, found.step, found.worker) == ("sleeping", "sleep", None)
    assert (found.at - (found.since or 0), (found.until or 0) - found.at) == (30 * SECOND, 150 * SECOND)


async def test_a_run_that_backs_off(open_shared: OpenHarness) -> None:
    harness = await open_shared()

    async def charge() -> None:
        raise StepError("gateway timed out", retry_after="1m")

    pay = harness.app.workflow(steps(charge, retry=Retry(9)))
    handle = await harness.start(pay)
    await harness.idle()
    await harness.advance("1m")  # the second attempt fails too
    await harness.advance("15s")

    found = await explained(harness, handle)

    assert found.text == (
        "Step 'charge' failed in attempt 2 with StepError: gateway timed out. It holds no worker; the step is tried "
        "again at 00:02:00 UTC, in 45 s."
    )
    assert (found.code, found.step) == ("backing_off", "charge")


async def test_a_run_that_starts_later(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness, delay="2d")

    found = await explained(harness, handle)

    assert found.text == (
        "It was started to begin later: at 2026-01-03 00:00:00 UTC, in 2 d. No worker is needed before."
    )
    assert found.code == "starts_later"


async def test_a_run_that_was_given_back_for_a_while(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle, hand = await order_of(harness), ByHand(harness)
    run = await hand.claim_one()
    claim = Claim(namespace="default", run_id=run.run_id, token=run.token, delay_for=Duration(5 * SECOND))
    await hand.work.release_run(claim)
    harness.clock.advance("2s")

    found = await explained(harness, handle)

    assert found.text == "A worker gave it back at 00:00:00 UTC, 2 s ago; it goes on at 00:00:05 UTC, in 3 s."
    assert found.code == "given_back"


async def test_a_run_at_work(open_shared: OpenHarness, gate: Gate) -> None:
    harness = await open_shared()

    async def charge() -> None:
        await gate.wait()

    pay = harness.app.workflow(steps(charge))
    handle = await harness.start(pay)
    await gate.reached()
    (worker,) = await harness.opened.runs.list_workers("default")
    fresh = await explained(harness, handle)
    harness.clock.advance("100ms")
    await until_recorded(harness, handle, "charge")
    harness.clock.advance("20s")

    found = await explained(harness, handle)
    gate.open()

    who = f"worker {worker.id} on {worker.host} (pid {worker.pid})"
    assert fresh.text == (
        f"It is at work: {who} has held it since 00:00:00 UTC (0 s); its claim lasts until 00:05:00 UTC (5 min left). "
        "No step has been at work for longer than a moment."
    )
    assert found.text == (
        f"It is at work: {who} has held it since 00:00:00 UTC (20 s); its claim lasts until 00:05:00 UTC "
        "(4 min 39 s left). Step 'charge' (attempt 1) has been at work for 20 s."
    )
    assert (found.code, found.worker, found.step) == ("held", worker.id, "charge")


async def test_a_run_held_by_a_worker_that_is_silent_and_nobody_else_is_there(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle, hand = await order_of(harness), ByHand(harness)
    lock = await register(hand)
    await hand.claim_one()
    harness.clock.advance("40s")

    found = await explained(harness, handle)

    assert lock is not None
    assert found.text == (
        f"Worker {hand.id} on alpha (pid 71) has held it since 00:00:00 UTC (40 s) and has been silent for 40 s. "
        "If it is dead, the next worker that serves 'order' notices it by its free lock, but none is alive. "
        f"{START} Else: its claim lasts until 00:05:00 UTC (4 min 20 s left)."
    )
    assert (found.code, found.worker) == ("held_silent", hand.id)


async def test_a_run_held_by_a_worker_that_is_silent_though_others_look_at_its_lock(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle, hand = await order_of(harness), ByHand(harness)
    lock = await register(hand)
    await hand.claim_one()
    harness.clock.advance("40s")
    await register(ByHand(harness, "B"))

    found = await explained(harness, handle)

    assert lock is not None
    assert found.text.partition(" silent for 40 s. ")[2] == (
        "A dead one would normally be noticed within a second or two by its free lock, so it is probably stopped or "
        "stuck. "
        f"Its claim lasts until 00:05:00 UTC (4 min 20 s left), {LATER}"
    )
    assert found.code == "held_silent"


async def test_a_run_held_by_a_worker_that_has_stopped(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle, hand = await order_of(harness), ByHand(harness)
    await register(hand)
    await hand.claim_one()
    # A goodbye gives everything back, so nothing of ours leaves this behind; an older version may have.
    await harness.opened.engine.parts.store.run_tx("stop", lambda tx: tx.workers.stop("default", id=hand.id))
    harness.clock.advance("1m")

    found = await explained(harness, handle)

    assert found.text == (
        f"Worker {hand.id} on alpha (pid 71), which has stopped, has held it since 00:00:00 UTC (1 min); its claim "
        f"lasts until 00:05:00 UTC (4 min left), {LATER}"
    )
    assert found.code == "held_stopped"


async def test_a_run_whose_claim_has_ended(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle, hand = await order_of(harness), ByHand(harness)
    await hand.claim_one()
    harness.clock.advance("5m10s")
    alone = await explained(harness, handle)
    await register(ByHand(harness, "B"))

    found = await explained(harness, handle)

    told = f"Worker {hand.id} held it; its claim ended at 00:05:00 UTC, 10 s ago, and it has not given the run back."
    assert (alone.code, alone.text) == ("no_worker", f"{told} No live worker runs 'order'. {START}")
    assert (found.code, found.text) == (
        "claim_ended",
        f"{told} 1 live worker serves it, with 0 of 2 slots taken; one of them should take it at any moment.",
    )


async def test_a_run_recovered_from_workers_that_disappeared(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle, hand = await order_of(harness), ByHand(harness)
    await register(hand)
    for _ in range(2):
        await hand.claim_one()
        harness.clock.advance("5m")
    await register(hand)
    await hand.claim_one()

    found = await explained(harness, handle)

    assert found.code == "held"
    assert found.text.endswith(" Before that its worker died, or its claim ran out, 2 times in a row.")


async def take_from_dead(open_shared: OpenHarness, handle: Handle[Any], harness: Harness, *, name: str) -> None:
    """Claim the run as a worker that dies, and let another one notice it."""
    dying = await open_shared(has_worker=False)
    hand, beside = ByHand(dying, name), ByHand(harness, "B")
    await register(hand)
    await hand.claim_one()
    dying.opened.engine.parts.store.locks.kill()  # type: ignore[attr-defined]  # as the system would
    await register(beside, served=Served("default", "other"))
    probe = ProbeWorkers(namespace="default", worker=beside.id, served=(Served("default", "other"),), everyone=True)

    async def is_noticed() -> bool:
        harness.clock.advance("1s")
        await harness.opened.work.probe_workers(probe)
        return (await row_of(harness, handle)).status == "pending"

    await eventually(is_noticed, what="the death is noticed")


async def test_a_run_whose_worker_died(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    await take_from_dead(open_shared, handle, harness, name="A")
    gone = (await log_of(harness, handle.id))[-1]
    died = "died" if gone.cause == "death" else "died, or lost its session"  # what the lock of that database proves
    harness.clock.advance("5s")

    found = await explained(harness, handle)

    assert found.text == (
        f"Its worker {died}; that was noticed at {from_instant(gone.at):%H:%M:%S} UTC, 5 s ago. "
        f"It has been due for 5 s. No live worker runs 'order'. {START}"
    )
    assert found.code == "no_worker"
    assert (await harness.opened.admin.check_up()).is_sound


async def test_a_run_whose_workers_keep_dying(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    await take_from_dead(open_shared, handle, harness, name="A")
    await take_from_dead(open_shared, handle, harness, name="C")
    gone, due_at = (await log_of(harness, handle.id))[-1], (await row_of(harness, handle)).available_at
    died = "died" if gone.cause == "death" else "died, or lost their session,"
    assert due_at is not None

    found = await explained(harness, handle)

    assert found.text == (
        f"Its workers {died} 2 times in a row; the last time was noticed at {from_instant(found.at):%H:%M:%S} UTC, "
        "0 s ago. It may be what kills them, so it waits longer each time; it goes on at "
        f"{from_instant(due_at):%H:%M:%S} UTC, in {between(found.at, due_at)}."
    )
    assert found.code == "workers_dying"
    assert (await harness.opened.admin.check_up()).is_sound


async def test_a_run_that_no_worker_runs(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    await register(ByHand(harness), served=Served("default", "other"))
    harness.clock.advance("20s")

    found = await explained(harness, handle)

    assert (found.code, found.text) == (
        "no_worker",
        f"It has been due for 20 s. No live worker runs 'order'. {START}",
    )


async def test_a_run_whose_workers_have_all_gone_silent(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    await register(ByHand(harness))
    harness.clock.advance("31s")

    assert (await explained(harness, handle)).code == "no_worker"


async def test_a_run_in_another_queue(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness, queue="slow")
    await register(ByHand(harness, "A"), served=Served("default", "order"))
    await register(ByHand(harness, "B"), served=Served("fast", "order"))

    found = await explained(harness, handle)

    assert found.code == "other_queue"
    assert found.text == (
        "It has been due for 0 s. Live workers run 'order' in queues 'default', 'fast', but none in queue 'slow', "
        "where this run waits. Start one: windlass worker MODULE:APP --queue slow, or "
        "\"async with app.worker(queues=['slow']):\"."
    )


async def test_a_run_of_another_version(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness, version="1")
    await register(ByHand(harness), served=Served("default", "order", "2"))

    found = await explained(harness, handle)

    assert found.code == "other_version"
    assert found.text == (
        "It has been due for 0 s. Live workers run 'order' with version '2', but this run wants version '1'. "
        "Start one, of code that declares version '1': windlass worker MODULE:APP, or \"async with app.worker():\"."
    )


async def test_a_run_that_is_due(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    await busy_worker(harness, runs=1)
    handle = await order_of(harness)
    await register(ByHand(harness, "B"))

    found = await explained(harness, handle)

    assert (found.code, found.text) == (
        "due",
        "It has been due for 0 s. 2 live workers serve it, with 1 of 4 slots taken; one of them should take it at any "
        "moment.",
    )


async def test_a_run_that_stays_due_though_workers_are_free(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness)
    harness.clock.advance("2m")
    await register(ByHand(harness))

    found = await explained(harness, handle)

    assert found.text == (
        "It has been due for 2 min. 1 live worker serves it, with 0 of 2 slots taken, yet none has taken it: see the "
        "workers' logs."
    )


async def test_a_run_whose_workers_are_full(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    await busy_worker(harness, runs=2)
    handle = await order_of(harness)

    found = await explained(harness, handle)

    assert (found.code, found.text) == (
        "workers_full",
        "It has been due for 0 s. 1 live worker serves it, and all 2 slots are taken: it waits for one, or for another "
        "worker.",
    )


async def test_a_run_under_which_the_code_changed(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)
    handle, hand = await order_of(harness), ByHand(harness)
    run = await hand.claim_one()
    reason = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message="The code changed under it.", step="ship")
    await hand.work.hold_run(HoldRun(namespace="default", run_id=run.run_id, token=run.token, reason=reason))
    harness.clock.advance("90s")

    found = await explained(harness, handle)

    assert (found.code, found.step) == ("mismatch", "ship")
    assert found.text == (
        "It has been held for a person since 00:00:00 UTC (1 min 30 s): The code changed under it. "
        f"Then: windlass resume {handle.id}"
    )


async def test_a_completed_run(open_shared: OpenHarness) -> None:
    harness = await open_shared()
    nap = harness.app.workflow(sleeps("10s"))
    handle = await harness.start(nap)
    await harness.idle()
    await harness.advance("10s")
    await harness.advance("5m")

    found = await explained(harness, handle)

    assert (found.code, found.text) == (
        "completed",
        "It completed at 00:00:10 UTC, 5 min ago, 10 s after it first began, in 2 claims.",
    )


async def test_a_failed_run(open_shared: OpenHarness) -> None:
    harness = await open_shared()

    async def ship() -> None:
        raise StepError("no stock", retry_after="1s")

    order = harness.app.workflow(steps(ship, retry=Retry(2)))
    careless = harness.app.workflow(raises(ValueError, "what now?"))
    in_step, outside = await harness.start(order), await harness.start(careless)
    await harness.idle()
    await harness.advance("1s")

    found, other = await explained(harness, in_step), await explained(harness, outside)

    assert (found.code, found.step, found.text) == (
        "failed",
        "ship",
        "It failed at 00:00:01 UTC, 0 s ago, in step 'ship' after 2 attempts, with StepError: no stock. "
        f"All of it: windlass show {in_step.id}",
    )
    assert (other.code, other.step, other.text) == (
        "failed",
        None,
        "It failed at 00:00:00 UTC, 1 s ago, in the workflow itself, with ValueError: what now? "
        f"All of it: windlass show {outside.id}",
    )


@pytest.mark.spec("invariants:I-15")
async def test_a_run_that_ended_as_a_crash_loop(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False, settings=Settings(max_recoveries=1))
    handle = await order_of(harness)
    for name in "ABC":
        await ByHand(harness, name).claim()
        harness.clock.advance("5m")

    found = await explained(harness, handle)

    assert (found.code, found.text) == (
        "crash_loop",
        "It failed at 00:10:00 UTC, 5 min ago, as a crash loop. Its worker died or was cut off 2 times in a row; "
        f"last seen outside any step. All of it: windlass show {handle.id}",
    )


async def test_a_run_whose_worker_lived_while_its_claims_ran_out(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False, settings=Settings(max_recoveries=1))
    handle, hand = await order_of(harness), ByHand(harness)
    for _ in range(3):
        await hand.claim()
        harness.clock.advance("5m")

    found = await explained(harness, handle)

    assert found.code == "failed"
    assert "Its claim ran out 2 times in a row: its worker lived, but gave no sign of life for 5 min" in found.text


async def test_a_run_that_is_not_there(open_shared: OpenHarness) -> None:
    harness = await open_shared(has_worker=False)

    with pytest.raises(NotFound):
        await harness.app.handle("run_" + "0" * 26).explain()


async def test_result_warns_with_the_same_words_of_a_run_in_another_queue(
    open_shared: OpenHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness = await open_shared(has_worker=False)
    handle = await order_of(harness, queue="slow")
    await register(ByHand(harness))
    waiting = asyncio.ensure_future(handle.result())

    def warnings() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "windlass.client"]

    await eventually(lambda: harness.clock.next_timer() is not None, what="result() waits")
    harness.clock.advance("3s")
    await eventually(lambda: bool(warnings()), what="the warning")
    waiting.cancel()

    assert warnings() == [await handle.explain()]
    assert "Live workers run 'order' in queue 'default', but none in queue 'slow'" in warnings()[0]
