"""Does an SQLite file that two stores share remember as a store must?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from windlass.store.base import Store
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.conformance import (
    AccessConformance,
    AuditConformance,
    BatchConformance,
    ClaimConformance,
    ControlConformance,
    DeathConformance,
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


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    opened = SqliteStore(str(tmp_path / "windlass.db"), clock=clock)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def second_store(store: Store, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    opened = SqliteStore(str(tmp_path / "windlass.db"), clock=clock)
    await opened.open()
    yield opened
    await opened.close()


class TestTransactions(TransactionConformance): ...


class TestStarts(StartConformance): ...


class TestClaims(ClaimConformance): ...


class TestSteps(StepConformance): ...


class TestWaits(WaitConformance): ...


class TestFinishing(FinishingConformance): ...


class TestLog(LogConformance): ...


class TestWorkers(WorkerConformance): ...


class TestSlots(SlotConformance): ...


class TestDeaths(DeathConformance): ...


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
