"""Is a graph ended, held and tried again as a whole, with what cleans up behind it?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.conftest import eventually
from tests.integration.graphs.looking import ends, infos, row, until, until_looked_after
from tests.programs import echo, receives
from windlass import App, Context, Graph, JobContext, NotFound, RunCancelled, Spawn, WrongState, after
from windlass.model.graph import ListGraphs, ListJobs
from windlass.model.page import ListRuns
from windlass.testing.harness import Harness


def waiting_graph(app: App, *, window: int | None = None) -> Graph:
    """A matrix that waits for an event, and a job and a matrix that clean up behind it."""
    go, graph = app.event("go", str), app.graph("release")
    options: dict[str, Any] = {} if window is None else {"max_parallel": window}

    @graph.job(matrix={"n": [1, 2, 3]}, **options)
    async def work(ctx: JobContext, n: int) -> str:
        return await ctx.receive(go)

    @graph.job(needs=[after(work, on="always")], cleanup=True, matrix={"n": [1, 2, 3]}, **options)
    async def tidy(ctx: JobContext, n: int) -> list[str]:
        return [need.status for need in ctx.needs[work]]

    @graph.job(cleanup=True)
    async def lamp(ctx: JobContext) -> None:
        await ctx.sleep("5m")

    @graph.job(needs=[work])
    async def below(ctx: JobContext) -> None: ...

    return graph


@pytest.mark.parametrize("window", [None, 1])
async def test_a_cancelled_graph_ends_once_its_cleanup_jobs_are_over(harness: Harness, window: int | None) -> None:
    handle = await harness.app.start(waiting_graph(harness.app, window=window))
    await until(handle, **{"work[1]": "waiting", "lamp": "sleeping"})

    assert await handle.cancel(by="ann")
    await until(handle, **{"tidy[1]": "completed", "tidy[2]": "completed", "tidy[3]": "completed"})
    assert await handle.status() == "waiting"
    assert "cancel" in await handle.explain()
    await harness.advance("5m")

    with pytest.raises(RunCancelled):
        await handle.result()
    done = dict.fromkeys(["tidy[1]", "tidy[2]", "tidy[3]", "lamp"], "completed")
    gone = dict.fromkeys(["work[1]", "work[2]", "work[3]", "below"], "cancelled")
    assert await ends(handle) == done | gone
    assert await handle.output("tidy[2]") == ["cancelled"] * 3
    assert (await row(harness, handle)).held == 0


async def test_asked_twice_a_graph_ends_with_its_cleanup_jobs(harness: Harness) -> None:
    handle = await harness.app.start(waiting_graph(harness.app))
    await until(handle, lamp="sleeping")

    assert await handle.cancel()
    assert await handle.cancel()
    assert await handle.status() == "cancelled"
    assert not await handle.cancel()
    assert (await ends(handle))["lamp"] == "cancelled"


@pytest.mark.spec("invariants:I-24")
async def test_a_paused_graph_begins_nothing_and_goes_on_where_it_stood(harness: Harness) -> None:
    graph, go = harness.app.graph("release"), harness.app.event("go", str)

    @graph.job
    async def first(ctx: JobContext) -> str:
        return await ctx.receive(go)

    @graph.job
    async def napper(ctx: JobContext) -> None:
        await ctx.sleep("1h")

    @graph.job(needs=[first])
    async def second(ctx: JobContext) -> None: ...

    handle = await harness.app.start(graph)
    await until(handle, first="waiting", napper="sleeping")

    await handle.pause(by="ann", note="lunch")
    assert await handle.status() == "paused"
    assert await ends(handle) == {"first": "paused", "napper": "paused", "second": "waiting"}
    await harness.app.handle((await infos(handle))["first"].id).resume()  # one of them goes on all the same
    await harness.app.handle((await infos(handle))["first"].id).send(go, "now")
    await until(handle, first="completed", second="paused")  # what that releases is held
    await harness.advance("2h")
    assert (await ends(handle))["napper"] == "paused"

    await handle.resume()
    assert (await handle.result()).completed == 3
    with pytest.raises(WrongState):
        await handle.resume()


async def test_a_paused_graph_that_is_cancelled_lets_its_cleanup_jobs_run(harness: Harness) -> None:
    handle = await harness.app.start(waiting_graph(harness.app))
    await until(handle, **{"work[1]": "waiting", "lamp": "sleeping"})
    await handle.pause()
    assert (await ends(handle))["lamp"] == "paused"

    await handle.cancel()
    await until(handle, **{"tidy[1]": "completed", "lamp": "sleeping"})
    await harness.advance("5m")

    with pytest.raises(RunCancelled):
        await handle.result()


async def test_a_retry_keeps_what_completed_and_does_the_rest_and_all_below_it_again(harness: Harness) -> None:
    graph, entered, is_broken = harness.app.graph("release"), list[str](), [True]

    async def fetch() -> str:
        entered.append("fetch")
        return "parts"

    @graph.job
    async def lint(ctx: JobContext) -> str:
        entered.append("lint")
        return "clean"

    @graph.job(needs=[lint])
    async def build(ctx: JobContext) -> str:
        found = await ctx.step(fetch)
        entered.append("build")
        if is_broken[0]:
            raise ValueError("no parts")
        return found

    @graph.job(needs=[after(build, on="always")])
    async def report(ctx: JobContext) -> str:
        return await ctx.step(str, ctx.needs[build].status)  # what it has seen before is no step of the new one

    @graph.job(needs=[after(build, on="failed")])
    async def page(ctx: JobContext) -> None: ...

    handle = await harness.app.start(graph, key="v1")
    await until(handle, report="completed", page="completed")
    is_broken[0] = False

    again = await handle.retry(by="ann")
    assert (await again.result()).completed == 3
    assert await ends(again) == {"lint": "completed", "build": "completed", "report": "completed", "page": "skipped"}
    assert entered == ["lint", "fetch", "build", "build"]  # a job that failed keeps its completed steps
    assert await again.output("report") == "completed"
    assert (await handle.retry()).id == again.id  # a second retry answers with the first
    assert await (harness.app.handle(graph, key="v1")).status() == "completed"


async def test_a_retry_from_a_job_does_it_again_and_brings_the_members_of_a_generator_anew(harness: Harness) -> None:
    graph, rounds = harness.app.graph("release"), [0]

    @harness.app.workflow
    async def check(ctx: JobContext, number: int) -> int:
        if number == 1 and rounds[0] == 1:
            raise ValueError("odd")
        return number

    @graph.group
    async def parts(ctx: JobContext) -> list[Spawn]:
        rounds[0] += 1
        return [graph.spawn(check, number, name=f"part-{number}") for number in range(1 + rounds[0])]

    @graph.job(needs=[parts])
    async def total(ctx: JobContext) -> int:
        return sum(need.output for need in ctx.needs[parts])

    first = await harness.app.start(graph)
    await until(first, total="skipped")

    with pytest.raises(WrongState, match=f"windlass retry {first.id} --from part-1"):
        await harness.app.handle((await infos(first))["part-1"].id).retry()
    with pytest.raises(NotFound, match="parts"):
        await first.retry(from_step="prats")
    second = await first.retry(from_step="parts")
    assert (await second.result()).completed == 5
    assert await second.output(total) == 3  # of three parts: 0, 1 and 2


async def test_a_graph_whose_time_is_over_fails_and_its_cleanup_jobs_run(harness: Harness) -> None:
    graph = harness.app.graph("release", timeout="10m")

    @graph.job
    async def slow(ctx: JobContext) -> None:
        await ctx.sleep("1d")

    @graph.job(needs=[after(slow, on="always")], cleanup=True)
    async def tidy(ctx: JobContext) -> str:
        return str(ctx.needs[slow].status)

    handle = await harness.app.start(graph)
    await until(handle, slow="sleeping")

    await harness.advance("11m")
    await until_looked_after(harness, handle, slow="cancelled", tidy="completed")

    view = await harness.opened.graphs.get_graph("default", handle.id)  # type: ignore[arg-type]
    assert view.run.status == "failed"
    assert view.failure is not None and view.failure.kind == "timeout"
    assert await handle.output("tidy") == "cancelled"


async def test_a_run_that_waits_for_several_graphs_goes_on_when_the_last_of_them_is_over(harness: Harness) -> None:
    small = harness.app.graph("small", input=int)

    @small.job
    async def only(ctx: JobContext) -> int:
        if ctx.input == 7:
            await ctx.sleep("1h")
        return int(ctx.input)

    plain = harness.app.workflow(echo)

    @harness.app.workflow
    async def parent(ctx: Context) -> int:
        graphs, plains = await asyncio.gather(ctx.map(small, range(20)), ctx.map(plain, range(20)))
        return len(graphs) + len(plains) + len(await ctx.map(small, range(5)))

    assert await harness.run(parent) == 45


async def test_a_parent_that_is_cancelled_takes_its_graphs_with_it(harness: Harness) -> None:
    graph = waiting_graph(harness.app)

    @harness.app.workflow
    async def parent(ctx: Context) -> None:
        child = await ctx.start(graph)
        await child.result()

    handle = await harness.app.start(parent)
    await harness.until(handle, "waiting")
    await harness.idle()
    (child,) = (await harness.opened.graphs.list_graphs(ListGraphs(namespace="default"))).graphs

    assert await handle.cancel()
    await harness.advance("5m")

    jobs = await harness.opened.graphs.list_jobs(ListJobs(namespace="default", graph=child.graph.id))
    ended = {job.name: job.status.value for job in jobs.jobs}
    assert ended["work[1]"] == ended["below"] == "cancelled"
    assert ended["tidy[1]"] == ended["lamp"] == "completed"
    (child,) = (await harness.opened.graphs.list_graphs(ListGraphs(namespace="default"))).graphs
    assert child.run.status == "cancelled"


async def test_what_joins_a_paused_graph_has_its_time_too(harness: Harness) -> None:
    graph, go = harness.app.graph("release"), harness.app.event("go", str)
    member = harness.app.workflow(receives(go))

    @graph.group
    async def parts(ctx: JobContext) -> list[Spawn]:
        await ctx.receive(go)
        return [graph.spawn(member, name="only", timeout="1h")]

    handle = await harness.app.start(graph)
    await until(handle, parts="waiting")
    await handle.pause()
    generator = harness.app.handle((await infos(handle))["parts"].id)
    await generator.resume()
    await generator.send(go, "now")
    await until(handle, only="paused")

    await handle.resume()
    await harness.advance("2h")

    await until(handle, only="failed")


async def test_a_cleanup_job_has_ten_minutes_once_its_graph_ends(harness: Harness) -> None:
    graph = harness.app.graph("release")

    @graph.job(cleanup=True)
    async def lamp(ctx: JobContext) -> None:
        await ctx.sleep("1d")

    @graph.job(needs=[lamp])
    async def below(ctx: JobContext) -> None: ...

    handle = await harness.app.start(graph)
    await until(handle, lamp="sleeping")
    await handle.cancel()

    await harness.advance("11m")

    await until_looked_after(harness, handle, lamp="failed", below="cancelled")
    with pytest.raises(RunCancelled):
        await handle.result()


async def test_events_are_for_jobs_and_not_for_their_graph(harness: Harness) -> None:
    handle = await harness.app.start(waiting_graph(harness.app))
    await until(handle, **{"work[1]": "waiting"})

    with pytest.raises(WrongState, match="GRAPH/JOB"):
        await handle.send("go", "now")


async def test_a_retry_from_a_job_enters_it_and_all_below_it_anew(harness: Harness) -> None:
    graph, entered = harness.app.graph("release"), list[str]()

    def note(name: str) -> None:
        entered.append(name)

    @graph.job
    async def fetch(ctx: JobContext) -> None:
        await ctx.step(note, "fetch")

    @graph.job(needs=[fetch])
    async def build(ctx: JobContext) -> None:
        await ctx.step(note, "build")

    @graph.job(needs=[build])
    async def deploy(ctx: JobContext) -> None:
        await ctx.step(note, "deploy")
        raise ValueError("no")

    handle = await harness.app.start(graph)
    await until(handle, deploy="failed")
    again = await handle.retry(from_step="build")
    await until(again, deploy="failed")
    once_more = await again.retry()
    await until(once_more, deploy="failed")

    assert entered == ["fetch", "build", "deploy", "build", "deploy"]


async def test_a_spawned_job_knows_what_the_graph_was_started_with(harness: Harness) -> None:
    graph = harness.app.graph("release", input=str)

    @harness.app.workflow
    async def member(ctx: JobContext, number: int) -> str:
        return f"{ctx.input} {number} {ctx.job}"

    @graph.group
    async def parts(ctx: JobContext) -> list[Spawn]:
        return [graph.spawn(member, 7, name="only")]

    handle = await harness.app.start(graph, "v1")

    await handle.result()
    assert await handle.output("only") == "v1 7 only"


async def test_jobs_are_removed_with_their_graph(harness: Harness) -> None:
    graph = harness.app.graph("release", keep="1h")

    @graph.job
    async def first(ctx: JobContext) -> None:
        await ctx.step(str, "x")

    @graph.job(needs=[first])
    async def second(ctx: JobContext) -> None: ...

    handle = await harness.app.start(graph)
    await handle.result()

    async def is_gone() -> bool:
        await harness.advance("1h")
        return not (await harness.opened.runs.list_runs(ListRuns(namespace="default"))).runs

    await eventually(is_gone, what="the end of all that belonged to the graph")


async def test_a_graph_wakes_the_run_that_tries_its_parent_again(harness: Harness) -> None:
    graph, go, is_broken = harness.app.graph("small"), harness.app.event("go", str), [True]

    @graph.group
    async def only(ctx: JobContext) -> list[Spawn]:
        await ctx.receive(go)
        return []

    @harness.app.workflow
    async def parent(ctx: Context) -> str:
        child = await ctx.start(graph)
        await ctx.sleep("1s")
        if is_broken[0]:
            raise ValueError("no")
        await child.result()
        return "done"

    first = await harness.app.start(parent)
    await harness.until(first, "sleeping")
    await harness.advance("1s")
    await harness.until(first, "failed")
    is_broken[0] = False

    second = await first.retry()
    await harness.until(second, "waiting")
    (found,) = (await harness.opened.graphs.list_graphs(ListGraphs(namespace="default"))).graphs
    (job,) = (await harness.opened.graphs.list_jobs(ListJobs(namespace="default", graph=found.graph.id))).jobs
    await harness.app.handle(job.run.id).send(go, "now")

    assert await second.result() == "done"
