"""What becomes of a worker that is taken for dead, and of what it was doing?

That a process which really died is noticed is shown with real processes, in tests/processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from typing import Any

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, log_of, row_of
from tests.programs import steps
from windlass import Context
from windlass.errors import StoreRefused, Unavailable
from windlass.model.commands import Probed, ProbeWorkers
from windlass.model.page import ListRuns
from windlass.model.run import GONE, WorkerId
from windlass.model.time import SECOND, Duration
from windlass.settings import Settings
from windlass.testing.harness import Harness

TURNS = 500  # real milliseconds for one look
LOOKS = 4  # a lost session takes two looks to be believed
NEVER = Duration(0)
SHIPPED = ("shipped by second", "shipped by first")  # whoever is back first takes the run anew


class CutOff:
    """What a lost session is: the lock is free and cannot be had again for a while, though the worker lives."""

    def __init__(self, harness: Harness) -> None:
        (self._worker,) = harness.app._workers
        self._locks: Any = harness.opened.engine.parts.store.locks

    async def __aenter__(self) -> None:
        self._locks.take = self._refuse
        await self._locks.release(self._worker.id, for_good=False)

    async def __aexit__(self, *_: object) -> None:
        del self._locks.take

    async def _refuse(self, worker: WorkerId) -> None:
        raise Unavailable("The database is out of reach.")


class Looks:
    """Counts the looks of a harness's worker that were answered, and lets it look again."""

    def __init__(self, harness: Harness) -> None:
        self._harness, self._count = harness, 0
        self._probe = harness.opened.work.probe_workers
        harness.opened.work.probe_workers = self._counted  # type: ignore[method-assign]

    async def again(self) -> None:
        """Let time pass until the worker has looked a few times more."""
        for _ in range(LOOKS):
            await eventually(functools.partial(self._has_looked, self._count), what="the worker looks")

    async def _has_looked(self, before: int) -> bool:
        self._harness.clock.advance("1s")
        for _ in range(TURNS):
            if self._count > before:
                return True
            await asyncio.sleep(0.001)
        return False  # it was busy with the look before, and began to wait only now

    async def _counted(self, command: ProbeWorkers) -> Probed:
        try:
            return await self._probe(command)
        finally:
            self._count += 1


def declare(harness: Harness, name: str, gate: Gate | None) -> Any:
    async def ship() -> str:
        if gate is not None and gate.entries == 0:  # once: whoever comes again is let through
            await gate.wait()
        return f"shipped by {name}"

    async def order(ctx: Context) -> str:
        return await ctx.step(ship)

    return harness.app.workflow(name="order")(order)


async def two_workers(open_shared: OpenHarness, gate: Gate, **options: Any) -> tuple[Harness, Harness, Any, Looks]:
    """Two processes, as it were, the first of which is in the middle of a body."""
    first = await open_shared(slots=1, **options)
    handle = await first.start(declare(first, "first", gate))
    await gate.reached()
    second = await open_shared()
    declare(second, "second", None)
    second.clock.advance("9s")  # nobody is judged right after a server has started
    return first, second, handle, Looks(second)


@pytest.mark.spec("invariants:I-18", "invariants:I-19")
async def test_a_worker_taken_for_dead_stops_its_bodies_and_comes_back(open_shared: OpenHarness) -> None:
    gate = Gate()
    first, second, handle, looks = await two_workers(open_shared, gate)

    async with CutOff(first):
        await looks.again()
        assert await handle.result() in SHIPPED
    await Looks(first).again()

    await gate.left()  # the body of the first was stopped, in the middle
    await eventually(lambda: not first.app._workers[0].executions, what="the run is dropped")
    gone, *later = [entry.cause for entry in await log_of(second, handle.id)][-3:]
    assert (gone in GONE, later) == (True, ["claim", "finish"])
    known = {worker.id for worker in await first.opened.runs.list_workers("default")}
    assert known == {harness.app._workers[0].id for harness in (first, second)}


async def test_a_worker_that_does_not_look_hears_of_it_at_its_next_sign_of_life(open_shared: OpenHarness) -> None:
    gate = Gate()
    first, second, handle, looks = await two_workers(open_shared, gate, settings=Settings(probe_for=NEVER))

    async with CutOff(first):
        await looks.again()
        assert await handle.result() in SHIPPED
    known = {first.app._workers[0].id, second.app._workers[0].id}

    async def are_known() -> bool:
        first.clock.advance("1s")  # a sign of life goes out every ten
        return {worker.id for worker in await first.opened.runs.list_workers("default")} == known

    await eventually(are_known, what="the first worker is registered again")
    await gate.left()


async def test_nobody_looks_where_looking_is_switched_off(open_shared: OpenHarness) -> None:
    gate = Gate()
    first = await open_shared(settings=Settings(probe_for=NEVER))
    handle = await first.start(declare(first, "first", gate))
    await gate.reached()
    second = await open_shared(settings=Settings(probe_for=NEVER))
    declare(second, "second", None)

    async with CutOff(first):
        for _ in range(LOOKS):
            first.clock.advance("1s")
            await second.opened.runs.list_runs(ListRuns(namespace="default"))  # everyone has had a turn
        assert (await row_of(second, handle)).status == "running"
    gate.open()
    assert await handle.result() == "shipped by first"


async def test_a_worker_that_lives_keeps_what_it_holds(open_shared: OpenHarness) -> None:
    gate = Gate()
    first, second, handle, looks = await two_workers(open_shared, gate)

    await looks.again()

    assert (await row_of(second, handle)).worker == first.app._workers[0].id
    gate.open()
    assert await handle.result() == "shipped by first"
    assert gate.entries == 1


async def test_a_worker_that_leaves_in_order_is_not_taken_for_dead(
    open_shared: OpenHarness, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = await open_shared(), await open_shared(has_worker=False)
    declare(first, "first", None)
    async with second.app.worker():
        pass

    await Looks(first).again()

    assert not [record for record in caplog.records if "dead" in record.message or "lost its" in record.message]


def test_looking_once_a_second_is_the_default() -> None:
    assert Settings().probe_for == SECOND


async def test_a_lock_that_was_lost_is_taken_again_before_anyone_believes_it(open_shared: OpenHarness) -> None:
    gate = Gate()
    first, _, handle, looks = await two_workers(open_shared, gate)
    firsts = Looks(first)

    await first.opened.engine.parts.store.locks.release(first.app._workers[0].id, for_good=False)
    await firsts.again()
    await looks.again()

    gate.open()
    assert await handle.result() == "shipped by first"
    assert gate.entries == 1


@pytest.mark.spec("invariants:I-12")
async def test_a_worker_whose_goodbye_fails_can_still_be_found_gone(open_shared: OpenHarness) -> None:
    first, second = await open_shared(has_worker=False), await open_shared(has_worker=False)
    declare(first, "first", None)
    store = first.opened.engine.parts.store
    run_tx = store.run_tx

    async def refuse(name: str, *args: Any, **options: Any) -> Any:
        if name == "deregister_worker":
            raise StoreRefused("The goodbye is refused.")
        return await run_tx(name, *args, **options)

    async with first.app.worker():
        (left,) = await first.opened.runs.list_workers("default")
        store.run_tx = refuse  # type: ignore[method-assign]
    second.clock.advance("10s")  # nobody is judged right after a server has started

    async with second.app.worker():
        await Looks(second).again()
        (there,) = await second.opened.runs.list_workers("default")

    assert there.id != left.id


@pytest.mark.spec("invariants:I-08", "invariants:I-19")
async def test_a_claim_that_ran_out_is_not_renewed_by_a_worker_that_comes_back(open_harness: OpenHarness) -> None:
    """Its body does not stop, so the run keeps its slot here; but it is for others to take."""
    harness = await open_harness(slots=1, settings=Settings(visibility_for=Duration(2 * SECOND)))
    entered, end = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        entered.set()
        while not end.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await end.wait()

    order = harness.app.workflow(steps(hang))
    handle = await harness.start(order)
    await eventually(entered.is_set, what="the body is at work")
    parts, (worker,) = harness.opened.engine.parts, harness.app._workers
    ends_at = (await row_of(harness, handle)).available_at
    await parts.store.run_tx("silence", lambda tx: tx.workers.expire(silent_for=Duration(-1), limit=10))

    async def is_back() -> bool:
        harness.clock.advance("1s")
        return [item.id for item in await harness.opened.runs.list_workers("default")] == [worker.id]

    harness.clock.advance("2s")  # the claim has run out before the worker hears of anything
    await eventually(is_back, what="it is registered again")
    try:
        run = await row_of(harness, handle)
        assert (run.available_at, len(worker.executions)) == (ends_at, 1)
    finally:
        end.set()
