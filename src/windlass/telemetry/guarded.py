"""Tell several observers; one that fails hurts neither a run nor the others, and is complained about once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any, TypeVar

from windlass.model.commands import ClaimedRun
from windlass.model.pipeline import HandlerStatus
from windlass.model.pipeline_work import ClaimedPipeline, Task
from windlass.model.run import RunStatus
from windlass.model.time import Duration
from windlass.telemetry.observer import (
    Code,
    Departure,
    HandlerWatch,
    Observer,
    RunWatch,
    StepEnd,
    StepWatch,
    WorkerWatch,
)

LOGGER = logging.getLogger("windlass.telemetry")
T = TypeVar("T")


class Guard:
    """Calls what may raise."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, method: Callable[..., None], /, *args: Any, **options: Any) -> None:
        try:
            method(*args, **options)
        except Exception:
            self._complain(method)

    def ask(self, method: Callable[..., T | None], /, *args: Any, **options: Any) -> T | None:
        try:
            return method(*args, **options)
        except Exception:
            self._complain(method)
            return None

    def ask_all(self, methods: Sequence[Callable[..., T | None]], /, *args: Any, **options: Any) -> list[T]:
        answers = (self.ask(method, *args, **options) for method in methods)
        return [answer for answer in answers if answer is not None]

    def _complain(self, method: Callable[..., Any]) -> None:
        name = f"{method.__module__}.{method.__qualname__}"
        if name not in self._told:
            self._told.add(name)
            LOGGER.exception("%s fails; runs go on, and this is not said again", name)


class GuardedObserver:
    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers, self._guard = tuple(observers), Guard()

    def worker_begins(self, *, namespace: str, worker: str, slots: int) -> WorkerWatch | None:
        begin = [observer.worker_begins for observer in self._observers]
        watches = self._guard.ask_all(begin, namespace=namespace, worker=worker, slots=slots)
        return GuardedWorker(watches, self._guard) if watches else None

    def run_ended(self, *, namespace: str, workflow: str, status: RunStatus) -> None:
        for observer in self._observers:
            self._guard.tell(observer.run_ended, namespace=namespace, workflow=workflow, status=status)

    def duty(self, name: str, *, seconds: float, count: int, failed: bool) -> None:
        for observer in self._observers:
            self._guard.tell(observer.duty, name, seconds=seconds, count=count, failed=failed)

    def schedule_fired(self, *, namespace: str, schedule: str, late_for: Duration) -> None:
        for observer in self._observers:
            self._guard.tell(observer.schedule_fired, namespace=namespace, schedule=schedule, late_for=late_for)


class GuardedWorker:
    def __init__(self, watches: Sequence[WorkerWatch], guard: Guard) -> None:
        self._watches, self._guard = watches, guard

    def run_begins(self, run: ClaimedRun, *, context: Context) -> RunWatch | None:
        watches = self._guard.ask_all([watch.run_begins for watch in self._watches], run, context=context)
        return GuardedRun(watches, self._guard) if watches else None

    def handler_begins(self, pipeline: ClaimedPipeline, task: Task) -> HandlerWatch | None:
        watches = self._guard.ask_all([watch.handler_begins for watch in self._watches], pipeline, task)
        return GuardedHandler(watches, self._guard) if watches else None

    def ends(self) -> None:
        for watch in self._watches:
            self._guard.tell(watch.ends)


class GuardedRun:
    def __init__(self, watches: Sequence[RunWatch], guard: Guard) -> None:
        self._watches, self._guard = watches, guard

    def step_begins(self, *, name: str, key: str, attempt: int, context: Context) -> StepWatch | None:
        begin = [watch.step_begins for watch in self._watches]
        watches = self._guard.ask_all(begin, name=name, key=key, attempt=attempt, context=context)
        return GuardedStep(watches, self._guard) if watches else None

    def ends(self, how: Departure, *, ran_for: Duration, error: str | None) -> None:
        for watch in self._watches:
            self._guard.tell(watch.ends, how, ran_for=ran_for, error=error)


class GuardedHandler:
    def __init__(self, watches: Sequence[HandlerWatch], guard: Guard) -> None:
        self._watches, self._guard = watches, guard

    def code_begins(self, code: Code, *, context: Context) -> StepWatch | None:
        watches = self._guard.ask_all([watch.code_begins for watch in self._watches], code, context=context)
        return GuardedStep(watches, self._guard) if watches else None

    def ends(self, how: HandlerStatus | Departure, *, ran_for: Duration, error: str | None) -> None:
        for watch in self._watches:
            self._guard.tell(watch.ends, how, ran_for=ran_for, error=error)


class GuardedStep:
    def __init__(self, watches: Sequence[StepWatch], guard: Guard) -> None:
        self._watches, self._guard = watches, guard

    def ends(self, how: StepEnd, *, ran_for: Duration, error: str | None) -> None:
        for watch in self._watches:
            self._guard.tell(watch.ends, how, ran_for=ran_for, error=error)
