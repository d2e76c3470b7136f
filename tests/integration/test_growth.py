"""Does the database stay as large as what it keeps, however long it is used?

Months of steady load are played on a fake clock, on a real file and a real server. A server clears dead rows away by
itself (autovacuum) when a fifth of a table is dead; here it is told to, when a quarter of a window has passed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from tests.conformance.given import NAMESPACE, claim, complete, completed, engine_on, finish, finished, start
from tests.conformance.sound import inconsistencies
from tests.conformance.test_workers import registering
from tests.invariants.evidence import take_snapshot
from windlass.engine.coordinator.prune import Prune
from windlass.engine.engine import Engine
from windlass.model.commands import SetGate
from windlass.model.gate import GateKind
from windlass.model.message import MessageKind
from windlass.model.run import Run, RunId, WorkerId
from windlass.model.time import DAY, Duration
from windlass.store.base import Store, Tx
from windlass.store.postgres.store import PostgresStore
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock

WINDOW = Duration(7 * DAY)  # for which runs, and their keys, are kept
SLICES, RUNS = 4, 60  # of a window, and in each of them
AT_FIRST, IN_THE_END = 2, 20  # windows
MOST = 1.2

Measure = Callable[[], Awaitable[int]]


class Shop:
    """A steady load: everything that leaves rows behind, and a coordinator that looks after them."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store, self.clock = store, clock
        self.engine: Engine = engine_on(store, clock, keys_expire_for=WINDOW)
        self._prune = Prune(self.engine.parts, keep_for=WINDOW, batch=50)
        self._slice = 0

    async def be_open(self, *, windows: int, tidy: Callable[[], Awaitable[None]]) -> None:
        for _ in range(windows):
            for _ in range(SLICES):
                await self._work()
                self.clock.advance(WINDOW // SLICES)
                while await self._prune.tick():
                    continue
                await tidy()

    async def _work(self) -> None:
        self._slice += 1
        worker = WorkerId(f"wrk_{self._slice:026}")
        await self.store.run_tx("register", lambda tx: tx.workers.register(registering(worker)))
        orders = [start(number, key=f"{self._slice}-{number}", input=b'"%0200d"' % number) for number in range(RUNS)]
        await asyncio.gather(*map(self.engine.runs.start_run, orders))
        runs = [row.run for row in await claim(self.store, limit=RUNS, worker=worker)]
        await self.store.run_tx("send", lambda tx: _send(tx, runs))
        await complete(self.store, *(completed(run, key=key, order=n) for run in runs for n, key in enumerate("abc")))
        await finish(self.store, *map(finished, runs))
        for is_paused in (True, False):
            gate = SetGate(namespace=NAMESPACE, kind=GateKind.QUEUE, name="billing", is_paused=is_paused)
            await self.engine.control.set_gate(gate)
        await self.store.run_tx("stop", lambda tx: tx.workers.stop(NAMESPACE, id=worker))


async def _send(tx: Tx, runs: list[Run]) -> None:
    for run in runs:
        await tx.inbox.add(
            NAMESPACE,
            run_id=RunId(run.id),
            kind=MessageKind.EVENT,
            name="paid",
            id="only",
            payload=b"7",
            payload_hash=b"7",
        )


async def grow(store: Store, clock: FakeClock, *, measure: Measure, tidy: Callable[[], Awaitable[None]]) -> list[int]:
    """How large the database is after two windows, and after twenty."""
    shop, sizes, lived = Shop(store, clock), [], 0
    for windows in (AT_FIRST, IN_THE_END):
        await shop.be_open(windows=windows - lived, tidy=tidy)
        lived = windows
        sizes.append(await measure())
    left = await take_snapshot(store, at=0, life=1, is_judged=False)
    assert len(left.runs) == len(left.keys) == SLICES * RUNS - RUNS  # what ended at this very moment has just gone
    assert await inconsistencies(store) == []
    return sizes


@pytest.mark.spec("invariants:I-64")
async def test_a_file_stops_growing(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "windlass.db"
    store = SqliteStore(str(path), clock=clock)
    await store.open()

    async def measure() -> int:
        return path.stat().st_size

    async def tidy() -> None:
        """Nothing has to be done: pages that are free are used again."""

    first, last = await grow(store, clock, measure=measure, tidy=tidy)
    await store.close()

    assert last <= MOST * first


# What all tables take, with their indexes.
SIZE = """
select sum(pg_total_relation_size(c.oid))::bigint from pg_class c
 where c.relnamespace = to_regnamespace('windlass') and c.relkind = 'r'
"""


@pytest.mark.spec("invariants:I-64")
async def test_a_server_stops_growing(postgres_url: str, clock: FakeClock) -> None:
    store = PostgresStore(postgres_url, clock=clock)
    await store.open()
    session = await asyncpg.connect(postgres_url, ssl=False)

    async def measure() -> int:
        return int(await session.fetchval(SIZE))

    async def tidy() -> None:
        await session.execute("vacuum")

    first, last = await grow(store, clock, measure=measure, tidy=tidy)
    await session.close()
    await store.close()

    assert last <= MOST * first
