"""Rows and answers as the reference knows them. Of the engine's own, the fields that are named here are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windlass.model.failure import Failure
from windlass.model.schedule import Timing


@dataclass
class Run:
    id: str
    name: str
    version: str
    queue: str
    priority: int
    status: str
    available_at: int | None
    created_at: int
    token: int = 0
    worker: str | None = None
    poll: int = 0
    attempts: int = 0
    recoveries: int = 0
    started_at: int | None = None
    finished_at: int | None = None
    expires_at: int | None = None
    is_held: bool = False
    parent: str | None = None
    parent_step: str | None = None
    unmet: int = 0
    starts_at: int | None = None
    retry_of: str | None = None
    origin: str | None = None
    begun_at: int | None = None
    schedule: str | None = None
    slot: int | None = None
    scheduled_at: int | None = None


@dataclass
class RunRow:
    run: Run
    result_hash: bytes | None


@dataclass
class Payload:
    run_id: str
    start_key: str | None
    input: bytes
    output: bytes | None = None
    failure: Failure | Blame | None = None


@dataclass
class Blame:
    """A failure that the engine itself finds. The sentence is its own."""

    kind: str
    type: str
    step: str = ""
    is_final: bool = False


@dataclass
class Step:
    run_id: str
    key: str
    attempt: int
    kind: str
    status: str
    token: int
    failures: int
    input_hash: bytes
    started_at: int
    order: int | None = None
    output: bytes | None = None
    failure: Failure | Blame | None = None
    due_at: int | None = None
    finished_at: int | None = None
    awaits: str | None = None
    detail: bytes | None = None
    is_dropped: bool = False


@dataclass
class Entry:
    """A row of the log."""

    subject_id: str
    from_status: str | None
    to_status: str
    cause: str
    at: int
    data: bytes | None = None


@dataclass
class Key:
    key: str
    name: str
    version: str
    input_hash: bytes
    run_id: str
    created_at: int
    expires_at: int


@dataclass
class Worker:
    id: str
    host: str
    pid: int
    served: tuple[Any, ...]
    slots: int
    started_at: int
    seen_at: int
    active: int = 0
    completed: int = 0
    failed: int = 0
    stopped_at: int | None = None
    is_draining: bool = False


@dataclass
class Message:
    """A row of the inbox. The id and the hash of a decision are nobody's business."""

    run_id: str
    seq: int
    kind: str
    name: str
    id: str
    payload: bytes
    sent_at: int
    taken_by: str | None = None


@dataclass
class Gate:
    kind: str
    name: str
    is_paused: bool = False
    paused_by: str | None = None
    note: str | None = None
    paused_at: int | None = None


@dataclass
class Plan:
    """A schedule that counts elapsed time."""

    name: str
    timing: Timing
    overlap: str
    anchor: int
    last_slot: int
    created_at: int
    changed_at: int
    available_at: int | None = None
    status: str = "active"
    revision: int = 1
    fired: int = 0
    skipped: int = 0
    dropped: int = 0
    paused_by: str | None = None
    note: str | None = None
    paused_at: int | None = None

    def next_slot(self) -> int:
        assert self.timing.every is not None
        slot = self.anchor + self.timing.every
        while slot <= self.last_slot:
            slot += self.timing.every
        return slot

    def slots(self, until: int) -> list[int]:
        """Those that are not decided on."""
        assert self.timing.every is not None
        return list(range(self.next_slot(), until + 1, self.timing.every))


# Answers


@dataclass
class Heartbeaten:
    should_drain: bool


@dataclass
class Probed:
    is_registered: bool
    dead: tuple[str, ...]


@dataclass
class Started:
    run_id: str
    is_repeat: bool


@dataclass
class Claimed:
    run_id: str
    name: str
    version: str
    queue: str
    token: int
    attempts: int
    recoveries: int
    key: str | None
    input: bytes
    started_at: int
    visibility_for: int
    history: tuple[Recorded, ...]
    expires_in: int | None
    parent: str | None
    origin: str | None
    begun_at: int | None
    schedule: str | None
    scheduled_at: int | None


@dataclass
class Recorded:
    key: str
    kind: str
    attempt: int
    status: str
    order: int | None
    failures: int
    input_hash: bytes
    output: bytes | None
    failure: Failure | Blame | None
    due_in: int | None
    finished_at: int | None
    awaits: str | None
    is_copied: bool


@dataclass
class Suspended:
    is_parked: bool
    verdicts: tuple[Verdict, ...]
    settled: tuple[Settled, ...] = ()


@dataclass
class Verdict:
    due_in: int | None
    at: int


@dataclass
class Settled:
    key: str
    order: int
    awaits: str | None
    output: bytes | None
    failure: Failure | Blame | None
    at: int


@dataclass
class Looked:
    """What a worker is told about a claim."""

    run_id: str
    is_lost: bool
    is_held: bool = False
    has_news: bool = False


@dataclass
class Sent:
    is_repeat: bool


@dataclass
class Cancelled:
    status: str
    is_done: bool
    children: tuple[str, ...]


@dataclass
class View:
    run: Run
    key: str | None
    input: bytes
    output: bytes | None
    failure: Failure | Blame | None


@dataclass
class Outcome:
    status: str
    output: bytes | None
    failure: Failure | Blame | None
