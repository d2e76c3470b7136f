"""Put right what a graph has left behind, under its lock: jobs that wait for nothing, and jobs whose code is gone."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.engine.graph.settle import Settled, release_jobs, settle
from windlass.model.graph import Edge, Graph
from windlass.model.run import DRIFTED, Run, RunId, RunStatus
from windlass.rules import graph_ends
from windlass.rules import runs as run_rules
from windlass.rules.needs import is_stranded, judge, may_wait
from windlass.store.base import Tx
from windlass.store.queries.jobs import MetNeeds
from windlass.store.queries.log import NewLogEntry


async def mend_jobs(
    tx: Tx, graph: Graph, names: Sequence[str], *, ancestors: dict[RunId, Run]
) -> tuple[Settled, list[str]]:
    """Count again what these jobs wait for, and let them go, or skip them. Answers with those that were wrong."""
    jobs = await tx.jobs.lock(graph.namespace, graph.id, names=names)
    ends = await tx.jobs.ends(graph.namespace, graph.id)
    edges: dict[str, list[Edge]] = {}
    for edge in await tx.edges.of_jobs(graph.namespace, graph.id, names=names):
        edges.setdefault(edge.job, []).append(edge)
    skips: dict[str, str] = {}
    free, wrong = [], []
    for name, job in jobs.items():
        open, because = judge(edges.get(name, ()), ends)
        open += job.is_held
        if is_stranded(job):  # its count comes first: should it never begin, the next round finds it and skips it
            open, because = max(open, int(because is not None)), None
        elif not may_wait(job) or (because is None and open == job.run.unmet):
            continue  # it was put right meanwhile, or it only seemed wrong
        wrong.append(name)
        if because is not None:
            skips[name] = because
        elif open == 0:
            free.append(job)
        else:
            more = open - job.run.unmet
            await tx.needs.add([MetNeeds(namespace=graph.namespace, id=job.run.id, more=more)])
    settled = await settle(tx, graph, {}, ancestors=ancestors, skips=skips) if skips else Settled()
    settled.released += await release_jobs(tx, graph, free)
    return settled, wrong


async def fail_drifted(
    tx: Tx, graph: Graph, names: Sequence[str], *, ancestors: dict[RunId, Run]
) -> tuple[Settled, list[str]]:
    """End jobs that nobody can execute any more, if nobody has begun to. Answers with those that were."""
    jobs = await tx.jobs.lock(graph.namespace, graph.id, names=names)
    gone = [job for job in jobs.values() if job.run.status is RunStatus.PENDING and job.run.attempts == 0]
    if not gone:
        return Settled(), []
    now = await tx.now()
    await tx.children.end([run_rules.drift(job.run, now=now) for job in gone])
    for job in gone:
        failure = graph_ends.drifted(job.run.name, job.run.version)
        await tx.runs.set_failure(graph.namespace, id=job.run.id, failure=failure)
    await tx.log.append(
        [
            NewLogEntry(
                namespace=graph.namespace,
                subject_kind="run",
                subject_id=job.run.id,
                from_status=job.run.status,
                to_status=RunStatus.FAILED,
                cause=DRIFTED,
            )
            for job in gone
        ]
    )
    ended = {job.name: RunStatus.FAILED for job in gone}
    settled = await settle(tx, graph, ended, ancestors=ancestors)
    settled.ended += [(job.run, RunStatus.FAILED) for job in gone]
    return settled, [job.name for job in gone]
