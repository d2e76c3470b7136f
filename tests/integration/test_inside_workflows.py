"""Is a workflow that asks the app itself, and so would ask again at every replay, told what to write instead?"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import windlass
from windlass import App, Context, Handle, NotAllowed, RunFailed, SyncHandle
from windlass.client.asks import Asks
from windlass.model.page import ListRuns
from windlass.testing.harness import Harness

NOBODY = "run_" + 26 * "0"

pytestmark = pytest.mark.parametrize("url", ["memory", "postgres"], indirect=True)


async def said_inside(harness: Harness, ask: Callable[[], Awaitable[Any]]) -> str:
    """What a workflow fails with that does this."""

    @harness.app.workflow
    async def asking(ctx: Context) -> None:
        await ask()

    with pytest.raises(RunFailed) as failed:
        await harness.run(asking)
    assert failed.value.type.endswith("NotAllowed")
    return failed.value.message


async def count_runs(harness: Harness, name: str) -> int:
    page = await harness.opened.runs.list_runs(ListRuns(namespace="default", name=name, limit=500))
    return len(page.runs)


async def order(ctx: Context, id: str) -> str:
    return f"order {id} done"


async def test_a_start_inside_a_workflow_is_refused_and_starts_nothing(harness: Harness) -> None:
    harness.app.workflow(order)

    said = await said_inside(harness, lambda: harness.app.start(order, "7"))

    assert said == (
        "app.start() inside a workflow would do this again at every replay. "
        "Use ctx.start(child, …) or ctx.run(child, …), or do it in a step."
    )
    assert await count_runs(harness, "order") == 0


@pytest.mark.parametrize(
    ("name", "arguments", "instead"),
    [
        (
            "result",
            (),
            "Use ctx.run(child, …), or child.result() of a child that ctx.start() gave, or do it in a step.",
        ),
        ("send", ("paid", 7), "Use child.send() of a child that ctx.start() gave, or do it in a step."),
        ("cancel", (), "Use child.cancel() of a child that ctx.start() gave, or do it in a step."),
        ("status", (), "Do it in a step."),
    ],
)
async def test_a_handle_inside_a_workflow_is_refused_with_what_to_use(
    harness: Harness, name: str, arguments: tuple[Any, ...], instead: str
) -> None:
    harness.app.event("paid", int)

    said = await said_inside(harness, lambda: getattr(harness.app.handle(NOBODY), name)(*arguments))

    assert said == f"handle.{name}() inside a workflow would do this again at every replay. {instead}"


def awaited_of(kind: type) -> list[str]:
    """The public methods of a class that are awaited."""
    found = inspect.getmembers(kind, inspect.iscoroutinefunction)
    return [name for name, _ in found if not name.startswith("_")]


async def test_no_question_of_an_app_is_left_out(harness: Harness) -> None:
    harness.app.workflow(order)
    calls: dict[str, Callable[[App], Awaitable[Any]]] = {
        "start": lambda app: app.start(order, "7"),
        "start_many": lambda app: app.start_many([windlass.call(order, "7")]),
        "publish": lambda app: app.publish(app.topic("orders", str), "7", id="7"),
        "publish_many": lambda app: app.publish_many(app.topic("orders", str), [("7", "7")]),
        "pause": lambda app: app.pause(queue="default"),
        "resume": lambda app: app.resume(queue="default"),
        "when": lambda app: app.when(order, enters="failed"),
    }
    assert sorted(calls) == awaited_of(Asks)

    for name, call in calls.items():
        said = await said_inside(harness, lambda call=call: call(harness.app))  # type: ignore[misc]
        assert said.startswith(f"app.{name}() inside a workflow would do this again at every replay. ")
    assert await count_runs(harness, "order") == 0


async def test_no_question_of_a_handle_is_left_out(harness: Harness) -> None:
    paid = harness.app.event("paid", int)
    names = awaited_of(Handle)
    assert len(names) >= 10

    for name in names:
        arguments = (paid, 7) if name == "send" else ()
        said = await said_inside(
            harness,
            lambda name=name, arguments=arguments: getattr(harness.app.handle(NOBODY), name)(*arguments),  # type: ignore[misc]
        )
        assert said.startswith(f"handle.{name}() inside a workflow ")


async def test_no_question_about_items_and_signals_is_left_out(harness: Harness) -> None:
    app = harness.app
    item = await app.items.create("Move the archive")
    signal = await app.when(item, enters="done")
    arguments = {"get": ("id",), "create": ("title",), "move": ("done",), "add_task": ("title",), "end_task": ("id",)}
    held = {"app.items": app.items, "item": item, "app.signals": app.signals, "signal": signal}

    for holder, asked in held.items():
        for name in awaited_of(type(asked)):
            given = arguments.get(name, ())
            said = await said_inside(
                harness,
                lambda asked=asked, name=name, given=given: getattr(asked, name)(*given),  # type: ignore[misc]
            )
            assert said == f"{holder}.{name}() inside a workflow would do this again at every replay. Do it in a step."


async def test_blocking_questions_are_refused_in_the_same_way_also_from_a_thread(harness: Harness) -> None:
    harness.app.workflow(order)

    async def ask_here() -> SyncHandle[str]:
        return harness.app.sync.start(order, "7")

    here = await said_inside(harness, ask_here)
    in_a_thread = await said_inside(harness, lambda: asyncio.to_thread(harness.app.sync.start, order, "7"))
    of_a_handle = await said_inside(harness, lambda: asyncio.to_thread(harness.app.sync.handle(NOBODY).status))

    assert here == in_a_thread
    assert here.startswith("app.sync.start() inside a workflow would do this again at every replay. Use ctx.start(")
    assert of_a_handle.startswith("status() of a handle of app.sync inside a workflow ")
    assert await count_runs(harness, "order") == 0


async def test_tasks_of_the_workflow_are_inside_it(harness: Harness) -> None:
    harness.app.workflow(order)

    async def in_a_task() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(start_later())

    async def start_later() -> None:
        try:
            await harness.app.start(order, "7")
        except NotAllowed as refused:
            said.append(str(refused))
            raise

    said = list[str]()

    @harness.app.workflow
    async def asking(ctx: Context) -> None:
        await in_a_task()

    with pytest.raises(RunFailed):
        await harness.run(asking)

    assert said[0].startswith("app.start() inside a workflow ")


async def test_a_step_may_ask_the_app_and_so_may_whoever_started_the_run(harness: Harness) -> None:
    harness.app.workflow(order)

    async def place(id: str) -> str:
        handle = await harness.app.start(order, id, key=f"order-{id}")
        return await handle.result()

    @harness.app.workflow
    async def shop(ctx: Context) -> str:
        await ctx.sleep("1s")
        return await ctx.step(place, "7")

    handle = await harness.app.start(shop)
    await harness.until(handle, "sleeping")
    await harness.advance("1s")

    assert await handle.result() == "order 7 done"
    assert await harness.app.handle(order, key="order-7").status() == "completed"
