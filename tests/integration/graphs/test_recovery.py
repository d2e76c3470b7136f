"""Is all of a graph in the database: can any process go on with it, and is what a bug has left behind put right?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenHarness
from tests.integration.graphs.looking import edges, ends, failure, infos, unmet, until, until_looked_after, views
from windlass import App, Context, Graph, JobContext, Spawn, after
from windlass.model.graph import ListJobs
from windlass.model.run import RunId
from windlass.settings import Settings
from windlass.store.base import Tx
from windlass.store.queries.jobs import MetNeeds
from windlass.testing.harness import Harness

EXPECTED = {
    "lint": "completed",
    "build": "failed",
    "parts": "completed",
    "deploy": "skipped",
    "report": "completed",
    "part-1": "completed",
    "part-2": "completed",
}


def declare(app: App, ran: list[tuple[str, str]], who: str) -> Graph:
    """The same program, as each process has it: its jobs stand in two queues."""
    graph = app.graph("release")

    @app.workflow(queue="right")
    async def piece(ctx: JobContext, number: int) -> int:
        ran.append((who, ctx.job))
        return number

    @graph.job(queue="left")
    async def lint(ctx: JobContext) -> list[int]:
        ran.append((who, "lint"))
        return [1, 2]

    @graph.job(needs=[lint], queue="right")
    async def build(ctx: JobContext) -> None:
        ran.append((who, "build"))
        raise ValueError("no")

    @graph.group(needs=[lint], queue="left")
    async def parts(ctx: JobContext) -> list[Spawn]:
        ran.append((who, "parts"))
        return [graph.spawn(piece, number, name=f"part-{number}") for number in ctx.needs[lint].output]

    @graph.job(needs=[build, parts])
    async def deploy(ctx: JobContext) -> None:
        raise AssertionError

    @graph.job(needs=[parts, after(build, on="failed"), after(deploy, on="always")], queue="left")
    async def report(ctx: JobContext) -> int:
        ran.append((who, "report"))
        return sum(need.output for need in ctx.needs[parts])

    return graph


@pytest.mark.spec("graphs:52", "graphs:54", "graphs:55", "graphs:56", "graphs:21")
async def test_a_graph_goes_on_in_another_process_and_ends_the_same_whoever_ran_what(open_shared: OpenHarness) -> None:
    ran: list[tuple[str, str]] = []
    one, two = await open_shared(has_worker=False), await open_shared(has_worker=False)
    handle = await one.app.start(declare(one.app, ran, "one"), key="v1")
    graph = declare(two.app, ran, "two")
    async with one.app.worker(queues=("default", "left")):  # it knows of no member when it leaves
        await until(handle, parts="completed")
    assert {name for name, status in (await ends(handle)).items() if status == "pending"} == {
        "build",
        "part-1",
        "part-2",
    }
    await one.app.aclose()

    found = two.app.handle(graph, key="v1")
    assert await found.status() == "waiting"
    async with two.app.worker(queues=("right",)):
        await until(found, **{"build": "failed", "part-1": "completed", "part-2": "completed"}, report="pending")
    async with two.app.worker(queues=("left",)):
        assert "1 of 7 jobs failed: build (ValueError: no)" in await failure(found)

    assert await ends(found) == EXPECTED
    assert await found.output("report") == 3
    assert sorted(ran) == sorted(
        [("one", "lint"), ("one", "parts"), *(("two", name) for name in ("build", "part-1", "part-2", "report"))]
    )
    # With two workers at once, and in one alone: how jobs ended is all that counts.
    several = await two.app.start(graph)
    async with two.app.worker(queues=("default", "left")), two.app.worker(queues=("right",)):
        await failure(several)
    alone = await two.app.start(graph)
    async with two.app.worker(queues=("default", "left", "right")):
        await failure(alone)
    assert await ends(several) == await ends(alone) == EXPECTED


@pytest.mark.spec("graphs:35", "graphs:52", "graphs:54", "invariants:I-27", "invariants:I-31")
async def test_wherever_its_worker_dies_a_graph_has_the_same_jobs_and_ends() -> None:
    harness, ran = Harness(), list[tuple[str, str]]()
    graph = declare(harness.app, ran, "one")
    found: list[dict[str, str]] = []

    async def check(again: Harness, handle: Any) -> None:
        page = await again.opened.graphs.list_jobs(ListJobs(namespace="default", graph=RunId(handle.id)))
        found.append({view.name: view.status.value for view in page.jobs})

    async with harness:
        report = await harness.crash_everywhere(graph, check=check)

    assert {"before the jobs of release.parts was recorded", "after the jobs of release.parts was recorded"} <= {
        str(point) for point in report.points
    }
    assert len(found) > len(report.points) > 20
    assert all(jobs == EXPECTED for jobs in found)


@pytest.mark.spec("graphs:48", "graphs:53", "graphs:54", "graphs:37", "graphs:21")
async def test_a_job_that_waits_for_nothing_is_found_mended_and_told(
    open_shared: OpenHarness, caplog: pytest.LogCaptureFixture
) -> None:
    entered: list[str] = []
    # A process that leaves the looking after to others, and one that comes later and does it.
    harness = await open_shared(has_worker=False, settings=Settings(coordinates=False))
    later = await open_shared(has_worker=False)

    async def look(ctx: JobContext) -> None:
        entered.append(ctx.job)

    async def broken(ctx: JobContext) -> None:
        raise ValueError("no")

    async def parts(ctx: JobContext) -> list[Spawn]:
        return []

    def declare_graph(app: App) -> Graph:
        graph = app.graph("release", queue="work")
        graph.job(broken)
        graph.group(queue="later")(parts)
        graph.job(name="lint")(look)
        graph.job(name="stuck", needs=["lint"])(look)
        graph.job(name="below", needs=["stuck"])(look)
        graph.job(name="to-skip", needs=["broken", after("lint", on="always")])(look)
        graph.job(name="unresolved", needs=["lint", "parts"])(look)
        return graph

    declare_graph(later.app)
    handle = await harness.app.start(declare_graph(harness.app), queue="default")
    async with harness.app.worker(queues=("default",)):  # which opens it, and serves none of its jobs
        await until(handle, unresolved="waiting")
    await count_one_too_many(harness, (await infos(handle))["stuck"].id)
    found = await unmet(harness, handle)
    assert (found["stuck"], found["to-skip"], found["unresolved"]) == (2, 2, 2)

    async with harness.app.worker(queues=("work",)):
        await until(handle, **{"lint": "completed", "to-skip": "skipped"})
        assert (await ends(handle))["stuck"] == "waiting"  # for what will never come
    async with later.app.worker(queues=("work",)):
        await until_looked_after(later, handle, stuck="completed", below="completed")
        # What waits for a group that has not said yet is not what is mended.
        assert (await ends(handle))["unresolved"] == "waiting"
        assert (await unmet(harness, handle))["unresolved"] == 1
        assert set(await edges(harness, handle, "unresolved")) == {"lint", "parts"}
    assert entered == ["lint", "stuck", "below"]
    told = [record.getMessage() for record in caplog.records if "waited although nothing kept it" in record.message]
    assert len(told) == 1 and "'stuck'" in told[0]
    async with later.app.worker(queues=("work", "later")):
        await failure(handle)
    assert (await ends(handle))["unresolved"] == "completed"


@pytest.mark.spec("graphs:48", "graphs:53")
async def test_a_job_that_counts_no_needs_and_is_not_due_goes_the_way_of_its_edges(
    open_shared: OpenHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness = await open_shared(has_worker=False, settings=Settings(coordinates=False))
    later = await open_shared(has_worker=False)

    async def look(ctx: JobContext) -> None: ...

    async def broken(ctx: JobContext) -> None:
        raise ValueError("no")

    def declare_graph(app: App) -> Graph:
        graph = app.graph("release", queue="work")
        graph.job(broken)
        graph.job(name="lint")(look)
        graph.job(name="slow", queue="later")(look)
        graph.job(name="free", needs=["lint"])(look)
        graph.job(name="early", needs=["lint", "slow"])(look)
        graph.job(name="never", needs=["broken"])(look)
        graph.job(name="below", needs=["free", after("never", on="always")])(look)
        return graph

    declare_graph(later.app)
    handle = await harness.app.start(declare_graph(harness.app), queue="default")
    async with harness.app.worker(queues=("default",)):
        await until(handle, below="waiting")
    stranded = {"free": 1, "early": 2, "never": 1}
    for name, needs in stranded.items():
        await count_needs(harness, (await infos(handle))[name].id, more=-needs)
    async with harness.app.worker(queues=("work",)):
        await until(handle, lint="completed", broken="failed")
    found, left = await unmet(harness, handle), await ends(handle)
    assert {name: (left[name], found[name]) for name in stranded} == dict.fromkeys(stranded, ("waiting", 0))

    async with later.app.worker(queues=("work",)):
        await until_looked_after(later, handle, free="completed", never="skipped", below="completed")
        assert ((await ends(handle))["early"], (await unmet(later, handle))["early"]) == ("waiting", 1)
    async with later.app.worker(queues=("work", "later")):
        await failure(handle)

    assert (await ends(handle))["early"] == "completed"
    told = [record.getMessage() for record in caplog.records if "waited although nothing kept it" in record.message]
    assert {name for name in stranded if any(f"'{name}'" in text for text in told)} == set(stranded)
    assert (await later.opened.admin.check_up()).is_sound


async def count_one_too_many(harness: Harness, run_id: str) -> None:
    """What a bug might do: a need is counted that nobody will ever meet."""
    await count_needs(harness, run_id, more=1)


async def count_needs(harness: Harness, run_id: str, *, more: int) -> None:
    async def count(tx: Tx) -> None:
        await tx.needs.add([MetNeeds(namespace="default", id=RunId(run_id), more=more)])

    await harness.opened.engine.parts.store.run_tx("break", count)


@pytest.mark.spec("graphs:49", "graphs:50", "graphs:51", "graphs:40")
async def test_a_stored_job_whose_code_is_gone_fails_as_drift_and_its_edges_decide(open_shared: OpenHarness) -> None:
    before, now = await open_shared(has_worker=False), await open_shared(has_worker=False)
    generated: list[str] = []

    def declare_graph(app: App, *, is_old: bool) -> Graph:
        graph = app.graph("release")

        async def piece(ctx: Context) -> None: ...

        async def job(ctx: JobContext) -> Any: ...

        @graph.group
        async def parts(ctx: JobContext) -> list[Spawn]:
            generated.append(ctx.job)
            # What it would return today does not matter to what it has returned.
            return [graph.spawn(piece, name="piece-1"), graph.spawn(piece, name="piece-2")] if is_old else []

        if is_old:
            app.workflow(queue="later")(piece)
            graph.job(name="dropped", needs=[parts])(job)
        graph.job(name="deploy", needs=[parts])(job)
        graph.job(name="rescue", needs=[after(parts, on="failed")])(job)
        return graph

    handle = await before.app.start(declare_graph(before.app, is_old=True))
    async with before.app.worker(queues=["default"]):
        await until(handle, **{"piece-1": "pending", "deploy": "waiting"})
    declare_graph(now.app, is_old=False)

    async with now.app.worker(queues=("default", "later")):
        now.clock.advance("50s")  # a rollout takes a while, and others may still bring the code
        await until(handle, **{"piece-1": "pending"})
        await until_looked_after(now, handle, **{"piece-1": "failed", "piece-2": "failed"}, rescue="completed")
        said = await failure(handle)

    assert "2 of 6 jobs failed: piece-1 (" in said
    assert await ends(handle) == {
        "parts": "completed",
        "dropped": "skipped",
        "deploy": "skipped",
        "rescue": "completed",
        "piece-1": "failed",
        "piece-2": "failed",
    }
    found = await views(now, handle)
    assert found["piece-1"].failure is not None and found["piece-1"].failure.kind == "drift"
    assert generated == ["parts"]
