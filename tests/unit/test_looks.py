"""Many who wait for the same lanes share a look at the store, and no look that tells too little."""

from __future__ import annotations

import asyncio

import pytest

from windlass.engine.looks import Found, Looks
from windlass.model.time import MILLISECOND, SECOND, Instant
from windlass.model.worker import Served
from windlass.testing.clock import FakeClock

LANES = ("default", (Served("default", "order"),))
YOUNG_FOR = 5 * SECOND


class Store:
    """Answers with what the test says, and counts how often it is asked."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.asked = clock, 0
        self.due_at: Instant | None = None
        self.failure: Exception | None = None

    async def look(self) -> Found:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return self.due_at, Instant(self.clock.now())


@pytest.fixture
def store(clock: FakeClock) -> Store:
    return Store(clock)


@pytest.fixture
def looks(clock: FakeClock) -> Looks:
    return Looks(clock)


async def test_those_who_wait_for_the_same_look_once(clock: FakeClock, store: Store, looks: Looks) -> None:
    since = looks.mark()

    async def look() -> tuple[Found, int]:
        return await looks.look(LANES, store.look, since=since, young_for=YOUNG_FOR)

    found = await asyncio.gather(*[look() for _ in range(200)])
    assert store.asked == 1 and len(set(found)) == 1
    clock.advance("4s")
    assert await look() == found[0] and store.asked == 1
    clock.advance("1s")
    await look()
    assert store.asked == 2, "a look is believed for as long as anybody waits without one"


async def test_a_look_from_before_somebody_was_told_of_news_will_not_do(
    clock: FakeClock, store: Store, looks: Looks
) -> None:
    await looks.look(LANES, store.look, since=looks.mark(), young_for=YOUNG_FOR)
    await looks.look(LANES, store.look, since=looks.mark(), young_for=YOUNG_FOR)
    assert store.asked == 2, "though not a microsecond has passed"


async def test_a_look_whose_find_is_due_by_now_is_made_again(clock: FakeClock, store: Store, looks: Looks) -> None:
    since = looks.mark()
    store.due_at = Instant(clock.now() + 10 * MILLISECOND)
    await looks.look(LANES, store.look, since=since, young_for=YOUNG_FOR)
    clock.advance("9ms")
    await looks.look(LANES, store.look, since=since, young_for=YOUNG_FOR)
    assert store.asked == 1
    clock.advance("1ms")
    (due_at, now), _ = await looks.look(LANES, store.look, since=since, young_for=YOUNG_FOR)
    assert store.asked == 2 and due_at is not None and due_at <= now


async def test_a_look_that_failed_is_nobodys_answer_but_its_own(clock: FakeClock, store: Store, looks: Looks) -> None:
    since, store.failure = looks.mark(), OSError("gone")
    with pytest.raises(OSError, match="gone"):
        await looks.look(LANES, store.look, since=since, young_for=YOUNG_FOR)
    store.failure = None
    found, _ = await looks.look(LANES, store.look, since=since, young_for=YOUNG_FOR)
    assert found[0] is None and store.asked == 2


async def test_whoever_began_a_look_may_go(clock: FakeClock, store: Store, looks: Looks) -> None:
    since = looks.mark()
    first = asyncio.ensure_future(looks.look(LANES, store.look, since=since, young_for=YOUNG_FOR))
    second = asyncio.ensure_future(looks.look(LANES, store.look, since=since, young_for=YOUNG_FOR))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second)[0][0] is None and store.asked == 1
