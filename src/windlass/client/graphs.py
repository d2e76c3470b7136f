"""A graph, held from outside: its jobs, what they returned, and how it ended as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from windlass.api.service import Graphs, Runs
from windlass.client.handle import Handle
from windlass.define.options import shorten
from windlass.errors import InvalidInput, NotAllowed, NotFound, WrongState
from windlass.model.duration import from_instant
from windlass.model.failure import in_one_line
from windlass.model.graph import JobView, ListJobs
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunId, RunKind, RunStatus
from windlass.model.signal import TriggerKind
from windlass.model.time import SECOND, Duration, Instant

AT_ONCE = 50  # outputs that are asked for together
PAGE = 500
MOST_LANES = 5  # kinds of due jobs that are looked at
LOOK_EVERY = Duration(30 * SECOND)  # while a graph goes on: jobs come to be due one after the other


class JobInfo(Struct, frozen=True, kw_only=True):
    """A job as it stands: `for job in await handle.jobs(): print(job.name, job.status)`."""

    name: str  # in the graph, such as "lint" or "test[3.11]"
    status: RunStatus
    id: str  # of its run
    needs: tuple[str, ...]  # the jobs and groups that it waits for, or has waited for
    matrix: str | None  # what it has in common with its siblings
    group: str | None  # the job that spawned it
    error: str | None  # why it failed, for people
    skipped_by: str | None  # of a skipped one: the job because of which
    ready_at: datetime | None  # when all that it needs was over, in UTC
    finished_at: datetime | None


class GraphResult(Struct, frozen=True, kw_only=True):
    """What became of a graph: how many jobs it had, and how many of them completed and were skipped.

    There are no others: where a job failed or was cancelled, `result()` raises.
    """

    id: str  # of its run
    jobs: int
    completed: int
    skipped: int


class GraphHandle(Handle[GraphResult]):
    """A graph that was started: a Handle that also knows its jobs.

    Example: `print((await handle.result()).completed, await handle.output("report"))`
    """

    _is_told = False  # that nobody has come for the graph itself

    async def result(self, timeout: str | int | float | timedelta | None = None) -> GraphResult:  # noqa: ASYNC109
        """Wait until the last job is over, and answer with what became of them.

        Raises RunFailed if one of them failed, RunCancelled if one was cancelled and none failed, ResultTimeout if
        `timeout` passed first (it goes on).
        """
        await super().result(timeout)
        graph = (await (await self._graphs()).get_graph(self._door.namespace, RunId(self.id))).graph
        return GraphResult(
            id=graph.id,
            jobs=graph.jobs,
            completed=graph.completed,
            skipped=graph.skipped,
        )

    async def jobs(self) -> list[JobInfo]:
        """Where each of its jobs stands, in the order they were written. None are there before a worker opened it."""
        return [_info(view) for view in await self._views("jobs")]

    async def output(self, job: Callable[..., Any] | str, /) -> Any:
        """What a job returned: by its function or its name. For a matrix or a group, a list of what its jobs returned.

        None where it ended in another way than completed. Raises NotFound if there is no such job, WrongState if it is
        not over yet, or no worker has opened the graph.
        """
        runs, run_id = await self._reach("output")
        name = self._name_of(job)
        found = await self._single(runs, run_id, name)
        if found is not None:
            return await self._output_of(found)
        views = await self._views("output")
        if not views:
            raise await self._not_opened(runs, run_id, name)
        several = [view.run for view in views if name in (view.state.matrix, view.state.group)]
        single = next((view for view in views if view.name == name), None)
        if single is not None and (not single.state.is_group or not single.status.is_terminal):
            return await self._output_of(single.run)  # of a group that has not said yet which jobs it has: WrongState
        if single is None and not several:
            known = {view.state.matrix or view.name for view in views}
            raise NotFound(f"In graph {self.id}, job", name, close=get_close_matches(name, known, n=3))
        outputs: list[Any] = []
        for first in range(0, len(several), AT_ONCE):
            outputs += await asyncio.gather(*map(self._output_of, several[first : first + AT_ONCE]))
        return outputs

    async def retry(self, *, from_step: str | None = None, by: str | None = None) -> GraphHandle:
        """Try a graph that failed or was cancelled again, as a new one that keeps the jobs that completed.

        A job is kept if all that it needs is kept too. A second retry answers with the first.
        """
        again = await super().retry(from_step=from_step, by=by)
        return GraphHandle(self._door, run_id=RunId(again.id), definition=self._definition, is_known=True)

    async def _watched(self) -> tuple[TriggerKind, RunId]:
        _, run_id = await super()._watched()
        return TriggerKind.GRAPH, run_id

    def _name_of(self, job: Callable[..., Any] | str) -> str:
        if isinstance(job, str):
            return job
        given: object = job
        if not callable(given):
            text = f"handle.output() takes the function of a job or its name, not {shorten(given)}."
            raise InvalidInput(text, reason="unknown_job", path="job")
        jobs = self._door.registry.jobs_of(job)
        own = [item for item in jobs if self._definition is not None and item.graph == self._definition.name]
        found = next((item.job for item in own or jobs), None)
        return found or str(getattr(job, "__name__", type(job).__name__))

    async def _single(self, runs: Runs, run_id: RunId, name: str) -> Run | None:
        """One job that is no group and has code of its own name: found without reading all the others."""
        if self._definition is None:
            return None
        code = f"{self._definition.name}.{name.partition('[')[0]}"
        query = ListRuns(namespace=self._door.namespace, parent=run_id, name=code, limit=PAGE)
        found = (run for run in (await runs.list_runs(query)).runs if run.job == name)
        return next((run for run in found if run.kind is RunKind.JOB), None)

    async def _not_opened(self, runs: Runs, run_id: RunId, name: str) -> WrongState:
        run = (await runs.get_run(self._door.namespace, run_id)).run
        end = f"No worker opened it, so {name!r} never began." if run.status.is_terminal else "No worker has opened it."
        return WrongState("Graph", run_id, run.status, wanted="one that a worker has opened", hint=end)

    async def _warn_if_unserved(self, runs: Runs, run_id: RunId) -> Duration | None:
        """Of a graph that waits for its jobs, the first due one that nobody serves; else one may come to that later."""
        namespace = self._door.namespace
        if not self._is_told:
            self._is_told = self._warned(await runs.explain_run(namespace, run_id))
        due = ListRuns(namespace=namespace, parent=run_id, status=RunStatus.PENDING, limit=PAGE)
        lanes = {(run.queue, run.name, run.version): run.id for run in (await runs.list_runs(due)).runs}
        for job in list(lanes.values())[:MOST_LANES]:
            if self._warned(await runs.explain_run(namespace, job)):
                return None
        return LOOK_EVERY

    async def _views(self, verb: str) -> list[JobView]:
        _, run_id = await self._reach(verb)
        graphs, after = await self._graphs(), -1
        views: list[JobView] = []
        while True:
            try:
                page = await graphs.list_jobs(ListJobs(namespace=self._door.namespace, graph=run_id, after=after))
            except NotFound:  # no worker has opened it yet, or it was cancelled before
                return views
            views += page.jobs
            if page.next is None:
                return views
            after = page.next

    async def _graphs(self) -> Graphs:
        if self._door.graphs is None:
            raise NotAllowed("This handle cannot look into graphs.")
        return await self._door.graphs()

    async def _output_of(self, run: Run) -> Any:
        if not run.status.is_terminal:
            raise WrongState("Job", run.job or "", run.status, wanted="one that is over")
        if run.status is not RunStatus.COMPLETED:
            return None
        runs = await self._door.runs()
        output = (await runs.get_run(self._door.namespace, run.id)).output
        definition = self._door.registry.workflow_or_none(run.name, run.version)
        expected = Any if definition is None or definition.spawns is not None else definition.return_type
        return self._door.codec.decode(output or b"null", expected)


def _info(view: JobView) -> JobInfo:
    run, state = view.run, view.state
    return JobInfo(
        name=view.name,
        status=run.status,
        id=run.id,
        needs=tuple(edge.upstream for edge in view.needs),
        matrix=state.matrix,
        group=state.group,
        error=None if view.failure is None else in_one_line(view.failure),
        skipped_by=state.decided_by,
        ready_at=_time(run.ready_at),
        finished_at=_time(run.finished_at),
    )


def _time(instant: Instant | None) -> datetime | None:
    return None if instant is None else from_instant(instant)
