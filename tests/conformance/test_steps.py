"""Are the attempts of steps recorded once, under the right token, and for ever?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    OTHER_WORKER,
    VISIBLE_FOR,
    attempts,
    begin,
    begun,
    claim,
    complete,
    completed,
    engine_on,
    finish,
    finished,
    history,
    load,
    outcomes_of,
    renew,
    run_id,
    running_run,
    running_runs,
    settle,
    settled,
    stale,
    waiting,
)
from windlass.errors import ClaimLost
from windlass.model.run import Run
from windlass.model.step import StepKind, StepStatus
from windlass.model.time import MINUTE, SECOND, Instant
from windlass.store.base import Store
from windlass.testing.clock import FakeClock


async def taken_over(store: Store, clock: FakeClock) -> tuple[Run, Run]:
    """A run as its first and as its second holder know it."""
    first = await running_run(store)
    clock.advance(VISIBLE_FOR)
    (row,) = await claim(store, poll=2, worker=OTHER_WORKER)
    return first, row.run


class TestSteps:
    @pytest.mark.spec("invariants:I-01", "invariants:I-02")
    async def test_a_completion_is_recorded_for_ever(self, store: Store, clock: FakeClock) -> None:
        run = await running_run(store)
        assert await complete(store, completed(run, failures=2, output=b"\x00\xff")) == [0]
        (recorded,) = await attempts(store)
        clock.advance(SECOND)

        assert await complete(store, completed(run, output=b"other", order=9)) == []
        assert await begin(store, begun(run)) == []
        await settle(store, settled(run))

        assert await attempts(store) == await history(store) == [recorded]
        assert (recorded.status, recorded.output, recorded.order) == (StepStatus.COMPLETED, b"\x00\xff", 1)
        assert (recorded.token, recorded.failures, recorded.input_hash) == (run.token, 2, b"in")
        assert (recorded.finished_at, recorded.started_at) == (clock.now() - SECOND, clock.now() - SECOND - 7)
        assert await load(store) == run  # a completion leaves the run row alone

    async def test_an_empty_output_is_an_output(self, store: Store) -> None:
        run = await running_run(store)

        await complete(store, completed(run, output=b""))

        assert [step.output for step in await history(store)] == [b""]

    async def test_a_begun_step_is_completed_in_place(self, store: Store, clock: FakeClock) -> None:
        run = await running_run(store)
        assert await begin(store, begun(run)) == [0]
        (seen,) = await attempts(store)
        assert (seen.status, seen.started_at, seen.order) == (StepStatus.RUNNING, clock.now(), None)
        clock.advance(SECOND)

        assert await complete(store, completed(run, ran_for=SECOND + 20)) == [0]

        (step,) = await attempts(store)
        assert (step.status, step.finished_at) == (StepStatus.COMPLETED, clock.now())
        assert step.started_at == clock.now() - SECOND - 20  # when the body began, not when that was seen

    async def test_a_wait_that_is_over_is_completed_in_place(self, store: Store) -> None:
        run = await running_run(store)
        await settle(store, waiting(run, 20))
        assert await begin(store, begun(run, key="sleep", kind=StepKind.SLEEP)) == []  # a wait has no body

        assert await complete(store, completed(run, key="sleep", kind=StepKind.SLEEP)) == [0]

        (step,) = await attempts(store)
        assert (step.status, step.kind, step.output) == (StepStatus.COMPLETED, StepKind.SLEEP, b"out")
        assert step.started_at == 5  # it has waited since then

    async def test_an_attempt_that_failed_is_over_and_the_next_is_another_row(self, store: Store) -> None:
        run = await running_run(store)
        await settle(store, settled(run))

        assert await complete(store, completed(run)) == []
        assert await begin(store, begun(run)) == []
        assert await complete(store, completed(run, attempt=2, failures=1)) == [0]

        assert [(step.attempt, step.status) for step in await attempts(store)] == [
            (1, StepStatus.FAILED),
            (2, StepStatus.COMPLETED),
        ]
        assert (await attempts(store))[0].failure == FAILURE

    @pytest.mark.spec("invariants:I-18")
    @pytest.mark.parametrize("holder", ["former", "future", "of a run that is over", "of no run"])
    async def test_only_the_holder_of_a_running_run_records_anything(
        self, store: Store, clock: FakeClock, holder: str
    ) -> None:
        first, second = await taken_over(store, clock)
        before = await load(store)
        writer = {"former": first, "future": stale(stale(second))}.get(holder, second)
        fields: dict[str, Any] = {"run_id": run_id(9)} if holder == "of no run" else {}
        if holder == "future":
            fields["token"] = second.token + 1
        if holder == "of a run that is over":
            await finish(store, finished(second))
            before = await load(store)

        assert await complete(store, completed(writer, renew_for=10 * VISIBLE_FOR, **fields)) == []
        assert await begin(store, begun(writer, **fields)) == []

        assert await attempts(store) == []
        assert await load(store) == before

    @pytest.mark.spec("invariants:I-18")
    async def test_a_mixed_batch_is_judged_row_by_row(self, store: Store, clock: FakeClock) -> None:
        one, two, three = await running_runs(store, 3)
        await complete(store, completed(three, key="done"))

        done = await complete(
            store,
            completed(two),
            completed(stale(one)),  # before the valid one: it must not stand in its way
            completed(one),
            completed(one),
            completed(three, key="done"),
            completed(one, key="fetch#2", order=2),
            completed(one, token=9, key="fetch#3"),
            completed(three, key="done", output=b"other"),
            completed(three, order=2),
        )

        assert done == [0, 2, 5, 8]
        assert [step.key for step in await history(store, 1)] == ["fetch", "fetch#2"]
        assert [step.key for step in await history(store, 3)] == ["done", "fetch"]

    @pytest.mark.spec("invariants:I-18", "invariants:I-57")
    async def test_the_engine_tells_repeats_from_lost_claims_row_by_row(self, store: Store, clock: FakeClock) -> None:
        engine, (one, two) = engine_on(store, clock), await running_runs(store, 2)
        recorded_at = clock.now()
        await complete(store, completed(one, key="done"))
        clock.advance(SECOND)

        found = await outcomes_of(
            [
                engine.work.complete_step(command)
                for command in (
                    completed(one, key="done"),
                    completed(one, key="done", output=b"other"),
                    completed(one, order=2),
                    completed(stale(two)),
                    completed(one, order=2),
                    completed(two),
                )
            ]
        )

        assert found == [recorded_at, ClaimLost, clock.now(), ClaimLost, clock.now(), clock.now()]
        assert [step.output for step in await history(store, 1)] == [b"out", b"out"]

    @pytest.mark.spec("invariants:I-18")
    async def test_a_repeat_is_known_by_token_and_output_also_when_the_run_has_gone_on(
        self, store: Store, clock: FakeClock
    ) -> None:
        engine, run = engine_on(store, clock), await running_run(store)
        recorded_at = await engine.work.complete_step(completed(run))
        await begin(store, begun(run, key="begun"))
        clock.advance(VISIBLE_FOR)
        (row,) = await claim(store, poll=2, worker=OTHER_WORKER)

        found = await outcomes_of(
            [
                engine.work.complete_step(completed(run)),  # an answer that was lost, asked for again very late
                engine.work.complete_step(completed(row.run)),
                engine.work.complete_step(completed(run, attempt=2)),
                engine.work.complete_step(completed(run, key="begun")),
            ]
        )

        assert found == [recorded_at, ClaimLost, ClaimLost, ClaimLost]

    async def test_a_start_that_comes_behind_its_completion_is_no_lost_claim(
        self, store: Store, clock: FakeClock
    ) -> None:
        engine, (one, two) = engine_on(store, clock), await running_runs(store, 2)
        await complete(store, completed(one))

        found = await outcomes_of(
            [engine.work.begin_step(command) for command in (begun(one), begun(stale(two)), begun(two))]
        )

        assert found == [clock.now(), ClaimLost, clock.now()]
        assert [step.status for step in await history(store, 1)] == [StepStatus.COMPLETED]

    @pytest.mark.spec("invariants:I-20")
    async def test_a_renewal_is_absolute_and_never_moves_back(self, store: Store, clock: FakeClock) -> None:
        run = await running_run(store)

        assert await renew(store, run, MINUTE)
        assert (await load(store)).available_at == run.available_at
        assert await renew(store, run, 2 * VISIBLE_FOR)
        assert (await load(store)).available_at == clock.now() + 2 * VISIBLE_FOR
        assert await renew(store, run, 2 * VISIBLE_FOR)  # from now, not from where it stands
        assert (await load(store)).available_at == clock.now() + 2 * VISIBLE_FOR
        assert not await renew(store, stale(run), 9 * VISIBLE_FOR)
        clock.jump(-MINUTE)
        assert await renew(store, run)
        assert (await load(store)).available_at == clock.now() + MINUTE + 2 * VISIBLE_FOR

    @pytest.mark.spec("invariants:I-20")
    async def test_a_completion_renews_a_claim_and_the_longest_of_a_batch_counts(
        self, store: Store, clock: FakeClock
    ) -> None:
        one, two = await running_runs(store, 2)
        clock.advance(MINUTE)

        await complete(
            store,
            completed(one, key="a", renew_for=SECOND),
            completed(one, key="b", order=2, renew_for=VISIBLE_FOR),
            completed(one, key="c", order=3),
            completed(stale(two), renew_for=VISIBLE_FOR),
            completed(two),
        )
        assert (await load(store, 1)).available_at == clock.now() + VISIBLE_FOR
        assert (await load(store, 2)).available_at == two.available_at

        await complete(store, completed(one, key="d", order=4, renew_for=SECOND))
        assert (await load(store, 1)).available_at == clock.now() + VISIBLE_FOR

    async def test_a_history_holds_the_latest_attempts_in_the_order_results_were_seen(self, store: Store) -> None:
        one, two, three = await running_runs(store, 3)
        await settle(store, settled(one, key="a", attempt=1))
        await complete(store, completed(one, key="a", attempt=2, order=2), completed(one, key="z", order=1))
        await begin(store, begun(one, key="c"), begun(one, key="b"))
        await complete(store, completed(two))

        histories = await store.read(
            "histories", lambda tx: tx.steps.histories(NAMESPACE, [one.id, two.id, three.id, one.id])
        )

        assert [(step.key, step.attempt) for step in histories[one.id]] == [("z", 1), ("a", 2), ("b", 1), ("c", 1)]
        assert [step.key for step in histories[two.id]] == ["fetch"]
        assert three.id not in histories
        assert await store.read("histories", lambda tx: tx.steps.histories("other", [one.id])) == {}

    async def test_attempts_come_in_the_order_they_began(self, store: Store) -> None:
        run = await running_run(store)
        await settle(
            store,
            settled(run, key="b", attempt=2, started_at=Instant(30)),
            settled(run, key="b", attempt=1, started_at=Instant(10)),
            settled(run, key="a", attempt=1, started_at=Instant(20)),
        )

        assert [(step.key, step.attempt) for step in await attempts(store)] == [("b", 1), ("a", 1), ("b", 2)]
