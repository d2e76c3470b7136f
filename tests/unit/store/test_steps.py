"""Are the attempts of steps recorded once, under the right token, on both databases alike?"""

from __future__ import annotations

from typing import Any

import msgspec

from tests.unit.store.given import (
    NAMESPACE,
    VISIBLE_FOR,
    attempts,
    begin,
    begun,
    claim,
    complete,
    completed,
    create,
    finish,
    finished,
    load,
    new_run,
    running_run,
)
from windlass.model.failure import Failure, FailureKind
from windlass.model.run import Run
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import SECOND, Duration, Instant
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

FAILURE = Failure(kind=FailureKind.TRANSIENT, type="OSError", message="reset")


def settled(run: Run, **fields: Any) -> Step:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "run_id": run.id,
        "key": "fetch",
        "attempt": 1,
        "kind": StepKind.STEP,
        "status": StepStatus.FAILED,
        "order": None,
        "token": run.token,
        "failures": 1,
        "input_hash": b"in",
        "output": None,
        "failure": FAILURE,
        "due_at": Instant(99),
        "started_at": Instant(5),
        "finished_at": Instant(9),
    }
    return Step(**(values | fields))


async def settle(store: Store, *steps: Step) -> None:
    await store.run_tx("settle", lambda tx: tx.steps.settle(steps))


async def test_a_completion_is_recorded_for_ever(store: Store, clock: FakeClock) -> None:
    run = await running_run(store)

    assert await complete(store, completed(run)) == [0]
    assert await complete(store, completed(run, output=b"other")) == []

    (step,) = await attempts(store)
    assert (step.status, step.output, step.order, step.token) == (StepStatus.COMPLETED, b"out", 1, run.token)
    assert (step.started_at, step.finished_at) == (clock.now() - 7, clock.now())
    assert (await load(store)).available_at == run.available_at


async def test_a_begun_step_is_completed_in_place_with_its_true_start(store: Store, clock: FakeClock) -> None:
    run = await running_run(store)
    assert await begin(store, begun(run)) == [0]  # seen a moment after it began
    clock.advance(SECOND)
    began_at = clock.now() - 7

    assert await complete(store, completed(run)) == [0]

    (step,) = await attempts(store)
    assert (step.status, step.started_at, step.finished_at) == (StepStatus.COMPLETED, began_at, clock.now())
    assert await begin(store, begun(run)) == []


async def test_only_the_holder_of_a_running_run_records_anything(store: Store) -> None:
    run = await running_run(store)
    stale = msgspec.structs.replace(run, token=run.token - 1)

    assert await complete(store, completed(stale)) == []
    assert await begin(store, begun(stale)) == []
    await finish(store, finished(run))
    assert await complete(store, completed(run)) == []
    assert await begin(store, begun(run)) == []

    assert await attempts(store) == []


async def test_a_batch_of_completions_is_judged_row_by_row(store: Store) -> None:
    await create(store, new_run(1), new_run(2))
    one, two = (row.run for row in await claim(store))
    stale = msgspec.structs.replace(one, token=9)

    done = await complete(
        store,
        completed(two),
        completed(stale),  # before the valid one: it must not stand in its way
        completed(one),
        completed(one),
        completed(one, key="fetch#2", order=2),
    )

    assert done == [0, 2, 4]
    assert [step.key for step in await attempts(store, 1)] == ["fetch", "fetch#2"]


async def test_a_completion_renews_a_claim_that_runs_short_and_never_shortens_it(
    store: Store, clock: FakeClock
) -> None:
    run = await running_run(store)
    clock.advance(SECOND)

    await complete(
        store,
        completed(run, renew_for=Duration(SECOND)),
        completed(run, key="b", order=2, renew_for=VISIBLE_FOR),
        completed(run, key="c", order=3),
    )
    assert (await load(store)).available_at == clock.now() + VISIBLE_FOR

    await complete(store, completed(run, key="d", order=4, renew_for=Duration(SECOND)))
    assert (await load(store)).available_at == clock.now() + VISIBLE_FOR


async def test_a_repeat_is_told_from_a_lost_claim(store: Store, clock: FakeClock) -> None:
    run = await running_run(store)
    await begin(store, begun(run, key="begun"))
    await complete(store, completed(run))
    questions = [
        completed(run, output=b"other"),
        completed(run),
        completed(run, token=9),
        completed(run, key="begun"),
        completed(run, attempt=2),
    ]

    assert await store.read("matching", lambda tx: tx.steps.matching(questions)) == {1: clock.now()}


async def test_a_wait_keeps_its_first_due_time(store: Store, clock: FakeClock) -> None:
    run = await running_run(store)
    due_at = Instant(clock.now() + SECOND)
    await settle(store, settled(run, kind=StepKind.SLEEP, status=StepStatus.WAITING, due_at=due_at, failure=None))

    await settle(store, settled(run, kind=StepKind.SLEEP, status=StepStatus.WAITING, due_at=Instant(1), failure=None))

    (step,) = await store.read("waits", lambda tx: tx.steps.open_waits(NAMESPACE, run.id))
    assert (step.status, step.due_at, step.kind) == (StepStatus.WAITING, due_at, StepKind.SLEEP)


async def test_a_failed_attempt_settles_what_was_begun_and_nothing_that_is_over(store: Store, clock: FakeClock) -> None:
    run = await running_run(store)
    await begin(store, begun(run))
    await complete(store, completed(run, key="done"))

    await settle(store, settled(run), settled(run, key="done"))

    done, failed = sorted(await attempts(store), key=lambda step: step.key)
    assert (failed.status, failed.failure, failed.due_at) == (StepStatus.FAILED, FAILURE, 99)
    assert (failed.started_at, failed.finished_at, failed.failures) == (5, 9, 1)
    assert (done.status, done.failure) == (StepStatus.COMPLETED, None)


async def test_open_waits_are_the_latest_attempts_that_will_go_on(store: Store) -> None:
    run = await running_run(store)
    await settle(
        store,
        settled(run, key="again", attempt=1),
        settled(run, key="again", attempt=2, due_at=Instant(200)),
        settled(run, key="over", due_at=None),
        settled(run, key="tried", attempt=1),
    )
    await begin(store, begun(run, key="tried", attempt=2))
    await settle(store, settled(run, key="sleep", kind=StepKind.SLEEP, status=StepStatus.WAITING, failure=None))

    waits = await store.read("waits", lambda tx: tx.steps.open_waits(NAMESPACE, run.id))

    assert sorted((step.key, step.attempt) for step in waits) == [("again", 2), ("sleep", 1)]


async def test_histories_hold_the_latest_attempts_in_the_order_results_were_seen(store: Store) -> None:
    await create(store, new_run(1), new_run(2), new_run(3))
    one, two, three = (row.run for row in await claim(store))
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


async def test_attempts_come_in_the_order_they_began(store: Store) -> None:
    run = await running_run(store)
    await settle(
        store,
        settled(run, key="b", attempt=2, started_at=Instant(30)),
        settled(run, key="b", attempt=1, started_at=Instant(10)),
        settled(run, key="a", attempt=1, started_at=Instant(20)),
    )

    assert [(step.key, step.attempt) for step in await attempts(store)] == [("b", 1), ("a", 1), ("b", 2)]
