"""Does "run now" make every producer due, one after another, and is it refused while something is at work or held?"""

from __future__ import annotations

from datetime import timedelta

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness
from tests.integration.pipelines.handlers import Chooser, add_producer, add_taker, everything, nothing
from tests.integration.pipelines.looking import attempts, handler_of, jump, queued, stands, time_of, until_quiet
from windlass import StepError, WrongState
from windlass.model.duration import from_instant
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # what people ask of pipelines over the wire is in tests/integration/server


@pytest.mark.spec("pipelines:13", "pipelines:14", "pipelines:15", "pipelines:94")
async def test_every_producer_runs_once_one_after_another_and_is_due_an_interval_later(harness: Harness) -> None:
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("count")
    ran, at_work, most = list[str](), 0, 0

    def add(name: str) -> None:
        @pipeline.producer(every="1h", publishes=[topic], name=name)
        async def produce(ctx: windlass.ProducerContext, state: None) -> None:
            nonlocal at_work, most
            at_work += 1
            most = max(most, at_work)
            await harness.app.pipelines.get("count")  # others have their turn meanwhile
            ran.append(name)
            at_work -= 1

    for name in ("a", "b", "c"):
        add(name)
    await until_quiet(harness)
    ran.clear()
    await jump(harness, "10m")

    info = await harness.app.pipelines.run_now("count", by="ann")
    assert info.name == "count"
    await until_quiet(harness)

    assert ran == ["a", "b", "c"]
    assert most == 1
    for name in ran:
        next_at = (await handler_of(harness, "count", name)).next_at
        assert next_at is not None
        assert from_instant(next_at) == time_of(harness) + timedelta(hours=1)
    assert await queued(harness, "count") == set()


@pytest.mark.spec("pipelines:13", "pipelines:94", "pipelines:129")
async def test_asked_twice_before_anybody_came_it_is_one_run(open_shared: OpenHarness) -> None:
    app = windlass.App()
    topic, pipeline, ran = app.topic("number", int), app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="1h")
    one = await open_shared(app=app)
    await until_quiet(one)
    await one.aclose()

    idle = await open_shared(has_worker=False)
    for _ in range(2):
        await idle.app.pipelines.run_now("count", by="ann")
        assert await queued(idle, "count") == {"poll"}
    assert ran == ["poll"]
    two = await open_shared(app=app)
    await until_quiet(two)

    assert ran == ["poll"] * 2
    assert await queued(two, "count") == set()


@pytest.mark.spec("pipelines:16", "pipelines:21")
async def test_it_starts_no_consumer_by_itself(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    chooser = Chooser(nothing)
    add_producer(pipeline, topic, ran, every="1h", is_silent=True)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    await harness.app.publish(topic, 1, id="waits")
    await until_quiet(harness)
    looked = len(chooser.saw)

    await harness.app.pipelines.run_now("count")
    await until_quiet(harness)

    assert ran == ["poll"] * 2
    assert len(chooser.saw) == looked
    assert await stands(harness, "count") == {"waits": "pending"}


@pytest.mark.spec("pipelines:17")
async def test_consumers_follow_if_something_was_published(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    chooser = Chooser(everything)
    add_producer(pipeline, topic, ran, every="1h")
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    chooser.took.clear()

    await harness.app.pipelines.run_now("count")
    await until_quiet(harness)

    assert chooser.took == [["poll-2"]]


@pytest.mark.spec("pipelines:12")
@pytest.mark.parametrize("kind", ["producer", "consumer"])
async def test_it_is_refused_while_a_handler_is_at_work(harness: Harness, gate: Gate, kind: str) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="1h", gate=gate if kind == "producer" else None)
    add_taker(pipeline, topic, ran, gate=gate if kind == "consumer" else None)
    await gate.reached()

    with pytest.raises(WrongState, match="at work") as refused:
        await harness.app.pipelines.run_now("count")
    assert refused.value.wanted == "an idle one"
    gate.open()
    await until_quiet(harness)

    assert ran == ["poll", "take poll-1"]  # and it was not put off


@pytest.mark.spec("pipelines:97")
async def test_it_is_refused_while_the_pipeline_is_paused_whose_schedule_starts_nothing(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="5m")
    add_taker(pipeline, topic, ran)
    await until_quiet(harness)
    await harness.app.pipelines.pause("count", by="ann", note="lunch")
    await jump(harness, "1h")
    await harness.app.publish(topic, 7, id="a")
    await until_quiet(harness)
    assert ran == ["poll", "take poll-1"]

    with pytest.raises(WrongState, match="paused") as refused:
        await harness.app.pipelines.run_now("count")
    assert "resume" in str(refused.value)
    await harness.app.pipelines.resume("count", by="ann")
    await until_quiet(harness)

    assert ran == ["poll", "take poll-1", "take a", "poll", "take poll-2"]


@pytest.mark.spec("pipelines:97", "pipelines:104", "pipelines:111")
@pytest.mark.parametrize(
    ("kind", "state"), [("transient", "retrying what failed"), ("logic", "held (logic)"), ("auth", "held (auth)")]
)
async def test_it_is_refused_with_the_reason_while_something_holds_the_pipeline(
    harness: Harness, kind: str, state: str
) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="1h", is_silent=True)
    chooser = Chooser(everything)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    chooser.error = StepError("no", kind=kind)
    await harness.app.publish(topic, 1, id="a")
    await until_quiet(harness)

    with pytest.raises(WrongState) as refused:
        await harness.app.pipelines.run_now("count")
    assert refused.value.state == state

    assert ran == ["poll"]


@pytest.mark.spec("pipelines:13")
async def test_it_is_refused_where_there_is_no_producer(harness: Harness) -> None:
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("count")
    add_taker(pipeline, topic, [])
    await until_quiet(harness)

    with pytest.raises(WrongState, match="without producers"):
        await harness.app.pipelines.run_now("count")
    assert await attempts(harness, "count") == []
