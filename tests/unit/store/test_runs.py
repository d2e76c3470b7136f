"""Do runs move as their queries say, on both databases alike?"""

from __future__ import annotations

import msgspec
import pytest

from tests.unit.store.given import (
    NAMESPACE,
    SERVED,
    VISIBLE_FOR,
    WORKER,
    causes,
    claim,
    create,
    finish,
    finished,
    load,
    new_run,
    run_id,
    running_run,
)
from windlass.errors import InvalidInput
from windlass.model.commands import Outcome
from windlass.model.failure import Failure, FailureKind
from windlass.model.page import ListRuns
from windlass.model.run import RunStatus, WorkerId
from windlass.model.time import MINUTE, SECOND, Duration, Instant
from windlass.model.worker import Served
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

FAILURE = Failure(kind=FailureKind.LOGIC, type="ValueError", message="no such card", data=b"\x00")


async def test_new_runs_are_pending_at_once_after_a_delay_or_at_an_instant(store: Store, clock: FakeClock) -> None:
    now = clock.now()

    done = await create(store, new_run(1), new_run(2, delay_for=Duration(SECOND)), new_run(3, at=Instant(now + 9)))

    assert done == [0, 1, 2]
    assert [(await load(store, number)).available_at for number in (1, 2, 3)] == [now, now + SECOND, now + 9]
    run = await load(store)
    assert (run.status, run.token, run.attempts, run.worker, run.created_at) == (RunStatus.PENDING, 0, 0, None, now)
    assert await causes(store) == [(None, "pending", "start")]


async def test_a_dispatched_run_is_born_claimed(store: Store, clock: FakeClock) -> None:
    await create(store, new_run(worker=WORKER, poll=4, claim_for=VISIBLE_FOR))

    run = await load(store)

    assert (run.status, run.worker, run.poll, run.token, run.attempts) == (RunStatus.RUNNING, WORKER, 4, 1, 1)
    assert (run.available_at, run.started_at) == (clock.now() + VISIBLE_FOR, clock.now())
    assert await causes(store) == [(None, "running", "dispatch")]
    (row,) = await store.read("poll", lambda tx: tx.runs.claimed_by_poll(namespace=NAMESPACE, worker=WORKER, poll=4))
    assert (row.run, row.was, row.input) == (run, RunStatus.PENDING, b"[1]")


async def test_creating_again_is_recognised_and_changes_nothing(store: Store) -> None:
    await create(store, new_run(1, start_key="a"))

    done = await create(store, new_run(1, input=b"other"), new_run(2))

    assert done == [1]
    view = await store.read("view", lambda tx: tx.runs.view(NAMESPACE, run_id(1)))
    assert view is not None
    assert (view.input, view.key, view.output, view.failure) == (b"[1]", "a", None, None)
    assert await causes(store) == [(None, "pending", "start")]


async def test_claims_take_the_most_urgent_first_and_leave_what_is_due_later(store: Store, clock: FakeClock) -> None:
    now = clock.now()
    await create(
        store,
        new_run(1, at=Instant(now - 1)),
        new_run(2, priority=5, at=Instant(now - 1)),
        new_run(3, priority=5, at=Instant(now - 2)),
        new_run(4, priority=-5, at=Instant(now - 9)),
        new_run(5, priority=10, at=Instant(now + 1)),
    )

    first = await claim(store, limit=3)
    rest = await claim(store, poll=2)

    assert [row.run.id for row in first] == [run_id(3), run_id(2), run_id(1)]
    assert [row.run.id for row in rest] == [run_id(4)]
    assert await claim(store, poll=3) == []


async def test_a_claim_says_what_the_row_became(store: Store, clock: FakeClock) -> None:
    await create(store, new_run(start_key="k"))

    (row,) = await claim(store, poll=7)

    assert row.run == await load(store)
    assert (row.was, row.input, row.start_key) == (RunStatus.PENDING, b"[1]", "k")
    assert (row.run.status, row.run.token, row.run.attempts, row.run.recoveries) == (RunStatus.RUNNING, 1, 1, 0)
    assert (row.run.worker, row.run.poll, row.run.started_at) == (WORKER, 7, clock.now())
    assert row.run.available_at == clock.now() + VISIBLE_FOR
    assert await causes(store) == [(None, "pending", "start"), ("pending", "running", "claim")]


async def test_an_unreleased_claim_is_recovered_when_it_runs_out(store: Store, clock: FakeClock) -> None:
    first = await running_run(store)
    clock.advance(VISIBLE_FOR - 1)
    assert await claim(store, poll=2, worker=WorkerId("wrk_2")) == []

    clock.advance(1)
    (row,) = await claim(store, poll=2, worker=WorkerId("wrk_2"))

    assert (row.was, row.run.token, row.run.attempts, row.run.recoveries) == (RunStatus.RUNNING, 2, 2, 1)
    assert row.run.started_at == first.started_at
    assert (await causes(store))[-1] == ("running", "running", "recover")
    assert await finish(store, finished(first)) == []


async def test_only_what_is_served_is_claimed(store: Store) -> None:
    await create(
        store,
        new_run(1),
        new_run(2, queue="mail"),
        new_run(3, name="refund"),
        new_run(4, version="2"),
        new_run(5, namespace="other"),
    )

    rows = await claim(store, served=(Served("billing", "invoice"), Served("billing", "invoice", "2"), *SERVED))

    assert [row.run.id for row in rows] == [run_id(1), run_id(4)]
    assert await claim(store, served=()) == []


async def test_the_rows_of_a_poll_can_be_read_again(store: Store) -> None:
    await create(store, new_run(1), new_run(2))
    rows = await claim(store, poll=3)
    await finish(store, finished(rows[0].run))

    again = await store.read("poll", lambda tx: tx.runs.claimed_by_poll(namespace=NAMESPACE, worker=WORKER, poll=3))

    assert again == rows[1:]


async def test_the_next_due_time_is_the_earliest_of_the_lanes_served(store: Store, clock: FakeClock) -> None:
    now = clock.now()

    async def next_due(*served: Served) -> int | None:
        return await store.read("due", lambda tx: tx.runs.next_due(namespace=NAMESPACE, served=served))

    assert await next_due(*SERVED) is None
    await create(
        store,
        new_run(1, priority=3, at=Instant(now + 30)),
        new_run(2, priority=-3, at=Instant(now + 20)),
        new_run(3, name="refund", at=Instant(now + 10)),
    )

    assert await next_due(*SERVED) == now + 20
    assert await next_due(*SERVED, Served("billing", "refund")) == now + 10
    assert await next_due() is None


async def test_a_decision_is_saved_only_over_the_state_it_was_made_on(store: Store) -> None:
    run = await running_run(store)
    sleeping = msgspec.structs.replace(run, status=RunStatus.SLEEPING, worker=None, recoveries=3)

    async def save(tx: Tx) -> tuple[bool, bool]:
        locked = await tx.runs.lock(NAMESPACE, run.id)
        assert locked is not None
        return await tx.runs.save(sleeping, was=locked), await tx.runs.save(run, was=locked)

    assert await store.run_tx("save", save) == (True, False)
    assert await load(store) == sleeping


async def test_a_renewal_moves_the_end_of_a_claim_forward_only(store: Store, clock: FakeClock) -> None:
    run = await running_run(store)

    async def renew(token: int, visibility_for: int) -> bool:
        return await store.run_tx(
            "renew",
            lambda tx: tx.runs.renew(
                namespace=NAMESPACE, id=run.id, token=token, visibility_for=Duration(visibility_for)
            ),
            single=True,
        )

    assert await renew(run.token, MINUTE)
    assert (await load(store)).available_at == run.available_at
    assert await renew(run.token, 2 * VISIBLE_FOR)
    assert (await load(store)).available_at == clock.now() + 2 * VISIBLE_FOR
    assert not await renew(run.token - 1, VISIBLE_FOR)


async def test_finishing_stores_the_result_and_frees_the_run(store: Store, clock: FakeClock) -> None:
    run = await running_run(store)
    clock.advance(SECOND)

    assert await finish(store, finished(run)) == [0]

    after = await load(store)
    assert (after.status, after.available_at, after.worker) == (RunStatus.COMPLETED, None, None)
    assert (after.finished_at, after.token) == (clock.now(), run.token)
    assert (await causes(store))[-1] == ("running", "completed", "finish")
    outcomes = await store.read("outcomes", lambda tx: tx.runs.outcomes(NAMESPACE, [run.id, run_id(9)]))
    assert [(id, outcome.output, outcome.failure) for id, outcome in outcomes.items()] == [(run.id, b"42", None)]


async def test_a_batch_of_endings_is_judged_row_by_row(store: Store) -> None:
    await create(store, new_run(1), new_run(2), new_run(3))
    one, two, three = (row.run for row in await claim(store))
    stale = msgspec.structs.replace(two, token=two.token - 1)
    failed = finished(three, status=RunStatus.FAILED, output=None, failure=FAILURE)

    done = await finish(store, failed, finished(stale), finished(two), finished(two), finished(one))

    assert done == [0, 2, 4]
    endings = await store.read("endings", lambda tx: tx.runs.endings(NAMESPACE, [two.id, three.id]))
    assert (endings[two.id].status, endings[two.id].token) == (RunStatus.COMPLETED, two.token)
    assert (endings[three.id].status, endings[three.id].result_hash) == (RunStatus.FAILED, b"hash")
    outcomes = await store.read("outcomes", lambda tx: tx.runs.outcomes(NAMESPACE, [three.id]))
    assert outcomes[three.id].failure == FAILURE


async def test_outcomes_say_where_a_run_stands_that_is_not_over(store: Store) -> None:
    run = await running_run(store)

    outcomes = await store.read("outcomes", lambda tx: tx.runs.outcomes(NAMESPACE, [run.id, run_id(9)]))
    assert outcomes == {run.id: Outcome(status=RunStatus.RUNNING)}


async def test_a_held_run_says_why_until_that_is_taken_back(store: Store) -> None:
    run = await running_run(store)
    paused = msgspec.structs.replace(run, status=RunStatus.PAUSED, available_at=None, worker=None)

    async def hold(tx: Tx) -> None:
        assert await tx.runs.save(paused, was=run)
        await tx.runs.set_failure(NAMESPACE, run.id, FAILURE)

    await store.run_tx("hold", hold)

    outcomes = await store.read("outcomes", lambda tx: tx.runs.outcomes(NAMESPACE, [run.id]))
    assert (outcomes[run.id].status, outcomes[run.id].failure) == (RunStatus.PAUSED, FAILURE)
    await store.run_tx("clear", lambda tx: tx.runs.set_failure(NAMESPACE, run.id, None))
    view = await store.read("view", lambda tx: tx.runs.view(NAMESPACE, run.id))
    assert view is not None
    assert (view.run, view.failure) == (paused, None)


async def test_lists_are_newest_first_and_go_on_behind_the_last_page(store: Store) -> None:
    await create(store, *[new_run(number, queue="mail" if number == 2 else "billing") for number in (1, 2, 3)])
    await claim(store, limit=1)

    async def numbers(**fields: object) -> list[int]:
        query = msgspec.convert({"namespace": NAMESPACE, **fields}, ListRuns)
        return [int(run.id[4:]) for run in await store.read("list", lambda tx: tx.runs.list(query))]

    assert await numbers() == [3, 2, 1]
    assert await numbers(limit=2) == [3, 2]
    assert await numbers(before=run_id(2)) == [1]
    assert await numbers(queue="billing") == [3, 1]
    assert await numbers(status="running") == [1]
    assert await numbers(name="refund") == []


async def test_what_is_missing_is_none(store: Store) -> None:
    assert await store.read("load", lambda tx: tx.runs.load(NAMESPACE, run_id(1))) is None
    assert await store.read("view", lambda tx: tx.runs.view(NAMESPACE, run_id(1))) is None
    assert await store.run_tx("lock", lambda tx: tx.runs.lock(NAMESPACE, run_id(1))) is None


@pytest.mark.parametrize("status", [RunStatus.PENDING, RunStatus.RUNNING, RunStatus.SLEEPING])
async def test_the_database_refuses_a_claimable_status_without_a_time(store: Store, status: RunStatus) -> None:
    run = await running_run(store)
    broken = msgspec.structs.replace(run, status=status, available_at=None)

    with pytest.raises(InvalidInput):
        await store.run_tx("save", lambda tx: tx.runs.save(broken, was=run))

    assert await load(store) == run


async def test_the_database_refuses_an_ended_run_with_a_time(store: Store) -> None:
    run = await running_run(store)
    broken = msgspec.structs.replace(run, status=RunStatus.CANCELLED)

    with pytest.raises(InvalidInput):
        await store.run_tx("save", lambda tx: tx.runs.save(broken, was=run))
