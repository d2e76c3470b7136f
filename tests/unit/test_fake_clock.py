"""Does the fake clock stand still, move when told, and fire like a loop would?"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from datetime import UTC, datetime, timedelta

import pytest

from windlass.model.time import HOUR, SECOND
from windlass.runtime import Clock
from windlass.testing.clock import FakeClock

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="empty")


async def turn() -> None:
    """Give the loop two turns: one for the callback, one for whoever it woke."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_time_starts_at_a_known_instant_and_stands_still() -> None:
    clock: Clock = FakeClock()

    first, second = clock.now(), clock.now()

    assert first == second == datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1_000_000
    assert clock.monotonic() == clock.monotonic() > 0


def test_advance_moves_both_times_and_jump_only_the_wall() -> None:
    clock = FakeClock()
    wall, monotonic = clock.now(), clock.monotonic()

    clock.advance(3 * SECOND)
    clock.jump(-HOUR)

    assert (clock.now() - wall, clock.monotonic() - monotonic) == (3 * SECOND - HOUR, 3 * SECOND)


@pytest.mark.parametrize(("duration", "expected"), [("2h", 2 * HOUR), (timedelta(hours=2), 2 * HOUR), (7, 7)])
def test_durations_are_text_integers_or_timedeltas(duration: str | int | timedelta, expected: int) -> None:
    clock = FakeClock()
    before = clock.now()

    clock.advance(duration)

    assert clock.now() - before == expected


def test_text_with_a_minus_jumps_back() -> None:
    clock = FakeClock()
    before = clock.now()

    clock.jump("-2h")

    assert before - clock.now() == 2 * HOUR


def test_time_cannot_advance_backwards() -> None:
    clock = FakeClock()

    with pytest.raises(ValueError, match="jump"):
        clock.advance(-1)

    assert clock.now() == FakeClock().now()


async def test_timers_fire_in_the_order_they_are_due() -> None:
    clock, fired = FakeClock(), list[str]()
    clock.call_later(3 * SECOND, fired.append, "third")
    clock.call_later(1 * SECOND, fired.append, "first")
    clock.call_later(1 * SECOND, fired.append, "second")
    clock.call_later(9 * SECOND, fired.append, "not yet")

    clock.advance(3 * SECOND)
    assert fired == []  # never on the spot

    await turn()
    assert fired == ["first", "second", "third"]


async def test_a_timer_is_due_at_its_instant_and_not_before() -> None:
    clock, fired = FakeClock(), list[int]()
    clock.call_later(SECOND, lambda: fired.append(clock.now()))

    clock.advance(SECOND - 1)
    await turn()
    assert fired == []

    clock.advance(1)
    await turn()
    assert fired == [clock.now()]


async def test_a_jump_fires_nothing() -> None:
    clock, fired = FakeClock(), list[str]()
    clock.call_later(SECOND, fired.append, "fired")

    clock.jump(HOUR)
    await turn()

    assert fired == []
    assert clock.next_timer() == SECOND


async def test_no_delay_fires_on_the_next_turn_without_moving_time() -> None:
    clock, fired = FakeClock(), list[str]()

    clock.call_later(0, fired.append, "now")
    assert (fired, clock.next_timer()) == ([], None)

    await turn()
    assert fired == ["now"]


async def test_a_cancelled_timer_never_fires_even_if_already_handed_over() -> None:
    clock, fired = FakeClock(), list[str]()
    early = clock.call_later(SECOND, fired.append, "cancelled while waiting")
    late = clock.call_later(SECOND, fired.append, "cancelled when due")

    early.cancel()
    clock.advance(SECOND)
    late.cancel()
    await turn()

    assert fired == []


async def test_next_timer_ignores_cancelled_ones() -> None:
    clock = FakeClock()
    first = clock.call_later(SECOND, print)
    clock.call_later(5 * SECOND, print)

    assert clock.next_timer() == SECOND
    first.cancel()
    clock.advance(2 * SECOND)

    assert clock.next_timer() == 3 * SECOND


async def test_periodic_timers_fire_at_each_instant_when_stepped_from_timer_to_timer() -> None:
    clock, fired = FakeClock(), list[int]()
    start = clock.now()

    def again() -> None:
        fired.append((clock.now() - start) // SECOND)
        clock.call_later(SECOND, again)

    clock.call_later(SECOND, again)
    left: int = 3 * SECOND
    while (delay := clock.next_timer()) is not None and delay <= left:
        clock.advance(delay)
        await turn()
        left -= delay

    assert fired == [1, 2, 3]


async def test_callbacks_run_in_an_empty_context() -> None:
    clock, seen = FakeClock(), list[str]()
    variable.set("inside a run")

    clock.call_later(0, lambda: seen.append(variable.get()))
    clock.call_later(SECOND, lambda: seen.append(variable.get()))
    clock.advance(SECOND)
    await turn()

    assert seen == ["empty", "empty"]


async def test_sleep_ends_when_time_has_moved_far_enough() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(10 * SECOND))
    await turn()

    clock.advance(9 * SECOND)
    await turn()
    assert not sleeper.done()

    clock.advance(SECOND)
    await asyncio.wait_for(sleeper, 1)


async def test_sleep_without_delay_still_gives_way() -> None:
    clock, order = FakeClock(), list[str]()
    asyncio.get_running_loop().call_soon(order.append, "other")

    await clock.sleep(0)
    order.append("sleeper")

    assert order == ["other", "sleeper"]


async def test_a_cancelled_sleep_leaves_no_timer() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(SECOND))
    await turn()

    sleeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeper

    assert clock.next_timer() is None


async def test_a_sleep_cancelled_in_the_turn_in_which_it_is_due_disturbs_nobody() -> None:
    clock, errors = FakeClock(), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: errors.append(context))
    sleeper = asyncio.create_task(clock.sleep(SECOND))
    await turn()

    clock.advance(SECOND)
    sleeper.cancel()
    await turn()

    assert sleeper.cancelled()
    assert errors == []


async def test_another_thread_may_read_and_move_the_time() -> None:
    clock, read = FakeClock(), list[int]()
    sleeper = asyncio.create_task(clock.sleep(SECOND))
    await turn()

    def elsewhere() -> None:
        clock.advance(SECOND)
        read.append(clock.now())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    await asyncio.wait_for(sleeper, 5)
    thread.join()

    assert read == [clock.now()]


def test_timers_of_a_closed_loop_are_dropped() -> None:
    clock = FakeClock()

    async def arm() -> None:
        clock.call_later(SECOND, print)

    asyncio.run(arm())
    clock.advance(SECOND)

    assert clock.next_timer() is None
