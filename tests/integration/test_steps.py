"""Is a step remembered: its key, its result, its failure, and what its body may know about itself?"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, path_of, row_of, step_keys
from tests.programs import returns
from windlass import Context, NotAllowed, Retry, RunFailed, StepError, StepFailed, StepInfo, current_step
from windlass.model.duration import from_instant
from windlass.model.step import StepStatus
from windlass.model.time import Instant
from windlass.testing.harness import Harness


@dataclass
class User:
    id: int
    name: str
    born: datetime


class Colour(Enum):
    RED = "red"


class CardDeclined(Exception):
    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class Expired(CardDeclined):
    pass


@pytest.mark.spec("invariants:I-01", "invariants:I-02")
async def test_a_completed_step_is_not_entered_again_after_a_restart(idle_harness: Harness) -> None:
    app, entered = idle_harness.app, list[str]()

    def pack(item: str) -> str:
        entered.append(item)
        return item.upper()

    @app.workflow
    async def order(ctx: Context) -> list[str]:
        first = await ctx.step(pack, "a")
        await ctx.sleep("1h")
        return [first, await ctx.step(pack, "b")]

    async with app.worker():
        handle = await app.start(order)
        await idle_harness.until(handle, "sleeping")
    idle_harness.clock.advance("1h")
    async with app.worker():
        result = await handle.result()

    assert result == ["A", "B"]
    assert entered == ["a", "b"]
    completed = [step.key for step in await idle_harness.steps(handle) if step.status is StepStatus.COMPLETED]
    assert sorted(completed) == ["pack", "pack#2", "sleep"]


@pytest.mark.spec("invariants:I-01")
async def test_another_process_goes_on_where_the_first_one_stood(open_shared: OpenHarness) -> None:
    entered: list[str] = []

    def pack(item: str) -> str:
        entered.append(item)
        return item.upper()

    async def order(ctx: Context) -> list[str]:
        first = await ctx.step(pack, "a")
        await ctx.sleep("1h")
        return [first, await ctx.step(pack, "b")]

    first = await open_shared()
    handle = await first.start(first.app.workflow(order))
    await first.until(handle, "sleeping")
    await first.app.aclose()
    second = await open_shared()
    second.app.workflow(order)
    await second.advance("1h")

    assert await second.app.handle(handle.id).result() == ["A", "B"]
    assert entered == ["a", "b"]


async def test_repeats_of_a_name_are_numbered(harness: Harness) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    @harness.app.workflow
    async def total(ctx: Context, count: int) -> int:
        result = 0
        for number in range(count):
            result = await ctx.step(add, result, number)
        return result

    handle = await harness.start(total, 4)

    assert await handle.result() == 6
    assert await step_keys(harness, handle) == ["add", "add#2", "add#3", "add#4"]


async def test_an_explicit_key_names_the_step(harness: Harness) -> None:
    def fetch(region: str) -> str:
        return region

    @harness.app.workflow
    async def collect(ctx: Context) -> list[str]:
        east = await ctx.step(fetch, "east", key="e")
        west = await ctx.step(fetch, "west", key="w")
        again = await ctx.step(fetch, "west", key="w")
        renamed = await ctx.step(fetch, "north", name="look_up")
        return [east, west, again, renamed]

    handle = await harness.start(collect)

    assert await handle.result() == ["east", "west", "west", "north"]
    assert await step_keys(harness, handle) == ["fetch:e", "fetch:w", "fetch:w#2", "look_up"]


@pytest.mark.spec("security:13")
async def test_one_name_from_two_branches_is_ambiguous_at_first_execution(harness: Harness) -> None:
    entered: list[int] = []

    async def g(number: int) -> int:
        entered.append(number)
        return number

    @harness.app.workflow
    async def fork(ctx: Context) -> list[int]:
        async def branch(number: int) -> int:
            return await ctx.step(g, number)

        return list(await asyncio.gather(branch(1), branch(2)))

    handle = await harness.start(fork)

    with pytest.raises(RunFailed) as failed:
        await handle.result()
    assert (failed.value.type, failed.value.kind) == ("AmbiguousStep", "logic")
    assert failed.value.message == (
        "Step 'g' is called from two concurrent branches, so its order is not repeatable. "
        "Give each a key: ctx.step(g, x, key=x.id)."
    )
    assert 2 not in entered


async def test_gather_over_calls_of_one_task_is_not_ambiguous(harness: Harness) -> None:
    async def g(number: int) -> int:
        return number

    @harness.app.workflow
    async def fan(ctx: Context) -> list[int]:
        return list(await asyncio.gather(ctx.step(g, 1), ctx.step(g, 2), ctx.step(g, 3)))

    handle = await harness.start(fan)

    assert await handle.result() == [1, 2, 3]
    assert sorted(await step_keys(harness, handle)) == ["g", "g#2", "g#3"]


async def test_keys_tell_branches_apart(harness: Harness) -> None:
    async def g(number: int) -> int:
        return number

    @harness.app.workflow
    async def fork(ctx: Context) -> list[int]:
        async def branch(number: int) -> int:
            return await ctx.step(g, number, key=str(number)) + await ctx.step(g, 10 * number, key=str(number))

        return list(await asyncio.gather(branch(1), branch(2)))

    handle = await harness.start(fork)

    assert await handle.result() == [11, 22]
    assert sorted(await step_keys(harness, handle)) == ["g:1", "g:1#2", "g:2", "g:2#2"]


@pytest.mark.spec("invariants:I-01", "security:24")
async def test_results_are_decoded_by_their_annotation_from_the_first_execution_on(harness: Harness) -> None:
    born = datetime(1999, 12, 31, 23, 59, tzinfo=UTC)
    seen: list[list[Any]] = []
    made: list[User] = []

    def fetch(id: int) -> User:
        made.append(User(id, "Ada", born))
        return made[-1]

    def plain() -> tuple[Decimal, UUID, bytes, set[int], timedelta, float, Colour]:
        return Decimal("1.10"), UUID(int=7), b"\x00\xff", {1, 2}, timedelta(microseconds=3), 0.1 + 0.2, Colour.RED

    @harness.app.workflow
    async def look(ctx: Context) -> int:
        seen.append([await ctx.step(fetch, 1), await ctx.step(plain)])
        await ctx.sleep("1m")
        return len(seen)

    assert await harness.run(look) == 2
    assert seen[0] == seen[1] == [User(1, "Ada", born), plain()]
    assert [type(value) for value in seen[0][1]] == [type(value) for value in plain()]
    assert len(made) == 1
    assert seen[0][0] is not made[0]


@pytest.mark.spec("invariants:I-04")
async def test_a_step_that_failed_for_good_fails_alike_at_every_replay(harness: Harness) -> None:
    entered: list[str] = []
    seen: list[tuple[Any, ...]] = []

    def charge() -> None:
        entered.append("charge")
        raise StepError("no account", kind="permission", data={"account": 7})

    @harness.app.workflow
    async def pay(ctx: Context) -> str:
        try:
            await ctx.step(charge)
        except StepFailed as error:
            seen.append((type(error), str(error), error.type, error.message, error.kind, error.data, error.traceback))
        await ctx.sleep("1m")
        return "done"

    assert await harness.run(pay) == "done"
    assert entered == ["charge"]
    assert len(seen) == 2 and seen[0] == seen[1]
    assert seen[0][1:6] == (
        "Step 'charge' failed: StepError: no account",
        "StepError",
        "no account",
        "permission",
        {"account": 7},
    )
    assert "raise StepError" in seen[0][6]


@pytest.mark.spec("invariants:I-04")
async def test_declared_exceptions_come_back_as_themselves_both_times(harness: Harness) -> None:
    entered: list[str] = []
    seen: list[tuple[Any, ...]] = []

    def charge(card: str) -> None:
        entered.append(card)
        raise (Expired if card == "old" else CardDeclined)("declined", code=51)

    @harness.app.workflow
    async def pay(ctx: Context) -> str:
        for card in ("new", "old"):
            try:
                await ctx.step(charge, card, raises=(CardDeclined,), retry=Retry(5))
            except CardDeclined as error:
                seen.append((type(error), error.args, error.code))
        await ctx.sleep("1m")
        return "done"

    assert await harness.run(pay) == "done"
    assert entered == ["new", "old"]  # declared means expected: it is not tried again
    assert seen == 2 * [(CardDeclined, ("declined",), 51), (Expired, ("declined",), 51)]


async def test_of_two_classes_with_one_name_the_one_that_was_raised_comes_back(harness: Harness) -> None:
    here, there = (type("Late", (CardDeclined,), {"__module__": module}) for module in ("here", "there"))
    seen: list[type[BaseException]] = []

    def charge(where: str) -> None:
        raise {"here": here, "there": there}[where]("late", code=1)

    @harness.app.workflow
    async def pay(ctx: Context) -> str:
        for where in ("here", "there"):
            try:
                await ctx.step(charge, where, raises=(CardDeclined,))
            except CardDeclined as error:
                seen.append(type(error))
        await ctx.sleep("1m")
        return "done"

    assert await harness.run(pay) == "done"
    assert seen == [here, there, here, there]


async def test_a_step_knows_its_key_attempt_and_deadline(harness: Harness) -> None:
    infos: list[StepInfo] = []

    def send(to: str) -> None:
        infos.append(current_step())
        if len(infos) < 3:
            raise ConnectionError("busy")

    @harness.app.workflow
    async def mail(ctx: Context) -> str:
        await ctx.step(send, "a", key="a", timeout="30s")
        return ctx.run_id

    begun_at = harness.clock.now()
    run_id = await harness.run(mail)

    assert [info.attempt for info in infos] == [1, 2, 3]
    assert {(info.key, info.name, info.run_id) for info in infos} == {("send:a", "send", run_id)}
    assert {info.idempotency_key for info in infos} == {f"{run_id}/send:a"}
    assert infos[0].deadline == from_instant(Instant(begun_at)) + timedelta(seconds=30)


async def test_the_code_of_a_workflow_is_no_step(harness: Harness) -> None:
    @harness.app.workflow
    async def look(ctx: Context) -> str:
        try:
            return current_step().key
        except NotAllowed as error:
            return str(error)

    assert await harness.run(look) == "current_step() is for the body of a step, and no step is running here."


async def test_sync_bodies_run_in_threads_side_by_side(harness: Harness) -> None:
    meeting = threading.Barrier(3)

    def meet(number: int) -> str:
        meeting.wait(timeout=20)
        assert current_step().name == "meet"
        return threading.current_thread().name

    @harness.app.workflow
    async def gather(ctx: Context) -> list[str]:
        return list(await asyncio.gather(*(ctx.step(meet, number) for number in range(3))))

    names = await harness.run(gather)

    assert set(names) == {"windlass-step"}
    assert threading.current_thread().name not in names


@pytest.mark.spec("security:12")
async def test_a_declared_step_called_outside_a_workflow_is_a_plain_function(harness: Harness) -> None:
    @harness.app.step(retry=Retry(5), timeout="1s")
    def double(number: int) -> int:
        return 2 * number

    def quadruple(number: int) -> int:
        return double(double(number))

    @harness.app.workflow
    async def compute(ctx: Context) -> int:
        return await ctx.step(quadruple, 3) + double(1)

    handle = await harness.start(compute)

    assert double(21) == 42
    assert await handle.result() == 14
    assert await step_keys(harness, handle) == ["quadruple"]


@pytest.mark.spec("security:12")
async def test_ctx_refuses_to_be_used_in_a_step(harness: Harness) -> None:
    refusals: list[str] = []

    def double(number: int) -> int:
        return 2 * number

    @harness.app.workflow
    async def leak(ctx: Context) -> str:
        async def inside() -> None:
            try:
                await ctx.step(double, 1)
            except NotAllowed as error:
                refusals.append(str(error))

        def in_thread() -> None:
            try:
                ctx.sleep("1s").close()
            except NotAllowed as error:
                refusals.append(str(error))

        await ctx.step(inside)
        await ctx.step(in_thread)
        return "done"

    assert await harness.run(leak) == "done"
    assert refusals == 2 * ["ctx can be used only by the tasks of its own run, not in a step, a thread or a callback."]


async def test_ctx_refuses_to_be_used_by_another_task(harness: Harness, gate: Gate) -> None:
    leaked: list[Context] = []

    @harness.app.workflow
    async def leak(ctx: Context) -> str:
        leaked.append(ctx)
        await ctx.step(gate.wait)
        return "done"

    handle = await harness.start(leak)
    await gate.reached()

    for call in (lambda: leaked[0].sleep("1s"), lambda: leaked[0].map(str, [1]), lambda: leaked[0].step(str, 1)):
        with pytest.raises(NotAllowed):
            call()
    gate.open()
    assert await handle.result() == "done"


async def test_finally_blocks_run_when_the_run_parks_and_ctx_refuses_them(harness: Harness) -> None:
    cleaned: list[str] = []

    def note() -> None:
        cleaned.append("a step ran in a finally block")

    @harness.app.workflow
    async def tidy(ctx: Context) -> str:
        try:
            await ctx.sleep("1h")
        finally:
            try:
                await ctx.step(note)
            except NotAllowed as error:
                cleaned.append(str(error))
        return "done"

    handle = await harness.start(tidy)
    await harness.idle()

    assert (await path_of(harness, handle))[-2:] == ["running", "sleeping"]
    assert cleaned == [
        f"Run {handle.id} has left this worker, so ctx takes no more calls here. "
        'A "finally" block of a workflow may clean up memory, but it cannot run steps.'
    ]
    await harness.advance("1h")
    assert await handle.result() == "done"
    assert cleaned[1:] == ["a step ran in a finally block"]


async def test_except_exception_does_not_swallow_parking(harness: Harness) -> None:
    caught: list[BaseException] = []

    @harness.app.workflow
    async def careful(ctx: Context) -> str:
        try:
            await ctx.sleep("1h")
        except Exception as error:
            caught.append(error)
        return "done"

    assert await harness.run(careful) == "done"
    assert caught == []


async def test_a_step_that_takes_too_long_is_stopped_and_tried_again(harness: Harness, gate: Gate) -> None:
    @harness.app.workflow
    async def slow(ctx: Context) -> str:
        try:
            await ctx.step(gate.wait, timeout="10s", retry=Retry(2, initial="1s", max_delay="1s"))
        except StepFailed as error:
            return f"{error.kind} {error.type} {error.message}"
        return "in time"

    handle = await harness.start(slow)
    for attempt in (1, 2):
        await gate.reached(attempt)
        harness.clock.advance("10s")
        await gate.left(attempt)
        await eventually(lambda: not harness.app._workers[0].executions, what="the slot is free")
        harness.clock.advance("1100ms")

    assert await handle.result() == "timeout TimeoutError The step did not end within 10 s."
    assert [step.status for step in await harness.steps(handle)] == [StepStatus.FAILED, StepStatus.FAILED]


async def test_a_thread_past_its_time_out_fails_and_keeps_its_slot(open_harness: OpenHarness) -> None:
    harness = await open_harness(slots=1)
    release = threading.Event()
    entered: list[str] = []

    def hang() -> None:
        entered.append("hang")
        release.wait(20)

    @harness.app.workflow
    async def slow(ctx: Context) -> str:
        try:
            await ctx.step(hang, timeout="10s", retry=Retry(1))
        except StepFailed as error:
            return error.kind
        return "in time"

    quick = harness.app.workflow(returns("quick"))
    handle = await harness.start(slow)
    await eventually(lambda: bool(entered), what="the thread has begun")
    harness.clock.advance("10s")

    assert await handle.result() == "timeout"  # the code goes on at once …
    waiting = await harness.start(quick)
    assert (await row_of(harness, waiting)).status == "pending"  # … and the only slot stays taken
    release.set()
    assert await waiting.result() == "quick"
    assert entered == ["hang"]


@pytest.mark.spec("runs:G10")
async def test_the_start_of_a_step_is_noted_only_if_its_body_lasts(harness: Harness, gate: Gate) -> None:
    async def quick() -> None: ...

    @harness.app.workflow
    async def both(ctx: Context) -> None:
        await ctx.step(quick)
        await ctx.step(gate.wait)

    handle = await harness.start(both)
    await gate.reached()
    assert [(step.key, step.status) for step in await harness.steps(handle)] == [("quick", "completed")]

    harness.clock.advance("20ms")

    async def is_noted() -> bool:
        return (await harness.steps(handle))[-1].status == "running"

    await eventually(is_noted, what="the start is noted")
    gate.open()
    await handle.result()
    assert [(step.key, step.status, step.attempt) for step in await harness.steps(handle)] == [
        ("quick", "completed", 1),
        ("wait", "completed", 1),
    ]


def identity(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda ctx: ctx.step(functools.partial(int, base=2), "101"), 5),
        (lambda ctx: ctx.step("abc".upper), "ABC"),
        (lambda ctx: ctx.step(lambda: 7, name="seven"), 7),
        (lambda ctx: ctx.step(len, [1, 2]), 2),
        (lambda ctx: ctx.step(identity, {"$tuple": [1]}), {"$tuple": [1]}),
        (lambda ctx: ctx.step(identity, -0.0), -0.0),
        (lambda ctx: ctx.step(identity, 2**63 + 1), 2**63 + 1),
        (lambda ctx: ctx.step(identity, "\U0001f600"), "\U0001f600"),
        (lambda ctx: ctx.step(identity, None), None),
    ],
)
async def test_any_callable_and_any_plain_value_will_do(
    harness: Harness, call: Callable[[Any], Any], expected: Any
) -> None:
    @harness.app.workflow
    async def once(ctx: Context) -> Any:
        value = await call(ctx)
        await ctx.sleep("1s")
        return value

    result = await harness.run(once)

    assert (result, type(result)) == (expected, type(expected))
    assert str(result) == str(expected)
