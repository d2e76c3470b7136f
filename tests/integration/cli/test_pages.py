"""Does a walk through the pages of a list meet every run once, whatever happens to the list meanwhile?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.cli.scene import Scene, a_sale_to_pack, declare_order
from tests.integration.conftest import OpenHarness
from windlass import Context
from windlass.client.handle import Handle
from windlass.model.duration import to_duration
from windlass.model.page import ListRuns
from windlass.model.run import RunId, RunStatus
from windlass.model.time import Instant
from windlass.testing.harness import Harness

Filters = dict[str, Any]


async def declared(open_harness: OpenHarness) -> Harness:
    """A shop whose runs wait for better times, in two queues and of two names."""
    harness = await open_harness(has_worker=False)

    @harness.app.workflow
    async def order(ctx: Context) -> None: ...

    @harness.app.workflow
    async def refund(ctx: Context) -> None: ...

    return harness


async def start(harness: Harness, number: int) -> Handle[Any]:
    order, refund = harness.app._registry.workflows
    workflow = order if number % 3 else refund
    handle = await harness.app.start(workflow.function, delay="1h", queue="fast" if number % 2 else "slow")
    if number % 4 == 0:
        await handle.pause()
    return handle


async def pages(harness: Harness, *, limit: int, **filters: Any) -> AsyncIterator[list[RunId]]:
    """The pages of a list, read one after the other."""
    before: str | None = None
    while True:
        page = await harness.opened.runs.list_runs(ListRuns(namespace="default", before=before, limit=limit, **filters))
        yield [run.id for run in page.runs]
        if page.next is None:
            return
        before = page.next


FILTERS: list[Filters] = [
    {},
    {"status": RunStatus.PAUSED},
    {"name": "refund"},
    {"queue": "slow", "status": RunStatus.PENDING},
]


@pytest.mark.spec("invariants:I-59")
@pytest.mark.parametrize("filters", FILTERS, ids=lambda filters: "+".join(filters) or "all")
async def test_over_an_unchanging_set_every_run_is_met_once(open_harness: OpenHarness, filters: Filters) -> None:
    harness = await declared(open_harness)
    for number in range(25):
        await start(harness, number)
    (all_at_once,) = [page async for page in pages(harness, limit=100, **filters)]

    for limit in (1, 2, 5, 24, 25, 26):
        walked = [page async for page in pages(harness, limit=limit, **filters)]
        assert [run for page in walked for run in page] == all_at_once == sorted(all_at_once, reverse=True)
        assert all(len(page) == limit for page in walked[:-1])


@pytest.mark.spec("invariants:I-59")
@pytest.mark.parametrize("filters", FILTERS, ids=lambda filters: "+".join(filters) or "all")
async def test_over_a_changing_set_none_is_met_twice_and_none_that_stays_is_missed(
    open_harness: OpenHarness, filters: Filters
) -> None:
    harness = await declared(open_harness)
    handles = [await start(harness, number) for number in range(24)]
    before = {run for page in [page async for page in pages(harness, limit=100, **filters)] for run in page}
    walked: list[RunId] = []

    number = len(handles)
    async for page in pages(harness, limit=2, **filters):
        walked += page
        # Between two pages some come, and one that was read and one that was not change what they are.
        for _ in range(3):
            await start(harness, number)
            number += 1
        harness.clock.advance("1s")
        for handle in (handles.pop(), handles.pop(0)) if len(handles) > 1 else ():
            await handle.cancel()

    after = {run for page in [page async for page in pages(harness, limit=500, **filters)] for run in page}
    assert len(walked) == len(set(walked))
    assert before & after <= set(walked)


async def test_children_are_found_by_their_parent_and_runs_by_their_time(open_harness: OpenHarness) -> None:
    harness = await open_harness()

    @harness.app.workflow
    async def child(ctx: Context, number: int) -> None:
        await ctx.sleep("1h")

    @harness.app.workflow
    async def parent(ctx: Context, count: int) -> None:
        for number in range(count):
            await ctx.start(child, number, key=str(number))
        await ctx.sleep("1h")

    first = await harness.start(parent, 5)
    await harness.idle()
    harness.clock.advance("10s")
    second = await harness.start(parent, 1)
    await harness.idle()

    async def listed(**filters: Any) -> list[RunId]:
        return [run async for page in pages(harness, limit=2, **filters) for run in page]

    everything = await listed()
    of_first, of_second = await listed(parent=RunId(first.id)), await listed(parent=RunId(second.id))
    assert (len(of_first), len(of_second)) == (5, 1)
    assert of_first == sorted(of_first, reverse=True)
    assert {*of_first, *of_second, first.id, second.id} == set(everything)
    recent = Instant(harness.clock.now() - to_duration("5s"))
    assert set(await listed(created_after=recent)) == {second.id, *of_second}
    assert await listed(created_after=recent, parent=RunId(first.id)) == []
    assert await listed(parent=RunId(of_first[0])) == []
    assert await listed(parent=RunId(first.id), status=RunStatus.COMPLETED) == []


# Typed


def test_filters_select_by_age_parent_and_key(either: Scene) -> None:
    run_id, child_id = either.play(a_sale_to_pack)
    either.clock.advance("2h")

    async def another(harness: Harness) -> str:
        return (await harness.start(declare_order(harness), "9", delay="1h")).id

    late_id = either.play(another, has_worker=False)

    def listed(*args: str) -> list[str]:
        return [run["id"] for run in either.json("runs", *args)["runs"]]

    assert set(listed()) == {run_id, child_id, late_id}
    assert listed("--since", "1h") == [late_id]
    assert len(listed("--since", "3h")) == 3
    assert listed("--parent", run_id[:-1]) == [child_id]
    assert listed("--parent", run_id, "--since", "1h") == []
    assert listed("--parent", child_id) == []
    assert listed("--workflow", "sell") == listed("--name", "sell") == [run_id]
    assert listed("--key", "sale-7") == [run_id]
    assert listed("--key", "sale-7", "--workflow", "sell", "--status", "waiting", "--queue", "default") == [run_id]
    for other in (["--status", "failed"], ["--workflow", "pack"], ["--since", "1h"], ["--parent", child_id]):
        assert listed("--key", "sale-7", *other) == []
    assert listed("--key", "nobody") == []
    assert either.shown("runs", "--key", "nobody") == "No runs match.\n"


@pytest.mark.spec("security:92")
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--since", "-1h"),
        ("--since", "yesterday"),
        ("--since", ""),
        ("--parent", "garbage"),
        ("--parent", "run_"),
        ("--key", ""),
        ("--key", "bad\udcff"),
    ],
)
def test_a_bad_filter_is_refused_naming_the_option(scene: Scene, option: str, value: str) -> None:
    scene.shown("migrate")

    assert option in scene.refused("runs", option, value, exit_code=2)


def test_a_parent_that_is_not_there_is_said(scene: Scene) -> None:
    scene.shown("migrate")

    assert scene.refused("runs", "--parent", "run_ZZZZ") == "run 'run_ZZZZ' does not exist."
