"""What is written, and the few ways in which it is written: the tables of the reference and the moves of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.model.rows import Entry, Gate, Key, Message, Payload, Plan, Run, RunRow, Step, Worker
from windlass.model.commands import StartRun
from windlass.model.schedule_commands import PutSchedule

TERMINAL = ("completed", "failed", "cancelled", "skipped")
WAITS = ("event", "approval", "child", "start")  # steps of which the engine decides when they are over


ANYTHING: Any = object()  # an answer of which nothing is said but that it is one


class Refused(Exception):
    """An error of the door, by its code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


StepName = tuple[str, str, int]  # run, key, attempt


@dataclass
class State:
    """The store: what is written is written."""

    max_recoveries: int
    keys_expire_for: int
    now: int = 0
    fresh_ids: list[str] = field(default_factory=list)  # of runs that are created; how ids are made is not our business
    jitter: float = 0.0
    is_cut_short: bool = False  # the process dies after the first commit of this call
    runs: dict[str, Run] = field(default_factory=dict)
    payloads: dict[str, Payload] = field(default_factory=dict)
    steps: dict[StepName, Step] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)
    log: dict[str, list[Entry]] = field(default_factory=dict)
    inbox: dict[str, list[Message]] = field(default_factory=dict)
    gates: dict[tuple[str, str], Gate] = field(default_factory=dict)
    schedules: dict[str, Plan] = field(default_factory=dict)
    definitions: dict[str, PutSchedule] = field(default_factory=dict)  # of these schedules
    paused_from: dict[str, str] = field(default_factory=dict)  # how runs stood when they were paused
    followers: set[str] = field(default_factory=set)  # runs that are cancelled with their parent
    locked: set[str] = field(default_factory=set)  # workers whose lock the living process holds
    watched: set[str] = field(default_factory=set)  # workers whose lock others look at
    hashes: dict[str, bytes] = field(default_factory=dict)  # of the results of runs that are over

    def rows(self, table: str) -> dict[Any, Any]:
        if table == "runs":
            return {id: RunRow(run, self.hashes.get(id)) for id, run in self.runs.items()}
        if table == "inbox":
            return {id: messages for id, messages in self.inbox.items() if messages}
        found: dict[Any, Any] = getattr(self, table)
        return found

    # Runs

    def existing(self, run_id: str) -> Run:
        if run_id not in self.runs:
            raise Refused("not_found")
        return self.runs[run_id]

    def held(self, command: Any) -> Run:
        """The run, if this token still holds it."""
        run = self.runs.get(command.run_id)
        if run is None or run.status != "running" or run.token != command.token:
            raise Refused("claim_lost")
        return run

    def create(self, id: str, command: StartRun, *, key: str | None = None, **fields: Any) -> Run:
        """A run that is due at its time; its time-out counts from then."""
        assert id not in self.runs, "An id was made twice."
        due_at = command.at if command.at is not None else self.now + (command.delay_for or 0)
        run = Run(
            id=id,
            name=command.name,
            version=command.version,
            queue=command.queue,
            priority=command.priority,
            status="",
            available_at=due_at,
            created_at=self.now,
            starts_at=None if command.at is None and command.delay_for is None else due_at,
            expires_at=None if command.timeout_for is None else due_at + command.timeout_for,
            **fields,
        )
        self.runs[id] = run
        self.payloads[id] = Payload(run_id=id, start_key=key, input=command.input)
        self.move(run, "pending", cause="start", was=None)
        return run

    def move(self, run: Run, status: str, /, *, cause: str, was: str | None, **deed: str | None) -> None:
        run.status = status
        known = {name: value for name, value in deed.items() if value is not None}
        data = msgspec.json.encode(known) if known else None
        self.log.setdefault(run.id, []).append(Entry(run.id, was, status, cause, self.now, data))

    def note(self, run: Run, /, *, cause: str, **deed: str | None) -> None:
        """Somebody did something about a run that stays as it is."""
        self.move(run, run.status, cause=cause, was=run.status, **deed)

    def give_back(self, run: Run, status: str, available_at: int | None, *, cause: str) -> None:
        """Whoever gives a run back ends the count of recoveries. One that a person wanted paused is paused now."""
        if run.is_held:
            self.pause(run, cause="pause")
        else:
            self.unclaim(run, status, available_at, cause=cause)

    def pause(self, run: Run, /, *, cause: str, **deed: str | None) -> None:
        self.paused_from[run.id] = run.status
        place = run.unmet if run.attempts == 0 else 0  # in a queue
        self.unclaim(run, "paused", None, cause=cause, **deed)
        run.unmet = place

    def unclaim(self, run: Run, status: str, available_at: int | None, /, *, cause: str, **deed: str | None) -> None:
        """Nobody's. At its time-out, at the latest, somebody has to look at it, unless a person holds it."""
        if run.expires_at is not None and status != "paused":
            available_at = run.expires_at if available_at is None else min(available_at, run.expires_at)
        run.available_at, run.worker, run.recoveries = available_at, None, 0
        run.is_held, run.unmet = False, 0
        self.move(run, status, cause=cause, was=run.status, **deed)

    def until_next_wait(self, run: Run, waits: list[Step], /, *, cause: str, **deed: str | None) -> None:
        """Given back until the first of these is due. What waits for something else may have no such time."""
        timed = sorted((step for step in waits if step.due_at is not None), key=due)
        due_at = max(self.now, due(timed[0])) if timed else None
        if any(step.kind in WAITS for step in waits):
            status = "waiting"
        elif due_at is None:
            status, due_at = "pending", self.now
        else:
            status = "sleeping" if timed[0].kind == "sleep" else "pending"
        self.unclaim(run, status, due_at, cause=cause, **deed)

    def renew(self, run: Run, visibility_for: int) -> None:
        """From now on, never back, and never behind the time-out of the run."""
        assert run.available_at is not None
        ends_at = self.now + visibility_for
        run.available_at = max(run.available_at, ends_at if run.expires_at is None else min(ends_at, run.expires_at))

    # Steps

    def latest(self, run_id: str) -> list[Step]:
        """The last attempt of every step of a run, by key."""
        found: dict[str, Step] = {}
        for step in sorted(self.steps.values(), key=lambda step: (step.key, step.attempt)):
            if step.run_id == run_id:
                found[step.key] = step
        return list(found.values())

    def open_waits(self, run: Run) -> list[Step]:
        """What wakes the run: its waits that were not given up, and failed attempts that are tried again."""
        return [
            step
            for step in self.latest(run.id)
            if not step.is_dropped
            and (step.status == "waiting" or (step.status == "failed" and step.due_at is not None))
        ]

    def left(self, instant: int | None) -> int | None:
        """Until then, as workers are told: they compare no clocks."""
        return None if instant is None else max(0, instant - self.now)


def due(step: Step) -> int:
    assert step.due_at is not None
    return step.due_at
