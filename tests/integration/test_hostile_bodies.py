"""What if a body returns what cannot be stored, raises what cannot be shown, or asks the process to stop?"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.integration.conftest import Gate, path_of, row_of
from tests.programs import steps
from windlass import App, Context, Retry, RunFailed, StepFailed
from windlass.codec import MAX_PAYLOAD, MAX_SAFE_TEXT
from windlass.model.step import StepStatus
from windlass.settings import Settings
from windlass.testing.harness import Harness


def cycle() -> Any:
    found: list[Any] = []
    found.append(found)
    return found


def nested(depth: int) -> Any:
    found: Any = None
    for _ in range(depth):
        found = [found]
    return found


def returns_lambda() -> Any:
    return {"rows": [1, 2, lambda: None]}


def returns_nan() -> Any:
    return {"x": [float("nan")]}


def returns_surrogate() -> Any:
    return "\ud800"


def returns_number_keys() -> Any:
    return {1: "a", "1": "b"}


def returns_deep() -> Any:
    return nested(70)


def returns_too_much() -> Any:
    return "x" * (MAX_PAYLOAD + 1)


def returns_wrong_type() -> int:
    return "7"  # type: ignore[return-value]


async def returns_generator() -> Any:
    return (number for number in range(3))


async def returns_coroutine() -> Any:
    async def inner() -> int:
        return 1

    found = inner()
    found.close()
    return found


async def returns_open_stream() -> Any:
    async def stream() -> AsyncIterator[int]:
        yield 1

    return stream()


@pytest.mark.spec("security:31")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (returns_lambda, "its result cannot be stored: $.rows[2] is a function"),
        (cycle, "its result cannot be stored"),
        (returns_nan, "non-finite number at $.x[0]"),
        (returns_surrogate, "its result cannot be stored"),
        (returns_number_keys, "keys must be strings"),
        (returns_deep, "depth > 64"),
        (returns_too_much, f"limit {MAX_PAYLOAD}"),
        (returns_wrong_type, "returned a str but declares"),
        (returns_generator, "is a generator"),
        (returns_coroutine, "is a coroutine"),
        (returns_open_stream, "is an async_generator"),
    ],
)
async def test_a_result_that_cannot_be_stored_fails_the_step_once_and_clearly(
    harness: Harness, body: Any, words: str
) -> None:
    entered: list[int] = []

    def produce() -> Any:
        entered.append(1)
        return body()

    wrapped = body if asyncio.iscoroutinefunction(body) or body is returns_wrong_type else produce
    order = harness.app.workflow(steps(wrapped, retry=Retry(5)))
    handle = await harness.start(order)

    with pytest.raises(RunFailed) as failed:
        await handle.result()
    assert words in failed.value.message
    assert (failed.value.type, failed.value.kind) == ("InvalidInput", "logic")
    assert len(entered) <= 1  # trying again would not help
    (step,) = await harness.steps(handle)
    assert (step.status, step.attempt, step.output) == (StepStatus.FAILED, 1, None)


@pytest.mark.spec("security:31")
async def test_a_result_of_the_largest_size_is_stored(harness: Harness) -> None:
    text = "x" * (MAX_PAYLOAD - 100)

    def produce() -> str:
        return text

    @harness.app.workflow
    async def order(ctx: Context) -> int:
        found = await ctx.step(produce)
        await ctx.sleep("1s")
        return len(found)

    assert await harness.run(order) == len(text)


async def test_a_result_of_the_workflow_that_cannot_be_stored_fails_the_run(harness: Harness) -> None:
    @harness.app.workflow
    async def order(ctx: Context) -> Any:
        with socket.socket() as connection:
            return {"connection": connection}

    with pytest.raises(RunFailed, match=r"Workflow 'order' ran, but its result cannot be stored: \$\.connection is a"):
        await harness.run(order)


@pytest.mark.spec("security:26")
async def test_an_argument_that_cannot_be_stored_is_refused_before_the_body_runs(harness: Harness) -> None:
    entered: list[Any] = []

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await ctx.step(entered.append, object(), name="note")

    handle = await harness.start(order)

    with pytest.raises(RunFailed, match="InvalidInput"):
        await handle.result()
    assert entered == []
    assert await harness.steps(handle) == ()


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    def __repr__(self) -> str:
        raise RuntimeError("no words either")


class Loud(Exception):
    def __str__(self) -> str:
        return "x" * 10_000_000


class Unusual(BaseException):
    pass


class Bad(Exception):
    def __str__(self) -> str:
        return "\ud800 and \x00"


def chained() -> Exception:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def large_group() -> Exception:
    return ExceptionGroup("many", [ExceptionGroup("more", [ValueError(n) for n in range(200)]) for _ in range(50)])


@pytest.mark.spec("security:32", "security:33")
@pytest.mark.parametrize(
    ("error", "type_name", "message"),
    [
        (Mute(), "Mute", "<Mute whose text cannot be read: RuntimeError>"),
        (Loud(), "Loud", None),
        (Unusual("odd"), "Unusual", "odd"),
        (Bad(), "Bad", r"\ud800 and \x00"),
        (chained(), "ValueError", "first"),
        (large_group(), "ExceptionGroup", "many (50 sub-exceptions)"),
        (StopIteration("over"), "RuntimeError", None),
        (asyncio.CancelledError("by hand"), "CancelledError", None),
        (GeneratorExit("odd"), "GeneratorExit", None),
        (RecursionError("deep"), "RecursionError", "deep"),
        (MemoryError(), "MemoryError", ""),
        (KeyError("card"), "KeyError", "'card'"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "task"])
async def test_any_exception_is_recorded_within_bounds(
    harness: Harness, error: BaseException, type_name: str, message: str | None, is_async: bool
) -> None:
    def in_thread() -> NoReturn:
        raise error

    async def in_task() -> NoReturn:
        raise error

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        if is_async:
            await ctx.step(in_task, retry=Retry(1))
        else:
            await ctx.step(in_thread, retry=Retry(1))

    handle = await harness.start(order)

    with pytest.raises(RunFailed) as failed:
        await handle.result()
    assert failed.value.type == type_name
    assert message is None or failed.value.message == message
    assert len(failed.value.message.encode()) <= MAX_SAFE_TEXT
    assert len(failed.value.traceback) <= 20_000
    assert "\x00" not in failed.value.traceback


async def test_a_recursion_without_end_is_a_logic_error_and_harms_nobody_else(harness: Harness) -> None:
    def recurse(number: int) -> int:
        return recurse(number + 1)

    @harness.app.workflow
    async def deep(ctx: Context) -> str:
        try:
            await ctx.step(recurse, 0)
        except StepFailed as error:
            return error.kind
        return "returned"

    assert await harness.run(deep) == "logic"


async def test_a_workflow_may_raise_anything_too(harness: Harness) -> None:
    @harness.app.workflow
    async def odd(ctx: Context, number: int) -> None:
        raise (Mute(), Unusual("odd"), large_group(), asyncio.CancelledError("by itself"))[number]

    found = []
    for number in range(4):
        with pytest.raises(RunFailed) as failed:
            await harness.run(odd, number)
        found.append(failed.value.type)

    assert found == ["Mute", "Unusual", "ExceptionGroup", "CancelledError"]


async def test_a_body_that_ignores_its_cancellation_keeps_its_slot_and_nothing_it_returns_counts(
    harness: Harness, gate: Gate
) -> None:
    entered: list[int] = []

    async def stubborn() -> str:
        entered.append(1)
        if len(entered) > 1:
            return "second"
        try:
            await gate.wait()
        except asyncio.CancelledError:
            await door.wait()
        return "first"

    door = asyncio.Event()
    order = harness.app.workflow(steps(stubborn))
    handle = await harness.start(order)
    await gate.reached()
    harness.clock.advance("301s")

    assert await handle.result() == "second"
    assert len(harness.app._workers[0].executions) == 1
    door.set()
    await harness.idle()
    assert await handle.result() == "second"
    assert (await row_of(harness, handle)).attempts == 2


PROGRAM = """
import sys
import windlass

url, how, marker = sys.argv[1:]
app = windlass.App(url)

def interrupted():
    try:
        open(marker, "x").close()
    except FileExistsError:
        return "went on"
    raise {"KeyboardInterrupt": KeyboardInterrupt, "SystemExit": SystemExit}[how.removeprefix("async ")](3)

async def interrupted_task():
    return interrupted()

@app.workflow
async def order(ctx: windlass.Context) -> str:
    return await ctx.step(interrupted_task if how.startswith("async") else interrupted, name="body")

print(app.run(order, key="order-7"))
"""


@pytest.mark.spec("security:32")
@pytest.mark.parametrize("how", ["KeyboardInterrupt", "async SystemExit"])
async def test_a_body_that_asks_the_process_to_stop_is_no_failure(shared_url: str, tmp_path: Path, how: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), shared_url, how, str(tmp_path / "marker")]

    outputs = []
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-1)
        outputs.append((*await asyncio.wait_for(process.communicate(), 60), process.returncode))

    (_, first_error, first_code), (said, second_error, second_code) = outputs
    assert first_code != 0, first_error
    assert (said.decode().strip(), second_code) == ("went on", 0), second_error
    async with App(shared_url, settings=Settings()) as app:
        app.workflow(name="order")(order)
        handle = app.handle(order, key="order-7")
        assert await handle.status() == "completed"
        steps = await app._opening.opened().runs.list_steps("default", (await _run_of(app, handle.id)).id)
        assert {step.failures for step in steps} == {0}
        assert "failed" not in {step.status for step in steps}


async def order(ctx: Context) -> str:
    return ""


async def _run_of(app: App, run_id: str) -> Any:
    return (await app._opening.opened().runs.get_run("default", run_id)).run  # type: ignore[arg-type]


async def test_a_run_survives_bodies_that_fail_in_every_way_at_once(harness: Harness) -> None:
    async def fail(number: int) -> None:
        raise (Mute(), Unusual("odd"), TypeError("x"), ValueError("y"))[number % 4]

    @harness.app.workflow
    async def many(ctx: Context) -> int:
        calls = [ctx.step(fail, number, retry=Retry(2, initial=0)) for number in range(40)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        return sum(isinstance(result, StepFailed) for result in results)

    handle = await harness.start(many)
    await harness.idle()

    assert await handle.result() == 40
    assert (await path_of(harness, handle))[-1] == "completed"


TORN_DOWN = """
import asyncio
import sys
import windlass

url, how, marker = sys.argv[1:]
app = windlass.App(url)
entered = asyncio.Event()

async def body() -> str:
    try:
        open(marker, "x").close()
    except FileExistsError:
        return "went on"
    entered.set()
    await asyncio.get_running_loop().create_future()
    return "never"

@app.workflow
async def order(ctx: windlass.Context) -> str:
    if how == "body":
        return await ctx.step(body)
    await ctx.sleep(0)
    return await body()

async def main() -> None:
    async def serve() -> None:
        async with app.worker():
            await asyncio.Event().wait()

    worker = asyncio.create_task(serve())
    await app.start(order, key="order-7")
    await entered.wait()
    # main ends, and asyncio.run cancels every task there is, those of the worker and of its runs included.

async def again() -> None:
    async with app, app.worker():
        print(await app.handle(order, key="order-7").result())

try:
    open(marker).close()
except FileNotFoundError:
    asyncio.run(main())
else:
    asyncio.run(again())
"""


@pytest.mark.spec("invariants:I-03")
@pytest.mark.parametrize("how", ["body", "workflow"])
async def test_a_loop_that_ends_around_a_run_is_no_failure_of_the_run(
    shared_url: str, tmp_path: Path, how: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(TORN_DOWN)
    command = [sys.executable, str(program), shared_url, how, str(tmp_path / "marker")]

    outputs = []
    for _ in range(2):
        environment = {**os.environ, "WINDLASS_WORKER_VISIBILITY_TIMEOUT_SECS": "2"}
        process = await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-1, env=environment)
        outputs.append((*await asyncio.wait_for(process.communicate(), 60), process.returncode))

    assert [(said.decode().strip(), code) for said, _, code in outputs] == [("", 0), ("went on", 0)], outputs
    async with App(shared_url, settings=Settings()) as app:
        app.workflow(name="order")(order)
        handle = app.handle(order, key="order-7")
        assert await handle.status() == "completed"
        steps = await app._opening.opened().runs.list_steps("default", (await _run_of(app, handle.id)).id)
        assert {step.failures for step in steps} == {0}
