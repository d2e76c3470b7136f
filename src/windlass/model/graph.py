"""What a graph is: jobs that need other jobs. A graph is a run whose work is done by other runs, its jobs.

    run "release"  kind graph   waits for its jobs; its row of `graphs` counts them, and is what is locked
      ├─ run "release.lint"    kind job     parent: the graph; parent_step: its name in the graph, "lint"
      └─ run "release.shards"  kind group   a generator: what it returns joins the graph as further jobs

A job waits while `unmet` > 0: one for each edge whose upstream is not over, one while its matrix lets no more begin.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from windlass.model.failure import Failure
from windlass.model.run import TERMINAL, Run, RunId, RunStatus
from windlass.model.time import Duration, Instant

Accepted = tuple[RunStatus, ...]  # sorted; how an upstream may have ended for the job to go on

COMPLETED_ONLY: Accepted = (RunStatus.COMPLETED,)
EVERY_END: Accepted = tuple(sorted(TERMINAL))

# Causes in the log of what a graph does to its jobs.
RELEASED = "needs"  # all it needs is over, and accepted
SKIPPED_BY = "skip"  # its data names the job that decided it
COPIED = "copy"  # of the graph that is tried again
OPENED = "open"  # a run became a graph


class Need(Struct, frozen=True, kw_only=True, gc=False):
    """One edge, seen from the job that needs: `upstream` is the name of a job, or of a group and all its members."""

    upstream: str
    accepts: Accepted = COMPLETED_ONLY
    is_group: bool = False


class NewJob(Struct, frozen=True, kw_only=True, gc=False):
    """A job to be created: what to execute, and what it waits for. Nothing in it is evaluated again."""

    name: str  # in the graph
    workflow: str  # by which name workers know its code
    version: str = ""
    queue: str = "default"
    priority: int = 0
    input: bytes = b"[]"  # the encoded arguments behind ctx
    needs: tuple[Need, ...] = ()
    is_group: bool = False  # a generator
    is_cleanup: bool = False  # runs even when its graph is cancelled
    timeout_for: Duration | None = None  # counted from when its needs are met
    matrix: str | None = None  # the name its siblings have in common
    max_parallel: int | None = None  # of them at a time
    fail_fast: bool = False  # one that does not complete: those that have not begun are skipped


class AddJobs(Struct, frozen=True, kw_only=True):
    """The holder of a run brings jobs: a run of a graph becomes that graph, a generator completes with its members."""

    namespace: str
    run_id: RunId
    token: int
    jobs: tuple[NewJob, ...]
    output: bytes = b""  # of a generator: the names of its members, for people
    is_again: bool = False  # the answer to the same call was lost on its way


class Added(Struct, frozen=True, kw_only=True):
    """What became of the run: waiting (a graph), completed (a generator), or failed, having brought what cannot be."""

    status: RunStatus
    at: Instant
    failure: Failure | None = None


class Edge(Struct, frozen=True, kw_only=True, gc=False):
    """A row of `edges`. That of a group stays, resolved, beside those of its members."""

    job: str
    upstream: str
    accepts: Accepted = COMPLETED_ONLY
    is_group: bool = False
    is_resolved: bool = False  # of a group: its members have edges of their own


class Graph(Struct, frozen=True, kw_only=True):
    """A row of `graphs`: locked before any of its jobs."""

    namespace: str
    id: RunId
    name: str
    jobs: int = 0
    open: int = 0  # of them are not over
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    held: int = 0  # of the open ones wait for a sibling of their matrix
    is_paused: bool = False
    ending: RunStatus | None = None  # cancelled or out of time: how it ends once its cleanup jobs are over
    parent: RunId | None = None  # of its run
    schedule: str | None = None  # of its run
    created_at: Instant = Instant(0)


class JobState(Struct, frozen=True, kw_only=True):
    """A job as far as its graph decides about it."""

    run: Run
    name: str
    is_group: bool = False
    is_cleanup: bool = False
    group: str | None = None  # the generator that made it
    matrix: str | None = None
    position: int = 0  # among all jobs of the graph, in the order they were written
    max_parallel: int | None = None
    fail_fast: bool = False
    is_held: bool = False  # its matrix lets no more begin for now
    timeout_for: Duration | None = None
    decided_by: str | None = None  # of a skipped one: the job because of which


class JobView(Struct, frozen=True, kw_only=True):
    """A job as people see it."""

    state: JobState
    needs: tuple[Edge, ...] = ()
    failure: Failure | None = None

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def run(self) -> Run:
        return self.state.run

    @property
    def status(self) -> RunStatus:
        return self.state.run.status

    @property
    def needs_satisfied(self) -> bool:
        """The public reading of `unmet`: has its gate opened?"""
        return self.state.run.ready_at is not None


class ListJobs(Struct, frozen=True, kw_only=True):
    """In the order they were written. `after` is the position of the last job of the page before."""

    namespace: str
    graph: RunId
    after: int = -1
    limit: int = 500


class JobPage(Struct, frozen=True, kw_only=True):
    jobs: tuple[JobView, ...]
    next: int | None  # pass as `after`; null on the last page


class ListGraphs(Struct, frozen=True, kw_only=True):
    """Newest first. `before` is the id of the last graph of the page before."""

    namespace: str
    name: str | None = None
    is_open: bool | None = None  # only those that are not over, or only those that are
    before: str | None = None
    limit: int = 50


class GraphView(Struct, frozen=True, kw_only=True):
    """A graph as people see it: its counts and its run."""

    graph: Graph
    run: Run
    failure: Failure | None = None


class GraphPage(Struct, frozen=True, kw_only=True):
    graphs: tuple[GraphView, ...]
    next: str | None  # pass as `before`; null on the last page


class ReadNeeds(Struct, frozen=True, kw_only=True):
    """A worker asks what the jobs that it holds have waited for, by their tokens."""

    namespace: str
    claims: tuple[tuple[RunId, int], ...]


class Met(Struct, frozen=True, kw_only=True, gc=False):
    """How one upstream of a job ended, and what it returned."""

    job: str
    workflow: str
    version: str
    status: RunStatus
    is_group: bool = False  # the generator of a group that is needed; its members follow by themselves
    group: str | None = None
    matrix: str | None = None
    output: bytes | None = None
    failure: Failure | None = None


class NeedsOf(Struct, frozen=True, kw_only=True):
    """What a job is given: the input of its graph, and how its upstreams ended, in the order they were written."""

    run_id: RunId
    graph: RunId
    job: str
    input: bytes
    name: str = ""  # of the graph, and which version of it: what says how to read the input
    version: str = ""
    needs: tuple[Met, ...] = ()


class NeedPolicy(StrEnum):
    """Names for sets of ends, as people write them."""

    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    ALWAYS = "always"


POLICIES: dict[NeedPolicy, Accepted] = {
    NeedPolicy.COMPLETED: COMPLETED_ONLY,
    NeedPolicy.FAILED: (RunStatus.FAILED,),  # time-outs, crash loops and drift among them; not what was cancelled
    NeedPolicy.SKIPPED: (RunStatus.COMPLETED, RunStatus.SKIPPED),
    NeedPolicy.ALWAYS: EVERY_END,
}


def accepted(statuses: Iterable[RunStatus]) -> Accepted:
    """A set of ends in the form in which it is compared and stored."""
    return tuple(sorted(set(statuses)))
