"""Are many starts checked together, stored together, and answered one by one?"""

from __future__ import annotations

import re
from typing import Any

import pytest

import windlass
from tests.integration.conftest import OpenHarness
from windlass import AlreadyExists, Context, InvalidInput, NotFound
from windlass.client.calls import MAX_CALLS
from windlass.model.page import ListRuns
from windlass.testing.harness import Harness


async def order(ctx: Context, id: str, count: int = 1) -> str:
    return f"{count} of {id}"


async def weigh(ctx: Context, grams: int) -> float:
    return grams / 1000


@pytest.fixture
async def shop(open_harness: OpenHarness) -> Harness:
    """An app that knows "order" and "weigh", and has no worker."""
    harness = await open_harness(has_worker=False)
    harness.app.workflow(order)
    harness.app.workflow(weigh, name="scales")  # type: ignore[call-overload]
    return harness


async def keys_of(harness: Harness) -> list[str | None]:
    """The start keys of all runs there are, in the order of their creation."""
    page = await harness.opened.runs.list_runs(ListRuns(namespace="default", limit=500))
    return [(await harness.opened.runs.get_run("default", run.id)).key for run in reversed(page.runs)]


async def test_handles_come_in_the_order_of_the_calls_and_so_do_the_runs(shop: Harness) -> None:
    calls = [windlass.call(order, str(number), number, key=f"order-{number}") for number in range(200)]

    handles = await shop.app.start_many(calls)
    async with shop.app.worker():
        results = [await handle.result() for handle in handles]

    assert results == [f"{number} of {number}" for number in range(200)]
    assert await keys_of(shop) == [f"order-{number}" for number in range(200)]


async def test_calls_may_be_of_several_workflows_and_carry_every_option(shop: Harness) -> None:
    calls: list[windlass.Call[Any]] = [
        windlass.call(order, "7", delay="1h", priority=3, queue="mail"),
        windlass.call(weigh, 500),
    ]

    handles = await shop.app.start_many(iter(calls))

    runs = [(await shop.opened.runs.get_run("default", handle.id)).run for handle in handles]  # type: ignore[arg-type]
    assert [(run.name, run.queue, run.priority) for run in runs] == [("order", "mail", 3), ("scales", "default", 0)]
    assert runs[0].available_at == shop.clock.now() + 3_600_000_000


async def test_no_calls_are_no_runs(shop: Harness) -> None:
    assert await shop.app.start_many([]) == []
    assert await keys_of(shop) == []


@pytest.mark.parametrize(
    ("bad", "text", "path"),
    [
        (windlass.call(order, 7), "calls[1]: Workflow 'order': ", "calls[1].$.id"),  # type: ignore[arg-type]
        (windlass.call(order, "7", priority=99), "calls[1]: ", "calls[1].priority"),
        (windlass.call(order), "calls[1]: Workflow 'order' needs 'id' (str)", "calls[1].$.id"),  # type: ignore[arg-type]
        (windlass.call(order, "7", region="eu"), "calls[1]: start() has no option", "calls[1].region"),  # type: ignore[call-arg]
        (order, "start_many() takes a list of calls, and calls[1] is a function.", "calls[1]"),
        (None, "start_many() takes a list of calls, and calls[1] is a NoneType.", "calls[1]"),
    ],
)
async def test_nothing_is_stored_if_one_call_is_wrong(shop: Harness, bad: Any, text: str, path: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(text)) as refused:
        await shop.app.start_many([windlass.call(order, "1"), bad, windlass.call(order, "3")])

    assert refused.value.path == path
    assert await keys_of(shop) == []


async def test_an_undeclared_workflow_is_refused_before_anything_is_stored(shop: Harness) -> None:
    async def stranger(ctx: Context) -> None: ...

    with pytest.raises(NotFound, match="Workflow 'stranger' does not exist"):
        await shop.app.start_many([windlass.call(order, "1"), windlass.call(stranger)])

    assert await keys_of(shop) == []


async def test_what_is_no_list_says_what_to_write(shop: Harness) -> None:
    with pytest.raises(InvalidInput) as refused:
        await shop.app.start_many(windlass.call(order, "7"))  # type: ignore[arg-type]

    assert await shop.app.start_many([windlass.call(order, "7")])
    assert str(refused.value) == (
        "start_many() takes a list of calls, not one: app.start_many([windlass.call(order, '7'), …])."
    )


async def test_more_than_ten_thousand_are_refused(shop: Harness) -> None:
    one = windlass.call(order, "7", key="same")

    with pytest.raises(InvalidInput) as refused:
        await shop.app.start_many([one] * (MAX_CALLS + 1))

    assert str(refused.value) == ("start_many() takes up to 10,000 calls and got 10,001. Start them in several lots.")
    assert await keys_of(shop) == []


async def test_one_key_several_times_in_a_list_is_one_run(shop: Harness) -> None:
    handles = await shop.app.start_many([windlass.call(order, "7", key="order-7")] * 50)

    assert len({handle.id for handle in handles}) == 1
    assert await keys_of(shop) == ["order-7"]


@pytest.mark.spec("security:39")
async def test_of_conflicting_keys_the_position_is_said_and_all_others_are_started(shop: Harness) -> None:
    owner = await shop.start(order, "2", key="k2")

    with pytest.raises(AlreadyExists) as refused:
        await shop.app.start_many([windlass.call(order, str(number), key=f"k{number % 4}") for number in range(1, 6)])

    assert str(refused.value) == (
        "calls[4]: Key 'k1' belongs to "
        f"{await id_of(shop, 'k1')} (pending) with other input: ['1'], not ['5']. "
        "Use another key, or app.handle(order, key='k1'). All other calls are started."
    )
    assert refused.value.reason == "idempotency_conflict"
    assert owner.id == await id_of(shop, "k2")
    assert await keys_of(shop) == ["k2", "k1", "k3", "k0"]


@pytest.mark.spec("security:39")
async def test_of_several_conflicts_every_position_is_said(shop: Harness) -> None:
    await shop.app.start_many([windlass.call(order, "x", key=f"k{number}") for number in (1, 3)])

    with pytest.raises(AlreadyExists) as refused:
        await shop.app.start_many([windlass.call(order, "y", key=f"k{number}") for number in range(5)])

    assert str(refused.value).startswith("calls[1]: Key 'k1' belongs to ")
    assert str(refused.value).endswith(" Also refused: calls[3]; all other calls are started.")
    assert sorted(filter(None, await keys_of(shop))) == ["k0", "k1", "k2", "k3", "k4"]


async def test_of_very_many_conflicts_the_first_positions_are_said(shop: Harness) -> None:
    await shop.app.start_many([windlass.call(order, "x", key=f"k{number}") for number in range(100)])

    with pytest.raises(AlreadyExists, match=r"calls\[20\] and 79 more; all other calls are started\.$"):
        await shop.app.start_many([windlass.call(order, "y", key=f"k{number}") for number in range(100)])


async def id_of(harness: Harness, key: str) -> str:
    handle = harness.app.handle(order, key=key)
    await handle.status()
    return handle.id
