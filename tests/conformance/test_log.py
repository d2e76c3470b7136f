"""Is everything that happens noted once, in order, with what it was and what it became?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    VISIBLE_FOR,
    claim,
    claim_one,
    create,
    engine_on,
    finished,
    held,
    holding,
    log,
    new_run,
    resuming,
    run_id,
    start,
)
from tests.conformance.hooks import raising, record
from tests.conformance.test_waits import sleeping, suspended
from windlass.model.run import RunId
from windlass.model.time import MINUTE, SECOND, Instant
from windlass.store.base import Store
from windlass.store.queries.log import NewLogEntry
from windlass.testing.clock import FakeClock


def entry(cause: str, **fields: Any) -> NewLogEntry:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "subject_kind": "run",
        "subject_id": run_id(1),
        "from_status": None,
        "to_status": "pending",
        "cause": cause,
    }
    return NewLogEntry(**(values | fields))


async def append(store: Store, *entries: NewLogEntry) -> None:
    await store.run_tx("append", lambda tx: tx.log.append(entries))


class TestLog:
    async def test_entries_come_back_as_they_were_written(self, store: Store, clock: FakeClock) -> None:
        await append(
            store, entry("a"), entry("b", from_status="pending", to_status="running", at=Instant(7), data=b"\0")
        )

        first, second = await log(store)

        assert (first.namespace, first.subject_kind, first.subject_id) == (NAMESPACE, "run", run_id(1))
        assert (first.from_status, first.to_status, first.at, first.data) == (None, "pending", clock.now(), None)
        assert (second.from_status, second.to_status, second.cause) == ("pending", "running", "b")
        assert (second.at, second.data) == (7, b"\0")

    async def test_a_subject_is_read_in_the_order_it_was_written(self, store: Store, second_store: Store) -> None:
        for number in range(20):
            await append((store, second_store)[number % 2], entry(f"{number}a"), entry(f"{number}b"))

        found = await log(store)

        assert [item.cause for item in found] == [f"{number}{half}" for number in range(20) for half in "ab"]
        numbers = [item.seq for item in found]
        assert numbers == sorted(set(numbers))

    async def test_a_subject_is_known_by_namespace_kind_and_id(self, store: Store) -> None:
        await append(
            store,
            entry("mine"),
            entry("other run", subject_id=run_id(2)),
            entry("other kind", subject_kind="schedule"),
            entry("other namespace", namespace="other"),
        )

        assert [item.cause for item in await log(store)] == ["mine"]

    async def test_what_is_undone_was_never_noted(self, store: Store) -> None:
        record(store).at["before_commit"] = raising(LookupError("on purpose"), times=1)

        with pytest.raises(LookupError):
            await append(store, entry("undone"))

        assert await log(store) == []

    @pytest.mark.spec("invariants:I-10")
    async def test_a_life_is_a_path_with_one_entry_for_each_step_of_it(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        id = RunId((await engine.runs.start_run(start())).run_id)
        run = await claim_one(engine, 1)
        await engine.work.suspend_run(suspended(run, waits=(sleeping(run, due_for=MINUTE),)))
        clock.advance(MINUTE)
        run = await claim_one(engine, 2)
        clock.advance(VISIBLE_FOR)
        run = await claim_one(engine, 3, worker=OTHER_WORKER)
        await engine.work.release_run(held(run))
        run = await claim_one(engine, 4)
        await engine.work.hold_run(holding(run))
        await engine.control.resume_run(resuming(id))
        clock.advance(SECOND)
        run = await claim_one(engine, 5)
        await engine.work.finish_run(finished(run))

        found = await engine.runs.read_log(NAMESPACE, id)

        assert [(item.to_status, item.cause) for item in found] == [
            ("pending", "start"),
            ("running", "claim"),
            ("sleeping", "sleep"),
            ("running", "claim"),
            ("running", "recover"),
            ("pending", "release"),
            ("running", "claim"),
            ("paused", "mismatch"),
            ("pending", "resume"),
            ("running", "claim"),
            ("completed", "finish"),
        ]
        assert [item.from_status for item in found] == [None, *(item.to_status for item in found[:-1])]
        assert [item.at for item in found] == sorted(item.at for item in found)
        assert (found[0].at, found[-1].at) == (clock.now() - MINUTE - VISIBLE_FOR - SECOND, clock.now())

    async def test_every_row_of_a_batch_is_noted(self, store: Store, clock: FakeClock) -> None:
        await create(store, *[new_run(number) for number in range(50)])
        await claim(store)

        for number in (0, 17, 49):
            found = await log(store, number)
            assert [(item.from_status, item.to_status) for item in found] == [(None, "pending"), ("pending", "running")]
            assert [item.at for item in found] == [clock.now()] * 2
