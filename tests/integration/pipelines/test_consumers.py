"""Do consumers begin when there is news for them, and only then; is nothing lost that comes while they are at work?"""

from __future__ import annotations

from typing import Any

import pytest

import windlass
from tests.integration.conftest import Gate
from tests.integration.pipelines.handlers import Chooser, add_producer, add_taker, everything, nothing, oldest
from tests.integration.pipelines.looking import (
    attempts,
    dirty,
    jump,
    look,
    pass_time,
    queued,
    stands,
    until_quiet,
    until_stands,
)
from tests.integration.pipelines.till import NAME, ORDERS, Till, refusal
from windlass.testing.harness import Harness


async def publish(harness: Harness, topic: windlass.Topic[int], *ids: str) -> None:
    for id in ids:
        await harness.app.publish(topic, 7, id=id)


# --- what sets a consumer off -----------------------------------------------------------------------------------------


@pytest.mark.spec("pipelines:19", "pipelines:21", "pipelines:48", "pipelines:126")
async def test_an_event_sets_off_the_subscribers_of_its_topic_and_nobody_else(harness: Harness) -> None:
    mine, other = harness.app.topic("mine", int), harness.app.topic("other", int)
    pipeline, chooser, bystander = harness.app.pipeline("desk"), Chooser(everything), Chooser(everything)
    chooser.add_to(pipeline, mine)
    bystander.add_to(pipeline, other, name="bystander")
    await until_quiet(harness)

    await publish(harness, mine, "a")
    await until_quiet(harness)

    assert chooser.saw == [[], ["a"]]
    assert bystander.saw == [[]]
    assert await stands(harness, "desk") == {"a": "consumed"}


@pytest.mark.spec("pipelines:18", "pipelines:93", "pipelines:122")
async def test_a_consumer_waits_for_a_producer_and_for_another_consumer(harness: Harness, gate: Gate) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("desk"), list[str]()
    slow, second = Gate(), harness.app.topic("second", int)
    add_producer(pipeline, topic, ran, every="1h", gate=gate)
    add_taker(pipeline, topic, ran, "slow", gate=slow)
    add_taker(pipeline, second, ran, "late")
    await gate.reached()
    await publish(harness, second, "b")
    assert ran == ["poll"]
    active = [run for run in await attempts(harness, "desk") if run.status == "active"]
    assert [run.handler for run in active] == ["poll"]
    await jump(harness, "1s")
    await publish(harness, topic, "a")
    gate.open()
    await slow.reached()
    assert [run.handler for run in await attempts(harness, "desk") if run.status == "active"] == ["slow"]
    slow.open()
    await until_quiet(harness)

    assert ran == ["poll", "late b", "slow a", "slow poll-1"]


@pytest.mark.spec("pipelines:22", "pipelines:94", "pipelines:123", "pipelines:132")
async def test_events_that_come_during_a_run_are_one_more_run(harness: Harness, gate: Gate) -> None:
    topic, pipeline, chooser = harness.app.topic("number", int), harness.app.pipeline("desk"), Chooser(everything)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    chooser.next_gate = gate
    await publish(harness, topic, "a")
    await gate.reached()
    await publish(harness, topic, "b", "c", "d", "e")
    gate.open()
    await until_quiet(harness)

    assert chooser.saw == [[], ["a"], ["b", "c", "d", "e"]]
    assert set((await stands(harness, "desk")).values()) == {"consumed"}


@pytest.mark.spec("pipelines:46", "pipelines:132")
@pytest.mark.parametrize("choose", [nothing, oldest, everything])
async def test_an_event_that_comes_while_its_consumer_chooses_is_never_lost(
    harness: Harness, gate: Gate, choose: Any
) -> None:
    topic, pipeline, chooser = harness.app.topic("number", int), harness.app.pipeline("desk"), Chooser(choose)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    chooser.prepare_gate = gate
    await publish(harness, topic, "a")
    await gate.reached()  # it has looked
    await publish(harness, topic, "b")
    gate.open()
    await until_quiet(harness)

    seen = {nothing: ["a", "b"], oldest: ["b"], everything: ["b"]}[choose]
    assert chooser.saw == [[], ["a"], seen]  # once more, and not again
    await jump(harness, "2d")
    await until_quiet(harness)
    assert len(chooser.saw) == 3


@pytest.mark.spec("pipelines:49", "pipelines:51", "pipelines:105")
async def test_after_a_commit_a_consumer_has_news_only_if_something_newer_waits(harness: Harness, gate: Gate) -> None:
    topic, pipeline, chooser = harness.app.topic("number", int), harness.app.pipeline("desk"), Chooser(everything)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    chooser.next_gate = gate
    await publish(harness, topic, "a")
    await gate.reached()
    assert await dirty(harness, "desk") == {"choose"}
    gate.open()
    await until_quiet(harness)

    assert await dirty(harness, "desk") == set()
    assert await queued(harness, "desk") == set()
    assert (await look(harness, "desk")).pipeline.available_at is None


# --- a consumer that wants nothing rests ------------------------------------------------------------------------------


@pytest.mark.spec("pipelines:2", "pipelines:23", "pipelines:24", "pipelines:26", "invariants:I-42")
async def test_a_consumer_that_reserved_nothing_rests_until_something_newer_comes(harness: Harness) -> None:
    topic, other = harness.app.topic("number", int), harness.app.topic("other", int)
    pipeline, chooser, ran = harness.app.pipeline("desk"), Chooser(nothing), list[str]()
    chooser.add_to(pipeline, topic)
    add_taker(pipeline, other, ran)
    add_producer(pipeline, other, ran, every="1h")
    await until_quiet(harness)
    await publish(harness, topic, "a")
    await until_quiet(harness)
    assert chooser.saw == [[], ["a"]]

    for _ in range(3):
        await pass_time(harness, "1h")  # others of its pipeline run
    await harness.app.pipelines.pause("desk")
    await harness.app.pipelines.resume("desk")
    await until_quiet(harness)
    assert len(ran) == 8
    assert chooser.saw == [[], ["a"]]
    assert await stands(harness, "desk", "number") == {"a": "pending"}
    await publish(harness, topic, "b")
    await until_quiet(harness)

    assert chooser.saw == [[], ["a"], ["a", "b"]]  # calls: one for each event, and one for the deploy
    assert [run.status for run in await attempts(harness, "desk", "choose")] == ["committed"] * 3


@pytest.mark.spec("pipelines:23")
async def test_next_follows_an_empty_reservation_and_mutate_does_not(harness: Harness) -> None:
    topic, pipeline, called = harness.app.topic("number", int), harness.app.pipeline("desk"), list[str]()

    @pipeline.consumer(topic)
    class Take(windlass.Consumer[None, None]):
        async def prepare(self, ctx: windlass.PrepareContext, state: None) -> windlass.Reserve | windlass.Idle:
            called.append("prepare")
            return windlass.Reserve([]) if len(called) == 1 else windlass.Idle()

        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[None]) -> None:
            called.append("mutate")

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[None], result: None) -> None:
            called.append(f"next {prepared.events} {prepared.outcome}")

    await until_quiet(harness)
    await publish(harness, topic, "a")
    await until_quiet(harness)

    assert called == ["prepare", "next () none"] * 2
    assert [(run.phase, run.outcome) for run in await attempts(harness, "desk")] == [("committed", "none")] * 2


@pytest.mark.spec("pipelines:36", "pipelines:56")
async def test_to_prepare_once_more_does_no_harm(harness: Harness, gate: Gate) -> None:
    topic, pipeline, chooser = harness.app.topic("number", int), harness.app.pipeline("desk"), Chooser(everything)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    chooser.prepare_gate = gate
    await publish(harness, topic, "a")
    await gate.reached()
    harness.crash()
    await gate.reached(2)
    assert await stands(harness, "desk") == {"a": "pending"}
    gate.open()
    await until_quiet(harness)

    assert chooser.saw == [[], ["a"], ["a"]]
    assert chooser.took == [[], ["a"]]
    assert await stands(harness, "desk") == {"a": "consumed"}


# --- one by one, several consumers, several pipelines -----------------------------------------------------------------


@pytest.mark.spec("pipelines:22", "pipelines:51", "pipelines:132")
@pytest.mark.parametrize("is_chosen", [True, False])
async def test_ten_events_are_taken_one_by_one_in_their_order(harness: Harness, is_chosen: bool) -> None:
    topic, pipeline, chooser = harness.app.topic("number", int), harness.app.pipeline("desk"), Chooser(oldest)
    ran: list[str] = []
    if is_chosen:
        chooser.add_to(pipeline, topic)
    else:
        add_taker(pipeline, topic, ran)
    await until_quiet(harness)
    chooser.took.clear()
    ids = [f"{number}" for number in range(10)]
    await harness.app.publish_many(topic, [(id, 7) for id in ids])
    await until_quiet(harness)

    assert (chooser.took if is_chosen else ran) == [[id] if is_chosen else f"take {id}" for id in ids]
    assert set((await stands(harness, "desk")).values()) == {"consumed"}
    assert await dirty(harness, "desk") == set()


async def test_two_consumers_of_a_topic_share_its_events_and_none_is_taken_twice(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("desk"), list[str]()
    add_taker(pipeline, topic, ran, "one")
    add_taker(pipeline, topic, ran, "two")
    await harness.app.pipelines.topics()
    await until_quiet(harness)
    await harness.app.publish_many(topic, [(f"{number}", 7) for number in range(6)])
    await until_quiet(harness)

    assert sorted(item.split()[1] for item in ran) == ["0", "1", "2", "3", "4", "5"]
    assert set((await stands(harness, "desk")).values()) == {"consumed"}
    assert await dirty(harness, "desk") == set()


async def test_what_one_consumer_leaves_another_may_take(harness: Harness) -> None:
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("desk")
    small = Chooser(lambda found: windlass.Reserve([event for event in found if event.payload < 10]))
    large = Chooser(lambda found: windlass.Reserve([event for event in found if event.payload >= 10]))
    small.add_to(pipeline, topic, name="small")
    large.add_to(pipeline, topic, name="large")
    await until_quiet(harness)
    small.took.clear()
    large.took.clear()
    await harness.app.publish_many(topic, [("a", 1), ("b", 10), ("c", 2), ("d", 20)])
    await until_quiet(harness)

    assert [ids for ids in small.took if ids] == [["a", "c"]]
    assert [ids for ids in large.took if ids] == [["b", "d"]]
    assert len(small.saw) + len(large.saw) <= 2 + 2 * 2  # nobody looks round and round at what the other one left


async def test_each_subscribing_pipeline_has_its_own_event(harness: Harness, gate: Gate) -> None:
    topic, ran = harness.app.topic("number", int), list[str]()
    add_taker(harness.app.pipeline("left"), topic, ran, "left", gate=gate)
    add_taker(harness.app.pipeline("right"), topic, ran, "right")
    await until_quiet(harness)

    published = await harness.app.publish(topic, 7, id="a")
    await gate.reached()
    await harness.app.publish(topic, 7, id="b")

    await until_stands(harness, "right", a="consumed", b="consumed")  # one pipeline does not wait for another
    assert published.pipelines == 2
    await until_stands(harness, "left", a="reserved", b="pending")
    gate.open()
    await until_quiet(harness)

    assert sorted(ran) == ["left a", "left b", "right a", "right b"]


async def test_an_event_may_be_published_to_several_topics_at_once(harness: Harness) -> None:
    source, left, right = (harness.app.topic(name, int) for name in ("source", "left", "right"))
    pipeline, ran = harness.app.pipeline("desk"), list[str]()

    @pipeline.consumer(source, publishes=[left, right])
    async def spread(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        for event in events:
            ctx.publish([left, right], event.payload, id=event.id)

    add_taker(pipeline, left, ran, "left")
    add_taker(pipeline, right, ran, "right")
    await until_quiet(harness)
    await publish(harness, source, "a")
    await until_quiet(harness)

    assert ran == ["left a", "right a"]
    topics = {item.name: item.subscribers for item in await harness.app.pipelines.topics()}
    assert topics == {"source": ("desk.spread",), "left": ("desk.left",), "right": ("desk.right",)}


# --- the same id again ------------------------------------------------------------------------------------------------


async def test_a_pending_event_published_anew_is_news_and_has_the_last_payload(harness: Harness) -> None:
    topic, pipeline, chooser = harness.app.topic("number", int), harness.app.pipeline("desk"), Chooser(nothing)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    assert not (await harness.app.publish(topic, 1, id="a")).is_repeat
    await until_quiet(harness)
    assert (await harness.app.publish(topic, 1, id="a")).is_repeat  # the same: nothing to look at
    await until_quiet(harness)
    assert chooser.saw == [[], ["a"]]

    chooser.choose = everything
    assert (await harness.app.publish(topic, 2, id="a")).is_repeat
    await until_quiet(harness)

    assert chooser.saw == [[], ["a"], ["a"]]
    assert chooser.payloads == [[], [], [2]]


async def test_a_consumed_event_published_anew_stays_consumed_and_wakes_nobody(harness: Harness) -> None:
    topic, pipeline, chooser = harness.app.topic("number", int), harness.app.pipeline("desk"), Chooser(everything)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    await harness.app.publish(topic, 1, id="a")
    await until_quiet(harness)

    assert (await harness.app.publish(topic, 2, id="a")).is_repeat
    await until_quiet(harness)

    assert chooser.saw == [[], ["a"]]
    assert await stands(harness, "desk") == {"a": "consumed"}
    assert await dirty(harness, "desk") == set()


@pytest.mark.parametrize("is_chosen", [True, False])
async def test_a_reserved_event_published_anew_is_for_its_run_what_it_was(
    harness: Harness, gate: Gate, is_chosen: bool
) -> None:
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("desk")
    given: list[tuple[str, int]] = []
    fails = [True]

    class Take(windlass.Consumer[Any, None]):
        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[Any], result: None) -> None:
            given.extend((event.id, event.payload) for event in prepared.events)
            if prepared.events and fails:
                await gate.wait()
                fails.clear()
                raise windlass.StepError("not now", kind="transient")

    class Choose(Take):
        async def prepare(self, ctx: windlass.PrepareContext, state: None) -> windlass.Reserve:
            return windlass.Reserve(await ctx.peek(topic))

    pipeline.consumer(topic)(Choose if is_chosen else Take)
    await until_quiet(harness)
    await harness.app.publish(topic, 1, id="a")
    await gate.reached()
    await until_stands(harness, "desk", a="reserved")
    await harness.app.publish(topic, 2, id="a")
    gate.open()
    await until_quiet(harness)
    await pass_time(harness, "10s")

    assert given == [("a", 1), ("a", 1)]  # also to the attempt that goes on at emitting
    assert await stands(harness, "desk") == {"a": "consumed"}


async def test_an_event_changed_while_it_was_chosen_is_chosen_again_as_it_is_now(harness: Harness, gate: Gate) -> None:
    topic, pipeline, chooser = harness.app.topic("number", int), harness.app.pipeline("desk"), Chooser(everything)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    chooser.prepare_gate = gate
    await harness.app.publish(topic, 1, id="a")
    await gate.reached()
    await harness.app.publish(topic, 2, id="a")
    gate.open()
    await until_quiet(harness)

    assert [1] not in chooser.payloads, "next sees what is reserved, and nothing else"
    assert chooser.payloads[-1] == [2]
    assert await stands(harness, "desk") == {"a": "consumed"}
    assert [run.status for run in await attempts(harness, "desk", "choose")] == ["committed"] * 2


# --- dirty and queued are read from rows ------------------------------------------------------------------------------


@pytest.mark.spec("pipelines:45", "pipelines:121", "pipelines:126", "pipelines:128")
async def test_after_a_publish_exactly_the_subscribers_are_dirty(harness: Harness) -> None:
    mine, other = harness.app.topic("mine", int), harness.app.topic("other", int)
    pipeline, ran = harness.app.pipeline("desk"), list[str]()
    add_taker(pipeline, mine, ran, "one")
    add_taker(pipeline, mine, ran, "two")
    add_taker(pipeline, other, ran, "three")
    add_producer(pipeline, other, ran, every="1h", is_silent=True)
    await until_quiet(harness)
    assert (await dirty(harness, "desk"), await queued(harness, "desk")) == (set(), set())
    await harness.app.pipelines.pause("desk")

    await publish(harness, mine, "a")
    assert await dirty(harness, "desk") == {"one", "two"}
    assert await queued(harness, "desk") == set()
    await jump(harness, "1h")
    assert await queued(harness, "desk") == {"poll"}
    await harness.app.pipelines.resume("desk")
    await until_quiet(harness)

    assert (await dirty(harness, "desk"), await queued(harness, "desk")) == (set(), set())
    assert ran == ["poll", "one a", "poll"]


@pytest.mark.spec("pipelines:127")
async def test_a_commit_moves_only_the_watermark_of_its_own_consumer(harness: Harness, gate: Gate) -> None:
    left, right = harness.app.topic("left", int), harness.app.topic("right", int)
    pipeline, ran = harness.app.pipeline("desk"), list[str]()
    add_taker(pipeline, left, ran, "one")
    add_taker(pipeline, right, ran, "two", gate=gate)
    await until_quiet(harness)
    await harness.app.pipelines.pause("desk")
    await publish(harness, left, "a")
    await publish(harness, right, "b")
    assert await dirty(harness, "desk") == {"one", "two"}
    await harness.app.pipelines.resume("desk")
    await gate.reached()

    assert ran == ["one a", "two b"]
    assert await dirty(harness, "desk") == {"two"}
    gate.open()
    await until_quiet(harness)
    assert await dirty(harness, "desk") == set()


@pytest.mark.spec("pipelines:144")
async def test_pending_events_are_counted_by_topic_and_only_those(harness: Harness, gate: Gate) -> None:
    assert await harness.app.pipelines.topics() == []
    busy, rest = harness.app.topic("busy", int), harness.app.topic("rest", int)
    pipeline = harness.app.pipeline("desk")
    add_taker(pipeline, busy, [], gate=gate)
    Chooser(nothing).add_to(pipeline, rest)
    await until_quiet(harness)
    await publish(harness, busy, "a", "b", "c")
    await publish(harness, rest, "y", "z")
    await gate.reached()
    await until_stands(harness, "desk", a="reserved", c="pending")
    topics = {item.name: (item.pending, item.reserved) for item in await harness.app.pipelines.topics()}
    assert topics["busy"] == ({"desk": 2}, {"desk": 1})
    assert topics["rest"][0] == {"desk": 2}
    gate.open()
    await until_quiet(harness)

    assert {item.name: item.pending for item in await harness.app.pipelines.topics()} == {
        "busy": {"desk": 0},
        "rest": {"desk": 2},
    }


@pytest.mark.parametrize(("code", "pending", "reserved"), [("mutate", 1, 0), ("next", 0, 1)])
async def test_the_event_of_a_stopped_attempt_is_counted_once_as_pending_or_as_reserved(
    harness: Harness, code: str, pending: int, reserved: int
) -> None:
    till = await Till(harness).deployed()
    till.world.plan(**{code: refusal("logic", "poisoned")})

    await till.settle("a")

    (orders,) = [item for item in await harness.app.pipelines.topics() if item.name == ORDERS]
    assert (orders.pending, orders.reserved) == ({NAME: pending}, {NAME: reserved})


# --- what prepare may answer ------------------------------------------------------------------------------------------


def unknown(topic: str, id: str, found: list[windlass.TopicEvent[int]]) -> windlass.TopicEvent[int]:
    return windlass.TopicEvent(topic=topic, id=id, payload=1, created_at=found[0].created_at)


BAD_ANSWERS: dict[str, Any] = {
    "None": lambda found: None,
    "a-dict": lambda found: {"reservations": found},
    "a-list": lambda found: found,
    "a-text": lambda found: "a",
    "no-events": lambda found: windlass.Reserve(),  # type: ignore[call-arg]
    "None-for-events": lambda found: windlass.Reserve(None),  # type: ignore[arg-type]
    "a-text-for-events": lambda found: windlass.Reserve("a"),  # type: ignore[arg-type]
    "ids-for-events": lambda found: windlass.Reserve(["a"]),  # type: ignore[list-item]
    "a-dict-for-events": lambda found: windlass.Reserve(dict.fromkeys("ab", found)),  # type: ignore[arg-type]
    "an-event-twice": lambda found: windlass.Reserve([*found, *found]),
    "one-that-is-not-there": lambda found: windlass.Reserve([*found, unknown("number", "x", found)]),
    "one-of-another-topic": lambda found: windlass.Reserve([*found, unknown("other", "a", found)]),
}


@pytest.mark.spec("pipelines:148", "pipelines:149")
async def test_what_prepare_may_not_answer_is_a_fault_of_its_code_and_reserves_nothing(harness: Harness) -> None:
    topic = harness.app.topic("number", int)
    choosers = {name: Chooser(nothing) for name in BAD_ANSWERS}
    for name, chooser in choosers.items():
        chooser.add_to(_pipeline(harness, name), topic)
    await until_quiet(harness)
    for name, chooser in choosers.items():
        chooser.choose = BAD_ANSWERS[name]
    await publish(harness, topic, "a")
    await until_quiet(harness)

    for name in choosers:
        run = (await attempts(harness, name))[-1]
        assert (name, run.phase, run.status) == (name, "preparing", "failed:logic")
        assert run.error
        assert await stands(harness, name) == {"a": "pending"}
    assert {info.status for info in await harness.app.pipelines.list()} == {"Needs attention"}


def _pipeline(harness: Harness, name: str) -> windlass.Pipeline:
    return harness.app.pipeline(name)


@pytest.mark.spec("pipelines:124")
async def test_a_reservation_has_events_data_a_title_for_people_and_a_wake(harness: Harness) -> None:
    topic, pipeline, chooser = harness.app.topic("number", int), harness.app.pipeline("desk"), Chooser(nothing)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    chooser.choose = lambda found: windlass.Reserve(
        found, data={"sum": 7}, ui={"title": "Add up"}, wake_at="2026-01-01T09:00:00+00:00"
    )
    await publish(harness, topic, "a")
    await until_quiet(harness)

    run = (await attempts(harness, "desk"))[-1]
    view = await harness.opened.pipelines.get_handler_run("default", run.id)  # type: ignore[arg-type]
    assert [item.id for item in view.run.reserved] == ["a"]
    assert view.data == b'{"sum":7}'
    assert run.title == "Add up"
    assert (await look(harness, "desk")).handlers[0].handler.wake_at == 1_767_225_600_000_000 + 9 * 3_600_000_000


async def test_more_than_an_attempt_may_reserve_is_refused_alike_through_every_door(harness: Harness) -> None:
    topic, chooser = harness.app.topic("number", int), Chooser(lambda found: windlass.Reserve(found[:1] * 1_001))
    chooser.add_to(harness.app.pipeline("desk"), topic)
    await until_quiet(harness)
    await harness.app.publish(topic, 1, id="a")
    await until_quiet(harness)

    run = (await look(harness, "desk")).run
    assert run is not None and run.failure is not None
    assert (run.phase, run.status) == ("preparing", "failed:logic")
    assert run.failure.message == "An attempt reserves at most 1,000 events; these are 1,001."
    assert await stands(harness, "desk") == {"a": "pending"}


async def test_events_that_are_asked_for_by_their_ids_come_in_the_order_of_the_ids(harness: Harness) -> None:
    topic, pipeline, seen = harness.app.topic("number", int), harness.app.pipeline("desk"), list[list[str]]()

    @pipeline.consumer(topic)
    class Look(windlass.Consumer[None, None]):
        async def prepare(self, ctx: windlass.PrepareContext, state: None) -> windlass.Idle:
            seen.append([event.id for event in await ctx.get(topic, ["c", "none", "a", "c", "b"])])
            return windlass.Idle()

    await until_quiet(harness)
    await publish(harness, topic, "a", "b", "c")
    await until_quiet(harness)

    assert seen[-1] == ["c", "a", "b"]
