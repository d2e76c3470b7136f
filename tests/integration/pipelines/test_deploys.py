"""Does new and changed code begin at once, while what stays the same keeps its times, its events and its state?"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import windlass
from tests.integration.conftest import OpenHarness
from tests.integration.pipelines.handlers import Chooser, add_producer, add_taker, everything, nothing
from tests.integration.pipelines.looking import handler_of, jump, look, pass_time, stands, until_quiet
from windlass import App, Topic
from windlass.testing.harness import Harness


class Program:
    """One version of a program: an app with the pipeline "desk"."""

    def __init__(self, version: str = "") -> None:
        self.app, self.ran = App(), list[str]()
        self.topic: Topic[int] = self.app.topic("number", int)
        self.other: Topic[int] = self.app.topic("other", int)
        self.pipeline = self.app.pipeline("desk", version=version)

    async def run(self, opened: OpenHarness) -> Harness:
        harness = await opened(app=self.app)
        await until_quiet(harness)
        return harness


async def test_a_worker_that_was_overtaken_by_older_code_is_told_of(open_shared: OpenHarness) -> None:
    """As by a process that restarts in the middle of a deploy, and goes."""
    new, old = Program("2"), Program("1")
    for program in (new, old):
        add_taker(program.pipeline, program.topic, program.ran)
    harness = await new.run(open_shared)
    await (await old.run(open_shared)).aclose()
    await harness.app.publish(new.topic, 1, id="a")

    assert new.ran == []
    assert "1 live worker leaves it alone" in await harness.app.pipelines.explain("desk")


@pytest.mark.spec("pipelines:52", "pipelines:53", "pipelines:146")
async def test_a_deploy_runs_every_producer_and_every_prepare_at_once(open_shared: OpenHarness) -> None:
    program, one, two = Program(), Chooser(everything), Chooser(nothing)
    add_producer(program.pipeline, program.other, program.ran, "first", every="1h", is_silent=True)
    add_producer(program.pipeline, program.other, program.ran, "second", cron="0 9 * * *", is_silent=True)
    one.add_to(program.pipeline, program.topic, name="one")
    two.add_to(program.pipeline, program.topic, name="two")
    harness = await program.run(open_shared)

    assert program.ran == ["first", "second"]
    assert (one.saw, two.saw) == ([[]], [[]])
    for name, hours in (("first", 1), ("second", 9)):
        next_at = (await handler_of(harness, "desk", name)).next_at
        assert next_at == harness.clock.now() + hours * 3_600_000_000


@pytest.mark.spec("pipelines:37", "pipelines:134", "pipelines:56")
async def test_the_same_program_once_more_changes_nothing_and_runs_nobody(open_shared: OpenHarness) -> None:
    choosers = [Chooser(nothing), Chooser(nothing)]
    revisions, ran, due = set[str](), list[str](), set[Any]()
    for chooser in choosers:
        program = Program()
        add_producer(program.pipeline, program.other, program.ran, every="1h", is_silent=True)
        chooser.add_to(program.pipeline, program.topic)
        harness = await program.run(open_shared)
        revisions.add((await look(harness, "desk")).pipeline.revision)
        due.add((await handler_of(harness, "desk", "poll")).next_at)
        ran += program.ran
        await harness.aclose()
        harness.clock.advance("10m")

    assert ran == ["poll"]
    assert (choosers[0].saw, choosers[1].saw) == ([[]], [])
    assert len(revisions) == len(due) == 1


@pytest.mark.spec("pipelines:52", "pipelines:53")
async def test_changed_handlers_run_at_once_and_their_neighbours_do_not(open_shared: OpenHarness) -> None:
    before, rested, same = Program(), Chooser(nothing), Chooser(nothing)
    add_producer(before.pipeline, before.other, before.ran, "slow", every="1h", is_silent=True)
    add_producer(before.pipeline, before.other, before.ran, "same", every="1h", is_silent=True)
    rested.add_to(before.pipeline, before.topic, name="changed")
    same.add_to(before.pipeline, before.other, name="kept")
    harness = await before.run(open_shared)
    await harness.app.publish(before.topic, 1, id="a")
    await harness.app.publish(before.other, 1, id="b")
    await until_quiet(harness)
    await harness.aclose()
    harness.clock.advance("10m")

    after, again = Program(), Chooser(nothing)
    add_producer(after.pipeline, after.other, after.ran, "slow", every="30m", is_silent=True)
    add_producer(after.pipeline, after.other, after.ran, "same", every="1h", is_silent=True)
    add_taker(after.pipeline, after.topic, after.ran, "changed")
    again.add_to(after.pipeline, after.other, name="kept")
    harness = await after.run(open_shared)

    assert sorted(after.ran) == ["changed a", "slow"]
    assert again.saw == []
    assert (await handler_of(harness, "desk", "slow")).next_at == harness.clock.now() + 30 * 60_000_000
    assert (await handler_of(harness, "desk", "same")).next_at == harness.clock.now() + 50 * 60_000_000
    assert await stands(harness, "desk") == {"a": "consumed", "b": "pending"}


async def test_another_version_is_a_change_of_every_handler(open_shared: OpenHarness) -> None:
    choosers = [Chooser(nothing), Chooser(nothing), Chooser(nothing)]
    ran = list[list[str]]()
    for chooser, version in zip(choosers, ["1", "2", "2"], strict=True):
        program = Program(version)
        add_producer(program.pipeline, program.other, program.ran, every="1h", is_silent=True)
        chooser.add_to(program.pipeline, program.topic)
        harness = await program.run(open_shared)
        ran.append(program.ran)
        await harness.aclose()

    assert ran == [["poll"], ["poll"], []]
    assert [chooser.saw for chooser in choosers] == [[[]], [[]], []]


@pytest.mark.spec("pipelines:83", "pipelines:101")
async def test_another_version_is_the_fix_of_what_a_handler_calls(open_shared: OpenHarness) -> None:
    taken = list[str]()
    for version, is_right in (("1", False), ("1", True), ("2", True)):
        program = Program(version)

        def look_up(id: str, *, is_right: bool = is_right) -> str:
            return {"a": "found"}[id if is_right else "typo"]

        def add(program: Program, look_up: Callable[[str], str]) -> None:
            @program.pipeline.consumer(program.topic)
            async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
                taken.extend(look_up(event.id) for event in events)

        add(program, look_up)
        harness = await program.run(open_shared)
        if not is_right:
            await harness.app.publish(program.topic, 1, id="a")
            await until_quiet(harness)
        if version == "1":  # also where the helper is right: nobody said so
            assert (await look(harness, "desk")).pipeline.issue == "logic"
        await harness.aclose()

    assert taken == ["found"]


@pytest.mark.spec("pipelines:39", "pipelines:53")
async def test_changed_code_goes_on_with_the_state_and_the_events_there_are(open_shared: OpenHarness) -> None:
    before, states = Program(), list[int | None]()
    add_producer(before.pipeline, before.topic, before.ran, every="1h")
    Chooser(nothing).add_to(before.pipeline, before.topic)
    harness = await before.run(open_shared)
    await harness.aclose()

    after, chooser = Program(), Chooser(everything)

    @after.pipeline.producer(every="2h", publishes=[after.topic])
    async def poll(ctx: windlass.ProducerContext, state: int | None) -> int:
        states.append(state)
        return 10

    @after.pipeline.consumer(after.topic, name="choose")
    class Take(windlass.Consumer[None, None]):
        async def prepare(self, ctx: windlass.PrepareContext, state: int | None) -> windlass.Reserve:
            chooser.states.append(state)
            return windlass.Reserve(await ctx.peek(after.topic))

    harness = await after.run(open_shared)

    assert states == [1]
    assert chooser.states == [2]  # what `next` returned when it had looked twice
    assert await stands(harness, "desk") == {"poll-1": "consumed"}


async def test_what_is_no_longer_declared_begins_nothing_and_its_wake_is_ignored(open_shared: OpenHarness) -> None:
    before, gone = Program(), Chooser(lambda found: windlass.Idle(wake_in="1h"))
    add_producer(before.pipeline, before.topic, before.ran, every="1h", is_silent=True)
    gone.add_to(before.pipeline, before.topic)
    harness = await before.run(open_shared)
    await harness.aclose()

    after = Program()
    add_taker(after.pipeline, after.other, after.ran)
    harness = await after.run(open_shared)
    await jump(harness, "2h")
    await until_quiet(harness)
    assert after.ran == []
    assert (await look(harness, "desk")).pipeline.available_at is None
    await harness.aclose()

    again = Program()
    add_producer(again.pipeline, again.topic, again.ran, every="1h", is_silent=True)
    add_taker(again.pipeline, again.other, again.ran)
    harness = await again.run(open_shared)

    assert again.ran == ["poll"]  # it is new once more


@pytest.mark.spec("pipelines:37")
async def test_a_restart_is_no_change_though_a_handler_went_before(
    open_shared: OpenHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="windlass.coordinator")
    told = list[list[str]]()
    for names in (["a", "b", "c"], ["c", "b"], ["c", "b"], ["c", "b"]):
        caplog.clear()
        program = Program()
        for name in names:
            add_taker(program.pipeline, program.topic, program.ran, name)
        harness = await program.run(open_shared)
        await harness.aclose()
        told.append([text for text in caplog.messages if "'desk'" in text])

    assert told == [["Pipeline 'desk' is new."], ["Pipeline 'desk' has changed."], [], []]


@pytest.mark.spec("pipelines:83")
async def test_another_order_of_the_same_handlers_is_no_fix(open_shared: OpenHarness) -> None:
    wrong, again = Chooser(nothing), Chooser(nothing)
    wrong.error = RuntimeError("wrong")
    before = Program()
    wrong.add_to(before.pipeline, before.topic)
    add_taker(before.pipeline, before.other, before.ran)
    harness = await before.run(open_shared)
    await harness.aclose()

    after = Program()
    add_taker(after.pipeline, after.other, after.ran)
    again.add_to(after.pipeline, after.topic)
    harness = await after.run(open_shared)

    assert (wrong.saw, again.saw) == ([[]], [])
    assert (await look(harness, "desk")).pipeline.issue == "logic"


@pytest.mark.spec("pipelines:128", "pipelines:146")
async def test_a_handler_that_is_added_begins_alone(open_shared: OpenHarness) -> None:
    before, old = Program(), Chooser(nothing)
    old.add_to(before.pipeline, before.topic, name="old")
    harness = await before.run(open_shared)
    await harness.app.publish(before.topic, 1, id="a")
    await until_quiet(harness)
    await harness.aclose()

    after, old, new = Program(), Chooser(nothing), Chooser(everything)
    old.add_to(after.pipeline, after.topic, name="old")
    new.add_to(after.pipeline, after.topic, name="new")
    harness = await after.run(open_shared)

    assert (old.saw, new.saw) == ([], [["a"]])
    await pass_time(harness, "1d")
    assert (old.saw, new.saw) == ([], [["a"]])


@pytest.mark.spec("pipelines:134")
def test_a_definition_is_read_once_until_something_changes() -> None:
    program, twin = Program(), Program()
    add_taker(program.pipeline, program.topic, program.ran)
    add_taker(twin.pipeline, twin.topic, twin.ran)
    registered = program.app._registry.handlers
    first = registered.pipelines["desk"]
    assert registered.pipelines["desk"] is first
    assert program.pipeline.definition() is first
    assert twin.pipeline.definition().spec == first.spec

    add_producer(program.pipeline, program.other, program.ran, every="1h")

    second = registered.pipelines["desk"]
    assert second is not first
    assert second.spec.revision != first.spec.revision
    assert [*second.handlers] == ["take", "poll"]
