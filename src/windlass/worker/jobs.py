"""What a worker does for graphs: it opens those it knows, and asks what a job was waiting for before it enters it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from windlass.define.job_context import JobContext, Needs, read_input
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput, WindlassError
from windlass.model.commands import ClaimedRun, FinishRun
from windlass.model.failure import Failure, FailureKind
from windlass.model.graph import AddJobs, NeedsOf, ReadNeeds
from windlass.model.run import RunStatus
from windlass.worker.context import RunContext
from windlass.worker.execute import Execution
from windlass.worker.host import Host
from windlass.worker.last_words import LATER
from windlass.worker.unstarted import give_back

LOGGER = logging.getLogger("windlass.worker")

Begin = Callable[[ClaimedRun, NeedsOf | None], None]


class JobRunContext(RunContext, JobContext):
    """The `ctx` of a job."""

    def __init__(self, execution: Execution, found: NeedsOf, input: Any) -> None:
        super().__init__(execution)
        host = execution.host
        self.needs = Needs(found, host.registry, host.codec)
        self.input, self.graph_id, self.job = input, found.graph, found.job


class Jobs:
    def __init__(self, host: Host, *, begin: Begin, spawn: Callable[[Any], None]) -> None:
        self._host, self._begin, self._spawn = host, begin, spawn
        self.count = 0  # claimed, and on their way to their code: each takes a slot

    def take(self, claimed: Sequence[ClaimedRun]) -> list[ClaimedRun]:
        """Begin with jobs, which takes a moment. The others may begin at once."""
        jobs = [run for run in claimed if run.kind.is_job]
        if not jobs:
            return list(claimed)
        self.count += len(jobs)
        self._spawn(self._begin_jobs(jobs))
        return [run for run in claimed if not run.kind.is_job]

    async def _begin_jobs(self, jobs: Sequence[ClaimedRun]) -> None:
        try:
            # The next claim asks first. It waits for work before these end, and may be handed what they release.
            await asyncio.sleep(0)
            claims = tuple((run.run_id, run.token) for run in jobs)
            answer = await self._host.work.read_needs(ReadNeeds(namespace=self._host.namespace, claims=claims))
        except Exception as error:
            LOGGER.warning("%d jobs are given back: what they need cannot be read: %s", len(jobs), error)
            for run in jobs:
                self._spawn(give_back(self._host, run, delay_for=LATER))
            if not isinstance(error, WindlassError):
                raise
            return
        finally:
            self.count -= len(jobs)
        found = {needs.run_id: needs for needs in answer}
        for run in jobs:
            if run.run_id not in found:
                LOGGER.info("Job %s is dropped: its claim is lost", run.run_id)
            elif self._host.is_draining:
                self._spawn(give_back(self._host, run))
            else:
                self._begin(run, found[run.run_id])

    def input_of(self, found: NeedsOf | None) -> Any:
        """What the graph of a job was started with. Raises InvalidInput if it is of another type by now."""
        graph = None if found is None else self._host.registry.workflow_or_none(found.name, found.version)
        if found is None or graph is None:
            return None
        return read_input(found.input, graph.input_type, self._host.codec)

    async def open_graph(self, run: ClaimedRun, definition: WorkflowDefinition) -> None:
        """Make the run of a graph that graph: from then on its jobs are claimed like any run.

        A job that somebody started by itself, without its graph, ends here.
        """
        namespace, work = self._host.namespace, self._host.work
        try:
            if definition.plan is None:
                text = f"{run.name!r} is a job, and has nothing to do without its graph: start {definition.graph!r}."
                raise InvalidInput(text, reason="invalid_workflow")
            jobs = definition.plan(self._host.codec)
            added = await work.add_jobs(AddJobs(namespace=namespace, run_id=run.run_id, token=run.token, jobs=jobs))
        except InvalidInput as error:  # also by the way to a server, into which not everything fits
            failure = Failure(kind=FailureKind.LOGIC, type="InvalidGraph", message=str(error))
            await work.finish_run(_failed(run, failure, namespace=namespace))
            return
        if added.failure is not None:
            LOGGER.warning("Graph %s (%r) cannot be: %s", run.run_id, run.name, added.failure.message)


def _failed(run: ClaimedRun, failure: Failure, *, namespace: str) -> FinishRun:
    return FinishRun(
        namespace=namespace,
        run_id=run.run_id,
        token=run.token,
        status=RunStatus.FAILED,
        failure=failure,
        parent=run.parent,
        schedule=run.schedule,
        job=run.job,
    )
