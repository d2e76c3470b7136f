"""Does every act of a caller from outside stand in the audit, once, in the transaction of the act, and nothing else?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conformance.given import NAMESPACE, WORKER, claim_one, poll, start, while_time_passes
from tests.conformance.hooks import raising, record
from tests.conformance.sound import EngineConformance
from tests.conformance.test_access import creating, key_id
from tests.conformance.test_control import cancelling, parking, pausing, run_in, sending, wait_for
from tests.conformance.test_namespaces import disable, enable, making
from tests.conformance.test_schedules import putting
from tests.conformance.test_workers import registering
from windlass.engine.engine import Engine
from windlass.errors import InvalidInput, Unavailable, WindlassError
from windlass.model.access import ACTING, EVERY_NAMESPACE, Actor, AuditEntry, ListAudit
from windlass.model.commands import Decide, ResumeRun, RetryRun, SetGate
from windlass.model.gate import GateKind
from windlass.model.run import Run, RunStatus
from windlass.model.schedule_commands import (
    Declare,
    DeleteSchedule,
    PauseSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.model.step import StepKind
from windlass.model.time import HOUR, MINUTE
from windlass.store.base import Store
from windlass.testing.clock import FakeClock

ANN = Actor(key=key_id(1), request_id="req_1")

Act = Callable[[], Awaitable[Any]]
Prepare = Callable[[Engine], Awaitable[tuple[str, Act]]]


@contextmanager
def acting(actor: Actor = ANN) -> Iterator[None]:
    """As the gate does it around a call from outside."""
    token = ACTING.set(actor)
    try:
        yield
    finally:
        ACTING.reset(token)


async def audit(engine: Engine, namespace: str = EVERY_NAMESPACE) -> list[AuditEntry]:
    """The oldest first."""
    page = await engine.access.list_audit(ListAudit(namespace=namespace, limit=500))
    return list(reversed(page.entries))


# What can be done: each prepares the ground, and says of what it will be, and how it is done.


async def cancel(engine: Engine) -> tuple[str, Act]:
    run = await run_in(engine, RunStatus.PENDING)
    return run.id, lambda: engine.control.cancel_run(cancelling(run.id))


async def retry(engine: Engine) -> tuple[str, Act]:
    run = await run_in(engine, RunStatus.FAILED)
    return run.id, lambda: engine.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=run.id))


async def retry_paused(engine: Engine) -> tuple[str, Act]:
    run = await run_in(engine, RunStatus.PAUSED)
    return run.id, lambda: engine.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=run.id))


async def pause(engine: Engine) -> tuple[str, Act]:
    run = await run_in(engine, RunStatus.PENDING)
    return run.id, lambda: engine.control.pause_run(pausing(run.id))


async def resume(engine: Engine) -> tuple[str, Act]:
    run = await run_in(engine, RunStatus.PAUSED)
    command = ResumeRun(namespace=NAMESPACE, run_id=run.id, is_again=True)
    return run.id, lambda: engine.control.resume_run(command)


async def asking(engine: Engine) -> Run:
    await engine.runs.start_run(start())
    run = await claim_one(engine)
    await engine.work.suspend_run(parking(run, wait_for(run, StepKind.APPROVAL, "ok")))
    return run


async def decide(engine: Engine) -> tuple[str, Act]:
    run = await asking(engine)
    command = Decide(namespace=NAMESPACE, run_id=run.id, is_approved=True, by="ann")
    return f"{run.id} ok", lambda: engine.control.decide(command)


async def set_gate(engine: Engine) -> tuple[str, Act]:
    command = SetGate(namespace=NAMESPACE, kind=GateKind.QUEUE, name="billing", is_paused=True)
    return "queue/billing", lambda: engine.control.set_gate(command)


async def drain(engine: Engine) -> tuple[str, Act]:
    await engine.work.register_worker(registering())
    return WORKER, lambda: engine.control.drain_worker(NAMESPACE, WORKER)


async def put_schedule(engine: Engine) -> tuple[str, Act]:
    return "nightly", lambda: engine.schedules.put_schedule(putting())


async def change_schedule(engine: Engine) -> tuple[str, Act]:
    await engine.schedules.put_schedule(putting())
    return "nightly", lambda: engine.schedules.put_schedule(putting(every=MINUTE, may_replace=True))


async def pause_schedule(engine: Engine) -> tuple[str, Act]:
    await engine.schedules.put_schedule(putting())
    return "nightly", lambda: engine.schedules.pause_schedule(PauseSchedule(namespace=NAMESPACE, name="nightly"))


async def resume_schedule(engine: Engine) -> tuple[str, Act]:
    _, hold = await pause_schedule(engine)
    await hold()
    return "nightly", lambda: engine.schedules.resume_schedule(ResumeSchedule(namespace=NAMESPACE, name="nightly"))


async def declare(engine: Engine) -> tuple[str, Act]:
    command = Declare(namespace=NAMESPACE, program="shop:app", schedules=(putting(),), kept={})
    return "shop:app", lambda: engine.schedules.declare(command)


async def disabling(engine: Engine) -> tuple[str, Act]:
    await engine.namespaces.create_namespace(making())
    return "acme", lambda: disable(engine, "acme")


async def enabling(engine: Engine) -> tuple[str, Act]:
    await engine.namespaces.create_namespace(making())
    await disable(engine, "acme")
    return "acme", lambda: enable(engine, "acme")


async def create_namespace(engine: Engine) -> tuple[str, Act]:
    return "acme", lambda: engine.namespaces.create_namespace(making())


async def create_key(engine: Engine) -> tuple[str, Act]:
    return key_id(5), lambda: engine.access.create_key(creating(5))


async def revoke_key(engine: Engine) -> tuple[str, Act]:
    await engine.access.create_key(creating(5))
    return key_id(5), lambda: engine.access.revoke_key(key_id(5))


# These change something each time they are asked for, or are refused the second time.


async def trigger(engine: Engine) -> tuple[str, Act]:
    await engine.schedules.put_schedule(putting())
    return "nightly", lambda: engine.schedules.trigger_schedule(TriggerSchedule(namespace=NAMESPACE, name="nightly"))


async def delete_schedule(engine: Engine) -> tuple[str, Act]:
    await engine.schedules.put_schedule(putting())
    return "nightly", lambda: engine.schedules.delete_schedule(DeleteSchedule(namespace=NAMESPACE, name="nightly"))


async def delete_namespace(engine: Engine) -> tuple[str, Act]:
    await engine.namespaces.create_namespace(making())
    await disable(engine, "acme")
    return "acme", lambda: engine.namespaces.delete_namespace("acme")


REPEATABLE: dict[str, tuple[str, Prepare, str | None, str]] = {
    "cancel": ("cancel_run", cancel, "pending", "cancelled"),
    "retry": ("retry_run", retry, "failed", "retried as run_"),
    "retry of a paused one": ("retry_run", retry_paused, "paused", "retried as run_"),
    "pause": ("pause_run", pause, "pending", "paused"),
    "resume": ("resume_run", resume, "paused", "pending"),
    "decide": ("decide", decide, None, "approved"),
    "gate": ("set_gate", set_gate, "open", "paused"),
    "drain": ("drain_worker", drain, "online", "draining"),
    "put": ("put_schedule", put_schedule, None, "invoice every hour"),
    "change": ("put_schedule", change_schedule, "invoice every hour", "invoice every minute"),
    "pause schedule": ("pause_schedule", pause_schedule, "active", "paused"),
    "resume schedule": ("resume_schedule", resume_schedule, "paused", "active"),
    "declare": ("declare", declare, None, "changed nightly"),
    "create namespace": ("create_namespace", create_namespace, None, "enabled"),
    "disable": ("set_enabled", disabling, "enabled", "disabled"),
    "enable": ("set_enabled", enabling, "disabled", "enabled"),
    "create key": ("create_key", create_key, None, "client in default"),
    "revoke key": ("revoke_key", revoke_key, "client in default", "revoked"),
}
ACTS = REPEATABLE | {
    "trigger": ("trigger_schedule", trigger, None, "started run_"),
    "delete schedule": ("delete_schedule", delete_schedule, "invoice every hour", "deleted"),
    "delete namespace": ("delete_namespace", delete_namespace, "disabled", "deleted"),
}
OF_ANYONE = frozenset({"create_namespace", "set_enabled", "delete_namespace", "create_key", "revoke_key"})


class TestAudit(EngineConformance):
    @pytest.mark.spec("security:S-32")
    @pytest.mark.parametrize("name", ACTS)
    async def test_an_act_from_outside_stands_there_once_with_who_did_what(
        self, engine: Engine, clock: FakeClock, name: str
    ) -> None:
        action, prepare, before, after = ACTS[name]
        subject, act = await prepare(engine)
        known = len(await audit(engine))
        clock.advance(HOUR)

        with acting():
            await act()

        (entry,) = (await audit(engine))[known:]
        assert (entry.actor, entry.request_id, entry.action, entry.subject) == (ANN.key, "req_1", action, subject)
        assert (entry.at, entry.before) == (clock.now(), before)
        assert (entry.after or "").startswith(after)
        assert entry.namespace == ("acme" if subject == "acme" else NAMESPACE)

    @pytest.mark.spec("security:S-32", "invariants:I-57")
    @pytest.mark.parametrize("name", REPEATABLE)
    async def test_an_act_that_is_repeated_changes_nothing_and_leaves_no_second_row(
        self, engine: Engine, name: str
    ) -> None:
        _, act = await REPEATABLE[name][1](engine)
        with acting():
            await act()
            known = await audit(engine)
            await act()

        assert await audit(engine) == known

    @pytest.mark.spec("security:S-32", "invariants:I-57")
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    @pytest.mark.parametrize("name", ACTS)
    async def test_an_act_whose_answer_was_lost_stands_there_once(
        self, store: Store, engine: Engine, clock: FakeClock, name: str, point: str
    ) -> None:
        _, act = await ACTS[name][1](engine)
        known = len(await audit(engine))
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        with acting():
            await while_time_passes(clock, _done(act))

        assert len(await audit(engine)) == known + 1

    @pytest.mark.parametrize("name", ACTS)
    async def test_an_act_that_fails_leaves_no_row(self, store: Store, engine: Engine, name: str) -> None:
        """The row is part of the transaction: what is not committed is not noted."""
        _, act = await ACTS[name][1](engine)
        known = await audit(engine)
        record(store).at["before_commit"] = raising(WindlassError("no"), times=1)

        with acting(), pytest.raises(WindlassError, match="no"):
            await act()

        assert await audit(engine) == known

    @pytest.mark.parametrize("name", ACTS)
    async def test_of_what_code_here_does_only_who_may_come_in_is_noted(self, engine: Engine, name: str) -> None:
        action, prepare, _, _ = ACTS[name]
        _, act = await prepare(engine)
        known = len(await audit(engine))

        await act()

        noted = (await audit(engine))[known:]
        assert [entry.actor for entry in noted] == (["local"] if action in OF_ANYONE else [])

    async def test_what_changes_nothing_for_others_is_not_noted(self, engine: Engine) -> None:
        run = await run_in(engine, RunStatus.COMPLETED)
        with acting():
            assert not (await engine.control.cancel_run(cancelling(run.id))).is_done
            started = await engine.runs.start_run(start(2))
            await engine.control.send_event(sending(started.run_id))
            await engine.work.claim_runs(poll(3))

        assert await audit(engine) == []

    # It is read

    @pytest.mark.spec("invariants:I-59")
    async def test_pages_go_back_from_the_newest_and_show_each_once(self, engine: Engine) -> None:
        for number in range(7):
            await _refuse(engine, NAMESPACE, str(number))
            await _refuse(engine, "acme", str(number))

        found: list[AuditEntry] = []
        before: int | None = None
        while True:
            page = await engine.access.list_audit(ListAudit(namespace=NAMESPACE, before=before, limit=3))
            found += page.entries
            if page.next is None:
                break
            before = page.next

        assert [entry.request_id for entry in found] == list("6543210")
        assert len(await audit(engine)) == 14

    @pytest.mark.spec("invariants:I-58")
    async def test_nobody_reads_of_another_namespace(self, engine: Engine) -> None:
        await _refuse(engine, "acme", "1")

        assert await audit(engine, NAMESPACE) == []
        assert [entry.namespace for entry in await audit(engine, "acme")] == ["acme"]

    @pytest.mark.spec("security:S-32", "security:S-29")
    async def test_whoever_is_turned_away_is_noted_whatever_they_sent(self, engine: Engine) -> None:
        await engine.access.note_refusal(
            "a\nb\ud800",
            actor="key_\x1b[31m" + "x" * 5_000,
            action="start_runs\r\n",
            reason="wrong\0secret",
            request_id="\u202e1",
        )

        (entry,) = await audit(engine)
        texts = (entry.namespace, entry.actor, entry.action, entry.request_id, entry.after or "")
        assert all(text.isprintable() and len(text) <= 220 for text in texts)
        assert entry.after == "refused: wrong?secret"
        assert entry.namespace == "a?b?"

    @pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 501}, {"namespace": "a b"}, {"before": 2**70}])
    async def test_a_page_that_cannot_be_is_refused(self, engine: Engine, query: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            await engine.access.list_audit(ListAudit(**({"namespace": NAMESPACE} | query)))


async def _done(act: Act) -> None:
    await act()


async def _refuse(engine: Engine, namespace: str, number: str) -> None:
    await engine.access.note_refusal(namespace, actor="", action="get_run", reason="unknown key", request_id=number)
