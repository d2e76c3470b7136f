"""Is a run executed by the version it was started with, and by no other one?"""

from __future__ import annotations

import pytest

from tests.integration.conftest import OpenHarness, row_of
from windlass import AlreadyExists, Context
from windlass.model.run import RunId
from windlass.testing.harness import Harness


async def order_as_it_was(ctx: Context, id: str) -> str:
    await ctx.sleep("1d")
    return f"{id} the old way"


async def order_as_it_is(ctx: Context, id: str) -> str:
    await ctx.sleep("2d")
    return f"{id} the new way"


def declare(harness: Harness, *versions: str) -> None:
    functions = {"1": order_as_it_was, "2": order_as_it_is}
    for version in versions:
        harness.app.workflow(name="order", version=version)(functions[version])


async def situation_of(harness: Harness, run_id: str) -> str:
    return (await harness.opened.runs.explain_run("default", RunId(run_id))).code.value


@pytest.mark.spec("security:91")
async def test_a_run_waits_while_only_another_version_is_served_and_goes_on_when_its_own_is_back(
    open_shared: OpenHarness,
) -> None:
    before, after = await open_shared(has_worker=False), await open_shared(has_worker=False)
    declare(before, "1")
    declare(after, "2")
    async with before.app.worker():
        old = await before.start(order_as_it_was, "7")
        await before.until(old, "sleeping")
    before.clock.advance("1d")

    async with after.app.worker():
        new = await after.start(order_as_it_is, "8")
        await after.until(new, "sleeping")
        explained = await situation_of(after, old.id), await after.app.handle(old.id).explain()
        assert await old.status() == "sleeping"
        declare(after, "1")
        assert await old.result() == "7 the old way"
        after.clock.advance("2d")
        assert await new.result() == "8 the new way"

    assert explained[0] == "other_version"
    assert "'1'" in explained[1]
    assert (await row_of(after, old)).attempts == 2


async def test_one_process_serves_two_versions_of_a_name_and_drains_the_old_one(harness: Harness) -> None:
    declare(harness, "1", "2")
    old, new = await harness.start(order_as_it_was, "7"), await harness.start(order_as_it_is, "8")
    await harness.idle()
    await harness.advance("1d")
    assert await old.result() == "7 the old way"
    assert await new.status() == "sleeping"
    await harness.advance("1d")

    assert await new.result() == "8 the new way"
    assert [(await row_of(harness, handle)).version for handle in (old, new)] == ["1", "2"]


async def test_a_key_belongs_to_one_version(harness: Harness) -> None:
    declare(harness, "1", "2")
    first = await harness.start(order_as_it_was, "7", key="order-7")
    await harness.until(first, "sleeping")

    with pytest.raises(AlreadyExists) as refused:
        await harness.start(order_as_it_is, "7", key="order-7")

    assert str(refused.value) == (
        f"Key 'order-7' belongs to {first.id} (sleeping) of version '1', not '2'. Use another key."
    )


async def test_a_handle_reads_the_result_by_the_version_that_made_it(harness: Harness) -> None:
    @harness.app.workflow(name="weigh", version="1")
    async def weigh_as_text(ctx: Context) -> str:
        return "500 g"

    @harness.app.workflow(name="weigh", version="2")
    async def weigh(ctx: Context) -> int:
        return 500

    handles = [await harness.start(weigh_as_text), await harness.start(weigh)]

    results = [await harness.app.handle(handle.id).result() for handle in handles]

    assert results == ["500 g", 500]


async def test_versions_of_one_function_stand_side_by_side(harness: Harness) -> None:
    """As in a module that keeps the old body above the new one, or a notebook that goes on to the next version."""

    @harness.app.workflow(version="1")
    async def greet(ctx: Context) -> str:
        return "hello"

    before = greet

    @harness.app.workflow(version="2")  # type: ignore[no-redef]
    async def greet(ctx: Context) -> str:
        return "good day"

    assert await harness.run(before) == "hello"
    assert await harness.run(greet) == "good day"


async def test_a_run_without_a_version_waits_for_a_workflow_without_one(open_shared: OpenHarness) -> None:
    before, after = await open_shared(has_worker=False), await open_shared(has_worker=False)
    before.app.workflow(name="order")(order_as_it_was)
    handle = await before.start(order_as_it_was, "7")
    declare(after, "2")

    async with after.app.worker():
        other = await after.start(order_as_it_is, "8")
        await after.until(other, "sleeping")
        assert (await handle.status(), await situation_of(after, handle.id)) == ("pending", "other_version")
        after.app.workflow(name="order")(order_as_it_was)
        await after.until(handle, "sleeping")
