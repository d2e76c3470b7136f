"""Do the first errors a user meets read as they should, word for word?"""

from __future__ import annotations

import asyncio
import logging
import socket
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.programs import steps
from windlass import AlreadyExists, Context, InvalidInput, NotAllowed, ReplayMismatch, RunFailed
from windlass.testing.harness import Harness

HERE = "test_first_errors.py"


@dataclass
class User:
    id: int


async def message_of(harness: Harness, workflow: Any, *args: Any) -> str:
    with pytest.raises(RunFailed) as failed:
        await harness.run(workflow, *args)
    return failed.value.message


async def test_1_a_run_nobody_serves_is_said_so_three_seconds_into_result(
    open_harness: OpenHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness = await open_harness(has_worker=False)

    @harness.app.workflow
    async def order(ctx: Context) -> str:
        return "done"

    handle = await harness.start(order)
    waiting = asyncio.ensure_future(handle.result())

    def warnings() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "windlass.client"]

    await eventually(lambda: harness.clock.next_timer() is not None, what="result() waits")
    harness.clock.advance("2999ms")
    await asyncio.wait([waiting], timeout=0.02)
    assert warnings() == []
    harness.clock.advance("1ms")
    await eventually(lambda: bool(warnings()), what="the warning")

    assert warnings() == [
        f"Run {handle.id} ('order') is pending and no live worker runs 'order'. "
        f'Start one: windlass worker {__name__}:app, or "async with app.worker():".'
    ]
    async with harness.app.worker():
        assert await waiting == "done"


async def test_1_is_not_said_of_a_run_that_is_served(
    harness: Harness, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    order = harness.app.workflow(steps(gate.wait))
    handle = await harness.start(order)
    waiting = asyncio.ensure_future(handle.result())
    await gate.reached()
    for _ in range(10):
        harness.clock.advance("1s")
        await asyncio.wait([waiting], timeout=0.005)
    gate.open()
    await waiting

    assert [record for record in caplog.records if record.name == "windlass.client"] == []


async def test_2_run_inside_a_running_loop_names_the_way(harness: Harness) -> None:
    @harness.app.workflow
    async def order(ctx: Context, id: str) -> str:
        return id

    with pytest.raises(NotAllowed) as refused:
        harness.app.run(order, "7")

    assert str(refused.value) == (
        "app.run() starts an event loop and one is already running (Jupyter, FastAPI?). "
        "Use: handle = await app.start(order, '7')."
    )


async def test_3_a_sync_workflow_is_refused_at_its_declaration(harness: Harness) -> None:
    def order(ctx: Context) -> str:
        return "done"

    with pytest.raises(InvalidInput) as refused:
        harness.app.workflow(order)  # type: ignore[type-var]

    line = order.__code__.co_firstlineno
    assert str(refused.value) == (
        f"Workflow 'order' ({HERE}:{line}) must be \"async def\". Its steps may be plain functions."
    )


async def test_4_an_unknown_option_says_how_arguments_go(harness: Harness) -> None:
    def fetch(region: str) -> str:
        return region

    @harness.app.workflow
    async def order(ctx: Context) -> Any:
        return await ctx.step(fetch, region="eu")  # type: ignore[call-overload]

    assert await message_of(harness, order) == (
        "step() has no option 'region'. Arguments of fetch go by position: ctx.step(fetch, 'eu'), "
        "or functools.partial(fetch, region='eu'). Options: key, name, retry, timeout, visibility."
    )


async def test_5_a_result_without_a_declared_type_is_refused(harness: Harness) -> None:
    def fetch_user(id: int):  # type: ignore[no-untyped-def]
        return User(id)

    order = harness.app.workflow(steps(fetch_user, 1))

    assert await message_of(harness, order) == (
        "Step 'fetch_user' returned a User but declares no return type; after a crash it would come back as a dict. "
        'Write "-> User".'
    )


async def test_6_a_result_that_cannot_be_stored_is_named_by_its_place(harness: Harness) -> None:
    def fetch() -> Any:
        with socket.socket() as connection:
            return {"rows": [1, 2, 3, {"conn": connection}]}

    order = harness.app.workflow(steps(fetch))

    assert await message_of(harness, order) == (
        "Step 'fetch' ran, but its result cannot be stored: $.rows[3].conn is a socket. "
        "Return plain data, a dataclass, a Struct or a pydantic model."
    )


async def test_7_code_that_changed_under_a_run_is_told_with_its_place(harness: Harness) -> None:
    code = ["old"]

    def ship() -> None: ...

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        if code[0] == "old":
            await ctx.sleep("1h")
        else:
            await ctx.step(ship, name="sleep")

    handle = await harness.start(order)
    await harness.idle()
    code[0] = "new"
    await harness.advance("1h")

    with pytest.raises(ReplayMismatch) as mismatch:
        await handle.result()
    line = order.__code__.co_firstlineno + 5
    assert str(mismatch.value) == (
        f"Run {handle.id} is paused: history has 'sleep' as a sleep, "
        f"the code ({HERE}:{line}) now asks for it as a step. "
        f'The code changed under a running run: restore it and "windlass resume {handle.id}", '
        f'or "windlass retry {handle.id} --from sleep".'
    )


async def test_8_a_key_with_other_input_names_both(harness: Harness) -> None:
    @harness.app.workflow
    async def order(ctx: Context, id: str) -> str:
        return id

    handle = await harness.start(order, "7", key="order-7")
    await handle.result()
    harness.clock.advance("2h")

    with pytest.raises(AlreadyExists) as conflict:
        await harness.start(order, "8", key="order-7")
    assert str(conflict.value) == (
        f"Key 'order-7' belongs to {handle.id} (completed 2 h ago) with other input: ['7'], not ['8']. "
        "Use another key, or app.handle(order, key='order-7')."
    )


async def test_9_one_step_from_two_branches_asks_for_keys(harness: Harness) -> None:
    async def g(x: int) -> int:
        return x

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        async def branch(x: int) -> None:
            await ctx.step(g, x)

        await asyncio.gather(branch(1), branch(2))

    assert await message_of(harness, order) == (
        "Step 'g' is called from two concurrent branches, so its order is not repeatable. "
        "Give each a key: ctx.step(g, x, key=x.id)."
    )


async def test_the_database_in_use_is_logged_without_its_password(
    open_harness: OpenHarness, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="windlass")

    await open_harness(has_worker=False)

    (said,) = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Using ")]
    assert said.removeprefix("Using ") in {url, url.removeprefix("sqlite:///")}
