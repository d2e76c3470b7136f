"""How many slots of each worker are in use: is that counted when it is asked, whatever the worker said last?"""

from __future__ import annotations

from tests.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    WORKER,
    claim,
    create,
    engine_on,
    held,
    new_run,
)
from tests.conformance.test_workers import SILENT_FOR, beat, beating, registering
from tests.lives.pipeline_hands import Hands
from windlass.engine.coordinator import expire_workers
from windlass.engine.engine import Engine
from windlass.model.run import WorkerId
from windlass.model.time import SECOND, Instant
from windlass.store.base import Store
from windlass.testing.clock import FakeClock


async def in_use(engine: Engine) -> dict[WorkerId, int]:
    """How many slots each worker is said to use, those that have stopped too."""
    return {worker.id: worker.active for worker in await engine.runs.list_workers(NAMESPACE, Instant(0))}


class TestSlots:
    async def test_slots_are_counted_now_whatever_a_worker_said_last(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        for id in (WORKER, OTHER_WORKER):
            await engine.work.register_worker(registering(id))
        await beat(store, beating(active=7))
        await create(store, *map(new_run, range(1, 5)))
        before = await in_use(engine)

        (first, *_) = await claim(store, limit=3)
        busy = await in_use(engine)
        await engine.work.release_run(held(first.run))
        one_less = await in_use(engine)

        assert [before[WORKER], busy[WORKER], one_less[WORKER]] == [0, 3, 2]
        assert {found[OTHER_WORKER] for found in (before, busy, one_less)} == {0}

    async def test_what_a_silent_worker_holds_stays_counted_until_its_claims_are_gone(
        self, store: Store, clock: FakeClock
    ) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering())
        await create(store, new_run())
        await claim(store)
        clock.advance(SILENT_FOR + SECOND)

        assert await expire_workers.tick(engine.parts, silent_for=SILENT_FOR, batch=10) == 1

        assert await in_use(engine) == {WORKER: 1}
        await engine.work.deregister_worker(NAMESPACE, WORKER)
        assert await in_use(engine) == {WORKER: 0}

    async def test_a_pipeline_at_work_takes_a_slot_too(self, store: Store, clock: FakeClock) -> None:
        hands = Hands(engine_on(store, clock), WORKER)
        await hands.declare()
        await hands.publish("a")
        await hands.engine.work.register_worker(registering(pipelines=hands.served))

        assert await hands.claim() is not None

        assert await in_use(hands.engine) == {WORKER: 1}
        drained = await hands.engine.control.drain_worker(NAMESPACE, WORKER)
        assert drained.active == 1
        await hands.engine.work.deregister_worker(NAMESPACE, WORKER)
