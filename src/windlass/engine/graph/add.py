"""A run brings jobs: a run of a graph becomes that graph, and a generator completes together with its members.

One transaction each: the jobs, their edges, and those of them that may begin, or nothing. What cannot be fails the run
that brought it, and leaves the rest as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.engine.graph.insert import Inserted, Place, insert_jobs
from windlass.engine.graph.lock import Locked, lock_graph_of
from windlass.engine.graph.settle import Settled, settle, tell_of_settled
from windlass.engine.parts import Parts
from windlass.engine.release import lock_claimed
from windlass.engine.schedule.release import Released, release_next, tell_of_release
from windlass.errors import ClaimLost, InvalidInput
from windlass.model.commands import Claim, FinishRun
from windlass.model.failure import Failure, FailureKind
from windlass.model.graph import OPENED, Added, AddJobs, Edge, Graph, NewJob
from windlass.model.run import Run, RunId, RunKind, RunStatus
from windlass.notify.local import queue_topic
from windlass.rules import runs as run_rules
from windlass.rules.graph_ends import cleanup_time
from windlass.rules.graphs import Known, check_graph, member_edges
from windlass.store.base import Tx
from windlass.store.queries.graphs import Counted
from windlass.store.queries.jobs import KnownJob, MetNeeds
from windlass.store.queries.log import NewLogEntry


class Done(Struct, frozen=True, kw_only=True):
    """What was made of it, for those who are told after the commit."""

    status: RunStatus
    queues: frozenset[str] = frozenset()
    settled: Settled = field(default_factory=Settled)
    released: Released = Released()


async def add_jobs(parts: Parts, command: AddJobs) -> Added:
    claim = Claim(namespace=command.namespace, run_id=command.run_id, token=command.token)
    ids = [RunId(parts.ids.run()) for _ in command.jobs]  # outside: a second try must do the same
    tries = int(command.is_again)  # what was asked before may have been done

    async def add(tx: Tx) -> tuple[Added, Done]:
        nonlocal tries
        tries += 1
        locked = await lock_graph_of(tx, command.namespace, command.run_id)
        if locked.run is None:
            raise ClaimLost(command.run_id, token=command.token)
        if tries > 1 and _is_done(locked.run, command.token):
            return await _as_it_stands(tx, locked.run), Done(status=locked.run.status)
        run = await lock_claimed(tx, claim)
        done = await (_open(tx, run, command, ids) if locked.graph is None else _resolve(tx, run, locked, command, ids))
        return Added(status=done.status, at=await tx.now()), done

    try:
        added, done = await parts.run_tx("add_jobs", add)
    except InvalidInput as error:
        return await _refuse(parts, command, error)
    for queue in sorted(done.queues):
        parts.hub.publish(queue_topic(command.namespace, queue))
    tell_of_settled(parts, done.settled)
    tell_of_release(parts, done.released)
    return added


def _is_done(run: Run, token: int) -> bool:
    """Is this what an earlier try has made of it, under the same claim? Not what somebody else has, by a cancel."""
    if run.token != token:
        return False
    if run.kind is RunKind.GRAPH:
        return True
    return run.status in (RunStatus.COMPLETED, RunStatus.FAILED)


async def _as_it_stands(tx: Tx, run: Run) -> Added:
    view = await tx.runs.view(run.namespace, id=run.id)
    at = run.finished_at if run.finished_at is not None else await tx.now()
    return Added(status=run.status, at=at, failure=None if view is None else view.failure)


async def _refuse(parts: Parts, command: AddJobs, error: InvalidInput) -> Added:
    """Nothing of it was written: end the run that brought it, as its worker would end one that failed."""
    failure = Failure(kind=FailureKind.LOGIC, type="InvalidGraph", message=str(error))
    at = await parts.batcher.submit(
        "finish_runs",
        FinishRun(
            namespace=command.namespace,
            run_id=command.run_id,
            token=command.token,
            status=RunStatus.FAILED,
            failure=failure,
            result_hash=_hash(str(error).encode()),
            knows_family=False,
        ),
    )
    return Added(status=RunStatus.FAILED, at=at, failure=failure)


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


# A run becomes a graph


async def _open(tx: Tx, run: Run, command: AddJobs, ids: list[RunId]) -> Done:
    if run.kind is not RunKind.WORKFLOW:
        raise InvalidInput("A job cannot become a graph; start it as a child: ctx.run(graph).", reason="invalid_graph")
    jobs = check_graph(command.jobs)
    waits = run_rules.open_graph(run)
    await tx.graphs.create(run)
    place = Place(namespace=run.namespace, graph=run.id, is_paused=waits.status is RunStatus.PAUSED)
    inserted = await insert_jobs(tx, place, jobs, ids, ends={})
    await tx.graphs.count(run.namespace, run.id, _counted(jobs, inserted))
    if place.is_paused:
        await tx.graphs.steer(Graph(namespace=run.namespace, id=run.id, name=run.name, is_paused=True))
    if not await tx.graphs.mark(waits, was=run):
        raise ClaimLost(run.id, token=run.token)
    await tx.log.append(
        [
            NewLogEntry(
                namespace=run.namespace,
                subject_kind="run",
                subject_id=run.id,
                from_status=run.status,
                to_status=waits.status,
                cause=OPENED,
            )
        ]
    )
    return Done(status=waits.status, queues=inserted.queues)


def _counted(jobs: tuple[NewJob, ...], inserted: Inserted) -> Counted:
    return Counted(jobs=len(jobs), open=len(jobs), held=inserted.held)


# A generator completes


async def _resolve(tx: Tx, run: Run, locked: Locked, command: AddJobs, ids: list[RunId]) -> Done:
    graph, group = locked.graph, run.job
    if graph is None or group is None or run.kind is not RunKind.GROUP:
        raise InvalidInput("This job is no generator, and brings no jobs.", reason="invalid_graph")
    existing = await tx.jobs.all(run.namespace, graph.id)
    known = _known(existing, await tx.edges.of_graph(run.namespace, graph.id), resolving=group)
    jobs = check_graph(_as_members(command.jobs, existing, graph, group), known=known, group=group)
    place = Place(
        namespace=run.namespace,
        graph=graph.id,
        first=existing[-1].position + 1,
        group=group,
        is_paused=graph.is_paused,
        resolved=frozenset(name for name, members in known.groups.items() if members),
    )
    inserted = await insert_jobs(tx, place, jobs, ids, ends=await tx.jobs.ends(run.namespace, graph.id))
    if jobs:
        await _replace_group(tx, graph, group, known, [job.name for job in jobs])
    counted = _counted(jobs, inserted)
    await tx.graphs.count(run.namespace, graph.id, counted)
    await _complete(tx, run, command)
    grown = replace(
        graph, jobs=graph.jobs + counted.jobs, open=graph.open + counted.open, held=graph.held + counted.held
    )
    settled = await settle(tx, grown, {group: RunStatus.COMPLETED}, ancestors=locked.ancestors, skips=inserted.skips)
    released = await release_next(tx, locked.schedules, now=await tx.now()) if settled.closed else Released()
    return Done(status=RunStatus.COMPLETED, queues=inserted.queues, settled=settled, released=released)


def _known(existing: list[KnownJob], edges: list[Edge], *, resolving: str) -> Known:
    matrices: dict[str, list[str]] = {}
    members: dict[str, list[str]] = {}
    for job in existing:
        if job.matrix is not None:
            matrices.setdefault(job.matrix, []).append(job.name)
        if job.group is not None:
            members.setdefault(job.group, []).append(job.name)
    return Known(
        jobs=frozenset(job.name for job in existing),
        matrices={name: tuple(children) for name, children in matrices.items()},
        groups={
            job.name: tuple(members[job.name]) if job.name in members else None for job in existing if job.is_group
        },
        edges=edges,
    )


def _as_members(jobs: Sequence[NewJob], existing: Sequence[KnownJob], graph: Graph, group: str) -> Sequence[NewJob]:
    """What cleans up brings what cleans up, and no more time than it has itself."""
    if any(job.is_cleanup for job in existing if job.name == group):
        jobs = [replace(job, is_cleanup=True) for job in jobs]
    if graph.ending is None:
        return jobs
    return [replace(job, timeout_for=cleanup_time(job.timeout_for)) for job in jobs]


async def _replace_group(tx: Tx, graph: Graph, group: str, known: Known, members: list[str]) -> None:
    """Whoever waits for the group waits for each of its members instead."""
    waiting = [edge for edge in known.edges if edge.upstream == group and edge.is_group and not edge.is_resolved]
    await tx.edges.create(graph.namespace, graph.id, member_edges(waiting, members))
    await tx.edges.resolve(graph.namespace, graph.id, group=group)
    dependents = await tx.jobs.lock(graph.namespace, graph.id, names=[edge.job for edge in waiting])
    more = len(members) - 1
    if more:
        await tx.needs.add(
            [MetNeeds(namespace=graph.namespace, id=job.run.id, more=more) for job in dependents.values()]
        )


async def _complete(tx: Tx, run: Run, command: AddJobs) -> None:
    done = await tx.runs.finish(
        [
            FinishRun(
                namespace=run.namespace,
                run_id=run.id,
                token=run.token,
                status=RunStatus.COMPLETED,
                output=command.output,
                result_hash=_hash(command.output),
            )
        ]
    )
    if not done:
        raise ClaimLost(run.id, token=run.token)
