"""Is a graph asked for as every workflow is: by key, in a list of calls, as a child, by a schedule, and blocking?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Gate
from tests.integration.graphs.looking import ends, until
from windlass import (
    AlreadyExists,
    App,
    Context,
    Graph,
    GraphHandle,
    InvalidInput,
    JobContext,
    NotFound,
    RunFailed,
    Spawn,
    SyncGraphHandle,
    WrongState,
    call,
)
from windlass.model.commands import StartRun
from windlass.testing.harness import Harness


def declare(app: App, *, queue: str = "default") -> Graph:
    """Three jobs, a matrix and a group."""
    graph = app.graph("release", input=str)

    @app.workflow
    async def check(ctx: Context, part: str) -> str:
        return part.upper()

    @graph.job
    async def lint(ctx: JobContext) -> str:
        return f"{ctx.input} is clean"

    @graph.job(needs=[lint], matrix={"py": ["3.11", "3.12"]}, queue=queue)
    async def probe(ctx: JobContext, py: str) -> int:
        return len(py)

    @graph.group(needs=[lint])
    async def parts(ctx: JobContext) -> list[Spawn]:
        return [graph.spawn(check, part, name=f"check-{part}") for part in ("a", "b")]

    @graph.job(needs=[probe, parts])
    async def report(ctx: JobContext) -> tuple[str, int]:
        return ctx.input, len(ctx.needs[parts])

    return graph


async def test_a_handle_answers_with_the_jobs_and_with_what_each_returned(harness: Harness) -> None:
    handle = await harness.app.start(declare(harness.app), "v1")
    await harness.idle()

    result, jobs = await handle.result(), await handle.jobs()

    assert (result.id, result.jobs) == (handle.id, 7)
    assert (result.completed, result.skipped) == (7, 0)
    names = ["lint", "probe[3.11]", "probe[3.12]", "parts", "report", "check-a", "check-b"]
    assert [job.name for job in jobs] == names
    report, probe, member = jobs[4], jobs[1], jobs[5]
    assert sorted(report.needs) == ["check-a", "check-b", "parts", "probe[3.11]", "probe[3.12]"]
    assert (probe.matrix, member.group, report.error, report.skipped_by) == ("probe", "parts", None, None)
    assert report.ready_at is not None and report.finished_at is not None
    assert await handle.output("report") == ("v1", 2)
    assert await handle.output("probe") == [4, 4]
    assert await handle.output("probe[3.12]") == 4
    assert await handle.output("parts") == ["A", "B"]
    with pytest.raises(NotFound, match="Did you mean 'report'"):
        await handle.output("reprot")


async def test_jobs_are_there_once_a_worker_has_opened_the_graph_and_outputs_once_they_are_over(
    harness: Harness, gate: Gate
) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def slow(ctx: JobContext) -> str:
        await ctx.step(gate.wait)
        raise ValueError("broken")

    @graph.job(needs=[slow])
    async def last(ctx: JobContext) -> None: ...

    later = await harness.app.start(graph, delay="1h")
    handle = await harness.app.start(graph)
    assert await later.jobs() == []
    with pytest.raises(
        WrongState, match=r"is pending; one that a worker has opened was expected. No worker has opened"
    ):
        await later.output(slow)
    await later.cancel()
    with pytest.raises(WrongState, match="No worker opened it, so 'slow' never began"):
        await later.output(slow)
    await gate.reached()
    await until(handle, slow="running", last="waiting")
    with pytest.raises(WrongState, match="slow is running"):
        await handle.output(slow)
    gate.open()

    with pytest.raises(RunFailed, match="broken"):
        await handle.result()

    assert (await handle.output(slow), await handle.output(last)) == (None, None)
    failed, skipped = await handle.jobs()
    assert (failed.error, skipped.skipped_by) == ("ValueError: broken", "slow")


async def test_a_group_that_has_not_said_yet_which_jobs_it_has_is_not_an_empty_one(
    harness: Harness, gate: Gate
) -> None:
    graph = harness.app.graph("release")

    @graph.group
    async def parts(ctx: JobContext) -> list[Spawn]:
        await ctx.step(gate.wait)
        return []

    handle = await harness.app.start(graph)
    await gate.reached()
    await until(handle, parts="running")
    with pytest.raises(WrongState, match="parts is running; one that is over was expected"):
        await handle.output(parts)
    gate.open()

    assert (await handle.result()).completed == 1
    assert await handle.output(parts) == []


async def test_what_is_no_job_has_no_output(harness: Harness) -> None:
    handle = await harness.app.start(declare(harness.app), "v1")

    wanted: Any = 7
    with pytest.raises(
        InvalidInput, match=r"handle.output\(\) takes the function of a job or its name, not 7."
    ) as refused:
        await handle.output(wanted)
    assert refused.value.reason == "unknown_job"


async def test_one_output_is_read_without_reading_every_job(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = await harness.app.start(declare(harness.app), "v1")
    await harness.idle()

    async def refuse(verb: str) -> list[Any]:
        raise AssertionError("all jobs were read")

    monkeypatch.setattr(handle, "_views", refuse)
    assert await handle.output("lint") == "v1 is clean"
    assert await handle.output("probe[3.12]") == 4


async def test_a_graph_is_held_again_by_its_id(harness: Harness) -> None:
    app = harness.app
    graph, other = declare(app), app.graph("other")
    other.job(globals()["single"])
    started = await app.start(graph, "v1")
    await harness.idle()

    found = app.handle(graph, run_id=started.id)

    assert (await found.result()).jobs == len(await found.jobs()) == 7
    assert await found.output("report") == ("v1", 2)
    with pytest.raises(NotFound, match="Run of workflow 'other' with id"):
        await app.handle(other, run_id=started.id).status()
    both: Any = {"key": "v1", "run_id": started.id}
    with pytest.raises(InvalidInput, match="a workflow and its key or run_id"):
        app.handle(graph, **both)


async def single(ctx: JobContext) -> None: ...


async def test_a_key_belongs_to_one_graph_and_leads_to_it(harness: Harness) -> None:
    graph = declare(harness.app)

    first = await harness.app.start(graph, "v1", key="release-1")
    again = await harness.app.start(graph, "v1", key="release-1")
    with pytest.raises(AlreadyExists, match="with other input"):
        await harness.app.start(graph, "v2", key="release-1")
    await harness.idle()

    found = harness.app.handle(graph, key="release-1")
    assert (await found.result()).completed == 7
    assert first.id == again.id == found.id


async def test_the_input_of_a_graph_is_checked_before_anything_is_stored(harness: Harness) -> None:
    graph = declare(harness.app)

    for arguments, reason in (((), "missing_argument"), (("v1", "v2"), "extra_argument"), ((7,), "invalid_input")):
        with pytest.raises(InvalidInput, match="Graph 'release'") as refused:
            await harness.app.start(graph, *arguments)
        assert refused.value.reason == reason


async def test_many_graphs_are_started_at_once(harness: Harness) -> None:
    graph = declare(harness.app)

    handles = await harness.app.start_many([call(graph, tag, key=tag) for tag in ("v1", "v2")])
    await harness.idle()

    assert [(await handle.result()).completed for handle in handles] == [7, 7]
    assert [await handle.output("report") for handle in handles if isinstance(handle, GraphHandle)] == [
        ("v1", 2),
        ("v2", 2),
    ]


async def test_a_workflow_waits_for_a_graph_as_for_any_child(harness: Harness) -> None:
    app = harness.app
    good, bad = declare(app), app.graph("bad")

    @bad.job
    async def broken(ctx: JobContext) -> None:
        raise ValueError("broken")

    @app.workflow
    async def parent(ctx: Context) -> str:
        await ctx.run(good, "v1")
        child = await ctx.start(bad)
        try:
            await child.result()
        except RunFailed as error:
            return f"{child.id} {error.kind}"
        return ""

    handle = await app.start(parent)
    await harness.idle()

    child, kind = (await handle.result()).split()
    assert kind == "logic"
    assert await app.handle(child).status() == "failed"


async def test_a_schedule_starts_a_graph(harness: Harness) -> None:
    graph = declare(harness.app)
    await harness.app.schedules.create(graph, "nightly", name="nightly", every="1d")

    triggered = await harness.app.schedules.trigger("nightly")
    await harness.idle()

    assert await triggered.status() == "completed"
    assert (await harness.app.schedules.get("nightly")).workflow == "release"


async def test_a_retried_graph_is_held_as_a_graph(harness: Harness) -> None:
    graph = harness.app.graph("release")
    is_broken = True

    @graph.job
    async def lint(ctx: JobContext) -> str:
        return "clean"

    @graph.job(needs=[lint])
    async def build(ctx: JobContext) -> str:
        if is_broken:
            raise ValueError("broken")
        return f"built {ctx.needs[lint].output}"

    handle = await harness.app.start(graph)
    await harness.idle()
    assert await ends(handle) == {"lint": "completed", "build": "failed"}
    is_broken = False

    again = await handle.retry()
    await harness.idle()

    assert (await again.result()).completed == 2
    assert await again.output(build) == "built clean"


def test_a_script_runs_a_graph_to_its_end_whatever_queues_its_jobs_have(tmp_path: Path) -> None:
    app = App(tmp_path / "script.db")

    result = app.run(declare(app, queue="tests"), "v1", key="v1")

    assert result.completed == 7


def test_blocking_code_asks_the_same(tmp_path: Path) -> None:
    app = App(tmp_path / "sync.db")
    graph = declare(app)

    with app.sync, app.sync.worker():
        handle = app.sync.start(graph, "v1", key="v1")
        assert isinstance(handle, SyncGraphHandle)
        assert handle.result(timeout="1m").completed == 7
        assert len(handle.jobs()) == 7
        found = app.sync.handle(graph, key="v1")
        assert found.output("report") == ("v1", 2)
        (many,) = app.sync.start_many([call(graph, "v2")])
        assert isinstance(many, SyncGraphHandle)
        assert many.result(timeout="1m").completed == 7


async def test_a_job_that_is_started_by_itself_says_what_to_start(harness: Harness) -> None:
    declare(harness.app)
    command = StartRun(
        namespace="default",
        name="release.lint",
        version="",
        queue="default",
        priority=0,
        input=b"[]",
        input_hash=b"",
    )
    runs = await harness.app._services.runs()
    started = await runs.start_run(command)
    await harness.idle()

    with pytest.raises(RunFailed, match="start 'release'"):
        await harness.app.handle(started.run_id).result()


async def test_what_only_jobs_know_is_not_known_to_a_workflow_that_is_started_by_itself(harness: Harness) -> None:
    @harness.app.workflow
    async def check(ctx: JobContext) -> str:
        return str(ctx.input)

    definition = harness.app._registry.find_workflow("check")
    handle = await harness.app._client.start(definition)
    await harness.idle()

    with pytest.raises(RunFailed, match=r"ctx\.input is there in the jobs of a graph, and this run is none"):
        await handle.result()


async def test_a_job_that_nobody_serves_is_said_so_while_its_graph_is_waited_for(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def lint(ctx: JobContext) -> None: ...

    @graph.job(needs=[lint], queue="heavy")
    async def build(ctx: JobContext) -> None: ...

    handle = await harness.app.start(graph)
    await until(handle, lint="completed", build="pending")
    waiting = asyncio.ensure_future(handle.result())

    def warnings() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "windlass.client"]

    for _ in range(100):
        if warnings():
            break
        harness.clock.advance("1s")
        await asyncio.wait([waiting], timeout=0.02)

    (told,) = warnings()
    assert "Live workers run 'release.build' in queue 'default', but none in queue 'heavy'" in told
    assert "--queue heavy" in told
    async with harness.app.worker(queues=["heavy"]):
        assert (await waiting).completed == 2
