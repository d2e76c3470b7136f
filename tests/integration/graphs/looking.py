"""What tests of graphs look at: where the jobs stand, and what they wait for."""

from __future__ import annotations

import asyncio

from tests.integration.conftest import eventually
from tests.integration.wires import at_rest
from windlass import GraphHandle, RunFailed
from windlass.client.graphs import JobInfo
from windlass.model.graph import Edge, Graph, JobView, ListJobs
from windlass.model.run import RunId
from windlass.testing.harness import Harness


async def infos(handle: GraphHandle) -> dict[str, JobInfo]:
    return {job.name: job for job in await handle.jobs()}


async def ends(handle: GraphHandle) -> dict[str, str]:
    """Where every job stands, by its name in the graph."""
    return {job.name: job.status.value for job in await handle.jobs()}


async def until(handle: GraphHandle, **wanted: str) -> None:
    """Wait, with the clock standing still, until jobs stand where they should."""

    async def is_so() -> bool:
        return wanted.items() <= (await ends(handle)).items()

    await eventually(is_so, what=f"{wanted} in {handle.id}")


async def until_looked_after(harness: Harness, handle: GraphHandle, **wanted: str) -> None:
    """Let time pass until the coordinator, which looks every five seconds, has brought jobs to where they should be."""

    async def is_so() -> bool:
        if wanted.items() <= (await ends(handle)).items():
            return True
        await at_rest()
        harness.clock.advance("5s")
        await asyncio.sleep(0.01)  # claims run out in the time of this clock, and what was due is on its way
        return False

    await eventually(is_so, what=f"{wanted} in {handle.id}")


async def views(harness: Harness, handle: GraphHandle) -> dict[str, JobView]:
    """The jobs with everything that is known of each at the door."""
    page = await harness.opened.graphs.list_jobs(ListJobs(namespace="default", graph=RunId(handle.id)))
    return {view.name: view for view in page.jobs}


async def edges(harness: Harness, handle: GraphHandle, job: str) -> dict[str, Edge]:
    """What a job needs, by the names of its upstreams."""
    return {edge.upstream: edge for edge in (await views(harness, handle))[job].needs}


async def unmet(harness: Harness, handle: GraphHandle) -> dict[str, int]:
    return {name: view.run.unmet for name, view in (await views(harness, handle)).items()}


async def row(harness: Harness, handle: GraphHandle) -> Graph:
    return (await harness.opened.graphs.get_graph("default", RunId(handle.id))).graph


async def failure(handle: GraphHandle) -> str:
    """Why a graph failed."""
    try:
        await handle.result()
    except RunFailed as error:
        return str(error)
    raise AssertionError(f"{handle.id} did not fail")
