"""Whom a worker tells about the handlers it executes, if anybody: an attempt, and the code that is called in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import TYPE_CHECKING

from windlass.model.pipeline import HandlerStatus
from windlass.model.pipeline_work import Task, TaskKind
from windlass.model.time import Duration
from windlass.telemetry.observer import Code, Departure, HandlerWatch, StepEnd, StepWatch
from windlass.worker.running import Halted, Ran

if TYPE_CHECKING:
    from windlass.worker.handling import Handling


class Telling:
    def __init__(self, handling: Handling) -> None:
        self._handling, self._clock = handling, handling.host.clock
        self._watch: HandlerWatch | None = None
        self._began_at = 0

    @contextmanager
    def executing(self, task: Task) -> Iterator[None]:
        """While somebody is at this task. What `on_logic_error` and people do is no part of an attempt."""
        observer = self._handling.host.watch
        if observer is None or task.kind in (TaskKind.FIX, TaskKind.TELL):
            yield
            return
        self._began_at = self._clock.monotonic()
        self._watch = observer.handler_begins(self._handling.claimed, task)
        how = Departure.LOST
        try:
            yield
            how = Departure.PARKED  # unless it was said how the attempt ended
        except (Halted, asyncio.CancelledError):
            how = Departure.LOST if self._handling.has_run_out else Departure.RELEASED
            raise
        finally:
            self.ends(how)

    def ends(self, how: HandlerStatus | Departure, *, error: str | None = None) -> None:
        """Once: what is told to people behind the end of an attempt is no part of it."""
        if self._watch is not None:
            watch, self._watch = self._watch, None
            watch.ends(how, ran_for=Duration(self._clock.monotonic() - self._began_at), error=error)

    @contextmanager
    def calling(self, code: Code | None, *, context: Context) -> Iterator[Called]:
        """While code of the user is at work, in this context. How it ended is put into what this yields."""
        called = Called()
        watch: StepWatch | None = None
        if self._watch is not None and code is not None:
            watch = self._watch.code_begins(code, context=context)
        began_at = self._clock.monotonic()
        try:
            yield called
        finally:
            if watch is not None:
                how, error = called.end()
                watch.ends(how, ran_for=Duration(self._clock.monotonic() - began_at), error=error)


class Called:
    """A call of user code."""

    def __init__(self) -> None:
        self.ran: Ran | None = None  # none: nobody waited for its end

    def end(self) -> tuple[StepEnd, str | None]:
        if self.ran is None:
            return StepEnd.STOPPED, None
        if self.ran.is_timed_out:
            return StepEnd.TIMED_OUT, "TimeoutError"
        if self.ran.error is not None:
            return StepEnd.FAILED, type(self.ran.error).__qualname__
        return StepEnd.COMPLETED, None
