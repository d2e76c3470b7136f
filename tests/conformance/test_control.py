"""Is a run that is cancelled over for good, and for everybody?"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    VISIBLE_FOR,
    WORKER,
    claim_one,
    engine_on,
    finished,
    holding,
    poll,
    run_id,
    start,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_fencing import WRITES
from windlass.engine.cancel import cancel_tree
from windlass.engine.engine import Engine
from windlass.engine.tree import lock_tree
from windlass.errors import ClaimLost, NotFound, Unavailable
from windlass.model.commands import (
    CancelRun,
    ClaimState,
    LookAtClaims,
    OpenWait,
    PauseRun,
    SendEvent,
    Suspend,
    WaitStep,
)
from windlass.model.run import TERMINAL, Deed, LogEntry, Run, RunId, RunStatus
from windlass.model.step import StepKind
from windlass.model.time import HOUR
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

OPEN = sorted({*RunStatus} - TERMINAL)
OVER = sorted(TERMINAL - {RunStatus.SKIPPED})


# The calls


def cancelling(id: RunId, **fields: Any) -> CancelRun:
    return CancelRun(namespace=NAMESPACE, run_id=id, **fields)


def pausing(id: RunId, **fields: Any) -> PauseRun:
    return PauseRun(namespace=NAMESPACE, run_id=id, **fields)


def sending(id: RunId, event: str = "paid", message: str = "msg_1", payload: bytes = b"7") -> SendEvent:
    return SendEvent(
        namespace=NAMESPACE, run_id=id, event=event, id=message, payload=payload, payload_hash=b"hash of " + payload
    )


def wait_for(run: Run, kind: StepKind, key: str = "", **fields: Any) -> WaitStep:
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "run_id": run.id,
        "token": run.token,
        "key": key or kind.value,
        "kind": kind,
        "input_hash": b"in",
    }
    return WaitStep(**(values | fields))


def event_wait(run: Run, event: str = "paid", **fields: Any) -> WaitStep:
    return wait_for(run, StepKind.EVENT, **({"awaits": event, "key": event} | fields))


def parking(run: Run, *waits: WaitStep, also: tuple[str, ...] = (), order: int = 10, **fields: Any) -> Suspend:
    """Stand at these waits, and at those on record under the keys in `also`, with nothing else to do."""
    keys = [*(wait.key for wait in waits if wait.kind is not StepKind.SLEEP), *also]
    values: dict[str, Any] = {
        "namespace": NAMESPACE,
        "run_id": run.id,
        "token": run.token,
        "waits": waits,
        "open": tuple(OpenWait(key=key, order=order + place) for place, key in enumerate(keys)),
        "park": True,
    }
    return Suspend(**(values | fields))


async def found(engine: Engine, id: RunId) -> Run:
    return (await engine.runs.get_run(NAMESPACE, id)).run


async def path(engine: Engine, id: RunId) -> list[tuple[str | None, str, str]]:
    return [(entry.from_status, entry.to_status, entry.cause) for entry in await engine.runs.read_log(NAMESPACE, id)]


def deed(entry: LogEntry) -> Deed:
    return Deed() if entry.data is None else msgspec.json.decode(entry.data, type=Deed)


async def run_in(engine: Engine, status: RunStatus) -> Run:
    """One run, on its ordinary way into a status."""
    started = await engine.runs.start_run(start())
    if status is not RunStatus.PENDING:
        run = await claim_one(engine)
        match status:
            case RunStatus.SLEEPING:
                await engine.work.suspend_run(parking(run, wait_for(run, StepKind.SLEEP, due_for=HOUR)))
            case RunStatus.WAITING:
                await engine.work.suspend_run(parking(run, event_wait(run)))
            case RunStatus.PAUSED:
                await engine.work.hold_run(holding(run))
            case RunStatus.COMPLETED:
                await engine.work.finish_run(finished(run))
            case RunStatus.FAILED:
                await engine.work.finish_run(finished(run, status=status, output=None, failure=FAILURE))
            case RunStatus.CANCELLED:
                await engine.control.cancel_run(cancelling(run.id))
    return await found(engine, started.run_id)


class TestControl(EngineConformance):
    @pytest.mark.spec("invariants:I-13")
    @pytest.mark.parametrize("status", OPEN)
    async def test_a_run_is_cancelled_once_wherever_it_stands(
        self, engine: Engine, clock: FakeClock, status: RunStatus
    ) -> None:
        run = await run_in(engine, status)
        before = await path(engine, run.id)

        first = await engine.control.cancel_run(cancelling(run.id, by="ann", note="wrong order"))
        second = await engine.control.cancel_run(cancelling(run.id))

        assert (first.is_done, first.status, second.is_done, second.status) == (
            True,
            RunStatus.CANCELLED,
            False,
            RunStatus.CANCELLED,
        )
        now = await found(engine, run.id)
        assert (now.status, now.token, now.worker, now.finished_at) == (first.status, run.token, None, clock.now())
        assert await path(engine, run.id) == [*before, (status, "cancelled", "cancel")]
        last = (await engine.runs.read_log(NAMESPACE, run.id))[-1]
        assert deed(last) == Deed(by="ann", note="wrong order")
        clock.advance(10 * VISIBLE_FOR)
        assert await engine.work.claim_runs(poll(2)) == []

    @pytest.mark.spec("invariants:I-13", "invariants:I-09")
    @pytest.mark.parametrize("status", OVER)
    async def test_a_run_that_is_over_stays_as_it_ended(self, engine: Engine, status: RunStatus) -> None:
        run = await run_in(engine, status)
        before = await path(engine, run.id)

        answer = await engine.control.cancel_run(cancelling(run.id))

        assert (answer.is_done, answer.status, answer.children) == (False, status, ())
        assert await found(engine, run.id) == run
        assert await path(engine, run.id) == before
        with pytest.raises(NotFound):
            await engine.control.cancel_run(cancelling(run_id(9)))

    @pytest.mark.spec("invariants:I-13")
    @pytest.mark.parametrize("write", WRITES)
    async def test_nothing_of_a_cancelled_run_is_accepted_any_more(
        self, store: Store, engine: Engine, clock: FakeClock, write: str
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.control.cancel_run(cancelling(run.id))
        before = await path(engine, run.id)

        with pytest.raises(ClaimLost):
            await WRITES[write](store, clock, run)

        assert await path(engine, run.id) == before
        assert await engine.runs.list_steps(NAMESPACE, run.id) == ()
        looked = await engine.work.look_at_claims(LookAtClaims(namespace=NAMESPACE, claims=((run.id, run.token),)))
        assert looked == (ClaimState(run_id=run.id, is_lost=True),)

    @pytest.mark.spec("invariants:I-13")
    @pytest.mark.parametrize("write", WRITES)
    async def test_a_write_that_waits_while_the_run_is_cancelled_is_refused(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked, write: str
    ) -> None:
        engine = engine_on(store, clock)
        run = await run_in(engine, RunStatus.RUNNING)

        async def cancel(tx: Tx) -> None:
            await cancel_tree(tx, await lock_tree(tx, NAMESPACE, run.id), cause="cancel", deed=Deed())

        outcome = await meanwhile(second_store, cancel, lambda: WRITES[write](store, clock, run), until_blocked)

        assert isinstance(outcome, ClaimLost)
        assert (await found(engine, run.id)).status is RunStatus.CANCELLED

    @pytest.mark.spec("invariants:I-13", "invariants:I-57")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_cancel_whose_answer_was_lost_says_that_it_was_done(
        self, store: Store, engine: Engine, clock: FakeClock, point: str
    ) -> None:
        run = await run_in(engine, RunStatus.PENDING)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        answer = await while_time_passes(clock, engine.control.cancel_run(cancelling(run.id)))

        assert (answer.is_done, answer.status) == (True, RunStatus.CANCELLED)
        assert [cause for _, _, cause in await path(engine, run.id)] == ["start", "cancel"]

    async def test_who_waits_and_who_works_hear_of_a_cancel(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        result = asyncio.create_task(engine.runs.wait_for_result(NAMESPACE, run.id, None))
        news = asyncio.create_task(engine.work.listen(NAMESPACE, WORKER, HOUR))
        await asyncio.sleep(0)  # both have subscribed

        await engine.control.cancel_run(cancelling(run.id))

        outcome, _ = await asyncio.wait_for(asyncio.gather(result, news), timeout=10)
        assert outcome.status is RunStatus.CANCELLED
