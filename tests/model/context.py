"""What an operation may know when it is its turn, and the names that occur in stories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from tests.model.reference import Reference
from tests.model.rows import Run, Step
from tests.model.state import TERMINAL
from windlass.model.retry import RetryPolicy
from windlass.model.run import RunId
from windlass.model.step import StepKind
from windlass.model.time import HOUR, MINUTE, SECOND, Duration
from windlass.model.worker import Served

NAMESPACE = "default"
NOBODY = "run_00000000000000000000000000"  # while there is no run to choose from
LANES = (
    Served("default", "order"),
    Served("default", "refund"),
    Served("mail", "order"),
    Served("default", "order", "2"),
)
WORKERS = tuple(f"wrk_{number:026}" for number in (1, 2, 3))
STEPS, SLEEPS = ("pack", "ship"), ("nap", "rest")
EVENTS = ("paid", "mail")
VISIBLE_FOR, LONGER = Duration(30 * SECOND), Duration(2 * MINUTE)
RETRY = RetryPolicy(max_attempts=3, initial_for=SECOND, factor=2.0, max_for=Duration(2 * SECOND))
KEYS_EXPIRE_FOR, MAX_RECOVERIES = HOUR, 1


class Awaited(NamedTuple):
    """What the code waits for under one key: always the same, as in a workflow that nobody changes."""

    kind: StepKind
    awaits: str | None = None
    due_for: int | None = None
    lane: int = 0  # of a child
    follows_parent: bool = True
    timeout_for: int | None = None
    delay_for: int | None = None


AWAITED = {
    "paid": Awaited(StepKind.EVENT, "paid"),
    "paid#2": Awaited(StepKind.EVENT, "paid", MINUTE),
    "mail": Awaited(StepKind.EVENT, "mail", 2 * SECOND),
    "ok": Awaited(StepKind.APPROVAL, "Ship it?"),
    "sure": Awaited(StepKind.APPROVAL, "Really?", VISIBLE_FOR),
    "sub": Awaited(StepKind.CHILD),
    "sub#2": Awaited(StepKind.CHILD, lane=1, timeout_for=VISIBLE_FOR),
    "sub#3": Awaited(StepKind.CHILD, lane=2, follows_parent=False),
    "go": Awaited(StepKind.START, lane=1, delay_for=SECOND),
}
CHILDREN = tuple(key for key, wait in AWAITED.items() if wait.kind is StepKind.CHILD)


@dataclass(frozen=True)
class Call:
    """One question at the door, ready to be asked of anyone."""

    name: str
    arguments: tuple[Any, ...]
    jitter: float = 0.0


@dataclass
class Context:
    """What an operation may know when it is its turn."""

    model: Reference
    place: int  # of the operation in the story, from 1
    asked: list[Call] = field(default_factory=list)  # writes so far, also those whose answer was lost

    def run(self, number: int) -> Run | None:
        """Of the runs that are held, or of all if the number is negative or none is held."""
        return self._choose(number, "running")

    def id_of(self, number: int, *statuses: str, weight: Callable[[Run], int] = lambda _: 0) -> RunId:
        """Of the runs that stand so, the weightiest first, or of all if the number is negative or none does."""
        run = self._choose(number, *statuses, weight=weight)
        return RunId(NOBODY if run is None else run.id)

    def results(self, run: Run) -> int:
        return sum(step.status == "completed" for step in self.model.latest(run.id))

    def followers(self, run: Run) -> int:
        open_ones = [other for other in self.model.runs.values() if other.status not in TERMINAL]
        return sum(other.parent == run.id for other in open_ones)

    def id_at(self, number: int, kind: str) -> RunId:
        """Of the runs that have such a step, those first where it is open; or of all if the number is negative."""
        asked = [step for step in self.model.steps.values() if step.kind == kind] if number >= 0 else []
        ids = [step.run_id for step in sorted(asked, key=lambda step: step.status != "waiting")] or [*self.model.runs]
        return RunId(ids[number % len(ids)] if ids else NOBODY)

    def key_of(self, run_id: str, number: int | None, *kinds: str) -> str | None:
        """Of a step on record, of these kinds if any are named; of none that there is if the number is negative."""
        keys = [step.key for step in self.model.latest(run_id) if not kinds or step.kind in kinds]
        if number is None:
            return None
        return keys[number % len(keys)] if keys and number >= 0 else "lost"

    def _choose(self, number: int, *statuses: str, weight: Callable[[Run], int] = lambda _: 0) -> Run | None:
        runs = list(self.model.runs.values())
        wanted = [run for run in runs if run.status in statuses] if number >= 0 else []
        chosen = sorted(wanted, key=weight, reverse=True) or runs
        return chosen[number % len(chosen)] if chosen else None

    def step(self, run: Run | None, key: str) -> Step | None:
        latest = [] if run is None else self.model.latest(run.id)
        return next((step for step in latest if step.key == key), None)


class Operation(Protocol):
    def call(self, context: Context) -> Call | None:
        """What is asked, or None if nothing is: time passes, say."""
        ...


@dataclass(frozen=True, kw_only=True)
class Held:
    """Something a holder does, or one who was the holder `behind` claims ago."""

    run: int = 0
    behind: int = 0

    def claim(self, context: Context) -> dict[str, Any]:
        run = context.run(self.run)
        return {
            "namespace": NAMESPACE,
            "run_id": RunId(NOBODY if run is None else run.id),
            "token": 1 if run is None else run.token - self.behind,
        }

    def parent(self, context: Context) -> RunId | None:
        """Who may be waiting for the run, as its claim has told its holder."""
        run = context.run(self.run)
        return None if run is None or run.parent is None else RunId(run.parent)

    def schedule(self, context: Context) -> str | None:
        """Which runs may be waiting for this one, as its claim has told its holder."""
        run = context.run(self.run)
        return None if run is None else run.schedule

    def attempt(self, context: Context, key: str, kind: StepKind = StepKind.STEP) -> dict[str, Any]:
        """The attempt that is due: the open one, the one after a failure, or the last again if all is over."""
        known = context.step(context.run(self.run), key)
        attempt = 1 if known is None else known.attempt + (known.status == "failed" and known.due_at is not None)
        return self.claim(context) | {
            "key": key,
            "kind": kind,
            "attempt": attempt,
            "failures": 0 if known is None else known.failures,
            "input_hash": b"hash of " + key.encode(),
        }
