"""Does the engine's batcher, over a real store, give every caller its own answer, and commit seldom?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.given import (
    NAMESPACE,
    attempts,
    begin,
    begun,
    causes,
    complete,
    completed,
    engine_on,
    finish,
    finished,
    load,
    outcomes_of,
    running_runs,
    stale,
    start,
    view,
    while_time_passes,
)
from tests.conformance.hooks import Recorder, raising, record
from windlass.engine.again import TRIES
from windlass.engine.engine import Engine
from windlass.errors import ClaimLost, InvalidInput, Unavailable
from windlass.model.commands import Started
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunStatus
from windlass.model.step import StepStatus
from windlass.model.time import SECOND
from windlass.store.base import Lane, Store
from windlass.testing.clock import FakeClock

Submit = Callable[[Engine, Run], Any]

# How each kind is submitted for a run that is held.
SUBMITS: dict[str, Submit] = {
    "start": lambda engine, run: engine.runs.start_run(start(int(run.id[4:]), key=run.id)),
    "begin": lambda engine, run: engine.work.begin_step(begun(run)),
    "complete": lambda engine, run: engine.work.complete_step(completed(run)),
    "finish": lambda engine, run: engine.work.finish_run(finished(run)),
}
# The same with a value that the store refuses.
REFUSED: dict[str, Submit] = {
    "start": lambda engine, run: engine.runs.start_run(start(key=run.id, name=None)),
    "begin": lambda engine, run: engine.work.begin_step(begun(run, input_hash=None)),
    "complete": lambda engine, run: engine.work.complete_step(completed(run, input_hash=None)),
    "finish": lambda engine, run: engine.work.finish_run(finished(run, status=RunStatus.PENDING)),
}


async def recorded(store: Store, count: int) -> tuple[list[Run], Recorder]:
    """Runs that are held, and a recorder that has seen nothing yet."""
    runs = await running_runs(store, count)
    return runs, record(store)


class TestBatches:
    @pytest.mark.parametrize("kind", SUBMITS)
    async def test_callers_of_one_moment_share_one_commit(self, store: Store, clock: FakeClock, kind: str) -> None:
        engine = engine_on(store, clock)
        runs, hooks = await recorded(store, 50)

        found = await outcomes_of([SUBMITS[kind](engine, run) for run in runs])

        assert hooks.commits == 1
        assert not [item for item in found if isinstance(item, type)]

    async def test_what_gathers_while_a_batch_is_on_its_way_goes_out_in_the_next(
        self, store: Store, clock: FakeClock
    ) -> None:
        engine, hooks = engine_on(store, clock), record(store)

        first = engine.runs.start_run(start(0))
        await asyncio.sleep(0)  # its batch is on its way
        rest = []
        for number in range(1, 31):
            rest.append(engine.runs.start_run(start(number)))
            if number % 10 == 0:
                await asyncio.sleep(0)
        await asyncio.gather(first, *rest)

        assert 2 <= hooks.commits <= 4

    async def test_a_batch_is_no_larger_than_its_lane_allows(self, store: Store, clock: FakeClock) -> None:
        kinds = frozenset(kind for lane in store.lanes for kind in lane.kinds)
        store.lanes = (Lane(kinds=kinds, senders=1, cap=10),)
        engine = engine_on(store, clock)
        runs, hooks = await recorded(store, 35)

        await asyncio.gather(*[engine.work.complete_step(completed(run)) for run in runs])

        assert hooks.commits == 4

    async def test_kinds_that_share_a_lane_share_a_commit(self, store: Store, clock: FakeClock) -> None:
        kinds = frozenset(kind for lane in store.lanes for kind in lane.kinds)
        store.lanes = (Lane(kinds=kinds, senders=1, cap=1_000),)
        engine = engine_on(store, clock)
        runs, hooks = await recorded(store, 4)

        found = await outcomes_of([submit(engine, run) for submit, run in zip(SUBMITS.values(), runs, strict=True)])

        assert hooks.commits == 1
        assert isinstance(found[0], Started)
        assert found[1:] == [clock.now()] * 3
        assert (await load(store, 4)).status is RunStatus.COMPLETED

    async def test_every_caller_gets_the_answer_to_its_own_row(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        runs, _ = await recorded(store, 12)
        written_at = clock.now()
        await complete(store, *[completed(run) for run in runs if int(run.id[4:]) % 3 == 0])
        clock.advance(SECOND)
        order = [7, 2, 11, 0, 5, 9, 1, 10, 3, 8, 6, 4]  # the batch is sorted; the answers must find their way back

        found = await outcomes_of(
            [
                engine.work.complete_step(completed(stale(runs[index]) if index % 4 == 0 else runs[index]))
                for index in order
            ]
        )

        for index, outcome in zip(order, found, strict=True):
            is_repeat = (index + 1) % 3 == 0
            expected = ClaimLost if index % 4 == 0 else written_at if is_repeat else clock.now()
            assert outcome == expected, index

    async def test_every_start_gets_its_own_run(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)

        found = await asyncio.gather(
            *[engine.runs.start_run(start(number, key=f"{number * 7 % 20:02}")) for number in range(20)]
        )

        views = [await engine.runs.get_run(NAMESPACE, started.run_id) for started in found]
        assert [item.input for item in views] == [b"[%d]" % number for number in range(20)]
        assert [item.key for item in views] == [f"{number * 7 % 20:02}" for number in range(20)]

    @pytest.mark.parametrize("kind", SUBMITS)
    @pytest.mark.parametrize("place", [0, 5, 7])
    async def test_one_row_that_is_refused_does_not_fail_its_neighbours(
        self, store: Store, clock: FakeClock, kind: str, place: int
    ) -> None:
        engine = engine_on(store, clock)
        runs, hooks = await recorded(store, 8)

        found = await outcomes_of(
            [(REFUSED if index == place else SUBMITS)[kind](engine, run) for index, run in enumerate(runs)]
        )

        assert [index for index, item in enumerate(found) if isinstance(item, type)] == [place]
        assert found[place] is InvalidInput
        # Halved three times: each time one half goes through and the other is halved again.
        assert (hooks.count("before_begin"), hooks.commits) == (7, 3)
        assert await is_untouched(store, place + 1)

    async def test_two_rows_that_are_refused_fail_alone(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        runs, _ = await recorded(store, 9)

        found = await outcomes_of(
            [(REFUSED if index in (2, 6) else SUBMITS)["finish"](engine, run) for index, run in enumerate(runs)]
        )

        assert [index for index, item in enumerate(found) if item is InvalidInput] == [2, 6]
        statuses = [(await load(store, number)).status for number in range(1, 10)]
        assert [index for index, status in enumerate(statuses) if status is RunStatus.RUNNING] == [2, 6]

    @pytest.mark.spec("invariants:I-57")
    @pytest.mark.parametrize("kind", SUBMITS)
    @pytest.mark.parametrize("point", ["before_begin", "before_commit", "after_commit"])
    async def test_a_batch_whose_outcome_is_unknown_is_repeated_whole(
        self, store: Store, clock: FakeClock, kind: str, point: str
    ) -> None:
        engine = engine_on(store, clock)
        runs, hooks = await recorded(store, 6)
        hooks.at[point] = raising(Unavailable("cut"), times=2)

        found = await while_time_passes(clock, outcomes_of([SUBMITS[kind](engine, run) for run in runs]))

        assert not [item for item in found if isinstance(item, type)]
        assert hooks.count("before_begin") == 3  # never halved
        await assert_written_once(store, kind, runs)

    @pytest.mark.parametrize("kind", SUBMITS)
    async def test_a_store_that_stays_away_fails_every_row_and_halves_nothing(
        self, store: Store, clock: FakeClock, kind: str
    ) -> None:
        engine = engine_on(store, clock)
        runs, hooks = await recorded(store, 6)
        hooks.at["before_begin"] = raising(Unavailable("gone"), times=TRIES)

        found = await while_time_passes(clock, outcomes_of([SUBMITS[kind](engine, run) for run in runs]))
        again = await outcomes_of([SUBMITS[kind](engine, run) for run in runs])

        assert found == [Unavailable] * 6
        assert hooks.count("before_begin") == TRIES + 1
        assert not [item for item in again if isinstance(item, type)]

    @pytest.mark.parametrize("write", [complete, begin], ids=["complete", "begin"])
    async def test_batches_that_meet_lock_their_rows_in_one_order(
        self, store: Store, second_store: Store, clock: FakeClock, write: Any
    ) -> None:
        runs = await running_runs(store, 200)
        hooks = {id(item): record(item) for item in (store, second_store)}
        command = completed if write is complete else begun

        for turn in range(10):
            there = [command(run, key=f"{turn}") for run in runs]
            back = [command(run, key=f"{turn} back") for run in reversed(runs)]
            for done in await asyncio.gather(write(store, *there), write(second_store, *back)):
                assert done == [*range(200)]

        # A deadlock would have been broken, and its loser run again.
        assert sum(item.count("before_begin") for item in hooks.values()) == 20

    async def test_a_caller_that_is_gone_does_not_hold_up_the_others(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        runs, _ = await recorded(store, 3)
        calls = [asyncio.ensure_future(engine.work.complete_step(completed(run))) for run in runs]
        calls[1].cancel()

        found = await outcomes_of(calls)

        assert found == [clock.now(), asyncio.CancelledError, clock.now()]
        assert [step.status for step in await attempts(store, 2)] == [StepStatus.COMPLETED]  # it was accepted

    async def test_a_batch_over_rows_in_every_state_answers_for_each(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        runs, _ = await recorded(store, 5)
        await finish(store, finished(runs[0]))
        await begin(store, begun(runs[1]))
        await complete(store, completed(runs[2]))

        found = await outcomes_of(
            [*[SUBMITS["complete"](engine, run) for run in runs], SUBMITS["complete"](engine, stale(runs[4]))]
        )

        assert found == [ClaimLost, clock.now(), clock.now(), clock.now(), clock.now(), ClaimLost]


async def is_untouched(store: Store, number: int) -> bool:
    run, steps = await load(store, number), await attempts(store, number)
    return run.status is RunStatus.RUNNING and steps == [] and (await view(store, number)).output is None


async def assert_written_once(store: Store, kind: str, runs: list[Run]) -> None:
    if kind == "start":
        found = await store.read("list", lambda tx: tx.runs.list(ListRuns(namespace=NAMESPACE, limit=100)))
        assert len(found) == 2 * len(runs)
        return
    for number in range(1, len(runs) + 1):
        if kind == "finish":
            assert [cause for _, _, cause in await causes(store, number)] == ["start", "claim", "finish"]
        else:
            assert [step.attempt for step in await attempts(store, number)] == [1]
