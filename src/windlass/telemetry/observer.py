"""Whom the worker and the coordinator tell what they do: protocols that metrics and traces fill in.

    Observer ── worker_begins ─► WorkerWatch ── run_begins ─► RunWatch ── step_begins ─► StepWatch
       │                             │ └ ends                    └ ends                      └ ends, once
       │                             └ handler_begins ─► HandlerWatch ── code_begins ─► StepWatch
       │                                                     └ ends, once
       └ run_ended · duty · schedule_fired                      what no worker does, as the coordinator

Payloads do not come through here: no input, no output, no event, and of an error its type only. What programs name
(workflows, steps, keys, pipelines, handlers, effects) does. Durations are microseconds, as everywhere.
"""

from __future__ import annotations

from contextvars import Context
from enum import StrEnum
from typing import NamedTuple, Protocol

from windlass.model.commands import ClaimedRun
from windlass.model.pipeline import HandlerStatus
from windlass.model.pipeline_work import ClaimedPipeline, Task
from windlass.model.run import RunStatus
from windlass.model.time import Duration


class Departure(StrEnum):
    """How a run left its worker."""

    COMPLETED = "completed"
    FAILED = "failed"
    PARKED = "parked"  # it waits, or tries again later
    PAUSED = "paused"  # given to a person
    RELEASED = "released"  # given back: the worker stops, or cannot go on with it
    LOST = "lost"  # the claim is gone: cancelled, run out, or the store did not answer

    @property
    def is_end(self) -> bool:
        return self in (Departure.COMPLETED, Departure.FAILED)


class StepEnd(StrEnum):
    """How one attempt of a step ended here."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"  # the run left this worker, or the process stops: no failure of the step


class CodeKind(StrEnum):
    PHASE = "phase"
    EFFECT = "effect"
    RECONCILE = "reconcile"


class Code(NamedTuple):
    """What is called of a handler."""

    kind: CodeKind
    name: str  # of the phase: produce, prepare, mutate, next; or of the effect


class StepWatch(Protocol):
    def ends(self, how: StepEnd, *, ran_for: Duration, error: str | None) -> None: ...


class RunWatch(Protocol):
    """One execution: from a claim until the run has left the worker."""

    def step_begins(self, *, name: str, key: str, attempt: int, context: Context) -> StepWatch | None:
        """A body is about to be entered in this context, which may be added to."""
        ...

    def ends(self, how: Departure, *, ran_for: Duration, error: str | None) -> None: ...


class HandlerWatch(Protocol):
    """One attempt of a handler, while somebody is at it: once more, when it goes on later."""

    def code_begins(self, code: Code, *, context: Context) -> StepWatch | None:
        """It is about to be called in this context, which may be added to."""
        ...

    def ends(self, how: HandlerStatus | Departure, *, ran_for: Duration, error: str | None) -> None:
        """The attempt is over, or waits for somebody; or it has left the worker as it stood."""
        ...


class WorkerWatch(Protocol):
    def run_begins(self, run: ClaimedRun, *, context: Context) -> RunWatch | None:
        """A run was claimed, and its code is about to begin in this context, which may be added to."""
        ...

    def handler_begins(self, pipeline: ClaimedPipeline, task: Task) -> HandlerWatch | None:
        """A handler is about to be executed, or to be asked whether its effect happened."""
        ...

    def ends(self) -> None:
        """It takes no more runs; those it has may still end."""
        ...


class Observer(Protocol):
    def worker_begins(self, *, namespace: str, worker: str, slots: int) -> WorkerWatch | None: ...

    def run_ended(self, *, namespace: str, workflow: str, status: RunStatus) -> None:
        """A run is over, and it was no worker that ended it: too late, too many crashes, cancelled."""
        ...

    def duty(self, name: str, *, seconds: float, count: int, failed: bool) -> None:
        """The coordinator has done one round of a duty, for that many rows."""
        ...

    def schedule_fired(self, *, namespace: str, schedule: str, late_for: Duration) -> None: ...
