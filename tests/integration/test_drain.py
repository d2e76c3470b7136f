"""Does a worker that is asked to leave end what it can, lose nothing, and go by itself?

That the process of `windlass worker` then ends is shown in tests/integration/processes.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, log_of, row_of
from tests.integration.wires import at_rest
from windlass import Context
from windlass.engine.coordinator import expire_workers
from windlass.errors import WrongState
from windlass.model.run import RunStatus, WorkerId
from windlass.model.time import SECOND, Duration
from windlass.model.worker import Worker as Row
from windlass.settings import Settings
from windlass.testing.harness import Harness
from windlass.worker.worker import Worker

GRACE_FOR = Duration(30 * SECOND)
LEAVES = "is asked to leave: it claims nothing new, and running bodies may end within 30 s."


def declare(harness: Harness, name: str, gate: Gate | None = None, *, steps: int = 1) -> Any:
    """A workflow of the same name everywhere, whose steps say where they were executed."""

    async def ship(number: int) -> str:
        if gate is not None and gate.entries == 0:  # once: whoever comes again is let through
            await gate.wait()
        return name

    async def order(ctx: Context) -> list[str]:
        return [await ctx.step(ship, number) for number in range(steps)]

    return harness.app.workflow(name="order")(order)


def worker_of(harness: Harness) -> Worker:
    (worker,) = harness.app._workers
    return worker


async def known(harness: Harness) -> dict[WorkerId, Row]:
    return {row.id: row for row in await harness.opened.runs.list_workers("default")}


def listening(harness: Harness) -> Any:
    return harness.opened.engine.work._listening


async def has_gone(harness: Harness) -> None:
    await eventually(worker_of(harness).drain.is_over.is_set, what="the worker has left")


async def two_workers(
    open_shared: OpenHarness, gate: Gate, *, steps: int = 1, **options: Any
) -> tuple[Harness, Harness, Any, Any]:
    """Two processes, as it were: the first is in the middle of a body, with a slot free, and the second serves the
    same."""
    first = await open_shared(slots=2, **options)
    order = declare(first, "first", gate, steps=steps)
    handle = await first.start(order)
    await gate.reached()
    second = await open_shared()
    declare(second, "second", steps=steps)
    await eventually(lambda: bool(worker_of(second).polling.claiming), what="the second one waits for work")
    return first, second, order, handle


async def test_a_worker_that_drains_keeps_its_run_until_its_body_has_ended(open_shared: OpenHarness) -> None:
    gate = Gate()
    first, second, order, handle = await two_workers(open_shared, gate)
    claimed = await row_of(second, handle)

    worker = await second.opened.control.drain_worker("default", worker_of(first).id, by="ann")

    assert (worker.id, worker.is_draining) == (worker_of(first).id, True)
    await eventually(lambda: worker_of(first)._host.is_draining, what="it has heard of it")
    another = await first.start(order)
    assert await another.result() == ["second"]  # though the first has a free slot, and is beside it
    assert await row_of(second, handle) == claimed
    assert (await known(second))[worker_of(first).id].is_draining
    gate.open()
    assert await handle.result() == ["first"]
    await has_gone(first)
    assert set(await known(second)) == {worker_of(second).id}
    assert (await row_of(second, handle)).attempts == 1


async def test_between_two_steps_a_run_goes_to_another_worker(open_shared: OpenHarness) -> None:
    gate = Gate()
    first, second, _, handle = await two_workers(open_shared, gate, steps=3)
    await second.opened.control.drain_worker("default", worker_of(first).id)
    await eventually(lambda: worker_of(first)._host.is_draining, what="it has heard of it")

    gate.open()

    assert await handle.result() == ["first", "second", "second"]
    await has_gone(first)
    assert gate.entries == 1
    assert (await row_of(second, handle)).recoveries == 0
    causes = [entry.cause for entry in await log_of(second, handle.id)]
    assert causes[1:] == ["claim" if causes[1] == "claim" else "dispatch", "release", "claim", "finish"]


async def test_what_does_not_end_within_the_grace_is_given_back(open_shared: OpenHarness) -> None:
    gate = Gate()
    first, second, _, handle = await two_workers(open_shared, gate, settings=Settings(grace_for=GRACE_FOR))
    await second.opened.control.drain_worker("default", worker_of(first).id)
    await eventually(lambda: worker_of(first)._host.is_draining, what="it has heard of it")
    claimed = await row_of(second, handle)

    first.clock.advance("29s")
    assert worker_of(first).id in await known(second)  # it is still there, and still holds its run
    assert await row_of(second, handle) == claimed
    first.clock.advance("30s")  # also if the grace began only after the first move of the clock

    await gate.left()
    assert await handle.result() == ["second"]
    await has_gone(first)
    run = await row_of(second, handle)
    assert (run.status, run.recoveries) == (RunStatus.COMPLETED, 0)


@pytest.mark.spec("runs:P3.4")
async def test_without_a_hint_it_is_heard_at_the_next_sign_of_life(open_harness: OpenHarness) -> None:
    harness = await open_harness()
    declare(harness, "first")
    harness.opened.engine.parts.hub.is_suppressed = True

    await harness.opened.control.drain_worker("default", worker_of(harness).id)
    assert not worker_of(harness)._host.is_draining
    harness.clock.advance("10s")

    await has_gone(harness)
    assert await known(harness) == {}


async def test_in_a_program_the_worker_is_quiet_until_its_block_ends(
    open_harness: OpenHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="windlass.worker")
    harness = await open_harness(has_worker=False)
    order = declare(harness, "first")
    async with harness.app.worker():
        id = worker_of(harness).id
        await eventually(lambda: ("default", id) in listening(harness), what="the worker listens")
        await harness.opened.control.drain_worker("default", id)
        await has_gone(harness)
        handle = await harness.start(order)
        harness.clock.advance("1m")
        assert (await row_of(harness, handle)).status is RunStatus.PENDING

    assert [record.getMessage() for record in caplog.records] == [
        f"Worker {id} {LEAVES}",
        f"Worker {id} has left, as it was asked to.",
    ]
    with pytest.raises(WrongState):
        await harness.opened.control.drain_worker("default", id)
    async with harness.app.worker():  # another one, of which nobody has asked anything
        assert await handle.result() == ["first"]


async def test_a_block_that_ends_meanwhile_waits_for_the_same_grace(open_harness: OpenHarness) -> None:
    gate = Gate()
    harness = await open_harness(has_worker=False)
    order = declare(harness, "first", gate)
    async with harness.app.worker():
        handle = await harness.start(order)
        await gate.reached()
        worker = worker_of(harness)
        await harness.opened.control.drain_worker("default", worker.id)
        await eventually(lambda: worker._host.is_draining, what="it has heard of it")
        asyncio.get_running_loop().call_later(0.01, gate.open)

    assert worker.drain.is_over.is_set()
    assert await handle.result() == ["first"]


async def test_a_block_that_is_cancelled_meanwhile_gives_everything_back(open_harness: OpenHarness) -> None:
    gate = Gate()
    harness = await open_harness(has_worker=False)
    order = declare(harness, "first", gate)
    entered, handles = asyncio.Event(), list[Any]()

    async def work() -> None:
        async with harness.app.worker():
            handles.append(await harness.start(order))
            await gate.reached()
            await harness.opened.control.drain_worker("default", worker_of(harness).id)
            await eventually(lambda: worker_of(harness)._host.is_draining, what="it has heard of it")
            entered.set()

    task = asyncio.create_task(work())
    await entered.wait()
    await asyncio.sleep(0)
    task.cancel()  # while it waits for the grace

    with pytest.raises(asyncio.CancelledError):
        await task
    await gate.left()
    run = await row_of(harness, handles[0])
    assert (run.status, run.worker, run.recoveries) == (RunStatus.PENDING, None, 0)
    assert await known(harness) == {}


async def test_a_worker_taken_for_gone_while_it_drains_comes_back_and_drains(open_shared: OpenHarness) -> None:
    gate = Gate()
    first, second, _, handle = await two_workers(open_shared, gate)
    id = worker_of(first).id
    await second.opened.control.drain_worker("default", id)
    await eventually(lambda: worker_of(first)._host.is_draining, what="it has heard of it")

    async def is_marked() -> bool:
        # Everyone is silent if nobody may be silent at all. A row that is just being written is left for the next time.
        await expire_workers.tick(second.opened.engine.parts, silent_for=Duration(-1), batch=10)
        return id not in await known(second)

    await eventually(is_marked, what="it counts as offline")

    async def is_back() -> bool:
        first.clock.advance("1s")  # it looks every second
        found = await known(second)
        return id in found and found[id].is_draining

    await eventually(is_back, what="it is registered again")
    gate.open()
    assert await handle.result() == ["first"]
    await has_gone(first)
    assert id not in await known(second)


async def test_what_a_worker_has_not_heard_yet_is_still_asked_for_when_it_comes_back(open_harness: OpenHarness) -> None:
    harness = await open_harness()
    declare(harness, "first")
    parts, worker = harness.opened.engine.parts, worker_of(harness)
    parts.hub.is_suppressed = True
    await harness.opened.control.drain_worker("default", worker.id)
    await parts.store.run_tx("silence", lambda tx: tx.workers.expire(silent_for=Duration(-1), limit=10))

    async def has_left() -> bool:
        harness.clock.advance("1s")
        return worker.drain.is_over.is_set()

    await eventually(has_left, what="it has registered, heard of it, and left")
    assert await known(harness) == {}


async def test_a_worker_that_is_about_to_leave_by_itself_is_seen_to_drain(open_harness: OpenHarness) -> None:
    """As after SIGTERM: whoever asks why a run waits must not be sent to it."""
    gate = Gate()
    harness = await open_harness(has_worker=False)
    order = declare(harness, "first", gate)
    employment = harness.app.worker()
    await employment.__aenter__()
    handle = await harness.start(order)
    await gate.reached()
    id = worker_of(harness).id
    leaving = asyncio.create_task(employment.__aexit__(None, None, None))

    async def is_seen() -> bool:
        await at_rest()
        harness.clock.advance("1s")
        return (await known(harness))[id].is_draining

    await eventually(is_seen, what="its heartbeat has said so")
    waiting = await harness.start(order)
    assert "draining and takes nothing new" in (await waiting.explain())
    gate.open()
    await leaving
    assert await handle.result() == ["first"]
