"""Is a worker that died noticed by its lock, and nothing taken from one that lives?

For databases that several processes can open; where only one can, there is no lock and nobody to look for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

import pytest

from tests.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    SERVED,
    THIRD_WORKER,
    VISIBLE_FOR,
    WORKER,
    causes,
    claim,
    complete,
    completed,
    create,
    engine_on,
    held,
    load,
    log,
    new_run,
    poll,
)
from tests.conformance.sound import only
from tests.conformance.test_effects import claimed, prepared
from tests.conformance.test_workers import SILENT_FOR, beating, live, register, registering
from tests.lives.pipeline_hands import FOR, TIMEOUT, Hands
from windlass.engine.coordinator import expire_workers
from windlass.engine.engine import Engine
from windlass.errors import ClaimLost, NotFound, StoreRefused
from windlass.model.commands import PauseRun, ProbeWorkers
from windlass.model.effect import Effect
from windlass.model.pipeline_work import TaskKind
from windlass.model.run import RunStatus, WorkerId
from windlass.model.time import SECOND, Instant
from windlass.model.worker import LockKind, Served
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

MOST_RECOVERIES = 10
PATIENCE = 10_000  # looks, a millisecond apart, for a server to notice that a session has ended
LOOKS = 3  # a lost session takes two to be believed
SETTLED_AFTER = 10 * SECOND  # nobody is judged right after a server has started


class Mortal(Store, Protocol):
    """A store that can play the death of its process."""

    def kill(self) -> None: ...


class Pair:
    """Two workers, each on a store of its own, of which the second may die."""

    def __init__(self, engines: list[Engine], clock: FakeClock, *, lock: LockKind) -> None:
        self.first, self.second = engines
        self.clock, self.lock = clock, lock

    async def die(self, second_store: Mortal) -> None:
        """The second worker's process is gone, and the database has noticed: a server may take its time to."""
        locks = self.first.parts.store.locks
        second_store.kill()
        for _ in range(PATIENCE):
            if await locks.seize(OTHER_WORKER):
                break
            await asyncio.sleep(0.001)
        await locks.release(OTHER_WORKER, for_good=False)

    async def silence(self) -> None:
        """The second worker says nothing for too long, and is marked offline."""
        self.clock.advance(SILENT_FOR + 1)
        await self.first.work.heartbeat(beating(WORKER))
        assert await expire_workers.tick(self.first.parts, silent_for=SILENT_FOR, batch=10) == 1

    async def probe(self, **fields: Any) -> tuple[WorkerId, ...]:
        """Who is found dead by the first worker, in as many looks as it may take."""
        dead: tuple[WorkerId, ...] = ()
        for _ in range(LOOKS):
            dead += (await self.first.work.probe_workers(probing(**fields))).dead
            self.clock.advance(SECOND)
        return dead


def probing(**fields: Any) -> ProbeWorkers:
    return ProbeWorkers(**({"namespace": NAMESPACE, "worker": WORKER, "served": SERVED} | fields))


@only("disk", "postgres")  # what is in memory is gone with its process
class TestDeaths:
    @pytest.fixture
    async def pair(self, store: Store, second_store: Mortal, clock: FakeClock) -> AsyncIterator[Pair]:
        engines = [engine_on(store, clock), engine_on(second_store, clock)]
        await engines[0].work.register_worker(registering(WORKER, served=SERVED))
        lock = (await engines[1].work.register_worker(registering(OTHER_WORKER, served=SERVED))).lock
        assert lock is not None
        clock.advance(SETTLED_AFTER)
        yield Pair(engines, clock, lock=lock)
        await store.locks.release(WORKER, for_good=True)

    @pytest.mark.spec("invariants:I-12", "invariants:I-17")
    async def test_what_a_dead_worker_held_goes_back_under_its_token(
        self, store: Store, second_store: Mortal, pair: Pair, clock: FakeClock
    ) -> None:
        await create(store, new_run(1), new_run(2))
        mine, other = [row.run for row in await claim(second_store, worker=OTHER_WORKER)]
        await complete(second_store, completed(mine))

        await pair.die(second_store)

        assert await pair.probe() == (OTHER_WORKER,)
        for run in (mine, other):
            row = await load(store, 1 if run is mine else 2)
            assert (row.status, row.worker, row.token) == (RunStatus.PENDING, None, run.token)
            assert row.available_at is not None
            assert row.available_at <= clock.now()
        # A free file lock proves a death, a free session lock only that a session was lost.
        proof = {LockKind.FILE: "death", LockKind.SESSION: "session_lost"}[pair.lock]
        assert [entry[2] for entry in await causes(store, 1)][-1] == proof
        assert [worker.id for worker in await live(store)] == [WORKER]
        again = await claim(store, worker=WORKER)
        assert sorted((row.run.id, row.run.token) for row in again) == [(mine.id, 2), (other.id, 2)]
        assert await pair.probe() == ()

    @pytest.mark.spec("invariants:I-18")
    async def test_nothing_is_taken_from_a_worker_that_lives(
        self, store: Store, second_store: Store, pair: Pair
    ) -> None:
        await create(store, new_run())
        (row,) = await claim(second_store, worker=OTHER_WORKER)

        assert await pair.probe() == ()
        assert await pair.probe(everyone=True) == ()

        assert await load(store) == row.run
        assert {worker.id for worker in await live(store)} == {WORKER, OTHER_WORKER}

    @pytest.mark.spec("invariants:I-15")
    async def test_a_death_counts_as_a_recovery(self, store: Store, second_store: Mortal, pair: Pair) -> None:
        await create(store, new_run())
        await claim(second_store, worker=OTHER_WORKER)
        await pair.die(second_store)

        await pair.probe()

        assert (await load(store)).recoveries == 1
        (row,) = await claim(store, worker=WORKER)
        assert (row.run.recoveries, row.was) == (1, RunStatus.PENDING)
        await pair.first.work.release_run(held(row.run))
        assert (await load(store)).recoveries == 0

    async def test_a_run_that_was_to_be_paused_is_paused_when_its_worker_dies(
        self, store: Store, second_store: Mortal, pair: Pair
    ) -> None:
        await create(store, new_run())
        (row,) = await claim(second_store, worker=OTHER_WORKER)
        await pair.first.control.pause_run(PauseRun(namespace=NAMESPACE, run_id=row.run.id))
        await pair.die(second_store)

        await pair.probe()

        paused = await load(store)
        assert (paused.status, paused.worker, paused.recoveries) == (RunStatus.PAUSED, None, 0)
        assert (await causes(store))[-1] == ("running", "paused", "pause")

    async def test_only_whose_death_would_matter_is_looked_at(
        self, store: Store, second_store: Mortal, pair: Pair
    ) -> None:
        await create(store, new_run())
        await claim(second_store, worker=OTHER_WORKER)
        await pair.die(second_store)

        assert await pair.probe(served=(Served("elsewhere", "invoice"),)) == ()
        assert await pair.probe(namespace="other") == ()

        assert await pair.probe() == (OTHER_WORKER,)

    async def test_a_worker_that_has_just_come_looks_at_those_who_hold_nothing_too(
        self, store: Store, second_store: Mortal, pair: Pair
    ) -> None:
        await pair.die(second_store)

        assert await pair.probe() == ()
        assert await pair.probe(everyone=True) == (OTHER_WORKER,)

        assert [worker.id for worker in await live(store)] == [WORKER]

    @pytest.mark.spec("invariants:I-12", "invariants:I-17")
    @pytest.mark.parametrize("everyone", [False, True])
    async def test_the_lock_of_a_silent_worker_still_tells_its_death(
        self, store: Store, second_store: Mortal, pair: Pair, everyone: bool
    ) -> None:
        """Marked offline first, dead later: whoever comes and clears up must not take the proof away."""
        await create(store, new_run())
        await claim(second_store, worker=OTHER_WORKER)
        seen_at = (await live(store))[-1].seen_at
        await pair.silence()
        await pair.die(second_store)

        assert await pair.probe(everyone=everyone) == (OTHER_WORKER,)

        run = await load(store)
        assert (run.status, run.worker, run.recoveries) == (RunStatus.PENDING, None, 1)
        assert await pair.probe(everyone=everyone) == ()
        (gone,) = [item for item in await pair.first.runs.list_workers(NAMESPACE, Instant(0)) if item.stopped_at]
        assert (gone.id, gone.seen_at) == (OTHER_WORKER, seen_at)

    @pytest.mark.spec("invariants:I-18")
    async def test_nothing_is_taken_from_a_silent_worker_that_only_stands_still(
        self, store: Store, second_store: Store, pair: Pair
    ) -> None:
        await create(store, new_run())
        (row,) = await claim(second_store, worker=OTHER_WORKER)
        await pair.silence()

        assert await pair.probe() == ()
        assert await pair.probe(everyone=True) == ()

        assert await load(store) == row.run
        # It goes on, and finds that it has to register; what it held is still its own.
        assert not (await pair.second.work.probe_workers(probing(worker=OTHER_WORKER))).is_registered
        await pair.second.work.renew_claim(held(row.run, visibility_for=VISIBLE_FOR))
        await pair.second.work.register_worker(registering(OTHER_WORKER, served=SERVED, is_return=True))
        assert (await pair.second.work.probe_workers(probing(worker=OTHER_WORKER))).is_registered
        await pair.second.work.release_run(held(row.run))
        await pair.second.work.deregister_worker(NAMESPACE, OTHER_WORKER)

    async def test_a_worker_without_a_lock_is_never_taken_for_dead(self, store: Store, pair: Pair) -> None:
        await register(store, registering(THIRD_WORKER, served=SERVED))
        await create(store, new_run())
        (row,) = await claim(store, worker=THIRD_WORKER)

        assert await pair.probe(everyone=True) == ()

        assert await load(store) == row.run

    async def test_workers_of_one_process_do_not_take_each_other_for_dead(self, store: Store, pair: Pair) -> None:
        await pair.first.work.register_worker(registering(THIRD_WORKER, served=SERVED))
        await create(store, new_run())
        (row,) = await claim(store, worker=THIRD_WORKER)

        assert await pair.probe(everyone=True) == ()

        assert await load(store) == row.run
        await pair.first.work.deregister_worker(NAMESPACE, THIRD_WORKER)

    async def test_a_worker_that_left_in_order_is_not_found_dead(self, pair: Pair) -> None:
        await pair.second.work.deregister_worker(NAMESPACE, OTHER_WORKER)

        assert await pair.probe(everyone=True) == ()

    @pytest.mark.spec("invariants:I-18", "invariants:I-19")
    async def test_a_worker_that_was_only_out_of_reach_can_write_nothing_and_comes_back(
        self, store: Store, second_store: Store, pair: Pair
    ) -> None:
        await create(store, new_run())
        (row,) = await claim(second_store, worker=OTHER_WORKER)
        await second_store.locks.release(OTHER_WORKER, for_good=False)  # a session that is lost, a worker that lives
        assert await pair.probe() == (OTHER_WORKER,)

        with pytest.raises(ClaimLost):
            await pair.second.work.renew_claim(held(row.run, visibility_for=VISIBLE_FOR))
        with pytest.raises(NotFound):
            await pair.second.work.heartbeat(beating(OTHER_WORKER))
        assert not (await pair.second.work.probe_workers(probing(worker=OTHER_WORKER))).is_registered

        assert (await pair.second.work.register_worker(registering(OTHER_WORKER, served=SERVED))).lock is pair.lock
        assert (await pair.second.work.probe_workers(probing(worker=OTHER_WORKER))).is_registered
        assert await pair.probe(everyone=True) == ()
        await pair.second.work.deregister_worker(NAMESPACE, OTHER_WORKER)

    async def test_a_death_is_found_by_one_of_many(self, store: Store, second_store: Mortal, pair: Pair) -> None:
        await create(store, *[new_run(number) for number in range(1, 31)])
        await claim(second_store, worker=OTHER_WORKER)
        await pair.die(second_store)

        assert await pair.probe() == (OTHER_WORKER,)

        assert len(await claim(store, worker=WORKER)) == 30

    @pytest.mark.spec("invariants:I-15")
    async def test_a_run_whose_workers_keep_dying_waits_longer_each_time_and_is_given_up(
        self, store: Store, second_store: Store, pair: Pair, clock: FakeClock
    ) -> None:
        await create(store, new_run())
        pauses = []
        for _ in range(MOST_RECOVERIES + 1):
            await pair.second.work.register_worker(registering(OTHER_WORKER, served=SERVED))
            assert len(await claim(second_store, worker=OTHER_WORKER)) == 1
            await second_store.locks.release(OTHER_WORKER, for_good=False)
            assert await pair.probe() == (OTHER_WORKER,)
            run = await load(store)
            assert run.available_at is not None
            taken_at = (await log(store))[-1].at
            pauses.append((run.available_at - taken_at) / SECOND)
            clock.advance("2m")

        assert await pair.first.work.claim_runs(poll(worker=WORKER)) == []

        expected = [0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
        assert all(0.5 * wanted <= pause <= 1.5 * wanted for pause, wanted in zip(pauses, expected, strict=True))
        run = await load(store)
        assert (run.status, run.recoveries) == (RunStatus.FAILED, MOST_RECOVERIES + 1)

    async def test_a_burial_that_fails_is_tried_again(
        self, store: Store, second_store: Mortal, pair: Pair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await create(store, new_run())
        await claim(second_store, worker=OTHER_WORKER)
        await pair.die(second_store)
        run_tx = store.run_tx

        async def refuse(name: str, *args: Any, **options: Any) -> Any:
            if name == "bury_worker":
                raise StoreRefused("It cannot be written to.")
            return await run_tx(name, *args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(store, "run_tx", refuse)
            assert await pair.probe() == ()
            assert (await load(store)).status is RunStatus.RUNNING

        assert await pair.probe() == (OTHER_WORKER,)

    async def test_a_worker_of_another_namespace_takes_nobodys_lock_away(
        self, store: Store, second_store: Mortal, pair: Pair
    ) -> None:
        await create(store, new_run())
        await claim(second_store, worker=OTHER_WORKER)
        await pair.die(second_store)
        await pair.first.work.register_worker(registering(THIRD_WORKER, namespace="other"))

        assert await pair.probe(worker=THIRD_WORKER, namespace="other", everyone=True) == ()

        assert await pair.probe() == (OTHER_WORKER,)
        await pair.first.work.deregister_worker("other", THIRD_WORKER)

    @pytest.mark.spec("invariants:I-12", "invariants:I-25")
    async def test_a_goodbye_gives_back_what_could_not_be_given_back_before(
        self, store: Store, second_store: Store, pair: Pair
    ) -> None:
        """After it nobody looks for this worker any more."""
        await create(store, new_run())
        (row,) = await claim(second_store, worker=OTHER_WORKER)

        await pair.second.work.deregister_worker(NAMESPACE, OTHER_WORKER)
        await pair.second.work.deregister_worker(NAMESPACE, OTHER_WORKER)

        run = await load(store)
        assert (run.status, run.worker, run.token, run.recoveries) == (RunStatus.PENDING, None, row.run.token, 0)
        assert [entry[2] for entry in await causes(store)] == ["start", "claim", "release"]

    @pytest.mark.spec("invariants:I-39")
    async def test_only_a_proof_of_death_lets_an_effect_be_asked_about_at_once(
        self, second_store: Mortal, pair: Pair, clock: FakeClock
    ) -> None:
        """Whoever has lost its session may still be inside: until its claim and its time-out are over nobody asks."""
        first, begun_at = Hands(pair.first, WORKER), clock.now()
        await be_inside(Hands(pair.second, OTHER_WORKER))

        await pair.die(second_store)
        assert await pair.probe(served=(), pipelines=first.served) == (OTHER_WORKER,)

        if pair.lock is not LockKind.FILE:
            assert await first.claim() is None
            clock.advance(begun_at + FOR + TIMEOUT - 1 - clock.now())
            assert await first.claim() is None
            clock.advance(1)
        assert (await claimed(first)).kind is TaskKind.RECONCILE

    @pytest.mark.spec("invariants:I-39")
    async def test_the_death_of_the_next_holder_says_nothing_about_whoever_made_the_call(
        self, second_store: Mortal, pair: Pair, clock: FakeClock
    ) -> None:
        """That one has lost its claim, and may be inside for all that."""
        first, second = Hands(pair.first, WORKER), Hands(pair.second, OTHER_WORKER)
        (called,) = await be_inside(first, has_reconcile=False)
        clock.advance(FOR)
        await second.engine.work.register_worker(registering(OTHER_WORKER, served=(), pipelines=second.served))
        assert await second.claim() is not None

        await pair.die(second_store)
        assert await pair.probe(served=(), pipelines=first.served) == (OTHER_WORKER,)
        (known,) = await pair.first.pipelines.list_open_effects(NAMESPACE)
        assert known.reconcile_after == called.reconcile_after > clock.now()


async def be_inside(hands: Hands, *, has_reconcile: bool = True) -> Sequence[Effect]:
    """Call an effect, which does not return."""
    await hands.declare()
    await hands.publish("a")
    await hands.engine.work.register_worker(registering(hands.worker, served=(), pipelines=hands.served))
    await hands.begin(await prepared(hands), has_reconcile=has_reconcile)
    return await hands.engine.pipelines.list_open_effects(NAMESPACE)
