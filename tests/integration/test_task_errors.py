"""Does an error that ends a task of a workflow reach somebody, though no task retrieves it?"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import pytest

from tests.integration.conftest import BROKEN, ByHand, Gate, OpenHarness, begin, eventually, path_of, until_path
from tests.programs import nothing
from windlass import Context, Handle, RunFailed
from windlass.errors import ClaimLost
from windlass.model.explanation import Explanation
from windlass.model.failure import Unretrieved
from windlass.model.run import RunId
from windlass.store.base import NoHooks
from windlass.testing.harness import Harness

TOLD = "no task has retrieved that"


async def double(number: int) -> int:
    return 2 * number


async def fail() -> None:
    raise LookupError("no such parcel")


async def refuse() -> None:
    raise TypeError("no stock")


async def explanation_of(harness: Harness, handle: Handle[Any]) -> Explanation:
    return await harness.opened.runs.explain_run("default", RunId(handle.id))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if TOLD in record.getMessage()]


def line_of(function: Any, *, further: int) -> int:
    return int(function.__code__.co_firstlineno) + further


async def until_explained(harness: Harness, handle: Handle[Any], code: str) -> Explanation:
    async def is_so() -> bool:
        return (await explanation_of(harness, handle)).code == code

    await eventually(is_so, what=f"explain says {code}")
    return await explanation_of(harness, handle)


async def test_a_run_that_waits_says_which_task_failed_and_where_and_fails_with_it_when_it_returns(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    replied = harness.app.event("replied", str)

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        begin(fail())
        return await ctx.receive(replied)

    handle = await harness.start(order)
    await harness.until(handle, "waiting")
    found = await explanation_of(harness, handle)

    place = f"test_task_errors.py:{line_of(fail, further=1)}"
    assert found.code == "task_failed"
    assert "for event 'replied' and holds no worker." in found.text
    assert (
        f"A task of its workflow ended at {place} with LookupError: no such parcel. No task has retrieved that: what "
        "waits for it waits in vain, and when the workflow returns the run fails with it. Let the workflow await that "
        "task." in found.text
    )
    assert warnings(caplog) == [
        f"A task of run {handle.id} ('order') ended with LookupError at {place}, and no task has retrieved that. If "
        "none does, the run fails with it when its workflow returns."
    ]
    await handle.send(replied, "yes")
    with pytest.raises(RunFailed) as failed:
        await handle.result()
    assert (failed.value.type, failed.value.message, failed.value.kind) == ("LookupError", "no such parcel", "logic")
    assert "completed" not in await path_of(harness, handle)


async def test_a_run_at_work_says_so_too_and_at_once(
    harness: Harness, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> str:
        begin(fail())
        await ctx.step(gate.wait)
        return "done"

    handle = await harness.start(order)
    await gate.reached()
    found = await until_explained(harness, handle, "task_failed")

    assert found.status == "running"
    assert "It is at work: worker " in found.text
    assert "with LookupError: no such parcel. No task has retrieved that" in found.text
    assert len(warnings(caplog)) == 1
    gate.open()
    with pytest.raises(RunFailed, match="no such parcel"):
        await handle.result()


async def test_a_run_that_waits_for_what_the_failed_task_was_to_do_says_so_and_is_not_parked_for_ever(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> str:
        packed = asyncio.Event()

        async def pack() -> None:
            await ctx.step(refuse)
            packed.set()

        begin(pack())
        await packed.wait()
        return "done"

    handle = await harness.start(order)
    found = await until_explained(harness, handle, "task_failed")

    assert found.status == "running"
    assert "with TypeError: no stock. No task has retrieved that" in found.text
    assert "refuse" not in warnings(caplog)[0]
    assert "at test_task_errors.py:" in warnings(caplog)[0]


async def test_the_error_of_a_step_fails_the_run_as_if_the_workflow_had_raised_it(harness: Harness) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> str:
        begin(ctx.step(refuse))
        await ctx.sleep("1h")
        return "done"

    handle = await harness.start(order)
    await harness.until(handle, "sleeping")
    assert (await explanation_of(harness, handle)).code == "task_failed"
    await harness.advance("1h")

    with pytest.raises(RunFailed) as failed:
        await handle.result()
    view = await harness.opened.runs.get_run("default", RunId(handle.id))
    assert view.failure is not None
    assert (failed.value.type, view.failure.step, "refuse" in view.failure.traceback) == ("TypeError", "refuse", True)


async def test_an_error_that_the_workflow_retrieves_later_fails_nothing_and_is_taken_back(harness: Harness) -> None:
    replied = harness.app.event("replied", str)
    gate = Gate()

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        task = begin(fail())
        await ctx.step(gate.wait)
        with contextlib.suppress(LookupError):
            await task
        return await ctx.receive(replied)

    handle = await harness.start(order)
    await gate.reached()
    await until_explained(harness, handle, "task_failed")
    gate.open()
    await harness.until(handle, "waiting")

    found = await explanation_of(harness, handle)
    assert (found.code, TOLD in found.text) == ("waiting_for_event", False)
    await handle.send(replied, "yes")
    assert await handle.result() == "yes"


class Transactions(NoHooks):
    """Which have been written."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def before_commit(self, name: str) -> None:
        self.written.append(name)


async def test_an_error_that_is_awaited_is_no_news(open_harness: OpenHarness, caplog: pytest.LogCaptureFixture) -> None:
    hooks = Transactions()
    harness = await open_harness(hooks=hooks)

    @harness.app.workflow
    async def order(ctx: Context) -> int:
        found = await asyncio.gather(fail(), ctx.step(double, 1), return_exceptions=True)
        nested = await asyncio.gather(asyncio.gather(fail(), return_exceptions=True), ctx.sleep("1h"))
        tasks = [begin(fail()), begin(ctx.step(double, 2, key="beside"))]
        await asyncio.wait(tasks)
        with contextlib.suppress(LookupError):
            tasks[0].result()
        with contextlib.suppress(LookupError):
            await begin(fail())
        with contextlib.suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
        return len(found) + len(nested)

    assert await harness.run(order) == 4
    assert warnings(caplog) == []
    assert "suspend_steps" not in hooks.written


async def test_a_cancelled_task_and_a_lost_race_are_no_errors(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> str:
        task = begin(ctx.sleep("1d"))
        await ctx.step(double, 1)
        task.cancel()
        with contextlib.suppress(LookupError):
            await ctx.race(late=ctx.sleep("1d"), broken=fail())
        await ctx.sleep("1h")
        return "done"

    assert await harness.run(order) == "done"
    assert warnings(caplog) == []


async def test_a_replay_finds_the_error_anew_and_the_run_still_fails_with_the_first(harness: Harness) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> str:
        async def later() -> None:
            await ctx.step(double, 1)
            await fail()

        begin(later())
        begin(ctx.step(refuse))
        for _ in range(3):
            await ctx.sleep("1h")
        return "done"

    handle = await harness.start(order)
    for _ in range(3):
        await harness.until(handle, "sleeping")
        found = await explanation_of(harness, handle)
        assert found.code == "task_failed"
        await harness.advance("1h")

    with pytest.raises(RunFailed) as failed:
        await handle.result()
    assert failed.value.message in found.text


async def test_what_was_said_under_another_claim_is_not_repeated_and_an_old_claim_says_nothing(
    idle_harness: Harness,
) -> None:
    order = idle_harness.app.workflow(name="order")(nothing)
    handle = await idle_harness.start(order)
    first, second = ByHand(idle_harness, "A"), ByHand(idle_harness, "B")
    held = await first.claim_one()
    said = Unretrieved(token=held.token, failure=BROKEN, place=" at order.py:17")
    await first.work.suspend_run(first.suspension(held, unretrieved=said))
    before = await explanation_of(idle_harness, handle)
    await first.work.release_run(first.claim_of(held))

    given_back = await explanation_of(idle_harness, handle)
    taken = await second.claim_one()
    with pytest.raises(ClaimLost):
        await first.work.suspend_run(first.suspension(held, unretrieved=said))
    after = await explanation_of(idle_harness, handle)

    assert taken.token > held.token
    told = "A task of its workflow ended at order.py:17 with Error: no. No task has retrieved that"
    assert [told in found.text for found in (before, given_back, after)] == [True, True, False]


async def test_a_note_that_says_nothing_takes_the_last_one_back(idle_harness: Harness) -> None:
    order = idle_harness.app.workflow(name="order")(nothing)
    handle = await idle_harness.start(order)
    hand = ByHand(idle_harness)
    held = await hand.claim_one()
    for failure in (BROKEN, None):
        said = Unretrieved(token=held.token, failure=failure)
        await hand.work.suspend_run(hand.suspension(held, unretrieved=said))

    assert "task" not in (await explanation_of(idle_harness, handle)).text


async def test_an_error_that_nobody_retrieves_is_not_reported_by_asyncio_as_well(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> None:
        begin(fail())
        await ctx.sleep("1h")

    with caplog.at_level(logging.DEBUG):
        handle = await harness.start(order)
        await until_path(harness, handle, "sleeping")
        await harness.advance("1h")
        with pytest.raises(RunFailed):
            await handle.result()
        await harness.idle()

    assert "never retrieved" not in caplog.text
    assert "no such parcel" not in caplog.text
