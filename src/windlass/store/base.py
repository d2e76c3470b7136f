"""What the engine may ask of a store: named transactions, typed queries, and hooks around every commit.

    run_tx("park_run", fn)
      before_begin ─► begin ─► fn(tx) ─► before_commit ─► commit ─► after_commit ─► result
                        ▲       │ may be run again after a deadlock or a busy database
                        └───────┘ so it awaits nothing but `tx` and keeps no state of its own

`single=True` promises that fn sends one statement: PostgreSQL then sends it without begin and commit, and
before_commit means "before send", after_commit "after the reply". SQLite makes no difference.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from windlass.model.run import WorkerId
from windlass.model.time import Instant
from windlass.model.worker import LockKind
from windlass.store.queries.api_keys import ApiKeyQueries
from windlass.store.queries.audit import AuditQueries
from windlass.store.queries.children import ChildQueries
from windlass.store.queries.cursors import CursorQueries
from windlass.store.queries.events import EventQueries, InputQueries, ReservationQueries
from windlass.store.queries.expiry import ExpiryQueries
from windlass.store.queries.firings import FiringQueries, HeldFirings
from windlass.store.queries.gates import GateQueries
from windlass.store.queries.graphs import EdgeQueries, GraphQueries
from windlass.store.queries.handler_runs import EffectQueries, HandlerRunQueries
from windlass.store.queries.inbox import InboxQueries
from windlass.store.queries.items import ItemQueries, TaskQueries
from windlass.store.queries.jobs import JobQueries, NeedQueries
from windlass.store.queries.keys import KeyQueries
from windlass.store.queries.log import LogQueries
from windlass.store.queries.mending import MendingQueries
from windlass.store.queries.namespaces import NamespaceQueries
from windlass.store.queries.pipelines import HandlerQueries, PipelineQueries
from windlass.store.queries.polls import PollQueries
from windlass.store.queries.prune import PruneAttempts, PruneQueries
from windlass.store.queries.retries import RetryQueries
from windlass.store.queries.runs import RunQueries
from windlass.store.queries.scheduled import ScheduledQueries
from windlass.store.queries.schedules import ScheduleQueries
from windlass.store.queries.signals import ArmQueries, SignalQueries, WatchQueries
from windlass.store.queries.steps import StepQueries
from windlass.store.queries.workers import WorkerQueries
from windlass.store.queries.workflows import WorkflowQueries

T = TypeVar("T")
Row = Sequence[Any]


class Connection(Protocol):
    """One open transaction on one database. Queries are known by their name in the catalogue."""

    async def all(self, query: str, /, **parameters: Any) -> Sequence[Row]: ...

    async def first(self, query: str, /, **parameters: Any) -> Row | None: ...

    async def run(self, query: str, /, **parameters: Any) -> int:
        """Execute and say how many rows changed."""
        ...

    async def batch(self, query: str, rows: Sequence[Any], /) -> Mapping[int, Instant]:
        """Execute over many rows; parameters are attributes of each row. Answers {ordinal: time} of those that passed.

        PostgreSQL: one statement, every parameter an array. SQLite: for each row the first statement of the text is the
        guarded one, and the statements behind it run only if it changed something, or once for all rows that did.
        """
        ...

    async def now(self) -> Instant:
        """The store's clock. On PostgreSQL read it after the rows are locked."""
        ...


class Tx:
    """An open transaction, with one group of queries per noun."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.runs = RunQueries(connection)
        self.steps = StepQueries(connection)
        self.keys = KeyQueries(connection)
        self.log = LogQueries(connection)
        self.workers = WorkerQueries(connection)
        self.polls = PollQueries(connection)
        self.inbox = InboxQueries(connection)
        self.gates = GateQueries(connection)
        self.children = ChildQueries(connection)
        self.retries = RetryQueries(connection)
        self.graphs = GraphQueries(connection)
        self.edges = EdgeQueries(connection)
        self.jobs = JobQueries(connection)
        self.needs = NeedQueries(connection)
        self.mending = MendingQueries(connection)
        self.schedules = ScheduleQueries(connection)
        self.scheduled = ScheduledQueries(connection)
        self.workflows = WorkflowQueries(connection)
        self.pipelines = PipelineQueries(connection)
        self.handlers = HandlerQueries(connection)
        self.handler_runs = HandlerRunQueries(connection)
        self.events = EventQueries(connection)
        self.reserved = ReservationQueries(connection)
        self.inputs = InputQueries(connection)
        self.effects = EffectQueries(connection)
        self.items = ItemQueries(connection)
        self.tasks = TaskQueries(connection)
        self.signals = SignalQueries(connection)
        self.arming = ArmQueries(connection)
        self.watch = WatchQueries(connection)
        self.firings = FiringQueries(connection)
        self.held_firings = HeldFirings(connection)
        self.cursors = CursorQueries(connection)
        self.expiry = ExpiryQueries(connection)
        self.prune = PruneQueries(connection)
        self.prune_attempts = PruneAttempts(connection)
        self.namespaces = NamespaceQueries(connection)
        self.api_keys = ApiKeyQueries(connection)
        self.audit = AuditQueries(connection)

    async def now(self) -> Instant:
        return await self.connection.now()


class Hooks(Protocol):
    """Called around every named transaction; tests count them and crash in them."""

    def before_begin(self, name: str) -> None: ...

    def before_commit(self, name: str) -> None: ...

    def after_commit(self, name: str) -> None: ...


class NoHooks:
    def before_begin(self, name: str) -> None: ...

    def before_commit(self, name: str) -> None: ...

    def after_commit(self, name: str) -> None: ...


class WorkerLocks(Protocol):
    """Locks that end with whoever took them, whatever way it ends."""

    async def is_held(self, worker: WorkerId) -> bool:
        """Whether a process that lives holds the lock of this worker."""
        ...

    async def take(self, worker: WorkerId) -> LockKind | None:
        """Make sure that we hold the lock of a worker of ours; none: there can be no such lock, here or now."""
        ...

    async def free(self, workers: Collection[WorkerId]) -> list[WorkerId]:
        """Those of them whose lock may be free: it is worth trying to seize it."""
        ...

    async def seize(self, worker: WorkerId) -> bool:
        """Take the lock of another's worker, if it is free. Then it is ours until it is released."""
        ...

    async def release(self, worker: WorkerId, *, for_good: bool) -> None:
        """Let go of a lock; for good: the store knows that the worker is gone, and nobody has to find it free."""
        ...

    async def sweep(self, known: Collection[WorkerId]) -> None:
        """Clear away what is left of workers that are not known, and not alive."""
        ...


class Lane(Struct, frozen=True):
    """Kinds of batches that share a queue: at most `senders` batches in flight, each of at most `cap` rows."""

    kinds: frozenset[str]
    senders: int
    cap: int


class Store(Protocol):
    lanes: Sequence[Lane]  # how the engine's batcher should send to this store
    creates_behind_gates: bool  # does the statement that creates runs itself claim none behind a closed gate?
    hooks: Hooks

    @property
    def locks(self) -> WorkerLocks: ...

    async def open(self) -> None:
        """Connect and migrate. Raises StoreRefused if this database cannot be used."""
        ...

    async def close(self) -> None: ...

    async def run_tx(
        self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False, is_cancellable: bool = True
    ) -> T:
        """Run fn in one transaction. Raises Unavailable if the outcome is unknown or the database cannot be reached.

        Not cancellable: nobody cancels who calls this, but a loop that ends. Else the transaction goes on without them.
        """
        ...

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        """Run fn on a consistent snapshot; it must not write. No hooks: nothing commits.

        `single=True`: fn sends one statement, or needs no common snapshot; PostgreSQL then saves two round trips.
        """
        ...
