"""Does a look at the queues count every run that is not over once, where it stands, and name what nobody will take?"""

from __future__ import annotations

import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    OTHER_WORKER,
    SERVED,
    VISIBLE_FOR,
    WORKER,
    claim_one,
    finished,
    poll,
    start,
)
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import OPEN, cancelling, event_wait, parking, pausing, run_in, wait_for
from tests.conformance.test_retries import retrying
from tests.conformance.test_workers import registering
from windlass.engine.engine import Engine
from windlass.model.commands import SetGate
from windlass.model.gate import GateKind
from windlass.model.queue import QueueView
from windlass.model.run import RunStatus
from windlass.model.step import StepKind
from windlass.model.time import HOUR, MINUTE, SECOND, Duration, Instant
from windlass.model.worker import Served
from windlass.store.base import Store
from windlass.store.queries.queues import Ended, QueueQueries
from windlass.testing.clock import FakeClock

NOTHING = {"due": 0, "running": 0, "later": 0, "waiting": 0, "paused": 0}
WHERE = {
    RunStatus.PENDING: "due",
    RunStatus.RUNNING: "running",
    RunStatus.SLEEPING: "later",
    RunStatus.WAITING: "waiting",
    RunStatus.PAUSED: "paused",
}


def counts(view: QueueView) -> dict[str, int]:
    return {name: getattr(view, name) for name in NOTHING}


async def only(engine: Engine) -> QueueView:
    """The one queue there is."""
    (view,) = await engine.runs.list_queues(NAMESPACE)
    return view


class TestQueues(EngineConformance):
    async def test_there_are_none_before_anything_happens(self, engine: Engine) -> None:
        assert await engine.runs.list_queues(NAMESPACE) == ()

    @pytest.mark.parametrize("status", OPEN)
    async def test_a_run_that_is_not_over_is_counted_once_where_it_stands(
        self, engine: Engine, clock: FakeClock, status: RunStatus
    ) -> None:
        await run_in(engine, status)

        view = await only(engine)

        assert (view.namespace, view.name, view.at) == (NAMESPACE, "billing", clock.now())
        assert counts(view) == {**NOTHING, WHERE[status]: 1}

    async def test_a_run_that_begins_later_is_not_due_yet(self, engine: Engine, clock: FakeClock) -> None:
        await engine.runs.start_run(start(delay_for=HOUR))

        before = await only(engine)
        clock.advance(HOUR)
        after = await only(engine)

        assert (counts(before), before.oldest_due_at) == ({**NOTHING, "later": 1}, None)
        assert (counts(after), after.oldest_due_at) == ({**NOTHING, "due": 1}, clock.now())

    async def test_what_a_worker_may_claim_is_due_whatever_it_was(self, engine: Engine, clock: FakeClock) -> None:
        for number in (1, 2, 3, 4):
            await engine.runs.start_run(start(number, timeout_for=HOUR if number == 3 else None))
            run = await claim_one(engine, number)
            match number:
                case 1:  # the end of its claim
                    first = clock.now() + VISIBLE_FOR
                case 2:  # the end of its sleep
                    await engine.work.suspend_run(parking(run, wait_for(run, StepKind.SLEEP, due_for=HOUR)))
                case 3:  # its time-out
                    await engine.work.suspend_run(parking(run, event_wait(run)))
                case 4:  # never: a person holds it
                    await engine.work.suspend_run(parking(run, event_wait(run, due_for=HOUR)))
                    await engine.control.pause_run(pausing(run.id))

        before = await only(engine)
        clock.advance(HOUR)
        after = await only(engine)

        assert counts(before) == {**NOTHING, "running": 1, "later": 1, "waiting": 1, "paused": 1}
        assert (counts(after), after.oldest_due_at) == ({**NOTHING, "due": 3, "paused": 1}, first)

    async def test_a_run_that_is_over_is_in_no_queue(self, engine: Engine, clock: FakeClock) -> None:
        await run_in(engine, RunStatus.COMPLETED)
        clock.advance(MINUTE)

        assert await engine.runs.list_queues(NAMESPACE) == ()

    async def test_the_rate_is_what_ended_within_a_minute(self, engine: Engine, clock: FakeClock) -> None:
        await run_in(engine, RunStatus.COMPLETED)
        clock.advance(45 * SECOND)
        failed = await run_in(engine, RunStatus.FAILED)
        cancelled = await run_in(engine, RunStatus.CANCELLED)
        three = await only(engine)
        clock.advance(15 * SECOND)
        two = await only(engine)
        await engine.control.retry_run(retrying(failed.id))  # which is noted in the log of the one that failed
        await engine.control.cancel_run(cancelling(cancelled.id))
        again = await only(engine)

        assert [view.ended_per_minute for view in (three, two, again)] == [3, 2, 2]

    async def test_the_last_ends_are_counted_and_no_more(self, store: Store, engine: Engine, clock: FakeClock) -> None:
        for number in (1, 2, 3):
            await engine.runs.start_run(start(number))
            run = await claim_one(engine, number)
            await engine.work.finish_run(
                finished(run) if number < 3 else finished(run, status=RunStatus.FAILED, output=None, failure=FAILURE)
            )
            clock.advance(SECOND)

        async def ended(most: int, span: Duration = MINUTE) -> Ended:
            return await store.read(
                "ended", lambda tx: QueueQueries(tx.connection).ended(NAMESPACE, span=span, most=most)
            )

        assert await ended(100) == Ended(runs={"billing": 3}, told_since=None)
        assert await ended(3) == Ended(runs={"billing": 3}, told_since=None)
        assert await ended(2) == Ended(runs={"billing": 3}, told_since=Instant(clock.now() - 3 * SECOND))
        assert await ended(1) == Ended(runs={"billing": 2}, told_since=Instant(clock.now() - 2 * SECOND))
        assert await ended(100, span=Duration(2 * SECOND)) == Ended(runs={"billing": 1}, told_since=None)

    async def test_live_workers_are_counted_for_every_queue_they_serve(self, engine: Engine, clock: FakeClock) -> None:
        await engine.work.register_worker(registering(WORKER, slots=10))
        clock.advance(25 * SECOND)
        await engine.work.register_worker(registering(OTHER_WORKER, served=SERVED, slots=5))

        both = await engine.runs.list_queues(NAMESPACE)
        clock.advance(25 * SECOND)
        one = await engine.runs.list_queues(NAMESPACE)
        await engine.work.deregister_worker(NAMESPACE, OTHER_WORKER)
        none = await engine.runs.list_queues(NAMESPACE)

        assert [(view.name, view.workers, view.slots) for view in both] == [("billing", 2, 15), ("mail", 1, 10)]
        assert [(view.name, view.workers, view.slots) for view in one] == [("billing", 1, 5)]
        assert none == ()

    async def test_what_is_due_and_run_by_no_live_worker_is_named(self, engine: Engine) -> None:
        await engine.work.register_worker(registering(served=SERVED))
        await engine.runs.start_run(start())
        await engine.runs.start_run(start(name="refund"))
        await engine.runs.start_run(start(name="refund"))
        await engine.runs.start_run(start(version="2"))
        await engine.runs.start_run(start(name="later", delay_for=HOUR))

        view = await only(engine)

        assert view.unserved == ((Served("billing", "invoice", "2"), 1), (Served("billing", "refund"), 2))

    @pytest.mark.parametrize(
        ("kind", "name", "is_of_the_queue"),
        [
            (GateKind.QUEUE, "billing", True),
            (GateKind.NAMESPACE, NAMESPACE, True),
            (GateKind.WORKFLOW, "invoice", False),
        ],
    )
    async def test_what_is_paused_is_said_to_be_and_not_complained_about(
        self, engine: Engine, kind: GateKind, name: str, is_of_the_queue: bool
    ) -> None:
        await engine.runs.start_run(start())
        gate = await engine.control.set_gate(SetGate(namespace=NAMESPACE, kind=kind, name=name, is_paused=True))

        view = await only(engine)

        assert view.gate == (gate if is_of_the_queue else None)
        assert (view.due, view.unserved) == (1, ())

    async def test_a_queue_is_listed_while_it_is_paused(self, engine: Engine) -> None:
        await engine.control.set_gate(
            SetGate(namespace=NAMESPACE, kind=GateKind.QUEUE, name="mail", is_paused=True, by="ann")
        )

        view = await only(engine)

        assert (view.name, counts(view)) == ("mail", NOTHING)
        assert view.gate is not None
        assert view.gate.paused_by == "ann"

    async def test_other_namespaces_do_not_count(self, engine: Engine) -> None:
        await engine.runs.start_run(start(namespace="other"))
        await engine.work.claim_runs(poll(namespace="other"))
        await engine.runs.start_run(start(namespace="other"))

        assert await engine.runs.list_queues(NAMESPACE) == ()
        (view,) = await engine.runs.list_queues("other")
        assert counts(view) == {**NOTHING, "due": 1, "running": 1}
