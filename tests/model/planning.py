"""The door `Schedules` of the reference, and the coordinator that fires what is due."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.model.rows import Entry, Plan, Started
from tests.model.state import ANYTHING, Refused
from tests.model.steering import Steering
from windlass.model.schedule_commands import (
    DeleteSchedule,
    PauseSchedule,
    PutSchedule,
    ResumeSchedule,
    TriggerSchedule,
)

SECOND = 1_000_000


class Planning(Steering):
    def put_schedule(self, command: PutSchedule) -> object:
        """The same again changes nothing. With other times it begins anew; with anything else it keeps its place."""
        plan = self.schedules.get(command.name)
        anchor = self.now - self.now % SECOND
        if plan is None:
            plan = self.schedules[command.name] = Plan(
                name=command.name,
                timing=command.timing,
                overlap=command.overlap,
                anchor=anchor,
                last_slot=self.now,
                created_at=self.now,
                changed_at=self.now,
            )
            plan.available_at, self.definitions[plan.name] = plan.next_slot(), command
            self._note(plan, None, "create")
            return ANYTHING
        if _definition(self.definitions[plan.name]) == _definition(command):
            return ANYTHING
        if not command.may_replace:
            raise Refused("already_exists")
        was = plan.overlap
        if plan.timing != command.timing:
            plan.anchor, plan.last_slot = anchor, self.now
        self.definitions[plan.name], plan.timing, plan.overlap = command, command.timing, command.overlap
        plan.revision, plan.changed_at = plan.revision + 1, self.now
        plan.available_at = plan.next_slot() if plan.status == "active" else None
        self._note(plan, plan.status, "change")
        if plan.overlap == "allow" != was:
            for run in self.open_runs(plan.name):
                if self.is_queued(run):
                    self.release(run)
        return ANYTHING

    def pause_schedule(self, command: PauseSchedule) -> object:
        plan = self._plan(command.name)
        if plan.status == "active":
            plan.status, plan.available_at = "paused", None
            plan.paused_by, plan.note, plan.paused_at = command.by, command.note, self.now
            self._note(plan, "active", "pause", by=command.by, note=command.note)
        return ANYTHING

    def resume_schedule(self, command: ResumeSchedule) -> object:
        """What passed meanwhile is over, unless it is asked for."""
        plan = self._plan(command.name)
        if plan.status == "paused":
            plan.last_slot = plan.last_slot if command.backfill else self.now
            plan.status, plan.available_at = "active", plan.next_slot()
            plan.paused_by = plan.note = plan.paused_at = None
            self._note(plan, "paused", "resume", by=command.by, note="backfill" if command.backfill else None)
        return ANYTHING

    def trigger_schedule(self, command: TriggerSchedule) -> Started:
        plan = self._plan(command.name)
        what = self._admit(plan, is_owed=False)
        if what not in ("fire", "queue"):
            raise Refused("wrong_state")
        self.create_planned(
            plan, self.fresh_ids[0], slot=None, is_queued=what == "queue", cause="trigger", by=command.by
        )
        return Started(self.fresh_ids[0], is_repeat=False)

    def delete_schedule(self, command: DeleteSchedule) -> None:
        plan = self._plan(command.name)
        for run in self.open_runs(plan.name):
            if self.is_queued(run):
                self._cancel(run, cause="cancel", by=command.by, note=f"schedule {plan.name} was deleted")
        del self.schedules[plan.name]
        self._note(plan, plan.status, "delete", to="deleted", by=command.by)

    def fire_schedules(self, grace: int, batch: int) -> int:
        """There is one schedule at most, so there is one to look at."""
        return sum(
            self._fire(plan, grace)
            for plan in self.schedules.values()
            if plan.available_at is not None and plan.available_at <= self.now
        )

    def _fire(self, plan: Plan, grace: int) -> int:
        slots, command = plan.slots(self.now), self.definitions[plan.name]
        on_time = [slot for slot in slots if slot > self.now - grace]
        had_to_wait = plan.available_at is not None and plan.available_at > plan.next_slot()  # for its own runs
        is_behind = had_to_wait or len(on_time) < len(slots)
        is_owed = is_behind and command.catch_up == "all"
        if is_owed:
            wanted = slots[-command.max_catch_up :]
        elif is_behind:
            wanted = on_time[-1:] or (slots[-1:] if command.catch_up == "latest" else [])
        else:
            wanted = on_time
        plan.dropped += len(slots) - len(wanted)
        plan.last_slot = wanted[-1] if wanted else max(plan.last_slot, self.now)
        fired = 0
        known = {run.slot for run in self.runs.values() if run.schedule == plan.name}
        for slot, id in zip(wanted, self.fresh_ids, strict=True):
            if slot in known:
                continue  # before the clock was put back
            what = self._admit(plan, is_owed=is_owed)
            if what == "block":
                plan.last_slot, plan.available_at = slot - 1, None
                return fired
            if what == "skip":
                plan.skipped += 1
                continue
            self.create_planned(plan, id, slot=slot, is_queued=what == "queue", cause="schedule")
            plan.fired, fired = plan.fired + 1, fired + 1
        plan.available_at = plan.next_slot()
        return fired

    def _admit(self, plan: Plan, *, is_owed: bool) -> str:
        """Whoever wants all that was missed, and none at once, wants them one after the other."""
        open_runs = self.open_runs(plan.name)
        if plan.overlap == "allow" or not open_runs:
            return "fire"
        if plan.overlap == "skip" and not is_owed:
            return "skip"
        return "block" if any(map(self.is_queued, open_runs)) else "queue"

    def _plan(self, name: str) -> Plan:
        if name not in self.schedules:
            raise Refused("not_found")
        return self.schedules[name]

    def _note(self, plan: Plan, was: str | None, cause: str, *, to: str | None = None, **deed: str | None) -> None:
        known = {name: value for name, value in deed.items() if value is not None}
        data = msgspec.json.encode(known) if known else None
        self.log.setdefault(plan.name, []).append(Entry(plan.name, was, to or plan.status, cause, self.now, data))


def _definition(command: PutSchedule) -> Any:
    return msgspec.structs.replace(command, input=b"", may_replace=False, by=None)
