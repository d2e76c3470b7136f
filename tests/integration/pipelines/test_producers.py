"""Do producers run when they are due, one at a time, and once for however many times they missed?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness
from tests.integration.pipelines.handlers import Chooser, add_producer, add_taker, nothing
from tests.integration.pipelines.looking import (
    attempts,
    events,
    handler_of,
    jump,
    look,
    pass_time,
    queued,
    stands,
    time_of,
    until_quiet,
)
from windlass import InvalidInput, StepError, WrongState
from windlass.define.pipeline_context import HandlerContext
from windlass.model.duration import from_instant
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # the wire carries nothing else here than in test_consumers


@pytest.mark.spec("pipelines:3", "pipelines:4", "pipelines:6", "pipelines:50", "pipelines:52")
async def test_a_producer_runs_when_it_is_deployed_and_an_interval_after_each_commit(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="5m")
    await until_quiet(harness)
    assert ran == ["poll"]
    next_at = (await handler_of(harness, "count", "poll")).next_at
    assert next_at is not None
    assert from_instant(next_at) == time_of(harness) + timedelta(minutes=5)
    assert (await harness.app.pipelines.get("count")).next_check == from_instant(next_at)

    await pass_time(harness, "4m59s")
    assert ran == ["poll"]
    await pass_time(harness, "1s")
    assert ran == ["poll"] * 2


@pytest.mark.spec("pipelines:5", "pipelines:50", "pipelines:52")
@pytest.mark.parametrize(("tz", "hour"), [("UTC", 9), ("Europe/Rome", 8)])
async def test_a_producer_by_cron_runs_when_it_is_deployed_and_at_its_times(
    harness: Harness, tz: str, hour: int
) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, cron="0 9 * * *", tz=tz)
    await until_quiet(harness)
    assert ran == ["poll"]  # the clock of a test begins at midnight in UTC
    assert (await harness.app.pipelines.get("count")).next_check == time_of(harness) + timedelta(hours=hour)

    await pass_time(harness, f"{hour}h")
    assert ran == ["poll"] * 2
    await pass_time(harness, "23h")
    assert ran == ["poll"] * 2
    await pass_time(harness, "1h")
    assert ran == ["poll"] * 3


@pytest.mark.spec("pipelines:4", "pipelines:5")
@pytest.mark.parametrize(
    "timing",
    [
        {},
        {"every": "5m", "cron": "* * * * *"},
        {"cron": "every day"},
        {"cron": "61 * * * *"},
        {"cron": "* * * * *", "tz": "Mars/Base"},
        {"every": "0s"},
        {"every": "-5m"},
        {"every": "soon"},
    ],
)
def test_a_producer_with_times_that_say_nothing_is_refused_where_it_is_written(timing: dict[str, Any]) -> None:
    app = windlass.App()
    topic, pipeline = app.topic("number", int), app.pipeline("count")

    with pytest.raises(InvalidInput):
        add_producer(pipeline, topic, [], **timing)


@pytest.mark.spec("pipelines:50")
async def test_an_interval_is_counted_from_the_commit(harness: Harness, gate: Gate) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="5m", gate=gate)
    await gate.reached()
    await jump(harness, "2m")
    gate.open()
    await until_quiet(harness)

    assert (await harness.app.pipelines.get("count")).next_check == time_of(harness) + timedelta(minutes=5)


async def test_while_it_backs_off_the_next_check_is_when_that_is_over(harness: Harness) -> None:
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("count")

    @pipeline.producer(every="5m", publishes=[topic])
    async def poll(ctx: windlass.ProducerContext, state: None) -> None:
        raise windlass.StepError("away", kind="transient", retry_after="2h")

    await until_quiet(harness)
    over = time_of(harness) + timedelta(hours=2)
    await jump(harness, "10m")  # its own time has come meanwhile, and nothing begins
    info = await harness.app.pipelines.get("count")

    assert info.issue.startswith("retrying in 1 h 50 min")
    assert info.next_check == over


@pytest.mark.spec("pipelines:10", "pipelines:11")
async def test_times_that_were_missed_are_one_run(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="5m")
    await until_quiet(harness)

    await jump(harness, "3h")
    await until_quiet(harness)

    assert ran == ["poll"] * 2
    assert (await harness.app.pipelines.get("count")).next_check == time_of(harness) + timedelta(minutes=5)


@pytest.mark.spec("pipelines:2", "pipelines:47")
async def test_each_producer_has_its_own_times(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, "often", every="2m")
    add_producer(pipeline, topic, ran, "seldom", every="5m")
    await until_quiet(harness)
    assert ran == ["often", "seldom"]

    for _ in range(10):
        await pass_time(harness, "1m")

    assert ran.count("often") == 1 + 5
    assert ran.count("seldom") == 1 + 2
    assert len(await attempts(harness, "count")) == len(ran)


@pytest.mark.spec("pipelines:7", "pipelines:9", "pipelines:10", "pipelines:44", "pipelines:93", "pipelines:94")
async def test_a_producer_waits_for_another_and_follows_once_however_often_it_was_due(
    harness: Harness, gate: Gate
) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, "slow", every="1h", gate=gate)
    add_producer(pipeline, topic, ran, "often", every="10s")
    await gate.reached()
    for _ in range(12):
        await jump(harness, "10s")
    assert ran == ["slow"]
    assert await queued(harness, "count") >= {"often"}

    gate.open()
    await until_quiet(harness)

    assert ran == ["slow", "often"]
    assert await queued(harness, "count") == set()


@pytest.mark.spec(
    "pipelines:8",
    "pipelines:9",
    "pipelines:10",
    "pipelines:42",
    "pipelines:44",
    "pipelines:47",
    "pipelines:93",
    "pipelines:122",
    "pipelines:123",
    "pipelines:129",
    "pipelines:133",
)
async def test_a_producer_waits_for_a_consumer_and_is_not_forgotten(harness: Harness, gate: Gate) -> None:
    topic, other = harness.app.topic("number", int), harness.app.topic("other", int)
    pipeline, ran = harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="1m", is_silent=True)
    add_taker(pipeline, other, ran, gate=gate)
    await until_quiet(harness)
    await harness.app.publish(other, 1, id="a")
    await gate.reached()
    for _ in range(3):
        await jump(harness, "1m")
    assert ran == ["poll", "take a"]
    was_due = (await handler_of(harness, "count", "poll")).next_at
    view = await look(harness, "count")
    assert was_due is not None
    assert was_due < view.now  # it moves in a commit only: that is how it is remembered
    assert await queued(harness, "count") == {"poll"}

    gate.open()
    await until_quiet(harness)

    assert ran == ["poll", "take a", "poll"]
    assert await queued(harness, "count") == set()
    assert (await harness.app.pipelines.get("count")).next_check == time_of(harness) + timedelta(minutes=1)


@pytest.mark.spec("pipelines:1", "pipelines:12")
async def test_no_handler_can_start_another(harness: Harness) -> None:
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("count")
    known: dict[str, set[str]] = {}
    refused: list[str] = []

    def note(phase: str, ctx: HandlerContext) -> None:
        known[phase] = {name for name in dir(ctx) if not name.startswith("_")} - {"close", "events", "inputs"}
        for name in ("run", "start", "run_now", "step"):
            with pytest.raises(AttributeError):
                getattr(ctx, name)

    @pipeline.producer(every="1h", publishes=[topic])
    async def poll(ctx: windlass.ProducerContext, state: int | None) -> None:
        note("producer", ctx)
        ctx.publish(topic, 1, id="a")
        try:
            await harness.app.pipelines.run_now("count")
        except WrongState as error:
            refused.append(error.state)

    @pipeline.consumer(topic)
    class Take(windlass.Consumer[None, None]):
        async def prepare(self, ctx: windlass.PrepareContext, state: None) -> windlass.Reserve:
            note("prepare", ctx)
            return windlass.Reserve(await ctx.peek(topic))

        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[None]) -> None:
            note("mutate", ctx)

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[None], result: None) -> None:
            note("next", ctx)

    await until_quiet(harness)

    everywhere = {"attempt", "handler", "log", "now", "pipeline", "run_id"}
    assert {phase: names - everywhere for phase, names in known.items()} == {
        "producer": {"input", "publish", "scheduled_at"},
        "prepare": {"peek", "get", "reading"},
        "mutate": set(),
        "next": {"publish"},
    }
    assert refused == ["at work"]


@pytest.mark.spec("pipelines:11")
async def test_a_producer_that_lost_its_worker_runs_again_from_the_state_it_had(harness: Harness, gate: Gate) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="5m", gate=gate)
    await gate.reached()
    harness.crash()
    await gate.reached(2)
    gate.open()
    await until_quiet(harness)

    assert ran == ["poll"] * 2
    first, second = await attempts(harness, "count")
    assert (first.status, second.status, second.retry_of) == ("crashed", "committed", first.id)
    assert [event.id for event in await events(harness, "count")] == []  # nobody subscribes


@pytest.mark.spec("pipelines:106", "pipelines:110", "pipelines:111")
async def test_a_producer_that_failed_stays_due_keeps_its_state_and_has_published_nothing(harness: Harness) -> None:
    topic, pipeline, states = harness.app.topic("number", int), harness.app.pipeline("count"), list[int | None]()
    ran: list[str] = []

    @pipeline.producer(every="5m", publishes=[topic])
    async def poll(ctx: windlass.ProducerContext, state: int | None) -> int:
        states.append(state)
        number = (state or 0) + 1
        ctx.publish(topic, number, id=f"{len(states)}")
        if len(states) == 2:
            raise StepError("not now", kind="transient")
        return number

    add_taker(pipeline, topic, ran)
    await until_quiet(harness)
    await pass_time(harness, "5m")
    assert states == [None, 1]
    was_due = (await handler_of(harness, "count", "poll")).next_at
    assert was_due == harness.clock.now()  # not moved by a failure
    assert await stands(harness, "count") == {"1": "consumed"}

    await pass_time(harness, "10s")

    assert states == [None, 1, 1]
    assert await stands(harness, "count") == {"1": "consumed", "3": "consumed"}
    assert ran == ["take 1", "take 3"]


@pytest.mark.spec("pipelines:2", "invariants:I-42")
async def test_an_idle_pipeline_calls_nobody(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_taker(pipeline, topic, ran)
    chooser = Chooser(nothing)
    chooser.add_to(pipeline, topic)
    await until_quiet(harness)
    assert (ran, chooser.saw) == ([], [[]])  # deployed, it looks once

    for _ in range(5):
        await pass_time(harness, "1d")

    assert (ran, chooser.saw) == ([], [[]])
    assert len(await attempts(harness, "count")) == 1
    assert (await look(harness, "count")).pipeline.available_at is None


@pytest.mark.spec("pipelines:3")
@pytest.mark.in_process
async def test_new_work_is_begun_at_once_and_not_at_the_next_look(open_harness: OpenHarness) -> None:
    harness = await open_harness()
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_taker(pipeline, topic, ran)
    await until_quiet(harness)
    before = harness.clock.now()

    await harness.app.publish(topic, 1, id="a")
    await until_quiet(harness)

    assert ran == ["take a"]
    assert harness.clock.now() == before
