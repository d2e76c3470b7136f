"""Is everything that can be no graph refused where it is written, in one clear line, with nothing declared?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from windlass import App, Context, Graph, InvalidInput, JobContext, Spawn, after
from windlass.codec import Codec
from windlass.settings import Settings


@pytest.fixture
def app() -> App:
    return App("sqlite:///:memory:", settings=Settings())


@pytest.fixture
def release(app: App) -> Graph:
    return app.graph("release")


async def lint(ctx: JobContext) -> int:
    return 1


async def build(ctx: JobContext) -> None: ...


async def probe(ctx: JobContext, py: str) -> None: ...


async def check(ctx: Context, part: str) -> None: ...


def refused(make: Callable[[], object]) -> tuple[str, str, str]:
    """Reason, path and text. One line, whatever was given."""
    with pytest.raises(InvalidInput) as caught:
        make()
    assert "\n" not in str(caught.value)
    return caught.value.reason, caught.value.path, str(caught.value)


@pytest.mark.spec("security:63", "graphs:45", "graphs:46")
def test_a_job_that_needs_itself_is_refused_where_it_is_written(app: App, release: Graph) -> None:
    reason, path, text = refused(lambda: release.job(needs=["lint"])(lint))

    assert (reason, path) == ("cycle", "needs")
    assert "lint → lint" in text
    assert app._registry.workflow_or_none("release.lint") is None


@pytest.mark.spec("security:63", "graphs:45", "graphs:46")
@pytest.mark.parametrize("length", [2, 5, 1_000])
def test_a_cycle_is_refused_with_its_path(release: Graph, length: int) -> None:
    for number in range(length):
        release.job(name=f"j{number}", needs=[f"j{(number + 1) % length}"])(lint)
    release.job(name="innocent", needs=["j0"])(build)

    for ask in (release.validate, release.plan):
        reason, _, text = refused(ask)
        assert reason == "cycle"
        assert "j0 → j1 → " in text
        assert text.count("j0") == 2
        assert "innocent" not in text


@pytest.mark.spec("security:63", "graphs:45")
def test_a_cycle_through_a_group_is_refused(release: Graph) -> None:
    async def shards(ctx: JobContext) -> list[Spawn]:
        return []

    release.group(needs=["report"])(shards)
    release.job(name="report", needs=[shards])(build)

    reason, _, text = refused(release.validate)

    assert reason == "cycle"
    assert "report → shards → report" in text


@pytest.mark.spec("security:64")
def test_an_unknown_upstream_is_refused_with_what_looks_alike(release: Graph) -> None:
    release.job(lint)
    release.job(needs=["lnit"])(build)

    reason, path, text = refused(release.validate)

    assert (reason, path) == ("unknown_job", "build.needs")
    assert "'build' needs 'lnit'" in text
    assert "Did you mean 'lint'?" in text


@pytest.mark.spec("security:64")
def test_a_function_that_is_no_job_of_this_graph_is_refused_where_it_is_written(app: App, release: Graph) -> None:
    release.job(lint)
    other = app.graph("other")
    other.job(build)

    for stranger in (build, check):
        reason, path, text = refused(lambda stranger=stranger: release.job(name="last", needs=[stranger])(lint))
        assert (reason, path) == ("unknown_job", "needs")
        assert f"{stranger.__name__} is no job of graph 'release'" in text
        assert "Jobs so far: 'lint'" in text


@pytest.mark.spec("security:65")
def test_two_jobs_of_one_name_are_refused(app: App, release: Graph) -> None:
    release.job(lint)

    reason, path, text = refused(lambda: release.job(name="lint")(build))

    assert (reason, path) == ("duplicate_job", "name")
    assert text.startswith("Graph 'release' has two jobs named 'lint': at test_bad_graphs.py:")
    known = app._registry.workflow_or_none("release.lint")
    assert known is not None and known.function is lint


@pytest.mark.spec("security:65")
def test_two_functions_of_one_name_in_a_file_are_two_jobs(release: Graph) -> None:
    def first() -> Callable[..., Any]:
        async def test(ctx: JobContext) -> None: ...

        return test

    def second() -> Callable[..., Any]:
        async def test(ctx: JobContext) -> None: ...

        test.__qualname__ = first().__qualname__  # as two of them at the top of a file have
        return test

    release.job(first())

    assert refused(lambda: release.job(second()))[0] == "duplicate_job"


@pytest.mark.spec("security:65")
def test_the_same_edge_twice_is_one_and_two_policies_are_a_conflict(app: App, release: Graph) -> None:
    release.job(lint)
    release.job(needs=[lint, "lint", after(lint), after("lint", on="completed")])(build)
    plan = app._registry.find_workflow(release).plan
    assert plan is not None
    assert [need.upstream for need in plan(Codec())[1].needs] == ["lint"]

    reason, path, text = refused(lambda: release.job(name="last", needs=[lint, after(lint, on="always")])(build))

    assert (reason, path) == ("conflicting_edge", "needs")
    assert "needs names 'lint' twice, once on 'completed' and once on 'always'" in text


@pytest.mark.spec("security:66")
def test_a_graph_without_jobs_is_refused(app: App, release: Graph) -> None:
    reason, _, text = refused(release.validate)

    assert reason == "invalid_graph"
    assert text == "Graph 'release' has no jobs. Declare one: @release.job."


@pytest.mark.spec("security:66")
def test_a_chain_of_10_000_is_fine_and_one_job_more_is_too_many(release: Graph) -> None:
    for number in range(10_000):
        release.job(name=f"j{number}", needs=[f"j{number - 1}"] if number else [])(lint)
    release.validate()

    release.job(name="more")(build)

    assert refused(release.validate)[0] == "too_many"


@pytest.mark.spec("security:67")
@pytest.mark.parametrize(
    ("needs", "told"),
    [
        ("lint", "needs takes a list of jobs, not 'lint': needs=['lint']."),
        (b"lint", "needs takes a list of jobs, not b'lint'"),
        (lint, "needs=[lint]."),
        (None, "needs takes a list of jobs, not None"),
        ({"lint": "completed"}, "needs takes a list of jobs"),
        (after("lint"), "needs takes a list of jobs, not after(lint, on='completed')"),
        ([7], "A need is a job, its name, or windlass.after(…), not 7."),
        ([["lint"]], "A need is a job, its name, or windlass.after(…), not ['lint']."),
    ],
)
def test_needs_that_are_no_list_of_jobs_are_refused(release: Graph, needs: Any, told: str) -> None:
    release.job(lint)

    for declare in (release.job(needs=needs), release.group(needs=needs)):
        reason, path, text = refused(lambda declare=declare: declare(build))
        assert (reason, path) == ("invalid_needs", "needs")
        assert told in text


@pytest.mark.spec("security:67")
@pytest.mark.parametrize("name", ["", " ", "a b", "test[", "test[]", "x" * 201, "a..b"])
def test_a_name_that_no_job_can_have_is_refused(release: Graph, name: str) -> None:
    assert refused(lambda: release.job(needs=[name])(build))[0] == "invalid_name"


@pytest.mark.spec("security:68")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"on": "success"}, "Unknown on 'success': it is 'completed', 'failed', 'skipped' or 'always'."),
        ({"on": "complete"}, "Did you mean 'completed'?"),
        ({"on": ""}, "Unknown on ''"),
        ({"on": set()}, "on is empty, so the job could never begin."),
        ({"on": []}, "on is empty"),
        ({"on": {"completed", "running"}}, "Unknown status in on 'running': it is 'cancelled', 'completed', 'failed'"),
        ({"on": {"always"}}, "Unknown status in on 'always'"),
        ({"on": [7]}, "Unknown status in on 7"),
        ({"on": 7}, "or a set of statuses, not 7."),
        ({"if_failed": "stop"}, "Unknown if_failed 'stop': it is 'skip' or 'run'."),
        ({"if_failed": True}, "Unknown if_failed True"),
        ({"on": "always", "if_failed": "run"}, "after() takes on or if_failed, not both."),
    ],
)
def test_an_unknown_policy_is_refused(options: dict[str, Any], told: str) -> None:
    reason, _, text = refused(lambda: after(lint, **options))

    assert reason == "invalid_needs"
    assert told in text


@pytest.mark.spec("security:70")
@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ({}, "invalid_matrix"),
        ({"py": []}, "invalid_matrix"),
        ({"py": "3.11"}, "invalid_matrix"),
        ({"py": [None]}, "invalid_matrix"),
        ({"py": [["3.11"]]}, "invalid_matrix"),
        ({"py": ["3.11", "3.11"]}, "invalid_matrix"),
        ({"py": ["3.11"], "exclude": [{"py": "3.11"}]}, "invalid_matrix"),
        ({"py": ["3.11"], "exclude": [{"os": "mac"}]}, "invalid_matrix"),
        ({"include": [{"py": "3.11"}]}, "invalid_matrix"),
        (["3.11"], "invalid_matrix"),
        ({"py": [str(number) for number in range(1_000_000)]}, "too_many"),
        ({"py": [str(number) for number in range(1_000)], "os": [str(number) for number in range(1_000)]}, "too_many"),
    ],
)
def test_a_matrix_of_nothing_or_of_a_million_is_refused(app: App, release: Graph, matrix: Any, reason: str) -> None:
    assert refused(lambda: release.job(matrix=matrix)(probe))[0] == reason
    assert app._registry.workflow_or_none("release.probe") is None


@pytest.mark.spec("security:70")
def test_the_axes_of_a_matrix_are_the_parameters(release: Graph) -> None:
    reason, path, text = refused(lambda: release.job(matrix={"py": ["3.11"], "os": ["mac"]})(probe))
    assert (reason, path) == ("invalid_matrix", "os")
    assert "has the axis 'os', which is no parameter: async def probe(ctx, py, os)." in text

    reason, path, text = refused(lambda: release.job(probe))
    assert (reason, path) == ("invalid_workflow", "py")
    assert "takes 'py', and nothing gives it" in text

    async def two(ctx: JobContext, py: str, os: str) -> None: ...

    assert refused(lambda: release.job(matrix={"py": ["3.11"]})(two))[:2] == ("invalid_matrix", "os")


@pytest.mark.spec("security:70")
def test_a_value_of_a_matrix_is_of_the_type_that_the_parameter_declares(release: Graph) -> None:
    _, path, text = refused(lambda: release.job(matrix={"py": ["3.11", 3]})(probe))

    assert path == "$.py"
    assert text.startswith("Job 'release.probe': ")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_parallel": 2}, "invalid_matrix"),
        ({"fail_fast": True}, "invalid_matrix"),
        ({"max_parallel": 0, "matrix": {"py": ["3.11"]}}, "invalid_argument"),
        ({"max_parallel": "2", "matrix": {"py": ["3.11"]}}, "invalid_argument"),
        ({"max_parallel": True, "matrix": {"py": ["3.11"]}}, "invalid_argument"),
        ({"priority": 11}, "invalid_priority"),
        ({"queue": "a b"}, "invalid_name"),
        ({"retry": 5}, "invalid_option"),
        ({"timeout": 0}, "invalid_duration"),
        ({"name": "a b"}, "invalid_name"),
        ({"name": "x" * 200}, "invalid_name"),
        ({"name": "test[3.11]"}, "invalid_name"),
    ],
)
def test_an_option_of_a_job_that_says_nothing_or_too_much_is_refused(
    release: Graph, options: dict[str, Any], reason: str
) -> None:
    function: Any = probe if "matrix" in options else lint

    assert refused(lambda: release.job(**options)(function))[0] == reason


def sync_job(ctx: JobContext) -> None: ...


async def no_context(py: str) -> None: ...


async def yields(ctx: JobContext) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("wrong", [sync_job, no_context, yields, lambda ctx: None, Graph, 7, None.__class__])
def test_what_is_no_async_function_with_ctx_is_no_job(release: Graph, wrong: Any) -> None:
    for declare in (release.job(name="wrong"), release.group(name="wrong")):
        assert refused(lambda declare=declare: declare(wrong))[0] == "invalid_workflow"


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 201, 7])
def test_a_name_that_is_none_makes_no_graph(app: App, name: Any) -> None:
    assert refused(lambda: app.graph(name))[0] == "invalid_name"


@pytest.mark.parametrize("input", [{"tag": "1.0"}, "1.0", 7])
def test_input_is_a_type_and_no_value(app: App, input: Any) -> None:
    reason, path, text = refused(lambda: app.graph("release", input=input))

    assert (reason, path) == ("invalid_option", "input")
    assert "the value is given to app.start()" in text
    assert app._registry.workflow_or_none("release") is None


@pytest.mark.parametrize(
    ("returned", "reason", "told"),
    [
        (None, "invalid_graph", "not None; return [] where there are none"),
        ("check", "invalid_graph", "must return a list of release.spawn(…), not 'check'"),
        (7, "invalid_graph", "not 7"),
        ([7], "invalid_graph", "returned 7 at position 0, not release.spawn(…)."),
        ([check], "invalid_graph", "at position 0"),
        ([None] * 10_001, "too_many", "returned 10,001 jobs; a graph has at most 10,000"),
    ],
)
def test_a_group_that_returns_something_else_is_told_what(
    app: App, release: Graph, returned: Any, reason: str, told: str
) -> None:
    said = refused(lambda: spawned(app, release, returned))

    assert said[0] == reason
    assert told in said[2]
    assert said[2].startswith("Group 'shards' of graph 'release' ")


def test_a_group_that_returns_one_spawn_one_name_twice_or_a_stranger_is_told_so(app: App, release: Graph) -> None:
    app.workflow(check)
    one = release.spawn(check, "a", name="check")
    stranger = app.graph("other").spawn(check, "a", name="check")

    assert refused(lambda: spawned(app, release, one))[2].endswith("put it into a list.")
    assert refused(lambda: spawned(app, release, [one, one]))[:2] == ("duplicate_job", "check")
    assert "belongs to graph 'other'" in refused(lambda: spawned(app, release, [stranger]))[2]


def spawned(app: App, release: Graph, returned: object) -> object:
    async def shards(ctx: JobContext) -> list[Spawn]:
        return []

    release.group(shards)
    definition = app._registry.workflow_or_none("release.shards")
    assert definition is not None and definition.spawns is not None
    return definition.spawns(returned, Codec())


def test_what_cannot_be_spawned_is_refused_where_it_is_written(app: App, release: Graph) -> None:
    async def shards(ctx: JobContext) -> list[Spawn]:
        return []

    app.workflow(check)
    release.group(shards)
    other = app.graph("other")
    other.job(lint)
    spawn: Any = release.spawn

    assert refused(lambda: spawn(shards, name="x"))[0] == "invalid_graph"
    assert refused(lambda: spawn(other, name="x"))[0] == "invalid_graph"
    assert "is a job of the graph 'other'" in refused(lambda: spawn(lint, name="x"))[2]
    assert refused(lambda: spawn(7, name="x"))[0] == "invalid_workflow"
    assert refused(lambda: spawn(check, name="x"))[0] == "missing_argument"
    assert refused(lambda: spawn(check, 7, name="x"))[1] == "$.part"
    assert refused(lambda: spawn(check, "a", "b", name="x"))[0] == "extra_argument"
    assert refused(lambda: spawn(check, "a", name="a b"))[0] == "invalid_name"
    assert refused(lambda: spawn(check, "a", name="x", needs="lint"))[0] == "invalid_needs"
    assert refused(lambda: spawn(check, "a", name="x", timeout=0))[0] == "invalid_duration"
    assert refused(lambda: spawn(check, "a", name="x", priority=99))[0] == "invalid_priority"


def test_a_job_has_no_times_of_its_own(app: App, release: Graph) -> None:
    release.job(lint)

    reason, _, text = refused(lambda: app.schedule(every="1h")(lint))

    assert reason == "invalid_workflow"
    assert text.startswith("app.schedule() takes a workflow or a graph, and 'lint' is a job of the graph 'release'")
    assert app._registry.workflow_or_none("lint") is None
    app.workflow(lint)
    app.schedule(every="1h")(lint)  # what is a workflow besides is one


def test_a_schedule_without_what_its_graph_takes_says_how_to_give_it(app: App) -> None:
    graph = app.graph("nightly", input=str)
    graph.job(lint)

    reason, _, text = refused(lambda: app.schedule(cron="0 3 * * *")(graph))

    assert reason == "missing_argument"
    assert text.endswith("got no arguments: app.schedule(…, args=(input,)).")
    app.schedule(cron="0 3 * * *", args=("v1.2",))(graph)


def test_what_is_written_without_a_list_is_told_as_it_was_written(release: Graph) -> None:
    release.job(lint)

    _, _, text = refused(lambda: release.job(needs=lint)(build))  # type: ignore[call-overload]
    assert text == "needs takes a list of jobs, not lint: needs=[lint]."
    for on, shown in (("always", "'always'"), ({"failed", "cancelled"}, "{'cancelled', 'failed'}")):
        need: Any = after(lint, on=on)  # type: ignore[arg-type]
        _, _, text = refused(lambda need=need: release.job(needs=need)(build))  # type: ignore[misc]
        assert text.endswith(f"not after(lint, on={shown}): needs=[after(lint, on={shown})].")
    nested: Any = after(lint)
    assert refused(lambda: after(nested))[::2] == (
        "invalid_needs",
        "after() takes a job or its name, not another after().",
    )


def test_what_is_no_function_is_told_so_before_its_name(release: Graph) -> None:
    word: Any = "lint"
    nameless: Any = lambda ctx: None  # noqa: E731

    assert refused(lambda: release.job(word))[2].startswith('A job is a function written with "async def"')
    assert "this is a lambda" in refused(lambda: release.group(nameless))[2]


def test_a_spawn_without_its_arguments_says_how_to_spawn_it(app: App, release: Graph) -> None:
    app.workflow(check)
    spawn: Any = release.spawn

    assert refused(lambda: spawn(check, name="check-a"))[2].endswith("release.spawn(check, part, name=…).")
