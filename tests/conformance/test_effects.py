"""Is every event kept as it was published last, reserved whole, and followed to its end through failures and doubts?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import engine_on
from tests.lives.pipeline_hands import CHARGE, DONE, FOR, NAMESPACE, NO, ORDERS, PIPELINE, TIMEOUT, Hands, pipeline
from windlass.errors import ClaimLost, InvalidInput, WrongState
from windlass.model.effect import EffectStatus, Resolution
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline import (
    EffectOutcome,
    EventStatus,
    HandlerRun,
    HandlerStatus,
    Issue,
    Phase,
    PipelineStatus,
    Reservation,
)
from windlass.model.pipeline_commands import DecideHandler, ResolveEffect
from windlass.model.pipeline_work import BegunKind, ReserveOutcome, Task, TaskKind, Verdict
from windlass.model.time import MINUTE
from windlass.store.base import Store
from windlass.store.queries.pipeline_checks import PipelineChecks
from windlass.testing.clock import FakeClock

REFUSED = Failure(kind=FailureKind.PERMISSION, type="Refused", message="no grant")
GATED = replace(CHARGE, needs_approval=True)

Place = tuple[str, str, str]


def place(id: str) -> Place:
    return PIPELINE, ORDERS, id


class TestEffects:
    @pytest.fixture
    async def hands(self, store: Store, clock: FakeClock) -> Hands:
        """A worker of a pipeline whose consumer has looked at nothing once."""
        hands = Hands(engine_on(store, clock), "wrk_1")
        await hands.declare()
        await hands.commit(await prepared(hands), continues=False)
        return hands

    # Events

    @pytest.mark.spec("invariants:I-33")
    async def test_the_last_payload_counts_and_the_status_stays(self, hands: Hands) -> None:
        await hands.publish("a", payload=b"1")
        await hands.publish("a", payload=b"2")
        await hands.publish("a", payload=b"2")
        pending = (await hands.piped()).events[place("a")]
        task = await prepared(hands)
        await hands.publish("a", payload=b"3")
        reserved = (await hands.piped()).events[place("a")]
        await hands.commit(task, continues=False)
        await hands.publish("a", payload=b"4")
        consumed = (await hands.piped()).events[place("a")]

        assert [item.payload for item in (pending, reserved, consumed)] == [b"2", b"2", b"4"]
        assert (pending.seq, pending.version, reserved.version) == (1, 2, 3)
        assert [item.status for item in (pending, reserved, consumed)] == ["pending", "reserved", "consumed"]
        assert await hands.claim() is None
        await nothing_is_wrong(hands)

    @pytest.mark.spec("invariants:I-33", "invariants:I-41")
    async def test_what_was_replaced_under_an_attempt_is_what_the_next_one_sees(
        self, hands: Hands, clock: FakeClock
    ) -> None:
        await hands.publish("a", payload=b"1")
        task = await prepared(hands)
        await hands.publish("a", payload=b"2")
        await hands.stop(task)
        clock.advance(MINUTE)
        again = await prepared(hands)

        found = (await hands.piped()).events[place("a")]
        assert (found.payload, found.attempt, found.reserved_by) == (b"2", 2, again.run_id)

    @pytest.mark.spec("invariants:I-36")
    @pytest.mark.parametrize("wrong", ["unknown", "twice", "foreign", "consumed"])
    async def test_events_are_reserved_whole_or_not_at_all(self, hands: Hands, wrong: str) -> None:
        await hands.publish("old")
        await hands.commit(await prepared(hands), continues=False)
        await hands.publish("a")
        task = await claimed(hands)
        (good,) = await hands.pending()
        bad = {
            "unknown": Reservation(topic=ORDERS, id="nobody"),
            "twice": good,
            "foreign": Reservation(topic=DONE, id="a"),
            "consumed": Reservation(topic=ORDERS, id="old", version=1),
        }[wrong]

        with pytest.raises(InvalidInput):
            await hands.reserve(task, good, bad)

        rows = await hands.piped()
        assert rows.events[place("a")].status is EventStatus.PENDING
        assert (rows.runs[task.run_id].phase, rows.runs[task.run_id].reserved) == (Phase.PREPARING, ())
        assert (await hands.reserve(task, good)).outcome is ReserveOutcome.RESERVED

    async def test_an_event_that_changed_since_it_was_seen_is_not_reserved(self, hands: Hands) -> None:
        await hands.publish("a")
        task = await claimed(hands)
        seen = await hands.pending()
        await hands.publish("a", payload=b"2")

        assert (await hands.reserve(task, *seen)).outcome is ReserveOutcome.CHANGED
        assert (await hands.piped()).events[place("a")].status is EventStatus.PENDING
        assert (await hands.reserve(task, *await hands.pending())).outcome is ReserveOutcome.RESERVED

    # Calls that are repeated, because their answer was lost

    @pytest.mark.spec("invariants:I-57")
    async def test_every_call_of_a_holder_may_be_made_twice(self, hands: Hands) -> None:
        await hands.publish("a")
        await hands.publish("b")
        task = await claimed(hands)
        (first, *_) = await hands.pending()
        assert [(await hands.reserve(task, first)).outcome for _ in range(2)] == [ReserveOutcome.RESERVED] * 2
        assert [(await hands.begin(task)).kind for _ in range(2)] == [BegunKind.ENTER] * 2
        await hands.apply(task)
        await hands.apply(task)
        following = [await hands.commit(task, "a") for _ in range(2)]

        assert following[0] is not None
        assert [item and item.run_id for item in following] == [following[0].run_id] * 2
        rows = await hands.piped()
        assert [effect.status for effect in rows.effects] == [EffectStatus.APPLIED]
        assert [row.run.status for row in rows.run_rows][-2:] == [HandlerStatus.COMMITTED, HandlerStatus.ACTIVE]
        await nothing_is_wrong(hands)

    @pytest.mark.spec("invariants:I-57")
    async def test_a_stop_that_is_repeated_counts_once(self, hands: Hands) -> None:
        await hands.publish("a")
        task = await prepared(hands)
        told = [await hands.stop(task) for _ in range(2)]

        assert [item.pipeline.failures for item in told] == [1, 1]
        assert (await hands.piped()).events[place("a")].attempt == 2

    # What follows an attempt

    @pytest.mark.spec("invariants:I-38", "pipelines:86", "pipelines:91")
    @pytest.mark.parametrize("is_crash", [True, False])
    async def test_behind_its_effect_an_attempt_is_followed_with_what_it_found(
        self, hands: Hands, clock: FakeClock, is_crash: bool
    ) -> None:
        await hands.publish("a")
        task = await mutated(hands)
        if not is_crash:
            await hands.stop(task)
        clock.advance(FOR)
        following = await claimed(hands)

        assert (following.phase, following.outcome, following.result) == (Phase.EMITTING, EffectOutcome.SUCCESS, b"2")
        assert (following.data, [event.id for event in following.events]) == (b"1", ["a"])
        former = await run_of(hands, task)
        wanted = HandlerStatus.CRASHED if is_crash else HandlerStatus.PAUSED_TRANSIENT
        assert (former.status, (await run_of(hands, following)).retry_of) == (wanted, task.run_id)
        await hands.commit(following, continues=False)
        assert len((await hands.piped()).effects) == 1
        await nothing_is_wrong(hands)

    @pytest.mark.spec("invariants:I-39", "pipelines:90")
    async def test_an_effect_in_flight_is_asked_about_when_nobody_can_be_inside(
        self, hands: Hands, clock: FakeClock
    ) -> None:
        await hands.publish("a")
        await hands.begin(await prepared(hands))
        clock.advance(FOR)
        assert await hands.claim() is None
        rows = await hands.piped()
        clock.advance(TIMEOUT)
        asked = await claimed(hands)

        assert rows.pipelines[PIPELINE].status is PipelineStatus.RECONCILING
        assert [effect.status for effect in rows.effects] == [EffectStatus.NEEDS_RECONCILE]
        assert rows.events[place("a")].reserved_by == asked.run_id
        assert asked.kind is TaskKind.RECONCILE
        answer = await hands.reconcile(asked, did_not_happen=True)
        assert (answer.task.phase, (await hands.piped()).events[place("a")].status) == (Phase.PREPARING, "pending")
        await nothing_is_wrong(hands)

    async def test_what_was_refused_for_certain_is_called_again_with_what_was_prepared(self, hands: Hands) -> None:
        await hands.publish("a")
        task = await prepared(hands)
        await hands.begin(task)
        await hands.stop(task, REFUSED, verdict=Verdict.FAILED)
        held = (await hands.piped()).pipelines[PIPELINE]
        await hands.engine.pipeline_control.resume_pipeline(hands.steering())
        again = await claimed(hands)

        assert (held.status, held.issue) == (PipelineStatus.ATTENTION, Issue.PERMISSION)
        assert (again.phase, again.data, [event.id for event in again.events]) == (Phase.PREPARED, b"1", ["a"])
        assert (await hands.begin(again)).kind is BegunKind.ENTER
        await nothing_is_wrong(hands)

    # People

    @pytest.mark.spec("invariants:I-39")
    @pytest.mark.parametrize("resolution", Resolution)
    async def test_a_person_says_what_became_of_an_effect(
        self, hands: Hands, clock: FakeClock, resolution: Resolution
    ) -> None:
        await hands.publish("a")
        task = await prepared(hands)
        await hands.begin(task, has_reconcile=resolution is Resolution.TRY_AGAIN)
        await hands.stop(task, NO, verdict=Verdict.UNKNOWN)
        clock.advance(FOR + TIMEOUT)
        said = ResolveEffect(
            namespace=NAMESPACE, subject=PIPELINE, resolution=resolution, result=b"9", by="ann", note="asked"
        )
        await hands.engine.pipeline_control.resolve_effect(said)
        await hands.engine.pipeline_control.resolve_effect(said)  # the same word again
        following = await claimed(hands)

        wanted: dict[Resolution, tuple[Any, ...]] = {
            Resolution.HAPPENED: (TaskKind.HANDLE, Phase.EMITTING, EffectOutcome.SUCCESS, b"9"),
            Resolution.SKIP: (TaskKind.HANDLE, Phase.EMITTING, EffectOutcome.SKIPPED, None),
            Resolution.DID_NOT_HAPPEN: (TaskKind.HANDLE, Phase.PREPARING, None, None),
            Resolution.TRY_AGAIN: (TaskKind.RECONCILE, Phase.MUTATING, None, None),
        }
        assert (following.kind, following.phase, following.outcome, following.result) == wanted[resolution]
        if following.phase is Phase.EMITTING:
            await hands.commit(following, continues=False)
            status = (await hands.piped()).events[place("a")].status
            assert status is (EventStatus.SKIPPED if resolution is Resolution.SKIP else EventStatus.CONSUMED)
            with pytest.raises(WrongState):
                await hands.engine.pipeline_control.resolve_effect(said)
        await nothing_is_wrong(hands)

    @pytest.mark.parametrize("decision", ["approve", "reject", "release"])
    async def test_a_gate_pins_what_was_prepared_until_a_person_decides(
        self, store: Store, clock: FakeClock, decision: str
    ) -> None:
        gated = pipeline(PIPELINE, GATED)
        hands = Hands(engine_on(store, clock), "wrk_1", gated)
        await hands.declare()
        await hands.publish("a")
        task = await claimed(hands)
        assert (await hands.reserve(task, *await hands.pending())).outcome is ReserveOutcome.PARKED
        assert await hands.claim() is None
        decided = DecideHandler(
            namespace=NAMESPACE,
            name=PIPELINE,
            is_approved=decision == "approve",
            releases=decision == "release",
            by="ann",
        )
        await hands.engine.pipeline_control.decide_handler(decided)
        following = await hands.claim()

        event = (await hands.piped()).events[place("a")]
        if decision == "release":  # it has seen it, and begins again when there is news
            assert (following, event.status, event.attempt) == (None, EventStatus.PENDING, 2)
            await hands.publish("a", payload=b"2")
            assert await hands.claim() is not None
            return
        assert following is not None
        wanted = (task.run_id, Phase.PREPARED) if decision == "approve" else (following.run_id, Phase.EMITTING)
        assert (following.run_id, following.phase, event.status) == (*wanted, EventStatus.RESERVED)
        await nothing_is_wrong(hands)

    async def test_with_nobody_to_ask_a_person_is_told_at_once_and_heard_when_nobody_can_be_inside(
        self, hands: Hands, clock: FakeClock
    ) -> None:
        await hands.publish("a")
        await hands.begin(await prepared(hands), has_reconcile=False)
        clock.advance(FOR)
        other = Hands(hands.engine, "wrk_2")

        reconciled = await other.reconcile(await claimed(other), is_unknown=True)

        assert reconciled.needs_person
        row = (await hands.piped()).pipelines[PIPELINE]
        assert (row.status, row.issue) == (PipelineStatus.ATTENTION, Issue.INDETERMINATE)
        said = ResolveEffect(namespace=NAMESPACE, subject=PIPELINE, resolution=Resolution.DID_NOT_HAPPEN, by="ann")
        with pytest.raises(WrongState, match="still be inside"):
            await hands.engine.pipeline_control.resolve_effect(said)
        clock.advance(TIMEOUT)
        await hands.engine.pipeline_control.resolve_effect(said)

    async def test_a_yes_is_not_asked_for_again_because_a_claim_was_given_back(
        self, store: Store, clock: FakeClock
    ) -> None:
        """As a worker does that has no slot left, and a server whose answer is full."""
        hands = Hands(engine_on(store, clock), "wrk_1", pipeline(PIPELINE, GATED))
        await hands.declare()
        await hands.publish("a")
        await hands.reserve(await claimed(hands), *await hands.pending())
        decided = DecideHandler(namespace=NAMESPACE, name=PIPELINE, is_approved=True, by="ann")
        await hands.engine.pipeline_control.decide_handler(decided)
        first = await claimed(hands)
        await hands.release()
        second = await claimed(hands)

        assert (second.run_id, second.phase, second.attempt) == (first.run_id, Phase.PREPARED, 1)
        assert [event.id for event in second.events] == ["a"]
        assert (await run_of(hands, second)).decided_by == "ann"
        assert (await hands.begin(second)).kind is BegunKind.ENTER
        await nothing_is_wrong(hands)

    async def test_what_is_replaced_before_it_is_rejected_is_looked_at_again(
        self, store: Store, clock: FakeClock
    ) -> None:
        hands = Hands(engine_on(store, clock), "wrk_1", pipeline(PIPELINE, GATED))
        await hands.declare()
        await hands.publish("a")
        task = await claimed(hands)
        await hands.reserve(task, *await hands.pending())
        await hands.publish("a", payload=b"2")
        await hands.engine.pipeline_control.decide_handler(
            DecideHandler(namespace=NAMESPACE, name=PIPELINE, is_approved=False, releases=True, by="ann")
        )

        again = await claimed(hands)

        assert again.phase is Phase.PREPARING
        assert [item.version for item in await hands.pending()] == [3]  # the change, and that it was given back
        assert (await hands.piped()).events[place("a")].payload == b"2"

    @pytest.mark.spec("invariants:I-24")
    async def test_a_paused_pipeline_ends_what_is_at_work_and_begins_nothing(self, hands: Hands) -> None:
        await hands.publish("a")
        await hands.publish("b")
        task = await claimed(hands)
        await hands.reserve(task, (await hands.pending())[0])
        await hands.engine.pipeline_control.pause_pipeline(hands.steering())
        following = await hands.commit(task)
        nothing = await hands.claim()
        await hands.engine.pipeline_control.resume_pipeline(hands.steering())

        assert (following, nothing) == (None, None)
        assert await hands.claim() is not None

    async def test_whoever_gave_it_back_writes_nothing_more(self, hands: Hands) -> None:
        await hands.publish("a")
        task = await prepared(hands)
        await hands.release()

        with pytest.raises(ClaimLost):
            await hands.commit(task)
        rows = await hands.piped()
        assert rows.events[place("a")].status is EventStatus.PENDING
        assert rows.runs[task.run_id].status is HandlerStatus.CRASHED
        assert rows.pipelines[PIPELINE].recoveries == 0


async def claimed(hands: Hands) -> Task:
    task = await hands.claim()
    assert task is not None
    return task


async def prepared(hands: Hands) -> Task:
    task = await claimed(hands)
    await hands.reserve(task, *await hands.pending())
    return task


async def mutated(hands: Hands) -> Task:
    task = await prepared(hands)
    await hands.begin(task)
    await hands.apply(task)
    return task


async def run_of(hands: Hands, task: Task) -> HandlerRun:
    return (await hands.piped()).runs[task.run_id]


async def nothing_is_wrong(hands: Hands) -> None:
    store = hands.engine.parts.store
    assert await store.read("look", lambda tx: PipelineChecks(tx.connection).inconsistencies()) == []
