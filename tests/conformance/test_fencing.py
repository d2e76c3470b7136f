"""Is a write refused that was on its way while its claim changed hands?

    second store     take the claim over ──────────── hold the transaction open ──────────── commit
    store                                    stale write: waits for the lock or for its turn ──► refused

A guard that reads before it waits would let it through. `until_blocked` answers when the late write waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    SERVED,
    VISIBLE_FOR,
    attempts,
    begin,
    begun,
    causes,
    claim,
    complete,
    completed,
    engine_on,
    finish,
    finished,
    held,
    holding,
    load,
    log,
    renew,
    running_run,
    running_runs,
    view,
)
from tests.conformance.interleaving import Blocked, Change, meanwhile
from windlass.errors import ClaimLost
from windlass.model.commands import Suspend
from windlass.model.failure import Unretrieved
from windlass.model.run import Run, RunStatus
from windlass.model.time import HOUR, SECOND
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

Write = Callable[[Store, FakeClock, Run], Awaitable[Any]]


async def take_over(tx: Tx) -> None:
    (row,) = await tx.runs.claim(
        namespace=NAMESPACE, served=SERVED, limit=1, worker=OTHER_WORKER, poll=2, claim_for=lambda name: VISIBLE_FOR
    )
    assert row.run.token == 2


def end_under(run: Run) -> Change:
    async def end(tx: Tx) -> None:
        assert await tx.runs.finish([finished(run, output=b"first", result_hash=b"first")])

    return end


def engine_call(name: str, command: Callable[[Run], Any]) -> Write:
    async def call(store: Store, clock: FakeClock, run: Run) -> Any:
        return await getattr(engine_on(store, clock).work, name)(command(run))

    return call


WRITES = {
    "complete a step": engine_call("complete_step", lambda run: completed(run, renew_for=VISIBLE_FOR)),
    "complete a begun step": engine_call("complete_step", lambda run: completed(run, key="open")),
    "begin a step": engine_call("begin_step", begun),
    "finish": engine_call("finish_run", finished),
    "renew": engine_call("renew_claim", lambda run: held(run, visibility_for=HOUR)),
    "release": engine_call("release_run", held),
    "park": engine_call(
        "suspend_run", lambda run: Suspend(namespace=NAMESPACE, run_id=run.id, token=run.token, park=True)
    ),
    "tell of a failed task": engine_call(
        "suspend_run",
        lambda run: Suspend(
            namespace=NAMESPACE, run_id=run.id, token=run.token, unretrieved=Unretrieved(token=run.token)
        ),
    ),
    "hold": engine_call("hold_run", holding),
}


class TestFencing:
    @pytest.mark.spec("invariants:I-17", "invariants:I-18")
    @pytest.mark.parametrize("write", WRITES)
    async def test_a_write_that_waits_while_the_claim_is_taken_over_is_refused(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked, write: str
    ) -> None:
        run = await running_run(store)
        await begin(store, begun(run, key="open"))
        opened = await attempts(store)
        clock.advance(VISIBLE_FOR)

        outcome = await meanwhile(second_store, take_over, lambda: WRITES[write](store, clock, run), until_blocked)

        assert isinstance(outcome, ClaimLost)
        now = await load(store)
        assert (now.token, now.worker, now.available_at) == (2, OTHER_WORKER, clock.now() + VISIBLE_FOR)
        assert await attempts(store) == opened
        assert ((await view(store)).output, (await view(store)).failure) == (None, None)
        assert [cause for _, _, cause in await causes(store)] == ["start", "claim", "recover"]

    @pytest.mark.spec("invariants:I-09", "invariants:I-18")
    @pytest.mark.parametrize("write", WRITES)
    async def test_a_write_that_waits_while_the_run_ends_is_refused(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked, write: str
    ) -> None:
        run = await running_run(store)
        await begin(store, begun(run, key="open"))
        opened = await attempts(store)

        outcome = await meanwhile(second_store, end_under(run), lambda: WRITES[write](store, clock, run), until_blocked)

        assert isinstance(outcome, ClaimLost)
        assert ((await view(store)).output, (await load(store)).available_at) == (b"first", None)
        assert await attempts(store) == opened
        assert [cause for _, _, cause in await causes(store)] == ["start", "claim", "finish"]

    @pytest.mark.spec("invariants:I-18")
    async def test_of_a_batch_that_waits_only_the_rows_of_the_lost_claim_are_refused(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        runs = await running_runs(store, 5)
        for kept in (runs[0], runs[1], runs[3], runs[4]):
            await renew(store, kept, HOUR)
        clock.advance(VISIBLE_FOR)

        done = await meanwhile(
            second_store, take_over, lambda: complete(store, *[completed(run) for run in runs]), until_blocked
        )

        assert done == [0, 1, 3, 4]
        assert [len(await attempts(store, number)) for number in range(1, 6)] == [1, 1, 0, 1, 1]

    async def test_of_a_batch_of_endings_that_waits_only_the_lost_one_is_refused(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        runs = await running_runs(store, 3)
        for kept in (runs[0], runs[2]):
            await renew(store, kept, HOUR)
        clock.advance(VISIBLE_FOR)

        done = await meanwhile(
            second_store, take_over, lambda: finish(store, *[finished(run) for run in runs]), until_blocked
        )

        assert done == [0, 2]
        assert [len(await log(store, number)) for number in (1, 2, 3)] == [3, 3, 3]
        assert (await load(store, 2)).token == 2

    @pytest.mark.parametrize("write", WRITES)
    async def test_a_locked_run_keeps_every_writer_waiting_and_no_longer_than_that(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked, write: str
    ) -> None:
        run = await running_run(store)
        await begin(store, begun(run, key="open"))

        async def lock(tx: Tx) -> None:
            assert await tx.runs.lock(NAMESPACE, run.id) == run

        outcome = await meanwhile(second_store, lock, lambda: WRITES[write](store, clock, run), until_blocked)

        assert not isinstance(outcome, BaseException)

    async def test_a_decision_is_saved_only_over_the_state_it_was_made_on(self, store: Store, clock: FakeClock) -> None:
        run = await running_run(store)
        sleeping = replace(run, status=RunStatus.SLEEPING, worker=None, recoveries=3)

        async def save(tx: Tx) -> list[bool]:
            return [
                await tx.runs.save(sleeping, was=replace(run, token=run.token + 1)),
                await tx.runs.save(sleeping, was=replace(run, status=RunStatus.PENDING)),
                await tx.runs.save(sleeping, was=run),
                await tx.runs.save(run, was=run),
            ]

        assert await store.run_tx("save", save) == [False, False, True, False]
        assert await load(store) == sleeping

    @pytest.mark.spec("invariants:I-20")
    async def test_a_renewal_that_commits_first_keeps_the_claim(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        run = await running_run(store)
        clock.advance(VISIBLE_FOR)  # due to be taken over, and not yet taken over

        async def renew_it(tx: Tx) -> None:
            assert await tx.runs.renew(namespace=NAMESPACE, id=run.id, token=run.token, visibility_for=VISIBLE_FOR)

        rows = await meanwhile(second_store, renew_it, lambda: claim(store, poll=2, worker=OTHER_WORKER), blocked=None)

        assert rows == []
        assert (await load(store)).token == run.token

    async def test_a_completion_and_a_take_over_agree_on_who_was_first(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        runs = await running_runs(store, 40)
        clock.advance(VISIBLE_FOR)

        async def take_all() -> dict[str, int]:
            rows = await claim(second_store, poll=2, worker=OTHER_WORKER)
            return {row.run.id: row.run.token for row in rows}

        completing = [complete(store, completed(run, renew_for=SECOND)) for run in runs]
        taken, *done = await asyncio.gather(take_all(), *completing)

        for run, passed in zip(runs, done, strict=True):
            number = int(run.id[4:])
            assert (passed == [0]) == (len(await attempts(store, number)) == 1)
            assert (passed == [0]) != (run.id in taken)
