"""Bring jobs into a graph that is locked: what each of them waits for is counted as of this very moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from windlass.model.graph import Edge, NewJob
from windlass.model.run import RunId, RunKind, RunStatus
from windlass.rules.needs import held_back, judge
from windlass.store.base import Tx
from windlass.store.queries.jobs import NewJobRow


class Inserted(Struct, frozen=True, kw_only=True):
    skips: Mapping[str, str]  # jobs that will never begin, and because of which
    held: int  # jobs that wait for a sibling of their matrix
    queues: frozenset[str]  # where jobs are due


class Place(Struct, frozen=True, kw_only=True):
    """The graph that jobs come into, and where."""

    namespace: str
    graph: RunId
    first: int = 0  # position of the first of them
    group: str | None = None  # the generator that brings them
    is_paused: bool = False
    resolved: frozenset[str] = frozenset()  # groups whose members have edges of their own
    cause: str = "start"


async def insert_jobs(
    tx: Tx, place: Place, jobs: Sequence[NewJob], ids: Sequence[RunId], *, ends: Mapping[str, RunStatus]
) -> Inserted:
    """Insert jobs whose needs are expanded, and their edges. `ends`: where the jobs stand that were there before."""
    edges = {job.name: edges_of(job, resolved=place.resolved) for job in jobs}
    held = held_back(jobs)
    skips: dict[str, str] = {}
    rows = []
    for number, (job, id) in enumerate(zip(jobs, ids, strict=True)):
        open, because = judge(edges[job.name], ends)
        if because is not None:
            skips[job.name] = because
        unmet = open + (job.name in held)
        if because is not None:
            unmet = max(1, unmet)  # it waits until it is skipped, a moment from now
        rows.append(_row(place, job, id, position=place.first + number, unmet=unmet, is_held=job.name in held))
    await tx.jobs.create(rows)
    await tx.edges.create(place.namespace, place.graph, [edge for some in edges.values() for edge in some])
    queues = frozenset(row.queue for row in rows if row.status is RunStatus.PENDING)
    return Inserted(skips=skips, held=len(held), queues=queues)


def edges_of(job: NewJob, *, resolved: frozenset[str] = frozenset()) -> list[Edge]:
    return [
        Edge(
            job=job.name,
            upstream=need.upstream,
            accepts=need.accepts,
            is_group=need.is_group,
            is_resolved=need.is_group and need.upstream in resolved,
        )
        for need in job.needs
    ]


def _row(place: Place, job: NewJob, id: RunId, *, position: int, unmet: int, is_held: bool) -> NewJobRow:
    ready = RunStatus.PAUSED if place.is_paused else RunStatus.PENDING
    return NewJobRow(
        namespace=place.namespace,
        graph=place.graph,
        id=id,
        name=job.name,
        workflow=job.workflow,
        version=job.version,
        queue=job.queue,
        priority=job.priority,
        status=RunStatus.WAITING if unmet else ready,
        unmet=unmet,
        kind=RunKind.GROUP if job.is_group else RunKind.JOB,
        input=job.input,
        position=position,
        is_group=int(job.is_group),
        is_cleanup=int(job.is_cleanup),
        group_name=place.group,
        matrix=job.matrix,
        max_parallel=job.max_parallel,
        fail_fast=int(job.fail_fast),
        is_held=int(is_held),
        timeout_for=job.timeout_for,
        cause=place.cause,
    )
