"""Is the server ready? It says so only while its store answers in time and it is not about to leave."""

from __future__ import annotations

import asyncio

from windlass.errors import Unavailable
from windlass.server.health import ANSWERS_WITHIN, BELIEVED_FOR, Health
from windlass.testing.clock import FakeClock


class Store:
    def __init__(self) -> None:
        self.asked = 0
        self.failure: Exception | None = None
        self.answers = asyncio.Event()
        self.answers.set()

    async def probe(self) -> None:
        self.asked += 1
        await self.answers.wait()
        if self.failure is not None:
            raise self.failure


async def test_a_store_that_answers_is_asked_once_a_second_at_most(clock: FakeClock) -> None:
    store = Store()
    health = Health(store.probe, clock=clock)

    assert set(await asyncio.gather(*(health.is_ready() for _ in range(1_000)))) == {True}
    assert await health.is_ready()
    assert store.asked == 1

    clock.advance(BELIEVED_FOR)
    assert await health.is_ready()
    assert store.asked == 2


async def test_a_store_that_fails_or_takes_too_long_is_not_ready_and_may_be_again(clock: FakeClock) -> None:
    store = Store()
    health = Health(store.probe, clock=clock)
    store.failure = Unavailable("down")
    assert not await health.is_ready()

    clock.advance(BELIEVED_FOR)
    store.failure = RuntimeError("broken")
    assert not await health.is_ready()

    clock.advance(BELIEVED_FOR)
    store.failure = None
    store.answers.clear()
    asked = asyncio.ensure_future(health.is_ready())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not asked.done()
    clock.advance(ANSWERS_WITHIN)
    assert not await asked

    clock.advance(BELIEVED_FOR)
    store.answers.set()
    assert await health.is_ready()


async def test_who_goes_away_while_asking_leaves_the_answer_to_others(clock: FakeClock) -> None:
    store = Store()
    health = Health(store.probe, clock=clock)
    store.answers.clear()
    first, second = (asyncio.ensure_future(health.is_ready()) for _ in range(2))
    for _ in range(3):
        await asyncio.sleep(0)

    first.cancel()
    store.answers.set()

    assert await second
    assert store.asked == 1


async def test_a_server_that_stops_is_not_ready_at_once(clock: FakeClock) -> None:
    store = Store()
    health = Health(store.probe, clock=clock)
    assert await health.is_ready()
    waiting = asyncio.ensure_future(health.until_stopping())

    health.stop()

    assert health.is_stopping
    assert not await health.is_ready()
    await waiting
