"""What stays although it is over: for whose sake, and for how long? Runs, start keys, the log, workers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    THIRD_WORKER,
    WORKER,
    claim,
    claim_one,
    create,
    engine_on,
    finish,
    finished,
    new_run,
    start,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import cancelling, found, parking, run_in
from tests.conformance.test_families import child_wait, children_of, claim_child, end, parent_of
from tests.conformance.test_retention import KEPT, are_there, declare, ended, go_on, prune
from tests.conformance.test_retries import fail, retried
from tests.conformance.test_workers import registering
from tests.invariants.evidence import Snapshot, take_snapshot
from windlass.engine.coordinator.prune import AGAIN_AFTER, GONE_FOR, Prune
from windlass.engine.coordinator.walk import PAGE
from windlass.engine.engine import Engine
from windlass.errors import AlreadyExists, InvalidInput, NotFound, Unavailable
from windlass.model.commands import SetGate
from windlass.model.gate import GateKind
from windlass.model.run import RunStatus
from windlass.model.step import StepKind
from windlass.model.time import DAY, HOUR, Duration
from windlass.model.worker import Served
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

WINDOW = Duration(2 * DAY)  # for which a key is promised


async def everything(store: Store) -> Snapshot:
    return await take_snapshot(store, at=0, life=1, is_judged=False)


async def keys_of(store: Store) -> list[str]:
    return sorted(key.key for key in (await everything(store)).keys)


async def workers_of(store: Store) -> list[str]:
    return sorted(worker.id for worker in (await everything(store)).workers)


class TestLeftovers(EngineConformance):
    # For whose sake

    @pytest.mark.spec("invariants:I-64")
    async def test_a_child_stays_as_long_as_a_parent_that_may_go_on(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        """Paused, it has still to read the result; failed, it may be tried again, and then knows its child."""
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, child_wait(run, kind=StepKind.START), park=False))
        (child,) = (await children_of(store, run.id)).values()
        await end(engine, await claim_child(engine, child))
        work = Prune(engine.parts, keep_for=KEPT, batch=100)
        clock.advance(2 * KEPT)
        assert await go_on(work) == 0
        again = await claim_one(engine, 2)
        await fail(engine, again)
        clock.advance(KEPT - 1)
        assert await go_on(work) == 0
        assert await are_there(engine, run.id, child) == [True, True]

        clock.advance(1)

        assert await go_on(work) == 2
        assert await are_there(engine, run.id, child) == [False, False]

    @pytest.mark.spec("invariants:I-64")
    async def test_a_child_of_a_completed_run_goes_by_its_own_limit(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        run, children = await parent_of(engine, store, "letter")
        await end(engine, await claim_child(engine, children["letter"]))
        await engine.work.finish_run(finished(await claim_one(engine, 2)))
        await declare(store, {"letter": DAY})
        clock.advance(DAY)

        assert await prune(engine) == 1
        assert await are_there(engine, run.id, children["letter"]) == [True, False]

    @pytest.mark.spec("invariants:I-64", "invariants:I-14")
    async def test_a_child_outlives_its_parent(self, store: Store, engine: Engine, clock: FakeClock) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, child_wait(run, kind=StepKind.START), park=False))
        (child,) = (await children_of(store, run.id)).values()
        await engine.work.finish_run(finished(run))
        work = Prune(engine.parts, keep_for=KEPT, batch=100)
        clock.advance(KEPT)
        assert await go_on(work) == 1

        await end(engine, await claim_child(engine, child))

        assert (await found(engine, child)).status is RunStatus.COMPLETED
        clock.advance(KEPT)
        assert await go_on(work) == 1
        assert await are_there(engine, run.id, child) == [False, False]

    @pytest.mark.spec("invariants:I-64")
    async def test_the_children_of_a_large_map_go_behind_it(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        count = PAGE + 20
        children = [
            new_run(number, parent=run.id, parent_step=f"letter#{number}", name="letter")
            for number in range(100, 100 + count)
        ]
        await create(store, *children)
        claimed = await claim(store, limit=count, served=(Served("billing", "letter"),))
        await finish(store, *(finished(row.run) for row in claimed))
        await fail(engine, run)
        clock.advance(KEPT)

        assert await prune(engine) == count + 1

    @pytest.mark.spec("invariants:I-64")
    async def test_a_run_stays_as_long_as_the_one_that_tries_it_again(self, engine: Engine, clock: FakeClock) -> None:
        first = await run_in(engine, RunStatus.FAILED)
        second = await retried(engine, first)
        await fail(engine, await claim_one(engine, 2))
        third = await retried(engine, second)
        work = Prune(engine.parts, keep_for=KEPT, batch=100)
        clock.advance(2 * KEPT)
        assert await go_on(work) == 0
        await engine.work.finish_run(finished(await claim_one(engine, 3)))
        clock.advance(KEPT - 1)
        assert await go_on(work) == 0
        assert await are_there(engine, first.id, second.id, third.id) == [True, True, True]

        clock.advance(1)

        assert await go_on(work) == 3

    # Start keys

    @pytest.mark.spec("invariants:I-64", "invariants:I-56", "security:42")
    async def test_a_key_without_a_window_outlives_its_run_for_ever(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        run = await ended(engine, key="order-1")
        clock.advance(1000 * DAY)
        assert await prune(engine) == 1

        again = await engine.runs.start_run(start(1, key="order-1"))

        assert (again.run_id, again.is_repeat) == (run.id, True)
        with pytest.raises(AlreadyExists, match=run.id):
            await engine.runs.start_run(start(2, key="order-1"))
        with pytest.raises(NotFound, match=f"'{run.id}' does not exist. If it did once, it was removed"):
            await engine.runs.wait_for_result(NAMESPACE, run.id, None)
        with pytest.raises(NotFound, match=f"'order-1' does not exist. It was {run.id}, which was removed"):
            await engine.runs.find_run(NAMESPACE, "order-1")
        assert await keys_of(store) == ["order-1"]

    @pytest.mark.spec("invariants:I-64", "invariants:I-56", "security:42")
    async def test_a_key_goes_when_its_window_is_over_and_not_before(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock, keys_expire_for=WINDOW)
        run = await ended(engine, key="order-1")
        work = Prune(engine.parts, keep_for=Duration(DAY), batch=100)
        clock.advance(WINDOW - 1)
        assert await go_on(work) == 1
        assert await keys_of(store) == ["order-1"]
        assert (await engine.runs.start_run(start(1, key="order-1"))).run_id == run.id

        clock.advance(1)
        await go_on(work)

        assert await keys_of(store) == []
        anew = await engine.runs.start_run(start(2, key="order-1"))
        assert not anew.is_repeat

    @pytest.mark.spec("invariants:I-64")
    async def test_expired_keys_go_also_where_runs_are_kept_for_ever(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock, keys_expire_for=WINDOW)
        run = await ended(engine, key="order-1")
        clock.advance(WINDOW)

        assert await prune(engine, keep_for=None) == 0
        assert (await keys_of(store), await are_there(engine, run.id)) == ([], [True])

    @pytest.mark.spec("invariants:I-64")
    async def test_a_key_stays_as_long_as_its_run_is_not_over(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock, keys_expire_for=WINDOW)
        started = await engine.runs.start_run(start(1, key="order-1"))
        work = Prune(engine.parts, keep_for=KEPT, batch=100)
        clock.advance(10 * WINDOW)
        await go_on(work)
        assert (await engine.runs.find_run(NAMESPACE, "order-1")).run.id == started.run_id

        await engine.control.cancel_run(cancelling(started.run_id))
        clock.advance(AGAIN_AFTER)
        await go_on(work)
        await go_on(work)

        assert await keys_of(store) == []

    @pytest.mark.spec("invariants:I-64")
    async def test_a_key_that_belongs_to_another_run_by_now_stays(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock, keys_expire_for=WINDOW)
        await engine.runs.start_run(start(1, key="order-1"))
        old = await claim_one(engine)
        await fail(engine, old)
        clock.advance(WINDOW)
        (seen,) = await store.read("look", lambda tx: tx.prune.expired_keys(from_at=0, limit=10))  # type: ignore[arg-type]
        new = await retried(engine, old)

        await store.run_tx("prune_keys", lambda tx: tx.prune.remove_keys([seen]))

        assert (await engine.runs.find_run(NAMESPACE, "order-1")).run.id == new.id

    # Readers of the log

    @pytest.mark.spec("invariants:I-64")
    async def test_nothing_goes_that_a_reader_of_the_log_has_not_read(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        first, second = await ended(engine, 1), await ended(engine, 2)
        seqs = [(await engine.runs.read_log(NAMESPACE, run.id))[-1].seq for run in (first, second)]
        await engine.control.move_cursor(NAMESPACE, "mirror", seqs[0] - 1)
        await engine.control.move_cursor(NAMESPACE, "audit", seqs[1])
        work = Prune(engine.parts, keep_for=KEPT, batch=100)
        clock.advance(2 * KEPT)
        assert await go_on(work) == 0

        assert await engine.control.move_cursor(NAMESPACE, "mirror", seqs[0]) == seqs[0]
        assert await go_on(work) == 1
        assert await are_there(engine, first.id, second.id) == [False, True]
        assert await engine.control.drop_cursor(NAMESPACE, "mirror")
        assert await go_on(work) == 1

    @pytest.mark.spec("invariants:I-64")
    async def test_a_reader_of_another_namespace_keeps_nothing_here(self, engine: Engine, clock: FakeClock) -> None:
        await ended(engine)
        await engine.control.move_cursor("other", "mirror", 0)
        clock.advance(KEPT)

        assert await prune(engine) == 1

    async def test_a_cursor_never_goes_back(self, engine: Engine) -> None:
        moves = [await engine.control.move_cursor(NAMESPACE, "mirror", seq) for seq in (7, 3, 9, 9)]

        assert moves == [7, 7, 9, 9]
        assert await engine.control.drop_cursor(NAMESPACE, "mirror")
        assert not await engine.control.drop_cursor(NAMESPACE, "mirror")
        assert await engine.control.move_cursor(NAMESPACE, "mirror", 0) == 0

    @pytest.mark.parametrize(
        ("name", "seq"), [("", 1), ("a b", 1), ("x" * 201, 1), (7, 1), ("a", -1), ("a", True), ("a", "1"), ("a", 2**63)]
    )
    async def test_a_cursor_that_cannot_be_is_refused(self, engine: Engine, name: Any, seq: Any) -> None:
        with pytest.raises(InvalidInput):
            await engine.control.move_cursor(NAMESPACE, name, seq)

    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_cursor_is_dropped_once_even_if_the_answer_is_lost(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        await engine.control.move_cursor(NAMESPACE, "mirror", 7)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        assert await while_time_passes(clock, engine.control.drop_cursor(NAMESPACE, "mirror"))

    # Workers

    @pytest.mark.spec("invariants:I-64")
    async def test_workers_that_stopped_a_day_ago_and_hold_nothing_are_forgotten(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        for worker in (WORKER, OTHER_WORKER, THIRD_WORKER):
            await store.run_tx("register", lambda tx, id=worker: tx.workers.register(registering(id)))  # type: ignore[misc]
        await create(store, new_run(1))
        await claim_one(engine)  # by WORKER
        await store.run_tx("stop", lambda tx: tx.workers.stop(NAMESPACE, id=WORKER))
        await store.run_tx("stop", lambda tx: tx.workers.stop(NAMESPACE, id=OTHER_WORKER))
        work = Prune(engine.parts, keep_for=None, batch=100)
        clock.advance(GONE_FOR - 1)
        await go_on(work)
        assert await workers_of(store) == [WORKER, OTHER_WORKER, THIRD_WORKER]

        clock.advance(1)
        await go_on(work)
        assert await workers_of(store) == [WORKER, THIRD_WORKER]

        await engine.work.finish_run(finished(await claim_one(engine, 2, worker=THIRD_WORKER)))
        clock.advance(AGAIN_AFTER)
        await go_on(work)
        await go_on(work)
        assert await workers_of(store) == [THIRD_WORKER]

    @pytest.mark.spec("invariants:I-64")
    async def test_a_worker_that_came_back_is_not_forgotten(self, store: Store, clock: FakeClock) -> None:
        await store.run_tx("register", lambda tx: tx.workers.register(registering()))
        await store.run_tx("stop", lambda tx: tx.workers.stop(NAMESPACE, id=WORKER))
        clock.advance(GONE_FOR)
        seen = await store.read(
            "look",
            lambda tx: tx.prune.gone_workers(gone_for=GONE_FOR, from_at=0, limit=10),  # type: ignore[arg-type]
        )
        await store.run_tx("register", lambda tx: tx.workers.register(registering()))

        await store.run_tx("prune_workers", lambda tx: tx.prune.remove_workers(seen))

        assert await workers_of(store) == [WORKER]

    # What the log says about anything but runs

    @pytest.mark.spec("invariants:I-64")
    async def test_of_what_happened_to_a_queue_long_ago_the_last_is_remembered(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        for is_paused in (True, False, True):
            await engine.control.set_gate(
                SetGate(namespace=NAMESPACE, kind=GateKind.QUEUE, name="billing", is_paused=is_paused)
            )
            clock.advance(HOUR)
        clock.advance(KEPT)

        await prune(engine, keep_for=None)
        assert [entry.to_status for entry in (await everything(store)).log] == ["paused", "open", "paused"]
        await prune(engine)
        assert [entry.to_status for entry in (await everything(store)).log] == ["paused"]

    @pytest.mark.spec("invariants:I-64")
    async def test_the_way_of_an_open_run_is_remembered_from_its_beginning(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        run = await run_in(engine, RunStatus.SLEEPING)
        before = await engine.runs.read_log(NAMESPACE, run.id)
        clock.advance(10 * KEPT)

        await prune(engine)

        assert await engine.runs.read_log(NAMESPACE, run.id) == before
        assert (await found(engine, run.id)).status is RunStatus.SLEEPING
