"""Does the command line list graphs, draw one with the states of its jobs, and say what each job waits for?"""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from tests.integration.cli.samples import a_run, at
from tests.integration.cli.scene import Scene
from tests.programs import echo
from windlass import JobContext, Spawn, after
from windlass.cli.graph_page import picture
from windlass.cli.graphs import Listing, table
from windlass.cli.terminal import UNICODE
from windlass.model.graph import Edge, Graph, GraphView, JobState, JobView
from windlass.model.run import RunId, RunKind, RunStatus
from windlass.testing.harness import Harness


def declare_release(harness: Harness, *, shards: int = 2) -> Any:
    """A graph that fails in one place, is skipped behind it, and waits for an event in another."""
    app = harness.app
    release = app.graph("release")
    go = app.event("go", int)
    work = app.workflow(name="work")(echo)

    @release.job
    async def lint(ctx: JobContext) -> str:
        return "clean"

    @release.job(needs=[lint], matrix={"py": ["3.11", "3.12", "3.13"]}, max_parallel=2)
    async def test(ctx: JobContext, py: str) -> None:
        if py != "3.11":
            await ctx.receive(go)

    @release.job(needs=[lint])
    async def docs(ctx: JobContext) -> None:
        raise ValueError("no page index.md")

    @release.group(needs=[lint])
    async def shards_of(ctx: JobContext) -> list[Spawn]:
        return [release.spawn(work, number, name=f"shard-{number}") for number in range(shards)]

    @release.job(needs=[test, docs])
    async def publish(ctx: JobContext) -> None: ...

    @release.job(needs=[test, shards_of])
    async def report(ctx: JobContext) -> None: ...

    @release.job(needs=[after(report, on="always")], cleanup=True)
    async def tidy(ctx: JobContext) -> None:
        await ctx.sleep("1h")

    return release


async def a_release(harness: Harness) -> str:
    handle = await harness.start(declare_release(harness), key="nightly")
    await harness.idle()
    return str(handle.id)


async def a_wide_release(harness: Harness) -> str:
    handle = await harness.start(declare_release(harness, shards=12))
    await harness.idle()
    return str(handle.id)


def job_of(scene: Scene, graph: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(job for job in scene.json("show", graph)["jobs"] if job["name"] == name)
    return found


# The list


def test_graphs_are_listed_with_how_far_they_are(either: Scene) -> None:
    graph = either.play(a_release)

    (header, row) = either.shown("graphs").splitlines()

    assert header.split() == ["id", "name", "status", "started", "took", "progress"]
    assert row.split()[:2] == [graph, "release"]
    assert row.endswith("7 of 11 over · 4 waiting · 1 failed · 1 skipped")


def test_as_json_a_graph_has_its_counts(scene: Scene) -> None:
    graph = scene.play(a_release)

    (found,) = scene.json("graphs")["graphs"]

    assert {name: found[name] for name in ("id", "name", "status", "jobs", "open", "running")} == {
        "id": graph,
        "name": "release",
        "status": "waiting",
        "jobs": 11,
        "open": 4,
        "running": 0,
    }
    assert (found["completed"], found["failed"], found["cancelled"], found["skipped"]) == (5, 1, 0, 1)


def test_graphs_are_chosen_by_name_and_by_whether_they_are_over(scene: Scene) -> None:
    graph = scene.play(a_release)

    assert [found["id"] for found in scene.json("graphs", "--name", "release", "--open")["graphs"]] == [graph]
    assert scene.json("graphs", "--name", "other")["graphs"] == []
    assert scene.shown("graphs", "--name", "other") == "No graphs match.\n"
    scene.shown("cancel", graph)
    scene.shown("cancel", graph)  # those that clean up too
    assert scene.json("graphs", "--open")["graphs"] == []


def test_where_there_are_none_the_list_says_how_to_make_one(scene: Scene) -> None:
    scene.shown("migrate")

    told = scene.shown("graphs")

    assert told.startswith("No graphs yet")
    assert 'app.graph("release")' in told


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_list_fits_into_the_terminal(width: int) -> None:
    graph = Graph(
        namespace="default",
        id=RunId("run_01KDVQ0000000000000000000A"),
        name="release",
        jobs=10_000,
        open=6_000,
        failed=7,
    )
    view = GraphView(graph=graph, run=a_run(RunStatus.WAITING, end=None, kind=RunKind.GRAPH))
    listing = Listing(views=(view,), running={view.run.id: 101}, next=None)
    console = Console(width=width, record=True, file=None, force_terminal=False)

    with console.capture() as captured:
        console.print(table(listing, now=at(20), width=width, glyphs=UNICODE))

    header, row = captured.get().splitlines()
    assert max(len(header.rstrip()), len(row.rstrip())) <= width
    assert "4,000 of 10,000 over" in row


# One graph


def test_a_graph_is_drawn_with_the_states_of_its_jobs(scene: Scene) -> None:
    graph = scene.play(a_release)

    lines = scene.shown("show", graph).splitlines()

    assert lines[0] == "… waiting  release()"
    begin = lines.index("Jobs")
    assert lines[begin + 1 : lines.index("Log")] == PAGE.splitlines()


PAGE = """\
  7 of 11 over · 4 waiting · 1 failed · 1 skipped

  ✓ lint ─┬─ ✓ shards_of ────┬─── ✓ shard-0 ─┐
          ├─ ✓ test[3.11] ─┐ └─── ✓ shard-1 ─┼─ … report ── … tidy
          ├─ … test[3.12] ─┼─────────────────┘
          ├─ … test[3.13] ─┴───┬─ » publish
          └─ ✗ docs ───────────┘
  ✓ completed   … waiting   ✗ failed   » skipped

Not completed
  ✗ docs        failed     ValueError: no page index.md
  … test[3.12]  waiting    event 'go'
  … test[3.13]  waiting    event 'go'
  … report      waiting    for 'test[3.12]' and 1 more
  … tidy        waiting    for 'report'
  » publish     skipped    because 'docs' failed

"""


def test_many_jobs_of_a_group_are_drawn_as_one(scene: Scene) -> None:
    graph = scene.play(a_wide_release)

    assert "✓ shards_of ×12" in scene.shown("show", graph)


def test_a_graph_as_json_has_its_jobs_with_what_they_need(scene: Scene) -> None:
    graph = scene.play(a_release)

    found = scene.json("show", graph)

    assert (found["kind"], found["counts"]["jobs"], len(found["jobs"])) == ("graph", 11, 11)
    publish = job_of(scene, graph, "publish")
    assert (publish["status"], publish["decided_by"], publish["needs_satisfied"]) == ("skipped", "docs", False)
    assert {need["job"] for need in publish["needs"]} == {"test[3.11]", "test[3.12]", "test[3.13]", "docs"}
    assert job_of(scene, graph, "report")["waits_for"] == "for 'test[3.12]' and 1 more"


@pytest.mark.parametrize("width", [60, 80])
def test_no_line_of_a_picture_is_longer_than_the_terminal(width: int) -> None:
    def job(name: str, *needs: str, **changes: Any) -> JobView:
        run = a_run(name=f"release.{name}", kind=RunKind.JOB, parent=RunId("run_G"), parent_step=name)
        edges = tuple(Edge(job=name, upstream=upstream) for upstream in needs)
        return JobView(state=JobState(run=run, name=name, **changes), needs=edges)

    labels = [f"test[{'linux' * 4}-{number}]" for number in range(4)]
    jobs = [
        job("a-rather-long-name-of-a-job"),
        *(job(label, "a-rather-long-name-of-a-job", matrix="test") for label in labels),
        *(job(f"shard-{number}", group="many") for number in range(100)),
        job("many", is_group=True),
        job("the-end-of-it-all", *labels, *(f"shard-{number}" for number in range(100))),
    ]

    lines = list(picture(jobs, width=width, glyphs=UNICODE, is_full=False))

    assert max(line.cell_len for line in lines) <= width
    assert any("many ×100" in line.plain for line in lines)


# What would happen


@pytest.mark.spec("graphs:44")
def test_what_would_be_skipped_is_a_dry_run_of_what_skips(scene: Scene) -> None:
    graph = scene.play(a_release)

    found = scene.json("show", graph, "--if-fails", "test[3.12]")

    assert found == {
        "graph": graph,
        "failed": ["test[3.12]"],
        "skipped": [{"job": "report", "because": "test[3.12]"}],
        "released": ["tidy"],
    }
    assert scene.shown("show", graph, "--if-fails", "test") == (
        "If 'test' failed, 1 job would be skipped and 1 would begin:\n"
        "  » report  because of 'test[3.12]'\n"
        "  · tidy  would begin\n"
    )
    assert job_of(scene, graph, "report")["status"] == "waiting"  # nothing was done


def test_what_cannot_fail_any_more_and_what_is_unknown_is_refused(scene: Scene) -> None:
    graph = scene.play(a_release)

    assert "is completed" in scene.refused("show", graph, "--if-fails", "lint")
    assert "Did you mean 'report'?" in scene.refused("show", graph, "--if-fails", "reprot")
    assert "a graph was expected" in scene.refused("show", f"{graph}/lint", "--if-fails", "lint")


def test_if_a_matrix_or_a_group_fails_those_fail_that_are_not_over(scene: Scene) -> None:
    async def story(harness: Harness) -> str:
        graph, go = harness.app.graph("release"), harness.app.event("go", int)

        @graph.job(matrix={"n": [1, 2]})
        async def done(ctx: JobContext, n: int) -> float:
            return 1 / (n - 1)

        @graph.job
        async def work(ctx: JobContext) -> None:
            if ctx.job == "part-b":
                await ctx.receive(go)

        @graph.group
        async def parts(ctx: JobContext) -> list[Spawn]:
            return [graph.spawn(work, name=f"part-{part}") for part in "ab"]

        @graph.job(needs=[parts])
        async def report(ctx: JobContext) -> None: ...

        handle = await harness.start(graph)
        await harness.idle()
        return str(handle.id)

    graph = scene.play(story)

    found = scene.json("show", graph, "--if-fails", "parts")
    assert (found["failed"], found["skipped"]) == (["part-b"], [{"job": "report", "because": "part-b"}])
    assert "job 'done' is over (1 completed, 1 failed); a job that is not over was expected" in (
        scene.refused("show", graph, "--if-fails", "done")
    )


# One job


def test_a_job_is_found_by_its_name_in_its_graph(either: Scene) -> None:
    graph = either.play(a_release)

    for name in ("lint", "test[3.12]", "shard-1"):  # the last one has the code of a workflow of another name
        found = either.json("show", f"{graph}/{name}")
        assert (found["job"], found["graph"], found["in_graph"]["name"]) == (name, graph, name)
    assert either.json("explain", f"{graph[:-1]}/report")["workflow"] == "release.report"


def test_a_job_that_is_unknown_is_told_with_those_that_look_alike(scene: Scene) -> None:
    graph = scene.play(a_release)
    lint = job_of(scene, graph, "lint")["id"]

    assert "Did you mean 'test[3.13]' or 'test[3.12]'?" in scene.refused("explain", f"{graph}/test[3.1]")
    assert "Did you mean 'test[3.11]' or 'test[3.12]'?" in scene.refused("show", f"{graph}/test")
    assert "is no graph" in scene.refused("explain", f"{lint}/lint")


def test_a_job_shows_what_it_needed_and_why_it_was_skipped(scene: Scene) -> None:
    graph = scene.play(a_release)

    told = scene.shown("show", f"{graph}/publish")

    assert f"job publish of graph {graph}" in told
    assert "  ✗ docs        failed     goes on if completed\n" in told
    assert "It would have gone on if that" in told


def test_a_job_as_json_waits_for_the_same_in_itself_and_in_its_graph(scene: Scene) -> None:
    graph = scene.play(a_release)

    for name in ("test[3.12]", "report"):
        found = scene.json("show", f"{graph}/{name}")
        assert found["waits_for"] == found["in_graph"]["waits_for"] != "for its needs or an event"


def test_explain_says_which_upstream_a_job_waits_for(either: Scene) -> None:
    graph = either.play(a_release)
    upstream = job_of(either, graph, "test[3.12]")["id"]

    found = either.json("explain", f"{graph}/report")

    assert found["code"] == "waiting_for_needs"
    assert "for 2 of the 5 jobs it needs: 'test[3.12]' and 'test[3.13]'." in found["text"]
    assert f"The first of them, job 'test[3.12]' ({upstream}), waits for event 'go'." in found["text"]


def test_explain_goes_up_the_line_to_what_keeps_it(scene: Scene) -> None:
    graph = scene.play(a_release)

    found = scene.json("explain", f"{graph}/tidy")

    assert "which waits for what it needs." in found["text"]
    assert "At the head of the line, 'test[3.12]' (" in found["text"]
    assert ") waits for event 'go'." in found["text"]


def test_explain_says_because_of_whom_a_job_was_skipped(scene: Scene) -> None:
    graph = scene.play(a_release)
    docs = job_of(scene, graph, "docs")["id"]

    found = scene.json("explain", f"{graph}/publish")

    assert found["code"] == "skipped"
    assert f"it needs 'docs' ({docs}), which failed. It would have gone on if that had completed." in found["text"]


def test_explain_tells_how_far_a_graph_is(either: Scene) -> None:
    graph = either.play(a_release)

    found = either.json("explain", graph)

    assert found["code"] == "waiting_for_jobs"
    assert "7 of its 11 jobs are over (5 completed, 1 failed, 1 skipped). None is at work. 4 wait" in found["text"]


def test_a_graph_that_is_cancelled_waits_for_what_cleans_up(scene: Scene) -> None:
    graph = scene.play(a_release)

    assert scene.shown("cancel", graph, "--by", "ann") == (
        f"{graph} (release) is being cancelled: 3 jobs were ended, and those that clean up still run. "
        f"To end those too: windlass --url shop.db cancel {graph}\n"
    )

    async def going_on(harness: Harness) -> None:
        declare_release(harness)
        await harness.idle()

    scene.play(going_on)
    found = scene.json("explain", graph)

    assert found["code"] == "cancelling"
    assert "It has been cancelled by ann; it ends as cancelled once 1 job that cleans up is over" in found["text"]
    assert f"End those too: windlass --url shop.db cancel {graph}" in found["text"]

    assert scene.shown("cancel", graph, "--by", "bob") == f"{graph} (release) is cancelled, and 1 child with it.\n"
    assert "It was cancelled by bob " in scene.json("explain", graph)["text"]
    assert "\nCancelled by bob\n  It was cancelled by bob " in scene.shown("show", graph)
    assert "Its 11 jobs: 5 completed, 1 failed, 4 cancelled, 1 skipped." in scene.json("explain", graph)["text"]


def test_a_graph_that_has_cleaned_up_says_who_cancelled_it(scene: Scene) -> None:
    graph = scene.play(a_release)
    scene.shown("cancel", graph, "--by", "ann", "--note", "wrong tag")

    async def cleaned_up(harness: Harness) -> None:
        declare_release(harness)
        await harness.idle()
        await harness.advance("1h")
        await harness.idle()

    scene.play(cleaned_up)
    told, found = scene.shown("show", graph), scene.json("explain", graph)

    assert found["code"] == "cancelled"
    assert "It was cancelled by ann " in found["text"]
    assert "wrong tag" in found["text"]
    assert "\nCancelled by ann\n  wrong tag\n" in told
