"""Does a body have a task to itself as soon as it waits, and none in its way, whatever another one does?"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any

import pytest

from windlass.model.step import StepKind
from windlass.worker.calls import Body, Call
from windlass.worker.runners import Runners

PLACE: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")


class Entered:
    """Bodies that were entered, and how each of them ended."""

    def __init__(self) -> None:
        self.runners = Runners(contextvars.Context())
        self.ended: dict[str, Any] = {}

    def enter(self, key: str, coroutine: Coroutine[Any, Any, Any]) -> Body:
        body = Body(Call(key, StepKind.STEP, b"", None), entered_at=0, is_thread=False)
        body.context = contextvars.Context()
        self.runners.enter(body, coroutine, self._note)
        return body

    def _note(self, body: Body, value: Any, error: BaseException | None) -> None:
        self.ended[body.call.key] = value if error is None else error

    async def until(self, *keys: str) -> None:
        async with asyncio.timeout(10):
            while not set(keys) <= self.ended.keys():  # noqa: ASYNC110 - turns of the loop, and no time
                await asyncio.sleep(0)


async def value_of(value: str) -> str:
    return value


async def test_bodies_that_wait_for_nothing_end_in_one_turn() -> None:
    entered = Entered()
    for number in range(100):
        entered.enter(str(number), value_of(f"value {number}"))
    before = len(asyncio.all_tasks())

    await asyncio.sleep(0)

    assert entered.ended == {str(number): f"value {number}" for number in range(100)}
    assert len(asyncio.all_tasks()) <= before


async def test_a_body_that_waits_is_overtaken_and_keeps_its_task() -> None:
    entered, gate, tasks = Entered(), asyncio.Event(), []

    async def waits() -> str:
        tasks.append(asyncio.current_task())
        await gate.wait()
        tasks.append(asyncio.current_task())
        await asyncio.sleep(0)
        tasks.append(asyncio.current_task())
        return "waited"

    body = entered.enter("waits", waits())
    entered.enter("quick", value_of("quick"))
    await entered.until("quick")
    assert "waits" not in entered.ended
    gate.set()
    await entered.until("waits")

    assert entered.ended["waits"] == "waited"
    assert tasks == [body.work] * 3


async def test_each_body_has_its_own_context_before_and_after_it_waits() -> None:
    entered, seen = Entered(), {}

    async def moves(key: str) -> None:
        assert PLACE.get() == "nowhere"
        PLACE.set(key)
        for _ in range(3):
            await asyncio.sleep(0)
            assert PLACE.get() == key
        inner = asyncio.create_task(place())
        seen[key] = await inner

    async def stays(key: str) -> None:
        assert PLACE.get() == "nowhere"
        PLACE.set(key)

    async def place() -> str:
        return PLACE.get()

    for number in range(5):
        entered.enter(f"stays {number}", stays(f"stays {number}"))
        entered.enter(f"moves {number}", moves(f"moves {number}"))
    await entered.until(*(f"moves {number}" for number in range(5)))

    assert set(entered.ended.values()) == {None}
    assert seen == {f"moves {number}": f"moves {number}" for number in range(5)}


async def test_cancelling_a_body_stops_that_one_only() -> None:
    entered, gate = Entered(), asyncio.Event()

    async def waits() -> str:
        await gate.wait()
        return "waited"

    first, second = entered.enter("first", waits()), entered.enter("second", waits())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    await entered.until("first")
    gate.set()
    await entered.until("second")

    assert isinstance(entered.ended["first"], asyncio.CancelledError)
    assert entered.ended["second"] == "waited"
    assert second.work is not first.work


async def test_a_body_that_is_cancelled_before_it_begins_does_not_begin_and_the_others_do() -> None:
    entered, begun = Entered(), []

    async def begins(key: str) -> str:
        begun.append(key)
        return key

    bodies = [entered.enter(key, begins(key)) for key in "abc"]
    bodies[0].cancel()
    await entered.until("a", "b", "c")

    assert begun == ["b", "c"]
    assert isinstance(entered.ended["a"], asyncio.CancelledError)


async def test_a_body_may_swallow_its_cancellation_and_its_time_outs_work() -> None:
    entered = Entered()

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "stayed"
        return "never"

    async def impatient() -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"
        return "never"

    body = entered.enter("stubborn", stubborn())
    entered.enter("impatient", impatient())
    await entered.until("impatient")
    body.cancel()
    await entered.until("stubborn")

    assert entered.ended == {"impatient": "timed out", "stubborn": "stayed"}


async def test_a_body_that_cancels_itself_is_cancelled_and_nobody_else_is() -> None:
    entered = Entered()

    async def cancels_itself() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "returned all the same"

    for key in "abc":
        entered.enter(key, cancels_itself())
        entered.enter(f"after {key}", value_of("well"))
    await entered.until("a", "b", "c", "after a", "after b", "after c")

    assert {type(entered.ended[key]) for key in "abc"} == {asyncio.CancelledError}
    assert {entered.ended[f"after {key}"] for key in "abc"} == {"well"}


@pytest.mark.parametrize("waits", [False, True])
async def test_what_a_body_raises_is_said_and_harms_no_other(waits: bool) -> None:
    entered = Entered()

    async def raises() -> None:
        if waits:
            await asyncio.sleep(0)
        raise ValueError("no")

    entered.enter("raises", raises())
    entered.enter("well", value_of("well"))
    await entered.until("raises", "well")

    assert isinstance(entered.ended["raises"], ValueError)
    assert entered.ended["well"] == "well"


def test_a_loop_that_ends_before_a_body_has_begun_says_so() -> None:
    entered = Entered()

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(lambda _: entered.enter("late", value_of("late")))  # in the last turn there is

    asyncio.run(main())  # which cancels what is left

    assert isinstance(entered.ended["late"], asyncio.CancelledError)


@pytest.mark.parametrize("waits", [False, True])
def test_a_body_that_asks_the_process_to_stop_is_heard_by_the_loop_and_the_others_go_on(waits: bool) -> None:
    entered = Entered()

    async def interrupts() -> None:
        if waits:
            await asyncio.sleep(0)
        raise SystemExit(3)

    async def main() -> None:
        entered.enter("interrupts", interrupts())
        entered.enter("well", value_of("well"))
        await asyncio.Event().wait()

    with pytest.raises(SystemExit):
        asyncio.run(main())

    assert isinstance(entered.ended["interrupts"], SystemExit)
    assert "well" in entered.ended


@pytest.mark.parametrize("how", ["uncancelled", "a watchdog", "a callback"])
async def test_what_a_body_leaves_on_its_task_reaches_no_other(how: str) -> None:
    entered, gate, kept = Entered(), asyncio.Event(), []

    async def leaves() -> None:
        task = asyncio.current_task()
        assert task is not None
        if how == "uncancelled":
            task.cancel()
            task.uncancel()
        elif how == "a watchdog":
            kept.append(task)
        else:
            asyncio.get_running_loop().call_soon(task.cancel)

    async def waits() -> str:
        await gate.wait()
        return "waited"

    entered.enter("leaves", leaves())
    entered.enter("waits", waits())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for task in kept:
        task.cancel()
    await asyncio.sleep(0)
    gate.set()
    await entered.until("leaves", "waits")

    assert entered.ended["waits"] == "waited"
