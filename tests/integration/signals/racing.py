"""Two engines on one PostgreSQL, as if each were a process of its own, and a way to let one stand before its commit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from tests.integration.conftest import eventually
from windlass.engine.coordinator.fire_signals import FireSignals
from windlass.engine.engine import Engine
from windlass.model.commands import ClaimedRun, ClaimRuns, FinishRun, StartRun
from windlass.model.failure import Failure, FailureKind
from windlass.model.item import CreateItem, Item, ItemId, ItemStatus, TransitionItem
from windlass.model.run import LogEntry, RunId, RunStatus, WorkerId
from windlass.model.signal import (
    Action,
    CreateSignal,
    FiringRow,
    ListFirings,
    Signal,
    SignalId,
    SignalVerb,
    SignalView,
    SteerSignal,
    Trigger,
    TriggerKind,
)
from windlass.model.time import MINUTE, Duration
from windlass.model.worker import Served
from windlass.notify.local import Hub
from windlass.runtime import SystemClock, seeded_rng
from windlass.store.base import NoHooks, Tx
from windlass.store.postgres.store import PostgresStore

NAMESPACE = "default"
ORDER = "order"
PATIENCE = 20.0
WAITING = """
select count(*) from pg_stat_activity
 where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0
"""


class Counts(NoHooks):
    """How often each transaction was begun."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()

    def before_begin(self, name: str) -> None:
        self.begun[name] += 1


class Held:
    """The next transaction of that name in an engine: it does what it does, and stands before its commit until let go.

    Also one that would be a statement of its own is begun and committed.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        store: Any = engine.parts.store
        self._reached, self._go, self._run_tx = asyncio.Event(), asyncio.Event(), store.run_tx
        self._name, self._store = name, store
        store.run_tx = self._hold

    async def reached(self) -> None:
        await asyncio.wait_for(self._reached.wait(), PATIENCE)

    def let_go(self) -> None:
        self._go.set()

    async def _hold(self, name: str, fn: Callable[[Tx], Awaitable[Any]], **options: Any) -> Any:
        if name != self._name:
            return await self._run_tx(name, fn, **options)

        async def stand(tx: Tx) -> Any:
            result = await fn(tx)
            self._reached.set()
            await self._go.wait()
            return result

        self._store.run_tx = self._run_tx
        return await self._run_tx(name, stand, **(options | {"single": False}))


class Racers:
    """Both engines, how often their transactions began, and who waits for whom."""

    def __init__(self, url: str, watching: asyncpg.Connection[Any]) -> None:
        self.counts = (Counts(), Counts())
        self.first, self.second = (self._engine(url, place) for place in (0, 1))
        self.watching = watching

    def _engine(self, url: str, place: int) -> Engine:
        store = PostgresStore(url, hooks=self.counts[place])
        return Engine(store, Hub(), clock=SystemClock(), rng=seeded_rng(f"racer {place}"))

    async def until_one_waits(self) -> None:
        """Until a transaction stands behind the lock of another one."""

        async def is_so() -> bool:
            return bool(await self.watching.fetchval(WAITING))

        await eventually(is_so, what="a transaction waits for another one")

    async def firings(self, signal: Signal | SignalId | None = None) -> list[FiringRow]:
        """Of one signal or of all, the oldest first."""
        id = signal.id if isinstance(signal, Signal) else signal
        query = ListFirings(namespace=NAMESPACE, signal_id=id, limit=100_000)
        return sorted((await self.first.signals.list_firings(query)).firings, key=lambda firing: int(firing.cause))

    async def log_of(self, kind: str, id: str) -> list[LogEntry]:
        return await self.first.parts.store.read("log", lambda tx: tx.log.of_subject(NAMESPACE, kind=kind, id=id))

    async def work(self) -> None:
        """Work whatever has fired, as a coordinator does."""
        coordinator = FireSignals(self.first.parts, batch=100, is_enabled=True)
        while (await coordinator.tick()).is_more:
            pass


@asynccontextmanager
async def racing(url: str) -> AsyncIterator[Racers]:
    watching = await asyncpg.connect(url, ssl=False)
    racers = Racers(url, watching)
    try:
        await racers.first.open()
        await racers.second.open()
        yield racers
    finally:
        for engine in (racers.first, racers.second):
            await engine.close()
        await watching.close()


# What they do


def on(kind: TriggerKind, subject: str, *to: str, **fields: Any) -> CreateSignal:
    """A signal that only says so when it fires."""
    trigger = Trigger(kind=kind, subject=subject, to=tuple(sorted(to)))
    given: dict[str, Any] = {"action": Action(), "allow_unknown": True} | fields
    return CreateSignal(namespace=NAMESPACE, trigger=trigger, **given)


async def steer(engine: Engine, signal_id: SignalId, verb: SignalVerb) -> SignalView:
    return await engine.signals.steer_signal(SteerSignal(namespace=NAMESPACE, signal_id=signal_id, verb=verb))


async def new_item(engine: Engine, *path: ItemStatus) -> Item:
    """One that has gone through these states."""
    item = await engine.items.create_item(CreateItem(namespace=NAMESPACE, title="ship it"))
    for status in path:
        item = await move(engine, item.id, status)
    return item


async def move(engine: Engine, item_id: ItemId, to: ItemStatus) -> Item:
    return await engine.items.transition_item(TransitionItem(namespace=NAMESPACE, item_id=item_id, to=to))


async def new_run(engine: Engine, name: str = ORDER) -> RunId:
    command = StartRun(
        namespace=NAMESPACE, name=name, version="", queue="default", priority=0, input=b"[]", input_hash=b"", key=None
    )
    return (await engine.runs.start_run(command)).run_id


async def claim(
    engine: Engine, *, poll: int = 1, limit: int = 1000, names: tuple[str, ...] = (ORDER,)
) -> list[ClaimedRun]:
    command = ClaimRuns(
        namespace=NAMESPACE,
        worker=WorkerId("wrk_racer"),
        poll=poll,
        served=tuple(Served("default", name) for name in names),
        limit=limit,
        visibility_for=Duration(5 * MINUTE),
        wait_for=Duration(0),
    )
    return await engine.work.claim_runs(command)


def failing(run: ClaimedRun) -> FinishRun:
    return FinishRun(
        namespace=NAMESPACE,
        run_id=run.run_id,
        token=run.token,
        status=RunStatus.FAILED,
        failure=Failure(kind=FailureKind.LOGIC, type="Planned", message="as planned"),
        result_hash=b"failed",
        parent=run.parent,
        job=run.job,
    )
