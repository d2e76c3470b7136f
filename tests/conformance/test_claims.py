"""Who gets which runs, in what order, and what does a claim leave behind?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    OTHER_WORKER,
    SERVED,
    VISIBLE_FOR,
    WORKER,
    causes,
    claim,
    complete,
    completed,
    create,
    engine_on,
    finish,
    finished,
    holding,
    load,
    new_run,
    next_due,
    poll,
    renew,
    run_id,
    running_run,
    settle,
    settled,
    start,
    while_time_passes,
)
from windlass.engine.engine import Engine
from windlass.model.run import RunStatus, WorkerId
from windlass.model.step import StepStatus
from windlass.model.time import DAY, MINUTE, SECOND, Duration, Instant
from windlass.model.worker import Served
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

T = TypeVar("T")

MAIL = Served("mail", "invoice")
REFUND = Served("billing", "refund")
SECOND_VERSION = Served("billing", "invoice", "2")


async def claimed_numbers(
    store: Store, *, limit: int = 100, poll: int = 1, served: tuple[Served, ...] = SERVED
) -> list[int]:
    return [int(row.run.id[4:]) for row in await claim(store, limit=limit, poll=poll, served=served)]


class LateAnswers:
    """A store whose first answer to a look is held back until it is let go."""

    def __init__(self, store: Store) -> None:
        self.lanes, self.hooks, self.open, self.close, self.run_tx = (
            store.lanes,
            store.hooks,
            store.open,
            store.close,
            store.run_tx,
        )
        self.has_looked, self.may_answer = asyncio.Event(), asyncio.Event()
        self._store, self.locks, self.creates_behind_gates = store, store.locks, store.creates_behind_gates

    async def read(self, name: str, fn: Callable[[Tx], Awaitable[T]], *, single: bool = False) -> T:
        answer = await self._store.read(name, fn, single=single)
        self.has_looked.set()
        await self.may_answer.wait()
        return answer


class TestClaims:
    @pytest.mark.spec("runs:P2.9", "invariants:I-23")
    async def test_the_most_urgent_go_first_then_the_oldest_then_by_id(self, store: Store, clock: FakeClock) -> None:
        now = clock.now()
        await create(
            store,
            new_run(6, at=Instant(now - 1)),
            new_run(5, at=Instant(now - 1)),
            new_run(1, at=Instant(now)),
            new_run(2, priority=5, at=Instant(now - 1)),
            new_run(3, priority=5, at=Instant(now - 2)),
            new_run(4, priority=-5, at=Instant(now - 9)),
        )

        assert await claimed_numbers(store) == [3, 2, 5, 6, 1, 4]

    @pytest.mark.spec("runs:P2.9", "invariants:I-23")
    async def test_a_limit_takes_the_first_of_all_lanes_together(self, store: Store, clock: FakeClock) -> None:
        # Every lane holds more than the limit, no lane the next few alone, and many are equally old.
        lanes, urgency = (*SERVED, MAIL), {}
        for number in (number * 17 % 40 for number in range(40)):  # not in the order of their ids
            lane, age, priority = lanes[number % 2], number // 2 % 2, number // 30
            urgency[number] = (-priority, -age, number)
            served = {"queue": lane.queue, "name": lane.name, "version": lane.version}
            await create(store, new_run(number, priority=priority, at=Instant(clock.now() - age), **served))

        taken = [await claimed_numbers(store, limit=3, poll=turn, served=lanes) for turn in range(1, 15)]

        assert [len(numbers) for numbers in taken] == [3] * 13 + [1]
        assert [number for numbers in taken for number in numbers] == sorted(urgency, key=urgency.__getitem__)

    @pytest.mark.spec("runs:G3", "runs:P2.9")
    async def test_a_run_is_due_at_its_very_microsecond_and_not_before(self, store: Store, clock: FakeClock) -> None:
        await create(store, new_run(delay_for=MINUTE))

        clock.advance(MINUTE - 1)
        assert await claimed_numbers(store) == []
        clock.advance(1)
        assert await claimed_numbers(store) == [1]

    @pytest.mark.spec("runs:P2.2", "runs:P2.10")
    async def test_a_claim_says_what_the_row_became(self, store: Store, clock: FakeClock) -> None:
        await create(store, new_run(start_key="k"))
        clock.advance(SECOND)

        (row,) = await claim(store, poll=7)

        assert row.run == await load(store)
        assert (row.was, row.input, row.start_key) == (RunStatus.PENDING, b"[1]", "k")
        assert (row.run.status, row.run.token, row.run.attempts, row.run.recoveries) == (RunStatus.RUNNING, 1, 1, 0)
        assert (row.run.worker, row.run.poll, row.run.started_at) == (WORKER, 7, clock.now())
        assert row.run.available_at == clock.now() + VISIBLE_FOR
        assert await causes(store) == [(None, "pending", "start"), ("pending", "running", "claim")]

    @pytest.mark.spec("runs:P2.10")
    async def test_the_engine_hands_out_input_key_and_history(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        started = await engine.runs.start_run(start(key="k"))
        (first,) = await engine.work.claim_runs(poll(1))
        run = (await engine.runs.get_run(NAMESPACE, first.run_id)).run
        await complete(store, completed(run, key="b", order=2), completed(run, key="a", order=1))
        await settle(store, settled(run, key="c", due_at=Instant(clock.now() + MINUTE)))
        clock.advance(VISIBLE_FOR)

        (again,) = await engine.work.claim_runs(poll(2, worker=OTHER_WORKER))

        assert (first.run_id, first.key, first.input, first.history) == (started.run_id, "k", b"[1]", ())
        assert (again.token, again.attempts, again.recoveries) == (first.token + 1, 2, 1)
        assert (again.started_at, again.visibility_for) == (first.started_at, VISIBLE_FOR)
        assert [(step.key, step.status, step.output) for step in again.history] == [
            ("a", StepStatus.COMPLETED, b"out"),
            ("b", StepStatus.COMPLETED, b"out"),
            ("c", StepStatus.FAILED, None),
        ]
        assert (again.history[2].failure, again.history[2].due_in) == (FAILURE, 0)

    @pytest.mark.spec("runs:G2", "invariants:I-15", "invariants:I-17")
    async def test_a_claim_that_ran_out_passes_to_the_next_worker(self, store: Store, clock: FakeClock) -> None:
        first = await running_run(store)
        for turn in range(1, 4):
            clock.advance(VISIBLE_FOR - 1)
            assert await claim(store, poll=2, worker=OTHER_WORKER) == []
            clock.advance(1)

            (row,) = await claim(store, poll=2, worker=OTHER_WORKER)

            assert (row.was, row.run.token, row.run.attempts) == (RunStatus.RUNNING, 1 + turn, 1 + turn)
            assert (row.run.recoveries, row.run.worker) == (turn, OTHER_WORKER)
            assert (row.run.started_at, row.run.created_at) == (first.started_at, first.created_at)
            assert row.run.available_at == clock.now() + VISIBLE_FOR
            assert (await causes(store))[-1] == ("running", "running", "recover")
        assert await finish(store, finished(first)) == []

    async def test_a_claim_lasts_as_long_as_its_workflow_wants(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        await asyncio.gather(*[engine.runs.start_run(start(name=name)) for name in ("invoice", "refund")])

        claimed = await engine.work.claim_runs(poll(served=(*SERVED, REFUND), visibilities={"refund": SECOND}))

        ends = [(await engine.runs.get_run(NAMESPACE, run.run_id)).run.available_at for run in claimed]
        lengths = {"invoice": VISIBLE_FOR, "refund": SECOND}
        assert sorted(run.name for run in claimed) == ["invoice", "refund"]
        assert ends == [clock.now() + lengths[run.name] for run in claimed]
        assert [run.visibility_for for run in claimed] == [lengths[run.name] for run in claimed]

    async def test_a_renewed_claim_is_not_taken_over(self, store: Store, clock: FakeClock) -> None:
        run = await running_run(store)
        clock.advance(VISIBLE_FOR - 1)
        assert await renew(store, run)

        clock.advance(VISIBLE_FOR - 1)

        assert await claim(store, poll=2, worker=OTHER_WORKER) == []

    @pytest.mark.spec("runs:P2.9")
    async def test_only_what_is_served_is_claimed_and_the_rest_stays_untouched(self, store: Store) -> None:
        others = {
            2: {"queue": "mail"},
            3: {"name": "refund"},
            4: {"version": "2"},
            6: {"queue": "mail", "version": "2"},
        }
        await create(store, new_run(1), *[new_run(number, **fields) for number, fields in others.items()])
        await create(store, new_run(5, namespace="other"))
        before = [await load(store, number) for number in others]

        assert await claimed_numbers(store, served=()) == []
        assert await claimed_numbers(store, served=(*SERVED, Served("mail", "refund"), *SERVED)) == [1]

        assert [await load(store, number) for number in others] == before
        assert [await causes(store, number) for number in others] == [[(None, "pending", "start")]] * len(others)
        assert await claimed_numbers(store, poll=2, served=(MAIL, REFUND, SECOND_VERSION)) == [2, 3, 4]

    async def test_what_is_over_or_held_is_never_claimed(self, store: Store, clock: FakeClock) -> None:
        await create(store, *[new_run(number) for number in (1, 2)])
        done, paused = [row.run for row in await claim(store)]
        await finish(store, finished(done))
        await engine_on(store, clock).work.hold_run(holding(paused))

        clock.advance(100 * VISIBLE_FOR)

        assert await next_due(store) is None
        assert await claim(store, poll=2) == []

    @pytest.mark.spec("runs:P2.9", "invariants:I-17")
    async def test_stores_that_claim_at_once_never_share_a_run(self, store: Store, second_store: Store) -> None:
        await create(store, *[new_run(number, priority=number % 3) for number in range(200)])
        claimed: list[str] = []

        async def drain(claimer: Store, worker: WorkerId) -> None:
            while len(claimed) < 200:  # a claim may come back empty while others hold what it looked at
                rows = await claim(claimer, limit=9, worker=worker)
                assert all((row.run.token, row.run.worker) == (1, worker) for row in rows)
                claimed.extend(row.run.id for row in rows)

        drains = [drain((store, second_store)[side % 2], WorkerId(f"wrk_{side}")) for side in range(6)]
        await asyncio.wait_for(asyncio.gather(*drains), timeout=20)

        assert sorted(claimed) == [run_id(number) for number in range(200)]
        assert [(await load(store, number)).attempts for number in range(0, 200, 20)] == [1] * 10

    @pytest.mark.spec("runs:G9")
    async def test_pollers_share_out_what_is_started_and_miss_nothing(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = [engine_on(store, clock), engine_on(second_store, clock)]
        found: list[str] = []

        async def keep_polling(engine: Engine, worker: WorkerId) -> None:
            command = poll(worker=worker, limit=3, visibility_for=DAY, wait_for=SECOND)
            while len(found) < 40:
                found.extend(run.run_id for run in await engine.work.claim_runs(command))

        pollers = asyncio.gather(*[keep_polling(engines[side % 2], WorkerId(f"wrk_{side}")) for side in range(6)])
        started = await asyncio.gather(*[engines[side % 2].runs.start_run(start(side)) for side in range(40)])
        await while_time_passes(clock, pollers)

        assert sorted(found) == sorted(item.run_id for item in started)

    async def test_a_start_at_any_moment_of_a_poll_reaches_it_while_the_clock_stands_still(
        self, store: Store, clock: FakeClock
    ) -> None:
        for turns in range(12):
            engine = engine_on(store, clock)
            polling = asyncio.create_task(engine.work.claim_runs(poll(wait_for=MINUTE)))
            for _ in range(turns):
                await asyncio.sleep(0)

            started = await engine.runs.start_run(start(turns))

            (claimed,) = await asyncio.wait_for(polling, timeout=10)
            assert claimed.run_id == started.run_id

    @pytest.mark.spec("runs:G9", "runs:G8")
    async def test_a_start_that_commits_between_the_look_and_the_wait_of_a_poll_is_not_missed(
        self, store: Store, clock: FakeClock
    ) -> None:
        late = LateAnswers(store)
        engine = engine_on(late, clock)
        polling = asyncio.create_task(engine.work.claim_runs(poll(wait_for=MINUTE)))
        await late.has_looked.wait()  # and found nothing

        started = await engine.runs.start_run(start())
        late.may_answer.set()

        (claimed,) = await asyncio.wait_for(polling, timeout=10)  # while the clock stands still
        assert claimed.run_id == started.run_id

    async def test_the_rows_of_a_poll_can_be_read_again(self, store: Store, clock: FakeClock) -> None:
        await create(store, *[new_run(number, start_key=f"k{number}") for number in (1, 2, 3)])
        rows = await claim(store, limit=2, poll=3)
        await claim(store, poll=4)
        await finish(store, finished(rows[0].run))
        known = [(row.run, row.was, row.input) for row in rows]

        async def of_poll(number: int, *, worker: WorkerId = WORKER, namespace: str = NAMESPACE) -> list[str]:
            found = await store.read(
                "poll", lambda tx: tx.runs.claimed_by_poll(namespace=namespace, worker=worker, poll=number)
            )
            # All but when they were due, which nobody asks a second time.
            assert all((row.run, row.was, row.input) in known for row in found if number == 3)
            return [row.run.id for row in found]

        assert await of_poll(3) == [run_id(2)]
        assert await of_poll(4) == [run_id(3)]
        assert await of_poll(5) == await of_poll(3, worker=OTHER_WORKER) == await of_poll(3, namespace="other") == []
        clock.advance(VISIBLE_FOR)
        await claim(store, poll=5, worker=OTHER_WORKER)
        assert await of_poll(3) == []

    @pytest.mark.spec("runs:G3")
    async def test_the_next_due_time_is_the_earliest_of_what_is_served(self, store: Store, clock: FakeClock) -> None:
        now = clock.now()
        assert await next_due(store) is None
        await create(
            store,
            new_run(1, priority=3, at=Instant(now + 30)),
            new_run(2, priority=-3, at=Instant(now + 20)),
            new_run(3, name="refund", at=Instant(now + 10)),
            new_run(4, namespace="other", at=Instant(now + 1)),
        )

        assert await next_due(store) == now + 20
        assert await next_due(store, *SERVED, REFUND) == now + 10
        assert await next_due(store, MAIL) is None
        clock.advance(20)
        (row,) = await claim(store, visibility_for=Duration(5))  # then it is the end of the claim
        assert await next_due(store) == clock.now() + 5
        await finish(store, finished(row.run))
        assert await next_due(store) == now + 30
