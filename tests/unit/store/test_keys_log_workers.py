"""Do start keys, the log and workers do as their queries say, on both databases alike?"""

from __future__ import annotations

from windlass.model.commands import Heartbeat, RegisterWorker
from windlass.model.run import RunId, WorkerId
from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Served
from windlass.store.base import Store
from windlass.store.queries.keys import KeyOwner, NewKey
from windlass.store.queries.log import NewLogEntry
from windlass.testing.clock import FakeClock

NAMESPACE = "default"
WORKER = WorkerId("wrk_1")


def new_key(run: str, *, key: str = "order-7", expires_for: int | None = None) -> NewKey:
    return NewKey(
        namespace=NAMESPACE,
        key=key,
        name="invoice",
        version="",
        input_hash=b"in",
        run_id=RunId(run),
        expires_for=None if expires_for is None else Duration(expires_for),
    )


async def take(store: Store, *rows: NewKey) -> list[int]:
    return sorted(await store.run_tx("take", lambda tx: tx.keys.take(rows)))


async def owners(store: Store, *keys: str) -> dict[str, KeyOwner]:
    return await store.read("owners", lambda tx: tx.keys.owners(NAMESPACE, keys))


async def test_a_key_goes_to_the_first_run_that_takes_it(store: Store) -> None:
    assert await take(store, new_key("run_1"), new_key("run_2"), new_key("run_3", key="order-1")) == [0, 2]
    assert await take(store, new_key("run_4")) == []

    found = await owners(store, "order-7", "order-1", "unknown")

    assert {key: owner.run_id for key, owner in found.items()} == {"order-7": "run_1", "order-1": "run_3"}
    assert found["order-7"] == KeyOwner(run_id=RunId("run_1"), name="invoice", version="", input_hash=b"in")


async def test_only_an_expired_key_is_taken_over(store: Store, clock: FakeClock) -> None:
    await take(store, new_key("run_1", expires_for=SECOND))
    clock.advance(SECOND - 1)
    assert await take(store, new_key("run_2")) == []

    clock.advance(1)
    assert await take(store, new_key("run_3"), new_key("run_4")) == [0]

    assert (await owners(store, "order-7"))["order-7"].run_id == "run_3"
    clock.advance(SECOND)
    assert await take(store, new_key("run_5")) == []


async def test_the_log_keeps_order_and_data(store: Store, clock: FakeClock) -> None:
    def entry(cause: str, *, at: Instant | None = None, data: bytes | None = None, id: str = "run_1") -> NewLogEntry:
        return NewLogEntry(
            namespace=NAMESPACE,
            subject_kind="run",
            subject_id=id,
            from_status=None,
            to_status="pending",
            cause=cause,
            at=at,
            data=data,
        )

    rows = [entry("a", data=b"\x00"), entry("other", id="run_2"), entry("b", at=Instant(5))]
    await store.run_tx("append", lambda tx: tx.log.append(rows))

    first, second = await store.read("log", lambda tx: tx.log.of_subject(NAMESPACE, kind="run", id="run_1"))

    assert (first.cause, first.at, first.data) == ("a", clock.now(), b"\x00")
    assert (second.cause, second.at, second.data) == ("b", 5, None)
    assert first.seq < second.seq


async def test_a_worker_lives_until_it_stops(store: Store, clock: FakeClock) -> None:
    served = (Served("billing", "invoice"), Served("mail", "greet", "2"))
    command = RegisterWorker(namespace=NAMESPACE, id=WORKER, host="h", pid=1, served=served, slots=4)
    beat = Heartbeat(namespace=NAMESPACE, id=WORKER, active=2, completed=3, failed=1)

    async def heartbeat() -> bool:
        return await store.run_tx("heartbeat", lambda tx: tx.workers.heartbeat(beat), single=True)

    assert not await heartbeat()
    await store.run_tx("register", lambda tx: tx.workers.register(command))
    clock.advance(SECOND)
    assert await heartbeat()

    (worker,) = await store.read("live", lambda tx: tx.workers.live(NAMESPACE))
    assert (worker.served, worker.slots, worker.active, worker.completed, worker.failed) == (served, 4, 2, 3, 1)
    assert (worker.started_at, worker.seen_at) == (clock.now() - SECOND, clock.now())

    await store.run_tx("stop", lambda tx: tx.workers.stop(NAMESPACE, id=WORKER))
    assert not await heartbeat()
    assert await store.read("live", lambda tx: tx.workers.live(NAMESPACE)) == []

    await store.run_tx("register", lambda tx: tx.workers.register(command))
    (again,) = await store.read("live", lambda tx: tx.workers.live(NAMESPACE))
    assert (again.started_at, again.active, again.stopped_at) == (clock.now(), 0, None)


async def test_the_most_recently_seen_worker_comes_first(store: Store, clock: FakeClock) -> None:
    for name in ("wrk_1", "wrk_2"):
        command = RegisterWorker(namespace=NAMESPACE, id=WorkerId(name), host="h", pid=1, served=(), slots=1)
        await store.run_tx("register", lambda tx, command=command: tx.workers.register(command))  # type: ignore[misc]
        clock.advance(1)

    assert [worker.id for worker in await store.read("live", lambda tx: tx.workers.live(NAMESPACE))] == [
        "wrk_2",
        "wrk_1",
    ]
