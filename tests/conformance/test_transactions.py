"""Is a transaction whole, named, seen by its hooks, and gone without a trace when it fails?"""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.conformance.given import (
    NAMESPACE,
    causes,
    create,
    load,
    load_or_none,
    new_run,
    run_id,
)
from tests.conformance.hooks import raising, record, whole
from windlass.errors import InvalidInput, NotAllowed
from windlass.model.run import Run
from windlass.store.base import Store, Tx
from windlass.store.queries.log import NewLogEntry
from windlass.testing.clock import FakeClock

PATIENCE = 200  # looks at the database before a transaction goes on without the other one


async def add_run(tx: Tx) -> None:
    await tx.runs.create([new_run()])


async def load_in(tx: Tx, number: int = 1) -> Run | None:
    return await tx.runs.load(NAMESPACE, run_id(number))


class TestTransactions:
    @pytest.mark.parametrize("single", [False, True])
    async def test_hooks_surround_every_commit_and_no_read(self, store: Store, single: bool) -> None:
        hooks = record(store)

        await store.run_tx("create", add_run, single=single)
        await store.read("load", load_in, single=single)
        await store.run_tx("look", load_in, single=single)

        assert hooks.seen == [*whole("create"), *whole("look")]

    async def test_every_transaction_is_committed_once_under_its_own_name(self, store: Store) -> None:
        hooks = record(store)

        await asyncio.gather(
            *[
                store.run_tx(f"create_{number}", lambda tx, number=number: tx.runs.create([new_run(number)]))  # type: ignore[misc]
                for number in range(1, 21)
            ]
        )

        for number in range(1, 21):
            assert [seen for seen in hooks.seen if seen[1] == f"create_{number}"] == whole(f"create_{number}")
            assert await load_or_none(store, number) is not None
        assert hooks.commits == 20

    @pytest.mark.parametrize("single", [False, True])
    async def test_a_transaction_that_raises_leaves_nothing(self, store: Store, single: bool) -> None:
        hooks = record(store)

        async def write_and_raise(tx: Tx) -> None:
            if not single:  # one statement that is its own transaction has been committed when it answers
                await add_run(tx)
            raise LookupError("on purpose")

        with pytest.raises(LookupError, match="on purpose"):
            await store.run_tx("create", write_and_raise, single=single)

        assert hooks.seen == [("before_begin", "create")]
        assert await load_or_none(store) is None
        assert await causes(store) == []
        assert await create(store, new_run()) == [0]

    @pytest.mark.parametrize("single", [False, True])
    async def test_a_statement_that_is_refused_undoes_the_whole_transaction(self, store: Store, single: bool) -> None:
        async def write_two(tx: Tx) -> None:
            if not single:
                await add_run(tx)
            await tx.runs.create([new_run(2), new_run(3, name=None)])

        with pytest.raises(InvalidInput):
            await store.run_tx("create", write_two, single=single)

        assert [await load_or_none(store, number) for number in (1, 2, 3)] == [None, None, None]
        assert await create(store, new_run(), new_run(2)) == [0, 1]

    async def test_a_hook_that_raises_before_the_commit_undoes_it(self, store: Store) -> None:
        hooks = record(store)
        hooks.at["before_commit"] = raising(LookupError("on purpose"), times=1)

        with pytest.raises(LookupError):
            await store.run_tx("create", add_run)

        assert await load_or_none(store) is None
        assert hooks.commits == 0

    @pytest.mark.parametrize("single", [False, True])
    async def test_a_hook_that_raises_after_the_commit_comes_too_late(self, store: Store, single: bool) -> None:
        hooks = record(store)
        hooks.at["after_commit"] = raising(LookupError("on purpose"), times=1)

        with pytest.raises(LookupError):
            await store.run_tx("create", add_run, single=single)

        assert await load_or_none(store) is not None

    async def test_a_single_statement_may_be_followed_by_reads_that_see_it(self, store: Store) -> None:
        hooks = record(store)

        async def write_and_look(tx: Tx) -> Run | None:
            await add_run(tx)
            return await load_in(tx)

        found = await store.run_tx("create", write_and_look, single=True)

        assert found == await load(store)
        assert hooks.seen == whole("create")

    @pytest.mark.parametrize("single", [False, True])
    async def test_a_read_must_not_write(self, store: Store, single: bool) -> None:
        with pytest.raises(NotAllowed):
            await store.read("create", add_run, single=single)

        assert await load_or_none(store) is None

    async def test_time_is_the_clocks_and_the_same_for_rows_and_rules(self, store: Store, clock: FakeClock) -> None:
        clock.advance(5)

        async def create_and_ask(tx: Tx) -> int:
            await add_run(tx)
            return await tx.now()

        assert await store.run_tx("create", create_and_ask) == clock.now() == (await load(store)).created_at

    async def test_what_one_store_commits_the_other_sees_at_once(self, store: Store, second_store: Store) -> None:
        for number in range(1, 11):
            await create(store, new_run(2 * number))
            await create(second_store, new_run(2 * number + 1))

            assert await load_or_none(second_store, 2 * number) is not None
            assert await load_or_none(store, 2 * number + 1) is not None

    async def test_a_read_sees_one_moment_whatever_is_committed_meanwhile(
        self, store: Store, second_store: Store
    ) -> None:
        await create(store, new_run(1))
        looked, written = threading.Event(), threading.Event()
        if store is second_store:
            written.set()  # one after the other on one connection: nothing can be committed meanwhile

        async def look(tx: Tx) -> list[bool]:
            found = [await load_in(tx, 2) is not None]
            looked.set()
            while not written.is_set():
                await load_in(tx)
            return [*found, await load_in(tx, 2) is not None]

        async def write() -> None:
            await asyncio.to_thread(looked.wait, 10)
            await create(second_store, new_run(2))
            written.set()

        found, _ = await asyncio.gather(store.read("look", look), write())

        assert found == [False, False]
        assert await load_or_none(store, 2) is not None

    async def test_two_that_lock_each_others_rows_both_commit_once(self, store: Store, second_store: Store) -> None:
        # A deadlock where rows are locked one by one: a transaction is then run again, and must leave no second trace.
        await create(store, new_run(1), new_run(2))
        holding = [threading.Event(), threading.Event()]

        async def lock_both(tx: Tx, side: int) -> None:
            await tx.runs.lock(NAMESPACE, run_id(1 + side))
            holding[side].set()
            for _ in range(PATIENCE):
                if holding[1 - side].is_set():
                    break
                await load_in(tx)
            await tx.runs.lock(NAMESPACE, run_id(2 - side))
            await tx.log.append([noted(run_id(1)), noted(run_id(2))])

        await asyncio.gather(
            store.run_tx("lock", lambda tx: lock_both(tx, 0)), second_store.run_tx("lock", lambda tx: lock_both(tx, 1))
        )

        for number in (1, 2):
            assert [cause for _, _, cause in await causes(store, number)] == ["start", "lock", "lock"]

    async def test_a_caller_that_is_cancelled_leaves_a_store_that_works(self, store: Store) -> None:
        for _ in range(20):
            call = asyncio.create_task(create(store, new_run()))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait({call})

        assert await create(store, new_run(2)) == [0]


def noted(subject_id: str) -> NewLogEntry:
    return NewLogEntry(
        namespace=NAMESPACE,
        subject_kind="run",
        subject_id=subject_id,
        from_status="pending",
        to_status="pending",
        cause="lock",
    )
