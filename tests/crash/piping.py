"""What stories about pipelines have in common: an outside world, a person who looks after them, and handlers' words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

import windlass
from tests.invariants.evidence import PipedRows
from tests.invariants.pipelines import DONE, HAPPENED, LOST, NOTHING, REFUSED
from tests.lives.journal import Event, Journal, Line, read_journal
from tests.lives.life import Life, piped_rows
from windlass.define.pipeline_context import HandlerContext
from windlass.model.effect import EffectStatus
from windlass.model.pipeline import EventStatus, Issue, Pipeline, PipelineStatus
from windlass.model.time import SECOND
from windlass.testing.errors import Stuck

__all__ = ["LOST", "NOTHING", "REFUSED"]

ROUNDS = 100  # of letting time pass, before a pipeline that does not come to rest is given up

Person = Callable[[Life, PipedRows], Awaitable[bool]]  # whether there was something to do


class Order(Struct, frozen=True):
    id: str


class Receipt(Struct, frozen=True):
    id: str


class World:
    """The outside world is the journal: what it did when it was called stands there, and it tells the truth about it.

    `plan` says what it does when it is called for the first time with an order: it loses its answer, or refuses.
    """

    def __init__(self, journal: Journal, **plan: str) -> None:
        self._journal, self._plan = journal, plan

    async def charge(self, order: Order) -> Receipt:
        step = windlass.current_step()
        is_first = not any(line.idempotency_key == step.idempotency_key for line in self._calls())
        outcome = self._plan.get(order.id, HAPPENED) if is_first else HAPPENED
        self._journal.write(
            Event.CALLED,
            run_id=step.run_id,
            key=order.id,
            idempotency_key=step.idempotency_key,
            what=step.name,
            outcome=outcome,
        )
        await asyncio.sleep(0)
        if outcome == REFUSED:
            raise windlass.StepError("come back later", did_not_happen=True)
        if outcome != HAPPENED:
            raise ConnectionError("the line is dead")
        return Receipt(order.id)

    async def find(self, order: Order) -> windlass.Happened[Receipt] | windlass.DidNotHappen:
        step = windlass.current_step()
        is_there = self.has_happened(step.idempotency_key)
        self._journal.write(
            Event.RECONCILED,
            run_id=step.run_id,
            key=order.id,
            idempotency_key=step.idempotency_key,
            outcome=HAPPENED if is_there else NOTHING,
        )
        return windlass.Happened(Receipt(order.id)) if is_there else windlass.DidNotHappen()

    def has_happened(self, key: str) -> bool:
        return any(line.idempotency_key == key and line.outcome in DONE for line in self._calls())

    def _calls(self) -> list[Line]:
        return [line for line in read_journal(self._journal.path) if line.event is Event.CALLED]


def handled(life: Life, ctx: HandlerContext, phase: str, events: Any = ()) -> int:
    """Write down that a phase is entered, and with which events. Answers with how often it was before."""
    ids = [event.id for event in events]
    same = [
        line
        for line in read_journal(life.journal.path)
        if (line.event, line.what, line.key, line.value) == (Event.HANDLED, ctx.handler, phase, ids)
    ]
    life.journal.write(Event.HANDLED, run_id=ctx.run_id, what=ctx.handler, key=phase, value=ids)
    return len(same)


def published(life: Life, ctx: HandlerContext, *events: tuple[windlass.Topic[Any], str]) -> None:
    """Write down what a handler has published, before it returns."""
    life.journal.write(
        Event.PUBLISHED, run_id=ctx.run_id, what=ctx.handler, value=[[topic.name, id] for topic, id in events]
    )


def taking(life: Life, pipeline: windlass.Pipeline, topic: windlass.Topic[Any], *, name: str, batch: int = 1) -> None:
    """A consumer that only takes note."""

    @pipeline.consumer(topic, name=name, batch=batch)
    async def take(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Any]]) -> None:
        handled(life, ctx, "next", events)
        published(life, ctx)


# People and time


async def until_piped(life: Life, is_so: Callable[[PipedRows], bool], *, person: Person | None = None) -> PipedRows:
    """Let time pass until pipelines stand like that. A person does what is theirs to do on the way."""
    for _ in range(ROUNDS):
        await life.settle()
        piped = await piped_rows(life)
        if is_so(piped):
            return piped
        if person is not None and await person(life, piped):
            continue
        await life.advance(_until_next(life, piped))
    standing = [(item.name, item.status, item.issue, item.run_id) for item in piped.pipelines.values()]
    raise Stuck(f"Pipelines do not come there: {standing}")


def _until_next(life: Life, piped: PipedRows) -> int:
    now = life.clock.now()
    due = [item.available_at - now for item in piped.pipelines.values() if item.available_at is not None]
    due += [effect.reconcile_after - now for effect in piped.effects if effect.status is EffectStatus.INDETERMINATE]
    due = [each for each in due if each > 0]
    is_at_work = any(worker.pipelines.count for worker in life.workers)
    return life.clock.next_timer() or SECOND if is_at_work or not due else min(due)


async def until_at_rest(life: Life, *, person: Person | None = None, events: int = 1) -> PipedRows:
    """Until all is consumed, and there is as much of it as was published."""
    return await until_piped(life, lambda piped: len(piped.events) >= events and is_at_rest(piped), person=person)


def is_at_rest(piped: PipedRows) -> bool:
    open = (EventStatus.PENDING, EventStatus.RESERVED)
    return not any(event.status in open for event in piped.events.values()) and all(
        pipeline.status is PipelineStatus.IDLE and pipeline.run_id is None for pipeline in piped.pipelines.values()
    )


def person(world: World, *, by: str = "ann", skips: tuple[str, ...] = ()) -> Person:
    """Somebody who looks after pipelines: approves, tries again, and finds out whether an effect happened."""

    async def attend(life: Life, piped: PipedRows) -> bool:
        for pipeline in piped.pipelines.values():
            if pipeline.status is PipelineStatus.ATTENTION and await _attend(life, pipeline, by=by, skips=skips):
                return True
        return await _resolve(life, piped, world, by=by, skips=skips)

    return attend


async def _attend(life: Life, pipeline: Pipeline, *, by: str, skips: tuple[str, ...]) -> bool:
    assert pipeline.run_id is not None
    if pipeline.issue is Issue.APPROVAL:
        (run,) = [row.run for row in (await piped_rows(life)).run_rows if row.run.id == pipeline.run_id]
        is_approved = not any(item.id in skips for item in run.reserved)
        await life.client.decide(pipeline.name, attempt=pipeline.run_id, is_approved=is_approved, by=by)
        return True
    if pipeline.issue is Issue.LOGIC:
        await life.client.steer("retry", pipeline.name, by=by)
        return True
    return False


async def _resolve(life: Life, piped: PipedRows, world: World, *, by: str, skips: tuple[str, ...]) -> bool:
    for effect in piped.effects:
        if effect.status is not EffectStatus.INDETERMINATE or effect.reconcile_after > life.clock.now():
            continue
        order = life.app._codec.decode(effect.params, tuple[Order])[0]
        if world.has_happened(effect.idempotency_key):
            await life.client.resolve(effect, "happened", by=by, result=Receipt(order.id))
        else:
            await life.client.resolve(effect, "skip" if order.id in skips else "did_not_happen", by=by)
        return True
    return False
