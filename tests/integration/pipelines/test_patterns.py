"""Can the five usual consumers be built: one by one, correlation, time window, batch with time-out, daily digest?"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

import windlass
from tests.integration.pipelines.handlers import Chooser, oldest
from tests.integration.pipelines.looking import pass_time, stands, time_of, until_quiet, wakes
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # the wire carries nothing else here than in test_consumers

Events = list[windlass.TopicEvent[int]]
Answer = windlass.Reserve | windlass.Idle


class Post:
    """A topic, a consumer that chooses, and what it took."""

    def __init__(self, harness: Harness, choose: Any) -> None:
        self.harness, self.chooser = harness, Chooser(choose)
        self.topic = harness.app.topic("letter", int)
        self.chooser.add_to(harness.app.pipeline("post"), self.topic)

    async def publish(self, *ids: str) -> None:
        await until_quiet(self.harness)
        for id in ids:
            await self.harness.app.publish(self.topic, 7, id=id)
        await until_quiet(self.harness)

    @property
    def taken(self) -> list[list[str]]:
        return [ids for ids in self.chooser.took if ids]


@pytest.mark.spec("pipelines:35")
async def test_one_by_one(harness: Harness) -> None:
    post = Post(harness, oldest)
    await post.publish("a", "b", "c")
    await post.publish("d")

    assert post.taken == [["a"], ["b"], ["c"], ["d"]]


@pytest.mark.spec("pipelines:35")
async def test_correlation_two_events_with_one_id_in_two_topics(harness: Harness) -> None:
    orders, payments = harness.app.topic("order", int), harness.app.topic("payment", int)
    pipeline, pairs = harness.app.pipeline("match"), list[tuple[str, int, int]]()

    @pipeline.consumer(orders, payments)
    class Match(windlass.Consumer[list[int], None]):
        async def prepare(self, ctx: windlass.PrepareContext, state: None) -> Answer:
            for order in await ctx.peek(orders):
                paid = [event for event in await ctx.get(payments, [order.id]) if event.id == order.id]
                if paid:
                    return windlass.Reserve([order, *paid], data=[order.payload, paid[0].payload])
            return windlass.Idle()

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[list[int]], result: None) -> None:
            if prepared.events:
                first, second = prepared.data
                pairs.append((prepared.events[0].id, first, second))

    await until_quiet(harness)
    for topic, id, amount in ((orders, "a", 1), (payments, "b", 20), (orders, "c", 3), (payments, "a", 10)):
        await harness.app.publish(topic, amount, id=id)
        await until_quiet(harness)
    assert pairs == [("a", 1, 10)]
    assert await stands(harness, "match", "order") == {"a": "consumed", "c": "pending"}
    await harness.app.publish(orders, 2, id="b")
    await harness.app.publish(payments, 30, id="c")
    await until_quiet(harness)

    assert sorted(pairs) == [("a", 1, 10), ("b", 2, 20), ("c", 3, 30)]


@pytest.mark.spec("pipelines:35")
async def test_a_window_of_an_hour_from_the_first_event(harness: Harness) -> None:
    def choose(found: Events) -> Answer:
        if not found:
            return windlass.Idle()
        ends = found[0].created_at + timedelta(hours=1)
        return windlass.Reserve(found) if ends <= time_of(harness) else windlass.Idle(wake_at=ends)

    post = Post(harness, choose)
    await post.publish("a")
    await pass_time(harness, "30m")
    await post.publish("b")
    assert post.taken == []
    assert await wakes(harness, "post") == {"choose": time_of(harness) + timedelta(minutes=30)}
    await pass_time(harness, "30m")
    assert post.taken == [["a", "b"]]
    await post.publish("c")
    await pass_time(harness, "1h")

    assert post.taken == [["a", "b"], ["c"]]
    assert await wakes(harness, "post") == {}


@pytest.mark.spec("pipelines:35", "pipelines:29")
async def test_a_batch_of_three_or_what_there_is_after_ten_minutes(harness: Harness) -> None:
    def choose(found: Events) -> Answer:
        if len(found) >= 3:
            return windlass.Reserve(found[:3])
        if found and found[0].created_at + timedelta(minutes=10) <= time_of(harness):
            return windlass.Reserve(found)
        return windlass.Idle(wake_at=found[0].created_at + timedelta(minutes=10)) if found else windlass.Idle()

    post = Post(harness, choose)
    await post.publish("a", "b", "c", "d")
    assert post.taken == [["a", "b", "c"]]  # the number was reached
    await pass_time(harness, "9m")
    assert len(post.taken) == 1
    await pass_time(harness, "1m")
    assert post.taken[1:] == [["d"]]  # the time has come
    await pass_time(harness, "1d")

    assert len(post.taken) == 2


@pytest.mark.spec("pipelines:35", "pipelines:30", "pipelines:32")
async def test_a_digest_every_day_at_nine(harness: Harness) -> None:
    """Its wake is a day away at most: if that comes early it says the same once more."""
    sent: list[datetime] = []

    def nine() -> datetime:
        now = time_of(harness)
        today = now.replace(hour=9, minute=0)
        return today if today > now else today + timedelta(days=1)

    def choose(found: Events) -> Answer:
        if not found or time_of(harness).hour != 9:
            return windlass.Idle(wake_at=nine())
        sent.append(time_of(harness))
        return windlass.Reserve(found, wake_at=nine())

    post = Post(harness, choose)
    await post.publish("a")
    await pass_time(harness, "5h")
    await post.publish("b")
    assert post.taken == []
    await pass_time(harness, "4h")
    assert post.taken == [["a", "b"]]
    await pass_time(harness, "2d")  # days without letters
    await pass_time(harness, "1h")
    await post.publish("c")
    await pass_time(harness, "23h")

    assert post.taken == [["a", "b"], ["c"]]
    assert [(at.day, at.hour) for at in sent] == [(1, 9), (4, 9)]
    assert len(post.chooser.saw) == 8  # for a deploy, three letters and four mornings
