"""Does a generator that returns what cannot be fail by itself, in clear words, while everything else goes on?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.graphs.looking import edges, ends, failure, infos, row
from tests.wires.wired import Wired
from windlass import App, Context, Graph, JobContext, after
from windlass.testing.harness import Harness

Returned = Callable[[App, Graph, Any], Any]


def cycle(app: App, graph: Graph, piece: Any) -> list[Any]:
    """One of its members waits for a job that waits for the group."""
    return [
        graph.spawn(piece, 1, name="cycle-1"),
        graph.spawn(piece, 2, name="cycle-2", needs=["cycle-1", "after-cycle"]),
    ]


def half_way(app: App, graph: Graph, piece: Any) -> list[Any]:
    graph.spawn(piece, 1, name="half-1")
    raise LookupError("the list ends here")


def of_another_graph(app: App, graph: Graph, piece: Any) -> list[Any]:
    return [app.graph("elsewhere").spawn(piece, 1, name="one")]


BAD: dict[str, tuple[Returned, str]] = {
    "none": (lambda app, graph, piece: None, "must return a list of release.spawn(…), not None; return [] where"),
    "one": (lambda app, graph, piece: graph.spawn(piece, 1, name="x"), "put it into a list"),
    "text": (lambda app, graph, piece: "abc", "must return a list of release.spawn(…), not 'abc'"),
    "stranger": (
        lambda app, graph, piece: [graph.spawn(piece, 1, name="fine"), 7],
        "returned 7 at position 1, not release.spawn(…)",
    ),
    "twice": (
        lambda app, graph, piece: [graph.spawn(piece, n, name="same") for n in (1, 2)],
        "returned two jobs named 'same'",
    ),
    "static": (lambda app, graph, piece: [graph.spawn(piece, 1, name="lint")], "The name 'lint' is given twice"),
    "matrix": (lambda app, graph, piece: [graph.spawn(piece, 1, name="test")], "The name 'test' is given twice"),
    "child": (lambda app, graph, piece: [graph.spawn(piece, 1, name="test[2]")], "The name 'test[2]' is given twice"),
    "cycle": (cycle, "after-cycle → cycle → cycle-2 → after-cycle"),
    "itself": (
        lambda app, graph, piece: [graph.spawn(piece, 1, name="self-1", needs=["self-1"])],
        "self-1 → self-1",
    ),
    "own-group": (
        lambda app, graph, piece: [graph.spawn(piece, 1, name="own-1", needs=["own-group"])],
        "own-1 → own-group → own-1",
    ),
    "unknown": (
        lambda app, graph, piece: [graph.spawn(piece, 1, name="u-1", needs=["lnt"])],
        "Job 'u-1' needs 'lnt', which is not in the graph. Did you mean 'lint'",
    ),
    "conflict": (
        lambda app, graph, piece: [
            graph.spawn(piece, 1, name="c-1", needs=["good", after("good-1", on="failed")]),
        ],
        "Job 'c-1' needs 'good-1' twice, once completed, once failed",
    ),
    "many": (
        lambda app, graph, piece: [graph.spawn(piece, 1, name="m-1")] * 100_000,
        "returned 100,000 jobs; a graph has at most 10,000",
    ),
    "too-many": (
        lambda app, graph, piece: [graph.spawn(piece, n, name=f"m-{n}") for n in range(10_000)],
        "jobs; at most 10,000 are accepted",
    ),
    "half-way": (half_way, "the list ends here"),
    "stored": (lambda app, graph, piece: [graph.spawn(piece, object(), name="o-1")], "object"),
    "elsewhere": (of_another_graph, "which belongs to graph 'elsewhere'"),
}


def declare(harness: Harness, bad: dict[str, tuple[Returned, str]]) -> Graph:
    graph = harness.app.graph("release")

    @harness.app.workflow
    async def piece(ctx: Context, number: int) -> int:
        return number

    @graph.job
    async def lint(ctx: JobContext) -> str:
        return "clean"

    @graph.job(matrix={"n": [1, 2]})
    async def test(ctx: JobContext, n: int) -> int:
        return n

    @graph.group
    async def good(ctx: JobContext) -> Any:
        return [graph.spawn(piece, 1, name="good-1"), graph.spawn(piece, 2, name="good-2")]

    async def dependent(ctx: JobContext) -> int:
        return len(ctx.needs[ctx.job.partition("-")[2]])

    def declare_generator(name: str, returned: Returned) -> None:
        async def generate(ctx: JobContext) -> Any:
            return returned(harness.app, graph, piece)

        graph.group(name=name, needs=[good])(generate)

    for name, (returned, _) in bad.items():
        declare_generator(name, returned)
        graph.job(name=f"after-{name}", needs=[name])(dependent)
        graph.job(name=f"handles-{name}", needs=[after(name, on="failed")])(dependent)

    @graph.job(needs=[good, test, lint])
    async def report(ctx: JobContext) -> int:
        return sum(need.output for need in ctx.needs[good])

    return graph


@pytest.mark.spec("security:69", "graphs:47", "graphs:37", "invariants:I-30")
async def test_what_cannot_be_fails_its_generator_and_touches_nothing_else(harness: Harness) -> None:
    graph = declare(harness, BAD)

    handle = await harness.app.start(graph)

    assert f"{len(BAD)} of {6 + 3 * len(BAD) + 1} jobs failed" in await failure(handle)
    found = await infos(handle)
    stands = await ends(handle)
    for name, (_, said) in BAD.items():
        assert stands[name] == "failed", name
        assert said in (found[name].error or ""), (name, found[name].error)
        assert "\n" not in (found[name].error or "")
        assert (stands[f"after-{name}"], found[f"after-{name}"].skipped_by) == ("skipped", name)
        assert (stands[f"handles-{name}"], await handle.output(f"handles-{name}")) == ("completed", 0)
        assert set(await edges(harness, handle, f"after-{name}")) == {name}
    # No member of a bad expansion is there, and the good one goes all its way.
    own = {"lint", "test[1]", "test[2]", "good", "good-1", "good-2", "report"}
    assert set(stands) == own | {f"{what}{name}" for name in BAD for what in ("", "after-", "handles-")}
    assert {stands[name] for name in own} == {"completed"}
    assert await handle.output("report") == 3
    counts = await row(harness, handle)
    assert (counts.open, counts.failed, counts.skipped) == (0, len(BAD), len(BAD))


@pytest.mark.spec("security:71")
async def test_a_job_that_asks_for_what_it_does_not_need_fails_and_hears_what_there_is(harness: Harness) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def build(ctx: JobContext) -> dict[str, int]:
        return {"size": 7}

    @graph.job
    async def lint(ctx: JobContext) -> str:
        return "clean"

    @graph.job(needs=[build])
    async def stranger(ctx: JobContext) -> Any:
        return ctx.needs[lint].output

    @graph.job(needs=[build])
    async def mistyped(ctx: JobContext) -> Any:
        return ctx.needs["biuld"].output

    @graph.job(needs=[build])
    async def key(ctx: JobContext) -> Any:
        return ctx.needs[build].output["weight"]

    handle = await harness.app.start(graph)
    await failure(handle)

    errors = {name: job.error or "" for name, job in (await infos(handle)).items()}
    assert "Job 'stranger' does not need 'lint', so it knows nothing of it. It needs 'build'." in errors["stranger"]
    assert "Did you mean 'build'?" in errors["mistyped"]
    assert "KeyError" in errors["key"]
    assert (await ends(handle))["build"] == "completed"


@pytest.mark.spec("security:69")
async def test_jobs_that_do_not_fit_into_one_call_to_a_server_fail_who_brings_them_and_say_so(harness: Harness) -> None:
    text = "x" * 100_000  # sixty times that is more than a call to a server takes
    graph = harness.app.graph("release")

    @harness.app.workflow
    async def piece(ctx: Context, text: str) -> int:
        return len(text)

    @graph.group
    async def parts(ctx: JobContext) -> Any:
        return [graph.spawn(piece, text, name=f"part-{number}") for number in range(60)]

    @graph.job(needs=[after(parts, on="always")])
    async def report(ctx: JobContext) -> int:
        return len(ctx.needs[parts])

    handle = await harness.app.start(graph)
    if isinstance(harness.opened, Wired):
        assert "parts (InvalidGraph: 60 jobs" in await failure(handle)
        assert "do not fit into one call to a server" in ((await infos(handle))["parts"].error or "")
        assert await handle.output(report) == 0
    else:
        assert (await handle.result()).completed == 62
        assert await handle.output(report) == 60
