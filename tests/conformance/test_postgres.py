"""Does PostgreSQL remember as a store must?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tests.emptying import EMPTY_EVERY_TABLE
from windlass.errors import WrongState
from windlass.model.namespace import CreateNamespace
from windlass.store.base import Store
from windlass.store.postgres.store import PostgresStore
from windlass.store.queries.namespaces import NamespaceQueries
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
from windlass.testing.conformance.fencing import PATIENCE, Blocked
from windlass.testing.conformance.given import engine_on, start
from windlass.testing.postgres import PostgresServer

# The one thing that waits in this database is the late write.
LATE_WRITES = """
select count(*) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'
"""


@pytest.fixture(scope="module")
def migrated_url(postgres_server: PostgresServer) -> Iterator[str]:
    url = postgres_server.create_database()

    async def migrate() -> None:
        opened = PostgresStore(url)
        await opened.open()
        await opened.close()

    asyncio.run(migrate())
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
async def database_url(migrated_url: str) -> str:
    session = await asyncpg.connect(migrated_url)
    await session.execute(EMPTY_EVERY_TABLE)
    await session.close()
    return migrated_url


@pytest.fixture
async def store(database_url: str, clock: FakeClock) -> AsyncIterator[Store]:
    opened = PostgresStore(database_url, clock=clock)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def second_store(database_url: str, clock: FakeClock) -> AsyncIterator[Store]:
    opened = PostgresStore(database_url, clock=clock)
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


class TestFencing(FencingConformance):
    @pytest.fixture
    async def until_blocked(self, database_url: str) -> AsyncIterator[Blocked]:
        """PostgreSQL knows who waits for a row lock, so here the wait is proven."""
        session = await asyncpg.connect(database_url)

        async def wait() -> None:
            async with asyncio.timeout(PATIENCE):
                while not await session.fetchval(LATE_WRITES):
                    continue  # each look is a round trip

        yield wait
        await session.close()


class TestBatches(BatchConformance): ...


class TestControl(ControlConformance):
    until_blocked = TestFencing.until_blocked


class TestPauses(PauseConformance): ...


class TestGates(GateConformance):
    until_blocked = TestFencing.until_blocked


class TestRetries(RetryConformance): ...


class TestMessages(MessageConformance):
    until_blocked = TestFencing.until_blocked


class TestFamilies(FamilyConformance):
    until_blocked = TestFencing.until_blocked


class TestQueues(QueueConformance): ...


class TestRetention(RetentionConformance):
    until_blocked = TestFencing.until_blocked


class TestLeftovers(LeftoverConformance): ...


class TestExpiry(ExpiryConformance):
    until_blocked = TestFencing.until_blocked


class TestSchedules(ScheduleConformance): ...


class TestOverlaps(OverlapConformance): ...


class TestTurns(TurnConformance):
    until_blocked = TestFencing.until_blocked


class TestMending(MendingConformance): ...


class TestDeclarations(DeclarationConformance):
    until_blocked = TestFencing.until_blocked


class TestFeed(FeedConformance): ...


class TestAccess(AccessConformance): ...


class TestNamespaces(NamespaceConformance):
    until_blocked = TestFencing.until_blocked

    async def test_a_run_that_comes_while_its_namespace_is_deleted_keeps_its_key(
        self, store: Store, second_store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Runs are looked for behind the removal of keys: else one that comes in between would lose its own."""
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        await engine.namespaces.create_namespace(CreateNamespace(name="acme"))
        await engine.namespaces.set_enabled("acme", is_enabled=False)
        remove = NamespaceQueries.remove_leavings

        async def start_and_remove(queries: NamespaceQueries, name: str) -> None:
            await other.runs.start_run(start(namespace="acme", key="once"))
            await remove(queries, name)

        monkeypatch.setattr(NamespaceQueries, "remove_leavings", start_and_remove)

        with pytest.raises(WrongState, match="1 run"):
            await engine.namespaces.delete_namespace("acme")

        assert (await engine.runs.find_run("acme", "once")).key == "once"


class TestAudit(AuditConformance): ...


class TestIsolation(IsolationConformance): ...


class TestGraphs(GraphConformance):
    until_blocked = TestFencing.until_blocked


class TestJobs(JobConformance): ...


class TestPipelines(PipelineConformance): ...


class TestEffects(EffectConformance): ...


class TestWatching(WatchingConformance):
    until_blocked = TestFencing.until_blocked


class TestItem(ItemConformance):
    until_blocked = TestFencing.until_blocked


class TestSignal(SignalConformance):
    until_blocked = TestFencing.until_blocked


class TestDeclaredSignal(DeclaredSignalConformance): ...


class TestFiring(FiringConformance): ...
