"""Is a job a durable run: with steps, sleeps, retries, a time-out and a queue of its own, and an end that counts?"""

from __future__ import annotations

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, path_of, row_of, until_recorded
from tests.integration.graphs.looking import ends, failure, infos, until, until_looked_after, views
from windlass import JobContext, Retry, Spawn, after
from windlass.settings import Settings
from windlass.testing.harness import Harness

HOUR = 3_600_000_000


async def test_a_job_has_steps_sleeps_and_retries_and_knows_the_same_at_every_replay(harness: Harness) -> None:
    entered: list[tuple[str, str]] = []
    packed: list[str] = []
    graph = harness.app.graph("release", input=dict[str, str], retry=Retry(2, initial="1m"))

    def pack(tag: str) -> str:
        packed.append(tag)
        if len(packed) == 1:
            raise ConnectionError("not now")
        return f"packed {tag}"

    @graph.job
    async def lint(ctx: JobContext) -> str:
        return f"clean {ctx.input['tag']}"

    @graph.job(needs=[lint])
    async def build(ctx: JobContext) -> str:
        entered.append((ctx.needs[lint].output, ctx.input["tag"]))
        first = await ctx.step(pack, ctx.input["tag"])
        await ctx.sleep("1d")
        return f"{first}, {ctx.needs[lint].output}"

    @graph.job(needs=[build])
    async def deploy(ctx: JobContext) -> str:
        found: str = ctx.needs[build].output
        return found

    handle = await harness.app.start(graph, {"tag": "v1"})
    await harness.idle()
    assert (await ends(handle))["build"] == "pending"  # until the next attempt
    await harness.advance("2m")
    assert await ends(handle) == {"lint": "completed", "build": "sleeping", "deploy": "waiting"}
    harness.crash()
    await harness.advance("1d")

    assert (await handle.result()).completed == 3
    assert await handle.output(deploy) == "packed v1, clean v1"
    assert packed == ["v1", "v1"]
    assert set(entered) == {("clean v1", "v1")}
    assert len(entered) == 3
    steps = await harness.steps(harness.app.handle((await infos(handle))["build"].id))
    assert [(step.key, step.attempt, step.status) for step in steps] == [
        ("pack", 1, "failed"),
        ("pack", 2, "completed"),
        ("sleep", 1, "completed"),
    ]


async def test_the_time_of_a_job_begins_when_its_needs_are_met_and_nobody_need_have_claimed_it(
    open_harness: OpenHarness,
) -> None:
    harness = await open_harness(queues=("default", "big"))
    graph = harness.app.graph("release")

    @graph.job
    async def slow(ctx: JobContext) -> None:
        await ctx.sleep("5h")

    @graph.job(needs=[slow], timeout="1h", queue="big", priority=3)
    async def build(ctx: JobContext) -> None:
        await ctx.sleep("2h")

    @graph.job(needs=[slow], timeout="1h", queue="nobody")
    async def unclaimed(ctx: JobContext) -> None: ...

    @graph.job(needs=[unclaimed])
    async def deploy(ctx: JobContext) -> None: ...

    @graph.job(needs=[after(unclaimed, on="failed"), after(build, on="failed")])
    async def rescue(ctx: JobContext) -> str:
        return f"{ctx.needs[unclaimed].error}|{ctx.needs[build].error}"

    handle = await harness.app.start(graph)
    await harness.idle()
    assert {view.run.expires_at for view in (await views(harness, handle)).values()} == {None}
    await harness.advance("5h")
    found = await views(harness, handle)
    assert (found["build"].run.queue, found["build"].run.priority, found["build"].status) == ("big", 3, "sleeping")
    assert (found["unclaimed"].run.queue, found["unclaimed"].status) == ("nobody", "pending")
    due = harness.clock.now() + HOUR
    assert found["build"].run.expires_at == found["unclaimed"].run.expires_at == due
    await harness.advance(HOUR - 1)
    assert (await ends(handle))["build"] == "sleeping"
    await harness.advance(1)
    await until_looked_after(harness, handle, unclaimed="failed", rescue="completed")

    said = await failure(handle)
    assert "build (TimeoutError" in said and "unclaimed (TimeoutError" in said
    assert await ends(handle) == {
        "slow": "completed",
        "build": "failed",
        "unclaimed": "failed",
        "deploy": "skipped",
        "rescue": "completed",
    }
    assert (await infos(handle))["deploy"].skipped_by == "unclaimed"
    assert (await handle.output("rescue")).count("TimeoutError") == 2


@pytest.mark.spec("graphs:40", "invariants:I-28")
async def test_a_job_that_keeps_killing_its_worker_fails_and_the_graph_goes_on(
    open_harness: OpenHarness, gate: Gate
) -> None:
    harness = await open_harness(settings=Settings(max_recoveries=1))
    graph = harness.app.graph("release")

    @graph.job
    async def poison(ctx: JobContext) -> None:
        await ctx.step(gate.wait)

    @graph.group(needs=[after(poison, on="failed")])
    async def shards(ctx: JobContext) -> list[Spawn]:
        await ctx.step(gate.wait)
        return []

    @graph.job(needs=[poison])
    async def deploy(ctx: JobContext) -> None: ...

    @graph.job(needs=[after(poison, on="failed"), after(shards, on="failed")])
    async def rescue(ctx: JobContext) -> str:
        return ctx.needs[poison].error or ""

    handle = await harness.app.start(graph)
    for times, name in enumerate(("poison", "poison", "shards", "shards"), start=1):
        await gate.reached(times)
        harness.clock.advance("20ms")
        await until_recorded(harness, harness.app.handle((await infos(handle))[name].id), "wait")
        harness.crash()
        await harness._settle_takeovers()
        harness.clock.advance("1m")

    assert "2 of 4 jobs failed: poison (CrashLoop" in await failure(handle)
    assert await ends(handle) == {"poison": "failed", "shards": "failed", "deploy": "skipped", "rescue": "completed"}
    assert gate.entries == 4
    jobs = await infos(handle)
    assert "CrashLoop" in await handle.output(rescue)
    assert (await row_of(harness, jobs["poison"].id)).recoveries == 2
    assert await path_of(harness, harness.app.handle(jobs["deploy"].id)) == ["waiting", "skipped"]


async def test_a_job_is_cancelled_alone_and_its_edges_decide(harness: Harness, gate: Gate) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def lint(ctx: JobContext) -> None:
        await ctx.step(gate.wait)

    @graph.job
    async def build(ctx: JobContext) -> None:
        await ctx.sleep("1d")

    @graph.job(needs=[build])
    async def later(ctx: JobContext) -> None: ...

    @graph.job(needs=[lint])
    async def deploy(ctx: JobContext) -> None: ...

    @graph.job(needs=[after(lint, on="failed")])
    async def rescue(ctx: JobContext) -> None: ...

    @graph.job(needs=[after(lint, on={"cancelled"}), after(later, on="always")])
    async def tidy(ctx: JobContext) -> list[str]:
        return [ctx.needs[name].status for name in ctx.needs]

    handle = await harness.app.start(graph)
    await gate.reached()
    jobs = await infos(handle)
    assert await harness.app.handle(jobs["lint"].id).cancel(by="ann") is True
    await gate.left()
    assert await harness.app.handle(jobs["lint"].id).cancel() is False
    # One that waits for what it needs is over too, and never begins.
    assert await harness.app.handle(jobs["later"].id).cancel() is True
    await until(handle, lint="cancelled", deploy="skipped", rescue="skipped", later="cancelled", tidy="completed")
    assert await harness.app.handle(jobs["deploy"].id).cancel() is False
    await harness.advance("1d")

    await eventually(lambda: _is(handle, "cancelled"))
    assert await handle.output("tidy") == ["cancelled", "cancelled"]
    assert (await ends(handle))["later"] == "cancelled"
    assert (await infos(handle))["rescue"].skipped_by == "lint"


async def _is(handle: object, status: str) -> bool:
    return await handle.status() == status  # type: ignore[attr-defined,no-any-return]
