"""A worker process with pipelines: effects take a while, so that whoever is killed is often in the middle of one.

The outside world is the journal that all processes share: an effect has happened when its line stands there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import windlass
from tests.crash.piping import Order, Receipt
from tests.invariants.pipelines import HAPPENED, NOTHING
from tests.lives.journal import Event, Journal
from tests.lives.shared_journal import SharedJournal, read_shared_journal
from tests.processes.beside import told_to_leave
from windlass.app import App
from windlass.model.time import SECOND, Duration
from windlass.runtime import SystemClock
from windlass.settings import Settings

PIPELINES = 6
PACE = 0.01  # seconds; effects take one to four of them before they happen, and behind it
MAX_RECOVERIES = 1_000  # none of the deaths is the fault of a handler

ORDERS, TAKEN = "order.paid", "payment.done"


def settings(visibility: float) -> Settings:
    return Settings(
        visibility_for=Duration(round(visibility * SECOND)),
        probe_for=Duration(SECOND // 4),
        max_recoveries=MAX_RECOVERIES,
    )


def declare(app: App, journal: Journal, *, timeout: str) -> None:
    orders, done = app.topic(ORDERS, Order), app.topic(TAKEN, Receipt)

    async def find(order: Order) -> Any:
        key = windlass.current_step().idempotency_key
        calls = [line for line in read_shared_journal(journal.path) if line.event is Event.CALLED]
        is_there = any(line.idempotency_key == key for line in calls)
        journal.write(Event.RECONCILED, key=order.id, idempotency_key=key, outcome=HAPPENED if is_there else NOTHING)
        return windlass.Happened(Receipt(order.id)) if is_there else windlass.DidNotHappen()

    @app.effect(reconcile=find, timeout=timeout)
    async def charge(order: Order) -> Receipt:
        step = windlass.current_step()
        journal.write(Event.ENTERED, run_id=step.run_id, key=order.id, idempotency_key=step.idempotency_key)
        before, behind = (1 + (crc32(step.idempotency_key.encode()) >> shift) % 4 for shift in (0, 8))
        await asyncio.sleep(before * PACE)
        journal.write(
            Event.CALLED, run_id=step.run_id, key=order.id, idempotency_key=step.idempotency_key, outcome=HAPPENED
        )
        await asyncio.sleep(behind * PACE)
        return Receipt(order.id)

    for number in range(PIPELINES):
        pipeline = app.pipeline(f"pipeline-{number}")

        @pipeline.consumer(orders, publishes=[done], name="charge")
        class Charge(windlass.Consumer[Order, Receipt]):
            async def mutate(
                self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
            ) -> windlass.Effect[Receipt]:
                return windlass.Effect(charge, prepared.data)

            async def next(
                self, ctx: windlass.NextContext, prepared: windlass.Prepared[Order], result: Receipt | None
            ) -> None:
                assert result is not None
                id = f"{ctx.pipeline}/{result.id}"
                ctx.publish(done, result, id=id)
                journal.write(Event.PUBLISHED, run_id=ctx.run_id, what=ctx.handler, value=[[TAKEN, id]])

    books = app.pipeline("books")

    @books.consumer(done, batch=10)
    async def book(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Receipt]]) -> None:
        journal.write(Event.PUBLISHED, run_id=ctx.run_id, what=ctx.handler, value=[])


def pipe(*, url: str, journal: str, number: int, visibility: float, timeout: str) -> None:
    async def main() -> None:
        leave, notes = told_to_leave(), SharedJournal(Path(journal), number=number, clock=SystemClock())
        async with App(url, settings=settings(visibility)) as app:
            declare(app, notes, timeout=timeout)
            async with app.worker(slots=PIPELINES):
                await leave.wait()

    asyncio.run(main())


ENTRIES: dict[str, Callable[..., int | None]] = {"pipe": pipe}
