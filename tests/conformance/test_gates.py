"""Does nothing get through a closed gate, does nothing behind it keep anybody busy, and is nothing lost behind it?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.given import (
    LOOK_EVERY,
    NAMESPACE,
    SERVED,
    VISIBLE_FOR,
    WORKER,
    claim_one,
    completed,
    create,
    engine_on,
    finished,
    load,
    new_run,
    poll,
    start,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import deed, found, run_in
from tests.conformance.test_workers import registering
from windlass.engine.engine import Engine
from windlass.errors import InvalidInput, Unavailable
from windlass.model.commands import ClaimedRun, SetGate
from windlass.model.gate import Gate, GateKind
from windlass.model.run import Deed, LogEntry, RunStatus
from windlass.model.time import HOUR, MINUTE
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

GATES = [(GateKind.QUEUE, "billing"), (GateKind.WORKFLOW, "invoice"), (GateKind.NAMESPACE, NAMESPACE)]
OTHERS = [(GateKind.QUEUE, "mail"), (GateKind.WORKFLOW, "letter"), (GateKind.QUEUE, "invoice")]


def closing(kind: GateKind = GateKind.QUEUE, name: str = "billing", **fields: Any) -> SetGate:
    values: dict[str, Any] = {"namespace": NAMESPACE, "kind": kind, "name": name, "is_paused": True}
    return SetGate(**(values | fields))


def opening(kind: GateKind = GateKind.QUEUE, name: str = "billing", **fields: Any) -> SetGate:
    return closing(kind, name, is_paused=False, **fields)


async def story(store: Store, gate: str = "queue/billing") -> list[LogEntry]:
    return await store.read("log", lambda tx: tx.log.of_subject(NAMESPACE, kind="gate", id=gate))


async def waiting_claim(engine: Engine, clock: FakeClock) -> asyncio.Task[list[ClaimedRun]]:
    """A claim that has looked, found nothing, and offers its slots to whatever is started."""
    task = asyncio.create_task(engine.work.claim_runs(poll(9, wait_for=HOUR)))
    while clock.next_timer() is None:
        await asyncio.wait({task}, timeout=LOOK_EVERY)
    return task


class TestGates(EngineConformance):
    @pytest.mark.spec("invariants:I-24")
    @pytest.mark.parametrize(("kind", "name"), GATES)
    async def test_nothing_behind_a_closed_gate_is_claimed_and_nothing_is_lost(
        self, engine: Engine, clock: FakeClock, kind: GateKind, name: str
    ) -> None:
        await engine.control.set_gate(closing(kind, name))
        started = [(await engine.runs.start_run(start(number))).run_id for number in range(3)]
        for round in range(3):
            clock.advance(VISIBLE_FOR)
            assert await engine.work.claim_runs(poll(round)) == []

        await engine.control.set_gate(opening(kind, name))

        claimed = await engine.work.claim_runs(poll(3))
        assert sorted(run.run_id for run in claimed) == sorted(started)
        assert {run.token for run in claimed} == {1}
        assert await engine.work.claim_runs(poll(4)) == []

    @pytest.mark.spec("invariants:I-24")
    @pytest.mark.parametrize(("kind", "name"), OTHERS)
    async def test_a_gate_keeps_back_only_what_stands_behind_it(
        self, engine: Engine, kind: GateKind, name: str
    ) -> None:
        await engine.control.set_gate(closing(kind, name))
        await engine.control.set_gate(closing(GateKind.NAMESPACE, "other", namespace="other"))
        started = await engine.runs.start_run(start())

        assert (await claim_one(engine)).id == started.run_id

    @pytest.mark.spec("invariants:I-24")
    async def test_what_is_claimed_already_may_come_to_its_end(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.RUNNING)

        await engine.control.set_gate(closing())

        await engine.work.complete_step(completed(run))
        await engine.work.finish_run(finished(run))
        assert (await found(engine, run.id)).status is RunStatus.COMPLETED

    async def test_a_closed_gate_keeps_no_claim_busy(self, store: Store, engine: Engine, clock: FakeClock) -> None:
        await engine.runs.start_run(start())
        await engine.control.set_gate(closing())
        hooks = record(store)

        assert await while_time_passes(clock, engine.work.claim_runs(poll(wait_for=MINUTE))) == []

        assert hooks.commits == 0  # due as it is, nobody tries to claim it; a look at every poll is all

    @pytest.mark.spec("invariants:I-24")
    async def test_a_start_is_not_handed_over_through_a_closed_gate(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        await engine.work.register_worker(registering(served=SERVED))
        waiting = await waiting_claim(engine, clock)
        await engine.control.set_gate(closing())

        started = await engine.runs.start_run(start())

        assert (await found(engine, started.run_id)).status is RunStatus.PENDING
        assert not waiting.done()
        await engine.control.set_gate(opening())  # which wakes whoever waits
        (claimed,) = await asyncio.wait_for(waiting, timeout=10)
        assert (claimed.run_id, claimed.token) == (started.run_id, 1)

    @pytest.mark.spec("invariants:I-24")
    async def test_a_claim_that_waits_for_a_pause_claims_nothing(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering(served=SERVED))
        await create(store, new_run())

        async def close(tx: Tx) -> None:
            gate = Gate(namespace=NAMESPACE, kind=GateKind.QUEUE, name="billing", is_paused=True)
            assert await tx.gates.set(gate)

        claimed = await meanwhile(second_store, close, lambda: engine.work.claim_runs(poll()), until_blocked)

        assert claimed == []
        assert (await load(store)).status is RunStatus.PENDING

    @pytest.mark.spec("invariants:I-24")
    async def test_a_pause_waits_for_the_claims_in_flight(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        await engine.work.register_worker(registering(served=SERVED))
        await create(store, new_run(1), new_run(2))

        async def claim(tx: Tx) -> None:
            assert await tx.gates.share(NAMESPACE, served=SERVED) == []
            rows = await tx.runs.claim(
                namespace=NAMESPACE, served=SERVED, limit=1, worker=WORKER, poll=1, claim_for=lambda name: VISIBLE_FOR
            )
            assert len(rows) == 1

        gate = await meanwhile(second_store, claim, lambda: engine.control.set_gate(closing()), until_blocked)

        assert gate.is_paused
        assert [(await load(store, number)).status for number in (1, 2)] == [RunStatus.RUNNING, RunStatus.PENDING]
        assert await engine.work.claim_runs(poll(2)) == []

    async def test_the_first_to_pause_stays_named_and_the_log_tells_who_did_what(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        closed = await engine.control.set_gate(closing(by="ann", note="disk is full"))
        clock.advance(MINUTE)
        again = await engine.control.set_gate(closing(by="bob"))

        assert again == closed
        assert (closed.paused_by, closed.note, closed.paused_at) == ("ann", "disk is full", clock.now() - MINUTE)
        assert await engine.control.list_gates(NAMESPACE) == (closed,)
        opened = await engine.control.set_gate(opening(by="cyd"))
        await engine.control.set_gate(opening(by="dee"))
        assert opened == Gate(namespace=NAMESPACE, kind=GateKind.QUEUE, name="billing", is_paused=False)
        assert await engine.control.list_gates(NAMESPACE) == ()
        assert [(entry.from_status, entry.to_status, entry.cause, deed(entry)) for entry in await story(store)] == [
            ("open", "paused", "pause", Deed(by="ann", note="disk is full")),
            ("paused", "open", "resume", Deed(by="cyd")),
        ]

    async def test_opening_what_was_never_closed_changes_nothing(self, store: Store, engine: Engine) -> None:
        gate = await engine.control.set_gate(opening(GateKind.WORKFLOW, "letter"))

        assert (gate.is_paused, gate.paused_at) == (False, None)
        assert await story(store, "workflow/letter") == []

    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_pause_whose_answer_was_lost_happens_once(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        gate = await while_time_passes(clock, engine.control.set_gate(closing(by="ann")))

        assert (gate.is_paused, gate.paused_by) == (True, "ann")
        assert len(await story(store)) == 1

    @pytest.mark.parametrize(("kind", "name"), [(kind, "a b") for kind in GateKind] + [(GateKind.NAMESPACE, "other")])
    async def test_a_name_that_nothing_can_have_is_refused(self, engine: Engine, kind: GateKind, name: str) -> None:
        with pytest.raises(InvalidInput):
            await engine.control.set_gate(closing(kind, name))

        assert await engine.control.list_gates(NAMESPACE) == ()
