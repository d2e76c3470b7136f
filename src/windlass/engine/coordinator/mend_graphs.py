"""Look whether graphs go on: a job that waits although nothing keeps it is let go, and one whose code is gone fails.

What ends a job decides about those below it, in the same transaction; nothing here is part of that. This finds what
that has left behind, mends it and says so, because then there is a bug. A round looks at a page of what waits, so its
cost does not grow with that; the next one goes on behind it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from windlass.engine.again import until_answered
from windlass.engine.graph.lock import lock_graph_of
from windlass.engine.graph.mend import fail_drifted, mend_jobs
from windlass.engine.graph.settle import Settled, tell_of_settled
from windlass.engine.parts import Parts
from windlass.engine.schedule.release import Released, release_next, tell_of_release
from windlass.model.run import RunId
from windlass.model.time import SECOND, Duration
from windlass.model.worker import Worker
from windlass.rules.needs import is_doubtful, is_drifted
from windlass.store.base import Tx
from windlass.store.queries.mending import OpenGraph, UnclaimedJob, WaitingJob

LOGGER = logging.getLogger("windlass.coordinator")

DRIFTED_AFTER = Duration(60 * SECOND)  # nobody had the code of a due job for that long: a rollout takes less
JOBS = 100  # of one graph that are looked at


class MendGraphs:
    def __init__(self, parts: Parts, *, batch: int) -> None:
        self._parts, self._batch = parts, batch
        self._jobs: tuple[str, str, str] = ("", "", "")
        self._graphs: tuple[str, str] = ("", "")

    async def tick(self) -> int:
        """Look at one page of jobs that wait, and of graphs that are open. Answers with how many jobs were mended."""
        waiting, stranded = await self._page_of_jobs()
        doubtful: dict[tuple[str, RunId], list[str]] = {}
        for job in waiting:
            if is_doubtful(unmet=job.unmet, open=job.open, refused=job.refused, held=job.held):
                doubtful.setdefault((job.namespace, job.graph), []).append(job.name)
        for namespace, graph, name in stranded:
            doubtful.setdefault((namespace, graph), []).append(name)
        count = 0
        for (namespace, graph), names in doubtful.items():
            count += await self._mend(namespace, graph, names)
        return count + await self._fail_drifted()

    async def _page_of_jobs(self) -> tuple[Sequence[WaitingJob], Sequence[tuple[str, RunId, str]]]:
        async def look(tx: Tx) -> tuple[Sequence[WaitingJob], Sequence[tuple[str, RunId, str]]]:
            waiting = await tx.mending.waiting(self._jobs, limit=self._batch)
            return waiting, await tx.mending.stranded(limit=self._batch)

        found, stranded = await until_answered(self._parts.clock, lambda: self._parts.store.read("waiting_jobs", look))
        last = found[-1] if len(found) == self._batch else None
        self._jobs = ("", "", "") if last is None else (last.namespace, last.graph, last.name)
        return found, stranded

    async def _mend(self, namespace: str, graph: RunId, names: Sequence[str]) -> int:
        async def mend(tx: Tx) -> tuple[Settled, list[str], Released]:
            locked = await lock_graph_of(tx, namespace, graph)
            if locked.graph is None:
                return Settled(), [], Released()
            settled, mended = await mend_jobs(tx, locked.graph, names, ancestors=locked.ancestors)
            released = await release_next(tx, locked.schedules, now=await tx.now()) if settled.closed else Released()
            return settled, mended, released

        settled, mended, released = await self._parts.run_tx("mend_graph", mend)
        tell_of_settled(self._parts, settled)
        tell_of_release(self._parts, released)
        for name in mended:
            told = "Job %r of graph %s waited although nothing kept it: mended. That is a bug of Windlass: report it."
            LOGGER.error(told, name, graph, extra={"duty": "mend_graphs", "run": graph})
        return len(mended)

    # Jobs whose code is gone

    async def _fail_drifted(self) -> int:
        graphs, unclaimed, workers = await until_answered(
            self._parts.clock, lambda: self._parts.store.read("open_graphs", self._look)
        )
        last = graphs[-1] if len(graphs) == self._batch else None
        self._graphs = ("", "") if last is None else (last.namespace, last.id)
        count = 0
        for graph in graphs:
            served = [(item.name, item.version) for worker in workers[graph.namespace] for item in worker.served]
            gone = [
                job
                for job in unclaimed[graph.id]
                if is_drifted(graph=(graph.name, graph.version), job=(job.workflow, job.version), served=served)
            ]
            count += await self._fail(graph, gone) if gone else 0
        return count

    async def _look(
        self, tx: Tx
    ) -> tuple[Sequence[OpenGraph], Mapping[RunId, Sequence[UnclaimedJob]], Mapping[str, Sequence[Worker]]]:
        graphs = await tx.mending.open_graphs(self._graphs, limit=self._batch)
        unclaimed = {graph.id: await tx.mending.unclaimed(graph, due_for=DRIFTED_AFTER, limit=JOBS) for graph in graphs}
        namespaces = {graph.namespace for graph in graphs if unclaimed[graph.id]}
        workers = {namespace: await tx.workers.live(namespace) for namespace in sorted(namespaces)}
        return graphs, unclaimed, {graph.namespace: workers.get(graph.namespace, []) for graph in graphs}

    async def _fail(self, graph: OpenGraph, gone: Sequence[UnclaimedJob]) -> int:
        async def fail(tx: Tx) -> tuple[Settled, list[str], Released]:
            locked = await lock_graph_of(tx, graph.namespace, graph.id)
            if locked.graph is None:
                return Settled(), [], Released()
            settled, failed = await fail_drifted(
                tx, locked.graph, [job.name for job in gone], ancestors=locked.ancestors
            )
            released = await release_next(tx, locked.schedules, now=await tx.now()) if settled.closed else Released()
            return settled, failed, released

        settled, failed, released = await self._parts.run_tx("fail_drifted_jobs", fail)
        tell_of_settled(self._parts, settled)
        tell_of_release(self._parts, released)
        for name in failed:
            told = "Job %r of graph %s (%r) failed: no worker has its code any more."
            LOGGER.warning(told, name, graph.id, graph.name, extra={"duty": "mend_graphs", "run": graph.id})
        return len(failed)
