"""Is a child created once, does its end reach its parent, and does it follow when its parent is cancelled?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, log_of, path_of, row_of
from tests.programs import nothing, raises, returns, runs, sleeps
from windlass import Context, InvalidInput, NotFound, RunCancelled, RunFailed
from windlass.model.page import ListRuns
from windlass.model.run import RunId
from windlass.testing.harness import Harness


async def children_of(harness: Harness, handle: Any) -> list[Any]:
    page = await harness.opened.runs.list_runs(ListRuns(namespace="default", limit=2_000))
    return sorted((run for run in page.runs if run.parent == handle.id), key=lambda run: run.id)


@pytest.mark.spec("invariants:I-14")
async def test_a_parent_gets_what_its_child_returned(harness: Harness) -> None:
    @harness.app.workflow
    async def doubled(ctx: Context, number: int) -> int:
        await ctx.sleep("1h")
        return 2 * number

    @harness.app.workflow
    async def parent(ctx: Context) -> int:
        return await ctx.run(doubled, 21)

    handle = await harness.start(parent)
    await harness.idle()
    (child,) = await children_of(harness, handle)
    assert (child.status, child.parent, child.parent_step) == ("sleeping", handle.id, "doubled")
    await harness.advance("1h")

    assert await handle.result() == 42
    assert len(await children_of(harness, handle)) == 1


async def test_a_failed_child_fails_its_parent_unless_that_handles_it(harness: Harness) -> None:
    broken = harness.app.workflow(raises(ValueError, "no luck"))
    careless = harness.app.workflow(runs(broken))

    @harness.app.workflow
    async def careful(ctx: Context) -> str:
        try:
            await ctx.run(broken)
        except RunFailed as error:
            await ctx.sleep("1s")  # the same at a replay
            return f"{error.type}: {error.message}"
        return "?"

    with pytest.raises(RunFailed, match="ValueError: no luck"):
        await harness.run(careless)
    assert await harness.run(careful) == "ValueError: no luck"


async def test_a_cancelled_child_reaches_its_parent(harness: Harness) -> None:
    napping = harness.app.workflow(sleeps("1d"))

    @harness.app.workflow
    async def parent(ctx: Context) -> str:
        try:
            await ctx.run(napping)
        except RunCancelled as error:
            return f"cancelled: {error}"
        return "?"

    handle = await harness.start(parent)
    await harness.until(handle, "waiting")
    (child,) = await children_of(harness, handle)
    assert await harness.app.handle(child.id).cancel(by="ann") is True

    assert (await handle.result()).startswith(f"cancelled: Run {child.id} was cancelled")


@pytest.mark.spec("invariants:I-14")
@pytest.mark.parametrize("policy", [None, "propagate", "abandon"])
async def test_cancelling_a_parent_cancels_the_children_that_follow_it(harness: Harness, policy: str | None) -> None:
    grandchild = harness.app.workflow(sleeps("1d"))

    @harness.app.workflow
    async def child(ctx: Context) -> str:
        await ctx.run(grandchild)
        return "went on"

    @harness.app.workflow
    async def parent(ctx: Context) -> None:
        options: Any = {} if policy is None else {"on_cancel": policy}
        await ctx.run(child, **options)

    handle = await harness.start(parent)
    await harness.idle()
    (own,) = await children_of(harness, handle)
    (grand,) = await children_of(harness, own)

    assert await handle.cancel(by="ann", note="wrong order") is True

    with pytest.raises(RunCancelled):
        await handle.result()
    expected = "waiting" if policy == "abandon" else "cancelled"
    assert (await row_of(harness, own.id)).status == expected
    if policy == "abandon":
        await harness.advance("1d")
        assert await harness.app.handle(own.id).result() == "went on"
    else:
        assert (await row_of(harness, grand.id)).status == "cancelled"
        (entry,) = [entry for entry in await log_of(harness, own.id) if entry.cause == "cancel"]
        assert handle.id.encode() in (entry.data or b"")


async def test_a_started_child_goes_on_while_its_parent_does(harness: Harness) -> None:
    poked = harness.app.event("poked", str)

    @harness.app.workflow
    async def child(ctx: Context, number: int) -> str:
        return f"{number} {await ctx.receive(poked)}"

    @harness.app.workflow
    async def parent(ctx: Context) -> list[str]:
        one, two = await ctx.start(child, 1), await ctx.start(child, 2)
        await ctx.sleep("1h")
        await one.send(poked, "a")
        await two.send(poked, "b")
        return [await two.result(), await one.result()]

    handle = await harness.start(parent)
    await harness.idle()
    assert [run.status for run in await children_of(harness, handle)] == ["waiting", "waiting"]
    await harness.advance("1h")

    assert await handle.result() == ["2 b", "1 a"]
    for run in await children_of(harness, handle):
        assert len(await harness.opened.runs.list_messages("default", RunId(run.id))) == 1


async def test_a_parent_can_cancel_a_child_it_started(harness: Harness) -> None:
    child = harness.app.workflow(sleeps("1d"))

    @harness.app.workflow
    async def parent(ctx: Context) -> list[bool]:
        started = await ctx.start(child)
        await ctx.sleep("1h")
        return [await started.cancel(), await started.cancel()]

    assert await harness.run(parent) == [True, True]  # cancelled it is, whoever asks how often


async def test_a_child_nobody_waits_for_does_not_wake_its_parent(harness: Harness) -> None:
    child = harness.app.workflow(nothing)

    @harness.app.workflow
    async def parent(ctx: Context) -> str:
        await ctx.start(child)
        await ctx.sleep("1h")
        return "over"

    handle = await harness.start(parent)
    await harness.idle()
    assert [run.status for run in await children_of(harness, handle)] == ["completed"]
    assert (await path_of(harness, handle))[-1] == "sleeping"
    assert (await path_of(harness, handle)).count("running") == 1
    await harness.advance("1h")

    assert await handle.result() == "over"


async def test_a_thousand_children_of_one_map_wake_their_parent_once(harness: Harness) -> None:
    @harness.app.workflow
    async def square(ctx: Context, number: int) -> int:
        await ctx.sleep("1h")
        return number * number

    @harness.app.workflow
    async def parent(ctx: Context) -> int:
        return sum(await ctx.map(square, range(1_000)))

    handle = await harness.start(parent)
    await harness.until(handle, "waiting")
    await harness.idle()
    assert (await row_of(harness, handle)).unmet == 1_000
    claims = (await path_of(harness, handle)).count("running")
    await harness.advance("1h")

    assert await handle.result() == sum(number * number for number in range(1_000))
    assert (await path_of(harness, handle)).count("running") == claims + 1
    assert len(await children_of(harness, handle)) == 1_000


async def test_the_first_failure_of_a_map_wakes_the_parent(harness: Harness) -> None:
    @harness.app.workflow
    async def child(ctx: Context, number: int) -> int:
        if number == 3:
            raise ValueError("three")
        await ctx.sleep("7d")
        return number

    @harness.app.workflow
    async def parent(ctx: Context) -> str:
        try:
            await ctx.map(child, range(10))
        except RunFailed as error:
            return error.message
        return "?"

    assert await (await harness.start(parent)).result() == "three"


async def test_a_map_of_children_keeps_its_limit_and_its_order(harness: Harness) -> None:
    @harness.app.workflow
    async def child(ctx: Context, number: int) -> int:
        await ctx.sleep(10 - number)
        return number

    @harness.app.workflow
    async def parent(ctx: Context) -> list[int]:
        return await ctx.map(child, range(8), limit=3)

    handle = await harness.start(parent)
    most = 0
    await harness.idle()
    while not (await handle.status()).is_terminal:
        open_ones = [run for run in await children_of(harness, handle) if not run.status.is_terminal]
        most = max(most, len(open_ones))
        await harness.advance("1s")

    assert await handle.result() == list(range(8))
    assert most == 3


async def test_children_in_branches_need_a_key(harness: Harness) -> None:
    @harness.app.workflow
    async def child(ctx: Context, number: int) -> int:
        return number

    @harness.app.workflow
    async def parent(ctx: Context, keyed: bool) -> list[int]:
        async def branch(number: int) -> int:
            options: Any = {"key": str(number)} if keyed else {}
            return await ctx.run(child, number, **options)

        return list(await asyncio.gather(branch(1), branch(2)))

    with pytest.raises(RunFailed, match=r"ctx.run\(child, x, key=x.id\)"):
        await harness.run(parent, False)
    assert await harness.run(parent, True) == [1, 2]


async def test_calls_that_cannot_be_children_are_refused_before_anything_is_written(harness: Harness) -> None:
    async def undeclared(ctx: Context) -> None: ...

    @harness.app.workflow
    async def child(ctx: Context, number: int) -> int:
        return number

    refused = list[str]()

    @harness.app.workflow
    async def parent(ctx: Context) -> None:
        calls: list[tuple[type[Exception], Any]] = [
            (NotFound, lambda: ctx.run(undeclared)),
            (InvalidInput, lambda: ctx.run(child, "seven")),  # type: ignore[arg-type]
            (InvalidInput, lambda: ctx.run(child)),  # type: ignore[arg-type]
            (InvalidInput, lambda: ctx.run(child, 1, on_cancel="maybe")),  # type: ignore[arg-type]
            (InvalidInput, lambda: ctx.run(child, 1, delay=-1)),
            (InvalidInput, lambda: ctx.run(child, 1, priority=99)),
            (InvalidInput, lambda: ctx.start(child, 1, region="eu")),  # type: ignore[call-arg]
            (InvalidInput, lambda: ctx.map(child, [1], retry=3)),  # type: ignore[call-overload]
        ]
        for kind, call in calls:
            with pytest.raises(kind) as error:
                call()
            refused.append(str(error.value))

    await harness.run(parent)
    assert len(refused) == 8
    assert len((await harness.opened.runs.list_runs(ListRuns(namespace="default"))).runs) == 1


async def test_a_child_takes_its_options(harness: Harness) -> None:
    child = harness.app.workflow(queue="elsewhere")(nothing)
    parent = harness.app.workflow(runs(child, delay="1h", priority=3, timeout="2h"))
    handle = await harness.start(parent)
    await harness.until(handle, "waiting")
    (run,) = await children_of(harness, handle)
    now = harness.clock.now()
    assert (run.queue, run.priority, run.status) == ("elsewhere", 3, "pending")
    assert (run.available_at, run.expires_at) == (now + 3_600_000_000, now + 3 * 3_600_000_000)


async def test_a_child_ends_while_its_parent_is_at_work(harness: Harness, gate: Gate) -> None:
    seen = list[int]()
    child = harness.app.workflow(returns(7))

    @harness.app.workflow
    async def parent(ctx: Context) -> None:
        async def wait() -> None:
            seen.append(await ctx.run(child))

        await asyncio.gather(ctx.step(gate.wait), wait())

    handle = await harness.start(parent)
    await gate.reached()
    await eventually(lambda: seen == [7], what="the child's result is received")
    gate.open()
    await handle.result()


async def test_parent_and_child_on_different_workers(open_shared: OpenHarness) -> None:
    above, below = await open_shared(), await open_shared(queues=("below",))
    for harness in (above, below):

        @harness.app.workflow(queue="below")
        async def child(ctx: Context, number: int) -> int:
            return number + 1

        @harness.app.workflow
        async def parent(ctx: Context) -> int:
            return await ctx.run(child, await ctx.run(child, 1))

    handle = await above.app.start(above.app._registry.find_workflow("parent").function)
    assert await handle.result() == 3


async def test_a_free_place_of_a_map_is_taken_though_others_never_end(harness: Harness) -> None:
    """The first three wait for what the others do: with a place left empty they would wait for ever."""
    done = harness.app.event("done", str)

    @harness.app.workflow
    async def child(ctx: Context, number: int) -> int:
        if number < 3:
            await ctx.receive(done)
        return number

    @harness.app.workflow
    async def parent(ctx: Context) -> list[int]:
        return await ctx.map(child, range(10), limit=4)

    handle = await harness.start(parent)
    await harness.idle()
    own = await children_of(harness, handle)
    assert sorted(run.status for run in own) == ["completed"] * 7 + ["waiting"] * 3
    for run in own[:3]:
        await harness.app.handle(run.id).send(done, "")

    assert await handle.result() == list(range(10))
