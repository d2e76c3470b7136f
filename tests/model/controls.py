"""What people and other programs do to runs, in a story."""

from __future__ import annotations

from dataclasses import dataclass

from tests.model.context import NAMESPACE, WORKERS, Call, Context
from windlass.model.commands import CancelRun, Decide, PauseRun, ResumeRun, RetryRun, SendEvent, SetGate
from windlass.model.gate import GateKind

OPEN = ("waiting", "pending", "sleeping", "running", "paused")


@dataclass(frozen=True, kw_only=True)
class Send:
    run: int = 0
    event: str = "paid"
    id: str | None = None  # none: one that nobody has used
    value: int = 1

    def call(self, context: Context) -> Call:
        command = SendEvent(
            namespace=NAMESPACE,
            run_id=context.id_at(self.run, "event"),
            event=self.event,
            id=f"id {context.place}" if self.id is None else self.id,
            payload=b"%d" % self.value,
            payload_hash=b"hash of %d" % self.value,
        )
        return Call("send_event", (command,))


@dataclass(frozen=True, kw_only=True)
class DecideOn:
    run: int = 0
    is_approved: bool = True
    by: str | None = None
    note: str | None = None
    step: int | None = None  # which approval on record; negative: something else

    def call(self, context: Context) -> Call:
        run_id = context.id_at(self.run, "approval")
        command = Decide(
            namespace=NAMESPACE,
            run_id=run_id,
            is_approved=self.is_approved,
            by=self.by,
            note=self.note,
            step=context.key_of(run_id, self.step, "approval"),
        )
        return Call("decide", (command,))


@dataclass(frozen=True, kw_only=True)
class Pause:
    run: int = 0
    by: str | None = None
    note: str | None = None

    def call(self, context: Context) -> Call:
        run_id = context.id_of(self.run, *OPEN, weight=lambda run: run.status != "pending")
        return Call("pause_run", (PauseRun(namespace=NAMESPACE, run_id=run_id, by=self.by, note=self.note),))


@dataclass(frozen=True, kw_only=True)
class Resume:
    run: int = 0
    by: str | None = None

    def call(self, context: Context) -> Call:
        run_id = context.id_of(self.run, "paused")
        return Call("resume_run", (ResumeRun(namespace=NAMESPACE, run_id=run_id, by=self.by),))


@dataclass(frozen=True, kw_only=True)
class Cancel:
    run: int = 0
    by: str | None = None
    note: str | None = None

    def call(self, context: Context) -> Call:
        run_id = context.id_of(self.run, *OPEN, weight=context.followers)
        return Call("cancel_run", (CancelRun(namespace=NAMESPACE, run_id=run_id, by=self.by, note=self.note),))


@dataclass(frozen=True, kw_only=True)
class Retry:
    run: int = 0
    from_step: int | None = None  # which one of those on record; negative: one that is not
    by: str | None = None

    def call(self, context: Context) -> Call:
        run_id = context.id_of(self.run, "failed", "cancelled", "paused", weight=context.results)
        from_step = context.key_of(run_id, self.from_step)
        return Call("retry_run", (RetryRun(namespace=NAMESPACE, run_id=run_id, from_step=from_step, by=self.by),))


@dataclass(frozen=True, kw_only=True)
class Drain:
    worker: int = 0
    by: str | None = None

    def call(self, context: Context) -> Call:
        return Call("drain_worker", (NAMESPACE, WORKERS[self.worker], self.by))


@dataclass(frozen=True, kw_only=True)
class TurnGate:
    kind: str = "namespace"
    name: str = NAMESPACE
    is_paused: bool = True
    by: str | None = None
    note: str | None = None

    def call(self, context: Context) -> Call:
        command = SetGate(
            namespace=NAMESPACE,
            kind=GateKind(self.kind),
            name=self.name,
            is_paused=self.is_paused,
            by=self.by,
            note=self.note,
        )
        return Call("set_gate", (command,))
