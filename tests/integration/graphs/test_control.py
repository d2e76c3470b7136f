"""Is a graph cancelled, held, let go, tried again and out of time as the one thing that it is?"""

from __future__ import annotations

import pytest

from tests.integration.conftest import Gate, eventually, log_of, path_of, row_of
from tests.integration.graphs.looking import ends, failure, infos, row, unmet, until, until_looked_after, views
from tests.programs import runs
from windlass import JobContext, RunCancelled, Spawn, WrongState, after
from windlass.testing.harness import Harness

MINUTE = 60_000_000


async def test_a_cancelled_graph_cancels_its_jobs_and_lets_those_that_clean_up_have_their_turn(
    harness: Harness, gate: Gate
) -> None:
    cleaning, entered = Gate(), list[str]()
    graph = harness.app.graph("release")

    @graph.job
    async def done(ctx: JobContext) -> None: ...

    @graph.job
    async def at_work(ctx: JobContext) -> None:
        await ctx.step(gate.wait)

    @graph.job
    async def asleep(ctx: JobContext) -> None:
        await ctx.sleep("1d")

    @graph.group(needs=[at_work])
    async def parts(ctx: JobContext) -> list[Spawn]:
        raise AssertionError

    @graph.job(needs=[after(at_work, on="always"), after(parts, on="always")])
    async def report(ctx: JobContext) -> None:
        entered.append("report")

    @graph.job(needs=[after(at_work, on="always")], cleanup=True)
    async def tidy(ctx: JobContext) -> str:
        await ctx.step(cleaning.wait)
        return str(ctx.needs[at_work].status)

    @graph.job(needs=[after(tidy, on="always"), after(asleep, on="always")], cleanup=True)
    async def last(ctx: JobContext) -> str:
        return str(ctx.needs[asleep].status)

    @graph.job(needs=[at_work], cleanup=True)
    async def needless(ctx: JobContext) -> None:
        entered.append("needless")

    handle = await harness.app.start(graph)
    await gate.reached()
    await until(handle, done="completed", asleep="sleeping")
    assert await handle.cancel(by="ann", note="wrong branch") is True
    await gate.left()
    await cleaning.reached()
    assert await ends(handle) == {
        "done": "completed",
        "at_work": "cancelled",
        "asleep": "cancelled",
        "parts": "cancelled",
        "report": "cancelled",
        "tidy": "running",
        "last": "waiting",
        "needless": "skipped",
    }
    assert await handle.status() == "waiting"
    assert (await row(harness, handle)).ending == "cancelled"
    assert (await views(harness, handle))["tidy"].run.expires_at == harness.clock.now() + 10 * MINUTE
    cleaning.open()

    with pytest.raises(RunCancelled):
        await handle.result()
    assert (await handle.output(tidy), await handle.output(last)) == ("cancelled", "cancelled")
    assert entered == []
    assert await path_of(harness, handle) == ["pending", "running", "waiting", "waiting", "cancelled"]
    by = [entry.data for entry in await log_of(harness, handle.id) if entry.cause == "cancel"]
    assert any(data is not None and b"wrong branch" in data for data in by)
    assert await handle.cancel() is False


async def test_a_second_cancel_ends_what_cleans_up_too_and_one_before_it_was_opened_ends_all(
    harness: Harness, gate: Gate
) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def build(ctx: JobContext) -> None:
        await ctx.sleep("1d")

    @graph.job(needs=[after(build, on="always")], cleanup=True)
    async def tidy(ctx: JobContext) -> None:
        await ctx.step(gate.wait)

    handle = await harness.app.start(graph)
    await until(handle, build="sleeping")
    assert await handle.cancel() is True
    await gate.reached()
    assert await handle.cancel() is True
    with pytest.raises(RunCancelled):
        await handle.result()
    await gate.left()
    assert await ends(handle) == {"build": "cancelled", "tidy": "cancelled"}

    unopened = await harness.app.start(graph, delay="1h")
    assert await unopened.cancel() is True
    with pytest.raises(RunCancelled):
        await unopened.result()
    assert await unopened.jobs() == []


async def test_a_paused_graph_lets_what_is_at_work_end_and_begins_nothing_until_it_is_resumed(
    harness: Harness, gate: Gate
) -> None:
    entered: list[str] = []
    graph = harness.app.graph("release")

    @graph.job
    async def lint(ctx: JobContext) -> None:
        await ctx.step(gate.wait)

    @graph.job
    async def asleep(ctx: JobContext) -> None:
        await ctx.sleep("1h")
        entered.append("asleep")

    @graph.job(needs=[lint])
    async def build(ctx: JobContext) -> None:
        entered.append("build")

    @graph.job(needs=[build, asleep])
    async def deploy(ctx: JobContext) -> None:
        entered.append("deploy")

    handle = await harness.app.start(graph)
    await gate.reached()
    await until(handle, asleep="sleeping")
    await handle.pause(by="ann", note="freeze")
    assert await handle.status() == "paused"
    with pytest.raises(WrongState):
        await handle.result()
    gate.open()
    await until(handle, build="paused")
    await harness.advance("2h")
    assert (entered, await handle.status()) == ([], "paused")
    assert (await ends(handle))["deploy"] in ("waiting", "paused")
    assert (await unmet(harness, handle))["deploy"] == 2

    await handle.resume(by="ann")
    assert (await handle.result()).completed == 4
    assert entered[-1] == "deploy" and sorted(entered) == ["asleep", "build", "deploy"]
    with pytest.raises(WrongState):
        await handle.resume()


async def test_a_graph_that_failed_is_tried_again_with_what_had_completed(harness: Harness) -> None:
    ran: list[str] = []
    broken = {"test[2]", "fetch"}
    graph = harness.app.graph("release", input=str)

    @harness.app.workflow
    async def piece(ctx: JobContext, number: int) -> int:
        ran.append(ctx.job)
        return number

    @graph.job
    async def lint(ctx: JobContext) -> str:
        ran.append("lint")
        return f"clean {ctx.input}"

    @graph.job(needs=[lint], matrix={"n": [1, 2]})
    async def test(ctx: JobContext, n: int) -> int:
        ran.append(ctx.job)
        if ctx.job in broken:
            raise ValueError("not yet")
        return n

    @graph.group(needs=[lint])
    async def parts(ctx: JobContext) -> list[Spawn]:
        ran.append("parts")
        return [graph.spawn(piece, 1, name="part-1")]

    @graph.job(needs=[test, parts])
    async def deploy(ctx: JobContext) -> str:
        ran.append("deploy")
        return f"{ctx.input}, {sum(need.output for need in ctx.needs[test])}"

    @graph.job(needs=[after(test, on="always")])
    async def report(ctx: JobContext) -> list[str]:
        ran.append("report")
        return [need.status for need in ctx.needs[test]]

    handle = await harness.app.start(graph, "v1")
    await failure(handle)
    assert await handle.output(report) == ["completed", "failed"]
    ran.clear()
    broken.clear()

    again = await handle.retry(by="ann")
    assert again.id != handle.id
    assert (await again.result()).completed == 7
    assert sorted(ran) == ["deploy", "report", "test[2]"]
    assert await again.output(deploy) == "v1, 3"
    assert await again.output(report) == ["completed", "completed"]
    assert await again.output(lint) == "clean v1"
    assert (await row_of(harness, again)).retry_of == handle.id
    assert (await ends(handle))["test[2]"] == "failed"  # what was stays
    assert (await handle.retry()).id == again.id
    with pytest.raises(WrongState):
        await again.retry()


@pytest.mark.spec("graphs:40")
async def test_a_graph_out_of_time_fails_and_takes_its_jobs_with_it(harness: Harness) -> None:
    graph = harness.app.graph("release", timeout="1h")

    @graph.job
    async def slow(ctx: JobContext) -> None:
        await ctx.sleep("1d")

    @graph.job(needs=[slow])
    async def deploy(ctx: JobContext) -> None: ...

    @graph.job(needs=[after(slow, on="always")], cleanup=True)
    async def tidy(ctx: JobContext) -> str:
        return str(ctx.needs[slow].status)

    handle = await harness.app.start(graph)
    await until(handle, slow="sleeping")
    await harness.advance("59m")
    assert await handle.status() == "waiting"
    await until_looked_after(harness, handle, tidy="completed")

    assert "TimeoutError" in await failure(handle)
    assert await ends(handle) == {"slow": "cancelled", "deploy": "cancelled", "tidy": "completed"}
    assert (await infos(handle))["slow"].status == "cancelled"


async def test_a_cancelled_parent_takes_the_graph_it_waits_for_with_it(harness: Harness, gate: Gate) -> None:
    graph = harness.app.graph("release")

    @graph.job
    async def build(ctx: JobContext) -> None:
        await ctx.step(gate.wait)

    @graph.job(needs=[build])
    async def deploy(ctx: JobContext) -> None: ...

    parent = harness.app.workflow(runs(graph))
    handle = await harness.app.start(parent)
    await gate.reached()
    assert await handle.cancel() is True
    await gate.left()

    children = [step.awaits for step in await harness.steps(handle)]
    (child,) = [id for id in children if id is not None]
    await eventually(lambda: _is_cancelled(harness, child))


async def _is_cancelled(harness: Harness, run_id: str) -> bool:
    return (await row_of(harness, run_id)).status == "cancelled"
