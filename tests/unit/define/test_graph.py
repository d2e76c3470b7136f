"""What is declared as a graph: its jobs, what they need, what a matrix and a group stand for, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from windlass import App, Context, Graph, InvalidInput, JobContext, NotAllowed, NotFound, Retry, Spawn, after
from windlass.codec import Codec
from windlass.errors import AlreadyExists
from windlass.model.graph import COMPLETED_ONLY, EVERY_END, NewJob
from windlass.model.run import RunStatus
from windlass.model.time import HOUR, MINUTE
from windlass.settings import Settings

CODEC = Codec()


@dataclass
class Tag:
    name: str


@pytest.fixture
def app() -> App:
    return App("sqlite:///:memory:", settings=Settings())


@pytest.fixture
def release(app: App) -> Graph:
    return app.graph("release")


async def lint(ctx: JobContext) -> int:
    return 1


async def build(ctx: JobContext) -> str:
    return "built"


async def check(ctx: Context, part: str, times: int = 1) -> str:
    return part * times


def jobs_of(app: App, graph: Graph) -> dict[str, NewJob]:
    plan = app._registry.find_workflow(graph).plan
    assert plan is not None
    return {job.name: job for job in plan(CODEC)}


def accepted_ends(job: NewJob) -> dict[str, tuple[RunStatus, ...]]:
    return {need.upstream: need.accepts for need in job.needs}


def test_decorators_return_the_function_unchanged_and_declare_it_under_the_name_of_its_graph(
    app: App, release: Graph
) -> None:
    bare = release.job(lint)
    given = release.job(name="compile", needs=[lint], queue="big", timeout="1h", priority=3)(build)

    assert (bare, given) == (lint, build)
    assert [item.name for item in app._registry.workflows] == ["release", "release.lint", "release.compile"]
    compiled = jobs_of(app, release)["compile"]
    assert (compiled.workflow, compiled.queue, compiled.timeout_for, compiled.priority) == (
        "release.compile",
        "big",
        HOUR,
        3,
    )
    assert accepted_ends(compiled) == {"lint": COMPLETED_ONLY}


def test_a_job_has_the_options_of_its_graph_unless_it_has_its_own(app: App) -> None:
    graph = app.graph("ci", queue="ci", retry=Retry(7), visibility="1m", version="2", timeout="1h", keep="30d")
    graph.job(lint)
    graph.job(queue="big", retry=Retry(2), visibility="2m")(build)

    of_graph, of_lint, of_build = app._registry.workflows

    assert (of_lint.queue, of_lint.retry, of_lint.visibility_for) == ("ci", Retry(7), MINUTE)
    assert (of_build.queue, of_build.retry, of_build.visibility_for) == ("big", Retry(2), 2 * MINUTE)
    assert (of_lint.version, of_lint.timeout_for, of_lint.keep_for) == ("2", None, None)
    assert (of_graph.timeout_for, app._registry.kept().keys()) == (HOUR, {"ci"})


@pytest.mark.spec("graphs:43", "graphs:14", "graphs:42")
def test_every_edge_accepts_its_own_ends(app: App, release: Graph) -> None:
    for name in "abcdefgh":
        release.job(name=name)(lint)
    release.job(
        name="last",
        needs=[
            "a",
            after("b", on="failed"),
            after("c", on="skipped"),
            after("d", on="always"),
            after("e", on={"cancelled", "completed"}),
            after("f", if_failed="run"),
            after("g", if_failed="skip"),
            after("h"),
        ],
    )(build)

    assert accepted_ends(jobs_of(app, release)["last"]) == {
        "a": COMPLETED_ONLY,
        "b": (RunStatus.FAILED,),
        "c": (RunStatus.COMPLETED, RunStatus.SKIPPED),
        "d": EVERY_END,
        "e": (RunStatus.CANCELLED, RunStatus.COMPLETED),
        "f": EVERY_END,
        "g": COMPLETED_ONLY,
        "h": COMPLETED_ONLY,
    }


def test_a_name_may_be_needed_before_it_is_declared(app: App, release: Graph) -> None:
    release.job(needs=["build"])(lint)
    release.job(build)

    assert accepted_ends(jobs_of(app, release)["lint"]) == {"build": COMPLETED_ONLY}


def test_there_is_a_job_for_every_combination_of_a_matrix(app: App, release: Graph) -> None:
    @release.job(
        matrix={"py": ["3.11", "3.12"], "os": ["linux", "mac"], "exclude": [{"py": "3.11", "os": "mac"}]},
        max_parallel=2,
        fail_fast=True,
    )
    async def test(ctx: JobContext, py: str, verbose: bool = False, os: str = "linux") -> None: ...

    @release.job(needs=[test])
    async def report(ctx: JobContext) -> None: ...

    jobs = jobs_of(app, release)

    assert {name: CODEC.decode(job.input) for name, job in jobs.items()} == {
        "test[3.11-linux]": ("3.11", False, "linux"),
        "test[3.12-linux]": ("3.12", False, "linux"),
        "test[3.12-mac]": ("3.12", False, "mac"),
        "report": (),
    }
    child = jobs["test[3.12-mac]"]
    assert (child.matrix, child.max_parallel, child.fail_fast, child.workflow) == ("test", 2, True, "release.test")
    assert [need.upstream for need in jobs["report"].needs] == [child.name for child in jobs.values() if child.matrix]


def test_include_adds_combinations(app: App, release: Graph) -> None:
    @release.job(matrix={"py": ["3.11"], "include": [{"py": "3.15"}]})
    async def test(ctx: JobContext, py: str) -> None: ...

    assert jobs_of(app, release).keys() == {"test[3.11]", "test[3.15]"}


def test_what_a_group_returned_becomes_jobs(app: App, release: Graph) -> None:
    app.workflow(queue="slow", timeout="1m", version="3")(check)
    release.job(lint)
    release.group(needs=[lint])(shards)
    first = release.spawn(check, "a", name="check-a")
    second = release.spawn(
        check, "b", 2, name="check-b", needs=[first, lint, after("check-c", on="always")], queue="x", timeout="2m"
    )
    third = release.spawn(lint, name="lint-again", cleanup=True, priority=-2)

    generator = app._registry.workflow_or_none("release.shards")
    assert generator is not None and generator.spawns is not None
    jobs = {job.name: job for job in generator.spawns([first, second, third], CODEC)}

    assert jobs_of(app, release)["shards"].is_group
    assert (jobs["check-a"].workflow, jobs["check-a"].version, jobs["check-a"].queue) == ("check", "3", "slow")
    assert (jobs["check-a"].timeout_for, CODEC.decode(jobs["check-a"].input)) == (MINUTE, ("a",))
    assert (jobs["check-b"].queue, jobs["check-b"].timeout_for) == ("x", 2 * MINUTE)
    assert accepted_ends(jobs["check-b"]) == {"check-a": COMPLETED_ONLY, "lint": COMPLETED_ONLY, "check-c": EVERY_END}
    assert (jobs["lint-again"].workflow, jobs["lint-again"].is_cleanup, jobs["lint-again"].priority) == (
        "release.lint",
        True,
        -2,
    )


async def shards(ctx: JobContext) -> list[Spawn]:
    return []


def test_a_graph_is_found_as_a_workflow_is_and_takes_its_input(app: App) -> None:
    release = app.graph("release", input=Tag)

    found = app._registry.find_workflow(release)

    assert found is app._registry.find_workflow("release")
    assert (found.argument_names, found.argument_types, found.required) == (("input",), (Tag,), 1)
    assert found.input_type is Tag
    assert found.location.startswith("test_graph.py:")
    assert app._registry.is_workflow(release)


def test_a_graph_of_another_app_is_not_known_here(app: App) -> None:
    release = App("sqlite:///:memory:", settings=Settings()).graph("release")

    with pytest.raises(NotFound, match=r"release \(test_graph.py:\d+\) is declared in another App"):
        app._registry.find_workflow(release)


def declare(app: App, jobs: list[Callable[..., Any]]) -> Graph:
    graph = app.graph("release")
    for job in jobs:
        graph.job(job)
    return graph


def test_the_same_place_again_replaces_a_graph_and_its_jobs(app: App) -> None:
    async def lint(ctx: JobContext) -> None: ...

    first = declare(app, [globals()["lint"], build])
    second = declare(app, [lint])

    assert jobs_of(app, second).keys() == {"lint"}
    known = app._registry.workflow_or_none("release.lint")
    assert known is not None and known.function is lint
    assert app._registry.find_workflow(first) is app._registry.find_workflow(second)


@pytest.mark.spec("security:7")
def test_another_place_is_refused_the_name_of_a_graph(app: App) -> None:
    app.graph("release")

    with pytest.raises(AlreadyExists, match=r"Graph 'release' is declared twice: at test_graph.py:\d+") as refused:
        declare(app, [])
    assert refused.value.reason == "already_registered"


@pytest.mark.spec("security:7")
def test_two_graphs_of_one_name_in_one_function_are_refused_where_the_second_is_written(app: App) -> None:
    app.graph("release").job(lint)

    with pytest.raises(AlreadyExists, match=r"declared twice: at test_graph.py:(\d+) and, .* at test_graph.py:(?!\1)"):
        app.graph("release")

    assert app._registry.workflow_or_none("release.lint") is not None


def test_versions_of_a_graph_stand_side_by_side(app: App) -> None:
    old, new = app.graph("release", version="1"), app.graph("release", version="2")
    old.job(lint)
    new.job(build)

    assert (jobs_of(app, old).keys(), jobs_of(app, new).keys()) == ({"lint"}, {"build"})
    assert {(item.name, item.version) for item in app._registry.workflows} == {
        ("release", "1"),
        ("release.lint", "1"),
        ("release", "2"),
        ("release.build", "2"),
    }


def test_a_notebook_may_declare_a_job_anew(app: App, release: Graph) -> None:
    def cell(queue: str) -> Callable[..., Any]:
        @release.job(queue=queue)
        async def test(ctx: JobContext) -> None: ...

        return test

    old = cell("slow")
    cell("fast")
    release.job(needs=[old])(build)  # what a cell further down still holds

    assert jobs_of(app, release)["test"].queue == "fast"


def test_a_job_cannot_be_started_by_itself(app: App, release: Graph) -> None:
    release.job(lint)

    for wanted in (lint, "release.lint"):
        with pytest.raises(InvalidInput, match="'lint' is a job of the graph 'release'") as refused:
            app._registry.find_workflow(wanted, verb="app.start")
        assert refused.value.reason == "invalid_workflow"


def test_a_workflow_may_be_a_job_too(app: App, release: Graph) -> None:
    app.workflow(lint)
    release.job(lint)

    assert app._registry.find_workflow(lint).name == "lint"
    assert [item.name for item in app._registry.jobs_of(lint)] == ["release.lint"]


def test_a_graph_is_neither_called_nor_a_step(app: App, release: Graph) -> None:
    with pytest.raises(NotAllowed, match=r"A graph is not called. Start it: app.start\(release\)"):
        release(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"Graph\('release'\) is no step") as refused:
        app._registry.describe_step(release)
    assert refused.value.reason == "invalid_step"
    release.job(lint)
    with pytest.raises(InvalidInput, match="lint is a workflow"):
        app._registry.describe_step(lint)


def test_a_graph_may_have_a_schedule(app: App) -> None:
    release = app.graph("release", input=str)
    release.job(lint)

    app.schedule(cron="0 9 * * *", args=["nightly"], name="every-day")(release)

    (command,) = app._registry.schedule_commands(namespace="default", codec=CODEC)
    assert (command.name, command.workflow, CODEC.decode(command.input)) == ("every-day", "release", ("nightly",))


def test_the_plan_shows_layers_and_what_is_needed(app: App, release: Graph) -> None:
    release.job(lint)
    release.job(name="build", needs=[lint])(build)
    release.group(needs=[lint])(shards)

    @release.job(needs=["build"], matrix={"py": ["3.11", "3.12"]})
    async def test(ctx: JobContext, py: str) -> None: ...

    @release.job(needs=[after(test, on="always"), shards, after("test[3.11]", on={"completed", "failed"})])
    async def report(ctx: JobContext) -> None: ...

    @release.job(needs=[after(report, on="always")], cleanup=True)
    async def tidy(ctx: JobContext) -> None: ...

    assert release.plan() == (
        "release: 7 jobs, 8 edges, 5 layers\n"
        "  1  lint\n"
        "  2  build                 needs lint\n"
        "     shards (a group)      needs lint\n"
        "  3  test ×2 [3.11, 3.12]  needs build\n"
        "  4  report                needs test (always), shards, test[3.11] (completed or failed)\n"
        "  5  tidy (cleanup)        needs report (always)"
    )


def test_a_later_job_is_part_of_the_next_plan(app: App, release: Graph) -> None:
    release.job(lint)
    assert "build" not in release.plan()

    release.job(build)

    assert "build" in release.plan()
