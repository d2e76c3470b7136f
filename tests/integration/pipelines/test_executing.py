"""How does a worker execute handlers: their time-outs, its own end, its death, and code that cannot be stopped?"""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

import windlass
from tests.integration.conftest import PATIENCE, Gate, OpenHarness, eventually, until_recorded
from tests.programs import passes_to, steps
from windlass.settings import Settings
from windlass.testing.harness import Harness


async def declared(app: windlass.App, name: str) -> None:
    async def is_known() -> bool:
        return any(item.name == name and item.handlers for item in await app.pipelines.list())

    await eventually(is_known, what=f"pipeline {name} is declared")


async def newest(app: windlass.App, name: str, status: str) -> Any:
    """The newest attempt, once it has this status."""
    found: list[Any] = []

    async def is_there() -> bool:
        found[:] = await app.pipelines.runs(name)
        return bool(found) and found[0].status == status

    await eventually(is_there, what=f"the newest attempt is {status}")
    return found[0]


async def test_a_phase_that_takes_too_long_is_stopped_and_tried_again(harness: Harness) -> None:
    app, gate = harness.app, Gate()
    numbers = app.topic("number", int)
    slow = app.pipeline("slow")
    seen: list[int] = []

    @slow.consumer(numbers, timeout="30s")
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        if gate.entries == 0:
            await gate.wait()
        seen.extend(event.payload for event in events)

    await declared(app, "slow")
    await app.publish(numbers, 1, id="1")
    await gate.reached()
    harness.clock.advance("31s")
    await gate.left()
    run = await newest(app, "slow", "paused:transient")
    assert "did not end within 30 s" in (run.error or "")
    await harness.advance("1m")
    await eventually(lambda: seen == [1], what="it is tried again")


async def test_an_effect_in_a_thread_that_takes_too_long_is_asked_about_when_it_must_be_over(harness: Harness) -> None:
    app = harness.app
    numbers = app.topic("number", int)
    slow = app.pipeline("slow")
    is_free, calls, asked, got = threading.Event(), list[int](), list[int](), list[str | None]()

    def find(number: int) -> Any:
        asked.append(number)
        return windlass.Happened("late")

    @app.effect(reconcile=find, timeout="10s")
    def send(number: int) -> str:
        calls.append(number)
        is_free.wait(PATIENCE)  # should the test fail, it must end all the same
        return "in time"

    @slow.consumer(numbers)
    class Take(windlass.Consumer[int, str]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[int]) -> windlass.Effect[str]:
            return windlass.Effect(send, prepared.data)

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[int], result: str | None) -> None:
            got.append(result)

    await declared(app, "slow")
    await app.publish(numbers, 1, id="1")
    await eventually(lambda: calls == [1], what="the effect is called")
    harness.clock.advance("11s")
    await newest(app, "slow", "paused:reconciliation")
    assert asked == []  # the thread may still be inside
    is_free.set()
    await harness.advance("1m")
    assert asked == []
    await harness.advance("10m")
    await eventually(lambda: got == ["late"], what="reconcile is asked")

    assert (calls, asked) == ([1], [1])


async def test_a_worker_that_stops_lets_a_handler_end(idle_harness: Harness) -> None:
    app, gate = idle_harness.app, Gate()
    numbers = app.topic("number", int)
    slow = app.pipeline("slow")
    seen: list[int] = []

    @slow.consumer(numbers)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        await gate.wait()
        seen.extend(event.payload for event in events)

    async with app.worker():
        await declared(app, "slow")
        await app.publish(numbers, 1, id="1")
        await gate.reached()
    assert gate.cancelled == 1  # the grace of this harness is none
    await newest(app, "slow", "crashed")
    gate.open()
    async with app.worker():
        await eventually(lambda: seen == [1], what="the next worker takes it at once")
    last, *before = await app.pipelines.runs("slow")

    assert (last.status, {run.status for run in before}) == ("committed", {"crashed"})
    assert [run.attempt for run in before] == [1], "and the last poll of the one that left has claimed nothing"
    assert gate.cancelled == 1, "and its code was entered by nobody else"


@pytest.mark.parametrize("has_reconcile", [True, False])
async def test_a_worker_that_stops_inside_of_an_effect_says_so_and_nobody_waits_for_its_claim(
    idle_harness: Harness, has_reconcile: bool
) -> None:
    app, gate = idle_harness.app, Gate()
    numbers, got, told = app.topic("number", int), list[str | None](), list[windlass.Problem]()
    mail = app.pipeline("mail", on_attention=told.append)

    def find(number: int) -> Any:
        return windlass.Happened("found")

    @app.effect(reconcile=find if has_reconcile else None)
    async def send(number: int) -> str:
        await gate.wait()
        return "in time"

    @mail.consumer(numbers)
    class Take(windlass.Consumer[int, str]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[int]) -> windlass.Effect[str]:
            return windlass.Effect(send, prepared.data)

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[int], result: str | None) -> None:
            got.append(result)

    async with app.worker():
        await declared(app, "mail")
        await app.publish(numbers, 1, id="1")
        await gate.reached()
    assert [problem.issue for problem in told] == ([] if has_reconcile else ["indeterminate"])
    if not has_reconcile:
        await app.pipelines.resolve("mail", "happened", result="by hand")
    idle_harness.clock.advance("11s")
    async with app.worker():
        await eventually(lambda: len(got) == 1, what="it goes on behind the effect")

    assert got == ["found" if has_reconcile else "by hand"]
    assert gate.entries == 1


async def test_within_the_grace_a_handler_ends_and_nothing_new_begins(open_harness: OpenHarness) -> None:
    harness = await open_harness(has_worker=False, settings=Settings())
    app, gate = harness.app, Gate()
    numbers = app.topic("number", int)
    slow = app.pipeline("slow")
    seen: list[int] = []

    @slow.consumer(numbers)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        await gate.wait()
        seen.extend(event.payload for event in events)

    async with app.worker():
        await declared(app, "slow")
        await app.publish(numbers, 1, id="1")
        await app.publish(numbers, 2, id="2")
        await gate.reached()
        gate.open()
    assert seen in ([1], [1, 2])
    assert gate.cancelled == 0
    committed = [run for run in await app.pipelines.runs("slow") if run.status == "committed"]
    assert len(committed) == len(seen)


async def test_a_worker_that_dies_while_its_effect_is_called_leaves_it_to_reconcile(harness: Harness) -> None:
    app, gate = harness.app, Gate()
    numbers = app.topic("number", int)
    risky = app.pipeline("risky")
    calls, asked, got = list[str](), list[int](), list[str | None]()

    async def find(number: int) -> Any:
        asked.append(number)
        return windlass.Happened("found")

    @app.effect(reconcile=find)
    async def send(number: int) -> str:
        calls.append(windlass.current_step().idempotency_key)
        await gate.wait()
        return "sent"

    @risky.consumer(numbers)
    class Take(windlass.Consumer[int, str]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[int]) -> windlass.Effect[str]:
            return windlass.Effect(send, prepared.data, title="Send it")

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[int], result: str | None) -> None:
            got.append(result)

    await declared(app, "risky")
    await app.publish(numbers, 1, id="1")
    await gate.reached()
    harness.crash()
    await harness.advance("20m")
    await eventually(lambda: got == ["found"], what="the next worker asks")

    assert len(calls) == 1
    assert asked == [1]


async def test_a_fake_plays_the_effect_of_a_pipeline(harness: Harness) -> None:
    app = harness.app
    numbers = app.topic("number", int)
    mail = app.pipeline("mail")
    got: list[str | None] = []

    @app.effect
    async def send(number: int) -> str:
        raise AssertionError("the outside world is not for tests")

    async def fake(number: int) -> str:
        return f"fake {number}"

    @mail.consumer(numbers)
    class Take(windlass.Consumer[int, str]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[int]) -> windlass.Effect[str]:
            return windlass.Effect(send, prepared.data)

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[int], result: str | None) -> None:
            got.append(result)

    harness.replace(send, fake)
    await declared(app, "mail")
    await app.publish(numbers, 1, id="1")
    await eventually(lambda: got == ["fake 1"], what="the fake is called")


async def test_a_reconcile_is_played_by_a_fake_in_tests(harness: Harness) -> None:
    app = harness.app
    numbers, mail, got = app.topic("number", int), app.pipeline("mail"), list[str | None]()

    def find(number: int) -> Any:
        raise AssertionError("the outside world is not for tests")

    @app.effect(reconcile=find)
    async def send(number: int) -> str:
        raise ConnectionError("reset")

    @mail.consumer(numbers)
    class Take(windlass.Consumer[int, str]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[int]) -> windlass.Effect[str]:
            return windlass.Effect(send, prepared.data)

        async def next(self, ctx: windlass.NextContext, prepared: windlass.Prepared[int], result: str | None) -> None:
            got.append(result)

    say = app.workflow(passes_to(send))
    answers: list[Any] = [windlass.Unknown(), windlass.Happened("fake 1")]  # where it was called, and by a later claim
    harness.replace(find, lambda number: answers.pop(0))
    await declared(app, "mail")
    await app.publish(numbers, 1, id="1")

    async def is_told() -> bool:
        harness.clock.advance("1s")
        return got == ["fake 1"]

    await eventually(is_told, what="the fake is asked")
    answers.append(windlass.Happened("fake 2"))
    handle = await app.start(say, 2)
    assert await handle.result() == "fake 2"
    assert answers == []


@pytest.mark.parametrize("raises", [False, True])
async def test_a_step_in_a_thread_that_takes_too_long_keeps_its_slot_and_is_asked_about_later(
    harness: Harness, caplog: pytest.LogCaptureFixture, raises: bool
) -> None:
    app = harness.app
    is_free, calls, asked = threading.Event(), list[int](), list[int]()

    def find(number: int) -> Any:
        asked.append(number)
        return windlass.Happened("late")

    @app.effect(reconcile=find, timeout="10s")
    def send(number: int) -> str:
        calls.append(number)
        is_free.wait(PATIENCE)  # should the test fail, it must end all the same
        if raises:
            raise ConnectionError("too late for anybody to hear")
        return "in time"

    mail = app.workflow(steps(send, 1))
    handle = await app.start(mail)
    await eventually(lambda: calls == [1], what="the effect is called")
    harness.clock.advance("11s")
    await until_recorded(harness, handle, "send")
    assert asked == []
    is_free.set()
    await harness.idle()
    await harness.advance("10m")

    assert await handle.result() == "late"
    assert (calls, asked) == ([1], [1])
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def test_a_context_is_over_with_its_phase(harness: Harness) -> None:
    app = harness.app
    numbers, other = app.topic("number", int), app.topic("other", int)
    leak = app.pipeline("leak")
    kept: list[windlass.NextContext] = []

    @leak.consumer(numbers, publishes=[other])
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[int]]) -> None:
        kept.append(ctx)
        assert not hasattr(ctx, "peek")

    await declared(app, "leak")
    await app.publish(numbers, 1, id="1")
    await newest(app, "leak", "committed")
    try:
        kept[0].publish(other, 1, id="1")
    except windlass.NotAllowed as refused:
        assert "was over" in str(refused)
    else:
        raise AssertionError("a context of a phase that is over took a call")
