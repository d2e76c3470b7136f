"""Is what signals have fired claimed by one, worked once, tried again as often as it may be, and never lost?

claim     token + 1, attempt + 1, for a minute
work      only under that token, in one transaction with its effect
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import NAMESPACE, engine_on, start, while_time_passes
from tests.conformance.given_signals import (
    FOLLOW_UP,
    STARTS,
    entries_of,
    fire,
    firings,
    log_of,
    move,
    new_item,
    on_any_item,
    on_item,
    on_workflow,
    seen,
    sends,
    standing,
    steer,
    tasks_of,
    watch,
)
from tests.conformance.hooks import raising, record
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import cancelling
from tests.invariants.evidence import take_snapshot
from windlass.engine.engine import Engine
from windlass.engine.signal.reconcile import reconcile
from windlass.engine.signal.work import claim_firings, work_firings
from windlass.errors import Unavailable, WindlassError
from windlass.model.feed import Place
from windlass.model.namespace import CreateNamespace
from windlass.model.signal import CLAIM_FOR, FiringRow, FiringStatus, Signal, SignalStatus, Trigger, TriggerKind
from windlass.model.time import HOUR, MINUTE, SECOND, Instant
from windlass.rules import signals as rules
from windlass.store.base import Store, Tx
from windlass.store.queries.firings import NewFiring
from windlass.testing.clock import FakeClock

FIRST, SECOND_ONE = "wrk_first", "wrk_second"


async def fired(engine: Engine, count: int = 1, **fields: Any) -> list[Signal]:
    """Signals that have fired, and of which nobody has worked anything."""
    signals = []
    for _ in range(count):
        item = await new_item(engine, state="doing")
        signals.append(await watch(engine, on_item(item, "blocked"), **({"action": FOLLOW_UP} | fields)))
        await move(engine, item, "blocked")
    return signals


async def the_firing(engine: Engine, signal: Signal) -> FiringRow:
    (row,) = await firings(engine, signal)
    return row


def another(signal: Signal, *, cause: str) -> NewFiring:
    """Of the same signal, about something else."""
    return NewFiring(
        namespace=NAMESPACE,
        signal_id=signal.id,
        cause=cause,
        subject_kind="item",
        subject_id="another",
        from_status=None,
        to_status="other",
        happened_at=Instant(1),
        available_at=None,
    )


async def save(store: Store, after: FiringRow, was: FiringRow) -> None:
    await store.run_tx("save", lambda tx: tx.firings.save([(after, was)]))


async def cursor(store: Store) -> Place | None:
    return await store.run_tx("cursor", lambda tx: tx.watch.lock_cursor(NAMESPACE))


async def forget_firings(store: Store, signal: Signal) -> None:
    """By hand, as no command does."""

    async def delete(tx: Tx) -> None:
        await tx.connection.run("delete_firings_of_signal", namespace=signal.namespace, signal_id=signal.id)

    await store.run_tx("forget", delete)


def replaced(place: Place, *, xid: int = 0, seq: int = 0) -> Place:
    return Place(place.xid + xid, place.seq + seq)


def timed(**fields: Any) -> Trigger:
    return Trigger(kind=TriggerKind.TIME, **fields)


class TestFirings(EngineConformance):
    # Written once

    @pytest.mark.spec("signals:9", "signals:28", "signals:29", "signals:34", "signals:47", "signals:48")
    @pytest.mark.spec("invariants:I-46")
    async def test_a_firing_that_is_written_again_is_one(self, engine: Engine, store: Store) -> None:
        (signal,) = await fired(engine)
        row = await the_firing(engine, signal)
        again = another(signal, cause=row.cause)

        for _ in range(2):
            await store.run_tx("again", lambda tx: tx.firings.insert([again, again]))

        assert await firings(engine) == [row]
        await fire(engine)
        await store.run_tx("again", lambda tx: tx.firings.insert([again]))
        assert (await the_firing(engine, signal)).status == "done"

    @pytest.mark.spec("security:45")
    async def test_a_firing_without_a_cause_is_refused(self, engine: Engine, store: Store) -> None:
        (signal,) = await fired(engine)
        firing = await the_firing(engine, signal)
        nameless = another(signal, cause="")

        with pytest.raises(WindlassError):
            await store.run_tx("nameless", lambda tx: tx.firings.insert([nameless]))

        assert await firings(engine, signal) == [firing]

    @pytest.mark.spec("signals:30", "signals:44")
    async def test_the_cause_is_the_number_of_the_very_transition(self, engine: Engine) -> None:
        (signal,) = await fired(engine)

        row = await the_firing(engine, signal)

        entry = (await entries_of(engine, "item", row.subject_id))[-1]
        assert (row.cause, row.id) == (str(entry.seq), f"{signal.id}.{entry.seq}")

    # Claimed

    @pytest.mark.spec("signals:26", "signals:27", "signals:35")
    async def test_a_claim_has_a_holder_a_token_and_an_end(self, engine: Engine, clock: FakeClock) -> None:
        (signal,) = await fired(engine)

        (claimed,) = await claim_firings(engine.parts, worker=FIRST, batch=10)

        row = await the_firing(engine, signal)
        assert row == claimed
        assert (row.status, row.worker, row.token, row.attempt) == ("running", FIRST, 1, 1)
        assert row.available_at == clock.now() + CLAIM_FOR
        assert await claim_firings(engine.parts, worker=SECOND_ONE, batch=10) == []
        clock.advance(CLAIM_FOR)
        (again,) = await claim_firings(engine.parts, worker=SECOND_ONE, batch=10)
        assert (again.worker, again.token, again.attempt) == (SECOND_ONE, 2, 2)

    @pytest.mark.spec("signals:49")
    async def test_two_coordinators_never_get_the_same_firing(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        one, other = engine_on(store, clock), engine_on(second_store, clock)
        await fired(one, 20)

        claims = await asyncio.gather(
            *(claim_firings(engine.parts, worker=engine.parts.ids.worker(), batch=3) for engine in (one, other) * 5)
        )

        got = [row.id for rows in claims for row in rows]
        assert len(got) == len(set(got))
        assert {row.token for rows in claims for row in rows} == {1}
        assert max(len(rows) for rows in claims) <= 3

    @pytest.mark.spec("signals:18")
    async def test_a_tick_takes_no_more_than_its_batch(self, engine: Engine, store: Store) -> None:
        await fired(engine, 7)
        recorder = record(store)

        counts = [await work_firings(engine.parts, worker=FIRST, batch=3) for _ in range(4)]

        assert counts == [3, 3, 1, 0]
        assert recorder.commits <= 8

    async def test_what_was_fired_first_is_claimed_first(self, engine: Engine, clock: FakeClock) -> None:
        signals = []
        for _ in range(4):
            clock.advance(SECOND)
            signals += await fired(engine)

        claimed = await claim_firings(engine.parts, worker=FIRST, batch=2)

        assert [row.signal_id for row in claimed] == [signal.id for signal in signals[:2]]

    async def test_what_is_held_back_or_of_a_closed_namespace_is_not_claimed(
        self, engine: Engine, store: Store, clock: FakeClock
    ) -> None:
        await engine.namespaces.create_namespace(CreateNamespace(name="closed"))
        item = await new_item(engine, state="doing", namespace="closed")
        await watch(engine, on_item(item, "blocked"), namespace="closed")
        await move(engine, item, "blocked")
        (held,) = await fired(engine)
        await steer(engine, held, "pause")
        await engine.namespaces.set_enabled("closed", is_enabled=False)

        assert await claim_firings(engine.parts, worker=FIRST, batch=10) == []
        assert await store.read("next", lambda tx: tx.watch.next()) is None
        await engine.namespaces.set_enabled("closed", is_enabled=True)
        assert await store.read("next", lambda tx: tx.watch.next()) == clock.now()
        assert len(await claim_firings(engine.parts, worker=FIRST, batch=10)) == 1

    # Fenced

    @pytest.mark.spec("signals:26", "signals:37", "signals:38")
    @pytest.mark.parametrize("status", [FiringStatus.DONE, FiringStatus.QUEUED, FiringStatus.FAILED])
    async def test_a_stale_token_changes_nothing(
        self, engine: Engine, store: Store, clock: FakeClock, status: FiringStatus
    ) -> None:
        (signal,) = await fired(engine)
        (old,) = await claim_firings(engine.parts, worker=FIRST, batch=1)
        clock.advance(CLAIM_FOR)
        await claim_firings(engine.parts, worker=SECOND_ONE, batch=1)
        now = await the_firing(engine, signal)

        is_over = status is not FiringStatus.QUEUED
        ended_at = Instant(clock.now()) if is_over else None
        await save(store, replace(old, status=status, worker=None, available_at=None, ended_at=ended_at), old)

        assert await the_firing(engine, signal) == now

    async def test_what_is_over_is_written_no_more_whatever_the_token(self, engine: Engine, store: Store) -> None:
        (signal,) = await fired(engine)
        await fire(engine)
        done = await the_firing(engine, signal)

        await save(store, replace(done, status=FiringStatus.QUEUED, ended_at=None), done)

        assert await the_firing(engine, signal) == done

    @pytest.mark.spec("signals:39", "invariants:I-48")
    @pytest.mark.parametrize("status", [status for status in SignalStatus if status is not SignalStatus.ARMED])
    async def test_a_signal_flips_from_armed_only(
        self, engine: Engine, store: Store, clock: FakeClock, status: SignalStatus
    ) -> None:
        (signal,) = await fired(engine)
        was = replace(await seen(engine, signal), status=status)
        await store.run_tx("write", lambda tx: tx.signals.save([was]))
        after = rules.fired(replace(was, status=SignalStatus.ARMED), now=Instant(clock.now()))

        await store.run_tx("flip", lambda tx: tx.signals.count_firings([(after, was)]))

        assert await seen(engine, signal) == was

    # Worked

    @pytest.mark.spec("signals:10", "signals:11", "signals:40", "signals:41", "signals:42", "invariants:I-47")
    async def test_task_signal_firing_and_announcement_are_one_commit(
        self, engine: Engine, store: Store, clock: FakeClock
    ) -> None:
        (signal,) = await fired(engine, payload=b'{"why":"blocked"}')
        clock.advance(MINUTE)
        recorder = record(store)

        await work_firings(engine.parts, worker=FIRST, batch=10)

        assert [name for point, name in recorder.seen if point == "after_commit"] == ["claim_firings", "work_firings"]
        row, stands = await the_firing(engine, signal), await seen(engine, signal)
        (task,) = (await take_snapshot(store, at=0, life=0)).watched.tasks
        assert (task.firing_id, task.data, task.status, task.title) == (row.id, signal.payload, "queued", "Look at it")
        assert (row.status, row.error, row.task_id, row.ended_at) == ("done", None, task.id, clock.now())
        assert (stands.status, stands.fired, stands.last_fired_at) == ("fired", 1, clock.now())
        assert (await log_of(engine, signal))[-1] == ("armed", "fired", "fire")

    @pytest.mark.spec("signals:2", "invariants:I-46", "invariants:I-47")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    @pytest.mark.parametrize("name", ["claim_firings", "work_firings"])
    async def test_work_whose_answer_was_lost_is_done_once(
        self, engine: Engine, store: Store, clock: FakeClock, name: str, point: str
    ) -> None:
        (signal,) = await fired(engine)
        recorder, cut = record(store), raising(Unavailable("cut"), times=1)
        recorder.at[point] = lambda: cut() if recorder.seen[-1][1] == name else None

        await while_time_passes(clock, work_firings(engine.parts, worker=FIRST, batch=10))
        clock.advance(CLAIM_FOR)  # of a claim whose answer was lost
        await fire(engine)

        row = await the_firing(engine, signal)
        assert len((await take_snapshot(store, at=0, life=0)).watched.tasks) == 1
        assert (row.status, (await seen(engine, signal)).fired) == ("done", 1)

    async def test_one_that_cannot_be_worked_keeps_no_other(self, engine: Engine) -> None:
        run = (await engine.runs.start_run(start())).run_id
        good, bad = await fired(engine, 3), await fired(engine, action=sends(run))
        good += await fired(engine, 2)
        await engine.control.cancel_run(cancelling(run))

        await work_firings(engine.parts, worker=FIRST, batch=100)

        assert [await standing(engine, signal) for signal in good] == [["done"]] * 5
        assert await standing(engine, bad[0]) == ["failed"]

    async def test_whoever_dies_at_every_attempt_is_given_up(self, engine: Engine, clock: FakeClock) -> None:
        (signal,) = await fired(engine)
        for _ in range(5):
            assert len(await claim_firings(engine.parts, worker=FIRST, batch=1)) == 1
            clock.advance(CLAIM_FOR)

        await fire(engine)

        row, stands = await the_firing(engine, signal), await seen(engine, signal)
        assert (row.status, row.attempt, row.ended_at) == ("failed", 6, clock.now())
        assert "gave up after 5 attempts" in (row.error or "")
        assert (stands.status, stands.reason) == ("paused", row.error)
        assert (await log_of(engine, signal))[-1] == ("armed", "paused", "give_up")

    # Times

    @pytest.mark.spec("signals:15")
    async def test_a_time_is_one_firing_whoever_looks(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = [engine_on(store, clock), engine_on(second_store, clock)]
        at = Instant(clock.now() + HOUR)
        signal = await watch(engines[0], timed(at=at), STARTS)
        assert await store.read("next", lambda tx: tx.watch.next()) == at
        clock.advance(HOUR)

        await asyncio.gather(*(fire(engine) for engine in engines * 3))

        row = await the_firing(engines[0], signal)
        assert (row.cause, row.subject_kind, row.happened_at, row.status) == (str(at), "time", at, "done")
        assert row.run_id is not None
        assert await store.read("next", lambda tx: tx.watch.next()) is None

    # The log, once more

    @pytest.mark.spec("signals:16", "signals:33", "signals:48", "invariants:I-49")
    @pytest.mark.parametrize("kind", ["workflow", "items"])
    async def test_what_a_transition_has_overlooked_is_found_in_the_log(
        self, engine: Engine, store: Store, kind: str
    ) -> None:
        trigger = on_workflow("invoice", "cancelled") if kind == "workflow" else on_any_item("ready")
        signal = await watch(engine, trigger)
        for number in range(3):
            await engine.control.cancel_run(cancelling((await engine.runs.start_run(start(number))).run_id))
            await new_item(engine, state="ready")
        noticed = await firings(engine, signal)
        await forget_firings(store, signal)

        await reconcile(engine.parts, NAMESPACE)

        assert [row.id for row in await firings(engine, signal)] == [row.id for row in noticed]
        assert [row.to_status for row in await firings(engine, signal)] == list(trigger.to) * 3
        await forget_firings(store, signal)
        await reconcile(engine.parts, NAMESPACE)  # the log behind the cursor is not gone through again
        assert await firings(engine, signal) == []

    @pytest.mark.spec("signals:33", "signals:48", "invariants:I-46")
    async def test_the_log_examined_adds_nothing_that_is_there(self, engine: Engine) -> None:
        signal = await watch(engine, on_any_item("ready"), FOLLOW_UP)
        items = [await new_item(engine, state="ready") for _ in range(3)]
        await work_firings(engine.parts, worker=FIRST, batch=2)
        there = await firings(engine, signal)

        examined = [await reconcile(engine.parts, NAMESPACE) for _ in range(2)]

        assert examined[0].entries > examined[1].entries == 0
        assert [row.status for row in there] == ["done", "done", "queued"]
        assert await firings(engine, signal) == there
        await fire(engine)
        assert [len(await tasks_of(engine, item)) for item in items] == [1, 1, 1]

    async def test_the_cursor_never_goes_back(self, engine: Engine, store: Store) -> None:
        signal = await watch(engine, on_any_item("ready"))
        assert await cursor(store) == Place(signal.armed_xid, signal.armed_seq)
        await new_item(engine, state="ready")
        await fire(engine)
        examined = await cursor(store)
        assert examined is not None
        assert examined > Place(signal.armed_xid, signal.armed_seq)

        async def go_back(tx: Tx) -> None:
            for place in (Place(0, 0), replaced(examined, seq=-1), replaced(examined, xid=-1, seq=9)):
                await tx.watch.move_cursor(NAMESPACE, place)

        await store.run_tx("back", go_back)
        await watch(engine, on_any_item("done"))

        assert await cursor(store) == examined
