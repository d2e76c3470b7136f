"""Which workers are there, and does a sign of life touch anything but the worker's own row?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    SERVED,
    THIRD_WORKER,
    VISIBLE_FOR,
    WORKER,
    claim,
    create,
    engine_on,
    held,
    load,
    new_run,
    running_run,
)
from tests.conformance.sound import only
from tests.invariants.evidence import Snapshot, take_snapshot
from windlass.engine.coordinator import expire_workers
from windlass.errors import InvalidInput, NotFound, WrongState
from windlass.model.commands import Heartbeat, Heartbeaten, ProbeWorkers, RegisterWorker
from windlass.model.run import Deed, RunStatus, WorkerId
from windlass.model.time import MINUTE, SECOND, Duration, Instant
from windlass.model.worker import EndedRuns, Served, Worker
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

SILENT_FOR = Duration(30 * SECOND)
SERVES = (Served("mail", "letter"), Served("billing", "invoice", "2"))

MALFORMED: tuple[Any, ...] = ("", "wrk_1", "run_" + "0" * 26, "wrk_" + "u" * 26, "wrk_" + "0" * 27, "wrk_../x", 7, None)
PROBING = ProbeWorkers(namespace=NAMESPACE, worker=WORKER, served=())


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


async def draining(store: Store, id: WorkerId = WORKER) -> bool:
    return await store.read("should_drain", lambda tx: tx.workers.should_drain(NAMESPACE, id=id))


async def rows(store: Store) -> Snapshot:
    return await take_snapshot(store, at=0, life=1)


async def live(store: Store) -> list[Worker]:
    return await store.read("live", lambda tx: tx.workers.live(NAMESPACE))


class TestWorkers:
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
        assert (worker.completed, worker.failed) == (2, 1)
        assert (worker.seen_at, worker.started_at) == (clock.now(), clock.now() - MINUTE)
        assert [await load(store, 1), await load(store, 2)] == [claimed, waiting]
        clock.advance(VISIBLE_FOR - MINUTE)
        assert [row.run.id for row in await claim(store, poll=2, worker=OTHER_WORKER)] == [waiting.id, claimed.id]

    @pytest.mark.spec("runs:P3.1", "runs:G4")
    async def test_a_sign_of_life_changes_one_row_and_no_other(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering())
        await engine.work.register_worker(registering(OTHER_WORKER))
        await running_run(store)
        before = await rows(store)
        clock.advance(SECOND)

        await engine.work.heartbeat(beating())

        after = await rows(store)
        own, other = before.workers
        assert (own.id, other.id) == (WORKER, OTHER_WORKER)
        beaten = replace(own, seen_at=clock.now(), active=3, completed=2, failed=1)
        assert after == replace(before, workers=(beaten, other))
        await engine.work.deregister_worker(NAMESPACE, WORKER)
        await engine.work.deregister_worker(NAMESPACE, OTHER_WORKER)

    @pytest.mark.spec("runs:P3.4")
    async def test_a_worker_hears_that_it_should_drain_exactly_when_it_is_draining(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        for id in (WORKER, OTHER_WORKER):
            await engine.work.register_worker(registering(id))
        assert await engine.work.heartbeat(beating()) == Heartbeaten(should_drain=False)

        for _ in range(2):  # the second time changes nothing
            worker = await other.control.drain_worker(NAMESPACE, WORKER, by="ann")
            assert (worker.id, worker.is_draining) == (WORKER, True)

        assert await engine.work.heartbeat(beating()) == Heartbeaten(should_drain=True)
        assert await engine.work.heartbeat(beating(OTHER_WORKER)) == Heartbeaten(should_drain=False)
        assert await engine.work.listen(NAMESPACE, WORKER, Duration(0))
        assert not await engine.work.listen(NAMESPACE, OTHER_WORKER, Duration(0))
        (entry,) = await store.read("log", lambda tx: tx.log.of_subject(NAMESPACE, kind="worker", id=WORKER))
        assert (entry.from_status, entry.to_status, entry.cause) == ("online", "draining", "drain")
        assert Deed.from_log(entry.data).by == "ann"
        for id in (WORKER, OTHER_WORKER):
            await engine.work.deregister_worker(NAMESPACE, id)

    async def test_a_drain_leaves_every_claim_as_it_is(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering())
        claimed = await running_run(store)

        await engine.control.drain_worker(NAMESPACE, WORKER)

        assert await load(store) == claimed
        assert await claim(store, poll=2, worker=OTHER_WORKER) == []
        await engine.work.renew_claim(held(claimed, visibility_for=VISIBLE_FOR))
        await engine.work.deregister_worker(NAMESPACE, WORKER)

    @pytest.mark.parametrize("ended", [None, EndedRuns(completed=5, failed=2)])
    async def test_a_goodbye_has_the_last_word_on_what_has_ended_there(
        self, store: Store, clock: FakeClock, ended: EndedRuns | None
    ) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering())
        await engine.work.heartbeat(beating())

        await engine.work.deregister_worker(NAMESPACE, WORKER, ended)

        (worker,) = await engine.runs.list_workers(NAMESPACE, Instant(0))
        assert (worker.active, worker.completed, worker.failed) == ((0, 2, 1) if ended is None else (0, 5, 2))

    async def test_a_worker_that_leaves_by_itself_says_so(self, store: Store) -> None:
        await register(store, registering())

        assert await beat(store, beating(is_draining=True)) == Heartbeaten(should_drain=True)

        (worker,) = await live(store)
        assert worker.is_draining

    async def test_only_a_worker_that_is_there_can_be_drained(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering())

        with pytest.raises(NotFound) as unknown:
            await engine.control.drain_worker(NAMESPACE, OTHER_WORKER)
        with pytest.raises(NotFound):
            await engine.control.drain_worker("other", WORKER)
        await engine.work.deregister_worker(NAMESPACE, WORKER)
        with pytest.raises(WrongState, match="is offline; one that is there was expected"):
            await engine.control.drain_worker(NAMESPACE, WORKER)

        assert unknown.value.close == (WORKER,)
        assert "windlass workers" in str(unknown.value)
        assert await store.read("log", lambda tx: tx.log.of_subject(NAMESPACE, kind="worker", id=WORKER)) == []

    @pytest.mark.spec("runs:P3.3")
    async def test_a_malformed_id_is_refused_before_anything_is_asked(
        self, store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine, asked = engine_on(store, clock), list[str]()
        monkeypatch.setattr(store, "run_tx", lambda name, *_, **__: asked.append(name))

        for id in MALFORMED:
            for refused in (
                engine.work.heartbeat(beating(id)),
                engine.work.register_worker(registering(id)),
                engine.control.drain_worker(NAMESPACE, id),
            ):
                with pytest.raises(InvalidInput) as found:
                    await refused
                assert found.value.reason == "invalid_id"
        assert asked == []

    async def test_a_new_start_under_a_known_id_does_not_drain_and_a_return_does(self, store: Store) -> None:
        await register(store, registering())
        await store.run_tx("drain", lambda tx: tx.workers.drain(NAMESPACE, id=WORKER))

        await register(store, registering(is_return=True))
        assert await draining(store)
        await store.run_tx("stop", lambda tx: tx.workers.stop(NAMESPACE, id=WORKER, is_goodbye=False))
        assert not await draining(store)  # whoever has gone is asked for nothing
        await register(store, registering(is_return=True))
        assert await draining(store)

        await register(store, registering())
        assert not await draining(store)

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

    async def test_workers_that_have_stopped_are_listed_behind_those_that_are_there(
        self, store: Store, clock: FakeClock
    ) -> None:
        engine = engine_on(store, clock)
        names = [WorkerId(f"wrk_{letter}") for letter in "abcd"]
        for name in names:
            await register(store, registering(name))
        for name in names[:3]:
            clock.advance(SECOND)
            await stop(store, name)

        async def listed(since: int) -> list[WorkerId]:
            found = await engine.runs.list_workers(NAMESPACE, Instant(clock.now() - since))
            return [worker.id for worker in found]

        assert await listed(SECOND) == [names[3], names[2], names[1]]
        assert await listed(2 * SECOND) == [names[3], names[2], names[1], names[0]]
        assert await engine.runs.list_workers("other", Instant(0)) == ()

    @pytest.mark.spec("runs:V7", "runs:P5.3")
    async def test_silent_workers_of_every_namespace_are_marked_offline_and_no_run_is_touched(
        self, store: Store, clock: FakeClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        engine = engine_on(store, clock)
        await register(store, registering())
        await register(store, registering(OTHER_WORKER, namespace="other"))
        await running_run(store)
        clock.advance(SILENT_FOR)
        await register(store, registering(THIRD_WORKER))
        assert await expire_workers.tick(engine.parts, silent_for=SILENT_FOR, batch=10) == 0
        assert caplog.records == []
        before = await rows(store)
        clock.advance(1)

        assert await expire_workers.tick(engine.parts, silent_for=SILENT_FOR, batch=10) == 2
        assert await expire_workers.tick(engine.parts, silent_for=SILENT_FOR, batch=10) == 0

        silent, loud, elsewhere = before.workers
        assert (silent.id, loud.id, elsewhere.id) == (WORKER, THIRD_WORKER, OTHER_WORKER)
        marked = [replace(worker, stopped_at=clock.now()) for worker in (silent, elsewhere)]
        assert await rows(store) == replace(before, workers=(marked[0], loud, marked[1]))
        assert [record.message for record in caplog.records] == ["2 workers are marked offline after 30 s of silence."]

    async def test_a_batch_takes_the_longest_silent_first(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        names = [WorkerId(f"wrk_{letter}") for letter in "cab"]
        for name in names:
            await register(store, registering(name))
            clock.advance(SECOND)
        clock.advance(SILENT_FOR)

        assert await expire_workers.tick(engine.parts, silent_for=SILENT_FOR, batch=2) == 2

        assert [worker.id for worker in await live(store)] == [names[2]]

    async def test_several_who_look_mark_each_worker_once(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = [engine_on(item, clock) for item in (store, second_store)]
        for number in range(20):
            await register(store, registering(WorkerId(f"wrk_{number}")))
        clock.advance(SILENT_FOR + 1)

        async def tick(number: int) -> int:
            return await expire_workers.tick(engines[number % 2].parts, silent_for=SILENT_FOR, batch=5)

        counts = [sum(await asyncio.gather(*map(tick, range(4)))) for _ in range(4)]

        assert sum(counts) == 20
        assert await live(store) == []

    async def test_a_silent_worker_that_comes_back_keeps_what_it_holds(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering())
        claimed = await running_run(store)
        clock.advance(SILENT_FOR + 1)
        await expire_workers.tick(engine.parts, silent_for=SILENT_FOR, batch=10)
        with pytest.raises(NotFound, match="register it again"):
            await engine.work.heartbeat(beating())
        assert not (await engine.work.probe_workers(PROBING)).is_registered

        await engine.work.renew_claim(held(claimed, visibility_for=VISIBLE_FOR))
        await engine.work.register_worker(registering(is_return=True))

        assert (await engine.work.probe_workers(PROBING)).is_registered
        assert (await load(store)).worker == WORKER
        await engine.work.deregister_worker(NAMESPACE, WORKER)

    @pytest.mark.spec("invariants:I-12")
    async def test_a_silent_worker_that_says_goodbye_gives_back_what_it_held(
        self, store: Store, clock: FakeClock
    ) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering())
        await running_run(store)
        clock.advance(SILENT_FOR + 1)
        await expire_workers.tick(engine.parts, silent_for=SILENT_FOR, batch=10)

        await engine.work.deregister_worker(NAMESPACE, WORKER)

        run = await load(store)
        assert (run.status, run.worker, run.recoveries) == (RunStatus.PENDING, None, 0)


@only("memory")
async def test_in_memory_there_is_no_lock_and_so_nobody_to_look_for(store: Store, clock: FakeClock) -> None:
    engine = engine_on(store, clock)

    assert (await engine.work.register_worker(registering(WORKER))).lock is None
    assert (await engine.work.register_worker(registering(OTHER_WORKER))).lock is None

    probed = await engine.work.probe_workers(
        ProbeWorkers(namespace=NAMESPACE, worker=WORKER, served=SERVED, everyone=True)
    )
    assert (probed.is_registered, probed.dead) == (True, ())
