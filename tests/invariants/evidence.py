"""What a checker judges: the database as it stood at some moments, and the journal of what happened between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from tests.lives.journal import Event, Line
from windlass.model.effect import Effect
from windlass.model.feed import Place
from windlass.model.gate import Gate
from windlass.model.graph import Edge, Graph, JobState
from windlass.model.item import Item, Task
from windlass.model.message import Message
from windlass.model.pipeline import EventRow, HandlerRun, Pipeline
from windlass.model.run import (
    APPROVED_BY,
    CANCELLED_BY,
    PAUSED_BY,
    REJECTED_BY,
    RESUMED_BY,
    LogEntry,
    Run,
    RunStatus,
)
from windlass.model.schedule import Schedule
from windlass.model.signal import FIRED, FiringId, FiringRow, Signal, SignalId, SignalNews
from windlass.model.step import Step, StepStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Worker
from windlass.store.base import Tx
from windlass.store.queries.checks import CheckQueries, Inconsistency, KeyRow, PayloadRow, RunRow
from windlass.store.queries.graph_checks import EdgeRow, GraphChecks, JobRow
from windlass.store.queries.pipeline_checks import Cause, FilledRun, PipelineChecks, PlacedEvent, StatedHandler
from windlass.store.queries.signal_checks import SignalChecks

T = TypeVar("T")
StepName = tuple[str, str]  # run id and step key
EventName = tuple[str, str, str]  # pipeline, topic and id

DEEDS = frozenset({APPROVED_BY, CANCELLED_BY, PAUSED_BY, REJECTED_BY, RESUMED_BY})  # causes that are no claim


class PipedRows(Struct, frozen=True, kw_only=True, dict=True):
    """What stands in pipelines."""

    pipeline_rows: tuple[Pipeline, ...] = ()
    handlers: tuple[StatedHandler, ...] = ()
    run_rows: tuple[FilledRun, ...] = ()  # the oldest first
    event_rows: tuple[PlacedEvent, ...] = ()
    effects: tuple[Effect, ...] = ()  # of runs, too
    causes: tuple[Cause, ...] = ()

    @cached_property
    def pipelines(self) -> Mapping[str, Pipeline]:
        return {row.name: row for row in self.pipeline_rows}

    @cached_property
    def runs(self) -> Mapping[str, HandlerRun]:
        return {row.run.id: row.run for row in self.run_rows}

    @cached_property
    def events(self) -> Mapping[EventName, EventRow]:
        return {(row.pipeline, row.event.topic, row.event.id): row.event for row in self.event_rows}


class WatchedRows(Struct, frozen=True, kw_only=True, dict=True):
    """Work items, and what signals have made of what they watch."""

    items: tuple[Item, ...] = ()
    tasks: tuple[Task, ...] = ()
    signal_rows: tuple[Signal, ...] = ()
    firing_rows: tuple[FiringRow, ...] = ()
    cursors: Mapping[str, Place] = {}  # how far the log of each namespace was examined
    places: Mapping[int, Place] = {}  # of the entries of the log

    @cached_property
    def signals(self) -> Mapping[SignalId, Signal]:
        return {row.id: row for row in self.signal_rows}

    @cached_property
    def firings(self) -> Mapping[FiringId, FiringRow]:
        return {row.id: row for row in self.firing_rows}


class Snapshot(Struct, frozen=True, kw_only=True, dict=True):
    """Everything a database held at one moment. Ids are unique across namespaces, so rows are found by id alone."""

    at: Instant
    life: int  # how many processes had worked on it by then
    rows: tuple[RunRow, ...] = ()
    payload_rows: tuple[PayloadRow, ...] = ()
    steps: tuple[Step, ...] = ()
    keys: tuple[KeyRow, ...] = ()
    log: tuple[LogEntry, ...] = ()
    workers: tuple[Worker, ...] = ()
    messages: tuple[Message, ...] = ()  # of every run, in the order they were accepted
    gates: tuple[Gate, ...] = ()  # that are closed
    schedules: tuple[Schedule, ...] = ()
    graphs: tuple[Graph, ...] = ()
    job_rows: tuple[JobRow, ...] = ()  # of every graph, in the order they were written
    edge_rows: tuple[EdgeRow, ...] = ()
    piped: PipedRows = PipedRows()
    watched: WatchedRows = WatchedRows()
    inconsistencies: tuple[Inconsistency, ...] = ()
    damage: tuple[str, ...] = ()

    @cached_property
    def runs(self) -> Mapping[str, Run]:
        return {row.run.id: row.run for row in self.rows}

    @cached_property
    def result_hashes(self) -> Mapping[str, bytes | None]:
        return {row.run.id: row.result_hash for row in self.rows}

    @cached_property
    def payloads(self) -> Mapping[str, PayloadRow]:
        return {row.run_id: row for row in self.payload_rows}

    @cached_property
    def attempts(self) -> Mapping[StepName, list[Step]]:
        """Attempts of each step, the first one first."""
        found: defaultdict[StepName, list[Step]] = defaultdict(list)
        for step in sorted(self.steps, key=lambda step: step.attempt):
            found[step.run_id, step.key].append(step)
        return found

    @cached_property
    def histories(self) -> Mapping[str, list[LogEntry]]:
        """The log of each run, oldest first."""
        found: defaultdict[str, list[LogEntry]] = defaultdict(list)
        for entry in self.log:
            if entry.subject_kind == "run":
                found[entry.subject_id].append(entry)
        return found

    @cached_property
    def claims(self) -> Mapping[str, list[LogEntry]]:
        """The claims of each run: the n-th one gave token n."""
        return {run_id: [entry for entry in entries if is_claim(entry)] for run_id, entries in self.histories.items()}

    @cached_property
    def inboxes(self) -> Mapping[str, list[Message]]:
        """What each run was sent."""
        found: defaultdict[str, list[Message]] = defaultdict(list)
        for message in self.messages:
            found[message.run_id].append(message)
        return found

    @cached_property
    def children(self) -> Mapping[str, list[Run]]:
        """The runs that each run has started."""
        found: defaultdict[str, list[Run]] = defaultdict(list)
        for run in self.runs.values():
            if run.parent is not None:
                found[run.parent].append(run)
        return found

    @cached_property
    def jobs(self) -> Mapping[str, Mapping[str, JobState]]:
        """By graph and name."""
        found: defaultdict[str, dict[str, JobState]] = defaultdict(dict)
        for row in self.job_rows:
            found[row.graph][row.job.name] = row.job
        return found

    @cached_property
    def needs(self) -> Mapping[str, Mapping[str, list[Edge]]]:
        """By graph and job: what it waits for, or has waited for."""
        found: defaultdict[str, defaultdict[str, list[Edge]]] = defaultdict(lambda: defaultdict(list))
        for row in self.edge_rows:
            found[row.graph][row.edge.job].append(row.edge)
        return found

    @cached_property
    def signal_stories(self) -> Mapping[SignalId, list[LogEntry]]:
        """What happened to each signal, oldest first."""
        found: defaultdict[SignalId, list[LogEntry]] = defaultdict(list)
        for entry in self.log:
            if entry.subject_kind == "signal":
                found[SignalId(entry.subject_id)].append(entry)
        return found

    @cached_property
    def announcements(self) -> Sequence[tuple[LogEntry, SignalNews]]:
        """What is told of firings that are done, oldest first."""
        return [
            (entry, msgspec.json.decode(entry.data or b"{}", type=SignalNews))
            for entries in self.signal_stories.values()
            for entry in entries
            if entry.cause == FIRED
        ]


class Evidence(Struct, frozen=True, kw_only=True, dict=True):
    """Snapshots in the order they were taken, the last one at the end of the story; and the whole journal."""

    snapshots: tuple[Snapshot, ...]
    lines: tuple[Line, ...] = ()
    visibility_for: Duration = Duration(30 * SECOND)
    poll_for: Duration = Duration(5 * SECOND)
    max_recoveries: int = 10
    retry_limits: Mapping[str, int] = {}  # step key: attempts allowed; others have the default
    keep_for: Duration | None = None  # how long runs are kept that are over; none: for ever
    limits: Mapping[str, Duration] = {}  # of workflows that say otherwise
    healed_at: Instant | None = None  # when faults ended
    bound_for: Duration = Duration(0)  # within which everything must be over from then on

    @property
    def last(self) -> Snapshot:
        return self.snapshots[-1]

    @property
    def pairs(self) -> Sequence[tuple[Snapshot, Snapshot]]:
        """Each snapshot with the one after it."""
        return tuple(zip(self.snapshots, self.snapshots[1:], strict=False))

    def of(self, *events: Event) -> list[Line]:
        return [line for line in self.lines if line.event in events]

    def settled_before(self, line: Line) -> Mapping[StepName, Step]:
        """The steps that had ended for good before the life of that line began."""
        return self._settled.get(line.life, {})

    @cached_property
    def _settled(self) -> Mapping[int, Mapping[StepName, Step]]:
        found: dict[int, Mapping[StepName, Step]] = {}
        lives = {line.life for line in self.lines}
        for life in lives:
            earlier = [snapshot for snapshot in self.snapshots if snapshot.life < life]
            found[life] = {} if not earlier else _settled(earlier[-1])
        return found


def is_claim(entry: LogEntry) -> bool:
    """Did somebody take the run? What a person did about a run that is executed leaves it where it is."""
    return entry.to_status == RunStatus.RUNNING and entry.cause not in DEEDS


def is_remark(entry: LogEntry) -> bool:
    """Something was done about a run, and its status stayed as it was."""
    return entry.from_status == entry.to_status and entry.cause in DEEDS


def _settled(snapshot: Snapshot) -> Mapping[StepName, Step]:
    return {(step.run_id, step.key): step for step in snapshot.steps if is_settled(step)}


def is_settled(step: Step) -> bool:
    """Completed, or failed for good."""
    return step.status is StepStatus.COMPLETED or (step.status is StepStatus.FAILED and step.due_at is None)


class Readable(Protocol):
    """What a snapshot needs of a store."""

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T: ...


async def take_snapshot(store: Readable, *, at: int, life: int, is_judged: bool = True) -> Snapshot:
    """Read everything, as of one moment; unless it is not judged, also what the database says about itself."""

    async def read(tx: Tx) -> Snapshot:
        checks, of_graphs = CheckQueries(tx.connection), GraphChecks(tx.connection)
        rows = tuple(await checks.runs())
        return Snapshot(
            at=Instant(at),
            life=life,
            rows=rows,
            payload_rows=tuple(await checks.payloads()),
            steps=tuple(await checks.steps()),
            keys=tuple(await checks.keys()),
            log=tuple(await checks.log()),
            workers=tuple(await checks.workers()),
            messages=tuple([message for row in rows for message in await _inbox(tx, row.run)]),
            gates=tuple([gate for name in _namespaces(rows) for gate in await tx.gates.closed(name)]),
            schedules=tuple(await checks.schedules()),
            graphs=tuple(await of_graphs.graphs()),
            job_rows=tuple(await of_graphs.jobs()),
            edge_rows=tuple(await of_graphs.edges()),
            piped=await _piped(PipelineChecks(tx.connection)),
            watched=await _watched(SignalChecks(tx.connection)),
            inconsistencies=tuple(await checks.inconsistencies()) if is_judged else (),
            damage=tuple(await checks.damage()) if is_judged else (),
        )

    return await store.read("take_snapshot", read)


async def _piped(checks: PipelineChecks) -> PipedRows:
    pipelines = tuple(await checks.pipelines())
    effects = tuple(await checks.effects())  # those of runs stand there too
    if not pipelines:
        return PipedRows(effects=effects)
    return PipedRows(
        pipeline_rows=pipelines,
        handlers=tuple(await checks.handlers()),
        run_rows=tuple(await checks.runs()),
        event_rows=tuple(await checks.events()),
        effects=effects,
        causes=tuple(await checks.causes()),
    )


async def _watched(checks: SignalChecks) -> WatchedRows:
    items, signals = tuple(await checks.items()), tuple(await checks.signals())
    if not items and not signals:
        return WatchedRows()
    return WatchedRows(
        items=items,
        tasks=tuple(await checks.tasks()),
        signal_rows=signals,
        firing_rows=tuple(await checks.firings()),
        cursors=await checks.cursors(),
        places=await checks.places(),
    )


async def _inbox(tx: Tx, run: Run) -> list[Message]:
    return await tx.inbox.of_run(run.namespace, run_id=run.id)


def _namespaces(rows: Sequence[RunRow]) -> list[str]:
    return sorted({row.run.namespace for row in rows})
