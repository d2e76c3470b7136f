"""Which runs of a schedule are not over, in the reference, and who goes next when one of them ends."""

from __future__ import annotations

from typing import Any

from tests.model.rows import Payload, Plan, Run
from tests.model.state import TERMINAL, State


class Turns(State):
    def open_runs(self, name: str) -> list[Run]:
        """Of a schedule, the oldest first."""
        runs = [run for run in self.runs.values() if run.schedule == name and run.status not in TERMINAL]
        return sorted(runs, key=lambda run: run.id)

    def is_queued(self, run: Run) -> bool:
        """It has not begun, because one before it is not over."""
        return run.schedule is not None and run.unmet > 0 and run.attempts == 0

    def create_planned(
        self, plan: Plan, id: str, *, slot: int | None, is_queued: bool, cause: str, **deed: Any
    ) -> None:
        command = self.definitions[plan.name]
        self.runs[id] = run = Run(
            id=id,
            name=command.workflow,
            version=command.version,
            queue=command.queue,
            priority=0,
            status="",
            available_at=None if is_queued else self.now,
            created_at=self.now,
            expires_at=None if command.timeout_for is None else self.now + command.timeout_for,
            unmet=int(is_queued),
            schedule=plan.name,
            slot=slot,
            scheduled_at=self.now if slot is None else slot,
        )
        self.payloads[id] = Payload(run_id=id, start_key=None, input=command.input)
        self.move(run, "waiting" if is_queued else "pending", cause=cause, was=None, **deed)

    def release_next(self, name: str | None) -> None:
        """A run of a schedule has ended: the one behind it goes on, and so does a schedule that waited for that."""
        plan = self.schedules.get(name or "")
        if plan is None or plan.overlap == "allow":
            return
        open_runs = self.open_runs(plan.name)
        queued = [run for run in open_runs if self.is_queued(run)]
        if queued and len(queued) == len(open_runs):
            self.release(queued.pop(0))
        is_blocked = plan.status == "active" and plan.available_at is None
        if is_blocked and not queued:
            plan.available_at = self.now

    def release(self, run: Run) -> None:
        """Due now, with all of its time before it; one that a person holds waits for that person only."""
        run.unmet = 0
        if run.expires_at is not None:
            begins_at = run.created_at if run.starts_at is None else run.starts_at
            run.expires_at = self.now + run.expires_at - begins_at
        run.starts_at = self.now
        if run.status == "waiting":
            run.available_at = self.now
            self.move(run, "pending", cause="turn", was="waiting")
