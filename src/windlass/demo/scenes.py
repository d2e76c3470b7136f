"""What the demo tells whoever shows it: what happened, in order, and in between how everything stands."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct

from windlass.demo.judge import Verdict
from windlass.model.explanation import Explanation
from windlass.model.run import Run
from windlass.model.step import Step
from windlass.model.time import Duration, Instant


class WorkerState(Struct, frozen=True, kw_only=True):
    letter: str
    pid: int
    is_alive: bool
    holds: int = 0  # runs claimed by it


class RunState(Struct, frozen=True, kw_only=True):
    run: Run
    key: str  # under which it was started
    steps: tuple[Step, ...]
    is_orphaned: bool  # claimed by a worker that is dead


class Snapshot(Struct, frozen=True, kw_only=True):
    now: Instant
    workers: tuple[WorkerState, ...]
    runs: tuple[RunState, ...]  # in the order they were started


class FileMade(Struct, frozen=True):
    path: Path


class WorkersStarted(Struct, frozen=True, kw_only=True):
    workers: tuple[WorkerState, ...]
    is_restart: bool = False


class RunsAccepted(Struct, frozen=True):
    counts: dict[str, int]  # by workflow


class WorkerKilled(Struct, frozen=True, kw_only=True):
    worker: WorkerState
    key: str  # the step in whose body it was


class Resumed(Struct, frozen=True, kw_only=True):
    """A run goes on elsewhere: what is taken from the store, and what is done again because it was cut off."""

    worker: str
    after: Duration  # since the kill, or since the restart
    released: int  # runs of dead workers that were given back
    stored: tuple[str, ...]
    repeated: str
    attempt: int
    is_same_key: bool


class ApprovalWaits(Struct, frozen=True, kw_only=True):
    """A run waits for a person, and for nothing else: no process holds it."""

    title: str
    command: str  # that would decide it


class ApprovalGiven(Struct, frozen=True, kw_only=True):
    title: str
    by: str


class AllKilled(Struct, frozen=True, kw_only=True):
    workers: tuple[WorkerState, ...]
    key: str
    open_runs: int


class RunsEnded(Struct, frozen=True, kw_only=True):
    ended: int
    total: int


Scene: TypeAlias = (
    FileMade
    | WorkersStarted
    | RunsAccepted
    | WorkerKilled
    | Resumed
    | ApprovalWaits
    | ApprovalGiven
    | AllKilled
    | RunsEnded
)


class Ending(Struct, frozen=True, kw_only=True):
    snapshot: Snapshot
    verdict: Verdict
    charges: int  # how often the card was charged
    explanation: Explanation | None  # of the run that failed
    stuck: str = ""  # what the story waited for in vain

    @property
    def is_good(self) -> bool:
        return not self.verdict.findings and not self.stuck and self.charges == 1


class Audience(Protocol):
    """Whoever shows the demo. `at` is the time since it began."""

    def show_scene(self, scene: Scene, *, at: Duration) -> None: ...

    def show_frame(self, snapshot: Snapshot, *, at: Duration) -> None: ...
