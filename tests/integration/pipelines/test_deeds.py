"""Does whatever a person does to a pipeline stand in the log, with who did it and why, once?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

import windlass
from tests.integration.conftest import AnswerLost, Gate, OpenHarness, eventually
from tests.integration.pipelines.handlers import add_producer
from tests.integration.pipelines.looking import until_quiet
from tests.integration.pipelines.test_inputs import paid, publish
from tests.integration.pipelines.till import NAME, Till, refusal
from windlass.errors import WrongState
from windlass.model.feed import ReadFeed
from windlass.model.run import Deed
from windlass.notify.local import pipelines_topic
from windlass.testing.harness import Harness

PEOPLE = ("pause", "resume", "run_now", "retry", "approve", "reject", "resolve", "skip")

Entry = tuple[str, str | None, str, str | None, str | None]  # cause, from, to, by, note


async def deeds(harness: Harness, name: str = NAME) -> list[Entry]:
    """What people did to it, as the log tells it, the oldest first. And its log is a path."""
    query = ReadFeed(namespace="default", subject_kind="pipeline", subject_id=name, limit=500)
    entries = [item.entry for item in (await harness.opened.feed.read_feed(query)).entries]
    path = [(entry.from_status, entry.to_status) for entry in entries]
    assert all(former[1] == later[0] for former, later in pairwise(path)), path
    found = [(entry, Deed.from_log(entry.data)) for entry in entries if entry.cause in PEOPLE]
    return [(entry.cause, entry.from_status, entry.to_status, deed.by, deed.note) for entry, deed in found]


async def test_who_paused_and_resumed_an_idle_pipeline_stays_on_record(harness: Harness) -> None:
    till = await Till(harness).deployed()
    for _ in range(2):  # the second time nothing is left to do
        await till.app.pipelines.pause(NAME, by="ann", note="audit")
    for _ in range(2):
        await till.app.pipelines.resume(NAME, by="bob", note="done")

    assert await deeds(harness) == [
        ("pause", "idle", "idle", "ann", "audit"),
        ("resume", "idle", "idle", "bob", "done"),
    ]


@pytest.mark.in_process
async def test_a_pause_stands_in_the_log_while_a_handler_is_at_work(harness: Harness, gate: Gate) -> None:
    till = await Till(harness).deployed()
    till.world.plan(mutate=gate)
    await till.publish("a")
    await gate.reached()
    await till.app.pipelines.pause(NAME, by="ann", note="stop it")
    while_at_work = await deeds(harness)
    gate.open()
    await harness.idle()

    assert while_at_work == [("pause", "running", "running", "ann", "stop it")]
    assert await deeds(harness) == while_at_work
    assert (await till.app.pipelines.get(NAME)).status == "Stopped"


@pytest.mark.in_process
async def test_a_resume_that_leaves_a_decision_open_is_on_record(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")
    await till.app.pipelines.pause(NAME, by="ann")
    await till.app.pipelines.resume(NAME, by="bob")

    assert await deeds(harness) == [
        ("pause", "attention", "attention", "ann", None),
        ("resume", "attention", "attention", "bob", None),
    ]


async def test_who_asked_for_a_check_is_on_record(harness: Harness) -> None:
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, every="1h")
    await until_quiet(harness)
    await harness.app.pipelines.run_now("count", by="ann", note="the shop called")
    await until_quiet(harness)

    assert await deeds(harness, "count") == [("run_now", "idle", "idle", "ann", "the shop called")]


async def test_who_let_go_of_an_event_or_of_an_input_is_on_record(harness: Harness) -> None:
    till = await Till(harness).deployed()
    await till.app.pipelines.pause(NAME)
    await publish(till, "a", "pi_1")
    await till.publish("b")
    for _ in range(2):  # the second time nothing is left of it
        await till.app.pipelines.skip_input(NAME, paid("pi_1"), by="ann", note="refunded")
        await till.app.pipelines.skip_event(NAME, till.orders, "b", by="bob", note="a test")

    assert (await deeds(harness))[1:] == [
        ("skip", "idle", "idle", "ann", "refunded"),
        ("skip", "idle", "idle", "bob", "a test"),
    ]


@pytest.mark.in_process
async def test_an_input_whose_effect_has_happened_is_let_go_of_once(harness: Harness, gate: Gate) -> None:
    till = await Till(harness).deployed()
    till.world.plan(next=gate)
    await publish(till, "a", "pi_1")
    await gate.reached()
    await till.until_active("mutated")
    for _ in range(2):
        said = await till.app.pipelines.skip_input(NAME, paid("pi_1"), by="ann", note="refunded")
        assert said.finishing == 1
    event = await till.app.pipelines.skip_event(NAME, till.orders, "a", by="bob")
    gate.open()
    await harness.idle()

    assert event.finishing == 1  # nothing was done about it, so there is nothing to note
    assert await deeds(harness) == [("skip", "running", "running", "ann", "refunded")]


@pytest.mark.in_process
async def test_a_skip_that_ends_an_attempt_is_one_entry(harness: Harness) -> None:
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")
    await till.app.pipelines.skip_event(NAME, till.orders, "a", by="ann", note="twice")

    assert await deeds(harness) == [("skip", "attention", "idle", "ann", "twice")]


Deeds = dict[str, tuple[str, Callable[[windlass.App], Awaitable[Any]]]]
LOST: Deeds = {
    "pause": ("pause_pipeline", lambda app: app.pipelines.pause(NAME, by="ann", note="why")),
    "skip": ("skip_input", lambda app: app.pipelines.skip_event(NAME, "order.paid", "a", by="ann", note="why")),
}


@pytest.mark.in_process
@pytest.mark.parametrize("cause", LOST)
async def test_a_deed_whose_answer_is_lost_is_noted_once(open_harness: OpenHarness, cause: str) -> None:
    transaction, ask = LOST[cause]
    hooks = AnswerLost(transaction)
    harness = await open_harness(hooks=hooks)
    till = await Till(harness, approval=True).deployed()
    await till.settle("a")
    hooks.is_armed = True
    asking = asyncio.ensure_future(ask(till.app))
    await eventually(lambda: _is_lost(hooks), what="it is done, and nobody heard of it")
    await _asked_again(harness, asking)

    assert [(entry[0], *entry[3:]) for entry in await deeds(harness)] == [(cause, "ann", "why")]


@pytest.mark.in_process
async def test_a_check_whose_answer_is_lost_is_one_check_even_if_it_is_over_by_then(open_harness: OpenHarness) -> None:
    hooks = AnswerLost("run_now")
    harness = await open_harness(hooks=hooks)
    topic, pipeline, ran = harness.app.topic("number", int), harness.app.pipeline("count"), list[str]()
    add_producer(pipeline, topic, ran, cron="0 9 * * *")  # which leaves its next time where it was
    await until_quiet(harness)
    await harness.app.pipelines.run_now("count")
    await until_quiet(harness)
    before = len(ran)
    hooks.is_armed = True
    asking = asyncio.ensure_future(harness.app.pipelines.run_now("count", by="ann"))
    await eventually(lambda: _is_lost(hooks), what="it is done, and nobody heard of it")
    await _told_of_work(harness)
    await until_quiet(harness)
    await _asked_again(harness, asking)
    await until_quiet(harness)

    assert len(ran) == before + 1
    assert [entry[3] for entry in await deeds(harness, "count")] == [None, "ann"]


@pytest.mark.in_process
@pytest.mark.parametrize(("verb", "kind"), [("retry", "logic"), ("resume", "auth")])
async def test_a_retry_whose_answer_is_lost_is_one_even_if_it_has_failed_by_then(
    open_harness: OpenHarness, verb: str, kind: str
) -> None:
    hooks = AnswerLost(f"{verb}_pipeline")
    till = await Till(await open_harness(hooks=hooks)).deployed()
    till.world.plan(charge=[refusal(kind)] * 3)
    await till.settle("a")
    hooks.is_armed = True
    asking = asyncio.ensure_future(getattr(till.app.pipelines, verb)(NAME, by="ann"))
    await eventually(lambda: _is_lost(hooks), what="it is done, and nobody heard of it")
    await till.publish("b")  # whoever waits for work hears of this

    async def has_failed_again() -> bool:
        return till.world.count("charge") == 2 and (await till.standing())[0] == "attention"

    await eventually(has_failed_again, what="it has failed again")
    await _asked_again(till.harness, asking)
    await till.harness.idle()

    assert till.world.count("charge") == 2
    assert [(entry[0], entry[3]) for entry in await deeds(till.harness)] == [(verb, "ann")]


@pytest.mark.in_process
async def test_what_is_refused_is_not_noted(harness: Harness) -> None:
    till = await Till(harness).deployed()
    with pytest.raises(WrongState):
        await till.app.pipelines.retry(NAME, by="ann")
    with pytest.raises(WrongState):
        await till.app.pipelines.run_now(NAME, by="ann")

    assert await deeds(harness) == []


async def _is_lost(hooks: AnswerLost) -> bool:
    return not hooks.is_armed


async def _asked_again(harness: Harness, asking: asyncio.Future[Any]) -> None:
    """Let the pause before the next try pass, whenever that begins."""
    while not asking.done():
        harness.clock.advance("1s")
        await asyncio.wait([asking], timeout=0.01)
    await asking


async def _told_of_work(harness: Harness) -> None:
    """Whoever waits for work looks again: the hint of what was committed went with the answer."""
    harness.opened.engine.parts.hub.publish(pipelines_topic("default", "default"))
