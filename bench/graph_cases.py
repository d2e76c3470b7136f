"""How fast are graphs? One case in a process of its own: `python -m bench.graph_cases CASE --db URL [--size N]`.

    chain      jobs that each need the one before, brought by a generator; from the worker's start to the graph's end
    fan        a job, many that need it, one that needs them all; the same
    create     jobs with five edges each, brought in one call at the worker's door
    finish     the end of a job that releases another, in a graph of that size and in one of 100, one after the other

The database is used as it is; one line of JSON, like the programs it is measured beside.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from bench.peers.protocol import Answer, answer
from windlass import process
from windlass.app import App
from windlass.bench.durable import read_back
from windlass.bench.workloads import SLOTS
from windlass.client.graphs import GraphHandle
from windlass.client.handle import Handle
from windlass.define.context import Context
from windlass.define.graph import Graph
from windlass.define.job_context import JobContext
from windlass.define.spawn import Spawn
from windlass.embedded import Embedded, in_process
from windlass.model.commands import ClaimedRun, ClaimRuns, FinishRun, RegisterWorker
from windlass.model.graph import AddJobs, Need, NewJob
from windlass.model.run import RunId, RunStatus, WorkerId
from windlass.model.time import SECOND, Duration
from windlass.model.worker import Served
from windlass.rules.matrix import MOST_COMBINATIONS
from windlass.settings import Settings

EDGES = 5  # of each job that is created
SMALL = 100  # jobs, in the graph beside the large one
FINISHED, WARM_UP = 40, 5  # jobs whose ends are timed, and those before them
WORKFLOW = "noop"
NAMESPACE = "default"


async def nothing(ctx: JobContext) -> None: ...


# Executed by a worker


async def chain(url: str, size: int) -> Answer:
    app = App(url, settings=Settings())
    graph = app.graph("chain")
    app.workflow(nothing)

    @graph.group
    async def links(ctx: JobContext) -> list[Spawn]:
        spawned: list[Spawn] = []
        for number in range(size - 1):
            spawned.append(graph.spawn(nothing, name=f"link-{number}", needs=spawned[-1:]))
        return spawned

    return await _executed(app, graph, size)


async def fan(url: str, size: int) -> Answer:
    app = App(url, settings=Settings())
    graph = app.graph("fan")
    graph.job(name="out")(nothing)
    parts: list[str] = []
    for first in range(0, size - 2, MOST_COMBINATIONS):
        values = range(first, min(size - 2, first + MOST_COMBINATIONS))
        parts.append(f"part-{first}")

        async def part(ctx: JobContext, number: int) -> int:
            return number

        graph.job(name=parts[-1], needs=["out"], matrix={"number": [*values]})(part)
    graph.job(name="in", needs=parts)(nothing)
    return await _executed(app, graph, size)


async def _executed(app: App, graph: Graph, size: int) -> Answer:
    """From the begin of the worker to the end of a graph that waited for it; then its counts are looked at."""
    async with app:
        handle = await app.start(graph)
        began, used = time.perf_counter(), time.process_time()
        async with app.worker(slots=SLOTS):
            await Handle.result(handle)  # without a look at the jobs, of which there are many
            passed, processor = time.perf_counter() - began, time.process_time() - used
        await _demand_completed(app, handle, size)
        return Answer({"jobs_per_second": size / passed, "cpu_us": 1e6 * processor / size}, await read_back(app))


async def _demand_completed(app: App, handle: GraphHandle, size: int) -> None:
    graph = (await in_process(await app._opening.get()).graphs.get_graph(NAMESPACE, RunId(handle.id))).graph
    assert (graph.jobs, graph.completed) == (size, size), f"{graph.completed} of {graph.jobs} jobs completed"


# Asked at the door of workers


async def create(url: str, size: int) -> Answer:
    """Each job needs the five before it; the first ones need as many as there are."""
    jobs = [
        NewJob(
            name=f"job-{number}",
            workflow=WORKFLOW,
            needs=tuple(Need(upstream=f"job-{before}") for before in range(max(0, number - EDGES), number)),
        )
        for number in range(size)
    ]
    async with App(url, settings=Settings()) as app, _hands(app) as hands:
        took = await hands.open("created", jobs)
        return Answer({"create_seconds": took}, await read_back(app))


async def finish(url: str, size: int) -> Answer:
    """Pairs of jobs, one of which needs the other, and a last one that needs them all."""
    async with App(url, settings=Settings()) as app, _hands(app) as hands:
        held = {}
        for count in (size, SMALL):
            await hands.open(f"of-{count}", _pairs(count, workflow=f"of-{count}"))
            held[count] = await hands.claim(f"of-{count}", limit=FINISHED + WARM_UP)
        took: dict[int, list[float]] = {size: [], SMALL: []}
        for number in range(FINISHED + WARM_UP):
            for count in (size, SMALL) if number % 2 else (SMALL, size):
                took[count].append(await hands.finish(held[count][number]))
        large, small = (statistics.median(took[count][WARM_UP:]) for count in (size, SMALL))
        figures = {"large_ms": 1_000 * large, "small_ms": 1_000 * small, "ratio": large / small}
        return Answer(figures, await read_back(app))


def _pairs(count: int, *, workflow: str) -> list[NewJob]:
    numbers = range((count - 1) // 2)
    first = [NewJob(name=f"first-{number}", workflow=workflow) for number in numbers]
    second = [
        NewJob(name=f"second-{number}", workflow="nobody", needs=(Need(upstream=f"first-{number}"),))
        for number in numbers
    ]
    last = NewJob(name="last", workflow="nobody", needs=tuple(Need(upstream=job.name) for job in second))
    return [*first, *second, last]


class Hands:
    """A worker whose every move is made, and timed, here."""

    def __init__(self, app: App, opened: Embedded) -> None:
        self._app, self._opened = app, opened
        self._worker, self._polls = WorkerId(opened.ids.worker()), 0

    async def open(self, name: str, jobs: list[NewJob]) -> float:
        """Start a run and make it a graph of these jobs: how many seconds the second took."""

        async def graph(ctx: Context) -> None: ...

        self._app.workflow(name=name)(graph)
        await self._app.start(graph)
        (run,) = await self.claim(name, limit=1)
        command = AddJobs(namespace=NAMESPACE, run_id=run.run_id, token=run.token, jobs=tuple(jobs))
        began = time.perf_counter()
        added = await self._opened.work.add_jobs(command)
        took = time.perf_counter() - began
        assert added.status is RunStatus.WAITING, added.failure
        return took

    async def claim(self, name: str, *, limit: int) -> list[ClaimedRun]:
        self._polls += 1
        served = (Served("default", name),)
        if self._polls == 1:
            await self._opened.work.register_worker(
                RegisterWorker(namespace=NAMESPACE, id=self._worker, host="bench", pid=0, served=served, slots=SLOTS)
            )
        return await self._opened.work.claim_runs(
            ClaimRuns(
                namespace=NAMESPACE,
                worker=self._worker,
                poll=self._polls,
                served=served,
                limit=limit,
                visibility_for=Duration(300 * SECOND),
                wait_for=Duration(0),
            )
        )

    async def finish(self, run: ClaimedRun) -> float:
        """Seconds until its end, and what follows from it, is committed."""
        command = FinishRun(
            namespace=NAMESPACE,
            run_id=run.run_id,
            token=run.token,
            status=RunStatus.COMPLETED,
            output=b"null",
            parent=run.parent,
            job=run.job,
        )
        began = time.perf_counter()
        await self._opened.work.finish_run(command)
        return time.perf_counter() - began

    async def leave(self) -> None:
        await self._opened.work.deregister_worker(NAMESPACE, self._worker)


@asynccontextmanager
async def _hands(app: App) -> AsyncIterator[Hands]:
    hands = Hands(app, in_process(await app._opening.get()))
    try:
        yield hands
    finally:
        await hands.leave()


def _case(function: Callable[[str, int], Coroutine[Any, Any, Answer]]) -> Callable[[str, int], Answer]:
    return lambda url, size: process.run(function(url, size))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    cases = {"chain": chain, "fan": fan, "create": create, "finish": finish}
    answer({name: _case(function) for name, function in cases.items()}, size=10_000)
