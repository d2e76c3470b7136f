"""Are signals armed, changed, paused, called off and forgotten once, and is what they fired treated as that says?

A signal is armed from a place in the log on. Whoever arms it holds its subject, so every transition comes before that
place, and may be told of, or behind it, and fires.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.given import (
    NAMESPACE,
    engine_on,
    outcomes_of,
    run_id,
    start,
    while_time_passes,
)
from tests.conformance.given_signals import (
    FOLLOW_UP,
    STARTS,
    entered,
    entries_of,
    fire,
    firings,
    log_of,
    move,
    new_item,
    on_any_item,
    on_item,
    on_run,
    on_workflow,
    seen,
    sends,
    standing,
    steer,
    tasks_of,
    watch,
    watching,
)
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import cancelling
from tests.conformance.test_graphs import job, open_graph, state_of
from windlass.engine.engine import Engine
from windlass.engine.signal.create import arm
from windlass.errors import AlreadyExists, InvalidInput, NotFound, Unavailable, WindlassError, WrongState
from windlass.model.item import DeleteItem
from windlass.model.signal import (
    Action,
    DeleteSignal,
    ListSignals,
    Signal,
    SignalId,
    Trigger,
    TriggerKind,
    UpdateSignal,
)
from windlass.model.time import HOUR, Duration
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

OTHER = "elsewhere"
POINTS = ["before_commit", "after_commit"]
NOBODY = "itm_" + "0" * 26


def forgetting(signal: Signal, **fields: Any) -> DeleteSignal:
    return DeleteSignal(namespace=signal.namespace, signal_id=signal.id, **fields)


def changing(signal: Signal, **fields: Any) -> UpdateSignal:
    return UpdateSignal(namespace=signal.namespace, signal_id=signal.id, **fields)


def every(span: int) -> Trigger:
    return Trigger(kind=TriggerKind.TIME, every=Duration(span))


async def ids(engine: Engine, **query: Any) -> list[SignalId]:
    page = await engine.signals.list_signals(ListSignals(namespace=NAMESPACE, **query))
    return [signal.id for signal in page.signals]


class TestSignals(EngineConformance):
    # Armed

    @pytest.mark.spec("signals:32")
    async def test_a_signal_counts_from_the_place_of_its_entry_on(self, engine: Engine, clock: FakeClock) -> None:
        item = await new_item(engine, state="doing")

        view = await engine.signals.create_signal(watching(on_item(item, "done", "blocked"), FOLLOW_UP, by="kim"))

        (entry,) = await entries_of(engine, "signal", view.signal.id)
        assert (entry.to_status, entry.cause, view.signal.armed_seq) == ("armed", "create", entry.seq)
        assert (view.state, view.already, view.queued, view.has_changed) == ("doing", False, 0, True)
        assert (view.signal.changed_by, view.signal.created_at) == ("kim", clock.now())
        assert view.signal.trigger.to == ("blocked", "done")
        assert await seen(engine, view.signal) == view.signal
        assert (await engine.items.get_item(NAMESPACE, item.id)).signals == 1

    @pytest.mark.spec("signals:32")
    async def test_whoever_moves_the_subject_holds_it_against_whoever_arms(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        run = (await engine.runs.start_run(start())).run_id

        async def hold(tx: Tx) -> None:
            assert await arm(tx, NAMESPACE, on_run(run, "failed")) is not None

        view = await meanwhile(second_store, hold, lambda: watch(engine, on_run(run, "cancelled")), until_blocked)
        await engine.control.cancel_run(cancelling(run))

        assert await entered(engine, view) == [(run, "cancelled")]

    async def test_what_is_so_already_is_said_and_does_not_count(self, engine: Engine) -> None:
        item = await new_item(engine, state="blocked")

        view = await engine.signals.create_signal(watching(on_item(item, "blocked"), FOLLOW_UP))

        assert (view.already, view.state, view.signal.status) == (True, "blocked", "armed")
        assert await firings(engine) == []
        await move(engine, item, "doing", "blocked")
        assert await entered(engine, view.signal) == [(item.id, "blocked")]

    async def test_one_whose_subject_is_over_for_good_is_resolved_at_once(self, engine: Engine) -> None:
        item = await new_item(engine, state="done")

        already, never = [
            await engine.signals.create_signal(watching(on_item(item, state))) for state in ("done", "failed")
        ]

        assert (already.already, already.signal.status) == (True, "resolved")
        assert (never.already, never.signal.status) == (False, "resolved")
        assert "was done already, for good; that does not count" in (already.signal.reason or "")
        assert "it enters no other state" in (never.signal.reason or "")
        assert await log_of(engine, never.signal) == [(None, "armed", "create"), ("armed", "resolved", "resolve")]

    @pytest.mark.parametrize(("repeats", "expected"), [(False, ["blocked"]), (True, ["blocked", "blocked", "done"])])
    async def test_since_the_beginning_what_the_log_holds_counts(
        self, engine: Engine, repeats: bool, expected: list[str]
    ) -> None:
        item = await move(engine, await new_item(engine, state="blocked"), "doing", "blocked", "doing", "done")

        view = await engine.signals.create_signal(
            watching(on_item(item, "blocked", "done"), FOLLOW_UP, repeats=repeats, since_beginning=True)
        )

        assert (view.already, view.queued, view.signal.status) == (False, len(expected), "armed")
        assert [row.to_status for row in await firings(engine, view.signal)] == expected
        await fire(engine)
        assert len(await tasks_of(engine, item)) == len(expected)

    async def test_a_pattern_or_a_time_has_no_beginning(self, engine: Engine) -> None:
        for trigger in (on_workflow("invoice", "failed"), on_any_item("done"), every(HOUR)):
            with pytest.raises(InvalidInput) as refused:
                await watch(engine, trigger, since_beginning=True)
            assert refused.value.path == "since"

    @pytest.mark.spec("signals:13", "signals:22")
    @pytest.mark.parametrize(
        ("trigger", "action", "error"),
        [
            (on_item(NOBODY, "done"), FOLLOW_UP, NotFound),
            (on_run(run_id(777), "failed"), STARTS, NotFound),
            (Trigger(kind=TriggerKind.PIPELINE, subject="nobodys", to=("idle",)), STARTS, NotFound),
            (on_workflow("unheard_of", "failed"), Action(), NotFound),
            (on_any_item("done"), STARTS, NotFound),
            (on_any_item("done"), sends(run_id(777)), NotFound),
            (on_any_item("dun"), Action(), InvalidInput),
            (on_run(run_id(777), "failed"), FOLLOW_UP, InvalidInput),
        ],
        ids=str,
    )
    async def test_what_cannot_be_watched_or_done_is_refused_and_nothing_is_written(
        self, engine: Engine, trigger: Trigger, action: Action, error: type[WindlassError]
    ) -> None:
        with pytest.raises(error):
            await watch(engine, trigger, action, allow_unknown=False)

        assert await ids(engine) == []

    async def test_a_run_is_watched_as_what_it_is(self, engine: Engine, store: Store) -> None:
        graph = await open_graph(engine, job("first"))
        run = (await engine.runs.start_run(start(2))).run_id
        first = (await state_of(store, graph, "first")).run.id
        # A run becomes a graph when it is claimed, and may be watched as one before.
        kinds = {TriggerKind.RUN: {graph, run, first}, TriggerKind.GRAPH: {graph, run}, TriggerKind.JOB: {first}}

        for kind, own in kinds.items():
            for id in (graph, run, first):
                asked = watch(engine, on_run(id, "failed", kind=kind))
                (found,) = await outcomes_of([asked])
                assert (found is InvalidInput) == (id not in own), (kind, id)

    async def test_nothing_is_sent_to_a_run_that_is_over(self, engine: Engine) -> None:
        run = (await engine.runs.start_run(start())).run_id
        await engine.control.cancel_run(cancelling(run))

        with pytest.raises(WrongState):
            await watch(engine, on_any_item("done"), sends(run))

    # Known again

    async def test_the_same_key_is_the_same_signal_unless_it_is_another(self, engine: Engine) -> None:
        item = await new_item(engine)
        signal = await watch(engine, on_item(item, "done"), FOLLOW_UP, key="follow")

        again = await engine.signals.create_signal(watching(on_item(item, "done"), FOLLOW_UP, key="follow"))

        assert (again.signal.id, again.has_changed) == (signal.id, False)
        for asked in (
            watching(on_item(item, "failed"), FOLLOW_UP, key="follow"),
            watching(on_item(item, "done"), key="follow"),
            watching(on_item(item, "done"), FOLLOW_UP, key="follow", repeats=True),
            watching(on_item(item, "done"), FOLLOW_UP, key="follow", payload=b"1"),
        ):
            with pytest.raises(AlreadyExists) as refused:
                await engine.signals.create_signal(asked)
            assert refused.value.owner == signal.id
        assert await ids(engine) == [signal.id]

    async def test_of_many_who_create_the_same_one_does(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engines = [engine_on(store, clock), engine_on(second_store, clock)]
        item = await new_item(engines[0])

        made = await asyncio.gather(*(watch(engine, on_item(item, "done"), key="one") for engine in engines * 4))

        assert len({signal.id for signal in made}) == 1
        assert len(await entries_of(engines[0], "signal", made[0].id)) == 1

    @pytest.mark.parametrize("point", POINTS)
    async def test_a_signal_whose_answer_was_lost_is_armed_once(
        self, engine: Engine, store: Store, clock: FakeClock, point: str
    ) -> None:
        item = await new_item(engine)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        signal = await while_time_passes(clock, watch(engine, on_item(item, "done")))

        assert await ids(engine) == [signal.id]
        assert await log_of(engine, signal) == [(None, "armed", "create")]

    # Paused, resumed, armed anew, called off

    async def test_a_pause_holds_what_was_fired_and_a_resume_lets_it_go(self, engine: Engine, clock: FakeClock) -> None:
        item = await new_item(engine, state="doing")
        signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP, repeats=True)
        await move(engine, item, "blocked")

        paused = await steer(engine, signal, "pause", by="kim", note="lunch")
        await move(engine, item, "doing", "blocked")

        assert (paused.signal.status, paused.signal.reason, paused.queued) == ("paused", "lunch", 1)
        assert [row.available_at for row in await firings(engine, signal)] == [None, None]
        await fire(engine)
        assert await standing(engine, signal) == ["queued", "queued"]
        resumed = await steer(engine, signal, "resume")
        assert (resumed.signal.status, resumed.signal.reason) == ("armed", None)
        assert [row.available_at for row in await firings(engine, signal)] == [clock.now()] * 2
        await fire(engine)
        assert len(await tasks_of(engine, item)) == 2
        assert [to for _, to, _ in await log_of(engine, signal)] == ["armed", "paused", "armed", "armed", "armed"]

    async def test_what_is_asked_again_changes_nothing(self, engine: Engine) -> None:
        item = await new_item(engine)
        signal = await watch(engine, on_item(item, "done"))

        changed = [
            (await steer(engine, signal, verb)).has_changed for verb in ("resume", "pause", "pause", "cancel", "cancel")
        ]

        assert changed == [False, True, False, True, False]
        assert [cause for _, _, cause in await log_of(engine, signal)] == ["create", "pause", "cancel"]
        with pytest.raises(WrongState):
            await steer(engine, signal, "resume")

    async def test_one_that_has_fired_is_armed_anew_from_there_on(self, engine: Engine) -> None:
        item = await new_item(engine, state="doing")
        signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP)
        await move(engine, item, "blocked")
        await fire(engine)
        await move(engine, item, "doing", "blocked", "doing")

        armed = (await steer(engine, signal, "resume")).signal
        await fire(engine)

        assert (armed.status, armed.fired) == ("armed", 1)
        assert armed.armed_seq == (await entries_of(engine, "signal", signal.id))[-1].seq
        assert len(await tasks_of(engine, item)) == 1
        await move(engine, item, "blocked")
        await fire(engine)
        assert len(await tasks_of(engine, item)) == 2
        assert (await seen(engine, signal)).fired == 2

    async def test_a_cancel_ends_what_nobody_has_worked(self, engine: Engine, clock: FakeClock) -> None:
        item = await new_item(engine, state="doing")
        signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP)
        await move(engine, item, "blocked")

        await steer(engine, signal, "cancel", note="enough")
        await move(engine, item, "doing", "blocked")
        await fire(engine)

        (row,) = await firings(engine, signal)
        assert (row.status, row.error, row.ended_at) == ("superseded", "its signal was cancelled", clock.now())
        assert await tasks_of(engine, item) == ()

    async def test_a_deleted_signal_is_gone_with_what_it_fired(self, engine: Engine) -> None:
        item = await new_item(engine, state="doing")
        signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP, key="k")
        await move(engine, item, "blocked")

        await engine.signals.delete_signal(forgetting(signal))
        await fire(engine)

        assert await firings(engine) == []
        assert await tasks_of(engine, item) == ()
        with pytest.raises(NotFound):
            await seen(engine, signal)
        assert (await log_of(engine, signal))[-1] == ("armed", "deleted", "delete")
        with pytest.raises(NotFound):
            await engine.signals.delete_signal(forgetting(signal))
        await engine.signals.delete_signal(forgetting(signal, is_again=True))
        assert (await watch(engine, on_item(item, "blocked"), FOLLOW_UP, key="k")).id != signal.id

    async def test_what_was_fired_before_its_subject_was_deleted_is_still_worked(self, engine: Engine) -> None:
        item = await new_item(engine, state="doing")
        signals = [await watch(engine, on_item(item, "blocked"), STARTS) for _ in range(2)]
        await steer(engine, signals[1], "pause")
        await move(engine, item, "blocked")

        await engine.items.delete_item(DeleteItem(namespace=NAMESPACE, item_id=item.id))
        await fire(engine)

        for signal in signals:
            stands = await seen(engine, signal)
            assert (stands.status, stands.fired, stands.reason) == ("resolved", 1, f"item {item.id} was deleted")
            assert await standing(engine, signal) == ["done"]

    # Changed

    @pytest.mark.spec("signals:52")
    async def test_a_change_counts_from_then_on(self, engine: Engine) -> None:
        item = await new_item(engine, state="doing")
        signal = await watch(engine, on_item(item, "blocked"), FOLLOW_UP)

        view = await engine.signals.update_signal(
            changing(signal, to=("ready",), payload=b'"x"', repeats=True, by="kim")
        )
        await move(engine, item, "blocked", "ready", "doing", "ready")

        assert (view.has_changed, view.signal.trigger.to, view.signal.changed_by) == (True, ("ready",), "kim")
        assert await entered(engine, signal) == [(item.id, "ready")] * 2
        await fire(engine)
        assert [task.data for task in await tasks_of(engine, item)] == [b'"x"', b'"x"']
        again = await engine.signals.update_signal(changing(signal, to=("ready",), payload=b'"x"', repeats=True))
        assert not again.has_changed
        with pytest.raises(InvalidInput):
            await engine.signals.update_signal(changing(signal, to=("reddy",)))
        await steer(engine, signal, "cancel")
        with pytest.raises(WrongState):
            await engine.signals.update_signal(changing(signal, repeats=False))
