"""Is a run created once, whoever asks for it, however often, and with whom at the same time?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.given import (
    NAMESPACE,
    VISIBLE_FOR,
    WORKER,
    causes,
    claim,
    create,
    engine_on,
    finish,
    finished,
    load,
    new_run,
    outcomes_of,
    run_id,
    start,
    view,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from windlass.errors import AlreadyExists, Unavailable
from windlass.model.commands import Started
from windlass.model.page import ListRuns
from windlass.model.run import RunStatus
from windlass.model.time import HOUR, SECOND, Duration, Instant
from windlass.store.base import Store
from windlass.store.queries.keys import NewKey
from windlass.testing.clock import FakeClock


def new_key(key: str, number: int = 1, **fields: Any) -> NewKey:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "key": key,
        "name": "invoice",
        "version": "",
        "input_hash": b"in",
        "run_id": run_id(number),
    }
    return NewKey(**(values | fields))


async def take(store: Store, *keys: NewKey) -> list[int]:
    return sorted(await store.run_tx("take", lambda tx: tx.keys.take(keys)))


async def owners(store: Store, *keys: str) -> dict[str, str]:
    found = await store.read("owners", lambda tx: tx.keys.owners(NAMESPACE, keys))
    return {key: owner.run_id for key, owner in found.items()}


async def all_runs(store: Store) -> list[str]:
    query = ListRuns(namespace=NAMESPACE, limit=1_000)
    return [run.id for run in await store.read("list", lambda tx: tx.runs.list(query))]


class TestStarts:
    @pytest.mark.spec("runs:P2.1")
    async def test_new_runs_are_pending_at_once_after_a_delay_or_at_an_instant(
        self, store: Store, clock: FakeClock
    ) -> None:
        now = clock.now()

        done = await create(store, new_run(1), new_run(2, delay_for=SECOND), new_run(3, at=Instant(now + 9)))

        assert done == [0, 1, 2]
        assert [(await load(store, number)).available_at for number in (1, 2, 3)] == [now, now + SECOND, now + 9]
        run = await load(store)
        assert (run.status, run.token, run.attempts, run.worker) == (RunStatus.PENDING, 0, 0, None)
        assert (run.created_at, run.started_at, run.finished_at) == (now, None, None)
        assert await causes(store) == [(None, "pending", "start")]

    async def test_a_dispatched_run_is_born_claimed(self, store: Store, clock: FakeClock) -> None:
        await create(store, new_run(worker=WORKER, poll=4, claim_for=VISIBLE_FOR))

        run = await load(store)

        assert (run.status, run.worker, run.poll, run.token, run.attempts) == (RunStatus.RUNNING, WORKER, 4, 1, 1)
        assert (run.available_at, run.started_at) == (clock.now() + VISIBLE_FOR, clock.now())
        assert await causes(store) == [(None, "running", "dispatch")]

    @pytest.mark.spec("invariants:I-11")
    async def test_creating_again_is_recognised_and_changes_nothing(self, store: Store) -> None:
        await create(store, new_run(1, start_key="a"))

        done = await create(store, new_run(1, input=b"other", priority=9), new_run(2), new_run(2, input=b"other"))

        assert done == [1]
        assert ((await view(store)).input, (await view(store)).key, (await load(store)).priority) == (b"[1]", "a", 0)
        assert (await view(store, 2)).input == b"[2]"
        assert [await causes(store, number) for number in (1, 2)] == [[(None, "pending", "start")]] * 2

    async def test_a_free_key_is_taken_and_a_taken_one_keeps_its_owner(self, store: Store) -> None:
        assert await take(store, new_key("b", 1), new_key("a", 2)) == [0, 1]

        assert await take(store, new_key("c", 3), new_key("b", 4), new_key("a", 5)) == [0]

        assert await owners(store, "a", "b", "c", "d") == {"a": run_id(2), "b": run_id(1), "c": run_id(3)}

    async def test_of_several_that_ask_for_one_key_the_first_gets_it(self, store: Store) -> None:
        assert await take(store, new_key("a", 1), new_key("b", 2), new_key("a", 3), new_key("b", 4)) == [0, 1]

        assert await owners(store, "a", "b") == {"a": run_id(1), "b": run_id(2)}

    async def test_a_key_belongs_to_its_namespace(self, store: Store) -> None:
        assert await take(store, new_key("a", 1), new_key("a", 2, namespace="other")) == [0, 1]

        assert await owners(store, "a") == {"a": run_id(1)}

    async def test_a_key_is_free_again_when_it_has_expired_and_not_before(self, store: Store, clock: FakeClock) -> None:
        await take(store, new_key("a", 1, expires_for=HOUR), new_key("b", 2))

        clock.advance(HOUR - 1)
        assert await take(store, new_key("a", 3, expires_for=HOUR), new_key("b", 4)) == []
        clock.advance(1)
        assert await take(store, new_key("a", 5, name="refund"), new_key("b", 6)) == [0]

        found = await store.read("owners", lambda tx: tx.keys.owners(NAMESPACE, ["a", "b"]))
        assert (found["a"].run_id, found["a"].name, found["b"].run_id) == (run_id(5), "refund", run_id(2))
        clock.advance(100 * HOUR)
        assert await take(store, new_key("a", 7)) == []  # taken over without an end, it is kept for ever

    @pytest.mark.spec("invariants:I-56")
    async def test_a_repeated_start_answers_with_the_first_run_also_when_it_is_over(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        first = await engine.runs.start_run(start(key="a"))

        again = await other.runs.start_run(start(key="a"))
        (row,) = await claim(store)
        await finish(store, finished(row.run))
        much_later = await engine.runs.start_run(start(key="a"))

        assert (first.is_repeat, again, much_later) == (False, Started(run_id=first.run_id, is_repeat=True), again)
        assert await all_runs(store) == [first.run_id]

    @pytest.mark.spec("invariants:I-56")
    @pytest.mark.parametrize(
        "other", [{"input_hash": b"other"}, {"name": "refund"}, {"version": "2"}], ids=["input", "workflow", "version"]
    )
    async def test_a_key_used_for_something_else_is_a_conflict_and_creates_nothing(
        self, store: Store, clock: FakeClock, other: dict[str, Any]
    ) -> None:
        engine = engine_on(store, clock)
        first = await engine.runs.start_run(start(key="a"))

        with pytest.raises(AlreadyExists) as conflict:
            await engine.runs.start_run(start(key="a", **other))

        assert (conflict.value.owner, conflict.value.reason) == (first.run_id, "idempotency_conflict")
        assert await all_runs(store) == [first.run_id]

    async def test_an_expired_key_starts_a_new_run(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock, keys_expire_for=HOUR)
        first = await engine.runs.start_run(start(key="a"))

        clock.advance(HOUR - 1)
        repeat = await engine.runs.start_run(start(key="a"))
        clock.advance(1)
        second = await engine.runs.start_run(start(key="a", input_hash=b"other"))

        assert (repeat.run_id, repeat.is_repeat) == (first.run_id, True)
        assert not second.is_repeat
        assert await all_runs(store) == sorted([first.run_id, second.run_id], reverse=True)

    async def test_a_batch_with_duplicates_creates_one_run_per_key(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        await engine.runs.start_run(start(9, key="known"))

        found = await outcomes_of(
            [
                engine.runs.start_run(command)
                for command in (
                    start(1, key="a"),
                    start(2),
                    start(1, key="a"),
                    start(3, key="a"),
                    start(9, key="known"),
                    start(1, key="b"),
                    start(2),
                )
            ]
        )

        a, plain, a_again, conflict, known, b, plain_again = found
        assert (a.is_repeat, b.is_repeat, plain.is_repeat, plain_again.is_repeat) == (False, False, False, False)
        assert (a_again, known.is_repeat) == (Started(run_id=a.run_id, is_repeat=True), True)
        assert conflict is AlreadyExists
        assert len({a.run_id, b.run_id, plain.run_id, plain_again.run_id, known.run_id}) == len(await all_runs(store))

    @pytest.mark.spec("invariants:I-56")
    async def test_stores_that_start_the_same_keys_at_once_create_each_run_once(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = [engine_on(store, clock), engine_on(second_store, clock)]

        # In opposite orders: both must lock the keys in the same one.
        found: list[Started] = await asyncio.gather(
            *[
                engines[side].runs.start_run(start(number, key=f"key {number}"))
                for number in range(30)
                for side in (number % 2, 1 - number % 2)
            ]
        )

        for first, second in zip(found[::2], found[1::2], strict=True):
            assert first.run_id == second.run_id
            assert [first.is_repeat, second.is_repeat].count(False) == 1
        assert len(await all_runs(store)) == 30

    @pytest.mark.spec("invariants:I-12", "invariants:I-57")
    @pytest.mark.parametrize("key", [None, "a"])
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_start_whose_answer_was_lost_creates_one_run(
        self, store: Store, clock: FakeClock, key: str | None, point: str
    ) -> None:
        engine, hooks = engine_on(store, clock), record(store)
        hooks.at[point] = raising(Unavailable("cut"), times=2)

        started = await while_time_passes(clock, engine.runs.start_run(start(key=key)))

        assert not started.is_repeat
        assert await all_runs(store) == [started.run_id]
        assert hooks.count("before_begin") == 3

    async def test_a_start_keeps_what_it_was_asked_for(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        asked = start(key="a", version="2", queue="mail", priority=-7, delay_for=Duration(SECOND), input=b"\x00\xff")

        started = await engine.runs.start_run(asked)

        found = await engine.runs.find_run(NAMESPACE, "a")
        assert (found.run.id, found.key, found.input) == (started.run_id, "a", b"\x00\xff")
        assert (found.run.name, found.run.version, found.run.queue, found.run.priority) == ("invoice", "2", "mail", -7)
        assert found.run.available_at == clock.now() + SECOND
