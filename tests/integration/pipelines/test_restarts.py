"""Does a program that is started again know everything that matters: times, wakes, states, and what was to be done?"""

from __future__ import annotations

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.integration.pipelines.handlers import Chooser, add_producer, add_taker, everything, nothing
from tests.integration.pipelines.looking import (
    attempts,
    cut_off,
    dirty,
    handler_of,
    jump,
    pass_time,
    queued,
    stands,
    until_quiet,
    until_stands,
    wakes,
)
from windlass import App, Topic
from windlass.model.namespace import CreateNamespace
from windlass.testing.harness import Harness


class Program:
    """A program that may be started again and again: what it notes is kept outside of it."""

    def __init__(self, *, gate: Gate | None = None) -> None:
        self.ran, self.chooser, self.gate = list[str](), Chooser(nothing), gate
        self.has_producer = self.has_chooser = self.has_taker = False

    def app(self) -> App:
        """Each process makes its own."""
        app = App()
        number, other = self.topics(app)
        pipeline = app.pipeline("desk")
        if self.has_producer:
            add_producer(pipeline, other, self.ran, every="1h", is_silent=True)
        if self.has_chooser:
            self.chooser.add_to(pipeline, number)
        if self.has_taker:
            add_taker(pipeline, other, self.ran, gate=self.gate)
        return app

    def topics(self, app: App) -> tuple[Topic[int], Topic[int]]:
        return app.topic("number", int), app.topic("other", int)


async def publish(harness: Harness, topic: str, *ids: str) -> None:
    declared = harness.app.topic(topic, int)
    for id in ids:
        await harness.app.publish(declared, 7, id=id)


@pytest.mark.spec("pipelines:37")
async def test_the_next_time_of_a_producer_outlives_a_restart(open_shared: OpenHarness) -> None:
    program = Program()
    program.has_producer = True
    one = await open_shared(app=program.app())
    await until_quiet(one)
    due = (await handler_of(one, "desk", "poll")).next_at
    await one.aclose()
    one.clock.advance("40m")

    two = await open_shared(app=program.app())
    await until_quiet(two)
    assert program.ran == ["poll"]
    assert (await handler_of(two, "desk", "poll")).next_at == due
    await pass_time(two, "20m")

    assert program.ran == ["poll"] * 2


@pytest.mark.spec("pipelines:11", "pipelines:40", "pipelines:42", "pipelines:54", "pipelines:133")
async def test_a_producer_that_was_due_meanwhile_runs_once(open_shared: OpenHarness) -> None:
    program = Program()
    program.has_producer = True
    one = await open_shared(app=program.app())
    await until_quiet(one)
    await one.aclose()
    one.clock.advance("5h")

    asleep = await open_shared(has_worker=False)
    assert await queued(asleep, "desk") == {"poll"}
    two = await open_shared(app=program.app())
    await until_quiet(two)

    assert program.ran == ["poll"] * 2
    assert await queued(two, "desk") == set()


@pytest.mark.spec("pipelines:38", "pipelines:145", "pipelines:152")
async def test_the_wake_of_a_consumer_outlives_a_restart(open_shared: OpenHarness) -> None:
    program = Program()
    program.has_chooser = True
    program.chooser.choose = lambda found: windlass.Idle(wake_in="1h")
    one = await open_shared(app=program.app())
    await until_quiet(one)
    wake = await wakes(one, "desk")
    await one.aclose()
    one.clock.advance("40m")

    two = await open_shared(app=program.app())
    await until_quiet(two)
    assert len(program.chooser.saw) == 1
    assert await wakes(two, "desk") == wake
    program.chooser.choose = nothing
    await pass_time(two, "20m")
    assert len(program.chooser.saw) == 2
    assert await wakes(two, "desk") == {}
    await two.aclose()

    three = await open_shared(app=program.app())  # and one that was cleared stays so
    await until_quiet(three)
    assert len(program.chooser.saw) == 2


@pytest.mark.spec("pipelines:38", "pipelines:131")
async def test_a_wake_that_came_meanwhile_is_found(open_shared: OpenHarness) -> None:
    program = Program()
    program.has_chooser = True
    program.chooser.choose = lambda found: windlass.Idle(wake_in="1h")
    one = await open_shared(app=program.app())
    await until_quiet(one)
    await one.aclose()
    one.clock.advance("3h")
    program.chooser.choose = nothing

    two = await open_shared(app=program.app())
    await until_quiet(two)

    assert len(program.chooser.saw) == 2
    assert await wakes(two, "desk") == {}


@pytest.mark.spec("pipelines:39")
async def test_the_state_of_a_handler_outlives_a_restart(open_shared: OpenHarness) -> None:
    program = Program()
    program.has_chooser = True
    program.chooser.choose = everything
    for number in range(3):
        harness = await open_shared(app=program.app())
        await until_quiet(harness)
        await publish(harness, "number", f"{number}")
        await until_quiet(harness)
        await harness.aclose()

    assert program.chooser.states == [None, 1, 2, 3]


@pytest.mark.spec(
    "pipelines:40",
    "pipelines:41",
    "pipelines:43",
    "pipelines:45",
    "pipelines:55",
    "pipelines:121",
    "pipelines:145",
    "pipelines:152",
)
async def test_what_was_published_while_nobody_worked_sets_its_consumers_off(open_shared: OpenHarness) -> None:
    program = Program()
    program.has_chooser = program.has_taker = program.has_producer = True
    program.chooser.choose = everything
    one = await open_shared(app=program.app())
    await until_quiet(one)
    await one.aclose()
    asleep = await open_shared(has_worker=False)
    await publish(asleep, "number", "a", "b")
    assert await dirty(asleep, "desk") == {"choose"}  # read from rows: no process has seen it
    await asleep.aclose()

    two = await open_shared(app=program.app())
    await until_quiet(two)

    assert program.chooser.saw == [[], ["a", "b"]]
    assert program.ran == ["poll"]
    assert await dirty(two, "desk") == set()


@pytest.mark.spec("pipelines:46", "pipelines:56", "pipelines:123", "pipelines:132", "pipelines:133")
async def test_what_came_while_a_handler_was_cut_off_is_not_lost(open_shared: OpenHarness) -> None:
    gate = Gate()
    program = Program(gate=gate)
    program.has_taker = program.has_producer = program.has_chooser = True
    program.chooser.choose = everything
    one = await open_shared(app=program.app())
    await until_quiet(one)
    program.ran.clear()
    await publish(one, "other", "a")
    await gate.reached()
    await until_stands(one, "desk", a="reserved")
    await publish(one, "other", "b")
    await publish(one, "number", "c")
    await jump(one, "2m")
    await cut_off(one)  # "take" is stopped in the middle
    assert gate.cancelled == 1
    one.clock.advance("1h")
    gate.open()

    two = await open_shared(app=program.app())
    await until_quiet(two)

    assert program.ran == ["take a", "take a", "take b", "poll"]
    assert program.chooser.saw == [[], ["c"]]
    assert set((await stands(two, "desk")).values()) == {"consumed"}
    cut, again, *_ = await attempts(two, "desk", "take")
    assert (cut.status, again.status, again.retry_of) == ("crashed", "committed", cut.id)


@pytest.mark.spec("pipelines:56")
async def test_recovery_costs_one_more_run_at_most_and_repeats_no_effect(open_shared: OpenHarness) -> None:
    gate, called, told, prepared = Gate(), list[str](), list[str](), list[str]()

    def program() -> App:
        app = App()
        topic = app.topic("number", int)

        async def charge(id: str) -> str:
            called.append(id)
            return f"receipt of {id}"

        app.effect(charge)

        @app.pipeline("desk").consumer(topic)
        class Charge(windlass.Consumer[str, str]):
            async def prepare(self, ctx: windlass.PrepareContext, state: None) -> windlass.Reserve | windlass.Idle:
                found = await ctx.peek(topic, limit=1)
                prepared.extend(event.id for event in found)
                return windlass.Reserve(found, data=found[0].id) if found else windlass.Idle()

            async def mutate(
                self, ctx: windlass.MutateContext, prepared: windlass.Prepared[str]
            ) -> windlass.Effect[str]:
                return windlass.Effect(charge, prepared.data)

            async def next(
                self, ctx: windlass.NextContext, prepared: windlass.Prepared[str], result: str | None
            ) -> None:
                if result is not None:
                    told.append(result)
                    await gate.wait()

        return app

    async def is_applied() -> bool:
        return (await attempts(one, "desk"))[-1].outcome == "success"

    one = await open_shared(app=program())
    await until_quiet(one)
    await publish(one, "number", "a", "b")
    await gate.reached()
    await eventually(is_applied, what="the receipt is on record")
    await cut_off(one)
    gate.open()
    two = await open_shared(app=program())
    await until_quiet(two)

    assert called == prepared == ["a", "b"]
    assert told == ["receipt of a", "receipt of a", "receipt of b"]
    assert [run.status for run in await attempts(two, "desk") if run.outcome == "success"] == [
        "crashed",
        "committed",
        "committed",
    ]


@pytest.mark.spec("pipelines:130")
async def test_with_the_rows_of_a_pipeline_its_readings_are_gone(open_shared: OpenHarness) -> None:
    def program(chooser: Chooser) -> App:
        app = App(namespace="tenant")
        chooser.add_to(app.pipeline("desk"), app.topic("number", int))
        return app

    first, second = Chooser(nothing), Chooser(everything)
    admin = await open_shared(has_worker=False)
    one = await open_shared(app=program(first))
    await eventually(lambda: bool(first.took), what="its first look")
    await one.idle()
    await one.app.pipelines.pause("desk")
    await publish(one, "number", "a")
    (view,) = await admin.opened.pipelines.list_pipelines("tenant")
    assert view.view.handlers[0].handler.is_dirty
    await one.app.pipelines.skip_event("desk", "number", "a")  # a namespace where something waits is not removed
    await one.aclose()
    await admin.opened.namespaces.set_enabled("tenant", is_enabled=False)
    await admin.opened.namespaces.delete_namespace("tenant")
    await admin.opened.namespaces.create_namespace(CreateNamespace(name="tenant"))
    assert await admin.opened.pipelines.list_pipelines("tenant") == ()

    await open_shared(app=program(second))
    await eventually(lambda: bool(second.took), what="its first look")

    assert second.saw == [[]]  # as new: neither paused, nor anything to look at
