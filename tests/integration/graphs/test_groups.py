"""Do those who need a group wait for what its generator returns, whatever that is, and does it join the graph once?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import Gate
from tests.integration.graphs.looking import edges, ends, failure, infos, unmet, until, views
from windlass import Context, JobContext, Spawn, after
from windlass.model.graph import COMPLETED_ONLY, EVERY_END
from windlass.testing.harness import Harness


@pytest.mark.spec("graphs:3", "graphs:4", "graphs:5", "graphs:31", "graphs:32", "graphs:33", "graphs:34", "graphs:36")
@pytest.mark.spec("graphs:12", "graphs:35", "graphs:37", "graphs:38", "invariants:I-31")
async def test_who_needs_a_group_waits_for_its_generator_and_then_for_all_its_members(harness: Harness) -> None:
    making, slow, shards = Gate(), Gate(), Gate()
    generated: list[str] = []
    seen: dict[str, Any] = {}
    graph = harness.app.graph("release")

    @harness.app.workflow
    async def shard(ctx: Context, number: int) -> int:
        await shards.wait()
        return number * number

    @graph.job
    async def lint(ctx: JobContext) -> list[int]:
        return [1, 2]

    @graph.job
    async def build(ctx: JobContext) -> str:
        await slow.wait()
        return "built"

    @graph.job(name="publish")
    async def publish(ctx: JobContext, what: str = "nothing") -> dict[str, Any]:
        needed = ("build", "shard-1", "shard-2")
        return {name: ctx.needs[name].output for name in needed if name in ctx.needs} | {"what": what}

    @graph.group(needs=[lint])
    async def parts(ctx: JobContext) -> list[Spawn]:
        generated.append(ctx.job)
        await making.wait()
        found = [graph.spawn(shard, number, name=f"shard-{number}") for number in ctx.needs[lint].output]
        last = graph.spawn(publish, "all", name="last", needs=[build, found[0], after("shard-2", on="always")])
        return [*found, last]

    @graph.job(needs=[lint, parts])
    async def report(ctx: JobContext) -> list[Any]:
        seen["members"] = [(need.name, need.status) for need in ctx.needs[parts]]
        return [need.output for need in ctx.needs["parts"]]

    @graph.job(needs=[after(parts, on="always")])
    async def tidy(ctx: JobContext) -> int:
        return len(ctx.needs[parts])

    handle = await harness.app.start(graph)
    await making.reached()
    await slow.reached()
    # Its other need is over, and it still waits for the group, of which nothing is known.
    await until(handle, lint="completed", parts="running", report="waiting", tidy="waiting")
    assert await unmet(harness, handle) | {"publish": 0} == {
        "lint": 0, "build": 0, "publish": 0, "parts": 0, "report": 1, "tidy": 1,
    }  # fmt: skip
    before = await edges(harness, handle, "report")
    assert [(name, edge.is_group, edge.is_resolved) for name, edge in sorted(before.items())] == [
        ("lint", False, False),
        ("parts", True, False),
    ]

    making.open()
    await shards.reached(2)
    found = await views(harness, handle)
    assert {name: view.state.group for name, view in found.items()} == {
        "lint": None, "build": None, "publish": None, "parts": None, "report": None, "tidy": None,
        "shard-1": "parts", "shard-2": "parts", "last": "parts",
    }  # fmt: skip
    assert {edge.upstream: edge.accepts for edge in found["last"].needs} == {
        "build": COMPLETED_ONLY,
        "shard-1": COMPLETED_ONLY,
        "shard-2": EVERY_END,
    }
    assert {edge.upstream: (edge.is_resolved, edge.accepts) for edge in found["tidy"].needs} == {
        "parts": (True, EVERY_END),
        "shard-1": (False, EVERY_END),
        "shard-2": (False, EVERY_END),
        "last": (False, EVERY_END),
    }
    assert set(await edges(harness, handle, "report")) == {"lint", "parts", "shard-1", "shard-2", "last"}
    assert {name: view.run.unmet for name, view in found.items() if view.run.unmet} == {
        "last": 3,
        "report": 3,
        "tidy": 3,
    }
    shards.open()
    await until(handle, **{"shard-1": "completed", "shard-2": "completed"}, last="waiting", report="waiting")
    slow.open()

    assert (await handle.result()).completed == 9
    assert seen["members"] == [("shard-1", "completed"), ("shard-2", "completed"), ("last", "completed")]
    assert await handle.output("report") == [
        1, 4, {"build": "built", "shard-1": 1, "shard-2": 4, "what": "all"},
    ]  # fmt: skip
    assert await handle.output(tidy) == 3
    assert await handle.output(parts) == await handle.output("report")
    assert generated == ["parts"]


@pytest.mark.spec("graphs:39", "graphs:37")
async def test_an_empty_group_is_met_once_its_generator_says_so(harness: Harness, gate: Gate) -> None:
    graph = harness.app.graph("release")

    @graph.group
    async def nothing(ctx: JobContext) -> list[Spawn]:
        return []

    @graph.group
    async def later(ctx: JobContext) -> list[Spawn]:
        await gate.wait()
        return []

    @graph.job(needs=[nothing])
    async def alone(ctx: JobContext) -> list[Any]:
        return [*ctx.needs[nothing]]

    @graph.job(needs=[nothing, later])
    async def both(ctx: JobContext) -> int:
        return len(ctx.needs[nothing]) + len(ctx.needs[later])

    handle = await harness.app.start(graph)
    await gate.reached()
    await until(handle, nothing="completed", alone="completed", both="waiting")
    assert set(await edges(harness, handle, "alone")) == {"nothing"}
    gate.open()

    assert (await handle.result()).completed == 4
    assert (await handle.output(alone), await handle.output("both"), await handle.output(nothing)) == ([], 0, [])


@pytest.mark.spec("graphs:37", "graphs:41")
async def test_a_generator_that_ends_otherwise_skips_who_needs_its_group_unless_the_edge_accepts_it(
    harness: Harness,
) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def broken(ctx: JobContext) -> None:
        raise ValueError("no")

    @graph.group
    async def fails(ctx: JobContext) -> list[Spawn]:
        graph.spawn(tidy, name="never")
        raise RuntimeError("half way")

    @graph.group(needs=[broken])
    async def skipped(ctx: JobContext) -> list[Spawn]:
        raise AssertionError

    async def tidy(ctx: JobContext) -> list[str]:
        return [str(ctx.needs[name]) for name in ctx.needs]

    graph.job(name="needs-failed", needs=[fails])(tidy)
    graph.job(name="needs-skipped", needs=[skipped])(tidy)
    graph.job(name="handles", needs=[after(fails, on="failed")])(tidy)
    graph.job(needs=[after(fails, on="always"), after(skipped, on="always")])(tidy)
    handle = await harness.app.start(graph)

    assert "fails (RuntimeError: half way)" in await failure(handle)
    assert await ends(handle) == {
        "broken": "failed",
        "fails": "failed",
        "skipped": "skipped",
        "needs-failed": "skipped",
        "needs-skipped": "skipped",
        "handles": "completed",
        "tidy": "completed",
    }
    assert (await infos(handle))["needs-skipped"].skipped_by == "skipped"
    assert await handle.output("tidy") == ["[]", "[]"]


async def test_members_may_need_groups_and_jobs_that_are_over_and_one_that_failed_skips_them(harness: Harness) -> None:
    ran: list[str] = []
    graph = harness.app.graph("release")

    @graph.job
    async def broken(ctx: JobContext) -> None:
        raise ValueError("no")

    @graph.job(matrix={"n": [1, 2]})
    async def test(ctx: JobContext, n: int) -> int:
        return n

    @harness.app.workflow
    async def piece(ctx: JobContext) -> str:
        ran.append(ctx.job)
        return ctx.job

    @graph.group(needs=[test])
    async def first(ctx: JobContext) -> list[Spawn]:
        return [graph.spawn(piece, name=f"a-{need.output}") for need in ctx.needs[test]]

    @graph.group(needs=[first, after(broken, on="always")])
    async def second(ctx: JobContext) -> list[Spawn]:
        return [
            graph.spawn(piece, name="b-group", needs=[first]),
            graph.spawn(piece, name="b-matrix", needs=[test]),
            graph.spawn(piece, name="b-member", needs=["a-1", "test[2]"]),
            graph.spawn(piece, name="b-broken", needs=[broken]),
            graph.spawn(piece, name="b-below", needs=["b-broken"]),
            graph.spawn(piece, name="b-handles", needs=[after(broken, on="failed"), after("b-below", on="skipped")]),
        ]

    @graph.job(needs=[after(second, on={"completed", "skipped"})])
    async def report(ctx: JobContext) -> list[str]:
        return [f"{need.name} {need.status}" for need in ctx.needs[second]]

    handle = await harness.app.start(graph)

    assert "1 of 14 jobs failed: broken" in await failure(handle)
    assert sorted(ran) == ["a-1", "a-2", "b-group", "b-handles", "b-matrix", "b-member"]
    assert await handle.output("report") == [
        "b-group completed",
        "b-matrix completed",
        "b-member completed",
        "b-broken skipped",
        "b-below skipped",
        "b-handles completed",
    ]
    found = await infos(handle)
    assert set(found["b-group"].needs) == {"first", "a-1", "a-2"}
    assert set(found["b-matrix"].needs) == {"test[1]", "test[2]"}
    assert (found["b-broken"].skipped_by, found["b-below"].skipped_by) == ("broken", "b-broken")


@pytest.mark.spec("graphs:32", "graphs:43", "security:65")
async def test_of_two_edges_to_one_job_both_hold_and_a_matrix_may_wait_for_a_group(harness: Harness) -> None:
    graph = harness.app.graph("release")

    @harness.app.workflow
    async def piece(ctx: JobContext, number: int) -> int:
        if number == 2:
            raise ValueError("two")
        return number

    @graph.group
    async def first(ctx: JobContext) -> list[Spawn]:
        return [graph.spawn(piece, number, name=f"a-{number}") for number in (1, 2)]

    @graph.job(needs=[after(first, on="always")], matrix={"n": [1, 2, 3]}, max_parallel=1)
    async def test(ctx: JobContext, n: int) -> int:
        return n * len(ctx.needs[first])

    @graph.group(needs=[after(first, on="always")])
    async def second(ctx: JobContext) -> list[Spawn]:
        always = after(first, on="always")
        return [
            graph.spawn(piece, 3, name="b-1", needs=[always, "a-1"]),
            graph.spawn(piece, 4, name="b-2", needs=[always, "a-2"]),
        ]

    handle = await harness.app.start(graph)

    assert "1 of 9 jobs failed: a-2 (ValueError: two)" in await failure(handle)
    assert {name: edge.accepts for name, edge in (await edges(harness, handle, "b-2")).items()} == {
        "first": EVERY_END,
        "a-1": EVERY_END,
        "a-2": COMPLETED_ONLY,
    }
    found = await infos(handle)
    assert (found["b-1"].status, found["b-2"].status, found["b-2"].skipped_by) == ("completed", "skipped", "a-2")
    assert await handle.output(test) == [2, 4, 6]


@pytest.mark.spec("graphs:35")
async def test_a_graph_of_nothing_but_a_generator_is_over_when_what_that_brought_is(harness: Harness) -> None:
    graph = harness.app.graph("release")

    @harness.app.workflow
    async def piece(ctx: JobContext) -> str:
        await ctx.sleep("1h")
        return ctx.job

    @graph.group
    async def parts(ctx: JobContext) -> list[Spawn]:
        return [graph.spawn(piece, name="only")]

    handle = await harness.app.start(graph)
    await until(handle, parts="completed", only="sleeping")
    assert await handle.status() == "waiting"
    await harness.advance("1h")

    assert (await handle.result()).completed == 2
    assert await handle.output(parts) == ["only"]
