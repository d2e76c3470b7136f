"""Who is woken by what, and can they tell a hint about their own topic from one about everything?"""

from __future__ import annotations

import asyncio

import pytest

from windlass.notify.local import EVERYTHING, Hub, gates_topic, queue_topic
from windlass.testing.clock import FakeClock

BILLING, MAIL = queue_topic("default", "billing"), queue_topic("default", "mail")


def test_a_topic_wakes_by_name_whoever_subscribed_to_it() -> None:
    hub = Hub()
    with hub.subscribe(BILLING, gates_topic("default")) as billing, hub.subscribe(MAIL) as mail:
        hub.publish(BILLING)

        assert (billing._is_set, billing.is_named) == (True, True)
        assert (mail._is_set, mail.is_named) == (False, False)
        billing.clear()
        assert (billing._is_set, billing.is_named) == (False, False)


def test_a_hint_about_everything_wakes_all_and_names_nothing() -> None:
    hub = Hub()
    with hub.subscribe(BILLING) as billing, hub.subscribe(MAIL) as mail:
        hub.hear(EVERYTHING)

        assert [(item._is_set, item.is_named) for item in (billing, mail)] == [(True, False)] * 2


@pytest.mark.parametrize("hints", [(BILLING, EVERYTHING), (EVERYTHING, BILLING)])
def test_a_name_is_not_forgotten_beside_a_hint_about_everything(hints: tuple[tuple[str, ...], ...]) -> None:
    hub = Hub()
    with hub.subscribe(BILLING) as billing:
        for hint in hints:
            hub.hear(hint)

        assert billing.is_named


async def test_the_end_of_the_time_wakes_and_says_nothing(clock: FakeClock) -> None:
    with Hub().subscribe(BILLING) as billing:
        waiting = asyncio.ensure_future(billing.wait(clock, 5))
        await asyncio.sleep(0)
        clock.advance(5)
        await waiting

        assert (billing.is_set, billing.is_named) == (False, False)


@pytest.mark.parametrize("hint", [BILLING, EVERYTHING])
def test_a_hub_whose_hints_are_switched_off_wakes_nobody(hint: tuple[str, ...]) -> None:
    hub = Hub()
    hub.is_suppressed = True
    with hub.subscribe(BILLING) as billing:
        hub.publish(hint)
        hub.hear(hint)

        assert not billing._is_set


async def test_two_who_wait_on_one_subscription_each_have_their_own_time(clock: FakeClock) -> None:
    with Hub().subscribe(BILLING) as billing:
        short, long = (asyncio.ensure_future(billing.wait(clock, delay)) for delay in (5, 9))
        await asyncio.sleep(0)
        clock.advance(5)
        await short
        assert not long.done()
        clock.advance(4)
        await long
        both = [asyncio.ensure_future(billing.wait(clock, 9)) for _ in range(2)]
        await asyncio.sleep(0)
        billing.wake()
        await asyncio.gather(*both)
