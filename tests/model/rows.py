"""Rows and answers as the reference knows them. Of the engine's own, the fields that are named here are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windlass.model.failure import Failure


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
    """How a run ends that nobody gives back. The sentence is the engine's own."""

    step: str
    kind: str = "crash_loop"


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
    failure: Failure | None = None
    due_at: int | None = None
    finished_at: int | None = None


@dataclass
class Entry:
    """A row of the log."""

    subject_id: str
    from_status: str | None
    to_status: str
    cause: str
    at: int


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


# Answers


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
    failure: Failure | None
    due_in: int | None
    finished_at: int | None


@dataclass
class Suspended:
    is_parked: bool
    verdicts: tuple[Verdict, ...]


@dataclass
class Verdict:
    due_in: int | None
    at: int


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
