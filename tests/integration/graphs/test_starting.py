"""Does a graph begin as every run does: by name, at its time, in its version, by a schedule, inside another one?"""

from __future__ import annotations

from typing import Literal

import pytest

from tests.integration.conftest import OpenHarness, row_of
from tests.integration.graphs.looking import ends, failure, infos, until, views
from windlass import App, Context, Graph, GraphHandle, InvalidInput, JobContext, RunFailed, after
from windlass.model.commands import StartRun
from windlass.model.graph import ListGraphs
from windlass.model.page import ListRuns
from windlass.model.run import RunId
from windlass.testing.harness import Harness

HOUR = 3_600_000_000


async def start_by_name(harness: Harness, name: str, input: bytes = b"[]") -> RunId:
    """As somebody does who has no code: over HTTP, or from another language."""
    command = StartRun(
        namespace="default", name=name, version="", queue="default", priority=0, input=input, input_hash=b"0" * 16
    )
    return (await harness.opened.runs.start_run(command)).run_id


async def test_a_graph_is_started_by_its_name_at_its_time_and_with_its_priority(harness: Harness) -> None:
    graph = harness.app.graph("release", input=str)

    @graph.job
    async def lint(ctx: JobContext) -> str:
        return f"clean {ctx.input}"

    by_name = await start_by_name(harness, "release", b'["v1"]')
    later = await harness.app.start(graph, "v2", delay="1h", priority=2)
    await harness.idle()

    view = await harness.opened.graphs.get_graph("default", by_name)
    assert (view.graph.jobs, view.graph.completed, view.run.status, view.run.kind) == (1, 1, "completed", "graph")
    assert (await later.status(), await later.jobs()) == ("pending", [])
    assert (await row_of(harness, later)).available_at == harness.clock.now() + HOUR
    await harness.advance("1h")
    assert (await later.result()).completed == 1
    assert await later.output(lint) == "clean v2"
    page = await harness.opened.graphs.list_graphs(ListGraphs(namespace="default", name="release", is_open=False))
    assert {item.graph.id for item in page.graphs} == {by_name, later.id}


@pytest.mark.spec("security:66")
async def test_a_graph_without_jobs_is_refused_and_fails_if_somebody_names_it(harness: Harness) -> None:
    empty = harness.app.graph("empty")

    with pytest.raises(InvalidInput, match="Graph 'empty' has no jobs") as refused:
        await harness.app.start(empty)
    assert refused.value.reason == "invalid_graph"
    assert (await harness.opened.runs.list_runs(ListRuns(namespace="default"))).runs == ()
    named = await start_by_name(harness, "empty")

    with pytest.raises(RunFailed, match="Graph 'empty' has no jobs"):
        await harness.app.handle(named).result()


async def test_a_graph_and_its_jobs_are_executed_by_the_version_that_it_was_started_with(
    open_shared: OpenHarness,
) -> None:
    old, new = await open_shared(has_worker=False), await open_shared(has_worker=False)

    def declare(app: App, version: str) -> Graph:
        graph = app.graph("release", version=version)

        @graph.job
        async def lint(ctx: JobContext) -> None:
            await ctx.sleep("1d")

        @graph.job(needs=[lint], name=f"build-{version}")
        async def build(ctx: JobContext) -> str:
            return version

        return graph

    first = await old.app.start(declare(old.app, "1"))
    async with old.app.worker():
        await until(first, lint="sleeping")
    second = await new.app.start(declare(new.app, "2"))
    async with new.app.worker():
        await until(second, lint="sleeping")
        await new.advance("1d")
        await until(second, **{"build-2": "completed"})
        # That of the other version waits for its own workers, also for longer than it takes to call code gone.
        for _ in range(15):
            await new.advance("5s")
        assert await ends(first) == {"lint": "sleeping", "build-1": "waiting"}
    assert await second.output("build-2") == "2"
    assert {view.run.version for view in (await views(new, second)).values()} == {"2"}
    async with old.app.worker():
        assert (await first.result()).completed == 2
    assert await first.output("build-1") == "1"


@pytest.mark.parametrize("overlap", ["skip", "queue"])
async def test_a_schedule_fires_a_graph_and_waits_for_its_last_job(
    harness: Harness, overlap: Literal["skip", "queue"]
) -> None:
    begun: set[str] = set()
    graph = harness.app.graph("nightly")

    @graph.job
    async def collect(ctx: JobContext) -> None:
        begun.add(ctx.graph_id)
        await ctx.sleep("90m")

    @graph.job(needs=[collect])
    async def report(ctx: JobContext) -> None: ...

    await harness.app.schedules.create(graph, name="nightly", every="1h", overlap=overlap)
    await harness.advance("2h")  # the second time comes while the first graph is at work
    assert len(begun) == 1
    await harness.advance("30m")
    assert len(begun) == (1 if overlap == "skip" else 2)
    await harness.advance("30m")
    assert len(begun) == 2
    info = await harness.app.schedules.get("nightly")
    assert info.skipped == (1 if overlap == "skip" else 0)
    graphs = (await harness.opened.graphs.list_graphs(ListGraphs(namespace="default"))).graphs
    assert {view.graph.schedule for view in graphs} == {"nightly"}
    assert [view.run.status for view in graphs][-1] == "completed"


@pytest.mark.spec("graphs:22")
async def test_a_job_runs_a_graph_of_its_own_and_each_knows_only_its_jobs(harness: Harness) -> None:
    inner, outer = harness.app.graph("inner", input=int), harness.app.graph("outer")

    @inner.job
    async def lint(ctx: JobContext) -> int:
        if ctx.input == 2:
            raise ValueError("two")
        return int(ctx.input)

    @inner.job(needs=[lint])
    async def build(ctx: JobContext) -> int:
        return int(ctx.needs[lint].output)

    @outer.job(name="lint", matrix={"n": [1, 2]})
    async def nested(ctx: JobContext, n: int) -> str:
        await ctx.run(inner, n)
        return f"{n} is fine"

    @outer.job(needs=[after(nested, on="always")])
    async def report(ctx: JobContext) -> list[str]:
        return [f"{need.output} {need.error}" for need in ctx.needs[nested]]

    handle = await harness.app.start(outer)

    assert "1 of 3 jobs failed: lint[2] (" in await failure(handle)
    assert await ends(handle) == {"lint[1]": "completed", "lint[2]": "failed", "report": "completed"}
    fine, broken = await handle.output("report")
    assert fine == "1 is fine None"
    assert "JobsFailed" in broken and "lint (ValueError: two)" in broken
    graphs = (await harness.opened.graphs.list_graphs(ListGraphs(namespace="default", name="inner"))).graphs
    parents = {job.id for name, job in (await infos(handle)).items() if name != "report"}
    assert {view.graph.parent for view in graphs} == parents
    assert {view.graph.jobs for view in graphs} == {2}


async def test_a_workflow_of_the_app_may_be_a_job_and_a_run_of_its_own(harness: Harness) -> None:
    graph = harness.app.graph("release")

    @harness.app.workflow
    async def check(ctx: Context, part: str) -> str:
        await ctx.sleep("1h")
        return part

    @graph.group
    async def parts(ctx: JobContext) -> list[object]:
        return [graph.spawn(check, part, name=part, queue="default", priority=4, timeout="3h") for part in ("a", "b")]

    alone = await harness.app.start(check, "alone")
    handle: GraphHandle = await harness.app.start(graph)
    await harness.idle()
    found = await views(harness, handle)
    assert (found["a"].run.name, found["a"].run.priority, found["a"].status) == ("check", 4, "sleeping")
    assert found["a"].run.expires_at == harness.clock.now() + 3 * HOUR
    await harness.advance("1h")

    assert (await alone.result(), (await handle.result()).completed) == ("alone", 3)
    assert await handle.output(parts) == ["a", "b"]
