"""What is planned, in a story: one schedule, that is made, changed, paused, triggered, fired and dropped."""

from __future__ import annotations

from dataclasses import dataclass

from tests.model.context import LANES, NAMESPACE, Call, Context
from windlass.model.schedule import CatchUp, Overlap, Timing
from windlass.model.schedule_commands import (
    DeleteSchedule,
    PauseSchedule,
    PutSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.model.time import MINUTE, SECOND, Duration

NAME = "nightly"
GRACE, BATCH = Duration(10 * SECOND), 10


@dataclass(frozen=True, kw_only=True)
class Plan:
    lane: int = 0
    every: int = MINUTE
    catch_up: str = "latest"
    max_catch_up: int = 3
    overlap: str = "allow"
    timeout_for: int | None = None
    value: int = 1
    may_replace: bool = True

    def call(self, context: Context) -> Call:
        lane = LANES[self.lane]
        command = PutSchedule(
            namespace=NAMESPACE,
            name=NAME,
            workflow=lane.name,
            version=lane.version,
            queue=lane.queue,
            input=b"[%d]" % self.value,
            input_hash=b"hash of %d" % self.value,
            timeout_for=None if self.timeout_for is None else Duration(self.timeout_for),
            timing=Timing(every=Duration(self.every)),
            catch_up=CatchUp(self.catch_up),
            max_catch_up=self.max_catch_up,
            overlap=Overlap(self.overlap),
            jitter=Duration(0),
            may_replace=self.may_replace,
        )
        return Call("put_schedule", (command,))


@dataclass(frozen=True, kw_only=True)
class Fire:
    """A coordinator fires what is due."""

    def call(self, context: Context) -> Call:
        return Call("fire_schedules", (GRACE, BATCH))


@dataclass(frozen=True, kw_only=True)
class HaltPlan:
    by: str | None = None
    note: str | None = None

    def call(self, context: Context) -> Call:
        return Call("pause_schedule", (PauseSchedule(namespace=NAMESPACE, name=NAME, by=self.by, note=self.note),))


@dataclass(frozen=True, kw_only=True)
class ResumePlan:
    backfill: bool = False
    by: str | None = None

    def call(self, context: Context) -> Call:
        command = ResumeSchedule(namespace=NAMESPACE, name=NAME, backfill=self.backfill, by=self.by)
        return Call("resume_schedule", (command,))


@dataclass(frozen=True, kw_only=True)
class TriggerPlan:
    by: str | None = None

    def call(self, context: Context) -> Call:
        return Call("trigger_schedule", (TriggerSchedule(namespace=NAMESPACE, name=NAME, by=self.by),))


@dataclass(frozen=True, kw_only=True)
class DropPlan:
    by: str | None = None

    def call(self, context: Context) -> Call:
        return Call("delete_schedule", (DeleteSchedule(namespace=NAMESPACE, name=NAME, by=self.by),))
