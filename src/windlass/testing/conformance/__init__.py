"""Does a store remember as Windlass needs it to? The suite every store passes, importable by whoever writes another.

    from windlass.testing.conformance import SUITES, ClaimConformance, …

    @pytest.fixture
    async def store(clock): ...           # an open Store that takes its time from `clock`
    @pytest.fixture
    async def second_store(clock): ...    # another one on the same database; where there can be none, the same object
    @pytest.fixture
    def clock(): return FakeClock()

    class TestClaims(ClaimConformance): ...

The database is empty when a test begins. The suite asks a store only what `windlass.store.base` promises; where it
speaks of an engine, it is the real one on top of that store. It needs pytest and pytest-asyncio in its auto mode.
"""

from __future__ import annotations

import pytest

TOPICS = (
    "transactions",
    "starts",
    "claims",
    "steps",
    "waits",
    "finishing",
    "log",
    "workers",
    "slots",
    "deaths",
    "fencing",
    "batches",
    "control",
    "pauses",
    "gates",
    "retries",
    "messages",
    "families",
    "queues",
    "retention",
    "leftovers",
    "feed",
    "expiry",
    "schedules",
    "overlaps",
    "turns",
    "mending",
    "declarations",
    "access",
    "namespaces",
    "audit",
    "isolation",
    "graphs",
    "jobs",
    "pipelines",
    "effects",
    "watching",
    "items",
    "signals",
    "declared_signals",
    "firings",
)
# Before they are imported, so that a failing assert shows its values.
pytest.register_assert_rewrite(
    *(f"{__name__}.{topic}" for topic in (*TOPICS, "given", "given_signals", "given_transitions", "sound"))
)

from windlass.testing.conformance.access import AccessConformance  # noqa: E402
from windlass.testing.conformance.audit import AuditConformance  # noqa: E402
from windlass.testing.conformance.batches import BatchConformance  # noqa: E402
from windlass.testing.conformance.claims import ClaimConformance  # noqa: E402
from windlass.testing.conformance.control import ControlConformance  # noqa: E402
from windlass.testing.conformance.deaths import DeathConformance  # noqa: E402
from windlass.testing.conformance.declarations import DeclarationConformance  # noqa: E402
from windlass.testing.conformance.declared_signals import DeclaredSignalConformance  # noqa: E402
from windlass.testing.conformance.effects import EffectConformance  # noqa: E402
from windlass.testing.conformance.expiry import ExpiryConformance  # noqa: E402
from windlass.testing.conformance.families import FamilyConformance  # noqa: E402
from windlass.testing.conformance.feed import FeedConformance  # noqa: E402
from windlass.testing.conformance.fencing import FencingConformance  # noqa: E402
from windlass.testing.conformance.finishing import FinishingConformance  # noqa: E402
from windlass.testing.conformance.firings import FiringConformance  # noqa: E402
from windlass.testing.conformance.gates import GateConformance  # noqa: E402
from windlass.testing.conformance.graphs import GraphConformance  # noqa: E402
from windlass.testing.conformance.isolation import IsolationConformance  # noqa: E402
from windlass.testing.conformance.items import ItemConformance  # noqa: E402
from windlass.testing.conformance.jobs import JobConformance  # noqa: E402
from windlass.testing.conformance.leftovers import LeftoverConformance  # noqa: E402
from windlass.testing.conformance.log import LogConformance  # noqa: E402
from windlass.testing.conformance.mending import MendingConformance  # noqa: E402
from windlass.testing.conformance.messages import MessageConformance  # noqa: E402
from windlass.testing.conformance.namespaces import NamespaceConformance  # noqa: E402
from windlass.testing.conformance.overlaps import OverlapConformance  # noqa: E402
from windlass.testing.conformance.pauses import PauseConformance  # noqa: E402
from windlass.testing.conformance.pipelines import PipelineConformance  # noqa: E402
from windlass.testing.conformance.queues import QueueConformance  # noqa: E402
from windlass.testing.conformance.retention import RetentionConformance  # noqa: E402
from windlass.testing.conformance.retries import RetryConformance  # noqa: E402
from windlass.testing.conformance.schedules import ScheduleConformance  # noqa: E402
from windlass.testing.conformance.signals import SignalConformance  # noqa: E402
from windlass.testing.conformance.slots import SlotConformance  # noqa: E402
from windlass.testing.conformance.starts import StartConformance  # noqa: E402
from windlass.testing.conformance.steps import StepConformance  # noqa: E402
from windlass.testing.conformance.transactions import TransactionConformance  # noqa: E402
from windlass.testing.conformance.turns import TurnConformance  # noqa: E402
from windlass.testing.conformance.waits import WaitConformance  # noqa: E402
from windlass.testing.conformance.watching import WatchingConformance  # noqa: E402
from windlass.testing.conformance.workers import WorkerConformance  # noqa: E402

SUITES = (
    TransactionConformance,
    StartConformance,
    ClaimConformance,
    StepConformance,
    WaitConformance,
    FinishingConformance,
    LogConformance,
    WorkerConformance,
    SlotConformance,
    DeathConformance,
    FencingConformance,
    BatchConformance,
    ControlConformance,
    PauseConformance,
    GateConformance,
    RetryConformance,
    MessageConformance,
    FamilyConformance,
    QueueConformance,
    RetentionConformance,
    LeftoverConformance,
    FeedConformance,
    ExpiryConformance,
    ScheduleConformance,
    OverlapConformance,
    TurnConformance,
    MendingConformance,
    DeclarationConformance,
    AccessConformance,
    NamespaceConformance,
    AuditConformance,
    IsolationConformance,
    GraphConformance,
    JobConformance,
    PipelineConformance,
    EffectConformance,
    WatchingConformance,
    ItemConformance,
    SignalConformance,
    DeclaredSignalConformance,
    FiringConformance,
)

__all__ = [
    "SUITES",
    "TransactionConformance",
    "StartConformance",
    "ClaimConformance",
    "StepConformance",
    "WaitConformance",
    "FinishingConformance",
    "LogConformance",
    "WorkerConformance",
    "SlotConformance",
    "DeathConformance",
    "FencingConformance",
    "BatchConformance",
    "ControlConformance",
    "PauseConformance",
    "GateConformance",
    "RetryConformance",
    "MessageConformance",
    "FamilyConformance",
    "QueueConformance",
    "RetentionConformance",
    "LeftoverConformance",
    "FeedConformance",
    "ExpiryConformance",
    "ScheduleConformance",
    "OverlapConformance",
    "TurnConformance",
    "MendingConformance",
    "DeclarationConformance",
    "AccessConformance",
    "NamespaceConformance",
    "AuditConformance",
    "IsolationConformance",
    "GraphConformance",
    "JobConformance",
    "PipelineConformance",
    "EffectConformance",
    "WatchingConformance",
    "ItemConformance",
    "SignalConformance",
    "DeclaredSignalConformance",
    "FiringConformance",
]
