"""Does SQLite in memory remember as a store must?"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from windlass.model.commands import ProbeWorkers
from windlass.store.base import Store
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.conformance import (
    AccessConformance,
    AuditConformance,
    BatchConformance,
    ClaimConformance,
    ControlConformance,
    DeclarationConformance,
    DeclaredSignalConformance,
    EffectConformance,
    ExpiryConformance,
    FamilyConformance,
    FeedConformance,
    FencingConformance,
    FinishingConformance,
    FiringConformance,
    GateConformance,
    GraphConformance,
    IsolationConformance,
    ItemConformance,
    JobConformance,
    LeftoverConformance,
    LogConformance,
    MendingConformance,
    MessageConformance,
    NamespaceConformance,
    OverlapConformance,
    PauseConformance,
    PipelineConformance,
    QueueConformance,
    RetentionConformance,
    RetryConformance,
    ScheduleConformance,
    SignalConformance,
    SlotConformance,
    StartConformance,
    StepConformance,
    TransactionConformance,
    TurnConformance,
    WaitConformance,
    WatchingConformance,
    WorkerConformance,
)
from windlass.testing.conformance.given import NAMESPACE, OTHER_WORKER, SERVED, WORKER, engine_on
from windlass.testing.conformance.workers import registering


@pytest.fixture
async def store(clock: FakeClock) -> AsyncIterator[Store]:
    opened = SqliteStore(":memory:", clock=clock)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def second_store(store: Store) -> Store:
    return store  # what is in memory belongs to one connection


class TestTransactions(TransactionConformance): ...


class TestStarts(StartConformance): ...


class TestClaims(ClaimConformance): ...


class TestSteps(StepConformance): ...


class TestWaits(WaitConformance): ...


class TestFinishing(FinishingConformance): ...


class TestLog(LogConformance): ...


class TestWorkers(WorkerConformance): ...


class TestSlots(SlotConformance): ...


async def test_there_is_no_lock_and_so_nobody_to_look_for(store: Store, clock: FakeClock) -> None:
    engine = engine_on(store, clock)

    assert (await engine.work.register_worker(registering(WORKER))).lock is None
    assert (await engine.work.register_worker(registering(OTHER_WORKER))).lock is None

    probed = await engine.work.probe_workers(
        ProbeWorkers(namespace=NAMESPACE, worker=WORKER, served=SERVED, everyone=True)
    )
    assert (probed.is_registered, probed.dead) == (True, ())


class TestFencing(FencingConformance): ...


class TestBatches(BatchConformance): ...


class TestControl(ControlConformance): ...


class TestPauses(PauseConformance): ...


class TestGates(GateConformance): ...


class TestRetries(RetryConformance): ...


class TestMessages(MessageConformance): ...


class TestFamilies(FamilyConformance): ...


class TestQueues(QueueConformance): ...


class TestRetention(RetentionConformance): ...


class TestLeftovers(LeftoverConformance): ...


class TestExpiry(ExpiryConformance): ...


class TestSchedules(ScheduleConformance): ...


class TestOverlaps(OverlapConformance): ...


class TestTurns(TurnConformance): ...


class TestMending(MendingConformance): ...


class TestDeclarations(DeclarationConformance): ...


class TestFeed(FeedConformance): ...


class TestAccess(AccessConformance): ...


class TestNamespaces(NamespaceConformance): ...


class TestAudit(AuditConformance): ...


class TestIsolation(IsolationConformance): ...


class TestGraphs(GraphConformance): ...


class TestJobs(JobConformance): ...


class TestPipelines(PipelineConformance): ...


class TestEffects(EffectConformance): ...


class TestWatching(WatchingConformance): ...


class TestItem(ItemConformance): ...


class TestSignal(SignalConformance): ...


class TestDeclaredSignal(DeclaredSignalConformance): ...


class TestFiring(FiringConformance): ...
