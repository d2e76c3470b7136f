"""Do two kinds of claims share the slots of a worker: never more than there are, and each in its turn?"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from windlass.model.run import WorkerId
from windlass.model.time import SECOND, Duration
from windlass.testing.clock import FakeClock
from windlass.worker.polling import GIVE_WAY_FOR, Polling, Slots

KINDS = ("run", "pipeline")
FEW = 20


class Worker:
    """One that has a slot, and asks for two kinds. What they wait for is what the test puts there."""

    def __init__(self, slots: int, *, due: int = 0) -> None:
        self.slots, self.due = slots, dict.fromkeys(KINDS, due)
        self.begun, self.given_back, self.asked = list[str](), list[str](), list[tuple[str, int, int]]()
        self.waiting: dict[str, asyncio.Future[None]] = {}
        self._freed = asyncio.Event()
        self.clock = FakeClock()
        self._shared = Slots(free=lambda: self.slots, are_short=lambda: True, pace=self.clock)
        self._host: Any = SimpleNamespace(context=contextvars.Context(), clock=self.clock)
        self._errands: set[asyncio.Task[None]] = set()
        self._tasks = [asyncio.create_task(self._polling(kind).run()) for kind in KINDS]

    def _polling(self, kind: str) -> Polling[str]:
        async def claim(limit: int, wait_for: Duration) -> list[str]:
            self.asked.append((kind, limit, wait_for))
            await asyncio.sleep(0)
            if not self.due[kind] and wait_for:
                self.waiting[kind] = asyncio.get_running_loop().create_future()
                await self.waiting[kind]
            count = min(limit, self.due[kind])
            self.due[kind] -= count
            return [kind] * count

        def begin(claimed: list[str]) -> None:
            self.begun += claimed
            self.slots -= len(claimed)

        async def give_back(item: str) -> None:
            self.given_back.append(item)

        async def ready() -> None:
            while self.slots <= 0:
                self._freed.clear()
                await self._freed.wait()

        async def come_back() -> None:
            raise AssertionError

        return Polling(
            what=kind,
            host=self._host,
            id=WorkerId("wrk_1"),
            slots=self._shared,
            wait_for=Duration(SECOND),
            ready=ready,
            wanted=lambda: self.slots,
            claim=claim,
            begin=begin,
            give_back=give_back,
            come_back=come_back,
            spawn=lambda work: self._errands.add(asyncio.create_task(work)),
        )

    def free(self) -> None:
        self.slots += 1
        self._freed.set()

    def bring(self, *kinds: str) -> None:
        for kind in kinds:
            self.due[kind] += 1
            self.waiting[kind].set_result(None)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)


@pytest.fixture
async def open_worker() -> AsyncIterator[Any]:
    async with contextlib.AsyncExitStack() as stack:

        async def opened(slots: int, *, due: int = 0) -> Worker:
            worker = Worker(slots, due=due)
            stack.push_async_callback(worker.stop)
            await turns()
            worker.clock.advance(GIVE_WAY_FOR)  # the first has found nothing while the other was behind it
            await turns()
            return worker

        yield opened


async def turns() -> None:
    for _ in range(FEW):
        await asyncio.sleep(0)


async def test_what_both_are_given_at_the_same_moment_is_given_back_beyond_the_slots(open_worker: Any) -> None:
    worker: Worker = await open_worker(1)
    assert set(worker.waiting) == set(KINDS), "an idle worker waits for both"

    worker.bring(*KINDS)
    await turns()

    assert (len(worker.begun), worker.slots) == (1, 0)
    assert sorted(worker.begun + worker.given_back) == sorted(KINDS)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_one_is_given_the_other_asks_for_no_more(open_worker: Any, kind: str) -> None:
    worker: Worker = await open_worker(2)
    (other,) = set(KINDS) - {kind}
    assert {asked for asked in worker.asked if asked[2]} == {(other, 2, SECOND), (kind, 2, SECOND)}
    worker.asked.clear()

    worker.bring(kind)
    await turns()

    assert {limit for asked, limit, _ in worker.asked if asked == other} == {1}


async def test_the_only_slot_goes_to_both_in_turns_while_both_are_due(open_worker: Any) -> None:
    worker: Worker = await open_worker(1, due=FEW)
    for _ in range(5):
        worker.free()
        await turns()

    assert worker.begun == [*KINDS] * 3
    assert worker.given_back == []
