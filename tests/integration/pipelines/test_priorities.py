"""Who begins first where several could, and does nobody begin while a handler of the pipeline is stopped?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

import windlass
from tests.integration.conftest import Gate
from tests.integration.pipelines.handlers import Chooser, add_producer, add_taker, everything, nothing
from tests.integration.pipelines.looking import (
    attempts,
    dirty,
    jump,
    look,
    pass_time,
    queued,
    stands,
    until_quiet,
)
from windlass import StepError
from windlass.engine.pipeline.attempts import Attempts
from windlass.engine.pipeline.desk import open_desk
from windlass.model.pipeline import PipelineStatus
from windlass.store.base import Connection, Tx
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # the wire carries nothing else here than in test_consumers


@pytest.mark.spec("pipelines:95", "pipelines:94")
async def test_consumers_come_before_producers(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("desk"), list[str]()
    other = harness.app.topic("other", int)
    add_producer(pipeline, other, ran, "first", every="1h", is_silent=True)
    add_producer(pipeline, other, ran, "second", every="1h", is_silent=True)
    add_taker(pipeline, topic, ran)
    await until_quiet(harness)
    ran.clear()
    await harness.app.pipelines.pause("desk")
    await jump(harness, "2h")
    await harness.app.publish(topic, 1, id="a")  # younger than the times of the producers
    await harness.app.publish(topic, 1, id="b")
    await harness.app.pipelines.resume("desk")
    await until_quiet(harness)

    assert ran == ["take a", "take b", "first", "second"]


@pytest.mark.spec("pipelines:96", "pipelines:135", "pipelines:137")
async def test_of_several_consumers_the_one_with_the_oldest_event_comes_first(harness: Harness) -> None:
    topics = [harness.app.topic(f"topic-{number}", int) for number in range(3)]
    pipeline, ran = harness.app.pipeline("desk"), list[str]()
    for number, topic in enumerate(topics):
        add_taker(pipeline, topic, ran, f"take-{number}")
    await until_quiet(harness)
    await harness.app.pipelines.pause("desk")
    for number, id in ((2, "a"), (0, "b"), (1, "c"), (2, "d")):
        await harness.app.publish(topics[number], 1, id=id)
        await jump(harness, "1s")
    await harness.app.pipelines.resume("desk")
    await until_quiet(harness)

    assert ran == ["take-2 a", "take-0 b", "take-1 c", "take-2 d"]


@pytest.mark.spec("pipelines:135", "pipelines:137")
async def test_a_wake_that_has_come_counts_as_its_age_and_declaration_breaks_ties(harness: Harness) -> None:
    topic, late = harness.app.topic("number", int), harness.app.topic("late", int)
    pipeline, order = harness.app.pipeline("desk"), list[str]()

    def noting(name: str, **wake: Any) -> Chooser:
        def choose(found: list[windlass.TopicEvent[int]]) -> windlass.Reserve | windlass.Idle:
            order.append(name)
            return windlass.Reserve(found, wake_at=wake.pop("wake_at", None))

        return Chooser(choose)

    add_taker(pipeline, late, order)
    noting("second").add_to(pipeline, topic, name="second")
    noting("third").add_to(pipeline, topic, name="third")
    noting("woken", wake_at=timedelta(minutes=5)).add_to(pipeline, topic, name="woken")
    await until_quiet(harness)
    assert order == ["second", "third", "woken"]  # all of them new, as old as each other
    order.clear()
    await harness.app.pipelines.pause("desk")
    await jump(harness, "10m")  # its wake came five minutes ago
    await harness.app.publish(late, 1, id="a")
    await harness.app.pipelines.resume("desk")
    await until_quiet(harness)

    assert order == ["woken", "take a"]


@pytest.mark.spec("pipelines:135")
async def test_pending_events_alone_make_nobody_begin(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("desk"), list[str]()
    other, chooser = harness.app.topic("other", int), Chooser(nothing)
    chooser.add_to(pipeline, topic)
    add_taker(pipeline, other, ran)
    await until_quiet(harness)
    await harness.app.publish(topic, 1, id="older")
    await until_quiet(harness)
    await jump(harness, "1m")
    await harness.app.publish(other, 1, id="a")
    await until_quiet(harness)

    assert chooser.saw == [[], ["older"]]
    assert ran == ["take a"]
    assert await dirty(harness, "desk") == set()


async def test_after_a_hundred_runs_of_consumers_a_producer_that_is_due_has_its_turn(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("desk"), list[str]()
    other = harness.app.topic("other", int)
    add_producer(pipeline, other, ran, every="1h", is_silent=True)
    add_taker(pipeline, topic, ran)
    await until_quiet(harness)
    ran.clear()
    await harness.app.pipelines.pause("desk")
    await jump(harness, "2h")
    await harness.app.publish_many(topic, [(f"{number:03}", 7) for number in range(105)])
    await harness.app.pipelines.resume("desk")
    await until_quiet(harness)

    assert len(ran) == 106
    assert ran.index("poll") == 100
    assert ran[:100] == [f"take {number:03}" for number in range(100)]


@pytest.mark.spec("pipelines:93")
async def test_a_pipeline_has_one_handler_at_work_with_any_number_of_workers(harness: Harness) -> None:
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("desk")
    at_work, most, taken = 0, 0, list[str]()

    def add(name: str) -> None:
        @pipeline.consumer(topic, name=name)
        async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
            nonlocal at_work, most
            at_work += 1
            most = max(most, at_work)
            await harness.app.pipelines.get("desk")  # others have their turn meanwhile
            taken.extend(event.id for event in events)
            at_work -= 1

    add("one")
    add("two")
    async with harness.app.worker(), harness.app.worker():
        await until_quiet(harness)
        await harness.app.publish_many(topic, [(f"{number}", 7) for number in range(8)])
        await until_quiet(harness)

    assert most == 1
    assert sorted(taken) == [f"{number}" for number in range(8)]


class Counting:
    """A connection that counts what is sent over it."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self.sent = connection, 0

    def __getattr__(self, name: str) -> Any:
        self.sent += name in ("all", "first", "run", "batch")
        return getattr(self._connection, name)


class Undone(Exception):
    pass


@pytest.mark.spec("pipelines:136")
async def test_to_find_who_is_next_takes_as_many_queries_for_twenty_consumers_as_for_two(harness: Harness) -> None:
    sent: list[int] = []
    parts = harness.opened.engine.parts

    async def find(name: str) -> None:
        async def count(tx: Tx) -> None:
            counting: Any = Counting(tx.connection)
            desk = await open_desk(Tx(counting), "default", names=[name])
            held = replace(desk.pipelines[name], status=PipelineStatus.RUNNING, is_paused=False)
            desk.put(held)
            task = await Attempts(desk, parts.ids).advance(name, before=PipelineStatus.IDLE)
            assert task is not None
            assert task.handler == "take-1"
            sent.append(counting.sent)
            raise Undone

        with pytest.raises(Undone):
            await parts.run_tx("find_next", count)

    for size in (2, 20):
        pipeline = _pipeline(harness, f"desk-{size}")
        for number in range(size):
            add_taker(pipeline, harness.app.topic(f"topic-{number}", int), [], f"take-{number}")
    await until_quiet(harness)
    for size in (2, 20):
        await harness.app.pipelines.pause(f"desk-{size}")
    for number in [*range(1, 20), 0]:
        await harness.app.publish(harness.app.topic(f"topic-{number}", int), 1, id="a")
        await jump(harness, "1s")
    for size in (2, 20):
        await find(f"desk-{size}")

    assert sent[0] == sent[1] > 0


def _pipeline(harness: Harness, name: str) -> windlass.Pipeline:
    return harness.app.pipeline(name)


# --- a handler that is stopped holds the others -----------------------------------------------------------------------


class Held:
    """A pipeline whose consumer fails, with a producer and another consumer that could go on."""

    def __init__(self, harness: Harness) -> None:
        self.harness, self.ran, self.chooser = harness, list[str](), Chooser(everything)
        self.topic, self.other = harness.app.topic("number", int), harness.app.topic("other", int)
        self.pipeline = harness.app.pipeline("desk")
        self.chooser.add_to(self.pipeline, self.topic)
        add_taker(self.pipeline, self.other, self.ran)
        add_producer(self.pipeline, self.other, self.ran, every="5s")

    async def fail(self, kind: str) -> None:
        await until_quiet(self.harness)
        self.ran.clear()
        self.chooser.error = StepError("no", kind=kind)
        await self.harness.app.publish(self.topic, 1, id="a")
        await until_quiet(self.harness)


@pytest.mark.spec("pipelines:103", "pipelines:104", "pipelines:106", "pipelines:110", "pipelines:111")
async def test_a_back_off_holds_every_handler_and_what_came_meanwhile_is_served_behind_it(harness: Harness) -> None:
    held = Held(harness)
    await held.fail("transient")
    assert (await attempts(harness, "desk"))[-1].status == "paused:transient"
    await harness.app.publish(held.other, 1, id="x")
    await harness.app.publish(held.topic, 1, id="b")
    await jump(harness, "9s")  # the producer was due at five
    await until_quiet(harness)
    assert (held.ran, len(held.chooser.saw)) == ([], 2)
    assert await queued(harness, "desk") == {"poll"}
    assert await dirty(harness, "desk") >= {"take"}

    await jump(harness, "1s")
    await until_quiet(harness)

    assert held.chooser.saw[2:] == [["a", "b"]]
    assert held.ran == ["take x", "poll", "take poll-2"]
    assert set((await stands(harness, "desk")).values()) == {"consumed"}


@pytest.mark.spec("pipelines:103", "pipelines:104", "pipelines:110")
@pytest.mark.parametrize("kind", ["logic", "auth", "permission", "internal"])
async def test_what_waits_for_a_person_holds_every_handler_until_it_is_put_right(harness: Harness, kind: str) -> None:
    held = Held(harness)
    await held.fail(kind)
    await harness.app.publish(held.other, 1, id="x")
    await jump(harness, "1h")
    await until_quiet(harness)
    assert (held.ran, len(held.chooser.saw)) == ([], 2)
    assert (await look(harness, "desk")).pipeline.available_at is None

    await harness.app.pipelines.resume("desk", by="ann")
    await until_quiet(harness)

    assert held.chooser.saw[2:] == [["a"]]
    assert held.ran == ["take x", "poll", "take poll-2"]


@pytest.mark.spec("pipelines:110")
async def test_during_a_repair_everything_waits_and_is_served_behind_it(harness: Harness, gate: Gate) -> None:
    topic, other, ran = harness.app.topic("number", int), harness.app.topic("other", int), list[str]()
    chooser = Chooser(everything)

    async def fix(problem: windlass.Problem) -> windlass.Fixed:
        await gate.wait()
        return windlass.Fixed("restarted it")

    pipeline = harness.app.pipeline("desk", on_logic_error=fix)
    chooser.add_to(pipeline, topic)
    add_taker(pipeline, other, ran)
    await until_quiet(harness)
    chooser.error = ValueError("broken")
    await harness.app.publish(topic, 1, id="a")
    await gate.reached()
    await harness.app.publish(other, 1, id="x")
    await jump(harness, "1m")
    assert (ran, len(chooser.saw)) == ([], 2)
    gate.open()
    await until_quiet(harness)

    assert chooser.saw == [[], ["a"], ["a"]]
    assert ran == ["take x"]


@pytest.mark.spec("pipelines:104")
async def test_one_pipeline_that_is_held_holds_no_other(harness: Harness) -> None:
    held, ran = Held(harness), list[str]()
    add_taker(harness.app.pipeline("free"), held.topic, ran)
    await held.fail("logic")

    assert ran == ["take a"]
    assert (await harness.app.pipelines.get("free")).status == "Idle"


@pytest.mark.spec("pipelines:105")
async def test_what_is_next_begins_in_the_moment_of_a_commit(harness: Harness) -> None:
    first, second = harness.app.topic("first", int), harness.app.topic("second", int)
    pipeline, ran = harness.app.pipeline("desk"), list[str]()

    @pipeline.consumer(first, publishes=[second])
    async def pass_on(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        ctx.publish(second, 1, id=events[0].id)

    add_taker(pipeline, second, ran)
    await until_quiet(harness)
    await harness.app.publish(first, 1, id="a")
    await until_quiet(harness)

    one, two = await attempts(harness, "desk")
    assert ran == ["take a"]
    assert one.ended_at == two.created_at


@pytest.mark.spec("pipelines:97")
async def test_a_pause_lets_the_handler_at_work_end_and_begins_none(harness: Harness, gate: Gate) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("desk"), list[str]()
    add_taker(pipeline, topic, ran, gate=gate)
    await until_quiet(harness)
    await harness.app.publish(topic, 1, id="a")
    await gate.reached()
    await harness.app.publish(topic, 1, id="b")
    assert (await harness.app.pipelines.pause("desk", by="ann", note="lunch")).is_paused
    gate.open()
    await until_quiet(harness)
    assert await stands(harness, "desk") == {"a": "consumed", "b": "pending"}
    assert [run.status for run in await attempts(harness, "desk")] == ["committed"]
    await pass_time(harness, "1d")
    assert ran == ["take a"]

    await harness.app.pipelines.resume("desk")
    await until_quiet(harness)

    assert ran == ["take a", "take b"]
