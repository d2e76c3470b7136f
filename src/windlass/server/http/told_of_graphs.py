"""What is answered over HTTP about graphs."""

from __future__ import annotations

from datetime import datetime

from windlass.model.run import RunStatus
from windlass.server.http.told import FailureDetail, Told


class JobCounts(Told, frozen=True, kw_only=True):
    """Where the jobs of a graph stand. `open` are those that are not over; `held` of them wait for their matrix."""

    all: int
    open: int
    held: int
    completed: int
    failed: int
    cancelled: int
    skipped: int


class GraphDetail(Told, frozen=True, kw_only=True):
    id: str  # of its run, by which it is awaited, cancelled, paused and tried again
    namespace: str
    name: str
    version: str | None
    queue: str
    priority: int
    status: RunStatus
    ending: RunStatus | None  # how it ends once its cleanup jobs are over
    is_paused: bool
    jobs: JobCounts
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    parent: str | None
    retry_of: str | None
    schedule: str | None
    failure: FailureDetail | None


class GraphsAnswer(Told, frozen=True, kw_only=True):
    graphs: list[GraphDetail]  # the newest first
    next: str | None  # pass as `before`; null on the last page


class NeedDetail(Told, frozen=True, kw_only=True):
    job: str  # what is needed: a job, or the generator of a group
    accepts: list[RunStatus]  # how it may have ended
    is_group: bool
    is_resolved: bool  # of a group: its members stand here too


class JobDetail(Told, frozen=True, kw_only=True):
    name: str  # in the graph
    run_id: str
    workflow: str
    version: str | None
    queue: str
    priority: int
    status: RunStatus
    needs: list[NeedDetail]
    needs_satisfied: bool
    unmet: int  # what it still waits for
    decided_by: str | None  # of a skipped one: the job because of which
    is_group: bool  # a generator
    is_cleanup: bool
    group: str | None  # the generator that made it
    matrix: str | None
    max_parallel: int | None
    fail_fast: bool
    is_held: bool  # its matrix lets no more begin for now
    position: int
    attempts: int
    worker: str | None
    timeout_secs: float | None
    created_at: datetime
    ready_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    failure: FailureDetail | None


class JobsAnswer(Told, frozen=True, kw_only=True):
    jobs: list[JobDetail]  # in the order they were written
    next: int | None  # pass as `after`; null on the last page
