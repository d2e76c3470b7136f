"""Try a graph once more: a new graph with the jobs that completed, and those again that did not.

A job that failed goes on with the steps it has done, as a run that is tried again does, if all that it needed is as it
was; others begin from nothing. What a generator has brought stays with it: done again, it may bring other jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.engine.graph.settle import Settled, settle
from windlass.model.graph import COPIED, OPENED, Edge, Graph
from windlass.model.run import Run, RunId, RunKind, RunStatus
from windlass.rules.needs import held_back, judge
from windlass.rules.retries_of_graphs import Kept, kept_jobs
from windlass.store.base import Tx
from windlass.store.queries.graphs import Counted
from windlass.store.queries.jobs import JobContent, KnownJob, NewJobRow
from windlass.store.queries.log import NewLogEntry


class TooFewIds(Exception):
    """The graph has grown since it was looked at: it needs this many."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class Retried(Struct, frozen=True, kw_only=True):
    queues: frozenset[str] = frozenset()
    settled: Settled = field(default_factory=Settled)


class _Old(Struct, frozen=True, kw_only=True):
    """The graph that is tried again, as far as the new one is made of it."""

    jobs: Sequence[KnownJob]
    edges: Sequence[Edge]
    runs: Mapping[RunId, Run]
    contents: Mapping[RunId, JobContent]
    kept: Kept


async def fill_graph(tx: Tx, run: Run, new: Run, ids: Sequence[RunId], *, from_job: str | None = None) -> Retried:
    """Make `new`, the run that tries the graph `run` again, a graph too. Both are locked."""
    old = await _read(tx, run, from_job)
    if len(ids) < len(old.jobs):
        raise TooFewIds(len(old.jobs))
    edges = _edges(old)
    by_job: dict[str, list[Edge]] = {}
    for edge in edges:
        by_job.setdefault(edge.job, []).append(edge)
    ends = dict.fromkeys(old.kept.jobs, RunStatus.COMPLETED)
    rows, skips = _rows(old, new, ids, by_job, ends)
    await tx.graphs.create(new)
    await tx.jobs.create(rows)
    await tx.edges.create(new.namespace, new.id, edges)
    for row in rows:
        if row.retry_of is not None:
            await tx.retries.fill(new.namespace, id=row.id, retry_of=row.retry_of, before=None, from_step=None)
    await _hand_over_effects(tx, old, rows)
    open = sum(1 for row in rows if not row.status.is_terminal)
    held = sum(row.is_held for row in rows)
    counted = Counted(jobs=len(rows), open=open, completed=len(rows) - open, held=held)
    await tx.graphs.count(new.namespace, new.id, counted)
    await _mark(tx, new)
    graph = Graph(
        namespace=new.namespace,
        id=new.id,
        name=new.name,
        jobs=len(rows),
        open=open,
        completed=counted.completed,
        held=held,
        schedule=new.schedule,
    )
    settled = await settle(tx, graph, {}, ancestors={}, skips=skips)
    return Retried(queues=frozenset(row.queue for row in rows if row.status is RunStatus.PENDING), settled=settled)


async def _hand_over_effects(tx: Tx, old: _Old, rows: Sequence[NewJobRow]) -> None:
    """What a job may have done outside is found out by the one that does it again, also if that begins from nothing."""
    former = {job.name: job.run_id for job in old.jobs}
    again = [row for row in rows if row.status is not RunStatus.COMPLETED]
    called = await tx.effects.calls(again[0].namespace, owners=[former[row.name] for row in again]) if again else []
    owners = {effect.owner for effect in called}
    for row in again:
        if former[row.name] in owners:
            await tx.effects.hand_over(row.namespace, former=former[row.name], to=row.id)


async def _read(tx: Tx, run: Run, from_job: str | None) -> _Old:
    namespace = run.namespace
    jobs = await tx.jobs.all(namespace, run.id)
    edges = await tx.edges.of_graph(namespace, run.id)
    ends = await tx.jobs.ends(namespace, run.id)
    groups = {job.name: job.group for job in jobs if job.group is not None}
    ids = [job.run_id for job in jobs]
    return _Old(
        jobs=jobs,
        edges=edges,
        runs=await tx.runs.lock_all(namespace, ids=ids),
        contents=await tx.jobs.contents(namespace, ids),
        kept=kept_jobs(ends, edges, groups, from_job=from_job),
    )


def _edges(old: _Old) -> list[Edge]:
    """Those of the new graph. A group whose generator is done again is not resolved any more."""
    dropped, kept = old.kept.dropped, old.kept.jobs
    return [
        replace(edge, is_resolved=False) if edge.is_resolved and edge.upstream not in kept else edge
        for edge in old.edges
        if edge.job not in dropped and edge.upstream not in dropped
    ]


def _rows(
    old: _Old, new: Run, ids: Sequence[RunId], edges: Mapping[str, Sequence[Edge]], ends: Mapping[str, RunStatus]
) -> tuple[list[NewJobRow], dict[str, str]]:
    rows, skips = [], {}
    held = held_back(job for job in old.jobs if job.name not in old.kept.jobs | old.kept.dropped)
    for job, id in zip([job for job in old.jobs if job.name not in old.kept.dropped], ids, strict=False):
        is_kept = job.name in old.kept.jobs
        unmet, because = (0, None) if is_kept else judge(edges.get(job.name, ()), ends)
        unmet += job.name in held
        if because is not None:
            skips[job.name], unmet = because, max(1, unmet)
        rows.append(_row(old, new, job, id, unmet=unmet, is_held=job.name in held))
    return rows, skips


def _row(old: _Old, new: Run, job: KnownJob, id: RunId, *, unmet: int, is_held: bool) -> NewJobRow:
    run, content, is_kept = old.runs[job.run_id], old.contents[job.run_id], job.name in old.kept.jobs
    status = RunStatus.WAITING if unmet else RunStatus.PENDING
    has_begun = run.attempts > 0 and job.name in old.kept.resumed
    return NewJobRow(
        namespace=new.namespace,
        graph=new.id,
        id=id,
        name=job.name,
        workflow=run.name,
        version=run.version,
        queue=run.queue,
        priority=run.priority,
        status=RunStatus.COMPLETED if is_kept else status,
        unmet=unmet,
        kind=RunKind.GROUP if job.is_group else RunKind.JOB,
        input=content.input,
        output=content.output if is_kept else None,
        position=job.position,
        is_group=int(job.is_group),
        is_cleanup=int(job.is_cleanup),
        group_name=job.group,
        matrix=job.matrix,
        max_parallel=job.max_parallel,
        fail_fast=int(job.fail_fast),
        is_held=int(is_held),
        timeout_for=job.timeout_for,
        cause=COPIED,
        retry_of=run.id if has_begun else None,
        origin=(run.origin or run.id) if has_begun else None,
        begun_at=(run.begun_at or run.started_at) if has_begun else None,
    )


async def _mark(tx: Tx, new: Run) -> None:
    await tx.graphs.mark(replace(new, status=RunStatus.WAITING), was=new)
    await tx.log.append(
        [
            NewLogEntry(
                namespace=new.namespace,
                subject_kind="run",
                subject_id=new.id,
                from_status=new.status,
                to_status=RunStatus.WAITING,
                cause=OPENED,
            )
        ]
    )
