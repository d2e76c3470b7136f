"""What follows from the end of jobs: one function, whatever ended them, in the transaction that did.

    lock the graph ─► end the jobs ─► settle: edges below ─► rules/needs.py ─► skip · count down · release · close

Whoever ends a job locks its graph before anything else. So of two jobs that end at the same instant, wherever, the
second sees what the first has made of it, and what both of them hold up is released once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from windlass.engine.family import wake_parents
from windlass.engine.graph.dispatch import Dispatch, dispatch_jobs
from windlass.engine.parts import Parts
from windlass.engine.send import tell_of_news
from windlass.model.graph import RELEASED, Edge, Graph, JobState
from windlass.model.run import PAUSED_BY, Deed, Run, RunId, RunStatus
from windlass.notify.local import ended_topic, queue_topic, run_topic
from windlass.rules import graph_ends, needs
from windlass.store.base import Tx
from windlass.store.queries.graphs import Counted
from windlass.store.queries.jobs import Below, MetNeeds, ReleasedJob, SkippedJob
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes


class Settled(Struct, kw_only=True):
    """What was done, for those who have to be told once it is committed."""

    released: list[Run] = []
    skipped: list[Run] = []
    closed: list[tuple[Run, RunStatus]] = []
    woken: list[Run] = []
    ended: list[tuple[Run, RunStatus]] = []  # jobs that nobody else tells of

    def add(self, other: Settled) -> None:
        self.released += other.released
        self.skipped += other.skipped
        self.closed += other.closed
        self.woken += other.woken
        self.ended += other.ended


async def settle(
    tx: Tx,
    graph: Graph,
    ended: Mapping[str, RunStatus],
    *,
    ancestors: dict[RunId, Run],
    skips: Mapping[str, str] | None = None,
    dispatch: Dispatch | None = None,
    closing: tuple[str, Deed] = ("finish", Deed()),
    ahead: Sequence[RunStatus] = (),
) -> Settled:
    """Go on with a graph that is locked: these jobs are over, and `skips` must be, because of the jobs named.

    `ancestors` holds the parent of the graph, locked, if it has one, as it stands; what is written to it is put there.
    `closing` is what the log says of the end of the graph. `ahead`: ends that were counted when it was locked.
    """
    found = await tx.jobs.below(graph.namespace, graph.id, names=[*ended, *(skips or {})])
    jobs, never_begun, decided = await _decide(tx, graph, ended, skips or {}, found)
    settled = Settled()
    settled.skipped = await _skip(tx, graph, decided, jobs)
    await _count_down(tx, graph, decided, jobs)
    ready = _ready(decided, jobs)
    if ready and dispatch is not None and not graph.is_paused:
        taken = await dispatch_jobs(tx, graph, ready, found.inputs, dispatch)
        ready = [job for job in ready if job.run.id not in taken]
    settled.released = await release_jobs(tx, graph, ready)
    turns = [*decided.turns, *never_begun]
    await tx.needs.grant_turns(graph.namespace, graph.id, turns)
    turns += [name for name in decided.skipped if jobs[name].is_held]
    ends = [*ended.values(), *(RunStatus.SKIPPED for _ in decided.skipped)]
    after = await _count(tx, graph, ends, ahead=ahead, held=len(turns))
    if after.open == 0:
        await _close(tx, after, settled, ancestors, closing)
    return settled


async def _decide(
    tx: Tx, graph: Graph, ended: Mapping[str, RunStatus], skips: Mapping[str, str], first: Below
) -> tuple[dict[str, JobState], list[str], needs.Decided]:
    """The jobs below, those of the ended ones that waited for a sibling, and what becomes of them all."""
    namespace, id = graph.namespace, graph.id
    known = [*ended, *skips]
    edges: dict[tuple[str, str], Edge] = {}
    _remember(edges, first.edges)
    windows = await _windows(tx, graph, ended, skips)
    found_held = await tx.jobs.held(namespace, id, matrices={job.matrix for job in windows.values() if job.matrix})
    # One that is over itself is given no turn.
    held = {matrix: [name for name in names if name not in ended] for matrix, names in found_held.items()}
    names = {*skips, *(name for some in held.values() for name in some)} - first.jobs.keys()
    jobs = first.jobs | await tx.jobs.lock(namespace, id, names=names)
    looked = set(known)
    while True:
        below = needs.Below(list(edges.values()), jobs, held)
        decided = needs.decide(ended, below, matrices=windows, skips=skips)
        missing = decided.skipped.keys() - looked
        if not missing:
            return jobs, [name for name in ended if name in windows and windows[name].is_held], decided
        # Whatever may be skipped because of these, in one look: a chain may be thousands long.
        found = await tx.edges.below_skipped(namespace, id, names=sorted(missing))
        _remember(edges, found)
        looked |= missing | {edge.job for edge in found if RunStatus.SKIPPED not in edge.accepts}
        jobs |= await tx.jobs.lock(namespace, id, names={edge.job for edge in found} - jobs.keys())
        if graph.held:
            matrices = {job.matrix for job in jobs.values() if job.matrix is not None and job.max_parallel is not None}
            more = await tx.jobs.held(namespace, id, matrices=matrices - held.keys())
            held |= {matrix: [name for name in names if name not in ended] for matrix, names in more.items()}
            jobs |= await tx.jobs.lock(
                namespace, id, names={name for some in held.values() for name in some} - jobs.keys()
            )


def _remember(edges: dict[tuple[str, str], Edge], found: Sequence[Edge]) -> None:
    edges.update({(edge.job, edge.upstream): edge for edge in found})


async def _windows(
    tx: Tx, graph: Graph, ended: Mapping[str, RunStatus], skips: Mapping[str, str]
) -> dict[str, JobState]:
    """Those of the ended jobs that may let a sibling begin: none, unless somebody waits for that."""
    if not graph.held:
        return {}
    found = await tx.jobs.lock(graph.namespace, graph.id, names=[*ended, *skips])
    return {name: job for name, job in found.items() if job.matrix is not None and job.max_parallel is not None}


async def _skip(tx: Tx, graph: Graph, decided: needs.Decided, jobs: Mapping[str, JobState]) -> list[Run]:
    if not decided.skipped:
        return []
    rows = [
        SkippedJob(
            namespace=graph.namespace,
            graph=graph.id,
            id=jobs[name].run.id,
            name=name,
            was=jobs[name].run.status,
            because=because,
            data=deed_to_bytes(Deed(step=because)),
        )
        for name, because in decided.skipped.items()
    ]
    await tx.needs.skip(rows)
    return [jobs[name].run for name in decided.skipped]


async def _count_down(tx: Tx, graph: Graph, decided: needs.Decided, jobs: Mapping[str, JobState]) -> None:
    released = set(decided.released)
    rows = [
        MetNeeds(namespace=graph.namespace, id=jobs[name].run.id, met=met)
        for name, met in decided.met.items()
        if name not in released
    ]
    if rows:
        await tx.needs.meet(rows)


def _ready(decided: needs.Decided, jobs: Mapping[str, JobState]) -> list[JobState]:
    """Jobs that may begin, the most urgent first."""
    return sorted((jobs[name] for name in decided.released), key=lambda job: (-job.run.priority, job.position))


async def release_jobs(tx: Tx, graph: Graph, ready: Sequence[JobState]) -> list[Run]:
    """Make jobs due that nothing keeps any more. Answers with those that are, and not paused."""
    rows = [_released(graph, job) for job in ready]
    if rows:
        await tx.needs.release(rows)
    return [job.run for job, row in zip(ready, rows, strict=True) if row.status is RunStatus.PENDING]


def _released(graph: Graph, job: JobState) -> ReleasedJob:
    is_free = job.run.status is RunStatus.WAITING and not graph.is_paused
    return ReleasedJob(
        namespace=graph.namespace,
        id=job.run.id,
        was=job.run.status,
        status=RunStatus.PENDING if is_free else RunStatus.PAUSED,
        timeout_for=graph_ends.time_left(job, graph),
        cause=RELEASED if is_free else PAUSED_BY,
    )


async def _count(tx: Tx, graph: Graph, ends: Sequence[RunStatus], *, ahead: Sequence[RunStatus], held: int) -> Graph:
    """What became of the graph by these ends, and by jobs that wait for no sibling any more."""
    counted = replace(difference(ends, ahead), held=-held)
    if counted != Counted():
        await tx.graphs.count(graph.namespace, graph.id, counted)
    return replace(
        graph,
        open=graph.open + counted.open,
        completed=graph.completed + counted.completed,
        failed=graph.failed + counted.failed,
        cancelled=graph.cancelled + counted.cancelled,
        skipped=graph.skipped + counted.skipped,
        held=graph.held + counted.held,
    )


def difference(ends: Sequence[RunStatus], ahead: Sequence[RunStatus] = ()) -> Counted:
    """How the counts of a graph change by these ends, those that are counted already left out."""
    number = Counter(ends)
    number.subtract(ahead)
    return Counted(
        open=len(ahead) - len(ends),
        completed=number[RunStatus.COMPLETED],
        failed=number[RunStatus.FAILED],
        cancelled=number[RunStatus.CANCELLED],
        skipped=number[RunStatus.SKIPPED],
    )


async def _close(
    tx: Tx,
    graph: Graph,
    settled: Settled,
    ancestors: dict[RunId, Run],
    closing: tuple[str, Deed],
) -> None:
    """The last job is over: so is the graph, and whoever waits for it goes on."""
    run = ancestors.get(graph.id) or await tx.runs.lock(graph.namespace, id=graph.id)
    if run is None or run.status.is_terminal:
        return
    status = graph_ends.how_it_ends(graph)
    failure = None
    if status is RunStatus.FAILED:
        failed = await tx.graphs.failed_jobs(graph.namespace, graph.id, limit=graph_ends.TOLD)
        failure = graph_ends.failure_of(graph, failed)
    await tx.graphs.end(run, status=status, failure=failure)
    await tx.log.append(
        [
            NewLogEntry(
                namespace=graph.namespace,
                subject_kind="run",
                subject_id=graph.id,
                from_status=run.status,
                to_status=status,
                cause=closing[0],
                data=deed_to_bytes(closing[1]),
            )
        ]
    )
    settled.closed.append((run, status))
    if run.parent is not None and run.parent in ancestors:
        parents = {run.parent: ancestors[run.parent]}
        woken = await wake_parents(tx, [(run.id, run.parent, status)], parents, now=await tx.now())
        ancestors.update(
            {parent.id: parent for parent in woken}
        )  # the next graph of the same parent counts on from here
        settled.woken += woken


def tell_of_settled(parts: Parts, settled: Settled) -> None:
    """After the commit: workers that may begin something, and whoever waits for what is over."""
    for namespace, queue in sorted({(run.namespace, run.queue) for run in settled.released}):
        parts.hub.publish(queue_topic(namespace, queue))
    over = [*((run, RunStatus.SKIPPED) for run in settled.skipped), *settled.closed, *settled.ended]
    for run, _ in over:
        parts.hub.publish_here(run_topic(run.namespace, run.id))
    for namespace in sorted({run.namespace for run, _ in over}):
        parts.hub.publish_elsewhere(ended_topic(namespace))
    for parent in settled.woken:
        tell_of_news(parts, parent)
    if parts.observer is not None:
        for run, status in over:
            parts.observer.run_ended(namespace=run.namespace, workflow=run.name, status=status)
