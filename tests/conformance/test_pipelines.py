"""Do several processes at the pipelines of one database lose nothing, do nothing twice, and overwrite nobody?"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conformance.given import engine_on
from tests.lives.pipeline_hands import DONE, FOR, PIPELINE, TIMEOUT, WRONG, Hands, pipeline
from windlass.errors import ClaimLost
from windlass.model.effect import EffectStatus
from windlass.model.pipeline import (
    EventStatus,
    HandlerKind,
    HandlerSpec,
    HandlerStatus,
    Phase,
    PipelineStatus,
)
from windlass.model.pipeline_work import ReserveOutcome, Task, TaskKind, Verdict
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

ROUNDS = 20

Lead = Callable[[Hands], Awaitable[Task]]
Write = Callable[[Hands, Task], Awaitable[Any]]


# How a holder comes to where it writes


async def preparing(hands: Hands) -> Task:
    task = await hands.claim()
    assert task is not None
    return task


async def prepared(hands: Hands) -> Task:
    task = await preparing(hands)
    assert (await hands.reserve(task, *await hands.pending())).outcome is ReserveOutcome.RESERVED
    return task


async def mutating(hands: Hands) -> Task:
    task = await prepared(hands)
    await hands.begin(task)
    return task


async def mutated(hands: Hands) -> Task:
    task = await mutating(hands)
    await hands.apply(task)
    return task


async def asking(hands: Hands) -> Task:
    await hands.stop(await mutating(hands), verdict=Verdict.UNKNOWN)
    hands.engine.parts.clock.advance(FOR)  # type: ignore[attr-defined]  # until it is to be asked about
    task = await preparing(hands)
    assert task.kind is TaskKind.RECONCILE
    return task


async def fixing(hands: Hands) -> Task:
    await hands.stop(await preparing(hands), WRONG)
    task = await preparing(hands)
    assert task.kind is TaskKind.FIX
    return task


STALE: dict[str, tuple[Lead, Write]] = {
    "read": (preparing, lambda hands, task: hands.pending()),
    "reserve nothing": (preparing, lambda hands, task: hands.reserve(task)),
    "begin": (prepared, lambda hands, task: hands.begin(task)),
    "apply": (mutating, lambda hands, task: hands.apply(task)),
    "commit without an effect": (prepared, lambda hands, task: hands.commit(task, "a")),
    "commit": (mutated, lambda hands, task: hands.commit(task, "a")),
    "stop": (prepared, lambda hands, task: hands.stop(task)),
    "stop in doubt": (mutating, lambda hands, task: hands.stop(task, verdict=Verdict.UNKNOWN)),
    "stop for certain": (mutating, lambda hands, task: hands.stop(task, verdict=Verdict.FAILED)),
    "reconcile": (asking, lambda hands, task: hands.reconcile(task)),
    "reconcile as nothing": (asking, lambda hands, task: hands.reconcile(task, did_not_happen=True)),
    "fix": (fixing, lambda hands, task: hands.fix(task)),
    "renew": (preparing, lambda hands, task: hands.renew()),
    "release": (mutating, lambda hands, task: hands.release()),
}


class TestPipelines:
    @pytest.fixture
    async def pair(self, store: Store, second_store: Store, clock: FakeClock) -> tuple[Hands, Hands]:
        """Two workers, each on an engine of its own."""
        spec = pipeline(has_fixer=True)
        hands = Hands(engine_on(store, clock), "wrk_1", spec), Hands(engine_on(second_store, clock), "wrk_2", spec)
        await hands[0].declare()
        await consume(hands[0])  # whoever is new looks once
        return hands

    # Claims

    @pytest.mark.spec("invariants:I-17", "invariants:I-44")
    async def test_of_two_that_claim_a_pipeline_one_gets_it(self, pair: tuple[Hands, Hands]) -> None:
        first, second = pair
        for number in range(ROUNDS):
            await first.publish(str(number))
            token = (await first.piped()).pipelines[PIPELINE].token

            tasks = await asyncio.gather(first.claim(), second.claim())

            assert [task is None for task in tasks].count(True) == 1
            holder, task = (second, tasks[1]) if tasks[0] is None else (first, tasks[0])
            assert task is not None
            assert holder.held is not None
            assert holder.held.token == token + 1
            await through(holder, task)
        await nothing_is_left(first, consumed=ROUNDS)

    @pytest.mark.spec("invariants:I-24")
    async def test_a_pause_beside_a_claim_lets_one_handler_finish_or_none_begin(
        self, pair: tuple[Hands, Hands]
    ) -> None:
        first, second = pair
        begun = 0
        for number in range(ROUNDS):
            await first.publish(str(number))
            pause = first.engine.pipeline_control.pause_pipeline(first.steering())
            _, task = await asyncio.gather(pause, second.claim())
            if task is not None:
                begun += 1
                await second.publish(f"{number} later")
                assert (await second.reserve(task, *await second.pending())).outcome is ReserveOutcome.RESERVED
                assert await second.commit(task) is None, "it goes on to another handler though it is paused"
            assert await second.claim() is None

            await first.engine.pipeline_control.resume_pipeline(first.steering())
            await consume(second)
        await nothing_is_left(first, consumed=ROUNDS + begun)

    @pytest.mark.spec("invariants:I-18", "invariants:I-19", "invariants:I-35")
    @pytest.mark.parametrize("what", STALE)
    async def test_a_holder_that_lost_its_claim_changes_nothing(
        self, pair: tuple[Hands, Hands], clock: FakeClock, what: str
    ) -> None:
        first, second = pair
        lead, write = STALE[what]
        await first.publish("a")
        task = await lead(first)
        clock.advance(FOR + TIMEOUT)

        await second.claim()  # it is the second one's now, or waits until nobody can be inside any more
        before = await second.piped()
        assert before.pipelines[PIPELINE].worker != first.worker
        with pytest.raises(ClaimLost):
            await write(first, task)
        assert await second.piped() == before

        for _ in range(2):  # what did not happen is tried again after a while
            clock.advance(FOR + TIMEOUT)
            await consume(second)
        await nothing_is_left(first, consumed=1)

    # Publishing

    @pytest.mark.spec("invariants:I-41", "invariants:I-42")
    @pytest.mark.parametrize("continues", [True, False])
    async def test_what_is_published_while_nothing_is_reserved_wakes_its_consumer(
        self, pair: tuple[Hands, Hands], clock: FakeClock, continues: bool
    ) -> None:
        first, second = pair
        for number in range(ROUNDS):
            await first.publish(f"{number} seen")
            task = await preparing(second)
            await second.reserve(task)  # it has looked, and takes nothing

            _, following = await asyncio.gather(
                first.publish(f"{number} new"), second.commit(task, continues=continues)
            )

            if following is None:
                following = await first.claim()
                assert following is not None, f"round {number}: the new event woke nobody"
                await through(first, following)
            else:
                await through(second, following)
        await nothing_is_left(first, consumed=2 * ROUNDS)

    @pytest.mark.spec("invariants:I-33", "invariants:I-57")
    async def test_publishing_to_pipelines_in_crossing_order_meets_no_deadlock(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        """Each topic goes to two of three pipelines, and what a handler publishes too."""
        names, topics = ("a", "b", "c"), ("t1", "t2", "t3")
        specs = tuple(
            pipeline(
                name,
                HandlerSpec(
                    name="take",
                    kind=HandlerKind.CONSUMER,
                    topics=(topics[place], topics[place - 1]),
                    publishes=(DONE,),
                    emits=True,
                ),
                HandlerSpec(name="tell", kind=HandlerKind.CONSUMER, topics=(DONE,), emits=True),
            )
            for place, name in enumerate(names)
        )
        both = [Hands(engine_on(each, clock), worker, *specs) for each, worker in ((store, "1"), (second_store, "2"))]
        await both[0].declare()

        async def flood(hands: Hands, topics: tuple[str, ...]) -> None:
            for number in range(ROUNDS):
                ids = [(topic, f"{hands.worker} {number}") for topic in topics]
                await asyncio.gather(*(hands.publish(id, topic=topic) for topic, id in ids), work(hands, number))

        async def work(hands: Hands, number: int) -> None:
            task = await hands.claim()
            if task is not None and task.handler == "take":
                await hands.commit(task, f"{hands.worker} {number}", continues=False)
            elif task is not None:
                await hands.commit(task, continues=False)

        await asyncio.gather(flood(both[0], topics), flood(both[1], topics[::-1]))

        piped = await both[0].piped()
        published = Counter(topic for _, topic, _ in piped.events)
        assert [published[topic] for topic in topics] == [2 * 2 * ROUNDS] * 3
        for name in names:
            numbers = [row.event.seq for row in piped.event_rows if row.pipeline == name]
            assert sorted(numbers) == [*range(1, len(numbers) + 1)]
            assert piped.pipelines[name].seq == len(numbers)

    # Declaring

    async def test_a_new_revision_does_not_disturb_whoever_holds_the_old_one(
        self, pair: tuple[Hands, Hands], second_store: Store, clock: FakeClock
    ) -> None:
        first, _ = pair
        audit = HandlerSpec(name="audit", kind=HandlerKind.CONSUMER, topics=(DONE,), emits=True)
        spec = pipeline(PIPELINE, *first.specs[0].handlers, audit, revision="2", has_fixer=True)
        newer = Hands(engine_on(second_store, clock), "wrk_3", spec)
        await first.publish("a")
        task = await mutating(first)

        await newer.declare()
        assert await newer.claim() is None
        await first.apply(task)
        following = await first.commit(task, "done")

        assert following is None, "the old code is given a handler that it does not have"
        assert await first.claim() is None
        task = await preparing(newer)
        assert (task.handler, [event.id for event in task.events]) == ("audit", ["done"])
        await newer.commit(task)
        await nothing_is_left(first, consumed=2)


# Whatever happens


async def through(hands: Hands, task: Task | None) -> None:
    """Take everything there is to its end, under one claim."""
    for _ in range(10):
        if task is None:
            return
        if task.kind is TaskKind.RECONCILE:
            task = (await hands.reconcile(task, did_not_happen=True)).task
        elif task.kind is TaskKind.FIX:
            await hands.fix(task)
            return
        else:
            if task.phase is Phase.PREPARING:
                await hands.reserve(task, *await hands.pending())
            task = await hands.commit(task)
    raise AssertionError(f"{task} does not come to an end")


async def consume(hands: Hands) -> None:
    """Whatever is due, also if it was held by another one before."""
    for _ in range(10):
        task = hands.held.task if hands.held is not None and await is_held_by(hands) else await hands.claim()
        if task is None:
            return
        await through(hands, task)


async def is_held_by(hands: Hands) -> bool:
    row = (await hands.piped()).pipelines[PIPELINE]
    return row.worker == hands.worker and hands.held is not None and hands.held.token == row.token


async def nothing_is_left(hands: Hands, *, consumed: int) -> None:
    piped = await hands.piped()
    assert Counter(event.status for event in piped.events.values()) == {EventStatus.CONSUMED: consumed}
    takers = Counter(
        (item.topic, item.id)
        for run in piped.runs.values()
        if run.status is HandlerStatus.COMMITTED
        for item in run.reserved
    )
    assert set(takers.values()) == {1}
    assert {row.status for row in piped.pipelines.values()} == {PipelineStatus.IDLE}
    assert not any(effect.status is EffectStatus.IN_FLIGHT for effect in piped.effects)
