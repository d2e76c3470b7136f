"""What the store knows about a run, as of one moment, and what follows from it without a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from windlass.model.failure import Failure, Unretrieved
from windlass.model.gate import Gate
from windlass.model.graph import Graph, JobView
from windlass.model.message import Message
from windlass.model.overview import LongStep
from windlass.model.run import (
    APPROVED_BY,
    CANCELLED_BY,
    PAUSED_BY,
    REJECTED_BY,
    RESUMED_BY,
    RETRIED_BY,
    Deed,
    LogEntry,
    Run,
    RunId,
    RunStatus,
    RunView,
)
from windlass.model.schedule import Overlap
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import Instant
from windlass.model.worker import Served, Worker
from windlass.rules.gates import is_behind
from windlass.rules.workers import can_take

DEEDS = frozenset({APPROVED_BY, CANCELLED_BY, PAUSED_BY, REJECTED_BY, RESUMED_BY, RETRIED_BY})


class Turn(Struct, frozen=True, kw_only=True):
    """What a run waits for that has not begun because another run of its schedule is not over."""

    ahead: tuple[RunId, ...]  # those that have to end first, the oldest first
    first: Facts | None  # of them
    overlap: Overlap | None  # of the schedule, as long as there is one


class Needed(Struct, frozen=True, kw_only=True):
    """A job as a part of its graph."""

    graph: Graph
    job: JobView
    upstreams: tuple[JobView, ...] = ()  # the first of what it needs that are not over; of a skipped one, who decided
    first: Facts | None = None  # of those
    head: Facts | None = None  # at the beginning of the line that waits: what keeps it keeps all of them
    siblings: tuple[str, ...] = ()  # of its matrix, that have begun and are not over


class Jobs(Struct, frozen=True, kw_only=True):
    """A graph, and those of its jobs that are not over."""

    graph: Graph
    open: Mapping[str, RunStatus] = {}
    first: Facts | None = None  # that is not at work, and waits for no other job
    waiting: JobView | None = None  # the first that waits for others
    failed: tuple[str, ...] = ()  # of a graph that is over: the first of them


class Facts(Struct, frozen=True, kw_only=True):
    view: RunView
    steps: tuple[Step, ...]  # the latest attempt of each
    log: tuple[LogEntry, ...]  # of this run, oldest first
    workers: tuple[Worker, ...]  # that have not stopped
    now: Instant
    gates: tuple[Gate, ...] = ()  # that are closed
    unread: tuple[Message, ...] = ()  # events that no step has received
    children: Mapping[RunId, RunStatus] = {}  # of the runs it waits for, where they stand
    child: Facts | None = None  # the first of them that has not ended; who that one waits for is not looked up
    retry: RunId | None = None  # the run that tries this one again
    turn: Turn | None = None  # none: it waits for no other run of its schedule
    long_step: LongStep | None = None  # that is at work
    unretrieved: Unretrieved | None = None  # as a holder has said
    needed: Needed | None = None  # of a job
    jobs: Jobs | None = None  # of a graph

    @property
    def run(self) -> Run:
        return self.view.run

    @property
    def since(self) -> Instant:
        """When the run came into its status."""
        return self._entered.at if self._entered is not None else self.run.created_at

    @property
    def cause(self) -> str:
        return self._entered.cause if self._entered is not None else ""

    @property
    def _entered(self) -> LogEntry | None:
        """The entry that says how the run came to stand where it does: a deed may leave it there."""
        changes = (entry for entry in reversed(self.log) if not _changes_nothing(entry))
        return next(changes, None)

    @property
    def pause(self) -> tuple[Deed, Instant]:
        """Who wanted the run paused, and when they said so: where it was at work, that is before it came to be."""
        found: list[LogEntry] = []
        for entry in reversed(self.log):
            if entry.cause == RESUMED_BY:
                break
            if entry.cause == PAUSED_BY:
                found.append(entry)
        named = [entry for entry in found if entry.data is not None] or found
        return (Deed.from_log(named[-1].data), named[-1].at) if named else (Deed(), self.since)

    @property
    def cancel(self) -> Deed:
        """Who cancelled a graph whose jobs clean up first: it ends with the last of them, and not by this deed."""
        found = (entry for entry in self.log if entry.cause == CANCELLED_BY)
        return Deed.from_log(next((entry.data for entry in found), None))

    @property
    def last_deed(self) -> Deed:
        return Deed.from_log(self._entered.data) if self._entered is not None else Deed()

    @property
    def end(self) -> Deed:
        """Who ended it."""
        return self.last_deed if self.cause in DEEDS else self.cancel

    @property
    def waits(self) -> tuple[Step, ...]:
        """What the code stands at: waits, and failed attempts that will be tried again."""
        return tuple(step for step in self.steps if _is_open(step))

    @property
    def at_work(self) -> list[Step]:
        """Bodies seen to have been entered under this very claim, the oldest first."""
        entered = [step for step in self.steps if step.status is StepStatus.RUNNING and step.token == self.run.token]
        return sorted(entered, key=lambda step: step.started_at or 0)

    @property
    def task_failure(self) -> Failure | None:
        """With what a task has ended, if no task has retrieved that. Under another claim it is found anew."""
        said = self.unretrieved
        return None if said is None or said.token != self.run.token else said.failure

    @property
    def lane(self) -> Served:
        return Served(self.run.queue, self.run.name, self.run.version)

    @property
    def able(self) -> list[Worker]:
        """Live workers that could take the run."""
        return [worker for worker in self.workers if can_take(worker, self.lane, now=self.now)]

    @property
    def closed(self) -> list[Gate]:
        """Every closed gate that the run stands behind."""
        return [gate for gate in self.gates if is_behind(self.lane, [gate]) is not None]


def _changes_nothing(entry: LogEntry) -> bool:
    return entry.from_status == entry.to_status and entry.cause in DEEDS


def _is_open(step: Step) -> bool:
    if step.is_dropped:
        return False
    return step.status is StepStatus.WAITING or (step.status is StepStatus.FAILED and step.due_at is not None)


def awaits_event(steps: Sequence[Step]) -> bool:
    return any(step.kind is StepKind.EVENT and _is_open(step) for step in steps)


def awaited_children(steps: Sequence[Step]) -> list[RunId]:
    """The runs that are waited for, the oldest first: ids sort by creation."""
    waits = (step for step in steps if step.kind is StepKind.CHILD and _is_open(step))
    return sorted(RunId(step.awaits) for step in waits if step.awaits is not None)
