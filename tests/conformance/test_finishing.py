"""Does a run end once, with all that belongs to its end, and stay ended?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    OTHER_WORKER,
    VISIBLE_FOR,
    attempts,
    begin,
    begun,
    causes,
    claim,
    complete,
    completed,
    create,
    engine_on,
    finish,
    finished,
    held,
    holding,
    load,
    log,
    new_run,
    outcomes_of,
    run_id,
    running_run,
    running_runs,
    stale,
    view,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from windlass.engine.engine import Engine
from windlass.errors import ClaimLost, NotFound, Unavailable
from windlass.model.commands import Outcome, Suspend
from windlass.model.page import ListRuns
from windlass.model.run import TERMINAL, Run, RunId, RunStatus
from windlass.model.time import MINUTE, SECOND, Duration
from windlass.store.base import Store
from windlass.store.queries.runs import Ending
from windlass.testing.clock import FakeClock


async def everything_about(store: Store) -> list[Any]:
    return [await view(store), await log(store), await attempts(store), (await endings(store, run_id(1)))]


async def endings(store: Store, *ids: RunId) -> dict[RunId, Ending]:
    return await store.read("endings", lambda tx: tx.runs.endings(NAMESPACE, ids))


async def outcomes(store: Store, *runs: Run) -> dict[RunId, Outcome]:
    return await store.read("outcomes", lambda tx: tx.runs.outcomes(NAMESPACE, [run.id for run in runs]))


class TestFinishing:
    async def test_an_ending_stores_the_result_and_frees_the_run(self, store: Store, clock: FakeClock) -> None:
        run = await running_run(store)
        clock.advance(SECOND)

        assert await finish(store, finished(run)) == [0]

        after = await load(store)
        assert (after.status, after.available_at, after.worker) == (RunStatus.COMPLETED, None, None)
        assert (after.finished_at, after.token, after.started_at) == (clock.now(), run.token, run.started_at)
        assert ((await view(store)).output, (await view(store)).input) == (b"42", b"[1]")
        assert (await causes(store))[-1] == ("running", "completed", "finish")
        assert await outcomes(store, run) == {run.id: Outcome(status=RunStatus.COMPLETED, output=b"42")}

    @pytest.mark.parametrize("status", sorted(TERMINAL))
    async def test_every_ending_keeps_its_failure_and_its_status(self, store: Store, status: RunStatus) -> None:
        run = await running_run(store)

        await finish(store, finished(run, status=status, output=None, failure=FAILURE))

        assert await outcomes(store, run) == {run.id: Outcome(status=status, failure=FAILURE)}

    async def test_row_payload_and_log_are_written_together_or_not_at_all(self, store: Store) -> None:
        run = await running_run(store)
        before = await everything_about(store)
        record(store).at["before_commit"] = raising(LookupError("on purpose"), times=1)

        with pytest.raises(LookupError):
            await store.run_tx("finish", lambda tx: tx.runs.finish([finished(run)]))

        assert await everything_about(store) == before
        assert await finish(store, finished(run)) == [0]

    async def test_a_batch_of_endings_is_judged_row_by_row(self, store: Store) -> None:
        one, two, three = await running_runs(store, 3)
        failed = finished(three, status=RunStatus.FAILED, output=None, failure=FAILURE)

        done = await finish(
            store, failed, finished(stale(two)), finished(two), finished(two), finished(one), finished(one, run_id="x")
        )

        assert done == [0, 2, 4]
        found = await endings(store, two.id, three.id, run_id(9))
        assert (found[two.id].status, found[two.id].token) == (RunStatus.COMPLETED, two.token)
        assert (found[three.id].status, found[three.id].result_hash) == (RunStatus.FAILED, b"hash")
        assert run_id(9) not in found
        assert (await outcomes(store, three))[three.id].failure == FAILURE

    @pytest.mark.spec("invariants:I-18", "invariants:I-57")
    async def test_a_repeat_is_known_by_its_token_status_and_hash(self, store: Store, clock: FakeClock) -> None:
        engine, (one, two) = engine_on(store, clock), await running_runs(store, 2)
        await engine.work.finish_run(finished(one))
        before = await everything_about(store)

        found = await outcomes_of(
            [
                engine.work.finish_run(command)
                for command in (
                    finished(one, result_hash=b"other", output=b"43"),
                    finished(one),
                    finished(two),
                    finished(stale(one)),
                    finished(one, status=RunStatus.FAILED),
                    finished(two),
                )
            ]
        )

        assert found == [ClaimLost, clock.now(), clock.now(), ClaimLost, ClaimLost, clock.now()]
        assert await everything_about(store) == before

    @pytest.mark.spec("invariants:I-18")
    async def test_a_holder_that_lost_its_claim_ends_nothing(self, store: Store, clock: FakeClock) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        clock.advance(VISIBLE_FOR)
        (row,) = await claim(store, poll=2, worker=OTHER_WORKER)

        with pytest.raises(ClaimLost):
            await engine.work.finish_run(finished(run))

        assert await load(store) == row.run
        assert await engine.work.finish_run(finished(row.run, output=b"second")) == clock.now()
        with pytest.raises(ClaimLost):
            await engine.work.finish_run(finished(run))
        assert (await view(store)).output == b"second"

    @pytest.mark.spec("invariants:I-09")
    @pytest.mark.parametrize("status", sorted(TERMINAL))
    async def test_an_ended_run_never_changes_again(self, store: Store, clock: FakeClock, status: RunStatus) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        await complete(store, completed(run))
        await begin(store, begun(run, key="open"))
        await finish(store, finished(run, status=status))
        before = await everything_about(store)
        clock.advance(MINUTE)

        refused = await outcomes_of(every_write(engine, run))
        clock.advance(10 * VISIBLE_FOR)

        assert refused == [ClaimLost] * len(refused)
        assert await claim(store, poll=2) == []
        assert await create(store, new_run(input=b"other")) == []
        assert await everything_about(store) == before

    async def test_outcomes_say_where_each_run_stands_and_know_no_others(self, store: Store) -> None:
        one, two = await running_runs(store, 2)
        await finish(store, finished(two))

        found = await outcomes(store, one, two, two, replace(one, id=run_id(9)))

        ended = Outcome(status=RunStatus.COMPLETED, output=b"42")
        assert found == {one.id: Outcome(status=RunStatus.RUNNING), two.id: ended}
        assert await store.read("outcomes", lambda tx: tx.runs.outcomes("other", [two.id])) == {}

    async def test_whoever_waits_for_a_result_gets_it_when_the_run_ends(self, store: Store, clock: FakeClock) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        waiting = [asyncio.create_task(engine.runs.wait_for_result(NAMESPACE, run.id, None)) for _ in range(3)]
        still = await engine.runs.wait_for_result(NAMESPACE, run.id, Duration(0))

        await engine.work.finish_run(finished(run))

        assert still.status is RunStatus.RUNNING
        expected = Outcome(status=RunStatus.COMPLETED, output=b"42")
        assert await asyncio.wait_for(asyncio.gather(*waiting), timeout=10) == [expected] * 3
        with pytest.raises(NotFound):
            await engine.runs.wait_for_result(NAMESPACE, run_id(9), Duration(0))

    async def test_a_result_is_found_by_polling_when_another_store_ended_the_run(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        waiting = asyncio.create_task(engine.runs.wait_for_result(NAMESPACE, run.id, None))
        await asyncio.sleep(0)

        await finish(second_store, finished(run))

        assert (await while_time_passes(clock, waiting)).output == b"42"

    @pytest.mark.spec("invariants:I-57")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_an_ending_whose_answer_was_lost_happens_once(
        self, store: Store, clock: FakeClock, point: str
    ) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        await while_time_passes(clock, engine.work.finish_run(finished(run)))

        assert [cause for _, _, cause in await causes(store)] == ["start", "claim", "finish"]
        assert (await view(store)).output == b"42"

    async def test_lists_are_newest_first_and_walk_every_run_once(self, store: Store) -> None:
        await create(store, *[new_run(number, queue="mail" if number % 3 == 0 else "billing") for number in range(10)])
        await create(store, new_run(10, namespace="other"), new_run(11, name="refund"))
        (row, *_) = await claim(store, limit=2)
        await finish(store, finished(row.run))

        async def numbers(**fields: Any) -> list[int]:
            query = ListRuns(namespace=NAMESPACE, **fields)
            return [int(run.id[4:]) for run in await store.read("list", lambda tx: tx.runs.list(query))]

        assert await numbers() == [11, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
        walked: list[int] = []
        for _ in range(3):
            walked += await numbers(limit=4, before=run_id(walked[-1]) if walked else None)
        assert walked == await numbers()
        assert await numbers(before=run_id(0)) == []
        assert await numbers(queue="mail") == [9, 6, 3, 0]
        assert (await numbers(status=RunStatus.RUNNING), await numbers(status=RunStatus.COMPLETED)) == ([2], [1])
        assert (await numbers(name="refund"), await numbers(name="refund", queue="mail")) == ([11], [])


def every_write(engine: Engine, run: Run) -> list[Any]:
    """All that a holder may do with its run, except ending it the same way again."""
    return [
        engine.work.complete_step(completed(run, key="new", renew_for=VISIBLE_FOR)),
        engine.work.complete_step(completed(run, key="open")),
        engine.work.begin_step(begun(run, key="newer")),
        engine.work.finish_run(finished(run, result_hash=b"other")),
        engine.work.suspend_run(Suspend(namespace=NAMESPACE, run_id=run.id, token=run.token, park=True)),
        engine.work.release_run(held(run)),
        engine.work.hold_run(holding(run)),
        engine.work.renew_claim(held(run, visibility_for=VISIBLE_FOR)),
    ]
