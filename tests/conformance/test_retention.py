"""Is a run removed once it is over and old enough, with all its rows, and never one that somebody may ask for?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conformance.given import (
    NAMESPACE,
    SERVED,
    VISIBLE_FOR,
    WORKER,
    claim,
    claim_one,
    completed,
    create,
    engine_on,
    finish,
    finished,
    new_run,
    resuming,
    run_id,
    start,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import (
    cancelling,
    found,
    run_in,
    sending,
)
from tests.conformance.test_families import claim_child, end, parent_of
from tests.conformance.test_retries import fail, retrying
from windlass.engine.coordinator.prune import Prune
from windlass.engine.coordinator.walk import AGAIN_AFTER
from windlass.engine.engine import Engine
from windlass.errors import NotFound, Unavailable
from windlass.model.commands import Decide
from windlass.model.run import TERMINAL, Run, RunId, RunStatus
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration
from windlass.model.worker import Served
from windlass.store.base import Store, Tx
from windlass.store.queries.runs import ClaimedRow
from windlass.testing.clock import FakeClock

OPEN = sorted({*RunStatus} - TERMINAL)
OVER = sorted(TERMINAL - {RunStatus.SKIPPED})
KEPT = Duration(30 * DAY)

Ask = Callable[[Engine, RunId], Awaitable[Any]]
ASKS: dict[str, Ask] = {
    "retry": lambda engine, id: engine.control.retry_run(retrying(id)),
    "send": lambda engine, id: engine.control.send_event(sending(id)),
    "approve": lambda engine, id: engine.control.decide(Decide(namespace=NAMESPACE, run_id=id, is_approved=True)),
    "resume": lambda engine, id: engine.control.resume_run(resuming(id)),
}


async def prune(engine: Engine, *, keep_for: int | None = KEPT, batch: int = 100) -> int:
    """What a coordinator that has just started does, until there is nothing more to do at once. How many runs went."""
    return await go_on(Prune(engine.parts, keep_for=None if keep_for is None else Duration(keep_for), batch=batch))


async def go_on(work: Prune) -> int:
    before = work.removed
    while await work.tick():
        continue
    return work.removed - before


async def are_there(engine: Engine, *ids: RunId) -> list[bool]:
    """Which of the runs are there. Of one that is not, nothing is."""
    return [await _is_there(engine, id) for id in ids]


async def _is_there(engine: Engine, id: RunId) -> bool:
    try:
        await engine.runs.get_run(NAMESPACE, id)
    except NotFound:
        rest = [
            await engine.runs.list_steps(NAMESPACE, id),
            await engine.runs.list_messages(NAMESPACE, id),
            await engine.runs.read_log(NAMESPACE, id),
        ]
        assert rest == [(), (), ()]
        return False
    return True


async def declare(store: Store, kept: dict[str, int | None], *, namespace: str = NAMESPACE) -> None:
    limits = {name: None if limit is None else Duration(limit) for name, limit in kept.items()}
    await store.run_tx("declare", lambda tx: tx.workflows.declare(namespace, limits))


async def ended(engine: Engine, number: int = 1, **fields: Any) -> Run:
    """A run that has done something, was sent something, and is over."""
    command = start(number, **fields)
    await engine.runs.start_run(command)
    served = (Served(command.queue, command.name),)
    run = await claim_one(engine, number, served=served, namespace=command.namespace)
    await engine.control.send_event(sending(run.id))
    await engine.work.complete_step(completed(run))
    await engine.work.finish_run(finished(run))
    return await found(engine, run.id)


def removing(id: RunId) -> Callable[[Tx], Awaitable[None]]:
    async def remove(tx: Tx) -> None:
        await tx.prune.remove(await tx.prune.lock_ended(NAMESPACE, ids=[id]))

    return remove


class TestRetention(EngineConformance):
    # When

    @pytest.mark.spec("invariants:I-64")
    async def test_a_run_goes_with_all_its_rows_once_it_has_been_over_for_long_enough(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        first = await ended(engine)
        clock.advance(HOUR)
        second = await ended(engine, 2)

        clock.advance(KEPT - HOUR - 1)
        assert await prune(engine) == 0
        clock.advance(1)

        assert await prune(engine) == 1
        assert await are_there(engine, first.id, second.id) == [False, True]
        clock.advance(HOUR)
        assert await prune(engine) == 1

    @pytest.mark.spec("invariants:I-64")
    @pytest.mark.parametrize("status", OVER)
    async def test_it_does_not_matter_how_a_run_has_ended(
        self, engine: Engine, clock: FakeClock, status: RunStatus
    ) -> None:
        run = await run_in(engine, status)
        clock.advance(KEPT)

        assert await prune(engine) == 1
        assert await are_there(engine, run.id) == [False]

    @pytest.mark.spec("invariants:I-64")
    @pytest.mark.parametrize("status", OPEN)
    async def test_a_run_that_is_not_over_stays_however_old_it_is(
        self, engine: Engine, clock: FakeClock, status: RunStatus
    ) -> None:
        run = await run_in(engine, status)
        clock.advance(100 * KEPT)

        assert await prune(engine, keep_for=SECOND) == 0
        assert await found(engine, run.id) == run

    @pytest.mark.spec("invariants:I-64")
    async def test_a_limit_counts_from_the_end_of_a_run(self, engine: Engine, clock: FakeClock) -> None:
        run = await run_in(engine, RunStatus.SLEEPING)
        clock.advance(KEPT)
        await engine.control.cancel_run(cancelling(run.id))

        clock.advance(KEPT - 1)
        assert await prune(engine) == 0
        clock.advance(1)
        assert await prune(engine) == 1

    @pytest.mark.spec("invariants:I-64")
    async def test_without_a_limit_everything_is_kept_for_ever(self, engine: Engine, clock: FakeClock) -> None:
        run = await ended(engine)
        clock.advance(1000 * DAY)

        assert await prune(engine, keep_for=None) == 0
        assert await are_there(engine, run.id) == [True]

    @pytest.mark.spec("invariants:I-64")
    async def test_what_the_code_of_a_workflow_says_counts_for_its_runs(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        short = await ended(engine, 1, name="short")
        common = await ended(engine, 2)
        long = await ended(engine, 3, name="long")
        await declare(store, {"short": DAY, "long": 2 * KEPT, "invoice": None})

        work = Prune(engine.parts, keep_for=KEPT, batch=100)
        left = []
        for limit in (DAY, KEPT, 2 * KEPT):
            clock.advance((long.finished_at or 0) + limit - 1 - clock.now())
            assert await go_on(work) == 0
            clock.advance(1)
            left.append((await go_on(work), await are_there(engine, short.id, common.id, long.id)))

        assert left == [(1, [False, True, True]), (1, [False, False, True]), (1, [False, False, False])]

    @pytest.mark.spec("invariants:I-64")
    async def test_a_limit_that_was_taken_back_or_made_shorter_counts_from_then_on(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        run = await ended(engine)
        await declare(store, {"invoice": DAY})
        await declare(store, {"invoice": None})
        clock.advance(2 * DAY)
        work = Prune(engine.parts, keep_for=None, batch=100)
        assert await go_on(work) == 0

        await declare(store, {"invoice": DAY})

        assert await go_on(work) == 1
        assert await are_there(engine, run.id) == [False]

    @pytest.mark.spec("invariants:I-64", "invariants:I-57")
    async def test_whoever_got_no_answer_finds_what_was_made_however_short_the_limit(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        await ended(engine)
        clock.advance(MINUTE - 1)

        assert await prune(engine, keep_for=SECOND) == 0
        clock.advance(1)
        assert await prune(engine, keep_for=SECOND) == 1

    @pytest.mark.spec("invariants:I-64")
    async def test_each_namespace_has_its_own_limits(self, store: Store, engine: Engine, clock: FakeClock) -> None:
        mine = await ended(engine)
        await create(store, new_run(7, namespace="other"), new_run(8, namespace="other"))
        await declare(store, {"invoice": DAY}, namespace="other")
        for row in await store.run_tx("claim", _claim_other):
            await finish(store, finished(row.run, namespace="other"))
        clock.advance(DAY)

        assert await prune(engine) == 2
        assert await are_there(engine, mine.id) == [True]

    # At the same time

    @pytest.mark.spec("invariants:I-64")
    @pytest.mark.parametrize("ask", ASKS)
    async def test_whoever_asks_while_a_run_is_removed_finds_all_of_it_or_nothing(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked, ask: str
    ) -> None:
        engine = engine_on(store, clock)
        run = await run_in(engine, RunStatus.FAILED)

        outcome = await meanwhile(second_store, removing(run.id), lambda: ASKS[ask](engine, run.id), until_blocked)

        assert isinstance(outcome, NotFound)
        assert "removed" in str(outcome)
        assert await are_there(engine, run.id) == [False]

    @pytest.mark.spec("invariants:I-64")
    async def test_what_somebody_is_at_is_left_for_another_time(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engine = engine_on(store, clock)
        run = await run_in(engine, RunStatus.FAILED)
        clock.advance(KEPT)
        work = Prune(engine.parts, keep_for=KEPT, batch=100)

        await meanwhile(second_store, lambda tx: tx.runs.lock(NAMESPACE, run.id), lambda: go_on(work), None)
        clock.advance(AGAIN_AFTER)
        await go_on(work)  # the walk has come to its end, and begins anew
        await go_on(work)

        assert await are_there(engine, run.id) == [False]

    @pytest.mark.spec("invariants:I-64")
    async def test_any_number_of_coordinators_remove_each_run_once(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        await create(store, *[new_run(number) for number in range(1, 91)])
        await finish(store, *(finished(row.run) for row in await claim(store)))
        clock.advance(KEPT)
        engines = [engine_on(store, clock), engine_on(second_store, clock), engine_on(store, clock)]

        removed = await asyncio.gather(*(prune(engine, batch=10) for engine in engines))

        assert sum(removed) == 90
        assert await are_there(engines[0], *map(run_id, range(1, 91))) == [False] * 90

    @pytest.mark.spec("invariants:I-64", "invariants:I-57")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_removal_whose_answer_was_lost_is_followed_up(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        run, children = await parent_of(engine, store, "letter")
        await end(engine, await claim_child(engine, children["letter"]))
        await fail(engine, await claim_one(engine, 2))
        clock.advance(KEPT)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        assert await while_time_passes(clock, prune(engine)) == 2
        assert await are_there(engine, run.id, *children.values()) == [False, False]

    async def test_no_transaction_removes_more_than_it_may(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        await create(store, *[new_run(number) for number in range(1, 26)])
        await finish(store, *(finished(row.run) for row in await claim(store)))
        clock.advance(KEPT)
        seen = record(store)

        assert await prune(engine, batch=10) == 25
        assert [name for point, name in seen.seen if point == "after_commit"] == ["prune_runs"] * 3


async def _claim_other(tx: Tx) -> list[ClaimedRow]:
    return await tx.runs.claim(
        namespace="other", served=SERVED, limit=10, worker=WORKER, poll=1, claim_for=lambda name: VISIBLE_FOR
    )
