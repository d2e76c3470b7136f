"""Is there a job for every combination, no more of them at work than allowed, and does one failure keep the others?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import Gate
from tests.integration.graphs.looking import ends, failure, infos, row, unmet, until
from windlass import JobContext, after
from windlass.testing.harness import Harness


async def test_every_combination_is_a_job_with_its_values_and_who_needs_the_matrix_needs_them_all(
    harness: Harness,
) -> None:
    graph = harness.app.graph("release")
    matrix: dict[str, list[Any]] = {
        "py": ["3.11", "3.12"],
        "size": [1, 2],
        "exclude": [{"py": "3.12", "size": 2}],
        "include": [{"py": "3.14", "size": 3}],
    }

    @graph.job(matrix=matrix)
    async def test(ctx: JobContext, py: str, size: int) -> dict[str, int]:
        if py == "3.14":
            raise ValueError("too new")
        return {py: size}

    @graph.job(needs=[after(test, on="always")])
    async def report(ctx: JobContext) -> list[str]:
        assert [*ctx.needs] == ["test"]
        return [f"{need.name} {need.status}" for need in ctx.needs[test]]

    @graph.job(needs=["test[3.11-1]"])
    async def early(ctx: JobContext) -> dict[str, int]:
        found: dict[str, int] = ctx.needs["test[3.11-1]"].output
        return found

    @graph.job(needs=[test])
    async def deploy(ctx: JobContext) -> None: ...

    handle = await harness.app.start(graph)

    assert "test[3.14-3] (ValueError: too new)" in await failure(handle)
    assert await ends(handle) == {
        "test[3.11-1]": "completed",
        "test[3.11-2]": "completed",
        "test[3.12-1]": "completed",
        "test[3.14-3]": "failed",
        "report": "completed",
        "early": "completed",
        "deploy": "skipped",
    }
    assert await handle.output(test) == [{"3.11": 1}, {"3.11": 2}, {"3.12": 1}, None]
    assert await handle.output("test[3.12-1]") == {"3.12": 1}
    assert await handle.output(early) == {"3.11": 1}
    assert await handle.output(report) == [
        "test[3.11-1] completed",
        "test[3.11-2] completed",
        "test[3.12-1] completed",
        "test[3.14-3] failed",
    ]
    found = await infos(handle)
    assert {found[name].matrix for name in found if name.startswith("test")} == {"test"}
    assert found["deploy"].skipped_by == "test[3.14-3]"


@pytest.mark.parametrize("fail_fast", [False, True], ids=["go on", "fail fast"])
async def test_no_more_than_allowed_are_at_work_and_a_failure_may_keep_those_that_have_not_begun(
    harness: Harness, fail_fast: bool
) -> None:
    gates = {number: Gate() for number in range(5)}
    graph = harness.app.graph("release")

    @graph.job
    async def lint(ctx: JobContext) -> None: ...

    @graph.job(needs=[lint], matrix={"n": [*gates]}, max_parallel=2, fail_fast=fail_fast)
    async def test(ctx: JobContext, n: int) -> int:
        await gates[n].wait()
        if n == 1:
            raise ValueError("no")
        return n

    @graph.job(needs=[after(test, on="always")])
    async def report(ctx: JobContext) -> list[str]:
        return [need.status for need in ctx.needs[test]]

    handle = await harness.app.start(graph)
    await gates[0].reached()
    await gates[1].reached()
    assert await ends(handle) == {
        "lint": "completed", "test[0]": "running", "test[1]": "running",
        "test[2]": "waiting", "test[3]": "waiting", "test[4]": "waiting", "report": "waiting",
    }  # fmt: skip
    assert await unmet(harness, handle) == {
        "lint": 0, "test[0]": 0, "test[1]": 0, "test[2]": 1, "test[3]": 1, "test[4]": 1, "report": 5,
    }  # fmt: skip
    assert (await row(harness, handle)).held == 3
    assert (
        "at most 2 of 'test' may be at work at a time"
        in await harness.app.handle((await infos(handle))["test[2]"].id).explain()
    )
    gates[0].open()
    await gates[2].reached()
    await until(handle, **{"test[0]": "completed", "test[3]": "waiting"})

    gates[1].open()
    if fail_fast:
        await until(handle, **{"test[2]": "running", "test[3]": "skipped", "test[4]": "skipped"})
        assert (await infos(handle))["test[4]"].skipped_by == "test[1]"
    else:
        await gates[3].reached()
        assert (await ends(handle))["test[4]"] == "waiting"
    for gate in gates.values():
        gate.open()
    await failure(handle)

    assert await handle.output("report") == [
        "completed",
        "failed",
        "completed",
        *["skipped" if fail_fast else "completed"] * 2,
    ]
    assert [gates[number].entries for number in gates] == [1, 1, 1, *[0 if fail_fast else 1] * 2]
    assert (await row(harness, handle)).held == 0


async def test_a_window_moves_on_whatever_ends_its_jobs_and_skips_those_that_never_will_begin(harness: Harness) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def lint(ctx: JobContext) -> None:
        raise ValueError("no")

    @graph.job(matrix={"n": [0, 1, 2, 3]}, max_parallel=1)
    async def test(ctx: JobContext, n: int) -> int:
        if n == 2:
            raise ValueError("no")
        if n < 2:
            await ctx.sleep("1d")
        return n

    @graph.job(needs=[lint], matrix={"n": [0, 1, 2]}, max_parallel=1)
    async def never(ctx: JobContext, n: int) -> None:
        raise AssertionError

    handle = await harness.app.start(graph)
    await harness.idle()
    jobs = await infos(handle)
    assert [job.status for name, job in jobs.items() if name.startswith("never")] == ["skipped"] * 3
    # One that waits for its turn, then the one at work, which lets the next begin.
    await harness.app.handle(jobs["test[1]"].id).cancel()
    await harness.idle()
    assert (await ends(handle))["test[0]"] == "sleeping"
    await harness.app.handle(jobs["test[0]"].id).cancel()

    await failure(handle)
    assert [(await ends(handle))[f"test[{n}]"] for n in range(4)] == ["cancelled", "cancelled", "failed", "completed"]
    assert (await row(harness, handle)).held == 0
