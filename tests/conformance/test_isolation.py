"""Does a namespace learn nothing of another: is what is there in B, for whoever asks in A, what is nowhere at all?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import Struct

from tests.conformance.given import NAMESPACE, SERVED, WORKER, completed, finished, held, poll, run_id, start
from tests.conformance.sound import EngineConformance
from tests.conformance.test_access import creating
from tests.conformance.test_control import cancelling
from tests.conformance.test_schedules import putting
from tests.conformance.test_workers import beating, registering
from windlass.engine.engine import Engine
from windlass.errors import ClaimLost, NotFound, WindlassError
from windlass.model.access import ListAudit
from windlass.model.commands import (
    Decide,
    LookAtClaims,
    PauseRun,
    ProbeWorkers,
    ResumeRun,
    RetryRun,
    SendEvent,
    SetGate,
)
from windlass.model.feed import ReadFeed
from windlass.model.gate import GateKind
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunId, WorkerId
from windlass.model.schedule_commands import DeleteSchedule, PauseSchedule, ResumeSchedule, TriggerSchedule
from windlass.model.time import Duration, Instant
from windlass.testing.clock import FakeClock

OTHER = "other"  # where everything is; whoever asks here is in NAMESPACE
SECRET = "the-key-of-another"
NO_WAIT = Duration(0)


class Ids(Struct, frozen=True):
    """What a call names: of another namespace, or of nobody."""

    run: RunId
    key: str
    worker: WorkerId
    schedule: str


NOBODYS = Ids(run_id(777), "the-key-of-nobody", WorkerId(f"wrk_{777:026}"), "nobodys")

Call = Callable[[Engine, Ids], Awaitable[Any]]

# Each of them names something: what is there in another namespace must look like what is nowhere.
ASKED: dict[str, Call] = {
    "get_run": lambda engine, ids: engine.runs.get_run(NAMESPACE, ids.run),
    "find_run": lambda engine, ids: engine.runs.find_run(NAMESPACE, ids.key),
    "wait_for_result": lambda engine, ids: engine.runs.wait_for_result(NAMESPACE, ids.run, NO_WAIT),
    "list_steps": lambda engine, ids: engine.runs.list_steps(NAMESPACE, ids.run),
    "read_log": lambda engine, ids: engine.runs.read_log(NAMESPACE, ids.run),
    "explain_run": lambda engine, ids: engine.runs.explain_run(NAMESPACE, ids.run),
    "list_messages": lambda engine, ids: engine.runs.list_messages(NAMESPACE, ids.run),
    "children": lambda engine, ids: engine.runs.list_runs(ListRuns(namespace=NAMESPACE, parent=ids.run)),
    "older": lambda engine, ids: engine.runs.list_runs(ListRuns(namespace=NAMESPACE, before=ids.run)),
    "of_schedule": lambda engine, ids: engine.runs.list_runs(ListRuns(namespace=NAMESPACE, schedule=ids.schedule)),
    "send_event": lambda engine, ids: engine.control.send_event(
        SendEvent(namespace=NAMESPACE, run_id=ids.run, event="paid", id="m", payload=b"1", payload_hash=b"h")
    ),
    "decide": lambda engine, ids: engine.control.decide(
        Decide(namespace=NAMESPACE, run_id=ids.run, is_approved=True, by="ann")
    ),
    "cancel_run": lambda engine, ids: engine.control.cancel_run(cancelling(ids.run)),
    "retry_run": lambda engine, ids: engine.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=ids.run)),
    "pause_run": lambda engine, ids: engine.control.pause_run(PauseRun(namespace=NAMESPACE, run_id=ids.run)),
    "resume_run": lambda engine, ids: engine.control.resume_run(ResumeRun(namespace=NAMESPACE, run_id=ids.run)),
    "drain_worker": lambda engine, ids: engine.control.drain_worker(NAMESPACE, ids.worker),
    "heartbeat": lambda engine, ids: engine.work.heartbeat(beating(ids.worker)),
    "get_schedule": lambda engine, ids: engine.schedules.get_schedule(NAMESPACE, ids.schedule),
    "read_schedule_log": lambda engine, ids: engine.schedules.read_schedule_log(NAMESPACE, ids.schedule),
    "pause_schedule": lambda engine, ids: engine.schedules.pause_schedule(
        PauseSchedule(namespace=NAMESPACE, name=ids.schedule)
    ),
    "resume_schedule": lambda engine, ids: engine.schedules.resume_schedule(
        ResumeSchedule(namespace=NAMESPACE, name=ids.schedule)
    ),
    "trigger_schedule": lambda engine, ids: engine.schedules.trigger_schedule(
        TriggerSchedule(namespace=NAMESPACE, name=ids.schedule)
    ),
    "delete_schedule": lambda engine, ids: engine.schedules.delete_schedule(
        DeleteSchedule(namespace=NAMESPACE, name=ids.schedule)
    ),
    "drop_cursor": lambda engine, ids: engine.control.drop_cursor(NAMESPACE, ids.key),
    "feed_of_subject": lambda engine, ids: _entries(engine, subject_kind="run", subject_id=ids.run),
}
MISSING = frozenset(
    {"get_run", "find_run", "explain_run", "send_event", "cancel_run", "retry_run", "get_schedule", "drain_worker"}
)

# And these list whatever there is.
LISTED: dict[str, Callable[[Engine], Awaitable[Any]]] = {
    "list_runs": lambda engine: _runs(engine),
    "list_workers": lambda engine: engine.runs.list_workers(NAMESPACE, Instant(0)),
    "list_queues": lambda engine: engine.runs.list_queues(NAMESPACE),
    "list_gates": lambda engine: engine.control.list_gates(NAMESPACE),
    "list_schedules": lambda engine: engine.schedules.list_schedules(NAMESPACE),
    "list_keys": lambda engine: engine.access.list_keys(NAMESPACE),
    "list_audit": lambda engine: _audit(engine),
    "read_feed": lambda engine: _entries(engine),
    "claim_runs": lambda engine: engine.work.claim_runs(poll()),
}


async def _runs(engine: Engine) -> tuple[Run, ...]:
    return (await engine.runs.list_runs(ListRuns(namespace=NAMESPACE, limit=100))).runs


async def _audit(engine: Engine) -> tuple[Any, ...]:
    return (await engine.access.list_audit(ListAudit(namespace=NAMESPACE))).entries


async def _entries(engine: Engine, **subject: Any) -> tuple[Any, ...]:
    return (await engine.feed.read_feed(ReadFeed(namespace=NAMESPACE, **subject))).entries


async def settle(engine: Engine) -> Ids:
    """One of everything, in the other namespace only."""
    await engine.work.register_worker(registering(namespace=OTHER, served=SERVED))
    await engine.runs.start_run(start(1, namespace=OTHER))
    running = (await engine.work.claim_runs(poll(namespace=OTHER)))[0]
    await engine.runs.start_run(start(2, namespace=OTHER, key=SECRET))
    await engine.schedules.put_schedule(putting(SECRET, namespace=OTHER))
    await engine.control.set_gate(
        SetGate(namespace=OTHER, kind=GateKind.QUEUE, name="billing", is_paused=True, note=SECRET)
    )
    await engine.control.move_cursor(OTHER, SECRET, 1)
    await engine.access.create_key(creating(namespace=OTHER, note=SECRET))
    return Ids(running.run_id, SECRET, WORKER, SECRET)


async def outcome(engine: Engine, call: Call, ids: Ids) -> str:
    """What somebody sees, with what they themselves have named left out."""
    try:
        seen = f"{await call(engine, ids)!r}"
    except WindlassError as error:
        seen = f"{type(error).__name__}: {error}"
    for name in (ids.run, ids.key, ids.worker, ids.schedule):
        seen = seen.replace(name, "…")
    return seen


async def state(engine: Engine) -> list[Any]:
    """What is there in the other namespace."""
    return [
        (await engine.runs.list_runs(ListRuns(namespace=OTHER, limit=100))).runs,
        await engine.runs.list_workers(OTHER),
        await engine.control.list_gates(OTHER),
        await engine.schedules.list_schedules(OTHER),
    ]


class TestIsolation(EngineConformance):
    @pytest.mark.spec("invariants:I-58", "security:S-09")
    @pytest.mark.parametrize("name", ASKED)
    async def test_what_is_in_another_namespace_looks_like_what_is_nowhere(self, engine: Engine, name: str) -> None:
        ids = await settle(engine)
        before = await state(engine)

        theirs, nobodys = [await outcome(engine, ASKED[name], given) for given in (ids, NOBODYS)]

        assert theirs == nobodys
        assert SECRET not in theirs
        if name in MISSING:
            assert theirs.startswith(NotFound.__name__)
        assert await state(engine) == before

    @pytest.mark.spec("invariants:I-58")
    @pytest.mark.parametrize("name", LISTED)
    async def test_a_list_holds_nothing_of_another_namespace(self, engine: Engine, name: str) -> None:
        await settle(engine)

        assert len(await LISTED[name](engine)) == 0

    @pytest.mark.spec("invariants:I-58", "security:S-41")
    async def test_one_start_key_in_two_namespaces_is_two_keys(self, engine: Engine) -> None:
        theirs = await engine.runs.start_run(start(1, namespace=OTHER, key="once"))
        ours = await engine.runs.start_run(start(2, key="once"))  # other input: of one namespace it would be refused

        assert ours.run_id != theirs.run_id
        assert not ours.is_repeat

    @pytest.mark.spec("invariants:I-58", "security:S-08")
    async def test_a_claim_of_another_namespace_is_none_here(self, engine: Engine) -> None:
        await settle(engine)
        claimed = (await engine.runs.list_runs(ListRuns(namespace=OTHER, limit=100))).runs[-1]

        for write in (
            lambda: engine.work.complete_step(completed(claimed)),
            lambda: engine.work.finish_run(finished(claimed)),
            lambda: engine.work.renew_claim(held(claimed)),
            lambda: engine.work.release_run(held(claimed)),
        ):
            with pytest.raises(ClaimLost):
                await write()
        (seen,) = await engine.work.look_at_claims(
            LookAtClaims(namespace=NAMESPACE, claims=((claimed.id, claimed.token),))
        )
        assert seen.is_lost
        assert (await engine.runs.get_run(OTHER, claimed.id)).run == claimed

    @pytest.mark.spec("invariants:I-58")
    async def test_a_probe_of_one_namespace_finds_nobody_of_another(self, engine: Engine, clock: FakeClock) -> None:
        await settle(engine)

        probed = await engine.work.probe_workers(
            ProbeWorkers(namespace=NAMESPACE, worker=WorkerId(f"wrk_{5:026}"), served=SERVED, everyone=True)
        )

        assert probed.dead == ()
