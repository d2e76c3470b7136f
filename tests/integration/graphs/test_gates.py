"""Does a job begin when, and only when, all that it needs is over and accepted, and is it skipped when one is not?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import Gate, log_of, path_of
from tests.integration.graphs.looking import edges, ends, failure, infos, row, unmet, until, views
from windlass import Graph, GraphHandle, JobContext, after
from windlass.model.graph import COMPLETED_ONLY, EVERY_END
from windlass.model.run import RunStatus
from windlass.testing.harness import Harness


@pytest.mark.spec("graphs:1", "graphs:2", "graphs:6", "graphs:7", "graphs:20", "graphs:24", "graphs:26", "graphs:29")
@pytest.mark.spec("graphs:10", "graphs:11", "graphs:25", "graphs:30", "invariants:I-26")
async def test_a_job_begins_when_the_last_of_what_it_needs_is_over(harness: Harness) -> None:
    one, two, ship = Gate(), Gate(), Gate()
    graph = harness.app.graph("release")

    @graph.job
    async def lint(ctx: JobContext) -> None:
        await one.wait()

    @graph.job
    async def build(ctx: JobContext) -> None:
        await two.wait()

    @graph.job(needs=[lint, build])
    async def deploy(ctx: JobContext) -> None:
        await ship.wait()

    handle = await harness.app.start(graph)
    await one.reached()
    await two.reached()
    assert await ends(handle) == {"lint": "running", "build": "running", "deploy": "waiting"}
    assert await unmet(harness, handle) == {"lint": 0, "build": 0, "deploy": 2}
    assert {name: view.needs_satisfied for name, view in (await views(harness, handle)).items()} == {
        "lint": True,
        "build": True,
        "deploy": False,
    }
    assert set(await edges(harness, handle, "deploy")) == {"lint", "build"}
    started_at = harness.clock.now()

    harness.clock.advance("1m")
    one.open()
    await until(handle, lint="completed")
    assert (await ends(handle))["deploy"] == "waiting"
    assert (await unmet(harness, handle))["deploy"] == 1
    assert ship.entries == 0

    harness.clock.advance("1m")
    two.open()
    await ship.reached()
    ready_at = harness.clock.now()
    found = await views(harness, handle)
    assert (found["deploy"].run.unmet, found["deploy"].needs_satisfied) == (0, True)
    assert found["deploy"].run.ready_at == ready_at
    assert found["lint"].run.ready_at == found["build"].run.ready_at == started_at

    harness.clock.advance("1m")
    ship.open()
    result = await handle.result()
    assert (result.completed, result.skipped) == (3, 0)
    assert (await views(harness, handle))["deploy"].run.ready_at == ready_at
    assert await path_of(harness, handle) == ["pending", "running", "waiting", "completed"]


@pytest.mark.spec("graphs:8", "graphs:22")
async def test_what_upstreams_returned_is_read_when_a_job_begins_and_only_from_its_own_graph(harness: Harness) -> None:
    gates = {"v1": Gate(), "v2": Gate()}
    graph = harness.app.graph("release", input=str)

    @graph.job
    async def build(ctx: JobContext) -> dict[str, str]:
        await gates[ctx.input].wait()
        return {"built": ctx.input}

    @graph.job(needs=[build])
    async def deploy(ctx: JobContext) -> str:
        assert (ctx.needs[build].status, ctx.needs["build"].name, ctx.needs[build].error) == (
            "completed",
            "build",
            None,
        )
        return f"{ctx.needs[build].output['built']} in {ctx.job} of {ctx.graph_id}"

    first, second = await harness.app.start(graph, "v1"), await harness.app.start(graph, "v2")
    await gates["v1"].reached()
    await gates["v2"].reached()
    gates["v2"].open()
    await second.result()

    assert await ends(first) == {"build": "running", "deploy": "waiting"}
    gates["v1"].open()
    await first.result()
    assert await first.output(deploy) == f"v1 in deploy of {first.id}"
    assert await second.output("deploy") == f"v2 in deploy of {second.id}"


async def fails(ctx: JobContext) -> None:
    raise ValueError("no luck")


async def cancelled(ctx: JobContext) -> None:
    await ctx.sleep("1d")


async def out_of_time(ctx: JobContext) -> None:
    await ctx.sleep("1d")


async def well(ctx: JobContext) -> str:
    return "fine"


def declare_ends(graph: Graph) -> None:
    """A job for each way to end."""
    graph.job(well)
    graph.job(fails)
    graph.job(cancelled)
    graph.job(timeout="1h")(out_of_time)
    graph.job(needs=[fails], name="skipped")(well)


@pytest.mark.spec("graphs:23", "graphs:27", "graphs:40", "graphs:41", "graphs:42", "graphs:43", "graphs:14")
@pytest.mark.spec("invariants:I-28")
async def test_every_edge_accepts_what_it_says_and_what_is_skipped_is_an_end_too(harness: Harness) -> None:
    seen: dict[str, dict[str, tuple[str, Any]]] = {}
    graph = harness.app.graph("release")
    declare_ends(graph)
    upstreams = ["well", "fails", "cancelled", "out_of_time", "skipped"]

    async def look(ctx: JobContext) -> None:
        seen[ctx.job] = {name: (ctx.needs[name].status, ctx.needs[name].output) for name in ctx.needs}

    for upstream in upstreams:
        graph.job(name=f"by-default-{upstream}", needs=[upstream])(look)
        graph.job(name=f"always-{upstream}", needs=[after(upstream, on="always")])(look)
        graph.job(name=f"handles-{upstream}", needs=[after(upstream, on="failed")])(look)
    graph.job(name="unless-failed", needs=[after("skipped", on="skipped"), "well"])(look)
    graph.job(name="cancelled-only", needs=[after("cancelled", on={"cancelled"})])(look)
    graph.job(name="mixed", needs=["well", after("fails", if_failed="run"), after("skipped", on="always")])(look)
    graph.job(name="mixed-badly", needs=[after("fails", if_failed="run"), after("skipped", if_failed="skip")])(look)
    graph.job(name="far-below", needs=["by-default-skipped"])(look)

    handle = await harness.app.start(graph)
    await harness.idle()
    assert await harness.app.handle((await infos(handle))["cancelled"].id).cancel() is True
    await harness.idle()
    await harness.advance("1h")

    said = await failure(handle)
    assert "2 of 25 jobs failed: fails (ValueError: no luck); out_of_time (" in said
    found = await ends(handle)
    assert {name: found[name] for name in upstreams} == {
        "well": "completed",
        "fails": "failed",
        "cancelled": "cancelled",
        "out_of_time": "failed",
        "skipped": "skipped",
    }
    ran = {name for name in found if found[name] == "completed"} - {"well"}
    assert ran == {*(f"always-{name}" for name in upstreams)} | {
        "by-default-well",
        "handles-fails",
        "handles-out_of_time",
        "unless-failed",
        "cancelled-only",
        "mixed",
    }
    assert seen["mixed"] == {"well": ("completed", "fine"), "fails": ("failed", None), "skipped": ("skipped", None)}
    jobs = await infos(handle)
    assert {name: jobs[name].skipped_by for name in found if found[name] == "skipped"} == {
        "skipped": "fails",
        "by-default-fails": "fails",
        "by-default-cancelled": "cancelled",
        "by-default-out_of_time": "out_of_time",
        "by-default-skipped": "skipped",
        "handles-well": "well",
        "handles-cancelled": "cancelled",
        "handles-skipped": "skipped",
        "mixed-badly": "skipped",
        "far-below": "by-default-skipped",
    }
    assert "fails" in await harness.app.handle(jobs["skipped"].id).explain()
    kinds = {edge.upstream: edge.accepts for edge in (await views(harness, handle))["mixed"].needs}
    assert kinds == {"well": COMPLETED_ONLY, "fails": EVERY_END, "skipped": EVERY_END}
    counts = await row(harness, handle)
    assert (counts.jobs, counts.open, counts.completed, counts.failed, counts.cancelled, counts.skipped) == (
        25, 0, 12, 2, 1, 10,
    )  # fmt: skip


@pytest.mark.spec("graphs:26", "graphs:28", "graphs:21")
async def test_one_upstream_is_enough_to_skip_while_others_go_on_and_skips_end(harness: Harness, gate: Gate) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def slow(ctx: JobContext) -> None:
        await gate.wait()

    graph.job(fails)
    graph.job(name="step-0", needs=[slow, fails])(well)
    for number in range(1, 60):
        graph.job(name=f"step-{number}", needs=[f"step-{number - 1}"])(well)
    graph.job(name="tidy", needs=[after("step-59", on="always"), after(slow, on="always")])(well)

    handle = await harness.app.start(graph)
    await gate.reached()
    await until(handle, **{"step-59": "skipped"})

    found = await views(harness, handle)
    assert found["slow"].status == "running"
    assert {found[f"step-{number}"].status for number in range(60)} == {RunStatus.SKIPPED}
    assert found["tidy"].status == "waiting"
    # The transaction that ended the job has decided all of it: no time has passed, and nobody has looked.
    assert {view.run.finished_at for view in found.values() if view.status == "skipped"} == {
        found["fails"].run.finished_at
    }
    (_, skipped) = await log_of(harness, found["step-0"].run.id)
    assert (skipped.from_status, skipped.to_status, skipped.cause) == ("waiting", "skipped", "skip")
    assert skipped.data is not None and b"fails" in skipped.data
    gate.open()
    await failure(handle)
    assert (await ends(handle))["tidy"] == "completed"


async def test_a_graph_of_which_all_that_did_not_run_was_skipped_has_completed(harness: Harness) -> None:
    graph = harness.app.graph("release")
    graph.job(well)
    graph.job(name="on-failure", needs=[after("well", on="failed")])(well)
    graph.job(name="below", needs=["on-failure"])(well)

    handle: GraphHandle = await harness.app.start(graph)
    result = await handle.result()

    assert (result.completed, result.skipped) == (1, 2)
    assert [(job.name, job.status, job.needs) for job in await handle.jobs()] == [
        ("well", "completed", ()),
        ("on-failure", "skipped", ("well",)),
        ("below", "skipped", ("on-failure",)),
    ]
    assert await handle.output("below") is None
