"""Is what was sent to a run kept until it is received, received once, and decided once?"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.conformance.given import (
    NAMESPACE,
    WORKER,
    claim_one,
    engine_on,
    run_id,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import (
    OVER,
    deed,
    event_wait,
    found,
    parking,
    path,
    pausing,
    run_in,
    sending,
    wait_for,
)
from windlass.engine.engine import Engine
from windlass.errors import AlreadyExists, InvalidInput, NotFound, Unavailable, WrongState
from windlass.model.commands import Decide
from windlass.model.message import Decision, MessageKind
from windlass.model.run import Deed, Run, RunId, RunStatus
from windlass.model.step import StepKind
from windlass.model.time import HOUR
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock


def deciding(id: RunId, is_approved: bool = True, **fields: Any) -> Decide:
    return Decide(namespace=NAMESPACE, run_id=id, is_approved=is_approved, **fields)


async def asking(engine: Engine, *keys: str, **fields: Any) -> Run:
    """A run that waits for an approval under each of these keys."""
    run = await run_in(engine, RunStatus.RUNNING)
    waits = [wait_for(run, StepKind.APPROVAL, key, awaits="Ship it?", **fields) for key in keys or ("approval",)]
    assert (await engine.work.suspend_run(parking(run, *waits))).is_parked
    return await found(engine, run.id)


async def received(engine: Engine, *keys: str, number: int = 2) -> dict[str, bytes | None]:
    """Claim the run and let it stand at these waits: what has come for each."""
    run = await claim_one(engine, number)
    answer = await engine.work.suspend_run(parking(run, also=keys, order=10 * number))
    return {item.key: item.output for item in answer.settled}


async def decision_of(engine: Engine, key: str = "approval") -> Decision:
    return msgspec.json.decode((await received(engine, key))[key] or b"", type=Decision)


class TestMessages(EngineConformance):
    # Events

    @pytest.mark.parametrize("status", [RunStatus.PENDING, RunStatus.SLEEPING, RunStatus.RUNNING, RunStatus.PAUSED])
    async def test_what_is_sent_is_kept_until_somebody_waits_for_it(self, engine: Engine, status: RunStatus) -> None:
        run = await run_in(engine, status)

        assert not (await engine.control.send_event(sending(run.id))).is_repeat

        assert await found(engine, run.id) == run
        (message,) = await engine.runs.list_messages(NAMESPACE, run.id)
        assert (message.name, message.payload, message.taken_by) == ("paid", b"7", None)

    async def test_an_event_wakes_the_run_that_waits_for_it_and_is_received_once(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        run = await run_in(engine, RunStatus.WAITING)

        await engine.control.send_event(sending(run.id))

        woken = await found(engine, run.id)
        assert (woken.status, woken.available_at) == (RunStatus.PENDING, clock.now())
        assert (await path(engine, run.id))[-1] == ("waiting", "pending", "event")
        again = await claim_one(engine, 2)
        first = await engine.work.suspend_run(parking(again, also=("paid",)))
        second = await engine.work.suspend_run(parking(again, event_wait(again, key="paid#2")))
        assert ([item.output for item in first.settled], second.settled, second.is_parked) == ([b"7"], (), True)

    async def test_an_event_of_another_name_wakes_nobody(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.WAITING)

        await engine.control.send_event(sending(run.id, event="shipped"))

        assert await found(engine, run.id) == run

    async def test_events_are_received_in_the_order_they_were_accepted(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        for number in range(1, 4):
            await engine.control.send_event(sending(run.id, message=f"msg_{9 - number}", payload=b"%d" % number))

        waits = [event_wait(run, key=key) for key in ("paid", "paid#2")]
        first = await engine.work.suspend_run(parking(run, *waits))
        second = await engine.work.suspend_run(parking(run, also=("paid#2",), order=7))

        # One at a time: when the code hears of the first it may give up the second wait.
        assert [(item.key, item.output) for item in first.settled] == [("paid", b"1")]
        assert [(item.key, item.output) for item in second.settled] == [("paid#2", b"2")]

    async def test_the_same_id_is_the_same_event(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.WAITING)
        await engine.control.send_event(sending(run.id))

        assert (await engine.control.send_event(sending(run.id))).is_repeat
        for other in (sending(run.id, payload=b"8"), sending(run.id, event="shipped")):
            with pytest.raises(AlreadyExists) as caught:
                await engine.control.send_event(other)
            assert caught.value.reason == "message_conflict"

        assert len(await engine.runs.list_messages(NAMESPACE, run.id)) == 1

    @pytest.mark.spec("invariants:I-57")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_send_whose_answer_was_lost_is_kept_once(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        run = await run_in(engine, RunStatus.WAITING)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        await while_time_passes(clock, engine.control.send_event(sending(run.id)))

        assert len(await engine.runs.list_messages(NAMESPACE, run.id)) == 1
        assert [cause for _, _, cause in await path(engine, run.id)] == ["start", "claim", "event", "event"]

    @pytest.mark.parametrize("status", OVER)
    async def test_a_run_that_is_over_receives_nothing(self, engine: Engine, status: RunStatus) -> None:
        run = await run_in(engine, status)

        with pytest.raises(WrongState, match=f"{run.id} is {status.value}"):
            await engine.control.send_event(sending(run.id))

        assert await engine.runs.list_messages(NAMESPACE, run.id) == ()
        with pytest.raises(NotFound):
            await engine.control.send_event(sending(run_id(9)))

    async def test_an_event_that_comes_while_the_run_parks_is_not_slept_through(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        run = await run_in(engine, RunStatus.RUNNING)

        async def send(tx: Tx) -> None:
            await tx.runs.lock(NAMESPACE, id=run.id)
            command = sending(run.id)
            assert await tx.inbox.add(
                NAMESPACE,
                run_id=run.id,
                kind=MessageKind.EVENT,
                name=command.event,
                id=command.id,
                payload=command.payload,
                payload_hash=command.payload_hash,
            )

        parked = parking(run, event_wait(run))
        answer = await meanwhile(second_store, send, lambda: engine.work.suspend_run(parked), until_blocked)

        assert (answer.is_parked, [item.output for item in answer.settled]) == (False, [b"7"])

    async def test_an_event_that_is_here_wins_over_a_deadline_that_has_passed(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, event_wait(run, due_for=HOUR)))
        clock.advance(2 * HOUR)
        await engine.control.send_event(sending(run.id))

        assert await received(engine, "paid") == {"paid": b"7"}

    async def test_a_deadline_that_passes_without_an_event_ends_the_wait(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, event_wait(run, due_for=HOUR)))
        assert (await found(engine, run.id)).available_at == clock.now() + HOUR
        clock.advance(HOUR)

        again = await claim_one(engine, 2)
        (settled,) = (await engine.work.suspend_run(parking(again, also=("paid",)))).settled

        assert settled.failure is not None
        assert settled.failure.type == "WaitTimeout"
        await engine.control.send_event(sending(run.id))
        (late,) = (await engine.work.suspend_run(parking(again, also=("paid",)))).settled
        assert late == settled  # decided is decided

    async def test_who_executes_a_run_hears_of_an_event(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        news = asyncio.create_task(engine.work.listen(NAMESPACE, WORKER, HOUR))
        await asyncio.sleep(0)  # it has subscribed

        await engine.control.send_event(sending(run.id))

        await asyncio.wait_for(news, timeout=10)

    # Approvals

    @pytest.mark.parametrize(
        ("is_approved", "outcome", "cause"), [(True, "approved", "approve"), (False, "rejected", "reject")]
    )
    async def test_a_decision_reaches_the_run_with_who_made_it(
        self, engine: Engine, clock: FakeClock, is_approved: bool, outcome: str, cause: str
    ) -> None:
        run = await asking(engine)

        made = await engine.control.decide(deciding(run.id, is_approved, by="ann", note="checked"))

        last = (await engine.runs.read_log(NAMESPACE, run.id))[-1]
        assert (last.from_status, last.to_status, last.cause) == ("waiting", "pending", cause)
        assert deed(last) == Deed(by="ann", note="checked", step="approval")
        assert (made.outcome, made.by, made.note, made.is_approved) == (outcome, "ann", "checked", is_approved)
        assert await decision_of(engine) == made

    async def test_the_same_decision_again_is_a_repeat_and_another_is_refused(self, engine: Engine) -> None:
        run = await asking(engine)
        made = await engine.control.decide(deciding(run.id, by="ann"))

        assert await engine.control.decide(deciding(run.id, by="ann")) == made
        assert await engine.control.decide(deciding(run.id)) == made
        for other in (deciding(run.id, False, by="ann"), deciding(run.id, by="bob"), deciding(run.id, False)):
            with pytest.raises(WrongState, match="is approved by ann"):
                await engine.control.decide(other)

        assert len(await engine.runs.list_messages(NAMESPACE, run.id)) == 1
        assert await decision_of(engine) == made
        assert await engine.control.decide(deciding(run.id, by="ann")) == made  # also once it was received

    @pytest.mark.spec("invariants:I-57")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_decision_whose_answer_was_lost_is_made_once(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        run = await asking(engine)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        made = await while_time_passes(clock, engine.control.decide(deciding(run.id, by="ann")))

        assert [cause for _, _, cause in await path(engine, run.id)][-2:] == ["approval", "approve"]
        assert await decision_of(engine) == made

    @pytest.mark.parametrize("status", [RunStatus.PENDING, RunStatus.WAITING, RunStatus.FAILED])
    async def test_a_run_that_asks_for_nothing_can_not_be_approved(self, engine: Engine, status: RunStatus) -> None:
        run = await run_in(engine, status)

        with pytest.raises(WrongState, match="one that waits for an approval was expected"):
            await engine.control.decide(deciding(run.id))

        with pytest.raises(NotFound):
            await engine.control.decide(deciding(run_id(9)))

    async def test_of_several_one_must_be_named(self, engine: Engine) -> None:
        run = await asking(engine, "ship", "bill")

        with pytest.raises(InvalidInput, match="'bill', 'ship'") as caught:
            await engine.control.decide(deciding(run.id))
        with pytest.raises(NotFound):
            await engine.control.decide(deciding(run.id, step="pack"))
        await engine.control.decide(deciding(run.id, step="bill", by="ann"))

        assert caught.value.reason == "ambiguous_approval"
        await engine.control.decide(deciding(run.id, False, by="bob"))  # the one that is left
        outputs = await received(engine, "ship", "bill")
        decisions = {key: msgspec.json.decode(output or b"", type=Decision) for key, output in outputs.items()}
        assert {key: item.by for key, item in decisions.items()} == {"ship": "bob", "bill": "ann"}

    async def test_an_approval_expires_and_then_nobody_decides_it_any_more(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        run = await asking(engine, due_for=HOUR)
        clock.advance(HOUR)

        with pytest.raises(WrongState, match="is expired"):
            await engine.control.decide(deciding(run.id))

        assert (await decision_of(engine)).outcome == "expired"
        with pytest.raises(WrongState, match="is over"):
            await engine.control.decide(deciding(run.id))

    async def test_a_decision_made_in_time_counts_however_late_it_is_received(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        run = await asking(engine, due_for=HOUR)
        await engine.control.decide(deciding(run.id))
        clock.advance(2 * HOUR)

        assert (await decision_of(engine)).is_approved

    async def test_a_paused_run_may_be_approved_and_stays_paused(self, engine: Engine) -> None:
        run = await asking(engine)
        await engine.control.pause_run(pausing(run.id))

        await engine.control.decide(deciding(run.id, by="ann"))

        assert (await found(engine, run.id)).status is RunStatus.PAUSED
        assert (await path(engine, run.id))[-1] == ("paused", "paused", "approve")
