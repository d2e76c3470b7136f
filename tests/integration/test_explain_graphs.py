"""Does a job that other jobs keep from beginning name them, on every database and through the wire?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenHarness
from tests.programs import echo
from windlass import JobContext, Spawn
from windlass.cli import lookup
from windlass.cli.graph_page import read_jobs
from windlass.cli.what_if import what_if
from windlass.model.explanation import Explanation, Situation
from windlass.model.run import RunId, RunStatus
from windlass.testing.harness import Harness

pytestmark = pytest.mark.spec("invariants:I-08")  # nothing waits without saying for what


def declare(harness: Harness) -> Any:
    """Everything waits for an event: the generator, and the first child of a matrix that lets one begin at a time."""
    app = harness.app
    release, go = app.graph("release"), app.event("go", int)
    work = app.workflow(name="work")(echo)

    @release.group
    async def shards(ctx: JobContext) -> list[Spawn]:
        count = await ctx.receive(go)
        return [release.spawn(work, number, name=f"shard-{number}") for number in range(count)]

    @release.job(matrix={"py": ["3.11", "3.12"]}, max_parallel=1)
    async def test(ctx: JobContext, py: str) -> float:
        return 1 / await ctx.receive(go)

    @release.job(needs=[shards, test])
    async def report(ctx: JobContext) -> None: ...

    return release


async def started(open_harness: OpenHarness) -> tuple[Harness, RunId]:
    harness = await open_harness()
    handle = await harness.start(declare(harness))
    await harness.idle()
    return harness, RunId(handle.id)


async def found(harness: Harness, graph: RunId, job: str) -> Explanation:
    """What is said of a job that is looked for by its name."""
    runs = harness.opened.runs
    view = await lookup.find(runs, f"{graph}/{job}", key=None, namespace="default")
    return await runs.explain_run("default", view.run.id)


async def test_a_job_names_the_group_that_is_not_resolved_and_what_its_generator_waits_for(
    open_harness: OpenHarness,
) -> None:
    harness, graph = await started(open_harness)

    told = await found(harness, graph, "report")

    assert told.code is Situation.WAITING_FOR_NEEDS
    assert "for the 3 jobs it needs: 'shards', 'test[3.11]' and 'test[3.12]'. The first of them, group 'shards' (" in (
        told.text
    )
    assert "has not said yet which jobs there are: its generator waits for event 'go'." in told.text


async def test_a_job_of_a_matrix_names_the_sibling_that_has_the_turn(open_harness: OpenHarness) -> None:
    harness, graph = await started(open_harness)

    told = await found(harness, graph, "test[3.12]")

    assert (told.code, told.brief) == (Situation.WAITING_FOR_TURN, "its turn in 'test'")
    assert "at most 1 of 'test' may be at work at a time: now 'test[3.11]'." in told.text


async def test_once_the_group_is_resolved_its_members_are_what_is_waited_for(open_harness: OpenHarness) -> None:
    harness, graph = await started(open_harness)
    generator = await lookup.find(harness.opened.runs, f"{graph}/shards", key=None, namespace="default")

    await harness.app.handle(generator.run.id).send("go", 2)
    await harness.idle()
    told = await found(harness, graph, "report")

    assert "for 2 of the 4 jobs it needs: 'test[3.11]' and 'test[3.12]'." in told.text
    jobs = {job.name: job for job in await read_jobs(harness.opened.graphs, "default", graph)}
    assert (jobs["shard-1"].status, jobs["shard-1"].state.group) == (RunStatus.COMPLETED, "shards")


@pytest.mark.spec("graphs:44")
async def test_what_a_dry_run_says_is_what_comes_to_pass(open_harness: OpenHarness) -> None:
    harness, graph = await started(open_harness)
    foretold = what_if(await read_jobs(harness.opened.graphs, "default", graph), "test[3.11]")
    first = await lookup.find(harness.opened.runs, f"{graph}/test[3.11]", key=None, namespace="default")

    await harness.app.handle(first.run.id).send("go", 0)  # by which it fails
    await harness.idle()

    jobs = await read_jobs(harness.opened.graphs, "default", graph)
    assert {job.name: job.status for job in jobs}["test[3.11]"] is RunStatus.FAILED
    assert foretold.skipped == tuple(
        (job.name, job.state.decided_by) for job in jobs if job.status is RunStatus.SKIPPED
    )
    assert foretold.skipped == (("report", "test[3.11]"),)
    assert foretold.released == ("test[3.12]",)
