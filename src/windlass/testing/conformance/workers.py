"""Which workers are there, and does a sign of life touch anything but the worker's own row?"""

from __future__ import annotations

from typing import Any

import pytest

from windlass.errors import NotFound
from windlass.model.commands import Heartbeat, Heartbeaten, RegisterWorker
from windlass.model.run import WorkerId
from windlass.model.time import MINUTE, SECOND
from windlass.model.worker import Served, Worker
from windlass.store.base import Store
from windlass.testing.clock import FakeClock
from windlass.testing.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    VISIBLE_FOR,
    WORKER,
    claim,
    create,
    engine_on,
    load,
    new_run,
    running_run,
)

SERVES = (Served("mail", "letter"), Served("billing", "invoice", "2"))


def registering(id: WorkerId = WORKER, **fields: Any) -> RegisterWorker:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "id": id,
        "host": "here",
        "pid": 42,
        "served": SERVES,
        "slots": 10,
    }
    return RegisterWorker(**(values | fields))


def beating(id: WorkerId = WORKER, **fields: Any) -> Heartbeat:
    values: dict[str, Any] = {"namespace": NAMESPACE, "id": id, "active": 3, "completed": 2, "failed": 1}
    return Heartbeat(**(values | fields))


async def register(store: Store, command: RegisterWorker) -> None:
    await store.run_tx("register", lambda tx: tx.workers.register(command))


async def beat(store: Store, command: Heartbeat) -> Heartbeaten | None:
    return await store.run_tx("beat", lambda tx: tx.workers.heartbeat(command), single=True)


async def stop(store: Store, id: WorkerId = WORKER) -> None:
    await store.run_tx("stop", lambda tx: tx.workers.stop(NAMESPACE, id=id))


async def live(store: Store) -> list[Worker]:
    return await store.read("live", lambda tx: tx.workers.live(NAMESPACE))


class WorkerConformance:
    async def test_a_registered_worker_is_listed_with_what_it_serves(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        await register(store, registering())

        (worker,) = await live(second_store)

        assert (worker.id, worker.host, worker.pid, worker.served) == (WORKER, "here", 42, SERVES)
        assert (worker.slots, worker.active, worker.completed, worker.failed) == (10, 0, 0, 0)
        assert (worker.started_at, worker.seen_at, worker.stopped_at) == (clock.now(), clock.now(), None)

    @pytest.mark.spec("runs:G4", "runs:P3.1", "invariants:I-20")
    async def test_a_sign_of_life_is_noted_on_the_worker_and_on_no_run(self, store: Store, clock: FakeClock) -> None:
        await register(store, registering())
        claimed = await running_run(store)
        await create(store, new_run(2))
        waiting = await load(store, 2)
        clock.advance(MINUTE)

        assert await beat(store, beating())

        (worker,) = await live(store)
        assert (worker.active, worker.completed, worker.failed) == (3, 2, 1)
        assert (worker.seen_at, worker.started_at) == (clock.now(), clock.now() - MINUTE)
        assert [await load(store, 1), await load(store, 2)] == [claimed, waiting]
        clock.advance(VISIBLE_FOR - MINUTE)
        assert [row.run.id for row in await claim(store, poll=2, worker=OTHER_WORKER)] == [waiting.id, claimed.id]

    @pytest.mark.spec("runs:P3.2")
    async def test_a_worker_that_is_unknown_or_has_stopped_is_not_found(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering())
        await engine.work.heartbeat(beating())

        with pytest.raises(NotFound):
            await engine.work.heartbeat(beating(OTHER_WORKER))
        with pytest.raises(NotFound):
            await engine.work.heartbeat(beating(namespace="other"))
        await engine.work.deregister_worker(NAMESPACE, WORKER)
        with pytest.raises(NotFound):
            await engine.work.heartbeat(beating())

        assert await engine.runs.list_workers(NAMESPACE) == ()

    async def test_a_worker_that_registers_again_begins_anew(self, store: Store, clock: FakeClock) -> None:
        await register(store, registering())
        await beat(store, beating())
        await stop(store)
        clock.advance(SECOND)

        await register(store, registering(slots=1, served=()))

        (worker,) = await live(store)
        assert (worker.slots, worker.served, worker.active, worker.completed, worker.failed) == (1, (), 0, 0, 0)
        assert (worker.started_at, worker.stopped_at) == (clock.now(), None)
        assert await beat(store, beating())

    async def test_live_workers_come_most_recently_seen_first(self, store: Store, clock: FakeClock) -> None:
        names = [WorkerId(f"wrk_{letter}") for letter in "abcd"]
        for name in names:
            await register(store, registering(name))
            clock.advance(SECOND)
        await register(store, registering(WorkerId("wrk_e"), namespace="other"))
        await beat(store, beating(names[0]))
        await stop(store, names[2])
        await stop(store, names[2])

        assert [worker.id for worker in await live(store)] == [names[0], names[3], names[1]]
