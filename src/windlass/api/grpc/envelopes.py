"""What stands around commands and answers on the wire, where the doors in process take arguments or give tuples."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.access import Key
from windlass.model.commands import (
    BeginStep,
    ClaimState,
    CompleteStep,
    FailStep,
    FinishRun,
    StartRun,
    WaitStep,
)
from windlass.model.failure import Failure
from windlass.model.gate import Gate
from windlass.model.graph import NeedsOf
from windlass.model.message import Message
from windlass.model.queue import QueueView
from windlass.model.run import LogEntry, RunId, RunStatus, WorkerId
from windlass.model.schedule import ScheduleView
from windlass.model.step import Step, StepRecord
from windlass.model.time import Duration, Instant
from windlass.model.worker import EndedRuns, Worker


class Nothing(Struct, frozen=True):
    """A request or an answer that says no more than that it came."""


class OfNamespace(Struct, frozen=True, kw_only=True):
    namespace: str


class OfRun(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId


class OfRunAfter(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    after: int = 0


class ListSteps(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    after_key: str | None = None
    after_attempt: int = 0


class OfKey(Struct, frozen=True, kw_only=True):
    namespace: str
    key: str


class OfSchedule(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str


class OfScheduleAfter(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    after: int = 0


class OfGraph(Struct, frozen=True, kw_only=True):
    namespace: str
    graph: RunId


class OfWorker(Struct, frozen=True, kw_only=True):
    namespace: str
    id: WorkerId


class StartOne(Struct, frozen=True, kw_only=True):
    namespace: str
    run: StartRun
    allow_unknown: bool = False


class StartMany(Struct, frozen=True, kw_only=True):
    namespace: str
    runs: tuple[StartRun, ...]
    allow_unknown: bool = False


class Steps(Struct, frozen=True, kw_only=True):
    steps: tuple[Step, ...]
    has_more: bool = False


class Messages(Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...]
    has_more: bool = False


class LogEntries(Struct, frozen=True, kw_only=True):
    entries: tuple[LogEntry, ...]
    has_more: bool = False


class WaitForResult(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    wait_for: Duration


class Paused(Struct, frozen=True, kw_only=True):
    status: RunStatus


class ListSchedules(Struct, frozen=True, kw_only=True):
    namespace: str
    after: str | None = None


class ScheduleViews(Struct, frozen=True, kw_only=True):
    schedules: tuple[ScheduleView, ...]
    has_more: bool = False


class ListNamespaces(Struct, frozen=True, kw_only=True):
    after: str | None = None
    limit: int = 100


class ListKeys(Struct, frozen=True, kw_only=True):
    namespace: str | None = None


class Keys(Struct, frozen=True, kw_only=True):
    keys: tuple[Key, ...]


class RevokeKey(Struct, frozen=True, kw_only=True):
    id: str
    by: str | None = None


class ServerInfo(Struct, frozen=True, kw_only=True):
    version: str
    api_version: str
    features: tuple[str, ...]


class ListWorkers(Struct, frozen=True, kw_only=True):
    namespace: str
    stopped_since: Instant | None = None


class WorkerViews(Struct, frozen=True, kw_only=True):
    workers: tuple[Worker, ...]


class DrainWorker(Struct, frozen=True, kw_only=True):
    namespace: str
    id: WorkerId
    by: str | None = None


class Queues(Struct, frozen=True, kw_only=True):
    queues: tuple[QueueView, ...]


class Gates(Struct, frozen=True, kw_only=True):
    gates: tuple[Gate, ...]


class MoveCursor(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    seq: int


class Moved(Struct, frozen=True, kw_only=True):
    seq: int


class OfCursor(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str


class Dropped(Struct, frozen=True, kw_only=True):
    is_dropped: bool


# Work


class Beaten(Struct, frozen=True, kw_only=True):
    accepted: bool
    should_drain: bool = False


class Deregister(Struct, frozen=True, kw_only=True):
    namespace: str
    id: WorkerId
    ended: EndedRuns | None = None


class ReadHistory(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    token: int
    skip: int = 0


class History(Struct, frozen=True, kw_only=True):
    history: tuple[StepRecord, ...]
    has_more: bool = False


class Listen(Struct, frozen=True, kw_only=True):
    namespace: str
    worker: WorkerId
    wait_for: Duration


class Heard(Struct, frozen=True, kw_only=True):
    should_drain: bool


class Looked(Struct, frozen=True, kw_only=True):
    states: tuple[ClaimState, ...]


class BeginSteps(Struct, frozen=True, kw_only=True):
    namespace: str
    steps: tuple[BeginStep, ...]


class CompleteSteps(Struct, frozen=True, kw_only=True):
    namespace: str
    steps: tuple[CompleteStep, ...]


class FinishRuns(Struct, frozen=True, kw_only=True):
    namespace: str
    runs: tuple[FinishRun, ...]


class Written(Struct, frozen=True, kw_only=True):
    at: Instant


class FailOne(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    token: int
    step: FailStep
    is_again: bool = False


class SleepOne(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    token: int
    key: str
    input_hash: bytes
    sleep_for: Duration
    is_again: bool = False


class WaitOne(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    token: int
    step: WaitStep
    order: int
    is_again: bool = False


class CompleteRun(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    token: int
    output: bytes


class FailRun(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    token: int
    failure: Failure


class SendToChild(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    token: int
    child: RunId
    event: str
    id: str
    payload: bytes
    payload_hash: bytes


class CancelChild(Struct, frozen=True, kw_only=True):
    namespace: str
    run_id: RunId
    token: int
    child: RunId
    is_again: bool = False


class ReadNeeds(Struct, frozen=True, kw_only=True):
    namespace: str
    claims: tuple[tuple[RunId, int], ...]
    skip: int = 0


class Needs(Struct, frozen=True, kw_only=True):
    needs: tuple[NeedsOf, ...]
    has_more: bool = False
